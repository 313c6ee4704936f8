"""The key of a map: what its colours are, from the lowest value to the highest."""

from __future__ import annotations

from dataclasses import dataclass

from specplan.domain.forms import prefixed
from specplan.domain.picture import Cells
from specplan.render.figure.letters import LINE, Letters
from specplan.render.figure.sheet import SMALL, Box, Sheet
from specplan.render.palette import INK, SOFT, cell_colour

STEPS = 24
WIDE, HIGH = 110.0, 8.0  # points of the strip
TICK = 7.5
APART = 14.0  # points between the strip and what stands beside it


@dataclass(frozen=True, slots=True)
class Shades:
    """A strip of colours with its label above, its ends below and the border's value beside."""

    panel: Cells
    letters: Letters
    width: float
    known: tuple[float, ...]

    @property
    def _label(self) -> list[str]:
        return self.letters.lines(self.panel.label, SMALL, self.width)

    @property
    def height(self) -> float:
        """Points from its top to its end."""
        return len(self._label) * SMALL * LINE + 2 + HIGH + TICK * LINE + 5

    def draw(self, sheet: Sheet, left: float, top: float) -> None:
        """Draw it from there on."""
        top = sheet.lines(left, top, self._label, SMALL) + 2
        known = self.known
        if not known:
            return
        low, high, middle = min(known), max(known), self.panel.middle
        wide = WIDE / STEPS
        for n in range(STEPS):
            colour = cell_colour(low + (high - low) * (n + 0.5) / STEPS, known, middle)
            box = Box(left + n * wide, top, wide + 0.2, HIGH)
            sheet.patch(box, facecolor=colour, edgecolor="none", linewidth=0)
        foot = top + HIGH + TICK + 1.5
        sheet.text(left, foot, prefixed(low), TICK, colour=SOFT)
        if high > low:
            sheet.text(left + WIDE, foot, prefixed(high), TICK, colour=SOFT, side="right")
        if middle is not None and low < middle <= high:
            self._border(sheet, left, top, (middle - low) / (high - low))

    def _border(self, sheet: Sheet, left: float, top: float, share: float) -> None:
        """What the border in the map is, and where it lies among the colours."""
        look = {"color": INK, "linewidth": 2.0}
        x, y = left + WIDE * share, top + HIGH / 2
        sheet.stroke((x, x), (top - 1.5, top + HIGH + 1.5), **look)
        start = left + WIDE + APART
        sheet.stroke((start, start + 16), (y, y), **look)
        told = f"border at {prefixed(self.panel.middle or 0.0)}"
        sheet.text(start + 20, y + TICK * 0.36, told, TICK, colour=SOFT)
