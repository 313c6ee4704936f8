"""A figure as a page: title, panels, and what stands under every picture."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from specplan.domain.answer import Answer
from specplan.domain.picture import Bars, Cells, Panel, Picture, Plot
from specplan.render.figure import bars, cells, plot
from specplan.render.figure.key import Entry, Key, entries
from specplan.render.figure.letters import LINE, Letters
from specplan.render.figure.room import Room
from specplan.render.figure.shades import Shades
from specplan.render.figure.sheet import FOOT, SMALL, TEXT, TITLE, Box, Sheet
from specplan.render.figure.strokes import Strokes
from specplan.render.footer import footer
from specplan.render.palette import GRID, SOFT

EDGE = 18.0  # points around everything
WIDE, NARROW = 500.0, 250.0  # points of a panel alone, and of one among others
APART, BELOW = 22.0, 16.0  # points between panels side by side, and under one another
MOST_COLUMNS = 4

Drawing = plot.Drawing | bars.Drawing | cells.Drawing
Block = tuple[float, Callable[[Sheet, float], None]]  # its height, and what draws it from a top


def drawn(answer: Answer, picture: Picture, kind: str) -> Figure:
    """The figure of an answer for one kind of file."""
    letters = Letters(others=kind == "svg")
    panels = _Panels(picture, letters)
    blocks = [*_head(answer, letters, panels.width), *panels.blocks()]
    blocks += _foot(answer, letters, panels.width)
    height = sum(high for high, _ in blocks) + 2 * EDGE
    sheet = Sheet.of(letters, panels.width + 2 * EDGE, height)
    top = EDGE
    for high, draw in blocks:
        draw(sheet, top)
        top += high
    return sheet.figure


def _head(answer: Answer, letters: Letters, width: float) -> list[Block]:
    """Title and caption, and the basis at the right or, for want of room, below."""
    view, says = answer.view, answer.basis.says
    title = letters.lines(view.title, TITLE, width, bold=True)
    aside = letters.width(says, SMALL)
    beside = len(title) == 1 and letters.width(title[0], TITLE, bold=True) + aside + 20 <= width
    caption = [line for text in view.caption for line in letters.lines(text, TEXT, width)]
    if not beside:
        caption += letters.lines(says, TEXT, width)

    def draw(sheet: Sheet, top: float) -> None:
        if beside:
            right = EDGE + width
            sheet.text(right, top + TITLE, says, SMALL, colour=SOFT, side="right")
        top = sheet.lines(EDGE, top, title, TITLE, bold=True)
        sheet.lines(EDGE, top + 1, caption, TEXT, colour=SOFT)

    return [(len(title) * TITLE * LINE + len(caption) * TEXT * LINE + 12, draw)]


def _foot(answer: Answer, letters: Letters, width: float) -> list[Block]:
    """What to trust, under a line."""
    lines = [line for text in footer(answer) for line in letters.lines(text, FOOT, width)]

    def draw(sheet: Sheet, top: float) -> None:
        sheet.stroke((EDGE, EDGE + width), (top, top), color=GRID, linewidth=0.8)
        sheet.lines(EDGE, top + 4, lines, FOOT, colour=SOFT)

    return [(len(lines) * FOOT * LINE + 4, draw)]


@dataclass(frozen=True, slots=True)
class _Head:
    """What stands above a panel's area: its title, what its vertical axis is, its key."""

    title: list[str]
    label: list[str]
    key: Key | Shades

    @property
    def height(self) -> float:
        """Points that it takes."""
        return len(self.title) * TEXT * LINE + len(self.label) * SMALL * LINE + self.key.height + 6

    def draw(self, sheet: Sheet, left: float, bottom: float) -> None:
        """Draw it so that it ends there."""
        top = sheet.lines(left, bottom - self.height, self.title, TEXT, bold=True)
        self.key.draw(sheet, left, top)
        sheet.lines(left, top + self.key.height, self.label, SMALL, colour=SOFT)


class _Panels:
    """The panels of a picture in rows."""

    def __init__(self, picture: Picture, letters: Letters) -> None:
        self._picture, self._letters = picture, letters
        self._strokes = Strokes(picture)
        self._columns = max(min(picture.columns, len(picture.panels), MOST_COLUMNS), 1)
        self._panel = self._widest()
        self.width = self._panel * self._columns + APART * (self._columns - 1)
        self._common = self._common_entries()

    def _widest(self) -> float:
        """The width of each panel: the usual, or what the widest map needs."""
        usual = WIDE if self._columns == 1 else max(NARROW, WIDE / self._columns)
        maps = [panel for panel in self._picture.panels if isinstance(panel, Cells)]
        needs = [cells.Drawing(panel, self._letters, usual, "").natural for panel in maps]
        return max([usual, *needs])

    def _common_entries(self) -> tuple[Entry, ...]:
        """The key of all panels, where each has the same."""
        found = {entries(panel, self._strokes) for panel in self._picture.panels}
        return found.pop() if len(found) == 1 and len(self._picture.panels) > 1 else ()

    def blocks(self) -> list[Block]:
        """The key of all, then row after row."""
        found: list[Block] = []
        if self._common:
            key = Key.of(self._common, self._letters, self.width)
            found.append((key.height + 6, lambda sheet, top: key.draw(sheet, EDGE, top)))
        panels = self._picture.panels
        step = self._columns
        rows = [self._row(at, panels[at : at + step]) for at in range(0, len(panels), step)]
        return [*found, *rows]

    def _row(self, first: int, panels: Sequence[Panel]) -> Block:
        drawings = [self._drawing(first + n, panel) for n, panel in enumerate(panels)]
        heads = [self._head(panel) for panel in panels]
        rooms = [self._room(one) for one in drawings]
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
        label = "" if isinstance(panel, Bars) else panel.y_label
        lines = letters.lines(label, SMALL, width) if label else []
        if isinstance(panel, Cells):
            return _Head(title, lines, Shades(panel, letters, width))
        own = () if self._common else entries(panel, self._strokes)
        return _Head(title, lines, Key.of(own, letters, width))

    def _drawing(self, place: int, panel: Panel) -> Drawing:
        name, letters = f"panel-{place}", self._letters
        if isinstance(panel, Cells):
            return cells.Drawing(panel, letters, self._panel, name)
        if isinstance(panel, Bars):
            return bars.Drawing(panel, letters, self._strokes, self._panel, name)
        plots = [one for one in self._picture.panels if isinstance(one, Plot)]
        across = plot.across_of(plots if self._picture.shared else [panel], self._panel)
        alike = [
            one for one in plots if (one.y_label, one.y_scale) == (panel.y_label, panel.y_scale)
        ]
        up = plot.up_of(alike if self._columns > 1 else [panel])
        last = place + self._columns >= len(self._picture.panels)
        foot = last or not self._picture.shared
        return plot.Drawing(panel, letters, self._strokes, across, up, foot, name)

    def _room(self, drawing: Drawing) -> Room:
        """A panel's room; plots stand with their axes in line."""
        own = drawing.room(self._panel)
        if not isinstance(drawing, plot.Drawing):
            return own
        others = [
            self._drawing(n, panel).room(self._panel)
            for n, panel in enumerate(self._picture.panels)
            if isinstance(panel, Plot)
        ]
        return Room(
            max(o.left for o in others), max(o.right for o in others), own.bottom, own.height
        )
