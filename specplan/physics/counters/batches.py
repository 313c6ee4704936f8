"""Sums over stretches of a log, in constant memory, and what they say of a ratio of two sums.

Requests differ, and one lasts for several intervals of a log: intervals next to each other are
alike, and a variance taken from single ones is too small. So spans are added up to batches, a power
of two of spans in each, and the variance is read from the slow part of how batches differ: from the
few first cosines, with as many degrees of freedom (Lazarus, Lewis, Stock and Watson 2018). Nothing
is chosen by looking at the data, so that drafts alike have intervals that are exact. Residuals are
those of a ratio estimator (Cochran 1977, 6.3).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

MOST = 64  # batches kept; at that many, neighbours are merged
LEAST = 4  # cosines, where there are as many
PART, POWER = 0.4, 2 / 3  # of the batches, how many cosines: their recommendation


class Batches:
    """Vectors of sums, one for each batch; vectors may grow."""

    __slots__ = ("_groups", "_open", "_size", "_ticks", "done")

    def __init__(self) -> None:
        self.done: list[list[float]] = []
        self._open: list[float] = []
        self._ticks, self._size = 0, 1
        self._groups: set[str] = set()

    def add(self, sums: Sequence[float], group: str) -> None:
        """Adds a span. Spans of different groups that follow each other are of one time."""
        if group in self._groups or not self._groups:
            self._groups.clear()
            self._tick()
        self._groups.add(group)
        _add(self._open, sums)

    def _tick(self) -> None:
        if self._ticks == self._size:
            self.done.append(self._open)
            self._open, self._ticks = [], 0
            if len(self.done) == MOST:
                self.done = _halved(self.done)
                self._size *= 2
        self._ticks += 1

    def array(self) -> npt.NDArray[np.float64]:
        """All batches, the last perhaps shorter, shape (batches, sums)."""
        rows = [*self.done, self._open] if self._open else list(self.done)
        width = max(map(len, rows), default=0)
        return np.array([row + [0.0] * (width - len(row)) for row in rows], np.float64)


def _add(total: list[float], more: Sequence[float]) -> None:
    if len(total) < len(more):
        total += [0.0] * (len(more) - len(total))
    for place, value in enumerate(more):
        total[place] += value


def _halved(rows: list[list[float]]) -> list[list[float]]:
    merged = []
    for first, second in zip(rows[::2], rows[1::2], strict=True):
        _add(first, second)
        merged.append(first)
    return merged


@dataclass(frozen=True, slots=True)
class Spread:
    """Variance of a ratio as batches show it, and the degrees of freedom behind it."""

    variance: float
    df: int


def spread(over: npt.NDArray[np.float64], under: npt.NDArray[np.float64]) -> Spread | None:
    """The spread of sum(over) / sum(under), both (batches,); None for fewer than two batches."""
    count, total = len(over), float(under.sum())
    if count < 2 or total <= 0:
        return None
    residual = over - over.sum() / total * under
    df = min(max(LEAST, round(PART * count**POWER)), count - 1)
    turns = np.outer(np.arange(1, df + 1), np.arange(count) + 0.5)
    loads = np.cos(np.pi / count * turns) @ residual
    return Spread(2 * float((loads**2).mean()) / total**2, df)
