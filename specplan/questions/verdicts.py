"""One plan held against what it expects: an outcome for each expectation, at its worst point."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from specplan.domain.scenario import Scenario
from specplan.errors import Where, placed
from specplan.questions.facts import facts_of
from specplan.questions.kinds import ways_of
from specplan.rules import Finding
from specplan.rules.expected import Facts, judge
from specplan.rules.names import Card
from specplan.rules.plans import (
    ABSENT,
    BY_KEY,
    MISFIT,
    REFUSED,
    UNEVEN,
    UNGUARDED,
    UNREADABLE,
    misfit,
    uneven,
)

FITS = "fits"
LOAD = "min_break_even_batch"
SCAN_TO = 65_536  # sequences, more than any engine decodes together
MOST_SHOWN = 12

Value: TypeAlias = float | str
Names: TypeAlias = Mapping[str, frozenset[Value]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Narrowed:
    """One key of `at`: as written, where, and the values that each item of it stands for."""

    text: str
    where: Where
    items: tuple[frozenset[Value], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """A limit as written and in SI, the place of its value, and the points it is about."""

    key: str
    limit: float
    text: str
    where: Where
    at: Mapping[str, Narrowed]

    @property
    def label(self) -> str:
        """The expectation without its limit, as a lock remembers it."""
        at = ", ".join(f"{key} {narrowed.text}" for key, narrowed in self.at.items())
        return f"{self.key} at {at}" if at else self.key


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """A card that a plan rests on, its file, and where the plan names it."""

    card: Card
    path: str
    sha256: str
    where: Where

    @property
    def key(self) -> str:
        """Kind and name."""
        return f"{type(self.card).__name__.lower()} {self.card.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A plan that reads well; `places` are those of its keys, `files` the hashes of the files of
    counters that it names.
    """

    file: str
    sha256: str
    head: Where
    scenario: Scenario
    expectations: tuple[Expectation, ...]
    used: tuple[Used, ...]
    places: Mapping[str, Where] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)

    def place(self, key: str) -> Where:
        """Where the plan says something of the key, or else the workload, or its head."""
        return self.places.get(key, self.places.get("workload", self.head))

    @property
    def cards(self) -> dict[str, Used]:
        """The cards used, each under a name of its own."""
        return dict(zip(told_apart([used.key for used in self.used]), self.used, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A finding with its place. `name` is the expectation's key, or what else it is about.

    Of an expectation `facts` are the point that was looked at and `found` the figure there, in
    `unit`; it may be infinite.
    """

    finding: Finding
    where: Where
    name: str
    holds: bool = False
    limit: float | None = None
    found: float | None = None
    unit: str = ""
    facts: Facts | None = None

    @property
    def unreadable(self) -> bool:
        """Whether it says that a file was not checked at all."""
        return self.finding.rule == UNREADABLE.id

    @property
    def refused(self) -> bool:
        """Whether it says that a plan has no answer."""
        return self.finding.rule == REFUSED.id


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


def told_apart(labels: Sequence[str]) -> tuple[str, ...]:
    """The labels in order, those that have been before with their number: `fits`, `fits #2`."""
    seen = Counter[str]()
    told = []
    for label in labels:
        seen[label] += 1
        told.append(label if seen[label] == 1 else f"{label} #{seen[label]}")
    return tuple(told)


def judged(case: Case) -> Judged:
    """What the plan's expectations come to."""
    loads = [int(e.limit) for e in case.expectations if e.key == LOAD]
    with placed(case.place("workload")):
        points = facts_of(case.scenario, scan_to=max(*loads, SCAN_TO) if loads else 0)
    called = _names(case.scenario)
    outcomes = tuple(_outcome(e, points, called) for e in case.expectations)
    return Judged(case=case, outcomes=outcomes, others=tuple(_others(case, points, called)))


def _others(case: Case, points: list[Facts], called: Names) -> Iterator[Outcome]:
    """What is wrong with the plan whatever it expects."""
    if not case.expectations:
        nothing = Finding(UNGUARDED.id, UNGUARDED.level, "the plan expects nothing")
        yield Outcome(finding=nothing, where=case.head, name=UNGUARDED.title)
    asked = [e.at for e in case.expectations if e.key == FITS]
    lacking = [p for p in points if p.free_bytes < 0]
    unasked = misfit([p for p in lacking if not any(_within(at, p, called) for at in asked)])
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


def _within(at: Mapping[str, Narrowed], facts: Facts, called: Names) -> bool:
    """Whether the point is one of those that `at` is about."""
    return all(
        any(_values(key, facts, called) & item for item in narrowed.items)
        for key, narrowed in at.items()
    )


def _outcome(expectation: Expectation, points: list[Facts], called: Names) -> Outcome:
    for key, narrowed in expectation.at.items():
        lacking = _lacking(key, narrowed, points, called)
        if lacking:
            finding = Finding(ABSENT.id, ABSENT.level, f"{expectation.key} at {lacking}")
            return Outcome(finding=finding, where=narrowed.where, name=expectation.key)
        wanted = frozenset().union(*narrowed.items)
        points = [facts for facts in points if _values(key, facts, called) & wanted]
    rule, limit = BY_KEY[expectation.key], expectation.limit
    worst, finding = judge(rule, points, limit, expectation.text)
    return Outcome(
        finding=finding,
        where=expectation.where,
        name=expectation.key,
        holds=rule.lack(rule.found(worst), limit) <= 0,
        limit=limit,
        found=rule.found(worst),
        unit=rule.unit,
        facts=worst,
    )


def _names(scenario: Scenario) -> Names:
    """Every name that a card of the plan answers to; a head also to its kind."""
    cards = [
        card for s in scenario.setups for card in (s.target, s.draft.model, s.hardware) if card
    ]
    called = {card.name: frozenset({card.name, *card.aliases}) for card in cards}
    for head in (s.draft.model for s in scenario.setups):
        if head and head.drafts:
            called[head.name] |= ways_of(head.drafts.kind, head.family)
    return called


def _values(key: str, facts: Facts, called: Names) -> frozenset[Value]:
    """What one key of `at` may say to mean this point."""
    value: Value = getattr(facts, key)
    return called.get(value, frozenset({value})) if isinstance(value, str) else frozenset({value})


def _lacking(key: str, narrowed: Narrowed, points: list[Facts], called: Names) -> str:
    """What of one key of `at` is at none of the points, in words; "" if all of it is at some."""
    known = {value for facts in points for value in _values(key, facts, called)}
    if all(item & known for item in narrowed.items):
        return ""
    there = list(dict.fromkeys(getattr(facts, key) for facts in points))
    shown = ", ".join(v if isinstance(v, str) else f"{v:.10g}" for v in there[:MOST_SHOWN])
    more = ", ..." if len(there) > MOST_SHOWN else ""
    return f"{key} {narrowed.text}: no such point; the plan has {shown}{more}"
