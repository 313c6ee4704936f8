"""What a new plan expects: today's answer, rounded to the safe side."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

from specplan.domain.answer import Answer, Basis, Lines, Table, View
from specplan.domain.scenario import Scenario
from specplan.questions.facts import facts_of
from specplan.questions.weigh import lengths
from specplan.rules.demanded import TrafficFacts
from specplan.rules.expected import Facts
from specplan.units import parse_quantity, people

CENT = Decimal("0.01")
TOLERATED_REGRET = CENT  # a k that is the best today may lose so much before it fails


@dataclass(frozen=True, slots=True)
class Line:
    """One expectation: key, value as a plan writes it, and what it says."""

    key: str
    value: str
    comment: str


def common_k(scenario: Scenario) -> int:
    """The k that loses least, at the point where it loses most, against each point's own best."""
    possible = set(scenario.candidates)
    for setup in scenario.setups:
        possible &= set(lengths(setup, scenario.candidates))
    worst = dict.fromkeys(sorted(possible), 0.0)
    for facts in facts_of(replace(scenario, k=tuple(worst))):
        worst[facts.k] = max(worst[facts.k], facts.k_regret)
    return min(worst, key=lambda k: worst[k])


def first_misfit(points: Sequence[Facts]) -> Facts | None:
    """The point that lacks most memory, if any does."""
    worst = min(points, key=lambda facts: facts.free_bytes)
    return worst if worst.free_bytes < 0 else None


def points_in(scenario: Scenario) -> list[Facts]:
    """The facts of each point of the scenario."""
    return facts_of(scenario)


def expectations(points: Sequence[Facts], *, chosen: bool, alone: bool = False) -> Iterator[Line]:
    """What holds at every point; `chosen`: k is left to specplan, so that it has no regret;
    `alone`: nobody named a batch beside the traffic, so that these are of one sequence alone.
    """
    speedup, where = min(facts.speedup for facts in points), ", at batch 1" if alone else ""
    yield Line(
        "min_speedup", _cents(speedup, ROUND_FLOOR), f"over plain decoding, at this k{where}"
    )
    tpot_s = max(facts.tpot_s for facts in points)
    yield Line("max_tpot", _at_most(tpot_s, "s"), f"per output token of one sequence{where}")
    yield Line("fits", "true", "weights and KV cache, drafter included")
    sequences = min(facts.largest_batch for facts in points)
    yield Line("min_sequences", str(sequences), "of this context, beside the drafter")
    draft_bytes = max(facts.draft_bytes for facts in points)
    if draft_bytes:
        yield Line("max_draft_memory", _at_most(draft_bytes, "B"), "weights and KV, per GPU")
    if not chosen:
        regret = Decimal(_cents(max(facts.k_regret for facts in points), ROUND_CEILING))
        said = "share of speedup lost against the best k"
        yield Line("max_k_regret", str(max(regret, TOLERATED_REGRET)), said)
    margin = min(facts.alpha - facts.break_even_alpha for facts in points)
    if math.isfinite(margin) and any(facts.k for facts in points):
        said = "acceptance may fall so far before it loses"
        yield Line("min_alpha_margin", _cents(margin, ROUND_FLOOR), said)


def demanded(facts: TrafficFacts, *, promised: bool) -> Iterator[Line]:
    """What holds of the traffic: GPUs, their cost where a price is known, the longest gaps."""
    if promised:
        yield Line("meets_slo", "true", "every limit of slo")
    yield Line("max_gpus", f"{facts.gpus:.0f}", "that the traffic needs at this k")
    if facts.usd_per_million_output_tokens is not None:
        usd = _cents(facts.usd_per_million_output_tokens, ROUND_CEILING)
        yield Line("max_usd_per_million_output_tokens", usd, "at the lowest price")
    yield Line("max_itl_p99", _at_most(facts.latency_s["itl_p99"], "s"), "gap between two tokens")


def written_plan(text: str, scenario: Scenario, output: str | None) -> Answer:
    """The plan as an answer, line by line."""
    wrote = (f"wrote {output}",) if output else ()
    return Answer(
        command="init",
        value=None,
        table=Table(),
        view=View(title="", sections=(Lines(tuple(text.splitlines())),)),
        basis=Basis(kind="exact", says=""),
        notes=(*scenario.notes, *wrote),
    )


def no_plan(misfit: Facts) -> Answer:
    """Nothing, and why: the workload does not fit."""
    lacking = f"{people(-misfit.free_bytes, 'B')} a GPU missing at {misfit.place(speed=False)}"
    return _nothing(f"no plan was written: the workload does not fit, {lacking}")


def unserved(facts: TrafficFacts) -> Answer:
    """Nothing, and why: no number of replicas keeps the promises."""
    return _nothing(f"no plan was written: {facts.reason}")


def _nothing(note: str) -> Answer:
    return Answer(
        command="init",
        value=None,
        table=Table(),
        view=View(title=""),
        basis=Basis(kind="exact", says=""),
        notes=(note,),
        ok=False,
    )


def _cents(value: float, rounding: str) -> str:
    return str(Decimal(value).quantize(CENT, rounding=rounding) + 0)


def _at_most(value: float, unit: str) -> str:
    """A quantity of three digits that is no less than the value."""
    raised = value
    text = people(raised, unit).replace(",", "")
    while parse_quantity(text, unit) < value:
        raised *= 1.001
        text = people(raised, unit).replace(",", "")
    return text
