"""Which k, by what margin, how wrong the acceptance may be, and up to which load."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from specplan.domain.acceptance import Alpha, Named
from specplan.domain.answer import Answer, table_of
from specplan.domain.measurement import Measurement
from specplan.domain.scenario import Scenario, Serving, Setup
from specplan.errors import UsageError, unknown
from specplan.physics.choose import (
    BATCH_LIMIT,
    Crossing,
    alpha_range,
    break_even_alpha,
    crossings,
)
from specplan.physics.estimate import Uncertain, under_uncertainty
from specplan.physics.round import bound_names
from specplan.physics.tokens import FloatArray
from specplan.questions import best_k_view as view
from specplan.questions.best_k_picture import candidates
from specplan.questions.best_ks import best_ks
from specplan.questions.beyond import beyond_tokens
from specplan.questions.bills import MemoryBill, bill_of, cap_notes, fitting_tp
from specplan.questions.candidates import COLUMNS, nearly_best, rows
from specplan.questions.common import basis_of
from specplan.questions.cost import Cost, cost_of, refuse_price
from specplan.questions.measured import measured_note, measured_points
from specplan.questions.mix import best_for_mix
from specplan.questions.need import Need, what_is_needed
from specplan.questions.weigh import Objective, Point, Weighed, weigh
from specplan.questions.yields import Yield, yield_of


@dataclass(frozen=True, slots=True)
class Choice:
    """The best k at one point, in SI; margins are the losses of the neighbours, relative."""

    target: str
    draft: str
    hardware: str
    tp: int
    serving: Serving
    batch: float
    context: float
    alpha: float | None
    acceptance: str
    objective: str
    k: int
    speedup: float
    score: float
    tokens_per_round: float
    plain_tpot_s: float
    tpot_s: float
    tokens_per_s: float
    tokens_per_s_per_sequence: float
    tokens_per_s_per_gpu: float
    margin_below: float | None
    margin_above: float | None
    k_within_1_percent: int
    at_k_max: bool
    break_even_tokens: float
    break_even_alpha: float | None
    draft_share: float
    verify_bound_by: str
    fits: bool


@dataclass(frozen=True, slots=True)
class Load:
    """Batches at which the speedup of the chosen k crosses 1, up to the largest that fits."""

    crossings: tuple[Crossing, ...]
    largest_batch: int
    scanned_to: int


@dataclass(frozen=True, slots=True)
class BestK:
    """One workload in full."""

    choice: Choice
    alpha_low: float | None
    alpha_high: float | None
    load: Load
    memory: MemoryBill
    fitting_tp: int | None
    flops_per_token: float
    throughput: float | None
    tokens: Yield
    uncertain: Uncertain | None
    need: Need | None
    cost: Cost | None


def best_k(
    scenario: Scenario,
    *,
    objective: str = "latency",
    need: float | None = None,
    usd_per_gpu_hour: float | None = None,
    measured: Sequence[Measurement] = (),
) -> Answer:
    """The best k of each workload in the scenario; in full when there is one.

    `objective` is latency (TPOT at the batch asked), throughput (each arm at its own largest
    batch) or cost (arithmetic per token). `need` is a wanted speedup: what must the drafter reach?
    `usd_per_gpu_hour` is used instead of the price on a card. `measured` are rows whose rounds at
    the batch of the one workload stand as points over the speedups of its picture.
    """
    goal = _objective(objective)
    if need is not None and not 0 < need < math.inf:
        raise UsageError(f"need is {need:g}", expected="a finite speedup above 0")
    if usd_per_gpu_hour is not None:
        refuse_price(usd_per_gpu_hour, several=scenario.workloads > 1 or bool(scenario.parts))
    if measured:
        _refuse_measured(scenario, goal)
    if scenario.parts:
        if goal is not Objective.LATENCY or need is not None:
            raise UsageError("a mix has one k for latency", hint="leave out --objective and --need")
        return best_for_mix(scenario)
    if need is not None:
        _refuse_need(scenario, goal)
    if scenario.workloads > 1:
        return best_ks(scenario, goal)
    (point,) = points_of(scenario)
    weighed = weigh(point, scenario.candidates, scenario.k)
    value = _in_full(weighed, goal, scenario, need, usd_per_gpu_hour)
    table = table_of(COLUMNS, tuple(rows(weighed, goal)))
    basis, scored = basis_of(scenario, spread=True), view.SCORED[goal]
    over = [one for one in measured_points(measured, scenario) if one.batch == point.batch]
    return Answer(
        command="best-k",
        value=value,
        table=table,
        view=replace(
            view.one(value, weighed),
            picture=lambda: candidates(weighed, goal, table, basis, scored, over),
        ),
        basis=basis,
        inputs=scenario.inputs,
        notes=(
            *scenario.notes,
            *([measured_note(over, measured, "workload", "its batch")] if measured else []),
            *beyond_tokens(scenario),
            *cap_notes(scenario.setups, max(scenario.batch), scenario.k),
        ),
        ok=value.choice.fits and (value.need is None or value.need.reachable),
    )


def _refuse_need(scenario: Scenario, goal: Objective) -> None:
    """Refuses what a wanted speedup cannot be asked of."""
    if goal is not Objective.LATENCY:
        raise UsageError("--need is a speedup at the batch asked", hint="leave out --objective")
    if scenario.workloads > 1:
        raise UsageError(f"--need is about one workload, not {scenario.workloads}")
    if scenario.acceptance[0].sd:
        raise UsageError(
            f"--need takes one alpha, not {scenario.acceptance[0]}",
            hint=f"write -a {scenario.acceptance[0].iid:.4g}",
        )
    if scenario.setups[0].draft.max_k == 0:
        raise UsageError(
            "--need asks what a drafter must reach, and -d none is no drafter",
            hint="name one, or free, or ratio:0.05",
        )


def _refuse_measured(scenario: Scenario, goal: Objective) -> None:
    """Refuses what measured speedups at a batch have no place in."""
    if goal is not Objective.LATENCY:
        raise UsageError("--measured are speedups at a batch", hint="leave out --objective")
    if scenario.parts or scenario.workloads > 1:
        many = "a mix" if scenario.parts else scenario.workloads
        what = f"--measured stands beside one workload, not {many}"
        raise UsageError(what, hint="ask about one")


def _objective(name: str) -> Objective:
    try:
        return Objective(name)
    except ValueError:
        raise unknown("objective", name, Objective) from None


def points_of(scenario: Scenario) -> Iterator[Point]:
    """The workloads of a scenario in axis order."""
    axes = product(scenario.setups, scenario.context, scenario.batch, scenario.acceptance)
    for setup, context, batch, acceptance in axes:
        yield Point(setup, context, batch, acceptance, scenario.growth)


def choose(w: Weighed, objective: Objective, k_max: int) -> Choice:
    """The best candidate of a weighed point."""
    point, setup, best = w.point, w.point.setup, w.best(objective)
    score, k = w.score(objective), w.k[best]
    round_cost = float(1 / w.gain[best])
    iid = point.acceptance.iid
    threshold = math.inf if iid is None else float(break_even_alpha(round_cost, k))
    tpot_s, batch = float(w.tpot_s[best]), point.batch
    verify_s, round_s = w.timing.verify_s[0, 0, best], w.timing.round_s[0, 0, best]
    fits = batch <= (float(w.bill.largest) if k else float(w.bill.largest_plain))
    return Choice(
        target=setup.target.name,
        draft=setup.draft.label,
        hardware=setup.hardware.name,
        tp=setup.tp,
        serving=setup.serving,
        batch=batch,
        context=point.context,
        alpha=iid,
        acceptance=str(point.acceptance),
        objective=str(objective),
        k=k,
        speedup=float(w.speedup[best]),
        score=float(score[best]),
        tokens_per_round=float(w.tokens[best]),
        plain_tpot_s=float(w.timing.plain_s[0, 0, 0]),
        tpot_s=tpot_s,
        tokens_per_s=batch / tpot_s,
        tokens_per_s_per_sequence=1 / tpot_s,
        tokens_per_s_per_gpu=batch / tpot_s / setup.gpus,
        margin_below=_loss(w, score, k - 1, best),
        margin_above=_loss(w, score, k + 1, best),
        k_within_1_percent=w.k[int(np.argmax(nearly_best(score, best)))],
        at_k_max=k == w.k[-1] and k == k_max,
        break_even_tokens=round_cost,
        break_even_alpha=threshold if k and np.isfinite(threshold) else None,
        draft_share=float(1 - verify_s / round_s),
        verify_bound_by=str(bound_names(w.timing.verify)[0, 0, best]),
        fits=bool(fits),
    )


def _loss(w: Weighed, score: FloatArray, neighbour: int, best: int) -> float | None:
    """How much less the neighbouring k scores, relative to the best; None if it is no candidate."""
    if neighbour not in w.k or score[best] == 0:
        return None
    return float(1 - score[w.k.index(neighbour)] / score[best])


def _in_full(
    w: Weighed, objective: Objective, scenario: Scenario, need: float | None, usd: float | None
) -> BestK:
    choice, best = choose(w, objective, scenario.k_max), w.best(objective)
    point = w.point
    iid, low, high = point.acceptance.iid, None, None
    if iid is not None:
        low, high = alpha_range(w.score(objective) / w.tokens, w.k, best, iid)
    return BestK(
        choice=choice,
        alpha_low=low,
        alpha_high=high,
        load=_load(w, best),
        memory=bill_of(point.setup, point.end, point.batch, scenario.k),
        fitting_tp=None
        if choice.fits
        else fitting_tp(point.setup, point.end, point.batch, scenario.k),
        flops_per_token=float(w.flops_per_token[best]),
        throughput=float(w.throughput[best]) if w.bill.largest_plain else None,
        tokens=yield_of(w, best),
        uncertain=_uncertain(w, best),
        need=None if need is None else what_is_needed(w, need),
        cost=_cost(point.setup, choice, usd) if choice.fits else None,
    )


def _cost(setup: Setup, choice: Choice, usd: float | None) -> Cost | None:
    return cost_of(setup, choice.tokens_per_s, choice.batch / choice.plain_tpot_s, usd)


def _uncertain(w: Weighed, best: int) -> Uncertain | None:
    """What a spread of alpha does to the choice, where one was given."""
    given = w.point.acceptance
    while isinstance(given, Named):
        given = given.model
    if not isinstance(given, Alpha) or not given.sd:
        return None
    return under_uncertainty(given, w.gain, np.asarray(w.k, float), best)


def _load(w: Weighed, best: int) -> Load:
    """Crossings of the chosen k over every batch that fits with the drafter."""
    k = w.k[best]
    largest = int(w.bill.largest if k else w.bill.largest_plain)
    scanned = min(largest, BATCH_LIMIT)
    point = w.point
    found = crossings(point.setup, point.context, float(w.tokens[best]), k, scanned)
    return Load(found, largest, scanned)
