"""One plan held against what it expects: an outcome for each expectation, at its worst point."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from specplan.errors import placed
from specplan.questions.expectations import Case, Names, Outcome, told_apart
from specplan.questions.facts import facts_of
from specplan.questions.outcomes import Candidates, demanded, names_of, pointwise, within
from specplan.rules import Finding
from specplan.rules.demanded import BY_DEMAND
from specplan.rules.expected import Facts
from specplan.rules.plans import MISFIT, UNEVEN, UNGUARDED, misfit, uneven

FITS = "fits"
LOAD = "min_break_even_batch"
SCAN_TO = 65_536  # sequences, more than any engine decodes together


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A plan, its points, and one outcome for each expectation in the plan's order.

    `others` are findings that are about no expectation in particular.
    """

    case: Case
    outcomes: tuple[Outcome, ...]
    others: tuple[Outcome, ...] = ()

    @property
    def labels(self) -> tuple[str, ...]:
        """A name for each outcome."""
        return told_apart([expectation.label for expectation in self.case.expectations])


def judged(case: Case) -> Judged:
    """What the plan's expectations come to."""
    loads = [int(e.limit) for e in case.expectations if e.key == LOAD]
    with placed(case.place("workload")):
        points = facts_of(case.scenario, scan_to=max(*loads, SCAN_TO) if loads else 0)
    called = names_of(case.scenario)
    of_traffic: dict[int, Outcome] = {}
    if any(e.key in BY_DEMAND for e in case.expectations):  # sizing takes its time
        with placed(case.place("traffic")):
            of_traffic = demanded(case.expectations, Candidates.of(case), called)
    outcomes = tuple(
        of_traffic[n] if n in of_traffic else pointwise(e, points, called)
        for n, e in enumerate(case.expectations)
    )
    return Judged(case=case, outcomes=outcomes, others=tuple(_others(case, points, called)))


def _others(case: Case, points: list[Facts], called: Names) -> Iterator[Outcome]:
    """What is wrong with the plan whatever it expects."""
    if not case.expectations:
        nothing = Finding(UNGUARDED.id, UNGUARDED.level, "the plan expects nothing")
        yield Outcome(finding=nothing, where=case.head, name=UNGUARDED.title)
    asked = [e.at for e in case.expectations if e.key == FITS]
    lacking = [p for p in points if p.free_bytes < 0]
    unasked = misfit([p for p in lacking if not any(within(at, p, called) for at in asked)])
    if unasked:
        yield Outcome(finding=unasked, where=case.place("batch"), name=MISFIT.title)
    told = set()
    for setup in case.scenario.setups:
        grouped = setup.tp // setup.attention_dp
        sharing = (("tp", setup.target, grouped), ("draft_tp", setup.draft.model, setup.draft_tp))
        for key, model, tp in sharing:
            found = uneven(model, tp) if model else None
            if found and found not in told:
                told.add(found)
                where = case.places.get(key, case.place("tp"))
                yield Outcome(finding=found, where=where, name=UNEVEN.title)
