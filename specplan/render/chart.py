"""The picture of an answer in characters, on logarithmic or linear axes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import TextIO

from specplan.domain.answer import Answer
from specplan.domain.picture import Curve, Plot, Scale
from specplan.errors import UsageError, Where
from specplan.render.cells import shown
from specplan.render.look import Look

WIDTH, HEIGHT = 64, 18  # characters of the plotting area: with its axis it fits 80 columns
MARGIN = 9  # columns for the numbers of the vertical axis


def write(answer: Answer, out: TextIO, look: Look) -> None:
    """Write title, picture and legend to `out`."""
    if answer.view.picture is None:
        raise UsageError(
            f"{answer.command} has no chart", where=Where("--format"), hint="explain draws one"
        )
    plots = [panel for panel in answer.view.picture().panels if isinstance(panel, Plot)]
    if not plots:
        raise UsageError(
            f"{answer.command} has bars or maps here, which are not drawn in characters",
            where=Where("--format"),
            hint="-o x.svg draws them",
        )
    out.write(f"{shown(answer.view.title)}  [{shown(answer.basis.says)}]\n")
    out.writelines(f"{shown(line)}\n" for line in answer.view.caption)
    across = _Axis.over([x for plot in plots for x, _ in _places(plot)], WIDTH, plots[0].x_scale)
    for plot in plots:
        out.write(f"\n{shown(plot.y_label)}\n")
        out.writelines(f"{line.rstrip()}\n" for line in _drawn(plot, across, unicode=look.unicode))
    out.writelines(f"{line.rstrip()}\n" for line in _foot(plots[0], across, unicode=look.unicode))
    for plot in plots:
        _legend(plot, out, unicode=look.unicode)


def _legend(chart: Plot, out: TextIO, *, unicode: bool) -> None:
    """What the signs of one picture are."""
    for mark in chart.marks:
        place = f"{_short(mark.x)} {shown(chart.x_label)}, {_short(mark.y)} {shown(chart.y_label)}"
        out.write(f"  {mark.sign} {shown(mark.name)}: {place}\n")
    out.writelines(
        f"  {_sign(one, unicode=unicode)} {shown(one.name)}\n" for one in chart.curves if one.name
    )


def _places(chart: Plot) -> list[tuple[float, float]]:
    """All that is drawn in one picture."""
    points = [point for curve in chart.curves for point in curve.points]
    return points + [(mark.x, mark.y) for mark in chart.marks]


def _drawn(chart: Plot, across: _Axis, *, unicode: bool) -> Iterator[str]:
    """The rows of a picture; curves on one another take turns from column to column."""
    height = max(round(HEIGHT * chart.tall), 3)
    up = _Axis.over([y for _, y in _places(chart)], height, chart.y_scale)
    cells: list[list[list[str]]] = [[[] for _ in range(WIDTH)] for _ in range(height)]
    for curve in chart.curves:
        for column in range(WIDTH):
            y = _at(curve, across, up, column)
            if y is not None and not (curve.fill and up.along(y) <= up.low):
                top = up.place(y)
                for row in range(0 if curve.fill else top, top + 1):
                    cells[row][column].append(_sign(curve, unicode=unicode))
    for mark in chart.marks:
        cells[up.place(mark.y)][across.place(mark.x)] = [mark.sign]
    side = "\u2502" if unicode else "|"
    labelled = dict(up.labels())
    for row in reversed(range(height)):
        drawn = (
            signs[column % len(signs)] if signs else " " for column, signs in enumerate(cells[row])
        )
        yield f"{labelled.get(row, ''):>{MARGIN}} {side}{''.join(drawn)}"


def _foot(chart: Plot, across: _Axis, *, unicode: bool) -> Iterator[str]:
    """The horizontal axis, its numbers and what they are."""
    foot, corner = ("\u2500", "\u2514") if unicode else ("-", "+")
    yield f"{'':{MARGIN}} {corner}{foot * WIDTH}"
    ruler = [" "] * (WIDTH + 5)
    for place, text in across.labels():
        ruler[place : place + len(text)] = text
    yield f"{'':{MARGIN}}  {''.join(ruler)}"
    yield f"{'':{MARGIN}}  {shown(chart.x_label):>{WIDTH}}"


def _sign(curve: Curve, *, unicode: bool) -> str:
    return curve.sign or ("\u00b7" if unicode else ".")


def _at(curve: Curve, across: _Axis, up: _Axis, column: int) -> float | None:
    """Height of a curve in a column, straight between its points on the axes as they are."""
    x = across.value(column)
    for (x0, y0), (x1, y1) in pairwise(curve.points):
        if x0 <= x <= x1:
            width = across.along(x1) - across.along(x0)
            share = (across.along(x) - across.along(x0)) / width if width > 0 else 0.0
            return up.back(up.along(y0) + share * (up.along(y1) - up.along(y0)))
    return None


class _Axis:
    """An axis of so many characters."""

    def __init__(self, low: float, high: float, size: int, scale: Scale) -> None:
        self.scale, self.size = scale, size
        self.low, self.high = self.along(low), self.along(high)

    @classmethod
    def over(cls, values: list[float], size: int, scale: Scale) -> _Axis:
        """An axis that holds all values; a logarithmic one with a little room."""
        low, high = min(values), max(values)
        if scale == "log":
            return cls(low / 1.3, high * 1.3, size, scale)
        return cls(min(low, 0.0), high if high > min(low, 0.0) else low + 1.0, size, scale)

    def along(self, value: float) -> float:
        """Where a value lies on an even scale."""
        return math.log10(value) if self.scale == "log" else value

    def back(self, place: float) -> float:
        """The value that lies there."""
        return math.pow(10.0, place) if self.scale == "log" else place

    def place(self, value: float) -> int:
        """The character of a value."""
        share = (self.along(value) - self.low) / (self.high - self.low)
        return min(max(int(share * self.size), 0), self.size - 1)

    def value(self, place: int) -> float:
        """The value in the middle of a character."""
        return self.back(self.low + (place + 0.5) / self.size * (self.high - self.low))

    def labels(self) -> Iterator[tuple[int, str]]:
        """Round numbers with their places: powers of ten, or some four even steps."""
        step = 1.0 if self.scale == "log" else _step(self.high - self.low)
        for n in range(math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9) + 1):
            value = self.back(n * step)
            yield self.place(value), _short(value)


def _step(span: float) -> float:
    """1, 2 or 5 times a power of ten: two to five of them make the span."""
    power = math.pow(10.0, math.floor(math.log10(span)))
    return next(part * power for part in (5.0, 2.0, 1.0, 0.5, 0.2) if span >= 2 * part * power)


def _short(value: float) -> str:
    """A number in three digits with a decimal prefix: 1.2 T."""
    for prefix, size in (("P", 1e15), ("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= size:
            return f"{value / size:.3g} {prefix}"
    return f"{value:.3g}"
