"""One plan held against what it expects: an outcome for each expectation, at its worst point."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePath

from specplan.domain.answer import Scalar
from specplan.domain.hardware import Hardware
from specplan.domain.model import Model
from specplan.domain.scenario import Scenario, Setup
from specplan.errors import Where, did_you_mean
from specplan.questions.facts import facts_of
from specplan.rules import Finding
from specplan.rules.plans import ABSENT, BY_KEY, EXPECTED, UNGUARDED, Expected, Facts, judge

LOADS = "min_break_even_batch"


@dataclass(frozen=True, slots=True, kw_only=True)
class Narrowed:
    """One key of `at`: as written, where, and the values that each item of it stands for."""

    text: str
    where: Where
    items: tuple[frozenset[float | str], ...]


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
    """A card that a plan rests on, and where the plan names it."""

    card: Hardware | Model
    sha256: str
    where: Where

    @property
    def key(self) -> str:
        """Kind and name."""
        kind = "hardware" if isinstance(self.card, Hardware) else "model"
        return f"{kind} {self.card.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A plan that reads well."""

    file: str
    sha256: str
    head: Where
    scenario: Scenario
    expectations: tuple[Expectation, ...]
    used: tuple[Used, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A finding with its place; `name` says what of, `facts` and `found` what it looked at."""

    finding: Finding
    where: Where
    name: str
    limit: Scalar = None
    found: float | None = None
    unit: str = ""
    facts: Facts | None = None

    @property
    def fails(self) -> bool:
        """Whether it makes the answer no."""
        return self.finding.level == "error"


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
        """A name for each outcome, told apart by a number where two are the same."""
        seen: dict[str, int] = {}
        labels = []
        for expectation in self.case.expectations:
            label = expectation.label
            seen[label] = seen.get(label, 0) + 1
            labels.append(label if seen[label] == 1 else f"{label} #{seen[label]}")
        return tuple(labels)


def judged(case: Case, *, strict: bool = False) -> Judged:
    """What the plan's expectations come to."""
    loads = any(expectation.key == LOADS for expectation in case.expectations)
    points = facts_of(case.scenario, loads=loads)
    outcomes = tuple(_outcome(e, points, case, strict=strict) for e in case.expectations)
    if outcomes:
        return Judged(case=case, outcomes=outcomes)
    nothing = Finding(UNGUARDED.id, "error" if strict else UNGUARDED.level, "nothing is expected")
    return Judged(
        case=case,
        outcomes=(),
        others=(Outcome(finding=nothing, where=case.head, name=UNGUARDED.title),),
    )


def _outcome(
    expectation: Expectation, points: list[Facts], case: Case, *, strict: bool
) -> Outcome:
    for key, narrowed in expectation.at.items():
        absent = _absent(key, narrowed, points, case)
        if absent:
            finding = Finding(ABSENT.id, ABSENT.level, f"{expectation.key} at {absent}")
            return Outcome(finding=finding, where=narrowed.where, name=expectation.key)
        points = [facts for facts in points if _values(key, facts, case) & _all(narrowed)]
    rule = BY_KEY[expectation.key]
    worst, finding = judge(rule, points, expectation.limit, expectation.text, strict=strict)
    found = rule.found(worst)
    return Outcome(
        finding=finding,
        where=expectation.where,
        name=expectation.key,
        limit=expectation.limit,
        found=found if math.isfinite(found) else None,
        unit=rule.unit,
        facts=worst,
    )


def _all(narrowed: Narrowed) -> frozenset[float | str]:
    return frozenset().union(*narrowed.items)


def _absent(key: str, narrowed: Narrowed, points: list[Facts], case: Case) -> str:
    """What of one key of `at` is no point of the plan, in words; "" if all of it is."""
    known = {value for facts in points for value in _values(key, facts, case)}
    if all(item & known for item in narrowed.items):
        return ""
    shown = sorted({_shown(key, facts) for facts in points}, key=_by_size)
    guess = did_you_mean(narrowed.text, shown) if isinstance(next(iter(known)), str) else ""
    what = f"{key} {narrowed.text}: the plan has no such point; it has {', '.join(shown[:12])}"
    return what + (", ..." if len(shown) > 12 else "") + (f"; {guess}" if guess else "")


def _by_size(text: str) -> tuple[float, str]:
    try:
        return float(text), ""
    except ValueError:
        return 0.0, text


def _shown(key: str, facts: Facts) -> str:
    value = getattr(facts, key)
    return value if isinstance(value, str) else f"{value:.10g}"
