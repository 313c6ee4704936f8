"""Axes: from where to where, and which numbers stand on them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from matplotlib.ticker import LogLocator, MaxNLocator

from specplan.domain.picture import Scale
from specplan.render.amounts import amount, counted_in, has_units, is_counted, is_short

FEW = 9  # values that get a number each
ROOM = 0.04  # of the axis, beyond what is drawn


@dataclass(frozen=True, slots=True)
class Axis:
    """`ticks` are numbers with what is written at them."""

    scale: Scale
    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]


def axis_of(
    values: Sequence[float], scale: Scale, most: int, label: str, *, sampled: bool = False
) -> Axis:
    """An axis of a label that holds all `values`, with about `most` numbers; values that were
    `sampled` get theirs where they are few.
    """
    low, high = (min(values), max(values)) if values else (1.0, 1.0)
    few = sorted(set(values)) if sampled else []
    if scale == "log":
        room = max((high / low) ** ROOM, 1.06)
        low, high = low / room, high * room
    else:
        low = min(low, 0.0)
        high += ROOM * (high - low) if high > low else 1.0
        low -= ROOM * (high - low) if low < 0 else 0.0
    if 2 < len(few) <= min(FEW, most + 1) and _apart(few, low, high, scale):
        places = few
    else:
        whole = is_counted(label) or (sampled and all(float(v).is_integer() for v in values))
        size = counted_in(high, label) if scale == "linear" else 1.0
        ends = low / size, high / size
        places = [size * n for n in _places(*ends, scale, most, whole=whole)]
    return Axis(scale, low, high, tuple(zip(places, numbers(places, label), strict=True)))


def numbers(values: Sequence[float], label: str) -> list[str]:
    """Numbers as they stand on an axis: with a unit where people read it so, "10 ms", written out
    where all are whole and short, else with a decimal prefix, "100 T".
    """
    if all(map(is_short, values)) and not has_units(label):
        return [f"{v:,.0f}" for v in values]
    return [amount(v, label) for v in values]


def _apart(values: Sequence[float], low: float, high: float, scale: Scale) -> bool:
    """Whether numbers at all values would stand clear of one another."""
    along = math.log if scale == "log" else float
    span = along(high) - along(low)
    gaps = [along(b) - along(a) for a, b in pairwise(values)]
    return min(gaps) / span > 0.07


def _places(low: float, high: float, scale: Scale, most: int, *, whole: bool) -> list[float]:
    """Round numbers on an axis."""
    found: list[float] = []
    if scale == "log":
        for subs in ((1.0, 2.0, 5.0), (1.0, 3.0), (1.0,)):
            found = _inside(LogLocator(subs=subs, numticks=99).tick_values(low, high), low, high)
            if 3 <= len(found) <= most + 1:
                return found
        if len(found) > most:
            return found[:: math.ceil(len(found) / most)]
    locator = MaxNLocator(nbins=most, steps=[1, 2, 5, 10], integer=whole)
    return _inside(locator.tick_values(low, high), low, high)


def _inside(values: Sequence[float], low: float, high: float) -> list[float]:
    beyond = 1e-9 * (high - low)
    return [float(v) for v in values if low - beyond <= v <= high + beyond]
