"""One k for each run of batches: a schedule that does not toggle where two k are nearly as good."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from specplan.physics.choose import TIE
from specplan.physics.tokens import FloatArray

HYSTERESIS = 0.01  # of the best speedup: so much may be lost before another k is taken


class Range(NamedTuple):
    """Batches first..last at which one k is within the hysteresis of the best; `loss` is the most
    that it loses against the best of each batch.
    """

    first_batch: int
    last_batch: int
    k: int
    loss: float


class Single(NamedTuple):
    """One k for all batches: it loses at most `loss` against the best of each, at `batch`."""

    k: int
    loss: float
    batch: int


@dataclass(slots=True)
class _Run:
    """A range that is still growing: which candidates have held so far, with what they came to."""

    first: int
    alive: npt.NDArray[np.bool_]
    gained: FloatArray = field(default_factory=lambda: np.zeros(0))
    least: FloatArray = field(default_factory=lambda: np.zeros(0))

    @classmethod
    def from_batch(cls, first: int, candidates: int) -> _Run:
        """An empty one."""
        alive = np.ones(candidates, np.bool_)
        return cls(first, alive, np.zeros(candidates), np.ones(candidates))

    def closed(self, last: int, k: Sequence[int]) -> Range:
        """The range up to `last`: of the candidates that held throughout the one that gains most in
        sum, the smaller k of equals.
        """
        gained = np.where(self.alive, self.gained, -np.inf)
        best = int(np.argmax(gained >= gained.max() * (1 - TIE)))
        return Range(self.first, last, k[best], float(1 - self.least[best]))


@dataclass(slots=True)
class Schedule:
    """Takes in speedups batch by batch, and makes the fewest ranges of which each has one k that
    loses at most `hysteresis` anywhere in it against the best of that batch.

    A range goes on for as long as any candidate holds, which is why no schedule has fewer: a run of
    batches without a common candidate cannot be one range, wherever the ranges before it ended.
    """

    k: Sequence[int]
    hysteresis: float = HYSTERESIS
    ranges: list[Range] = field(default_factory=list)
    _run: _Run | None = None
    _worst: FloatArray | None = None
    _where: npt.NDArray[np.int64] | None = None
    _last: int = 0

    def see(self, batch: FloatArray, speedup: FloatArray) -> None:
        """The next batches (B,), in order and without gaps, with the speedups (B, K) of each k."""
        share = speedup / speedup.max(axis=1, keepdims=True)
        self._compare(batch, share)
        holds = share >= 1 - self.hysteresis - TIE
        start = 0
        while start < len(batch):
            run = self._run or _Run.from_batch(int(batch[start]), len(self.k))
            alive = np.logical_and.accumulate(
                np.vstack((run.alive[np.newaxis], holds[start:])), axis=0
            )[1:]
            ends = np.flatnonzero(~alive.any(axis=1))
            length = int(ends[0]) if ends.size else len(batch) - start
            if length:
                part = share[start : start + length]
                run.alive = alive[length - 1]
                run.gained = run.gained + part.sum(axis=0)
                run.least = np.minimum(run.least, part.min(axis=0))
            self._run = run
            if ends.size:
                self.ranges.append(run.closed(int(batch[start]) + length - 1, self.k))
                self._run = None
            start += length
        self._last = int(batch[-1])

    def finished(self) -> tuple[Range, ...]:
        """All ranges, those next to each other that came to the same k joined."""
        ranges = list(self.ranges)
        if self._run is not None:
            ranges.append(self._run.closed(self._last, self.k))
        return tuple(_joined(ranges))

    def single(self) -> Single:
        """The one k that loses least where it loses most; the smaller of equals."""
        if self._worst is None or self._where is None:
            raise ValueError("no batch was seen")
        worst = self._worst
        best = int(np.argmax(worst >= worst.max() * (1 - TIE)))
        return Single(self.k[best], float(1 - worst[best]), int(self._where[best]))

    def _compare(self, batch: FloatArray, share: FloatArray) -> None:
        """Keeps the least share of the best that each candidate came to, and where."""
        row = np.argmin(share, axis=0)
        least = share[row, np.arange(share.shape[1])]
        where = batch[row].astype(np.int64)
        if self._worst is None or self._where is None:
            self._worst, self._where = least, where
            return
        lower = least < self._worst
        self._worst = np.where(lower, least, self._worst)
        self._where = np.where(lower, where, self._where)


def _joined(ranges: Iterable[Range]) -> Iterator[Range]:
    """Neighbours of one k as one."""
    before: Range | None = None
    for one in ranges:
        if before is not None and before.k == one.k:
            loss = max(before.loss, one.loss)
            before = Range(before.first_batch, one.last_batch, one.k, loss)
            continue
        if before is not None:
            yield before
        before = one
    if before is not None:
        yield before
