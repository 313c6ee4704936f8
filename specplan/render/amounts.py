"""Values of an axis as people read them, in the unit of its label and at a size that suits."""

from __future__ import annotations

import math

from specplan.domain.forms import number_text, prefixed
from specplan.units import people

UNITS = {"s": "s", "bytes": "B"}  # of labels, whose values people read with a unit of their size
RATIO = "speedup"  # of labels whose values people read as "1.69x"
SHARE = "1"  # of labels of shares, read in percent
WHOLE = {  # units and labels of what is counted: never a part of one
    *("sequences", "sequences that fit", "tokens"),
    *("draft tokens", "draft tokens per round", "best k", "GPUs"),
}
WRITTEN_OUT = 1e5  # whole numbers below it: a context of 2,048 is no 2.05 k


def unit_of(label: str) -> str:
    """What stands after the quantity of a label: "s" of "time, s"."""
    return label.rpartition(", ")[2] if ", " in label else ""


def has_units(label: str) -> bool:
    """Whether each number of an axis has a unit of its own, so that the label needs none."""
    return unit_of(label) in {*UNITS, SHARE}


def heading(label: str) -> str:
    """What stands at an axis: the label, without a unit that its numbers have."""
    return label.rpartition(", ")[0] if has_units(label) else label


def amount(value: float, label: str) -> str:
    """A number of an axis: "10 ms", "20 GiB", "30 %", "100 T"."""
    unit = unit_of(label)
    if unit == SHARE and value:
        return f"{100 * value:.3g} %"
    if unit in UNITS and value:
        return people(value, UNITS[unit])
    return f"{value:,.0f}" if is_counted(label) and is_short(value) else prefixed(value)


def is_counted(label: str) -> bool:
    """Whether there is nothing between two whole numbers of an axis."""
    return (unit_of(label) or label) in WHOLE


def is_short(value: float) -> bool:
    """Whether a number is whole and written out."""
    return float(value).is_integer() and abs(value) < WRITTEN_OUT


def counted_in(most: float, label: str) -> float:
    """What people count in on an axis up to `most`: KiB, MiB or GiB for bytes, of which steps are
    round numbers; 1 for all else.
    """
    if UNITS.get(unit_of(label)) != "B" or most < 1:
        return 1.0
    return math.pow(1024.0, math.floor(math.log(most, 1024)))


def is_speedup(label: str) -> bool:
    """Whether values are told as times of plain decoding."""
    return label == RATIO or label.startswith(f"{RATIO} over")


def said(value: float, label: str) -> str:
    """A value with the unit of its label, as answers print it."""
    if is_speedup(label):
        return number_text(value, "times")
    number = amount(value, label)
    return number if has_units(label) else f"{number} {unit_of(label)}".rstrip()


def told(value: float, label: str) -> str:
    """A value with what its label names: "batch 32 sequences"; a speedup alone, "1.69x"."""
    if is_speedup(label):
        return said(value, label)
    quantity, comma, _ = label.rpartition(", ")
    return f"{quantity} {said(value, label)}" if comma else f"{amount(value, label)} {label}"


def named(name: str, value: float, label: str) -> str:
    """A line at one value: its name, with the value where the name does not say it."""
    text = said(value, label)
    return name if text in name else f"{name}: {text}"
