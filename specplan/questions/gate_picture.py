"""The picture of a gate: best k over the batch, above the speedup of it and of each fixed k."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

import numpy as np

from specplan.domain.picture import Curve, Mark, Picture, Plot, Rule
from specplan.physics.round import time_rounds
from specplan.questions.measured import Point, points_over
from specplan.questions.pictures import LABELS, PARITY, SIGNS, SPEEDUP, left_out, thinned

if TYPE_CHECKING:
    from specplan.domain.scenario import Setup
    from specplan.physics.choose import Crossing
    from specplan.questions.gate import FixedK, Gate

LINES = 5  # of fixed k
BATCHES = 97  # of the line of a fixed k, besides the batches that the answer names


def drawn(
    value: Gate,
    setup: Setup,
    context: float,
    tokens: Mapping[int, float],
    measured: Sequence[Point] = (),
) -> Picture:
    """The ranges of a schedule as steps, and below them the speedup at both ends of each beside
    that of each fixed k and what was `measured`; for a gate that has ranges. `tokens` are those of
    a round by its k.
    """
    rules = (Rule("memory ends", "x", float(value.largest_batch)),) if value.largest_batch else ()
    steps = tuple(_steps(value))
    some = _chosen(value, {one.k for one in measured})
    lines = tuple(_fixed(value, some, tokens, setup, context))
    return Picture(
        panels=(
            Plot(
                x_label=LABELS["batch"],
                y_label=LABELS["k"],
                curves=(Curve("best k", steps, "k"),),
                rules=rules,
                y_scale="linear",
            ),
            Plot(
                title=", ".join(left_out("fixed k", some, value.fixed)),
                x_label=LABELS["batch"],
                y_label=SPEEDUP,
                curves=(_best(value), *lines, *points_over(measured, "batch")),
                marks=tuple(_crossings(some, lines)),
                rules=(PARITY, *rules),
                y_scale="linear",
            ),
        ),
        shared=True,
    )


def _steps(value: Gate) -> Iterator[tuple[float, float]]:
    """The best k of every batch, upright where it changes: there is no k between two."""
    for r, after in zip_longest(value.ranges, value.ranges[1:]):
        yield float(r.first_batch), float(r.k)
        yield float(after.first_batch if after else r.last_batch), float(r.k)


def _chosen(value: Gate, measured: Collection[int]) -> tuple[FixedK, ...]:
    """The lengths that are drawn: before others those that were measured, then those that are best
    somewhere, then those that cross 1.
    """
    best = {r.k for r in value.ranges}
    some: list[FixedK] = []

    def telling(one: FixedK) -> int:
        wanted = (one.k in measured, one.k in best, bool(_turns(one)), True)
        return wanted.index(True)

    for place in range(4):
        alike = [one for one in value.fixed if telling(one) == place]
        some += thinned(alike, LINES - len(some))
    return tuple(sorted(some, key=lambda one: one.k))


def _turns(one: FixedK) -> tuple[Crossing, ...]:
    """Its crossings; a loss at batch 1 crosses nothing."""
    return tuple(crossing for crossing in one.crossings if crossing.batch > 1)


def _best(value: Gate) -> Curve:
    """What the answer says of each range."""
    points = tuple(
        (float(batch), figure)
        for r in value.ranges
        for batch, figure in ((r.first_batch, r.speedup_first), (r.last_batch, r.speedup_last))
    )
    return Curve("best k, ends of ranges", points, "*", style="points")


def _fixed(
    value: Gate,
    some: Sequence[FixedK],
    tokens: Mapping[int, float],
    setup: Setup,
    context: float,
) -> Iterator[Curve]:
    """One length throughout: priced as the schedule was, at batches evenly far apart in ratio and
    at all that the answer names.
    """
    if not some:
        return
    named = {batch for r in value.ranges for batch in (r.first_batch, r.last_batch)}
    named |= {crossing.batch for one in some for crossing in one.crossings}
    even = np.geomspace(1, value.scanned_to, BATCHES).round().astype(int).tolist()
    batches = [float(batch) for batch in sorted({*even, *named})]
    gain = time_rounds(setup, (context,), batches, [one.k for one in some]).gain[0]
    for sign, one, column in zip(SIGNS, some, gain.T.tolist(), strict=False):
        speedup = [tokens[one.k] * each for each in column]
        yield Curve(f"k = {one.k}", tuple(zip(batches, speedup, strict=True)), sign)


def _crossings(some: Sequence[FixedK], lines: Sequence[Curve]) -> Iterator[Mark]:
    """Where each length crosses plain decoding for the last time."""
    for one, line in zip(some, lines, strict=True):
        turns = _turns(one)
        if turns:
            last, verb = float(turns[-1].batch), "pays" if turns[-1].pays else "loses"
            name = f"k = {one.k} {verb} from {turns[-1].batch:,}"
            yield Mark("x", name, last, dict(line.points)[last])
