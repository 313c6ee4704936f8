"""One k for each run of batches: a schedule that does not toggle where two k are nearly as good."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from specplan.physics.choose import TIE
from specplan.physics.tokens import FloatArray

HYSTERESIS = 0.01  # gained over a doubling of the batch: less is not worth another k
MOST: Final = 5  # hysteresis that no batch loses more than
FINE: Final = 2048  # beyond it, this many steps to each factor of e


class Range(NamedTuple):
    """Batches first..last with one k; `loss` is the most that it loses against the best of each."""

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
class _Path:
    """The cheapest way to each candidate so far: `cost` of it, `least` share in its last range, and
    for each step where it would have come from (`source`, with the least share of the range that
    ends there) and which candidates do come from there (`moved`).
    """

    cost: FloatArray
    least: FloatArray
    moved: list[npt.NDArray[np.bool_]] = field(default_factory=list)
    source: list[int] = field(default_factory=list)
    ended: list[float] = field(default_factory=list)
    last: list[int] = field(default_factory=list)

    def step(self, last: int, paid: FloatArray, least: FloatArray, switch: float) -> None:
        """One batch or a few: what each candidate pays there, inf where it may not be used."""
        source = int(np.argmax(self.cost <= self.cost.min() + TIE))
        moved = self.cost > self.cost[source] + switch + TIE
        self.source.append(source)
        self.ended.append(float(self.least[source]))
        self.moved.append(moved)
        self.last.append(last)
        self.cost = np.where(moved, self.cost[source] + switch, self.cost) + paid
        self.least = np.minimum(np.where(moved, 1.0, self.least), least)

    def ranges(self, k: Sequence[int]) -> list[Range]:
        """Those of the cheapest way, back from its end."""
        now = int(np.argmax(self.cost <= self.cost.min() + TIE))
        found: list[Range] = []
        end, least = self.last[-1], float(self.least[now])
        for i in range(len(self.last) - 1, 0, -1):
            if self.moved[i][now]:
                found.append(Range(self.last[i - 1] + 1, end, k[now], 1 - least))
                now, end, least = self.source[i], self.last[i - 1], self.ended[i]
        found.append(Range(1, end, k[now], 1 - least))
        return found[::-1]


@dataclass(slots=True)
class Schedule:
    """Takes in speedups batch by batch, and makes the schedule that costs least: what each batch
    loses against its best k, counted alike for every doubling of the batch, and a price for each
    change of k, which is `hysteresis` lost over a doubling. So another k is taken where it gains
    more than that over a doubling, or as much more over less. No batch loses more than MOST times
    the hysteresis; with none, each has its best k, the smaller of equals.
    """

    k: Sequence[int]
    hysteresis: float = HYSTERESIS
    _path: _Path | None = None
    _first: int = 1
    _worst: FloatArray | None = None
    _where: npt.NDArray[np.int64] | None = None

    def see(self, batch: FloatArray, speedup: FloatArray) -> None:
        """The next batches (B,), in order from 1 on and without gaps, with the speedups (B, K)."""
        share = speedup / speedup.max(axis=1, keepdims=True)
        self._compare(batch, share)
        start = 0
        while start < len(batch):
            first = int(batch[start])
            end = min(start + max(first // FINE, 1), len(batch))
            self._take(first, int(batch[end - 1]), share[start:end])
            start = end

    def finished(self) -> tuple[Range, ...]:
        """All ranges, those next to each other that came to the same k joined."""
        return tuple(_joined(self._path.ranges(self.k))) if self._path else ()

    def single(self) -> Single:
        """The one k that loses least where it loses most; the smaller of equals."""
        if self._worst is None or self._where is None:
            raise ValueError("no batch was seen")
        worst = self._worst
        best = int(np.argmax(worst >= worst.max() * (1 - TIE)))
        return Single(self.k[best], float(1 - worst[best]), int(self._where[best]))

    def _take(self, first: int, last: int, share: FloatArray) -> None:
        """A few neighbouring batches, which get one k."""
        least = share.min(axis=0)
        within = least >= min(1 - MOST * self.hysteresis, float(least.max())) - TIE
        width = np.log((last + 1) / first)
        paid = np.where(within, (1 - share.mean(axis=0)) * width, np.inf)
        if self._path is None:
            nothing = np.zeros(len(self.k))
            self._path = _Path(nothing, np.ones(len(self.k)))
        self._path.step(last, paid, least, self.hysteresis * float(np.log(2)))

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
