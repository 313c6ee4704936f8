"""What can be wrong with the names of a card: taken, hiding another card, or not to be typed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from specplan.domain.cards import AnyCard
from specplan.domain.curve import WORDS, Curve
from specplan.domain.drafters import DRAFTERS
from specplan.domain.hardware import Hardware
from specplan.domain.heads import WAYS
from specplan.domain.model import Model
from specplan.rules import Finding, KeyPath, Rule

Card = AnyCard


class Called(Protocol):
    """Whatever answers to names: a card, or what is written down of one."""

    @property
    def name(self) -> str:
        """Its own."""

    @property
    def aliases(self) -> tuple[str, ...]:
        """The others."""


_MOST_SHOWN = 3
_CURE = "rename one; a card of your own hides a packaged one by its name, not by an alias"
COUNTED = r"(?P<gpus>\d+)x(?P<name>[a-z].+)|(?P<n>.+\d)x(?P<m>\d+)"
"""What is read as a number of accelerators, such as 2xh100 or h100x8, and never as a card."""

CLASH = Rule(
    id="SC004",
    level="error",
    title="name of two cards",
    what="A name or alias belongs to two cards.",
    why="Whoever types it gets one of them without knowing which.",
    remedy="Rename one card, or drop the alias from one.",
)
OVERRIDE = Rule(
    id="SC005",
    level="warning",
    title="packaged card overridden",
    what="A card of another folder has the name of a card that ships with specplan.",
    why="The same plan gives other figures where that folder is missing.",
    remedy="Give the card a name of its own; accept with a reason if it is meant to replace.",
)
RESERVED = Rule(
    id="SC008",
    level="error",
    title="name with a meaning of its own",
    what="A model or curve is called as a way to draft is, or an accelerator as a number of them.",
    why="Whoever types the name gets what the word means, never the card.",
    remedy="Rename the card, or drop the alias.",
)

TWICE = Rule(
    id="SC025",
    level="warning",
    title="name said twice",
    what="An alias repeats the card's name or another alias.",
    why="It finds nothing that the other does not; a different one was usually meant.",
    remedy="Delete it, or write the alias that was meant.",
)


def answering(cards: Iterable[Called]) -> dict[str, list[str]]:
    """Of cards of one kind, those that answer to each name, by their own names."""
    found: dict[str, dict[str, None]] = {}
    for card in cards:
        for _, name in _names(card):
            found.setdefault(name, {})[card.name] = None
    return {name: list(cards) for name, cards in found.items()}


def check_aliases(card: Card, answer: Mapping[str, Sequence[str]]) -> list[Finding]:
    """Names of this card that other cards of its kind `answer` to as well.

    A card of the same name is no clash: the later folder's wins, which is for SC005.
    """
    found = []
    for path, name in _names(card):
        others = [other for other in answer.get(name, ()) if other != card.name]
        if others:
            more = len(others) - _MOST_SHOWN
            shown = ", ".join(others[:_MOST_SHOWN]) + (f" and {more:,} more" if more > 0 else "")
            message = f"'{name}' is a name of {shown} too: {_CURE}"
            found.append(Finding(CLASH.id, CLASH.level, message, path))
    return found


def override(card: Card, *, overrides: bool) -> Finding | None:
    """SC005: the card stands in the place of a packaged one."""
    if not overrides:
        return None
    message = f"{card.name} hides the packaged card of that name"
    return Finding(OVERRIDE.id, OVERRIDE.level, message, ("name",))


def reserved(card: Card) -> Iterator[Finding]:
    """SC008: each name of the card that can never find it."""
    for path, name in _names(card):
        if isinstance(card, Model) and name in {*DRAFTERS, *WAYS}:
            message = f"'{name}' after --draft is a way to draft, not this card"
        elif isinstance(card, Curve) and name in WORDS:
            message = f"'{name}' before a / is a kind of drafter, not this card"
        elif isinstance(card, Hardware) and re.fullmatch(COUNTED, name):
            message = f"'{name}' is read as a number of accelerators, not as this card"
        else:
            continue
        yield Finding(RESERVED.id, RESERVED.level, message, path)


def twice(card: Card) -> Iterator[Finding]:
    """SC025: each alias that the card answers to anyway."""
    seen = set()
    for path, name in _names(card):
        if name in seen:
            message = f"'{name}' is a name of this card already"
            yield Finding(TWICE.id, TWICE.level, message, path)
        seen.add(name)


def _names(card: Called) -> Iterator[tuple[KeyPath, str]]:
    """The name and the aliases, each with its place."""
    yield ("name",), card.name
    yield from ((("aliases", number), alias) for number, alias in enumerate(card.aliases))
