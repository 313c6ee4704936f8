"""What a plan expects, on what it rests, and what became of an expectation: records alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from specplan.domain.scenario import Scenario
from specplan.errors import Where
from specplan.questions.demand import Demand
from specplan.rules import Finding
from specplan.rules.demanded import TrafficFacts
from specplan.rules.expected import Facts
from specplan.rules.names import Card
from specplan.rules.plans import REFUSED, UNREADABLE

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
    """A plan that reads well; `places` are those of its keys and files, `files` the hashes of the
    files of counters and traces that it names, `demand` is its traffic.
    """

    file: str
    sha256: str
    head: Where
    scenario: Scenario
    expectations: tuple[Expectation, ...]
    used: tuple[Used, ...]
    places: Mapping[str, Where] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    demand: Demand | None = None

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
    facts: Facts | TrafficFacts | None = None

    @property
    def unreadable(self) -> bool:
        """Whether it says that a file was not checked at all."""
        return self.finding.rule == UNREADABLE.id

    @property
    def refused(self) -> bool:
        """Whether it says that a plan has no answer."""
        return self.finding.rule == REFUSED.id


def told_apart(labels: Sequence[str]) -> tuple[str, ...]:
    """The labels in order, those that have been before with their number: `fits`, `fits #2`."""
    seen = Counter[str]()
    told = []
    for label in labels:
        seen[label] += 1
        told.append(label if seen[label] == 1 else f"{label} #{seen[label]}")
    return tuple(told)
