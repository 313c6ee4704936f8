"""From expectations and facts to outcomes: which points each is about, and what the rule says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from specplan.domain.scenario import Scenario
from specplan.errors import Refused
from specplan.questions.demand import Sizes
from specplan.questions.expectations import Case, Expectation, Names, Narrowed, Outcome, Value
from specplan.questions.kinds import ways_of
from specplan.rules import Finding
from specplan.rules.demanded import BY_DEMAND, TrafficFacts, chosen, judge_traffic
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
    def of(cls, case: Case) -> Candidates:
        """Those of a plan that has traffic."""
        if case.demand is None:
            raise AssertionError("a plan without traffic is refused where it is read")
        sizes = Sizes(case.scenario, case.demand)
        return cls(sizes, tuple(sizes.facts()))


def demanded(
    expectations: Sequence[Expectation], traffic: Candidates, called: Names
) -> dict[int, Outcome]:
    """What becomes of those about traffic, by their place in the plan: one candidate is to keep all
    of them, or all of those that `at` keeps to the same ones.
    """
    found: dict[int, Outcome] = {}
    groups: dict[object, list[tuple[int, list[TrafficFacts]]]] = {}
    for number, one in enumerate(expectations):
        if one.key not in BY_DEMAND:
            continue
        there = _narrowed(one, traffic.facts, called)
        if isinstance(there, Outcome):
            found[number] = there
            continue
        every = BY_DEMAND[one.key].of_every(one.limit)
        group = number if every else frozenset(facts.candidate for facts in there)
        groups.setdefault(group, []).append((number, there))
    for some in groups.values():
        found |= dict(_of_group(expectations, some, traffic))
    return found


def _of_group(
    expectations: Sequence[Expectation],
    some: Sequence[tuple[int, list[TrafficFacts]]],
    traffic: Candidates,
) -> Iterator[tuple[int, Outcome]]:
    """Those that are about the same candidates."""
    asked = [(BY_DEMAND[expectations[n].key], expectations[n].limit) for n, _ in some]
    every = asked[0][0].of_every(asked[0][1])
    points = list({(f.candidate, f.point): f for _, there in some for f in there}.values())
    one = None if every else chosen(asked, points)[0].candidate
    for number, there in some:
        mine = [facts for facts in there if one in {None, facts.candidate}]
        yield number, _of_traffic(expectations[number], mine, traffic)


def _of_traffic(
    expectation: Expectation, facts: list[TrafficFacts], traffic: Candidates
) -> Outcome:
    """One of them, of the candidate that is to be run."""
    rule, limit = BY_DEMAND[expectation.key], expectation.limit
    worst, finding = judge_traffic(rule, facts, limit, expectation.text)
    if finding and finding.level == "error" and rule.names_others:
        told = [traffic.sizes.others(worst)]
        worst, finding = judge_traffic(rule, told, limit, expectation.text)
    if finding is None:
        what = f"{rule.key} needs a price, and none of {worst.hardware} is known"
        raise Refused(what, where=expectation.where, hint=rule.unknown)
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
