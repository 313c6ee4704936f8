"""The panels of a figure in rows, those that are compared on one scale and under one key."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from specplan.domain.picture import Bars, Cells, Panel, Picture
from specplan.render.amounts import heading
from specplan.render.figure import bars, cells, plot
from specplan.render.figure.key import Key, entries
from specplan.render.figure.letters import LINE, Letters
from specplan.render.figure.room import Room
from specplan.render.figure.shades import Shades
from specplan.render.figure.sheet import SMALL, TEXT, Box, Sheet
from specplan.render.figure.strokes import Strokes
from specplan.render.palette import SOFT

EDGE = 18.0  # points around everything
WIDE, NARROW = 500.0, 250.0  # points of a panel alone, and of one among others
APART, BELOW = 22.0, 16.0  # points between panels side by side, and under one another
MOST_COLUMNS = 4

Drawing = plot.Drawing | bars.Drawing | cells.Drawing
Block = tuple[float, Callable[[Sheet, float], None]]  # its height, and what draws it from a top


@dataclass(frozen=True, slots=True)
class _Head:
    """What stands above a panel's area: its title, its key, what its vertical axis is."""

    title: list[str]
    label: list[str]
    key: Key | Shades | None

    @property
    def height(self) -> float:
        """Points that it takes."""
        key = self.key.height if self.key else 0.0
        return len(self.title) * TEXT * LINE + len(self.label) * SMALL * LINE + key + 6

    def draw(self, sheet: Sheet, left: float, bottom: float) -> None:
        """Draw it so that it ends there."""
        top = sheet.lines(left, bottom - self.height, self.title, TEXT, bold=True)
        if self.key:
            self.key.draw(sheet, left, top)
            top += self.key.height
        sheet.lines(left, top, self.label, SMALL, colour=SOFT)


class Panels:
    """Rows of panels of one width, and how wide they are together."""

    def __init__(self, picture: Picture, letters: Letters) -> None:
        self._picture, self._letters = picture, letters
        self._strokes = Strokes(picture)
        self._columns = max(min(picture.columns, len(picture.panels), MOST_COLUMNS), 1)
        self._panel = self._widest()
        self.width = self._panel * self._columns + APART * (self._columns - 1)
        self._common = self._common_key()
        self._drawings = [self._drawing(n, panel) for n, panel in enumerate(picture.panels)]
        self._rooms = self._aligned()

    def blocks(self) -> list[Block]:
        """The key of all, where they have one in common, then row after row."""
        found: list[Block] = []
        if self._common:
            key = self._common
            found.append((key.height + 6, lambda sheet, top: key.draw(sheet, EDGE, top)))
        count, step = len(self._drawings), self._columns
        return [
            *found,
            *(self._row(range(at, min(at + step, count))) for at in range(0, count, step)),
        ]

    def _widest(self) -> float:
        """The width of each panel: the usual, or what the widest map needs."""
        usual = WIDE if self._columns == 1 else max(NARROW, WIDE / self._columns)
        maps = [panel for panel in self._picture.panels if isinstance(panel, Cells)]
        needs = [cells.Drawing(panel, self._letters, usual, (), "").natural for panel in maps]
        return max([usual, *needs])

    def _common_key(self) -> Key | Shades | None:
        """The key of all panels, where several have the same."""
        panels = self._picture.panels
        first = panels[0]
        if len(panels) == 1:
            return None
        if isinstance(first, Cells):
            same = all(isinstance(one, Cells) and _alike(one, first) for one in panels)
            return Shades(first, self._letters, self.width, self._known(first)) if same else None
        found = {entries(panel, self._strokes) for panel in panels}
        shared = found.pop() if len(found) == 1 else ()
        return Key.of(shared, self._letters, self.width) if shared else None

    def _known(self, panel: Cells) -> tuple[float, ...]:
        """The values that a map's colours reach over: of all maps of the same."""
        maps = [one for one in self._picture.panels if isinstance(one, Cells)]
        alike = [one for one in maps if _alike(one, panel)]
        return tuple(v for one in alike for row in one.values for v in row if v is not None)

    def _row(self, places: Sequence[int]) -> Block:
        heads = [self._head(self._picture.panels[n]) for n in places]
        drawings = [self._drawings[n] for n in places]
        rooms = [self._rooms[n] for n in places]
        above = max(head.height for head in heads)
        tall = max(room.height + room.bottom for room in rooms)

        def draw(sheet: Sheet, top: float) -> None:
            left = EDGE
            for head, drawing, room in zip(heads, drawings, rooms, strict=True):
                head.draw(sheet, left, top + above)
                width = self._panel - room.left - room.right
                drawing.draw(sheet, Box(left + room.left, top + above, width, room.height))
                left += self._panel + APART

        return above + tall + BELOW, draw

    def _head(self, panel: Panel) -> _Head:
        letters, width = self._letters, self._panel
        title = letters.lines(panel.title, TEXT, width, bold=True) if panel.title else []
        label = "" if isinstance(panel, Bars) else heading(panel.y_label)
        lines = letters.lines(label, SMALL, width) if label else []
        if self._common:
            return _Head(title, lines, None)
        if isinstance(panel, Cells):
            return _Head(title, lines, Shades(panel, letters, width, self._known(panel)))
        return _Head(title, lines, Key.of(entries(panel, self._strokes), letters, width))

    def _drawing(self, place: int, panel: Panel) -> Drawing:
        name, letters = f"panel-{place}", self._letters
        if isinstance(panel, Cells):
            return cells.Drawing(panel, letters, self._panel, self._known(panel), name)
        if isinstance(panel, Bars):
            return bars.Drawing(panel, letters, self._strokes, self._panel, name)
        across = plot.across_of(self._picture.across(panel), self._panel)
        up = plot.up_of(self._picture.upright(panel))
        foot = self._picture.footed(place, self._columns)
        return plot.Drawing(panel, letters, self._strokes, across, up, foot, name)

    def _aligned(self) -> list[Room]:
        """The panels' rooms; plots stand with their axes in line."""
        rooms = [drawing.room(self._panel) for drawing in self._drawings]
        plots = [isinstance(drawing, plot.Drawing) for drawing in self._drawings]
        some = [room for room, is_plot in zip(rooms, plots, strict=True) if is_plot]
        left = max((room.left for room in some), default=0.0)
        right = max((room.right for room in some), default=0.0)
        return [
            Room(left, right, room.bottom, room.height) if is_plot else room
            for room, is_plot in zip(rooms, plots, strict=True)
        ]


def _alike(one: Cells, other: Cells) -> bool:
    """Whether two maps show the same."""
    return (one.label, one.middle) == (other.label, other.middle)
