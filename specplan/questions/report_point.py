"""The point that a report is about, and what the plan says of all its points in one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from specplan.domain.acceptance import Acceptance
from specplan.domain.answer import Basis
from specplan.domain.contest import undrafted
from specplan.domain.scenario import Input, Scenario
from specplan.physics.survival import tokens_of
from specplan.physics.tokens import alpha_for_tokens
from specplan.questions.best_k import points_of
from specplan.questions.bills import bill_of, fitting_tp
from specplan.questions.common import percent, times
from specplan.questions.emit_k import GATED, asks_gate
from specplan.questions.facts import facts_of
from specplan.questions.init import common_k
from specplan.questions.memory_view import misfit_words
from specplan.questions.weigh import Point
from specplan.rules.expected import Facts
from specplan.units import people

Verdict = Literal["pays", "unsure", "loses", "mixed", "does not fit"]


@dataclass(frozen=True, slots=True)
class Judged:
    """A plan judged at all of its points: `k` is what it fixes, or the best one for all of them,
    None where k follows the batch. `at` is the point in detail: where speculation helps least;
    `fullest` is the one with the least memory to spare.
    """

    points: tuple[Facts, ...]
    k: int | None
    fixed: bool
    at: Point
    worst: Facts
    fullest: tuple[Point, Facts]
    verdict: Verdict

    @property
    def paying(self) -> int:
        """Points at which speculation is faster."""
        return sum(round(one.speedup, 2) > 1 for one in self.points)

    @property
    def gated(self) -> bool:
        """Whether k follows the batch."""
        return self.k is None

    @property
    def here(self) -> int:
        """The k that runs at the point in detail: the plan's, or the best there."""
        return self.worst.k


def judged(scenario: Scenario, basis: Basis) -> Judged:
    """The plan's points; its several k are candidates, of which the one that loses least is
    judged.
    """
    gated, fixed = asks_gate(scenario), len(scenario.k) == 1
    k = None if gated else scenario.k[0] if fixed else common_k(scenario)
    points = tuple(facts_of(replace(scenario, k=() if k is None else (k,))))
    slowest = min(range(len(points)), key=lambda i: points[i].speedup)
    every = tuple(points_of(scenario))
    fullest = min(range(len(points)), key=lambda i: points[i].free_bytes)
    # Plain decoding is as fast as itself, however far predictions are off.
    low, high = (0.0, 0.0) if k == 0 else basis.bands.get("speedup", (0.0, 0.0))
    return Judged(
        points=points,
        k=k,
        fixed=fixed or gated,
        at=every[slowest],
        worst=points[slowest],
        fullest=(every[fullest], points[fullest]),
        verdict=_verdict(points, low, high),
    )


def _verdict(points: Sequence[Facts], low: float, high: float) -> Verdict:
    """Whether it pays at every point, by more than predictions may be off."""
    if any(one.free_bytes < 0 for one in points):
        return "does not fit"
    speedups = [round(one.speedup, 2) for one in points]  # what prints as 1.00x gains nothing
    if all(speedup * (1 + low) > 1 for speedup in speedups):
        return "pays"
    if all(speedup * (1 + high) <= 1 for speedup in speedups):
        return "loses"
    if all(speedup * (1 + low) <= 1 < speedup * (1 + high) for speedup in speedups):
        return "unsure"
    return "mixed"


def sentence(scenario: Scenario, found: Judged, basis: Basis) -> tuple[str, str]:
    """The verdict: whether it pays; then who, where, by how much, and how sure that is."""
    setup, points = found.at.setup, found.points
    who = f"{setup.draft.label} for {setup.target.name} on {setup.where}"
    if len(scenario.setups) > 1:
        who = f"speculation on {len(scenario.setups)} setups"
    if found.k == 0 and found.verdict == "loses":
        return _plainly(scenario, found, who)
    speedups = [one.speedup for one in points]
    gain = times(min(speedups))
    if times(max(speedups)) != gain:
        gain = f"{gain} to {times(max(speedups))}"
    k = f"k = {found.k}" if found.k is not None else "k by batch"
    where = "" if len(points) == 1 else f" at all {len(points)} points"
    bound = ", at most: an upper bound" if basis.kind == "bound" else ""
    low, high = basis.bands.get("speedup", (0.0, 0.0))
    band = f", give or take {percent(max(-low, high), 0)}" if high else ""
    match found.verdict:
        case "pays":
            return "It pays", f"{who} gains {gain} with {k}{where}{bound}{band}"
        case "loses":
            return "It does not pay", f"{who} comes to {gain} with {k}{where}{bound}{band}"
        case "unsure":
            return "Too close to call", f"{who} comes to {gain} with {k}{where}{band}"
        case "mixed":
            part = f"It pays at {found.paying} of {len(points)} points"
            return part, f"{who} comes to {gain} with {k}{bound}{band}"
        case "does not fit":
            short = sum(one.free_bytes < 0 for one in points)
            part = "" if len(points) == 1 else f" at {short} of {len(points)} points"
            return f"It does not fit in memory{part}", who


def _plainly(scenario: Scenario, found: Judged, who: str) -> tuple[str, str]:
    """Where nothing is drafted: no drafter was named, k was asked to be 0, or no other k pays."""
    if all(setup.draft.max_k == 0 for setup in scenario.setups) or found.fixed:
        several, setup = len(scenario.setups) > 1, found.at.setup
        what = f"{setup.target.name} on {setup.where}"
        what = f"{len(scenario.setups)} setups" if several else what
        tpot = people(max(one.tpot_s for one in found.points), "s")
        most = "at most " if len(found.points) > 1 else ""
        return "Nothing is drafted", f"plain decoding of {what} takes {most}{tpot} a token"
    return "It does not pay", f"no k gains anything with {who}: plain decoding is best"


def alone(scenario: Scenario, at: Point, k: Sequence[int] = ()) -> Scenario:
    """The scenario of one point, with the candidates it had or the k given."""
    return replace(
        scenario,
        setups=(at.setup,),
        context=(at.context,),
        batch=(at.batch,),
        acceptance=(at.acceptance,),
        k=tuple(k),
    )


def with_gate(scenario: Scenario) -> Scenario:
    """The same with k by batch, as emit takes it."""
    asked = {**scenario.inputs}
    if not asks_gate(scenario):
        asked["k"] = Input(value=GATED, origin="report")
    return replace(scenario, k=(), inputs=asked)


def worth(acceptance: Acceptance, k: int, context: float) -> float:
    """The one alpha by which rounds of k draft tokens (of 1, where k is 0) would yield as much."""
    if acceptance.iid is not None:
        return acceptance.iid
    k = max(k, 1)
    return float(alpha_for_tokens(tokens_of(acceptance, (k,), context)[0], k))


def room_words(found: Judged) -> str:
    """What keeps the plan out of memory and what would do, at the point that lacks most."""
    point, facts = found.fullest
    asked = () if found.gated else (facts.k,)
    setup = undrafted(point.setup) if asked == (0,) else point.setup
    memory = bill_of(setup, point.end, point.batch, asked)
    return misfit_words(memory, point.batch, fitting_tp(setup, point.end, point.batch, asked))
