"""The colours of pictures: told apart by people who see colours in any way, on white and on dark.

Series after Okabe and Ito (2008), darkened where they would not stand out 3:1 from white paper and
moved apart where somebody who lacks a kind of cone would take one for another;
colour never says anything alone, lines differ in stroke and sign too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

SERIES = ("#0072b2", "#e06c00", "#008a63", "#a03090", "#595959", "#7a5c00")
SERIES_ON_DARK = ("#56b4e9", "#e69f00", "#2fbf95", "#dd8fbf", "#bdbdbd", "#f0e442")
# Where nobody knows whether the ground is light or dark: terminals.
SERIES_ON_BOTH = ("#0075df", "#fa5a11", "#1aaa69", "#9e72ad", "#758683", "#be552d")
LOSS, MIDDLE, GAIN = "#d55e00", "#f4f1ec", "#0072b2"  # below, at and above the middle of a map
INK, PAPER = "#14171c", "#ffffff"
BLACK = "#000000"  # upon colours: nothing lighter is readable, 4.5:1, where white is not either
SOFT, GRID, NOTHING = "#545a63", "#e4e2de", "#dcdad6"  # read second; lines behind; no value


def cell_colour(value: float, values: Iterable[float | None], middle: float | None) -> str:
    """The colour of a cell among the `values` of its map; both sides of a middle reach as far as
    the farther one of them does, on a logarithmic scale where all lie above zero.
    """
    known = [one for one in values if one is not None]
    logarithmic = middle is not None and min(*known, middle) > 0
    along = math.log if logarithmic else float
    if middle is None:
        low, high = along(min(known)), along(max(known))
        return _mixed(MIDDLE, GAIN, (along(value) - low) / (high - low) if high > low else 0.5)
    centre = along(middle)
    reach = max(abs(along(one) - centre) for one in known) or 1.0
    share = (along(value) - centre) / reach
    return _mixed(MIDDLE, GAIN if share >= 0 else LOSS, abs(share))


def ink_on(colour: str) -> str:
    """Black or white, whichever reads better on a colour."""
    return BLACK if contrast(colour, BLACK) >= contrast(colour, PAPER) else PAPER


def contrast(one: str, other: str) -> float:
    """The ratio of two colours' luminances, 1 to 21: WCAG 2.2, contrast ratio."""
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    """Relative luminance: WCAG 2.2."""
    linear = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
        for c in (part / 255 for part in _parts(colour))
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _mixed(first: str, last: str, share: float) -> str:
    pairs = zip(_parts(first), _parts(last), strict=True)
    return "#" + "".join(f"{round(a + share * (b - a)):02x}" for a, b in pairs)


def _parts(colour: str) -> tuple[int, int, int]:
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return red, green, blue
