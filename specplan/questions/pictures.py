"""What pictures of several questions share: axes, how many lines a panel takes, the rule at 1."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TypeVar

from specplan.domain.picture import Curve, Rule, Scale

CURVES, PANELS, CELLS = 8, 8, 12  # of a picture, of a panel, on a side of a map; at most
PARITY = Rule("as fast as plain decoding", "y", 1.0)
SIGNS = "abcdefgh"
SPEEDUP = "speedup over plain decoding"
BEYOND = "dashed: does not fit"

T = TypeVar("T")


def thinned(values: Sequence[T], most: int) -> tuple[T, ...]:
    """At most so many of the values, both ends among them, evenly spread."""
    if len(values) <= most:
        return tuple(values)
    if most == 1:
        return (values[0],)
    last = len(values) - 1
    return tuple(values[round(i * last / (most - 1))] for i in range(most))


def left_out(what: str, shown: Sequence[object], every: Sequence[object]) -> Iterator[str]:
    """That some are not drawn, in words; nothing where all are."""
    if len(shown) < len(every):
        yield f"{len(shown)} of {len(every):,} {what}"


def scale_of(values: Sequence[float]) -> Scale:
    """Logarithmic where all lie above zero."""
    return "log" if values and min(values) > 0 else "linear"


def fitting(name: str, sign: str, points: Sequence[tuple[float, float, bool]]) -> Iterator[Curve]:
    """A line through (x, y, whether it fits): dashed from the last that fits to where it does not.

    The first piece has the name; the others look like it by their sign.
    """
    pieces = [
        (fits, [(x, y) for x, y, _ in some]) for fits, some in groupby(points, lambda p: p[2])
    ]
    before: tuple[float, float] | None = None
    for fits, some in pieces:
        joined = some if before is None else [before, *some]
        named = name if before is None else ""
        yield Curve(named, tuple(joined), sign, style="line" if fits else "dashed")
        before = some[-1]
