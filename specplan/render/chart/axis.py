"""An axis of so many characters: where a value lies, and round numbers on it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from specplan.domain.picture import Scale
from specplan.render.amounts import amount, counted_in, is_counted


class Axis:
    """An axis of `size` characters, or of dots where it is asked for `dots` of them in each."""

    def __init__(self, low: float, high: float, size: int, scale: Scale) -> None:
        self.scale, self.size = scale, size
        self.low, self.high = self.along(low), self.along(high)

    @classmethod
    def over(cls, values: Sequence[float], size: int, scale: Scale) -> Axis:
        """An axis that holds all values; a logarithmic one with a little room."""
        known = values or [1.0]
        low, high = min(known), max(known)
        if scale == "log":
            return cls(low / 1.3, high * 1.3, size, scale)
        return cls(min(low, 0.0), high if high > min(low, 0.0) else low + 1.0, size, scale)

    def along(self, value: float) -> float:
        """Where a value lies on an even scale."""
        return math.log10(value) if self.scale == "log" else value

    def back(self, place: float) -> float:
        """The value that lies there."""
        return math.pow(10.0, place) if self.scale == "log" else place

    def share(self, value: float) -> float:
        """Where a value lies between the axis' ends, 0 to 1."""
        return (self.along(value) - self.low) / (self.high - self.low)

    def place(self, value: float, dots: int = 1) -> int:
        """The character, or the dot, of a value."""
        size = self.size * dots
        return min(max(int(self.share(value) * size), 0), size - 1)

    def value(self, place: float) -> float:
        """The value in the middle of a character."""
        return self.back(self.low + (place + 0.5) / self.size * (self.high - self.low))

    def labels(self, label: str = "") -> Iterator[tuple[int, str]]:
        """Round numbers with their places: some four even steps or, of a logarithmic axis, the
        fewest of powers of ten, of 1, 2 and 5 of each, or of its ends that tell it.
        """
        for value in self._powers(label) if self.scale == "log" else self._steps(label):
            yield self.place(value), amount(value, label)

    def _steps(self, label: str) -> list[float]:
        """Multiples of a step that is round in what people count in."""
        size = counted_in(self.high, label)
        step = size * _step((self.high - self.low) / size)
        step = max(step, 1.0) if is_counted(label) else step
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [n * step for n in range(first, last + 1)]

    def _powers(self, label: str) -> list[float]:
        """At least two round numbers: one alone says nothing of how far the next is; but of what is
        counted none between whole ones.
        """
        decades = range(math.floor(self.low), math.floor(self.high) + 1)
        for parts, least in ((1.0,), 3), ((1.0, 2.0, 5.0), 2):
            some = [part * math.pow(10.0, n) for n in decades for part in parts]
            whole = [v for v in some if v.is_integer()] if is_counted(label) else some
            held = [v for v in whole if self.low - 1e-9 <= self.along(v) <= self.high + 1e-9]
            if len(held) >= least:
                return held
        low, high = self.back(self.low), self.back(self.high)
        if is_counted(label):
            return [
                float(n) for n in dict.fromkeys((math.ceil(low), math.floor(high))) if n <= high
            ]
        return [float(f"{end:.2g}") for end in (low, high)]


def _step(span: float) -> float:
    """1, 2 or 5 times a power of ten: two to five of them make the span."""
    power = math.pow(10.0, math.floor(math.log10(span)))
    return next(part * power for part in (5.0, 2.0, 1.0, 0.5, 0.2) if span >= 2 * part * power)
