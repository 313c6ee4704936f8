"""A kind in the place of a drafter's name: `-d eagle3` is the target's only card of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from specplan.catalogue.store import Loaded
from specplan.domain.model import Model
from specplan.errors import UsageError, Where
from specplan.questions.kinds import ways_of

Drafting = Callable[[Model, Callable[[str, str], bool]], list[Loaded[Model]]]


def only_one(way: str, targets: Sequence[Model], drafting: Drafting, where: Where) -> str:
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
    found = drafting(target, lambda kind, family: way in ways_of(kind, family))
    if len(found) == 1:
        return found[0].card.name
    if found:
        what = f"{len(found)} cards of kind {way} draft for {target.name}"
        raise UsageError(what, where=where, expected=f"one of {_names(found)}")
    others = drafting(target, lambda kind, family: bool(ways_of(kind, family)))
    raise UsageError(
        f"no card of kind {way} drafts for {target.name}",
        where=where,
        expected=f"one of {_names(others)}" if others else "",
        hint="" if others else "a drafter without a card is ratio:0.05, its cost in target steps",
    )


def _names(found: Sequence[Loaded[Model]]) -> str:
    return ", ".join(loaded.card.name for loaded in found)
