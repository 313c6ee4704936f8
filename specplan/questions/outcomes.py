"""From expectations and facts to outcomes: which points each is about, and what the rule says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from specplan.domain.scenario import Scenario
from specplan.errors import InputError
from specplan.questions.demand import Sizes
from specplan.questions.expectations import Case, Expectation, Names, Narrowed, Outcome, Value
from specplan.questions.kinds import ways_of
from specplan.rules import Finding
from specplan.rules.demanded import BY_DEMAND, TrafficFacts, judge_traffic
from specplan.rules.expected import Facts, Keyed, judge
from specplan.rules.plans import ABSENT, POINTWISE

MOST_SHOWN = 12
AnyFacts = TypeVar("AnyFacts", Facts, TrafficFacts)


def within(at: Mapping[str, Narrowed], facts: Facts, called: Names) -> bool:
    """Whether the point is one of those that `at` is about."""
    return all(
        any(_values(key, facts, called) & item for item in narrowed.items)
        for key, narrowed in at.items()
    )


def pointwise(expectation: Expectation, points: list[Facts], called: Names) -> Outcome:
    """What becomes of an expectation about points."""
    there = _narrowed(expectation, points, called)
    if isinstance(there, Outcome):
        return there
    rule, limit = POINTWISE[expectation.key], expectation.limit
    worst, finding = judge(rule, there, limit, expectation.text)
    return _judged(expectation, rule, finding, worst, rule.found(worst))


@dataclass(frozen=True, slots=True)
class Candidates:
    """The candidates under a plan's traffic, and what else may be asked of them."""

    sizes: Sizes
    facts: tuple[TrafficFacts, ...]

    @classmethod
    def of(cls, case: Case) -> Candidates | None:
        """None where nothing is expected of traffic: sizing takes its time."""
        if case.demand is None or not any(e.key in BY_DEMAND for e in case.expectations):
            return None
        sizes = Sizes(case.scenario, case.demand)
        return cls(sizes, tuple(sizes.facts()))


def demanded(expectation: Expectation, traffic: Candidates, called: Names) -> Outcome:
    """The same of the plan's traffic: of candidates in place of points."""
    there = _narrowed(expectation, traffic.facts, called)
    if isinstance(there, Outcome):
        return there
    rule, limit = BY_DEMAND[expectation.key], expectation.limit
    found = judge_traffic(rule, there, limit, expectation.text)
    if found is None:
        what = f"{rule.key}: no price of {there[0].hardware} is known"
        raise InputError(what, where=expectation.where, hint=rule.unknown)
    worst, finding = found
    if rule.names_others and finding.level == "error":
        told = [traffic.sizes.others(worst)]
        worst, finding = judge_traffic(rule, told, limit, expectation.text) or found
    return _judged(expectation, rule, finding, worst, rule.found(worst))


def _narrowed(
    expectation: Expectation, points: Sequence[AnyFacts], called: Names
) -> list[AnyFacts] | Outcome:
    """The points that it is about, or what is wrong with how it says so."""
    there = list(points)
    for key, narrowed in expectation.at.items():
        lacking = _lacking(key, narrowed, there, called)
        if lacking:
            finding = Finding(ABSENT.id, ABSENT.level, f"{expectation.key} at {lacking}")
            return Outcome(finding=finding, where=narrowed.where, name=expectation.key)
        wanted = frozenset().union(*narrowed.items)
        there = [facts for facts in there if _values(key, facts, called) & wanted]
    return there


def _judged(
    expectation: Expectation,
    rule: Keyed,
    finding: Finding,
    worst: Facts | TrafficFacts,
    found: float | None,
) -> Outcome:
    limit = expectation.limit
    return Outcome(
        finding=finding,
        where=expectation.where,
        name=expectation.key,
        holds=found is not None and rule.lack(found, limit) <= 0,
        limit=limit,
        found=found,
        unit=rule.unit,
        facts=worst,
    )


def names_of(scenario: Scenario) -> Names:
    """Every name that a card of the plan answers to; a head also to its kind."""
    cards = [
        card for s in scenario.setups for card in (s.target, s.draft.model, s.hardware) if card
    ]
    called = {card.name: frozenset({card.name, *card.aliases}) for card in cards}
    for head in (s.draft.model for s in scenario.setups):
        if head and head.drafts:
            called[head.name] |= ways_of(head.drafts.kind, head.family)
    return called


def _values(key: str, facts: Facts | TrafficFacts, called: Names) -> frozenset[Value]:
    """What one key of `at` may say to mean this point."""
    value: Value = getattr(facts, key)
    return called.get(value, frozenset({value})) if isinstance(value, str) else frozenset({value})


def _lacking(key: str, narrowed: Narrowed, points: Sequence[AnyFacts], called: Names) -> str:
    """What of one key of `at` is at none of the points, in words; "" if all of it is at some."""
    known = {value for facts in points for value in _values(key, facts, called)}
    if all(item & known for item in narrowed.items):
        return ""
    values = (getattr(facts, key) for facts in points)
    there = list(dict.fromkeys(value for value in values if value is not None))
    shown = ", ".join(v if isinstance(v, str) else f"{v:.10g}" for v in there[:MOST_SHOWN])
    more = ", ..." if len(there) > MOST_SHOWN else ""
    return f"{key} {narrowed.text}: no such point; the plan has {shown}{more}"
