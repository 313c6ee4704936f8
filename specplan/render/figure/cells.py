"""A panel that is a map of cells."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.patches import Rectangle

from specplan.domain.picture import Cells
from specplan.render.figure.letters import LINE, Letters
from specplan.render.figure.room import Room
from specplan.render.figure.sheet import SMALL, Box, Sheet
from specplan.render.palette import INK, NOTHING, PAPER, SOFT, cell_colour, ink_on

TICK = 7.5
LEAST, MOST = 18.0, 96.0  # points of a cell's width, its height is LEAST at least
DEEPEST = 3  # lines of a column's name; a longer one stands upright
NAMES = 150.0  # points for the longest name of a row or column


@dataclass(frozen=True)
class Drawing:
    """A map and how its texts are written."""

    panel: Cells
    letters: Letters
    wide: float
    known: tuple[float, ...]  # values that its colours reach over
    name: str

    @cached_property
    def wanted(self) -> float:
        """The width of a cell that holds every text."""
        texts = (text for row in self.panel.texts for text in row)
        widest = max((self.letters.width(text, TICK) for text in texts), default=0.0)
        return max(widest + 6, LEAST)

    @cached_property
    def natural(self) -> float:
        """The width of the panel that holds every text."""
        return self._left + self.wanted * len(self.panel.x) + 2

    @cached_property
    def _rows(self) -> list[list[str]]:
        return [self.letters.lines(name, TICK, NAMES) for name in self.panel.y]

    @cached_property
    def _left(self) -> float:
        return max((self.letters.width(n, TICK) for row in self._rows for n in row), default=0) + 8

    @cached_property
    def _cell(self) -> float:
        """The width of a cell."""
        count = max(len(self.panel.x), 1)
        return min((self.wide - self._left) / count, max(MOST, self.wanted))

    @cached_property
    def _level(self) -> list[list[str]]:
        return [self.letters.lines(name, TICK, self._cell - 2) for name in self.panel.x]

    @cached_property
    def _turned(self) -> bool:
        """Whether names of columns stand upright, for want of room."""
        return max(map(len, self._level), default=1) > DEEPEST

    @cached_property
    def _columns(self) -> list[list[str]]:
        if not self._turned:
            return self._level
        return [self.letters.lines(name, TICK, NAMES) for name in self.panel.x]

    @cached_property
    def _highs(self) -> float:
        """The height of a cell."""
        deepest = max((len(row) for row in self._rows), default=1)
        return max(LEAST, deepest * TICK * LINE + 4)

    @property
    def _foot(self) -> float:
        """Room for the names of columns."""
        if not self._turned:
            return max(map(len, self._columns), default=1) * TICK * LINE
        return max(self.letters.width(n, TICK) for lines in self._columns for n in lines) + 2

    def room(self, width: float) -> Room:
        """What it takes around its area."""
        label = self.letters.lines(self.panel.x_label, SMALL, width)
        right = self.wide - self._left - self._cell * len(self.panel.x)
        return Room(
            self._left,
            max(right, 0.0),
            4 + self._foot + 3 + len(label) * SMALL * LINE,
            self._highs * len(self.panel.y),
        )

    def draw(self, sheet: Sheet, box: Box) -> None:
        """Draw it with its area in the box."""
        axes = sheet.axes(box, self.name)
        axes.set_xlim(0, max(len(self.panel.x), 1))
        axes.set_ylim(max(len(self.panel.y), 1), 0)
        axes.set_axis_off()
        if not (self.panel.x and self.panel.y):
            return
        high, wide = box.height / len(self.panel.y), box.width / len(self.panel.x)
        for row, (values, texts) in enumerate(
            zip(self.panel.values, self.panel.texts, strict=True)
        ):
            for column, (value, text) in enumerate(zip(values, texts, strict=True)):
                colour = self._colour(value)
                axes.add_patch(
                    Rectangle(
                        (column, row),
                        1,
                        1,
                        facecolor=colour,
                        edgecolor=PAPER,
                        linewidth=0.6,
                        clip_on=False,
                        gid=f"{self.name}-cell-{row}-{column}",
                    )
                )
                x = box.left + (column + 0.5) * wide
                y = box.top + (row + 0.5) * high + TICK * 0.36
                sheet.text(x, y, text, TICK, colour=ink_on(colour), side="center")
        self._contour(axes)
        self._place(axes)
        self._names(sheet, box, wide, high)

    def _names(self, sheet: Sheet, box: Box, wide: float, high: float) -> None:
        for row, lines in enumerate(self._rows):
            first = box.top + (row + 0.5) * high - len(lines) * TICK * LINE / 2
            sheet.lines(box.left - 5, first, lines, TICK, side="right")
        for column, lines in enumerate(self._columns):
            x = box.left + (column + 0.5) * wide
            if not self._turned:
                sheet.lines(x, box.bottom + 4, lines, TICK, side="center")
                continue
            start = x - len(lines) * TICK * LINE / 2 + TICK
            for n, line in enumerate(lines):
                place = start + n * TICK * LINE
                sheet.text(place, box.bottom + 5, line, TICK, side="right", angle=90.0)
        lines = self.letters.lines(self.panel.x_label, SMALL, max(box.width, 200.0))
        side = "right" if max(self.letters.width(n, SMALL) for n in lines) <= box.width else "left"
        at = box.right if side == "right" else box.left
        sheet.lines(at, box.bottom + 4 + self._foot + 3, lines, SMALL, colour=SOFT, side=side)

    def _colour(self, value: float | None) -> str:
        return NOTHING if value is None else cell_colour(value, self.known, self.panel.middle)

    def _contour(self, axes: Axes) -> None:
        """The border between what lies below the middle and the rest, dark on a light seam."""
        edges = list(self._edges())
        for gid, colour, width in (("seam", PAPER, 4.0), ("contour", INK, 2.0)):
            if edges:
                axes.add_collection(
                    LineCollection(
                        edges,
                        colors=colour,
                        linewidths=width,
                        capstyle="projecting",
                        zorder=4,
                        clip_on=False,
                        gid=f"{self.name}-{gid}",
                    ),
                    autolim=False,
                )

    def _place(self, axes: Axes) -> None:
        """A frame around the cell of the point itself, dark on a light seam."""
        if self.panel.at is None:
            return
        row, column = self.panel.at
        for gid, colour, width in (("here-seam", PAPER, 3.5), ("here", INK, 1.5)):
            axes.add_patch(
                Rectangle(
                    (column + 0.06, row + 0.1),
                    0.88,
                    0.8,
                    fill=False,
                    edgecolor=colour,
                    linewidth=width,
                    zorder=5,
                    gid=f"{self.name}-{gid}",
                )
            )

    def _edges(self) -> Iterator[tuple[tuple[float, float], tuple[float, float]]]:
        values, middle = self.panel.values, self.panel.middle
        if middle is None:
            return
        below = [[None if v is None else v < middle for v in row] for row in values]
        for y, row in enumerate(below):
            for x, one in enumerate(row):
                if x + 1 < len(row) and {one, row[x + 1]} == {True, False}:
                    yield (x + 1, y), (x + 1, y + 1)
                if y + 1 < len(below) and {one, below[y + 1][x]} == {True, False}:
                    yield (x, y + 1), (x + 1, y + 1)
