"""Speedup over batch, context, acceptance and k: every cell of the grid, nothing reduced."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from specplan.domain.answer import Answer, Chunk, Column, Lines, Pivot, Table, View
from specplan.domain.measurement import Measurement
from specplan.domain.scenario import Scenario, Serving, Setup
from specplan.physics.choose import best_index
from specplan.physics.round import Timed, bound_names, cost_ratio, time_rounds
from specplan.physics.survival import tokens_table
from specplan.questions.beyond import beyond_tokens
from specplan.questions.bills import MemoryBill, bill_at, bill_of, cap_notes, usual_k
from specplan.questions.common import (
    basis_of,
    dtype_words,
    refuse_mix,
    setups_caption,
    tokens_words,
)
from specplan.questions.grids import (
    ROUND_COLUMNS,
    SETUP_COLUMNS,
    WORKLOAD_COLUMNS,
    flattened,
    iid_alphas,
    refuse_beyond_limit,
    setup_cells,
    slices,
    whole,
)
from specplan.questions.measured import measured_note, measured_points
from specplan.questions.memory_view import memory_line
from specplan.questions.servings import SERVED_BY, SERVING_NAMES, told_once
from specplan.questions.sweep_picture import drawn
from specplan.questions.weigh import lengths

COLUMNS = (
    *SETUP_COLUMNS,
    *WORKLOAD_COLUMNS,
    Column("k", "tokens", "k", "count", "draft tokens per round"),
    Column("speedup", "1", "speedup", "times", "tokens per second over plain decoding"),
    Column("best_k", "tokens", "best k", "count", "best of 0 to the longest k, at this workload"),
    Column("tokens_per_round", "tokens", "tok/round", "number", "bonus token included"),
    Column("plain_step_s", "s", "plain step", "seconds", "one plain decoding step"),
    *ROUND_COLUMNS,
    Column("plain_bound_by", "", "plain by", "text", "ceiling of the plain step"),
    Column("plain_intensity", "FLOP/B", "plain FLOP/B", "number", "arithmetic intensity"),
    Column("draft_bound_by", "", "draft by", "text", "ceiling of a draft pass, if it runs a model"),
    Column("draft_intensity", "FLOP/B", "draft FLOP/B", "number", "of a draft pass"),
    Column("verify_bound_by", "", "verify by", "text", "ceiling of verification"),
    Column("verify_intensity", "FLOP/B", "verify FLOP/B", "number", "arithmetic intensity"),
    Column("fits_plain", "", "fits plain", "flag", "whether the batch fits without the drafter"),
    Column("fits", "", "fits", "flag", "whether it fits, with the drafter if k > 0"),
)

BLOCKS = (
    *("target", "draft", "hardware", "tp", "draft_tp", *SERVING_NAMES),
    *("dtype", "draft_dtype", "kv_dtype", "context"),
)


@dataclass(frozen=True, slots=True)
class Drafting:
    """What drafting costs in one setup, in time and memory: the lines under a sweep."""

    target: str
    draft: str
    hardware: str
    serving: Serving
    cost_ratio: float
    memory: MemoryBill


@dataclass(frozen=True, slots=True)
class Sweep:
    """The scalars of a sweep; its figures are the rows."""

    points: int
    drafting: tuple[Drafting, ...]


def sweep(scenario: Scenario, *, measured: Sequence[Measurement] = ()) -> Answer:
    """Every point of the scenario's grid, in axis order: setup, context, batch, alpha, k; streamed.

    A scenario that leaves k open gives every k up to its longest. `measured` are rows whose rounds
    stand as points over the lines of its picture.
    """
    refuse_mix(scenario, "sweep")
    if not scenario.k:
        scenario = replace(scenario, k=scenario.candidates[1:] or (0,))
    refuse_beyond_limit(scenario.points)
    points = measured_points(measured, scenario)
    drafting = tuple(_drafting(setup, scenario) for setup in scenario.setups)
    widths = [len(lengths(setup, scenario.k)) for setup in scenario.setups]
    rows = sum(widths) * scenario.workloads // len(scenario.setups)
    table = Table(columns=COLUMNS, aside=(SERVED_BY,), rows=rows, chunks=lambda: _chunks(scenario))
    return Answer(
        command="sweep",
        value=Sweep(rows, drafting),
        table=table,
        view=replace(_view(scenario, drafting), picture=lambda: drawn(table, points)),
        basis=basis_of(scenario),
        inputs=scenario.inputs,
        notes=(
            *scenario.notes,
            *([measured_note(points, measured)] if measured else []),
            *beyond_tokens(scenario),
            *cap_notes(scenario.setups, max(scenario.batch), scenario.k),
        ),
    )


def _chunks(scenario: Scenario) -> Iterator[Chunk]:
    return (_chunk(here) for here in slices(scenario, len(scenario.k)))


def _chunk(here: Scenario) -> Chunk:
    """Columns of a scenario of one setup, flattened in axis order: context, batch, alpha, k."""
    (setup,) = here.setups
    k = lengths(setup, here.k)
    shape = (len(here.context), len(here.batch), len(here.acceptance), len(k))
    timing = time_rounds(setup, here.context, here.batch, k)
    tokens = tokens_table(here.acceptance, k, here.context)[:, np.newaxis]
    ends = (np.asarray(here.context) + here.growth).reshape(-1, 1, 1, 1)
    bill = bill_at(setup, ends, usual_k(setup, here.k))
    sizes, lengths_of_k = np.asarray(here.batch).reshape(-1, 1, 1), np.asarray(k)
    round_s = timing.round_s[:, :, np.newaxis, :]
    cells = {
        "batch": sizes.astype(np.int64),
        "context": whole(here.context).reshape(-1, 1, 1, 1),
        "alpha": iid_alphas(here.acceptance)[:, np.newaxis],
        "acceptance": np.asarray([[str(a)] for a in here.acceptance], object),
        "k": lengths_of_k,
        "speedup": tokens * timing.gain[:, :, np.newaxis, :],
        "best_k": _best_k(here),
        "tokens_per_round": tokens,
        "plain_step_s": timing.plain_s[:, :, np.newaxis, :],
        "draft_s": timing.draft_s[:, :, np.newaxis, :],
        "verify_s": timing.verify_s[:, :, np.newaxis, :],
        "round_s": round_s,
        "tpot_s": round_s / tokens,
        **_ceiling("plain", timing.plain),
        **_ceiling("draft", timing.draft),
        **_ceiling("verify", timing.verify),
        "fits_plain": sizes <= bill.largest_plain,
        "fits": sizes <= np.where(lengths_of_k > 0, bill.largest, bill.largest_plain),
    }
    return setup_cells(setup, math.prod(shape)) | flattened(cells, shape)


def _best_k(here: Scenario) -> npt.NDArray[np.int64]:
    """The best candidate of each workload, whether or not the sweep shows it."""
    (setup,) = here.setups
    k = lengths(setup, tuple(sorted({*here.k, *range(here.k_max + 1)})))
    gain = time_rounds(setup, here.context, here.batch, k).gain
    tokens = tokens_table(here.acceptance, k, here.context)[:, np.newaxis]
    scores = tokens * gain[:, :, np.newaxis, :]
    return np.asarray(k)[best_index(scores)][..., np.newaxis]


def _ceiling(name: str, of: Timed | None) -> dict[str, npt.NDArray[np.generic]]:
    """What binds a pass and its arithmetic intensity; nothing for a pass that is not run."""
    if of is None:
        nothing = np.asarray(None, object)
        return {f"{name}_bound_by": nothing, f"{name}_intensity": nothing}
    bound_by = bound_names(of)
    return {
        f"{name}_bound_by": bound_by[:, :, np.newaxis, :],
        f"{name}_intensity": of.intensity[:, :, np.newaxis, :],
    }


def _drafting(setup: Setup, scenario: Scenario) -> Drafting:
    """At the first context: costs at its average, memory at its end."""
    context = scenario.context[0]
    return Drafting(
        target=setup.target.name,
        draft=setup.draft.label,
        hardware=setup.where,
        serving=setup.serving,
        cost_ratio=cost_ratio(setup, context),
        memory=bill_of(setup, context + scenario.growth, asked=scenario.k),
    )


def _view(scenario: Scenario, drafting: tuple[Drafting, ...]) -> View:
    fixed = []
    if len(scenario.batch) == 1:
        fixed.append(f"batch {scenario.batch[0]:,.0f}")
    if len(scenario.context) == 1:
        fixed.append(f"context {tokens_words(scenario.context)}")
    apart: list[str] = []
    if len(scenario.acceptance) == 1:
        one = f"acceptance {scenario.acceptance[0]}"
        (fixed if scenario.all_iid else apart).append(one)
    if len(scenario.setups) > 1:
        fixed.append(dtype_words(scenario.setups[0]))
    caption = ", ".join((setups_caption(scenario), *fixed))
    pivot = Pivot(
        across="k",
        down=("batch", "alpha" if scenario.all_iid else "acceptance"),
        blocks=BLOCKS,
        cell="speedup",
        turn="verify_bound_by",
        best="best_k",
        misfit="fits",
    )
    told = Lines(tuple(_told(scenario.setups, drafting)))
    return View(
        title="Speedup over plain decoding", caption=(caption, *apart), sections=(pivot, told)
    )


def _told(setups: tuple[Setup, ...], drafting: tuple[Drafting, ...]) -> Iterator[str]:
    """What drafting costs in each setup; what its servings agree on is said once."""
    groups: dict[tuple[object, ...], list[Drafting]] = {}
    for s, one in zip(setups, drafting, strict=True):
        types = (s.dtype, s.draft_dtype, s.kv_dtype)
        place = (s.target.name, s.draft.label, s.hardware.name, s.tp, s.draft_tp, *types)
        groups.setdefault(place, []).append(one)
    for group in groups.values():
        for say in (_ratio_words, _memory_words):
            of = f"{group[0].draft} for {group[0].target} on {group[0].hardware}"
            for served, line in told_once([(one.serving, say(one)) for one in group]):
                words = f"{of}, {served}: " if served else f"{of}: "
                yield f"{words if len(drafting) > 1 else ''}{line}"


def _ratio_words(one: Drafting) -> str:
    return f"draft/target cost ratio at batch 1: {one.cost_ratio:.2f}"


def _memory_words(one: Drafting) -> str:
    return f"drafter {memory_line(one.memory)}"
