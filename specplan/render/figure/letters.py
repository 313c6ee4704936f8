"""Words of a figure: made visible, measured, broken into lines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.font_manager import FontProperties, findfont, get_font

from specplan.render.cells import shown

FINE = 10  # times finer than points: hinting would round widths to whole ones
JOINTS = "-/_,:"  # after which a word may be broken
LINE = 1.28  # from line to line, of the size


@dataclass(frozen=True, slots=True)
class Letters:
    """How texts are written: with `others`, characters that the font lacks are left to the reader's
    fonts; without, they are escaped.
    """

    others: bool

    def literal(self, text: str) -> str:
        """The text as it is drawn, on one line."""
        seen = shown(text)
        known = _known()
        if self.others or all(ord(char) in known for char in seen):
            return seen
        return "".join(char if ord(char) in known else _escaped(char) for char in seen)

    def width(self, text: str, size: float, *, bold: bool = False) -> float:
        """Points that a text takes at a size in points."""
        return _width(self.literal(text), bold=bold) * size

    def lines(self, text: str, size: float, room: float, *, bold: bool = False) -> list[str]:
        """The text in lines no wider than `room` points; a word that is wider is broken."""
        return list(self._lines(self.literal(text), size, room, bold=bold))

    def _lines(self, text: str, size: float, room: float, *, bold: bool) -> Iterator[str]:
        line = ""
        for word in text.split(" "):
            longer = f"{line} {word}" if line else word
            if _width(longer, bold=bold) * size <= room:
                line = longer
                continue
            if line:
                yield line
            line = word
            while len(line) > 1 and _width(line, bold=bold) * size > room:
                kept = _fitting(line, room / size, bold=bold)
                yield line[:kept]
                line = line[kept:]
        yield line


def _fitting(word: str, room: float, *, bold: bool) -> int:
    """Characters of a word that fit, at least one; up to a sign that words are made with, if that
    is not far.
    """
    low, high = 1, len(word)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (
            (middle, high) if _width(word[:middle], bold=bold) <= room else (low, middle - 1)
        )
    good = max(word.rfind(sign, 0, low) for sign in JOINTS) + 1
    return good if good > low / 2 else low


@lru_cache(maxsize=8192)
def _width(text: str, *, bold: bool) -> float:
    """Ems of a text; what the font lacks is as wide as it is high."""
    known = _known()
    usual = "".join(char for char in text if ord(char) in known)
    font = FontProperties(family="DejaVu Sans", weight="bold" if bold else "normal", size=FINE)
    wide = _ruler().get_text_width_height_descent(usual, font, ismath=False)[0] if usual else 0.0
    return wide / (FINE * FINE) + (len(text) - len(usual))


@lru_cache(maxsize=1)
def _ruler() -> Any:  # noqa: ANN401 - untyped there
    make: Any = RendererAgg
    return make(8, 8, 72 * FINE)


@lru_cache(maxsize=1)
def _known() -> frozenset[int]:
    """Characters of the font, thin and bold."""
    faces = [findfont(FontProperties(family="DejaVu Sans", weight=w)) for w in ("normal", "bold")]
    thin, bold = (get_font(face).get_charmap() for face in faces)
    return frozenset(thin) & frozenset(bold)


def _escaped(char: str) -> str:
    code = ord(char)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
