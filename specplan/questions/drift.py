"""What became of a plan since it was locked: which card or log changed, and what moved."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass

from specplan.domain.lock import LockedCard, LockedPlan
from specplan.errors import Where
from specplan.questions.expectations import Outcome, Used
from specplan.questions.verdicts import Judged
from specplan.rules import Finding, Level
from specplan.rules.expected import Keyed
from specplan.rules.names import Card
from specplan.rules.plans import BY_KEY, CHANGED
from specplan.visible import visible

MOST_SHOWN = 6
_NO_FIGURES = ("sources", "accept", "notes")


def locked(plan: Judged) -> LockedPlan:
    """What a lock remembers of a plan whose expectations hold."""
    return LockedPlan(
        sha256=plan.case.sha256,
        cards={
            key: LockedCard(sha256=used.sha256, figures=figures(used.card))
            for key, used in plan.case.cards.items()
        },
        found={
            label: outcome.found if outcome.found is not None and outcome.found < math.inf else None
            for label, outcome in zip(plan.labels, plan.outcomes, strict=True)
        },
        files=dict(plan.case.files),
    )


def drifted(plan: Judged, before: LockedPlan) -> list[Outcome]:
    """A finding for each card, file of counters and trace that is not the one locked: an error if a
    verdict moved.
    """
    changed = list(_others(plan, before))
    if not changed:
        return []
    moved = [move for move in _moves(plan, before) if move.moved]
    level: Level = "error" if any(move.turned for move in moved) else CHANGED.level
    words = _listed([move.words for move in moved]) or "no expectation moved"
    if before.sha256 != plan.case.sha256:
        words += "; the plan changed too"
    return [
        Outcome(
            finding=Finding(CHANGED.id, level, f"{said}: {words}"), where=where, name=CHANGED.title
        )
        for said, where in changed
    ]


def _others(plan: Judged, before: LockedPlan) -> Iterator[tuple[str, Where]]:
    """What is not as it was locked, in words, and where the plan names it."""
    for key, used in plan.case.cards.items():
        if key in before.cards and before.cards[key].sha256 != used.sha256:
            yield _changed(used, before.cards[key]), used.where
    for name, digest in plan.case.files.items():
        if before.files.get(name, digest) != digest:
            where = plan.case.places.get(name, plan.case.place("acceptance"))
            yield f"{visible(name, 200)} changed since the lock", where


def figures(card: Card) -> dict[str, float]:
    """The numbers of a card in SI, by dotted key; a switch is 1 or 0."""
    return dict(_flat(card, ""))


def _flat(value: object, key: str) -> Iterator[tuple[str, float]]:
    if isinstance(value, int | float):
        yield key, float(value)
        return
    items: Mapping[str, object] = {}
    if is_dataclass(value):
        names = [field.name for field in fields(value) if field.name not in _NO_FIGURES]
        items = {name: getattr(value, name) for name in names}
    elif isinstance(value, Mapping):
        items = {str(name): item for name, item in value.items()}
    elif isinstance(value, list | tuple):
        items = {str(number): item for number, item in enumerate(value)}
    for name, item in items.items():
        yield from _flat(item, f"{key}.{name}" if key else name)


def _changed(used: Used, before: LockedCard) -> str:
    """`h100-sxm changed since the lock (bandwidth 3.35e12 -> 3e12)`."""
    old, new = before.figures, figures(used.card)
    moved = [
        f"{key} {_said(old.get(key), new.get(key))} -> {_said(new.get(key), old.get(key))}"
        for key in dict.fromkeys((*old, *new))
        if old.get(key) != new.get(key)
    ]
    return f"{used.card.name} changed since the lock ({_listed(moved) or 'none of its figures'})"


def _said(value: float | None, other: float | None) -> str:
    if value is None:
        return "none"
    short = f"{value:.6g}"
    full = repr(value) if other is not None and short == f"{other:.6g}" else short
    return full.replace("e+", "e").removesuffix(".0")


def _listed(texts: list[str]) -> str:
    more = len(texts) - MOST_SHOWN
    return ", ".join(texts[:MOST_SHOWN]) + (f" and {more} more" if more > 0 else "")


@dataclass(frozen=True, slots=True)
class _Move:
    """What an expectation found then and finds now."""

    label: str
    rule: Keyed
    limit: float
    then: float
    now: float

    @property
    def moved(self) -> bool:
        """Whether the figure is another one."""
        return not math.isclose(self.then, self.now, rel_tol=1e-12)

    @property
    def turned(self) -> bool:
        """Whether the same limit was held to then and is not now, or the other way round."""
        return (self.rule.lack(self.then, self.limit) > 0) != (
            self.rule.lack(self.now, self.limit) > 0
        )

    @property
    def words(self) -> str:
        """`min_speedup 2.02x -> 1.97x`."""
        then, now = self.rule.say(self.then, self.now), self.rule.say(self.now, self.then)
        return f"{self.label} {then} -> {now}"


def _moves(plan: Judged, before: LockedPlan) -> Iterator[_Move]:
    for label, outcome in zip(plan.labels, plan.outcomes, strict=True):
        if label in before.found and outcome.found is not None and outcome.limit is not None:
            then = before.found[label]
            yield _Move(
                label=label,
                rule=BY_KEY[outcome.name],
                limit=outcome.limit,
                then=math.inf if then is None else then,
                now=outcome.found,
            )
