"""Which k at which batch, and up to which load speculation pays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

import numpy as np
import numpy.typing as npt

from specplan.domain.answer import Answer, Column, Facts, Lines, Rows, Section, View, table_from
from specplan.domain.measurement import Measurement
from specplan.domain.scenario import Scenario, Setup
from specplan.errors import UsageError
from specplan.physics.choose import (
    BATCH_LIMIT,
    Crossed,
    Crossing,
    best_index,
    scan_batches,
)
from specplan.physics.round import seen_by
from specplan.physics.survival import tokens_of
from specplan.physics.tokens import FloatArray
from specplan.questions.best_k_view import crossing_words
from specplan.questions.beyond import beyond_tokens
from specplan.questions.bills import bill_at, cap_notes, usual_k
from specplan.questions.common import basis_of, dtype_words, one_setup, refuse_mix
from specplan.questions.gate_picture import drawn
from specplan.questions.measured import measured_note, measured_points
from specplan.questions.weigh import lengths
from specplan.units import people


@dataclass(frozen=True, slots=True)
class Range:
    """Batches first..last at which k is best, and the speedup at both ends."""

    first_batch: int
    last_batch: int
    k: int
    speedup_first: float
    speedup_last: float


@dataclass(frozen=True, slots=True)
class FixedK:
    """Where one fixed k stops paying, or starts to; empty if it pays at every batch that fits."""

    k: int
    crossings: tuple[Crossing, ...]


@dataclass(frozen=True, slots=True)
class Gate:
    """The schedule from batch 1 to the largest that fits with the drafter."""

    ranges: tuple[Range, ...]
    fixed: tuple[FixedK, ...]
    largest_batch: int
    largest_batch_plain: int
    scanned_to: int


WAVERS = "k rises where rows fill tiles of a matmul; specplan emit -k gate: fewer ranges"
COLUMNS = (
    Column("first_batch", "sequences", "from", "count", "first batch of the range"),
    Column("last_batch", "sequences", "to", "count", "last batch of the range"),
    Column("k", "tokens", "k", "count", "best draft length; 0 is plain decoding"),
    Column("speedup_first", "1", "at first", "times", "speedup at the first batch"),
    Column("speedup_last", "1", "at last", "times", "speedup at the last batch"),
)


def gate(scenario: Scenario, *, measured: Sequence[Measurement] = ()) -> Answer:
    """Best k per batch as contiguous ranges, over every batch that fits; and for each fixed k the
    batches at which its speedup crosses 1.

    The scenario's own batch axis is not used. `k` limits the candidates; 0 is always one.
    `measured` are rows whose rounds stand as points over the lines of its picture.
    """
    refuse_mix(scenario, "gate")
    setup = one_setup(scenario, "gate")
    if len(scenario.context) != 1 or len(scenario.acceptance) != 1:
        raise UsageError("gate is about one context and one acceptance", hint="give one of each")
    context, acceptance = scenario.context[0], scenario.acceptance[0]
    setup = seen_by(setup, acceptance, context)
    bill = bill_at(setup, context + scenario.growth, usual_k(setup, scenario.k))
    largest, plain = int(bill.largest), int(bill.largest_plain)
    scanned = min(largest, BATCH_LIMIT)
    k = lengths(setup, scenario.candidates)
    tokens = tokens_of(acceptance, k, context)
    ranges, crossed = _scanned(setup, context, tokens, k, scanned)
    value = Gate(
        ranges=ranges,
        fixed=tuple(
            FixedK(n, tuple(found)) for n, found in zip(k, crossed.found, strict=True) if n
        ),
        largest_batch=largest,
        largest_batch_plain=plain,
        scanned_to=scanned,
    )
    points = measured_points(measured, scenario)
    pairs = dict(zip(k, tokens.tolist(), strict=True))
    return Answer(
        command="gate",
        value=value,
        table=table_from(COLUMNS, value.ranges),
        view=replace(
            _view(scenario, setup, value),
            picture=(lambda: drawn(value, setup, context, pairs, points)) if value.ranges else None,
        ),
        basis=basis_of(scenario),
        inputs=scenario.inputs,
        notes=(
            *scenario.notes,
            *([measured_note(points, measured, "gate", "a k of it")] if measured else []),
            *beyond_tokens(replace(scenario, batch=(1,))),
            *cap_notes((setup,), largest, scenario.k),
        ),
        ok=largest > 0,
    )


def _scanned(
    setup: Setup, context: float, tokens: FloatArray, k: tuple[int, ...], limit: int
) -> tuple[tuple[Range, ...], Crossed]:
    """Runs of batches with the same best k, and what each k does, from one pass over them all."""
    crossed = Crossed.watching(len(k))
    ranges: list[Range] = []
    for batch, gain in scan_batches(setup, context, k, limit):
        speedup = tokens * gain
        crossed.see(batch, speedup)
        for run in _best_of(batch, speedup, k):
            if ranges and ranges[-1].k == run.k:  # a run that goes on across the scan's chunks
                last, gain_last = run.last_batch, run.speedup_last
                ranges[-1] = replace(ranges[-1], last_batch=last, speedup_last=gain_last)
            else:
                ranges.append(run)
    return tuple(ranges), crossed


def _best_of(batch: FloatArray, speedup: FloatArray, k: tuple[int, ...]) -> Iterator[Range]:
    """The runs among a few batches (B,), from the speedups (B, K)."""
    best = best_index(speedup)
    top = np.take_along_axis(speedup, best[:, np.newaxis], axis=1)[:, 0]
    for first, last in _runs(best):
        yield Range(
            first_batch=int(batch[first]),
            last_batch=int(batch[last]),
            k=k[int(best[first])],
            speedup_first=float(top[first]),
            speedup_last=float(top[last]),
        )


def _runs(values: npt.NDArray[np.intp]) -> Iterator[tuple[int, int]]:
    """First and last index of each run of equal values."""
    starts = np.flatnonzero(np.diff(values, prepend=values[0] - 1))
    ends = np.append(starts[1:] - 1, len(values) - 1)
    yield from zip(starts.tolist(), ends.tolist(), strict=True)


def _view(scenario: Scenario, setup: Setup, value: Gate) -> View:
    sections: list[Section] = []
    if value.ranges:
        sections.append(Rows(columns=tuple(c.name for c in COLUMNS)))
    else:
        sections.append(Lines(("Does not fit: no sequence fits beside the weights.",)))
    if value.scanned_to:
        sections.append(Facts(tuple(_fixed_facts(value))))
    sections.append(Facts((("memory", _memory_words(value)),)))
    return View(
        title=_verdict(value),
        caption=(
            f"{setup.label}, {dtype_words(setup)}",
            f"context {people(scenario.context[0], 'tokens')}, acceptance {scenario.acceptance[0]}",
            *_wavers(setup, value),
        ),
        sections=tuple(sections),
    )


def _wavers(setup: Setup, value: Gate) -> Iterator[str]:
    """Why k is longer at some larger batch, where kernels have it so."""
    rises = any(after.k > before.k for before, after in pairwise(value.ranges))
    if rises and setup.engine.kernels and not setup.engine.fitted:
        yield WAVERS


def _verdict(value: Gate) -> str:
    off = [r for r in value.ranges if r.k == 0]
    if not value.ranges:
        return "Nothing to gate"
    if not off:
        if value.scanned_to < value.largest_batch:
            return f"Speculation pays at every batch up to {value.scanned_to:,}, the last tried"
        return "Speculation pays at every batch that fits"
    if len(off) == len(value.ranges):
        return "Speculation never pays"
    if off == [value.ranges[-1]]:
        return f"Speculation pays up to batch {off[0].first_batch - 1:,}"
    return (
        f"Speculation pays but for {sum(r.last_batch - r.first_batch + 1 for r in off):,} batches"
    )


def _fixed_facts(value: Gate) -> Iterator[tuple[str, str]]:
    """What each fixed k does; neighbours that do the same share a line."""
    capped = value.scanned_to if value.scanned_to < value.largest_batch else 0
    for words, alike in groupby(
        value.fixed, key=lambda fixed: crossing_words(fixed.crossings, capped)
    ):
        k = [fixed.k for fixed in alike]
        yield f"k={k[0]}{f'-{k[-1]}' if len(k) > 1 else ''} throughout", words


def _memory_words(value: Gate) -> str:
    words = f"ends at batch {value.largest_batch:,} ({value.largest_batch_plain:,} without drafter)"
    if value.scanned_to < value.largest_batch:
        words += f"; scanned to {value.scanned_to:,}"
    return words
