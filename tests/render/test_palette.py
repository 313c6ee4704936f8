"""Colours that everybody can tell apart and read."""

from __future__ import annotations

import math
from itertools import combinations

import pytest

from specplan.render.palette import (
    GAIN,
    GRID,
    INK,
    LOSS,
    MIDDLE,
    NOTHING,
    PAPER,
    SERIES,
    SERIES_ON_BOTH,
    SERIES_ON_DARK,
    SOFT,
    cell_colour,
    contrast,
    ink_on,
)

# Machado, Oliveira and Fernandes (2009), severity 1, on linear RGB.
BLIND = {
    "none": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}
# Linear sRGB to L*a*b*: IEC 61966-2-1 and CIE 15, white D65.
XYZ = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))
WHITE = (0.9505, 1.0, 1.0890)


def times(matrix, vector):
    return [sum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix]


def lab(colour, blindness):
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    seen = [min(max(c, 0.0), 1.0) for c in times(BLIND[blindness], linear)]
    shares = [v / w for v, w in zip(times(XYZ, seen), WHITE, strict=True)]
    x, y, z = (v ** (1 / 3) if v > 0.008856 else 7.787 * v + 16 / 116 for v in shares)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


SIGHTS = [
    (SERIES, PAPER),
    (SERIES_ON_DARK, INK),
    (SERIES_ON_BOTH, PAPER),
    (SERIES_ON_BOTH, INK),
    (SERIES_ON_BOTH, "#000000"),
]


@pytest.mark.parametrize(("series", "ground"), SIGHTS)
def test_series_stand_out_from_their_ground(series, ground):
    assert len(set(series)) == len(series) == 6
    assert all(contrast(colour, ground) >= 3 for colour in series)


@pytest.mark.parametrize("blindness", BLIND)
@pytest.mark.parametrize("series", [SERIES, SERIES_ON_DARK, SERIES_ON_BOTH])
def test_series_stay_apart_however_colours_are_seen(series, blindness):
    """In steps of CIE 1976 L*a*b*, of which 2.3 can just be seen."""
    places = [lab(colour, blindness) for colour in series]
    assert min(math.dist(a, b) for a, b in combinations(places, 2)) > 9
    assert math.dist(places[0], places[1]) > 30


@pytest.mark.parametrize("blindness", BLIND)
def test_losses_and_gains_stay_apart_however_colours_are_seen(blindness):
    loss, middle, gain = (lab(colour, blindness) for colour in (LOSS, MIDDLE, GAIN))
    assert min(math.dist(a, b) for a, b in combinations((loss, middle, gain), 2)) > 30


@pytest.mark.parametrize(
    ("values", "middle"),
    [([0.3, 1.0, 3.0], 1.0), ([-2.0, 0.0, 5.0], 0.0), ([0.1, 0.4], None), ([5.0, 5.0], None)],
)
def test_a_cells_text_is_readable_whatever_its_value(values, middle):
    low, high = values[0], values[-1]
    for n in range(201):
        colour = cell_colour(low + (high - low) * n / 200, values, middle)
        assert contrast(colour, ink_on(colour)) >= 4.5


def test_colours_turn_at_the_middle():
    values = [0.5, 1.0, 1.5, 4.0, None]
    assert cell_colour(1.0, values, 1.0) == MIDDLE
    assert cell_colour(4.0, values, 1.0) == GAIN
    assert cell_colour(0.25, [0.25, 2.0], 1.0) == LOSS
    # Half as fast is as far from 1 as twice as fast.
    near, far = cell_colour(0.5, values, 1.0), cell_colour(2.0, values, 1.0)
    whole = [contrast(MIDDLE, end) for end in (near, far)]
    assert all(1.2 < step < 3 for step in whole)


def test_words_are_readable_and_what_is_behind_stays_behind():
    assert contrast(SOFT, PAPER) >= 4.5
    assert contrast(INK, PAPER) >= 7
    assert contrast(INK, NOTHING) >= 4.5
    assert contrast(GRID, PAPER) < 1.5
    assert contrast(PAPER, INK) == contrast(INK, PAPER)
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
