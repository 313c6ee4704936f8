"""What a test would have seen: its power against a shift of a given total variation distance."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from specplan.physics.twosample.places import Reach
from specplan.physics.twosample.pools import Floats

_HALVINGS = 20
_erfc = np.frompyfunc(math.erfc, 1, 1)


def power(statistics: Floats, reach: Reach, tv: float, threshold: float) -> float:
    """Least probability that S exceeds `threshold` when what comes next is shifted by `tv` on
    average over what was compared.

    `statistics` (1 + B,) are S as labelled and in B random labellings: S without a shift. A shift
    adds its mean and a normal part; what it must add at least, `Reach` says. That holds for many
    outputs and cells; where two cells are all, a power of 0.37 is told as 0.44 and one of 0.93 as
    0.90. Tests plant shifts to see how far it carries.
    """
    if not reach.spread or not 0 < tv <= 1:
        return 0.0
    moved = 4 * (tv * reach.compared) ** 2 / reach.spread
    spread = 4 * tv * reach.compared / reach.spread * math.sqrt(reach.noise)
    above = (threshold - moved - statistics[1:]) / (spread * math.sqrt(2))
    return 0.5 * float(np.mean(np.asarray(_erfc(above), dtype=np.float64)))


def smallest_tv(
    statistics: Floats, reach: Reach, threshold: float, probability: float
) -> float | None:
    """The least shift that exceeds the threshold with that probability; None if even 1 does not."""
    return _least(lambda tv: power(statistics, reach, tv, threshold) >= probability)


def _least(holds: Callable[[float], bool]) -> float | None:
    """The least value up to 1 from which on it holds, by halving."""
    if not holds(1.0):
        return None
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def largest_tv(statistics: Floats, reach: Reach, probability: float) -> float:
    """The largest shift that the statistic as labelled leaves possible: with any larger one it
    would have been larger with more than that probability. At most 1.
    """
    found = smallest_tv(statistics, reach, float(statistics[0]), probability)
    return 1.0 if found is None else found
