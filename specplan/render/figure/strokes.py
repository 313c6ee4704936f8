"""What tells one series from another: colour, stroke, marker and hatch together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from specplan.domain.picture import Band, Bars, Curve, Picture, Plot
from specplan.render.palette import SERIES

Dash = tuple[float, tuple[float, ...] | None]
SOLID: Dash = (0, None)
DASHED: Dash = (0, (4, 2))
DASHES: tuple[Dash, ...] = (
    SOLID,
    (0, (6, 2)),
    (0, (1.2, 1.4)),
    (0, (6, 1.6, 1.2, 1.6)),
    (0, (3, 1.5)),
    (0, (9, 2, 1.2, 2, 1.2, 2)),
    (0, (12, 3)),
)
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<")
HATCHES = ("", "///", "\\\\\\", "---", "xxx", "|||", "+++")


@dataclass(frozen=True, slots=True)
class Stroke:
    """How a series looks, by its place among those of a picture."""

    place: int

    @property
    def colour(self) -> str:
        """Its colour."""
        return SERIES[self.place % len(SERIES)]

    @property
    def dash(self) -> Dash:
        """Its stroke."""
        return DASHES[self.place % len(DASHES)]

    @property
    def marker(self) -> str:
        """The sign at its points."""
        return MARKERS[self.place % len(MARKERS)]

    @property
    def hatch(self) -> str:
        """What fills its pieces."""
        return HATCHES[self.place % len(HATCHES)]


class Strokes:
    """Strokes by name, alike in all panels: of what stands in plots, and of pieces of bars. A curve
    without a name looks like that of its sign.
    """

    def __init__(self, picture: Picture) -> None:
        self._signs = {
            curve.sign: curve.name
            for panel in picture.panels
            if isinstance(panel, Plot)
            for curve in panel.curves
            if curve.sign and curve.name
        }
        curves = (c for panel in picture.panels if isinstance(panel, Plot) for c in panel.curves)
        self._styled = any(curve.style == "dashed" for curve in curves)
        self._lines = _numbered(self._names(picture))
        self._pieces = _numbered(
            piece.name
            for panel in picture.panels
            if isinstance(panel, Bars)
            for bar in panel.bars
            for piece in bar.pieces
        )

    def of_piece(self, name: str) -> Stroke:
        """That of pieces of a name."""
        return self._pieces[name]

    def of_curve(self, curve: Curve) -> Stroke:
        """That of a curve."""
        return self._lines[self._name(curve)]

    def dash_of(self, curve: Curve) -> Dash:
        """Its stroke; where some lines are meant to be dashed, no other is."""
        if curve.style == "dashed":
            return DASHED
        return SOLID if self._styled else self.of_curve(curve).dash

    def of_band(self, band: Band, panel: Plot) -> Stroke:
        """That of the line that runs inside a band, or its own."""
        inside = (curve for curve in panel.curves if _within(curve, band))
        return next(map(self.of_curve, inside), None) or self._lines[band.name]

    def _name(self, curve: Curve) -> str:
        return curve.name or self._signs.get(curve.sign, curve.sign)

    def _names(self, picture: Picture) -> Iterator[str]:
        for panel in picture.panels:
            if isinstance(panel, Plot):
                yield from map(self._name, panel.curves)
                yield from (band.name for band in panel.bands)


def _numbered(names: Iterable[str]) -> dict[str, Stroke]:
    return {name: Stroke(place) for place, name in enumerate(dict.fromkeys(names))}


def _within(curve: Curve, band: Band) -> bool:
    """Whether a curve has points where the band has, and all of these lie inside."""
    edges = {x: (low, high) for x, low, high in band.points}
    met = [(y, *edges[x]) for x, y in curve.points if x in edges]
    return bool(met) and all(low <= y <= high for y, low, high in met)
