"""Quantities that spans state beside their counts: batch, throughput, step times."""

from __future__ import annotations

import math

from specplan.domain.capture import Seen


class Watched:
    """The mean of a quantity, its extremes and its last value."""

    __slots__ = ("high", "last", "low", "total", "weight")

    def __init__(self) -> None:
        self.total = self.weight = self.last = 0.0
        self.low, self.high = math.inf, -math.inf

    def add(self, value: float | None, weight: float) -> None:
        """Adds what one span states."""
        if value is None or not math.isfinite(value):
            return
        self.total += value * weight
        self.weight += weight
        self.low, self.high, self.last = min(self.low, value), max(self.high, value), value

    def seen(self) -> Seen | None:
        """What was seen; None if nothing was."""
        if not math.isfinite(self.low):
            return None
        mean = self.total / self.weight if self.weight else self.last
        return Seen(mean=mean, low=self.low, high=self.high, last=self.last)
