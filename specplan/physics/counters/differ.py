"""Two captures: how far their figures differ, and what difference would have shown.

Intervals of a difference come from those of its parts, each end from the ends that matter to it
(Newcombe 1998, method 10; for any two figures Zou and Donner 2008), so that what widens the parts
(requests that differ, few spans) widens the difference.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

from specplan.physics.counters.students import quantile

POWER = 0.9  # probability with which a difference of `smallest` shows
LEVEL = 0.05
_NORMAL = NormalDist()


@dataclass(frozen=True, slots=True)
class Interval:
    """A figure with its central 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Difference:
    """The second less the first, with its interval; chance shows as much with probability
    `p_value`, and a difference of `smallest` shows 9 times in 10 at the level that all tests share.
    """

    difference: float
    low: float
    high: float
    p_value: float
    smallest: float


def difference(first: Interval, second: Interval, tests: int = 1) -> Difference:
    """Second less first, as one of so many `tests` at the level together."""
    change = second.value - first.value
    low = change - math.hypot(second.value - second.low, first.high - first.value)
    high = change + math.hypot(second.high - second.value, first.value - first.low)
    z = quantile(1e9)
    toward = change - low if change > 0 else high - change  # the end that could reach zero
    error = toward / z
    p_value = 1.0 if not change else 0.0 if not error else 2 * _NORMAL.cdf(-abs(change) / error)
    wide = (high - low) / (2 * z)
    seen = _NORMAL.inv_cdf(1 - LEVEL / (2 * tests)) + _NORMAL.inv_cdf(POWER)
    return Difference(change, low, high, p_value, seen * wide)
