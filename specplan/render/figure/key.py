"""The key of a panel: a sample of each series with its name, in rows above what is drawn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from specplan.domain.picture import Bars, Curve, Panel, Plot
from specplan.render.figure.letters import LINE, Letters
from specplan.render.figure.sheet import SMALL, Box, Sheet
from specplan.render.figure.strokes import SOLID, Dash, Stroke, Strokes
from specplan.render.palette import PAPER

SAMPLES = {"line": 24.0, "points": 8.0, "band": 18.0, "piece": 18.0}  # points of a sample
BESIDE, GAP = 5.0, 15.0  # points from it to the name, and between entries
ROW = SMALL * 1.6


@dataclass(frozen=True, slots=True)
class Entry:
    """A name and how it looks."""

    name: str
    look: Literal["line", "points", "band", "piece"]
    stroke: Stroke
    dash: Dash = SOLID
    marked: bool = False


def entries(panel: Panel, strokes: Strokes) -> tuple[Entry, ...]:
    """The named series of a panel, each once."""
    return tuple(dict.fromkeys(_entries(panel, strokes)))


def entry_of(curve: Curve, panel: Plot, strokes: Strokes) -> Entry:
    """How a curve looks; lines have signs where one must be told from another, and none that would
    be taken for what was measured.
    """
    look: Literal["line", "points"] = "points" if curve.style == "points" else "line"
    marked = sum(one.style != "points" for one in panel.curves) > 1
    return Entry(curve.name, look, strokes.of_curve(curve), strokes.dash_of(curve), marked)


def _entries(panel: Panel, strokes: Strokes) -> Iterator[Entry]:
    if isinstance(panel, Plot):
        for curve in panel.curves:
            if curve.name:
                yield entry_of(curve, panel, strokes)
        for band in panel.bands:
            if band.name:
                yield Entry(band.name, "band", strokes.of_band(band, panel))
    elif isinstance(panel, Bars):
        names = dict.fromkeys(piece.name for bar in panel.bars for piece in bar.pieces)
        if len(names) > 1 or not any(name in panel.label for name in names):
            yield from (Entry(name, "piece", strokes.of_piece(name)) for name in names if name)


@dataclass(frozen=True, slots=True)
class Key:
    """Entries in rows of a width."""

    rows: tuple[tuple[tuple[float, Entry, tuple[str, ...]], ...], ...]
    heights: tuple[float, ...]

    @classmethod
    def of(cls, found: Sequence[Entry], letters: Letters, width: float) -> Key:
        """Entries side by side as far as they fit; a long name goes on in a further line."""
        rows: list[list[tuple[float, Entry, tuple[str, ...]]]] = []
        x = width
        for entry in found:
            start = SAMPLES[entry.look] + BESIDE
            lines = tuple(letters.lines(entry.name, SMALL, width - start))
            wide = start + max(letters.width(line, SMALL) for line in lines)
            if not rows or x + wide > width:
                rows.append([])
                x = 0.0
            rows[-1].append((x, entry, lines))
            x += wide + GAP
        deep = [max(len(lines) for _, _, lines in row) for row in rows]
        heights = tuple(ROW + (count - 1) * SMALL * LINE for count in deep)
        return cls(tuple(map(tuple, rows)), heights)

    @property
    def height(self) -> float:
        """Points from its top to its end."""
        return sum(self.heights) + 3 if self.heights else 0.0

    def draw(self, sheet: Sheet, left: float, top: float) -> None:
        """Draw it from there on."""
        for row, height in zip(self.rows, self.heights, strict=True):
            for x, entry, lines in row:
                _sample(sheet, entry, left + x, top + ROW / 2)
                start = top + (ROW - SMALL * 1.25) / 2
                sheet.lines(left + x + SAMPLES[entry.look] + BESIDE, start, lines, SMALL)
            top += height


def _sample(sheet: Sheet, entry: Entry, left: float, middle: float) -> None:
    stroke, wide = entry.stroke, SAMPLES[entry.look]
    if entry.look in {"band", "piece"}:
        box = Box(left, middle - 4, wide, 8)
        if entry.look == "band":
            sheet.patch(box, facecolor=stroke.colour, alpha=0.18, edgecolor="none")
        else:
            sheet.patch(box, **piece_look(stroke))
        return
    across = (left, left + wide / 2, left + wide)
    sheet.stroke(across, (middle,) * 3, markevery=[1], **line_look(entry))


def line_look(entry: Entry) -> dict[str, Any]:
    """How a line or its points are drawn."""
    colour = entry.stroke.colour
    look: dict[str, Any] = {"color": colour, "linewidth": 1.7, "solid_capstyle": "butt"}
    if entry.look == "points":
        return look | {
            "linestyle": "none",
            "marker": entry.stroke.marker,
            "markersize": 5.5,
            "markerfacecolor": PAPER,
            "markeredgecolor": colour,
            "markeredgewidth": 1.5,
        }
    look["linestyle"] = entry.dash
    if entry.marked:
        look |= {"marker": entry.stroke.marker, "markersize": 4.5, "markeredgewidth": 0.0}
    return look


def piece_look(stroke: Stroke) -> dict[str, Any]:
    """How a piece of a bar is filled."""
    return {
        "facecolor": stroke.colour,
        "edgecolor": PAPER,
        "hatch": stroke.hatch,
        "linewidth": 0.8,
    }
