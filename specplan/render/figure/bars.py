"""A panel of lying bars."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from specplan.domain.picture import Bar, Bars, Piece
from specplan.render.figure.axis import Axis, axis_of
from specplan.render.figure.frame import TICK, framed, numbered
from specplan.render.figure.key import piece_look
from specplan.render.figure.letters import LINE, Letters
from specplan.render.figure.room import Room
from specplan.render.figure.sheet import SMALL, Box, Sheet
from specplan.render.figure.spread import spread
from specplan.render.figure.strokes import Strokes
from specplan.render.palette import INK, PAPER, SOFT, ink_on

THICK, GAP = 20.0, 10.0  # points: of a bar, between bars
NAMES, TOTALS, RULES = 0.34, 0.2, 0.5  # of the width, at most, for words
UNDER = 11.0  # points below a bar for what does not fit into its pieces


@dataclass(frozen=True)
class Drawing:
    """Bars, and how wide they are with their words."""

    panel: Bars
    letters: Letters
    strokes: Strokes
    wide: float
    name: str

    @cached_property
    def across(self) -> Axis:
        """The scale from 0."""
        ends = [sum(piece.size for piece in bar.pieces) for bar in self.panel.bars]
        return axis_of([0.0, *ends, *(rule.at for rule in self.panel.rules)], "linear", 6)

    @cached_property
    def _names(self) -> list[list[str]]:
        room = self.wide * NAMES
        return [self.letters.lines(bar.name, SMALL, room) for bar in self.panel.bars]

    @cached_property
    def _totals(self) -> list[list[str]]:
        room = self.wide * TOTALS
        return [self.letters.lines(bar.text, SMALL, room, bold=True) for bar in self.panel.bars]

    @cached_property
    def _rules(self) -> list[list[str]]:
        """Names of rules, which stand in rows above the bars."""
        room = self.wide * RULES
        return [self.letters.lines(rule.name, SMALL, room) for rule in self.panel.rules]

    @cached_property
    def _highs(self) -> list[float]:
        """Height of each bar with what is around it."""
        under = [any(not self._fits(p) for p in bar.pieces) for bar in self.panel.bars]
        words = [max(map(len, pair)) for pair in zip(self._names, self._totals, strict=True)]
        return [
            max(THICK + UNDER * more, lines * SMALL * LINE) + GAP
            for more, lines in zip(under, words, strict=True)
        ]

    @cached_property
    def _left(self) -> float:
        return max((self._wide(line) for name in self._names for line in name), default=0.0) + 9

    @cached_property
    def _right(self) -> float:
        """Room for totals beyond the end of the axis, as far as they go beyond it."""
        most, area = 0.0, self.wide - self._left
        for bar, lines in zip(self.panel.bars, self._totals, strict=True):
            share = sum(piece.size for piece in bar.pieces) / self.across.high
            wide = max(self.letters.width(line, SMALL, bold=True) for line in lines) + 8
            most = max(most, (wide - (1 - share) * area) / share if share > 0 else 0.0)
        return min(most, area / 2)

    def _wide(self, text: str) -> float:
        return self.letters.width(text, SMALL)

    def _fits(self, piece: Piece) -> bool:
        """Whether a piece holds its text, if it is there at all."""
        area = self.wide - self._left - self._right
        room = piece.size / self.across.high * area
        return room <= 0 or room >= self.letters.width(piece.text, TICK) + 5

    @property
    def _head(self) -> float:
        return sum(len(lines) * SMALL * LINE + 2 for lines in self._rules)

    def room(self, width: float) -> Room:
        """What it takes around its area."""
        label = self.letters.lines(self.panel.label, SMALL, width)
        bottom = TICK * LINE + 6 + len(label) * SMALL * LINE
        return Room(self._left, self._right, bottom, self._head + sum(self._highs))

    def draw(self, sheet: Sheet, box: Box) -> None:
        """Draw it with its area in the box."""
        axes = sheet.axes(box, self.name)
        framed(axes, self.across, Axis("linear", box.height, 0.0, ()))
        numbered(sheet, box, self.across, self.panel.label)
        tops = list(accumulate(self._highs, initial=self._head + GAP / 2))
        for number, (bar, top) in enumerate(zip(self.panel.bars, tops, strict=False)):
            self._bar(sheet, axes, box, number, bar, top)
        self._draw_rules(sheet, axes, box)

    def _bar(self, sheet: Sheet, axes: Axes, box: Box, number: int, bar: Bar, top: float) -> None:
        scale, middle = box.width / self.across.high, box.top + top + THICK / 2
        outside = []
        for place, (start, piece) in enumerate(_placed(bar)):
            look = piece_look(self.strokes.of_piece(piece.name))
            gid = f"{self.name}-piece-{number}-{place}"
            axes.add_patch(Rectangle((start, top), piece.size, THICK, gid=gid, **look))
            at = box.left + (start + piece.size / 2) * scale
            if piece.text and self._fits(piece):
                self._inside(sheet, at, middle, piece)
            elif piece.text:
                outside.append((at, piece.text))
        self._outside(sheet, box, top, outside)
        end = box.left + sum(piece.size for piece in bar.pieces) * scale
        total, name = self._totals[number], self._names[number]
        self._backed(sheet, end + 3, middle, total)
        first = middle - len(name) * SMALL * LINE / 2
        sheet.lines(box.left - 6, first, name, SMALL, side="right")

    def _inside(self, sheet: Sheet, at: float, middle: float, piece: Piece) -> None:
        """A piece's text on its colour, the hatch kept away from it."""
        stroke = self.strokes.of_piece(piece.name)
        if stroke.hatch:
            wide = self.letters.width(piece.text, TICK) + 4
            under = Box(at - wide / 2, middle - 5.5, wide, 11)
            sheet.patch(under, facecolor=stroke.colour, edgecolor="none", zorder=1.5)
        colour = ink_on(stroke.colour)
        sheet.text(at, middle + TICK * 0.36, piece.text, TICK, colour=colour, side="center")

    def _backed(self, sheet: Sheet, left: float, middle: float, lines: list[str]) -> None:
        """A total, on paper: a rule may run behind it."""
        if lines == [""]:
            return
        wide = max(self.letters.width(line, SMALL, bold=True) for line in lines)
        high = len(lines) * SMALL * LINE
        under = Box(left, middle - high / 2, wide + 4, high)
        sheet.patch(under, facecolor=PAPER, edgecolor="none", zorder=1.5)
        sheet.lines(left + 2, middle - high / 2, lines, SMALL, bold=True)

    def _outside(self, sheet: Sheet, box: Box, top: float, found: list[tuple[float, str]]) -> None:
        """What did not fit, below the bar, each as near to its piece as the others allow."""
        wanted = [(at, self.letters.width(text, TICK) + 6) for at, text in found]
        y = box.top + top + THICK
        for (at, text), x in zip(found, spread(wanted, box.left, box.right), strict=True):
            sheet.stroke((at, x), (y + 0.5, y + 3.5), color=SOFT, linewidth=0.6)
            wide = self.letters.width(text, TICK)
            under = Box(x - wide / 2 - 1, y + 3.5, wide + 2, TICK * 1.1)
            sheet.patch(under, facecolor=PAPER, edgecolor="none", zorder=1.5)
            sheet.text(x, y + 3.5 + TICK * 0.9, text, TICK, side="center")

    def _draw_rules(self, sheet: Sheet, axes: Axes, box: Box) -> None:
        top = 0.0
        for number, (rule, lines) in enumerate(zip(self.panel.rules, self._rules, strict=True)):
            x = box.left + rule.at / self.across.high * box.width
            axes.axvline(
                rule.at,
                0,
                1 - top / box.height,
                color=INK,
                linewidth=1.2,
                linestyle=(0, (5, 2)),
                zorder=6,
                gid=f"{self.name}-rule-{number}",
            )
            wide = max(map(self._wide, lines))
            beside = x + 4 + wide <= box.right
            sheet.lines(
                x + 4 if beside else x - 4,
                box.top + top,
                lines,
                SMALL,
                side="left" if beside else "right",
            )
            top += len(lines) * SMALL * LINE + 2


def _placed(bar: Bar) -> Iterator[tuple[float, Piece]]:
    """Where the pieces begin that have a length."""
    start = 0.0
    for piece in bar.pieces:
        if piece.size > 0:
            yield start, piece
        start += piece.size
