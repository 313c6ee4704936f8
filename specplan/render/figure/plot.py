"""A panel of lines on two axes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes

from specplan.domain.picture import Plot, Rule
from specplan.render.amounts import heading
from specplan.render.figure.axis import Axis, axis_of
from specplan.render.figure.frame import TICK, framed, numbered, share
from specplan.render.figure.key import entry_of, line_look
from specplan.render.figure.labels import Places, Point, along, around
from specplan.render.figure.letters import LINE, Letters
from specplan.render.figure.room import Room
from specplan.render.figure.sheet import SMALL, Box, Sheet
from specplan.render.figure.strokes import Strokes
from specplan.render.palette import INK, PAPER, SOFT

TALL = 190.0  # points, of a plot of the usual height
CROWD = 60  # points that are drawn smaller
OFTEN = 24  # points of a curve that have a sign each; of more, some eight


def across_of(panels: Sequence[Plot], width: float) -> Axis:
    """The horizontal axis of plots that share it."""
    values = [x for panel in panels for x, _ in _points(panel)]
    values += [rule.at for panel in panels for rule in panel.rules if rule.axis == "x"]
    sampled = all(len({x for x, _ in _points(panel)}) <= OFTEN for panel in panels)
    one, most = panels[0], max(int(width / 55), 3)
    return axis_of(values, one.x_scale, most, one.x_label, sampled=sampled)


def up_of(panels: Sequence[Plot]) -> Axis:
    """The vertical axis of plots that are compared."""
    values = [y for panel in panels for _, y in _points(panel)]
    values += [rule.at for panel in panels for rule in panel.rules if rule.axis == "y"]
    least = min(map(height_of, panels))
    return axis_of(values, panels[0].y_scale, max(int(least / 28), 3), panels[0].y_label)


def height_of(panel: Plot) -> float:
    """Points of a plot's area."""
    return max(TALL * panel.tall, 50.0)


@dataclass(frozen=True, slots=True)
class Drawing:
    """A plot, its axes and what is under it."""

    panel: Plot
    letters: Letters
    strokes: Strokes
    across: Axis
    up: Axis
    foot: bool  # numbers and label of the horizontal axis
    name: str

    @property
    def height(self) -> float:
        """Of its area."""
        return height_of(self.panel)

    def room(self, width: float) -> Room:
        """What it takes around its area."""
        widest = max((self.letters.width(text, TICK) for _, text in self.up.ticks), default=0.0)
        last = self.across.ticks[-1][1] if self.across.ticks else ""
        label = self.letters.lines(heading(self.panel.x_label), SMALL, width)
        bottom = TICK * LINE + 6 + len(label) * SMALL * LINE if self.foot else 6.0
        return Room(widest + 9, self.letters.width(last, TICK) / 2 + 2, bottom, self.height)

    def draw(self, sheet: Sheet, box: Box) -> None:
        """Draw it with its area in the box."""
        axes = sheet.axes(box, self.name)
        framed(axes, self.across, self.up)
        self._numbers(sheet, box)
        to = _Points(axes, sheet)
        places = Places(box)
        self._bands(axes)
        self._curves(axes, places, to)
        self._marks(axes, places, to)
        for number, rule in enumerate(self.panel.rules):
            self._rule(sheet, axes, places, to, rule, f"{self.name}-rule-{number}")
        self._names(sheet, places, to)

    def _numbers(self, sheet: Sheet, box: Box) -> None:
        for at, text in self.up.ticks:
            y = box.bottom - share(self.up, at) * box.height
            sheet.text(box.left - 5, y + TICK * 0.36, text, TICK, colour=SOFT, side="right")
        if self.foot:
            numbered(sheet, box, self.across, heading(self.panel.x_label))

    def _bands(self, axes: Axes) -> None:
        for number, band in enumerate(self.panel.bands):
            there = [(x, low) for x, low, _ in band.points]
            back = [(x, high) for x, _, high in reversed(band.points)]
            colour = self.strokes.of_band(band, self.panel).colour
            _filled(axes, [*there, *back], colour, 0.18, f"{self.name}-band-{number}")

    def _curves(self, axes: Axes, places: Places, to: _Points) -> None:
        for number, curve in enumerate(self.panel.curves):
            points = curve.points
            if not points:
                continue
            xs, ys = zip(*points, strict=True)
            look = line_look(entry_of(curve, self.panel, self.strokes))
            if curve.style == "points" and len(points) > CROWD:
                look |= {"markersize": 3.5, "markeredgewidth": 0.9}
            elif curve.style != "points" and len(points) > OFTEN:
                every = max(len(points) // 8, 1)
                look["markevery"] = (number * every // max(len(self.panel.curves), 1), every)
            if curve.fill:
                foot = axes.get_ylim()[0]
                under = [(xs[0], foot), *points, (xs[-1], foot)]
                _filled(axes, under, str(look["color"]), 0.2, f"{self.name}-fill-{number}")
            axes.plot(xs, ys, gid=f"{self.name}-curve-{number}", zorder=3, clip_on=False, **look)
            seen = [to.sheet_point(x, y) for x, y in points]
            if curve.style == "points":
                for point in seen:
                    places.point(point, 4)
            else:
                places.line(seen)

    def _marks(self, axes: Axes, places: Places, to: _Points) -> None:
        for number, mark in enumerate(self.panel.marks):
            axes.plot(
                [mark.x],
                [mark.y],
                marker="o",
                markersize=6.5,
                markerfacecolor=INK,
                markeredgecolor=PAPER,
                markeredgewidth=1.0,
                linestyle="none",
                zorder=5,
                clip_on=False,
                gid=f"{self.name}-mark-{number}",
            )
            places.point(to.sheet_point(mark.x, mark.y), 5)

    def _names(self, sheet: Sheet, places: Places, to: _Points) -> None:
        for mark in sorted(self.panel.marks, key=lambda one: (one.x, one.y)):
            if not mark.name:
                continue
            lines = self.letters.lines(mark.name, SMALL, places.area.width * 0.45)
            wide = max(self.letters.width(line, SMALL) for line in lines)
            point = to.sheet_point(mark.x, mark.y)
            others = [to.sheet_point(one.x, one.y) for one in self.panel.marks if one is not mark]
            boxes = list(around(point, wide + 2, len(lines) * SMALL * LINE))
            own = [box for box in boxes if _own(box, point, others)]
            led = [box for box in boxes if places.reaches(point, box.nearest(point), others)]
            box = places.put([box for box in own if box in led], led, boxes)
            if box.distance(point) > 10 or not _own(box, point, others):
                _leader(sheet, point, box)
            sheet.lines(box.left + 1, box.top - 0.5, lines, SMALL)

    def _rule(
        self, sheet: Sheet, axes: Axes, places: Places, to: _Points, rule: Rule, name: str
    ) -> None:
        line = axes.axhline if rule.axis == "y" else axes.axvline
        line(rule.at, color=INK, linewidth=1.0, linestyle=(0, (5, 2)), zorder=2, gid=name)
        if not rule.name:
            return
        area = places.area
        x, y = to.sheet_point(
            rule.at if rule.axis == "x" else axes.get_xlim()[0],
            rule.at if rule.axis == "y" else axes.get_ylim()[0],
        )
        lines = self.letters.lines(rule.name, SMALL, area.width * 0.45)
        wide = max(self.letters.width(one, SMALL) for one in lines) + 2
        high = len(lines) * SMALL * LINE
        ends = (
            ((area.left, y), (area.right, y))
            if rule.axis == "y"
            else ((x, area.top), (x, area.bottom))
        )
        box = places.put(along(*ends, wide, high))
        places.line(ends, 1.0)
        sheet.lines(box.left + 1, box.top - 0.5, lines, SMALL)


@dataclass(frozen=True, slots=True)
class _Points:
    """Where values stand on the sheet."""

    axes: Axes
    sheet: Sheet

    def sheet_point(self, x: float, y: float) -> Point:
        """A point's place from the sheet's upper left corner."""
        across, up = self.axes.transData.transform((x, y))
        return float(across), self.sheet.height - float(up)


def _points(panel: Plot) -> Iterator[Point]:
    for curve in panel.curves:
        yield from curve.points
    for band in panel.bands:
        for x, low, high in band.points:
            yield from ((x, low), (x, high))
    for mark in panel.marks:
        yield mark.x, mark.y


def _filled(axes: Axes, points: Sequence[Point], colour: str, alpha: float, name: str) -> None:
    """An area inside a line."""
    if points:
        xs, ys = zip(*points, strict=True)
        axes.fill(xs, ys, facecolor=colour, alpha=alpha, linewidth=0, zorder=1.5, gid=name)


def _own(box: Box, point: Point, others: Sequence[Point]) -> bool:
    """Whether a name in the box would stand nearest to its own mark."""
    return all(box.distance(point) * 1.5 <= box.distance(other) for other in others)


def _leader(sheet: Sheet, point: Point, box: Box) -> None:
    """A thin line from a mark to a name that had to stand farther off."""
    (x0, y0), (x1, y1) = point, box.nearest(point)
    start = min(5 / max(math.dist(point, (x1, y1)), 1e-9), 1.0)  # at the mark's edge
    xs, ys = (x0 + start * (x1 - x0), x1), (y0 + start * (y1 - y0), y1)
    sheet.stroke(xs, ys, color=SOFT, linewidth=0.6)
