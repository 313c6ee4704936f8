"""Speedup over batch, context, acceptance and k: every cell of the grid, nothing reduced."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import numpy.typing as npt

from specplan.domain.acceptance import Alpha
from specplan.domain.answer import Answer, Chunk, Column, Facts, Pivot, Scalar, Table, View
from specplan.domain.scenario import Scenario, Setup
from specplan.errors import UsageError
from specplan.physics.memory import memory_bill
from specplan.physics.roofline import kv_bytes
from specplan.physics.round import cost_ratio, time_rounds, tokens_table
from specplan.questions.common import (
    basis_of,
    dtype_words,
    percent,
    setups_caption,
    tokens_words,
)
from specplan.questions.weigh import lengths
from specplan.units import people

POINT_LIMIT = 10_000_000
CHUNK_ROWS = 8192

SETUP_COLUMNS = (
    Column("target", "", "target", "text", "model that is sped up"),
    Column("draft", "", "draft", "text", "what proposes tokens"),
    Column("hardware", "", "hardware", "text", "accelerator"),
    Column("tp", "GPU", "tp", "count", "GPUs that share the target"),
    Column("dtype", "", "dtype", "text", "storage type of the target's weights"),
    Column("draft_dtype", "", "draft dtype", "text", "storage type of the drafter's weights"),
    Column("kv_dtype", "", "kv dtype", "text", "storage type of the cache"),
    Column("draft_tp", "GPU", "draft tp", "count", "GPUs that share the drafter"),
    Column("engine", "", "engine", "text", "whose habits price a pass"),
)
POINT_COLUMNS = (
    Column("batch", "sequences", "batch", "count", "sequences decoded together"),
    Column("context", "tokens", "context", "count", "tokens each sequence has behind it"),
    Column("alpha", "1", "alpha", "alpha", "probability that a draft token is accepted"),
    Column("acceptance", "", "acceptance", "text", "the acceptance as it was given"),
    Column("k", "tokens", "k", "count", "draft tokens per round"),
    Column("speedup", "1", "speedup", "times", "tokens per second over plain decoding"),
    Column("tokens_per_round", "tokens", "tok/round", "number", "bonus token included"),
    Column("plain_step_s", "s", "plain step", "seconds", "one plain decoding step"),
    Column("draft_s", "s", "draft", "seconds", "all draft passes of a round"),
    Column("verify_s", "s", "verify", "seconds", "the target's pass over k + 1 tokens"),
    Column("round_s", "s", "round", "seconds", "draft and verify"),
    Column("tpot_s", "s", "TPOT", "seconds", "time per output token"),
    Column("plain_bound_by", "", "plain by", "text", "ceiling of the plain step"),
    Column("verify_bound_by", "", "verify by", "text", "ceiling of verification"),
    Column("plain_intensity", "FLOP/B", "plain FLOP/B", "number", "arithmetic intensity"),
    Column("verify_intensity", "FLOP/B", "verify FLOP/B", "number", "arithmetic intensity"),
    Column("fits_plain", "", "fits plain", "flag", "whether the batch fits without the drafter"),
    Column("fits", "", "fits", "flag", "whether the batch fits with the drafter"),
)
COLUMNS = SETUP_COLUMNS + POINT_COLUMNS
_CEILINGS = np.array(["memory", "compute"])


@dataclass(frozen=True, slots=True)
class Drafting:
    """What drafting costs in one setup, at the first context: the line under a sweep."""

    target: str
    draft: str
    hardware: str
    cost_ratio: float
    draft_weights_bytes: float
    draft_kv_bytes_per_token: float
    context: float
    largest_batch_plain: int
    largest_batch: int
    sequences_lost: int


@dataclass(frozen=True, slots=True)
class Sweep:
    """The scalars of a sweep; its figures are the rows."""

    points: int
    drafting: tuple[Drafting, ...]


def sweep(scenario: Scenario) -> Answer:
    """Every point of the scenario's grid, in axis order: setup, context, batch, alpha, k; chunks of
    CHUNK_ROWS rows at most. A scenario that leaves k open gives every k up to its longest.
    """
    if not scenario.k:
        scenario = replace(scenario, k=scenario.candidates[1:] or (0,))
    if scenario.points > POINT_LIMIT:
        raise UsageError(
            f"{scenario.points:,} points are more than one sweep holds",
            expected=f"at most {POINT_LIMIT:,}",
            hint="take coarser steps",
        )
    context, growth = scenario.context[0], scenario.growth
    drafting = tuple(_drafting(setup, context, context + growth) for setup in scenario.setups)
    per_k = len(scenario.batch) * len(scenario.context) * len(scenario.acceptance)
    rows = sum(len(lengths(setup, scenario.k)) for setup in scenario.setups) * per_k
    table = Table(columns=COLUMNS, rows=rows, chunks=lambda: _chunks(scenario))
    return Answer(
        command="sweep",
        value=Sweep(rows, drafting),
        table=table,
        view=_view(scenario, drafting),
        basis=basis_of(scenario),
        inputs=scenario.inputs,
        notes=scenario.notes,
    )


def _chunks(scenario: Scenario) -> Iterator[Chunk]:
    for setup in scenario.setups:
        k = lengths(setup, scenario.k)
        for context, batch, acceptance in _blocks(scenario, max(1, CHUNK_ROWS // len(k))):
            here = replace(
                scenario, setups=(setup,), context=context, batch=batch, acceptance=acceptance, k=k
            )
            yield _chunk(here)


def _blocks(
    scenario: Scenario, cells: int
) -> Iterator[tuple[tuple[float, ...], tuple[float, ...], tuple[Alpha, ...]]]:
    """Slices of context, batch and acceptance in axis order, of at most `cells` cells each.

    An outer axis is taken in steps of more than one only where every inner axis is whole.
    """
    inner = min(len(scenario.acceptance), cells)
    middle = min(len(scenario.batch), cells // inner)
    outer = min(len(scenario.context), cells // (inner * middle))
    for c, b, a in product(
        range(0, len(scenario.context), outer),
        range(0, len(scenario.batch), middle),
        range(0, len(scenario.acceptance), inner),
    ):
        yield (
            scenario.context[c : c + outer],
            scenario.batch[b : b + middle],
            scenario.acceptance[a : a + inner],
        )


def _chunk(here: Scenario) -> Chunk:
    """Columns of a scenario of one setup, flattened in axis order: context, batch, alpha, k."""
    (setup,) = here.setups
    shape = (len(here.context), len(here.batch), len(here.acceptance), len(here.k))
    timing = time_rounds(setup, here.context, here.batch, here.k)
    tokens = tokens_table(here.acceptance, here.k)
    bill = memory_bill(setup, (np.asarray(here.context) + here.growth).reshape(-1, 1, 1, 1))
    sizes, k = np.asarray(here.batch).reshape(-1, 1, 1), np.asarray(here.k)

    def flat(values: npt.NDArray[np.generic]) -> list[Scalar]:
        cells: list[Scalar] = np.broadcast_to(values, shape).ravel().tolist()
        return cells

    def over_time(values: npt.NDArray[np.generic]) -> list[Scalar]:
        return flat(values[:, :, np.newaxis, :])

    round_s = timing.round_s[:, :, np.newaxis, :]
    named = {
        column.name: [value] * math.prod(shape)
        for column, value in zip(SETUP_COLUMNS, _setup_values(setup), strict=True)
    }
    return named | {
        "batch": flat(sizes.astype(np.int64)),
        "context": flat(np.array([_whole(c) for c in here.context], object).reshape(-1, 1, 1, 1)),
        "alpha": flat(np.asarray([[a.alpha] for a in here.acceptance])),
        "acceptance": flat(np.asarray([[str(a)] for a in here.acceptance], object)),
        "k": flat(k),
        "speedup": flat(tokens * timing.gain[:, :, np.newaxis, :]),
        "tokens_per_round": flat(tokens),
        "plain_step_s": over_time(timing.plain_s),
        "draft_s": over_time(timing.draft_s),
        "verify_s": over_time(timing.verify_s),
        "round_s": flat(round_s),
        "tpot_s": flat(round_s / tokens),
        "plain_bound_by": over_time(_CEILINGS[timing.plain.compute_bound.astype(int)]),
        "verify_bound_by": over_time(_CEILINGS[timing.verify.compute_bound.astype(int)]),
        "plain_intensity": over_time(timing.plain.intensity),
        "verify_intensity": over_time(timing.verify.intensity),
        "fits_plain": flat(sizes <= bill.largest_plain),
        "fits": flat(sizes <= np.where(k > 0, bill.largest, bill.largest_plain)),
    }


def _setup_values(setup: Setup) -> tuple[Scalar, ...]:
    """The values of SETUP_COLUMNS."""
    return (
        setup.target.name,
        setup.draft.label,
        setup.hardware.name,
        setup.tp,
        str(setup.dtype),
        str(setup.draft_dtype),
        str(setup.kv_dtype),
        setup.draft_tp,
        setup.engine.name,
    )


def _whole(value: float) -> int | float:
    return int(value) if value == int(value) else value


def _drafting(setup: Setup, context: float, end: float) -> Drafting:
    """Costs at the average `context`, memory at its `end`."""
    bill = memory_bill(setup, end)
    model = setup.draft.model
    return Drafting(
        target=setup.target.name,
        draft=setup.draft.label,
        hardware=setup.where,
        cost_ratio=cost_ratio(setup, context),
        draft_weights_bytes=bill.draft_bytes,
        draft_kv_bytes_per_token=float(kv_bytes(model, 1, setup.kv_dtype, setup.draft_tp))
        if model
        else 0.0,
        context=end,
        largest_batch_plain=int(bill.largest_plain),
        largest_batch=int(bill.largest),
        sequences_lost=int(bill.largest_plain - bill.largest),
    )


def _view(scenario: Scenario, drafting: tuple[Drafting, ...]) -> View:
    fixed = []
    if len(scenario.context) == 1:
        fixed.append(f"context {tokens_words(scenario.context)}")
    if len(scenario.setups) > 1:
        fixed.append(dtype_words(scenario.setups[0]))
    caption = ", ".join((setups_caption(scenario), *fixed))
    pivot = Pivot(
        across="k",
        down=("batch", "alpha"),
        blocks=("target", "draft", "hardware", "tp", "dtype", "draft_dtype", "kv_dtype", "context"),
        cell="speedup",
        turn="verify_bound_by",
        misfit="fits",
    )
    facts = Facts(tuple(pair for d in drafting for pair in _facts(d, several=len(drafting) > 1)))
    return View(title="Speedup over plain decoding", caption=(caption,), sections=(pivot, facts))


def _facts(d: Drafting, *, several: bool) -> Iterator[tuple[str, str]]:
    of = f" ({d.draft} for {d.target} on {d.hardware})" if several else ""
    yield f"draft/target cost ratio at batch 1{of}", f"{d.cost_ratio:.2f}"
    share = percent(d.sequences_lost / d.largest_batch_plain) if d.largest_batch_plain else "all"
    yield (
        f"drafter's memory{of}",
        (
            f"{people(d.draft_weights_bytes, 'B')} weights, "
            f"{people(d.draft_kv_bytes_per_token, 'B')} KV per token; "
            f"{d.largest_batch_plain:,} -> {d.largest_batch:,} sequences at "
            f"{people(d.context, 'tokens')} tokens (-{d.sequences_lost:,}, {share})"
        ),
    )
