"""Curves, bands, marks and rules on two axes, in characters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from specplan.domain.picture import Band, Curve, Picture, Plot
from specplan.render.amounts import heading, named, told
from specplan.render.chart.axis import Axis
from specplan.render.chart.ink import Legend, Line, Piece, fitted, plain, under
from specplan.render.chart.signs import Signs
from specplan.render.look import Look

HEIGHT = 18
MARGIN = 9  # columns for the numbers of the vertical axis
EDGE = 5  # columns at the right, into which the last number of the horizontal axis may reach
DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))  # of a braille character, from top
EVERY = 11  # columns between the letters of a line of dots


@dataclass(slots=True)
class Cell:
    """What stands in a character: signs that take turns from column to column, else dots, else what
    lies under them.
    """

    dots: int = 0
    signs: list[str] = field(default_factory=list)
    ink: str = ""
    under: str = ""


Sheet = list[list[Cell]]  # rows from the bottom


def drawn(
    panel: Plot, width: int, signs: Signs, picture: Picture, look: Look, *, foot: bool = True
) -> tuple[list[Line], Legend]:
    """The lines of a plot of the picture, and what its signs mean; without `foot` its horizontal
    axis is the one of the plot below.
    """
    size = _room(width)
    values = [x for one in picture.across(panel) for x in _across(one)]
    level = Axis.over(values, size, panel.x_scale)
    height = max(round(HEIGHT * panel.tall), 4)
    levels = [y for one in picture.upright(panel) for y in _upright(one)]
    up = Axis.over(levels, height, panel.y_scale)
    sheet: Sheet = [[Cell() for _ in range(size)] for _ in range(height)]
    for band in panel.bands:
        _shade(sheet, band, level, up, look)
    for rule in panel.rules:
        if rule.axis == "x":
            _rule([row[level.place(rule.at)] for row in sheet], "\u2506" if look.unicode else "|")
        else:
            _rule(sheet[up.place(rule.at)], "\u2504" if look.unicode else "-")
    for curve in sorted(panel.curves, key=lambda one: one.style == "points"):
        _curve(sheet, curve, level, up, signs, look)
    for mark in panel.marks:
        sheet[up.place(mark.y)][level.place(mark.x)] = Cell(signs=[mark.sign])
    lines = [plain(text) for text in fitted(heading(panel.y_label), width)]
    lines += _framed(sheet, up, panel.y_label, look)
    if foot:
        lines += map(plain, _foot(level, panel.x_label, size, look))
    return lines, list(_legend(panel, signs, look))


def _room(width: int) -> int:
    return max(width - MARGIN - 2 - EDGE, 8)


def _across(panel: Plot) -> Iterator[float]:
    yield from (x for curve in panel.curves for x, _ in curve.points)
    yield from (x for band in panel.bands for x, *_ in band.points)
    yield from (mark.x for mark in panel.marks)
    yield from (rule.at for rule in panel.rules if rule.axis == "x")


def _upright(panel: Plot) -> Iterator[float]:
    yield from (y for curve in panel.curves for _, y in curve.points)
    yield from (y for band in panel.bands for _, *ends in band.points for y in ends)
    yield from (mark.y for mark in panel.marks)
    yield from (rule.at for rule in panel.rules if rule.axis == "y")


def _shade(sheet: Sheet, band: Band, level: Axis, up: Axis, look: Look) -> None:
    """What lies between the ends of a band."""
    low = tuple((x, bottom) for x, bottom, _ in band.points)
    high = tuple((x, top) for x, _, top in band.points)
    for column in range(level.size):
        bottom, top = (_at(points, level, up, level.value(column)) for points in (low, high))
        if bottom is not None and top is not None:
            for row in range(up.place(bottom), up.place(top) + 1):
                sheet[row][column].under = "\u2591" if look.unicode else ":"


def _rule(cells: list[Cell], sign: str) -> None:
    for cell in cells:
        cell.under = sign


def _curve(sheet: Sheet, curve: Curve, level: Axis, up: Axis, signs: Signs, look: Look) -> None:
    sign, ink = signs.curve(curve), signs.ink(curve)
    points = curve.points
    if curve.style == "points" or len(points) == 1:
        for x, y in points:
            sheet[up.place(y)][level.place(x)] = Cell(signs=[sign], ink=ink)
        return
    if look.unicode and not curve.fill:
        _dotted(sheet, points, level, up, ink, dashed=curve.style == "dashed")
        if len(sign) == 1 and sign.isalnum():
            _lettered(sheet, points, level, up, (sign, ink))
        return
    for column in range(level.size):
        height = _at(points, level, up, level.value(column))
        if height is None or (curve.fill and up.along(height) <= up.low):
            continue
        if curve.style == "dashed" and column % 4 > 1:
            continue
        top = up.place(height)
        for row in range(0 if curve.fill else top, top + 1):
            cell = sheet[row][column]
            cell.signs.append(sign)
            cell.ink = ink


def _dotted(
    sheet: Sheet,
    points: tuple[tuple[float, float], ...],
    level: Axis,
    up: Axis,
    ink: str,
    *,
    dashed: bool,
) -> None:
    """A line of braille dots, two to a column and four to a row, without gaps where it is steep."""
    before: int | None = None
    for dot in range(2 * level.size):
        y = _at(points, level, up, level.value(dot / 2 - 0.25))
        if y is None:
            before = None
            continue
        here = up.place(y, 4)
        low, high = sorted((here, here if before is None else before))
        before = here
        if dashed and dot % 6 > 3:
            continue
        for tall in range(low, high + 1):
            cell = sheet[tall // 4][dot // 2]
            cell.dots |= DOTS[3 - tall % 4][dot % 2]
            cell.ink = ink


def _lettered(
    sheet: Sheet,
    points: tuple[tuple[float, float], ...],
    level: Axis,
    up: Axis,
    look: tuple[str, str],
) -> None:
    """The letter of a line here and there on it, each line's at columns of its own; a line too
    short to meet one has it at its beginning.
    """
    sign, ink = look
    met = [(c, _at(points, level, up, level.value(c))) for c in range(level.size)]
    line = [(column, y) for column, y in met if y is not None]
    own = [(column, y) for column, y in line if column % EVERY == ord(sign) % EVERY]
    for column, y in own or line[:1] or [(level.place(x), y) for x, y in points[:1]]:
        sheet[up.place(y)][column] = Cell(signs=[sign], ink=ink)


def _at(points: tuple[tuple[float, float], ...], across: Axis, up: Axis, x: float) -> float | None:
    """Height of a curve there, straight between its points on the axes as they are."""
    for (x0, y0), (x1, y1) in pairwise(points):
        if x0 <= x <= x1:
            width = across.along(x1) - across.along(x0)
            share = (across.along(x) - across.along(x0)) / width if width > 0 else 0.0
            return up.back(up.along(y0) + share * (up.along(y1) - up.along(y0)))
    return None


def _framed(sheet: Sheet, up: Axis, label: str, look: Look) -> Iterator[Line]:
    """The rows from the top, with the vertical axis and its numbers."""
    side, labelled = "\u2502" if look.unicode else "|", dict(up.labels(label))
    for row in reversed(range(len(sheet))):
        number = labelled.get(row, "")[:MARGIN]
        yield [(f"{number:>{MARGIN}} {side}", "", ""), *_signs(sheet[row])]


def _signs(row: list[Cell]) -> Iterator[Piece]:
    for column, cell in enumerate(row):
        if cell.signs:
            text = cell.signs[column % len(cell.signs)]
        else:
            text = chr(0x2800 + cell.dots) if cell.dots else cell.under or " "
        yield text, cell.ink, ""


def _foot(across: Axis, label: str, size: int, look: Look) -> Iterator[str]:
    """The horizontal axis, its numbers and what they are."""
    foot, corner = ("\u2500", "\u2514") if look.unicode else ("-", "+")
    yield f"{'':{MARGIN}} {corner}{foot * size}"
    ruler, end = [" "] * (size + EDGE), -1
    for place, text in across.labels(label):
        start = min(place, size + EDGE - len(text))
        if start > end:
            ruler[start : start + len(text)] = text
            end = start + len(text)
    yield f"{'':{MARGIN}}  {''.join(ruler).rstrip()}"
    yield from under(heading(label), MARGIN + 2, size)


def _legend(panel: Plot, signs: Signs, look: Look) -> Iterator[tuple[Piece, str]]:
    """What the signs of a plot are."""
    across, upright = panel.x_label, panel.y_label
    for mark in panel.marks:
        place = f"{told(mark.x, across)}, {told(mark.y, upright)}"
        yield (mark.sign, "", ""), f"{mark.name}: {place}"
    for curve in filter(lambda one: one.name, panel.curves):
        dashed = ", dashed" if curve.style == "dashed" else ""
        yield (signs.curve(curve), signs.ink(curve), ""), f"{curve.name}{dashed}"
    for band in filter(lambda one: one.name, panel.bands):
        yield ("\u2591" if look.unicode else ":", "", ""), band.name
    for rule in panel.rules:
        sign = ("\u2506\u2504" if look.unicode else "|-")[rule.axis == "y"]
        label = across if rule.axis == "x" else upright
        yield (sign, "", ""), named(rule.name, rule.at, label)
