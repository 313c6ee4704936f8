"""A kind in the place of a drafter's name: `-d eagle3` is the target's only card of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Protocol

from specplan.catalogue.store import Loaded
from specplan.domain.heads import WAYS
from specplan.domain.model import Model
from specplan.errors import UsageError, Where
from specplan.questions.kinds import ways_of
from specplan.rules.drafters import unfit

MOST_SHOWN = 2
Wanted = Callable[[str, str], bool]  # of a kind and a family


class Heads(Protocol):
    """Where heads are looked up by what they draft for."""

    def drafters(self, target: Model, wanted: Wanted) -> list[Loaded[Model]]:
        """The heads trained for the target of which kind and family are wanted."""

    def kindred(self, target: Model, wanted: Wanted) -> list[tuple[Loaded[Model], str]]:
        """The same of models of its family and width, with the name of one of them."""


def only_one(way: str, targets: Sequence[Model], heads: Heads, where: Where) -> str:
    """The name of the only card that drafts in that way for the only target."""
    if len(targets) != 1:
        named = " and ".join(target.name for target in targets[:2])
        raise UsageError(
            f"{way} is a kind of drafter, and which card it is depends on the target",
            where=where,
            expected=f"one target, not {len(targets)} ({named})" if targets else "a target",
            hint="name the drafters' cards",
        )
    (target,) = targets

    def wanted(kind: str, family: str) -> bool:
        return way in ways_of(kind, family)

    found = heads.drafters(target, wanted)
    if len(found) == 1:
        return found[0].card.name
    if found:
        what = f"{len(found)} cards of kind {way} draft for {target.name}"
        raise UsageError(what, where=where, expected=f"one of {_names(found)}")
    others = heads.drafters(target, lambda kind, family: bool(ways_of(kind, family)))
    serving = _serving(target, heads.kindred(target, wanted))
    none = "" if others else "a drafter without a card is ratio:0.05, its cost in target steps"
    raise UsageError(
        f"no card of kind {way} drafts for {target.name}",
        where=where,
        expected=f"one of {_names(others)}" if others else "",
        hint=serving or none,
    )


def meant(name: str) -> str:
    """The kind that a name spells otherwise, such as eagle-3, or nothing."""
    spelt = re.sub(r"[-_ ]", "", name.lower())
    return next((way for way in WAYS if way.replace("-", "") == spelt), "")


def _serving(target: Model, kindred: Sequence[tuple[Loaded[Model], str]]) -> str:
    """Heads of other targets that nothing speaks against, in words."""
    fitting = [(one.card, kin) for one, kin in kindred if not any(unfit(one.card, target))]
    if not fitting:
        return ""
    said = " and ".join(f"{head.name} drafts for {kin}" for head, kin in fitting[:MOST_SHOWN])
    return f"{said} and could serve: -d {fitting[0][0].name}"


def _names(found: Sequence[Loaded[Model]]) -> str:
    return ", ".join(loaded.card.name for loaded in found)
