"""A panel of lying bars."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from specplan.domain.picture import Bar, Bars, Piece
from specplan.render.amounts import heading
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
THIN, CLOSE = 13.0, 7.0  # the same of many bars
MANY = 8
NAMES, TOTALS, RULES = 0.34, 0.2, 0.5  # of the width, at most, for words
UNDER = 11.0  # points of a row below a bar for what does not fit into its pieces
BESIDE = 2.0  # points from a rule to words in a piece
APART = 6.0  # points between texts in it
FULL = (
    0.6  # of the area, that texts of one row take: more of them would stand far from their pieces
)


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
        values = [0.0, *ends, *(rule.at for rule in self.panel.rules)]
        return axis_of(values, "linear", 6, self.panel.label)

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
    def _reach(self) -> list[tuple[float, float]]:
        """How far each bar reaches above and below its middle with its words."""
        half = self._thick / 2
        found = []
        for bar, name, total in zip(self.panel.bars, self._names, self._totals, strict=True):
            words = max(len(name), len(total)) * SMALL * LINE / 2
            under = half + UNDER * self._rows_under(bar)
            found.append((max(half, words), max(under, words)))
        return found

    @cached_property
    def _left(self) -> float:
        return max((self._wide(line) for name in self._names for line in name), default=0.0) + 9

    @cached_property
    def _right(self) -> float:
        """Room for totals, which stand in a column: no rule runs through them there."""
        lines = [line for total in self._totals for line in total]
        return max((self.letters.width(line, SMALL, bold=True) for line in lines), default=0.0) + 8

    @property
    def _thick(self) -> float:
        return THICK if len(self.panel.bars) <= MANY else THIN

    @property
    def _gap(self) -> float:
        return GAP if len(self.panel.bars) <= MANY else CLOSE

    def _wide(self, text: str) -> float:
        return self.letters.width(text, SMALL)

    @property
    def _area(self) -> float:
        return self.wide - self._left - self._right

    def _fits(self, piece: Piece) -> bool:
        """Whether a piece holds its text, if it is there at all."""
        room = piece.size / self.across.high * self._area
        return room <= 0 or room >= self.letters.width(piece.text, TICK) + 5

    def _rows_under(self, bar: Bar) -> int:
        """Rows of texts below a bar for what does not fit into its pieces."""
        outside = [piece.text for piece in bar.pieces if not self._fits(piece)]
        wide = sum(self.letters.width(text, TICK) + APART for text in outside)
        return math.ceil(wide / (FULL * self._area))

    @property
    def _head(self) -> float:
        return sum(len(lines) * SMALL * LINE + 2 for lines in self._rules)

    def room(self, width: float) -> Room:
        """What it takes around its area."""
        label = self.letters.lines(heading(self.panel.label), SMALL, width)
        bottom = TICK * LINE + 6 + len(label) * SMALL * LINE
        return Room(
            self._left,
            self._right,
            bottom,
            self._head + sum(above + below + self._gap for above, below in self._reach),
        )

    def draw(self, sheet: Sheet, box: Box) -> None:
        """Draw it with its area in the box."""
        axes = sheet.axes(box, self.name)
        framed(axes, self.across, Axis("linear", box.height, 0.0, ()))
        numbered(sheet, box, self.across, heading(self.panel.label))
        top = self._head + self._gap / 2
        for number, (above, below) in enumerate(self._reach):
            self._bar(sheet, axes, box, number, top + above - self._thick / 2)
            top += above + below + self._gap
        self._draw_rules(sheet, axes, box)

    def _bar(self, sheet: Sheet, axes: Axes, box: Box, number: int, top: float) -> None:
        bar = self.panel.bars[number]
        scale, middle = box.width / self.across.high, box.top + top + self._thick / 2
        outside = []
        for place, (start, piece) in enumerate(_placed(bar)):
            look = piece_look(self.strokes.of_piece(piece.name))
            gid = f"{self.name}-piece-{number}-{place}"
            axes.add_patch(Rectangle((start, top), piece.size, self._thick, gid=gid, **look))
            at = box.left + (start + piece.size / 2) * scale
            if piece.text and self._fits(piece):
                ends = box.left + start * scale, box.left + (start + piece.size) * scale
                self._inside(sheet, box, ends, middle, piece)
            elif piece.text:
                outside.append((at, piece.text))
        self._outside(sheet, box, number, top, outside)
        total, name = self._totals[number], self._names[number]
        first = middle - len(total) * SMALL * LINE / 2
        sheet.lines(box.right + 8, first, total, SMALL, bold=True)
        first = middle - len(name) * SMALL * LINE / 2
        sheet.lines(box.left - 6, first, name, SMALL, side="right")

    def _inside(
        self, sheet: Sheet, box: Box, ends: tuple[float, float], middle: float, piece: Piece
    ) -> None:
        """A piece's text on its colour, beside rules where the piece has room; the hatch, and rules
        where it has none, kept away from it.
        """
        stroke, wide = self.strokes.of_piece(piece.name), self.letters.width(piece.text, TICK) + 4
        rules = [box.left + r.at / self.across.high * box.width for r in self.panel.rules]
        at, clear = clear_of(rules, ends, wide)
        if stroke.hatch or not clear:
            under = Box(at - wide / 2, middle - 5.5, wide, 11)
            sheet.patch(under, facecolor=stroke.colour, edgecolor="none", zorder=1.5)
        colour = ink_on(stroke.colour)
        sheet.text(at, middle + TICK * 0.36, piece.text, TICK, colour=colour, side="center")

    def _outside(
        self, sheet: Sheet, box: Box, number: int, top: float, found: list[tuple[float, str]]
    ) -> None:
        """What did not fit, below the bar, each as near to its piece as the others allow; of many,
        every other one stands lower.
        """
        rows = self._rows_under(self.panel.bars[number])
        for row in range(rows):
            here = found[row::rows]
            wanted = [(at, self.letters.width(text, TICK) + APART) for at, text in here]
            y = box.top + top + self._thick
            foot = y + 3.5 + row * UNDER
            for (at, text), x in zip(here, spread(wanted, box.left, box.right), strict=True):
                sheet.stroke((at, x), (y + 0.5, foot), color=SOFT, linewidth=0.6, zorder=1.2)
                wide = self.letters.width(text, TICK)
                under = Box(x - wide / 2 - 1, foot, wide + 2, TICK * 1.1)
                sheet.patch(under, facecolor=PAPER, edgecolor="none", zorder=1.5)
                sheet.text(x, foot + TICK * 0.9, text, TICK, side="center")

    def _draw_rules(self, sheet: Sheet, axes: Axes, box: Box) -> None:
        top = 0.0
        for number, beside in self._ordered(box):
            rule, lines = self.panel.rules[number], self._rules[number]
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
            at, side = (x + 4, "left") if beside else (x - 4, "right")
            sheet.lines(at, box.top + top, lines, SMALL, side=side)
            top += len(lines) * SMALL * LINE + 2

    def _ordered(self, box: Box) -> list[tuple[int, bool]]:
        """Rules from the top row on, and whether a name stands at the right of its line: those at
        the left from the right on, those at the right from the left on, so that no line runs
        through another's name.
        """
        left: list[tuple[float, int]] = []
        right: list[tuple[float, int]] = []
        for number, (rule, lines) in enumerate(zip(self.panel.rules, self._rules, strict=True)):
            x = rule.at / self.across.high * box.width
            beside = x + 4 + max(map(self._wide, lines)) <= box.width
            (right if beside else left).append((rule.at, number))
        left.sort(reverse=True)
        right.sort()
        return [*((n, False) for _, n in left), *((n, True) for _, n in right)]


def clear_of(rules: Sequence[float], ends: tuple[float, float], wide: float) -> tuple[float, bool]:
    """The middle of words so wide in a piece, as near to its own as no rule runs through them, and
    whether there is such a place; else the piece's own middle.
    """
    (low, high), half = ends, wide / 2
    own = (low + high) / 2
    places = [own, *(rule + side * (half + BESIDE) for rule in rules for side in (-1, 1))]
    found = [
        at
        for at in places
        if (at == own or (low <= at - half and at + half <= high))
        and not any(abs(at - rule) < half + BESIDE / 2 for rule in rules)
    ]
    return (min(found, key=lambda at: abs(at - own)), True) if found else (own, False)


def _placed(bar: Bar) -> Iterator[tuple[float, Piece]]:
    """Where the pieces begin that have a length."""
    start = 0.0
    for piece in bar.pieces:
        if piece.size > 0:
            yield start, piece
        start += piece.size
