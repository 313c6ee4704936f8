"""Sums over stretches of a log, in constant memory, and what they say of a ratio of two sums.

Requests differ, and one lasts for several intervals of a log: intervals next to each other are
alike, and a variance taken from single ones is too small. So spans are added up to batches, a power
of two of spans in each, and batches are merged until neighbours no longer resemble each other
(batch means, Schmeiser 1982). Residuals are those of a ratio estimator (Cochran 1977, 6.3).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

MOST = 64  # batches kept; at that many, neighbours are merged
LEAST = 8  # batches that may still be merged: four is the fewest that an interval rests on
ALIKE = 0.7  # correlation of neighbours, in its standard errors, that asks for longer batches
_TINY = 1e-300


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
    if len(over) < 2 or under.sum() <= 0:
        return None
    total = float(under.sum())
    residual = over - over.sum() / total * under
    while len(residual) >= LEAST and _alike(residual):
        residual = np.append(residual, np.zeros(len(residual) % 2))
        residual = residual[::2] + residual[1::2]
    count = len(residual)
    return Spread(float((residual**2).sum()) * count / (count - 1) / total**2, count - 1)


def _alike(residual: npt.NDArray[np.float64]) -> bool:
    """Whether neighbours resemble each other by more than chance would often have it."""
    size = float((residual**2).sum())
    if size < _TINY:
        return False
    return float((residual[:-1] * residual[1:]).sum()) / size >= ALIKE / math.sqrt(len(residual))
