"""Choosing k: the best, where it stops being best, and where speculation stops paying."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from specplan.domain.scenario import Setup
from specplan.physics.round import time_rounds
from specplan.physics.tokens import FloatArray, alpha_for_tokens, expected_tokens

TIE = 1e-9  # gains closer than this, relatively, are the same; the smaller k wins
BATCH_LIMIT = 1 << 20  # the largest batch that a scan looks at
_CHUNK = 8192
_CELLS = 1 << 16  # of a chunk: the few arrays that price it stay in a core's own cache


class Crossing(NamedTuple):
    """The first batch on the other side of speedup 1: `pays` says which side that is."""

    batch: int
    pays: bool


def best_index(gains: FloatArray) -> npt.NDArray[np.intp]:
    """Index along the last axis of the smallest k within TIE of the largest gain."""
    top = gains.max(axis=-1, keepdims=True)
    first: npt.NDArray[np.intp] = np.argmax(gains >= top * (1 - TIE), axis=-1)
    return first


def break_even_alpha(round_cost: npt.ArrayLike, k: npt.ArrayLike) -> FloatArray:
    """Alpha below which a round of k drafts loses: E(alpha, k) = round cost (in plain steps).

    +inf where the round costs more than its k + 1 tokens: no drafter is good enough.
    """
    return alpha_for_tokens(round_cost, k)


def alpha_range(
    gain: FloatArray, k: Sequence[int], chosen: int, alpha: float
) -> tuple[float, float]:
    """The interval around `alpha` on which the candidate k[chosen] stays best, to 1e-6.

    `gain` is what each candidate scores per token of a round, shape (K,): plain step over round
    where the score is speedup. E(k) / E(k') rises with alpha for k > k', so the best k never falls
    as alpha grows, and one interval is all there is.
    """
    lengths = np.asarray(k, np.float64)

    def stays(value: float) -> bool:
        return int(best_index(expected_tokens(value, lengths) * gain)) == chosen

    return _edge(stays, alpha, 0.0), _edge(stays, alpha, 1.0)


def _edge(stays: Callable[[float], bool], start: float, end: float) -> float:
    """The last value from `start` towards `end` for which `stays` holds, by halving."""
    if stays(end):
        return end
    inside, outside = start, end
    while abs(outside - inside) > 1e-7:
        middle = 0.5 * (inside + outside)
        inside, outside = (middle, outside) if stays(middle) else (inside, middle)
    return inside


def scan_batches(
    setup: Setup, context: float, k: Sequence[int], limit: int
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Batches 1..limit in order, a few thousand at a time: (batch (B,), gain (B, K))."""
    size = min(_CHUNK, max(_CELLS // len(k), 1))
    for first in range(1, limit + 1, size):
        batch = np.arange(first, min(first + size, limit + 1), dtype=np.float64)
        yield batch, time_rounds(setup, (context,), batch.tolist(), k).gain[0]


@dataclass(slots=True)
class Crossed:
    """The batches at which the speedup of each candidate crosses 1, among those seen so far.

    Before the first batch every candidate pays: a loss at batch 1 counts.
    """

    found: list[list[Crossing]]
    pays: npt.NDArray[np.bool_]

    @classmethod
    def watching(cls, candidates: int) -> Self:
        """Nothing seen of so many candidates."""
        return cls([[] for _ in range(candidates)], np.ones(candidates, np.bool_))

    def see(self, batch: FloatArray, speedup: FloatArray) -> None:
        """Takes in the next batches (B,) in order, with the speedups (B, K) of the candidates."""
        now = speedup >= 1 - TIE
        before = np.concatenate((self.pays[np.newaxis], now[:-1]))
        for row, candidate in np.argwhere(now != before).tolist():
            pays = bool(now[row, candidate])
            self.found[candidate].append(Crossing(int(batch[row]), pays))
        self.pays = now[-1]


def crossings(
    setup: Setup, context: float, tokens: float, k: int, limit: int
) -> tuple[Crossing, ...]:
    """Every batch in 1..limit at which the speedup of k, of so many tokens a round, crosses 1; a
    loss at batch 1 counts.
    """
    crossed = Crossed.watching(1)
    for batch, gain in scan_batches(setup, context, (k,), limit):
        crossed.see(batch, tokens * gain)
    return tuple(crossed.found[0])
