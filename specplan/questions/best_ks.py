"""The best k of many workloads: one row each, streamed, and the rule of thumb they follow."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from specplan.domain.answer import Answer, Chunk, Column, Lines, Rows, Section, Table, View
from specplan.domain.scenario import Scenario
from specplan.physics.choose import break_even_alpha
from specplan.physics.estimate import fit_rule
from specplan.physics.round import Timing, bound_names, cost_ratio, time_rounds
from specplan.physics.surface import Surface, best_k_surface
from specplan.physics.survival import tokens_table
from specplan.physics.tokens import FloatArray
from specplan.questions.best_k_picture import workloads
from specplan.questions.beyond import beyond_tokens
from specplan.questions.bills import bill_at, cap_notes, usual_k
from specplan.questions.common import basis_of, percent, setups_caption
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
from specplan.questions.servings import SERVED_BY, varied
from specplan.questions.weigh import Objective, Point, lengths, weigh
from specplan.units import people

FLOOR = 1e-70  # the score of an arm that does not fit: the surface knows no zeros


@dataclass(frozen=True, slots=True)
class Rule:
    """k = round(a (1 - alpha)^-b - c), fitted to the best k of this setup at batch 1.

    `at_most` is the longest k tried, where that cuts the formula within the alphas asked for.
    """

    a: float
    b: float
    c: float
    at_most: int | None
    cost_ratio: float
    errs_by_at_most: int
    loses_at_most: float


@dataclass(frozen=True, slots=True)
class BestKs:
    """What the rows, one for each workload, have in common."""

    workloads: int
    objective: str
    all_fit: bool
    reaches_k_max: bool
    rule: Rule | None


COLUMNS = (
    *SETUP_COLUMNS,
    *WORKLOAD_COLUMNS,
    Column("k", "tokens", "k", "count", "the best draft length"),
    Column("speedup", "1", "speedup", "times", "tokens per second over plain decoding"),
    Column("margin", "1", "margin", "percent", "what the next best candidate loses"),
    Column("tokens_per_round", "tokens", "tok/round", "number", "bonus token included"),
    *ROUND_COLUMNS,
    Column("break_even_tokens", "tokens", "break-even", "number", "round cost in plain steps"),
    Column(
        "break_even_alpha",
        "1",
        "at alpha",
        "number",
        "of an iid acceptance; absent at k = 0 and where even 1 loses",
    ),
    Column("verify_bound_by", "", "verify by", "text", "ceiling of verification"),
    Column("fits", "", "fits", "flag", "whether the batch fits, with the drafter if k > 0"),
)
SHOWN = ("batch", "alpha", "k", "speedup", "margin", "tokens_per_round", "tpot_s")


@dataclass(frozen=True, slots=True)
class _Won:
    """The winners of a slice: arrays of shape (context, batch, alpha)."""

    here: Scenario
    k: tuple[int, ...]
    tokens: FloatArray
    timing: Timing
    surface: Surface
    fits: npt.NDArray[np.bool_]


def best_ks(scenario: Scenario, objective: Objective) -> Answer:
    """A row for each workload of the scenario, in axis order: setup, context, batch, alpha."""
    refuse_beyond_limit(scenario.workloads)
    ends = [
        (won.fits.all(), (won.surface.k == scenario.k_max).any())
        for won in _all(scenario, objective)
    ]
    value = BestKs(
        workloads=scenario.workloads,
        objective=str(objective),
        all_fit=all(bool(fits) for fits, _ in ends),
        reaches_k_max=not scenario.k and any(bool(reaches) for _, reaches in ends),
        rule=_rule(scenario, objective),
    )
    table = Table(
        columns=COLUMNS,
        aside=(SERVED_BY,),
        rows=scenario.workloads,
        chunks=lambda: (_chunk(won) for won in _all(scenario, objective)),
    )
    places = [column.name for column in SETUP_COLUMNS]
    return Answer(
        command="best-k",
        value=value,
        table=table,
        view=replace(_view(value, scenario), picture=lambda: workloads(table, places)),
        basis=basis_of(scenario),
        inputs=scenario.inputs,
        notes=(
            *scenario.notes,
            *beyond_tokens(scenario),
            *cap_notes(scenario.setups, max(scenario.batch), scenario.k),
        ),
        ok=value.all_fit,
    )


def _all(scenario: Scenario, objective: Objective) -> Iterator[_Won]:
    return (_won(here, objective) for here in slices(scenario))


def _won(here: Scenario, objective: Objective) -> _Won:
    """The best candidate of every workload in a slice."""
    (setup,) = here.setups
    k = lengths(setup, here.candidates)
    shape = (len(here.context), len(here.batch), len(here.acceptance))
    timing = time_rounds(setup, here.context, here.batch, k)
    table = tokens_table(here.acceptance, k, here.context)
    tokens = np.broadcast_to(table, (len(here.context), *table.shape[1:]))
    flat = [
        best_k_surface(
            *_factors(here, objective, number, tokens[number], timing.gain[number]), np.asarray(k)
        )
        for number in range(len(here.context))
    ]
    surface = Surface(*(np.stack(arrays).reshape(shape) for arrays in zip(*flat, strict=True)))
    ends = (np.asarray(here.context) + here.growth).reshape(-1, 1, 1)
    bill = bill_at(setup, ends, usual_k(setup, here.k))
    room = np.where(surface.k > 0, bill.largest, bill.largest_plain)
    fits = np.asarray(here.batch).reshape(-1, 1) <= room
    return _Won(here, k, tokens, timing, surface, fits)


def _factors(
    here: Scenario, objective: Objective, number: int, tokens: FloatArray, gain: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The score at one context as a product of a part per (alpha, k) and one per (batch, k)."""
    if objective is Objective.LATENCY:
        return tokens, gain
    points = (
        Point(here.setups[0], here.context[number], 1, acceptance, here.growth)
        for acceptance in here.acceptance
    )
    scores = [weigh(point, here.candidates, here.k).score(objective) for point in points]
    return np.maximum(np.stack(scores), FLOOR), np.ones_like(gain)


def _chunk(won: _Won) -> Chunk:
    """The slice's rows: context by context, batch by batch, alpha by alpha."""
    here, surface, shape = won.here, won.surface, won.surface.k.shape
    chosen = np.searchsorted(np.asarray(won.k), surface.k)
    c, b, a = np.ogrid[: shape[0], : shape[1], : shape[2]]
    tokens = won.tokens[c, a, chosen]
    draft_s, verify_s = won.timing.draft_s[c, b, chosen], won.timing.verify_s[c, b, chosen]
    round_s = draft_s + verify_s
    cost = round_s / won.timing.plain_s
    enough = break_even_alpha(cost, surface.k)
    bound_by = bound_names(won.timing.verify)[c, b, chosen]
    cells = {
        "batch": np.asarray(here.batch, np.int64).reshape(-1, 1),
        "context": whole(here.context).reshape(-1, 1, 1),
        "alpha": iid_alphas(here.acceptance),
        "acceptance": np.asarray([str(model) for model in here.acceptance], object),
        "k": surface.k,
        "speedup": tokens / cost,
        "margin": surface.margin / (1 + surface.margin),
        "tokens_per_round": tokens,
        "draft_s": draft_s,
        "verify_s": verify_s,
        "round_s": round_s,
        "tpot_s": round_s / tokens,
        "break_even_tokens": cost,
        "break_even_alpha": _absent_where(
            ~np.isfinite(enough) | (surface.k == 0) | (iid_alphas(here.acceptance) == None),  # noqa: E711
            enough,
        ),
        "verify_bound_by": bound_by,
        "fits": won.fits,
    }
    return setup_cells(here.setups[0], chosen.size) | flattened(cells, shape)


def _absent_where(missing: npt.NDArray[np.bool_], values: FloatArray) -> npt.NDArray[np.object_]:
    """The values as objects, None where they are missing."""
    cells = values.astype(object)
    cells[missing] = None
    return cells


def _rule(scenario: Scenario, objective: Objective) -> Rule | None:
    """The rule of thumb of a range of alphas at batch 1, one setup and one context."""
    alphas = np.asarray([a.iid for a in scenario.acceptance if a.iid is not None])
    one_curve = len(scenario.setups) == len(scenario.context) == len(scenario.batch) == 1
    if not scenario.all_iid or not one_curve or scenario.batch[0] != 1:
        return None
    if scenario.k or objective is not Objective.LATENCY:
        return None
    setup, context = scenario.setups[0], scenario.context[0]
    k = lengths(setup, scenario.candidates)
    if len(alphas) < 3 or len(k) < 2 or not (alphas < 1).all():
        return None
    score = (
        tokens_table(scenario.acceptance, k)[0] * time_rounds(setup, (context,), (1,), k).gain[0]
    )
    if (score.argmax(axis=1) < len(k) - 1).sum() < 3:  # else k-max decides, not alpha
        return None
    fit = fit_rule(alphas, score)
    return Rule(
        a=fit.rule.a,
        b=fit.rule.b,
        c=fit.rule.c,
        at_most=fit.rule.longest if fit.rule.is_capped(alphas) else None,
        cost_ratio=cost_ratio(setup, context),
        errs_by_at_most=fit.misses,
        loses_at_most=fit.loss,
    )


def _view(value: BestKs, scenario: Scenario) -> View:
    setups = scenario.setups
    axes: tuple[tuple[str, Collection[object]], ...] = (
        ("target", {s.target.name for s in setups}),
        ("draft", {s.draft.label for s in setups}),
        ("hardware", {s.hardware.name for s in setups}),
        ("tp", {s.tp for s in setups}),
        *((name, {s.serving for s in setups}) for name in varied(setups)),
        ("dtype", {s.dtype for s in setups}),
        ("context", set(scenario.context)),
    )
    several = [name for name, values in axes if len(values) > 1]
    told = [setups_caption(scenario)]
    if len(scenario.context) == 1:
        told.append(f"context {people(scenario.context[0], 'tokens')}")
    shown = [n if scenario.all_iid or n != "alpha" else "acceptance" for n in SHOWN]
    names = (*several, *shown, "break_even_tokens", "verify_bound_by")
    sections: list[Section] = [Rows(columns=names if value.all_fit else (*names, "fits"))]
    if value.rule:
        sections.append(Lines((rule_words(value.rule),)))
    if value.reaches_k_max:
        sections.append(Lines((f"k = {scenario.k_max} is the longest tried; raise --k-max",)))
    aim = "" if value.objective == Objective.LATENCY else f" for {value.objective}"
    return View(title=f"Best k{aim}", caption=(", ".join(told),), sections=tuple(sections))


def rule_words(rule: Rule) -> str:
    """The rule of thumb in one line."""
    formula = f"{rule.a:.2f} (1 - alpha)^-{rule.b:.2f}" + (f" - {rule.c:.2f}" if rule.c else "")
    cut = f", at most {rule.at_most}" if rule.at_most is not None else ""
    return (
        f"rule at batch 1, cost ratio {rule.cost_ratio:.2f}: k = round({formula}){cut}; "
        f"errs by at most {rule.errs_by_at_most}, loses at most {percent(rule.loses_at_most, 2)}"
    )
