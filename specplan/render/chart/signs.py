"""Which sign and colour a name has: the same in all panels of a picture."""

from __future__ import annotations

from collections.abc import Iterator

from specplan.domain.picture import Bars, Curve, Picture, Plot
from specplan.render.palette import SERIES_ON_BOTH

LETTERS = "abcdefghijklmnopqrstuvwxyz"
FILLS = "#=o*%@+:"
UNICODE_FILLS = "\u2588\u2593\u2592\u2591\u259a\u25a4\u25a5\u25a6"
MORE_FILLS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"  # beyond those, rather than one twice
POINTS = "ox+*#%@&$="  # of what was measured


class Signs:
    """Signs by name. A curve may bring its own; a single one is a line of dots."""

    def __init__(self, picture: Picture, *, unicode: bool) -> None:
        self.unicode = unicode
        lines = dict.fromkeys(_keys(picture))
        pieces = dict.fromkeys(_pieces(picture))
        self._numbers = {key: number for number, key in enumerate(lines)}
        self._pieces = {name: number for number, name in enumerate(pieces)}
        measured = [key for key in lines if key.endswith(_MEASURED)]
        self._measured = {key: number for number, key in enumerate(measured)}
        self._points = [sign for sign in POINTS if sign not in set(_brought(picture))]
        self._alone = len(lines) - len(measured) < 2

    def curve(self, curve: Curve) -> str:
        """The sign of a curve."""
        if curve.sign:
            return curve.sign
        if curve.style == "points":
            return self._points[self._measured[_key(curve)] % len(self._points)]
        if self._alone or not curve.name:
            return "\u00b7" if self.unicode else "."
        return LETTERS[self._numbers[_key(curve)] % len(LETTERS)]

    def ink(self, curve: Curve) -> str:
        """The colour of a curve."""
        return SERIES_ON_BOTH[self._numbers[_key(curve)] % len(SERIES_ON_BOTH)]

    def piece(self, name: str) -> tuple[str, str]:
        """The character that fills the pieces of a name, and its colour."""
        number = self._pieces[name]
        fills = (UNICODE_FILLS if self.unicode else FILLS) + MORE_FILLS
        return fills[number % len(fills)], SERIES_ON_BOTH[number % len(SERIES_ON_BOTH)]


_MEASURED = "\0points"


def _key(curve: Curve) -> str:
    name = curve.name or curve.sign
    return f"{name}{_MEASURED}" if curve.style == "points" else name


def _keys(picture: Picture) -> Iterator[str]:
    for panel in picture.panels:
        if isinstance(panel, Plot):
            yield from map(_key, panel.curves)


def _brought(picture: Picture) -> Iterator[str]:
    """The signs that marks and curves have of their own."""
    for panel in picture.panels:
        if isinstance(panel, Plot):
            yield from (mark.sign for mark in panel.marks)
            yield from (curve.sign for curve in panel.curves)


def _pieces(picture: Picture) -> Iterator[str]:
    for panel in picture.panels:
        if isinstance(panel, Bars):
            for bar in panel.bars:
                yield from (piece.name for piece in bar.pieces)
