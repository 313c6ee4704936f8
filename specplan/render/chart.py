"""The picture of an answer in characters, on two logarithmic axes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TextIO

from specplan.domain.answer import Answer, Chart, Curve
from specplan.errors import UsageError, Where
from specplan.render.cells import shown
from specplan.render.look import Look

WIDTH, HEIGHT = 64, 18  # characters of the plotting area: with its axis it fits 80 columns
MARGIN = 9  # columns for the numbers of the vertical axis


def write(answer: Answer, out: TextIO, look: Look) -> None:
    """Write title, picture and legend to `out`."""
    chart = answer.view.chart
    if chart is None:
        raise UsageError(
            f"{answer.command} has no chart", where=Where("--format"), hint="explain draws one"
        )
    out.write(f"{shown(answer.view.title)}  [{shown(answer.basis.says)}]\n")
    out.writelines(f"{shown(line)}\n" for line in answer.view.caption)
    out.write(f"\n{chart.y_label}\n")
    out.writelines(f"{line.rstrip()}\n" for line in _drawn(chart, unicode=look.unicode))
    for mark in chart.marks:
        place = f"{_short(mark.x)} {chart.x_label}, {_short(mark.y)} {chart.y_label}"
        out.write(f"  {mark.sign} {shown(mark.name)}: {place}\n")
    sign = _line_sign(unicode=look.unicode)
    out.writelines(f"  {sign} {shown(curve.name)}\n" for curve in chart.curves)


def _drawn(chart: Chart, *, unicode: bool) -> Iterator[str]:
    """The rows of the picture, then its horizontal axis."""
    points = [p for curve in chart.curves for p in curve.points]
    points += [(mark.x, mark.y) for mark in chart.marks]
    across = _Axis.over([x for x, _ in points], WIDTH)
    up = _Axis.over([y for _, y in points], HEIGHT)
    cells = [[" "] * WIDTH for _ in range(HEIGHT)]
    for curve in chart.curves:
        for column in range(WIDTH):
            y = _at(curve, across.value(column))
            if y is not None:
                cells[up.place(y)][column] = _line_sign(unicode=unicode)
    for mark in chart.marks:
        cells[up.place(mark.y)][across.place(mark.x)] = mark.sign
    side, foot, corner = ("\u2502", "\u2500", "\u2514") if unicode else ("|", "-", "+")
    labelled = dict(up.labels())
    for row in reversed(range(HEIGHT)):
        yield f"{labelled.get(row, ''):>{MARGIN}} {side}{''.join(cells[row])}"
    yield f"{'':{MARGIN}} {corner}{foot * WIDTH}"
    ruler = [" "] * (WIDTH + 5)
    for place, text in across.labels():
        ruler[place : place + len(text)] = text
    yield f"{'':{MARGIN}}  {''.join(ruler)}"
    yield f"{'':{MARGIN}}  {chart.x_label:>{WIDTH}}"


def _line_sign(*, unicode: bool) -> str:
    return "\u00b7" if unicode else "."


def _at(curve: Curve, x: float) -> float | None:
    """Height of a curve at x, straight between its points on logarithmic axes."""
    for (x0, y0), (x1, y1) in zip(curve.points, curve.points[1:], strict=False):
        if x0 <= x <= x1:
            share = math.log(x / x0) / math.log(x1 / x0) if x1 > x0 else 0.0
            return y0 * math.exp(share * math.log(y1 / y0))
    return None


class _Axis:
    """A logarithmic axis of so many characters."""

    def __init__(self, low: float, high: float, size: int) -> None:
        self.low, self.size = low, size
        self.decades = math.log10(high / low)

    @classmethod
    def over(cls, values: list[float], size: int) -> _Axis:
        """An axis that holds all values, with a little room."""
        low, high = min(values), max(values)
        return cls(low / 1.3, high * 1.3, size)

    def place(self, value: float) -> int:
        """The character of a value."""
        share = math.log10(value / self.low) / self.decades
        return min(max(int(share * self.size), 0), self.size - 1)

    def value(self, place: int) -> float:
        """The value in the middle of a character."""
        return self.low * math.pow(10.0, (place + 0.5) / self.size * self.decades)

    def labels(self) -> Iterator[tuple[int, str]]:
        """Powers of ten with their places."""
        for power in range(math.ceil(math.log10(self.low)), 40):
            if math.log10(10.0**power / self.low) > self.decades:
                return
            yield self.place(10.0**power), _short(10.0**power)


def _short(value: float) -> str:
    """A number in three digits with a decimal prefix: 1.2 T."""
    for prefix, size in (("P", 1e15), ("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= size:
            return f"{value / size:.3g} {prefix}"
    return f"{value:.3g}"
