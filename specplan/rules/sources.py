"""What can be wrong with where a card's figures come from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from datetime import date, timedelta

from specplan.domain.card import Source
from specplan.domain.hardware import Hardware
from specplan.rules import Finding, KeyPath, Rule
from specplan.rules.names import Card

ZONES = timedelta(days=1)  # the day that an author writes may be tomorrow elsewhere

UNSOURCED = Rule(
    id="SC001",
    level="error",
    title="figure without a source",
    what="A number of the card is named in the `of` of none of its sources.",
    why="Nobody can check a figure that comes from nowhere.",
    remedy="Add a source that covers the key, or delete the figure: absent is better than guessed.",
)
STRAY = Rule(
    id="SC012",
    level="warning",
    title="source of what is not there",
    what="The `of` of a source names a key that the card does not have.",
    why="A figure was dropped or a key misspelt, and the source seems to cover more than it does.",
    remedy="Correct the key, or delete it from `of`.",
)
UNDATED = Rule(
    id="SC024",
    level="warning",
    title="date that cannot be",
    what="A source was read, a price asked or a machine measured on a day that is none, or is yet "
    "to come.",
    why="Who looks the figure up again does not know which of its versions was meant.",
    remedy="Write the day on which it was read, as year-month-day.",
)


def numeric_keys(card: Card) -> Iterator[KeyPath]:
    """Keys whose values are numbers: those of a mapping each, an architecture as one."""
    for field in fields(card):
        value = getattr(card, field.name)
        if isinstance(value, dict):
            yield from ((field.name, str(key)) for key, item in value.items() if _number(item))
        elif _number(value) or is_dataclass(value):
            yield (field.name,)


def covering(key: KeyPath, sources: Sequence[Source]) -> tuple[int, ...]:
    """Numbers, from 1, of the sources whose `of` names the key or what it stands in."""
    names = {".".join(map(str, key[: length + 1])) for length in range(len(key))}
    return tuple(n for n, source in enumerate(sources, 1) if names & set(source.of))


def unsourced(keys: Iterable[KeyPath], sources: Sequence[Source]) -> Iterator[Finding]:
    """SC001: each key that none of the sources covers, itself or what it stands in."""
    for key in keys:
        if not covering(key, sources):
            message = f"no source covers {'.'.join(map(str, key))}"
            yield Finding(UNSOURCED.id, UNSOURCED.level, message, key)


def stray(card: Card) -> Iterator[Finding]:
    """SC012: each key in the `of` of a source that leads to nothing."""
    for number, source in enumerate(card.sources):
        for place, key in enumerate(source.of):
            if not leads(card, key):
                path = ("sources", number, "of", place)
                message = f"'{key}' is no key of the card"
                yield Finding(STRAY.id, STRAY.level, message, path)


def undated(card: Card, today: date | None = None) -> Iterator[Finding]:
    """SC024: each date that no calendar has, or that comes after `today` where that is known."""
    for path, text in _dates(card):
        day = day_of(text)
        if day is None:
            message = f"{text} is no day of the calendar"
        elif today is not None and day > today + ZONES:
            message = f"{text} is yet to come: today is {today}"
        else:
            continue
        yield Finding(UNDATED.id, UNDATED.level, message, path)


def day_of(text: str) -> date | None:
    """The day that a date names; None for the 31st of February."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def leads(card: Card, key: str) -> bool:
    """Whether something is set where the dotted key leads."""
    value: object = card
    for part in key.split("."):
        if isinstance(value, dict):
            value = value.get(part)
        elif is_dataclass(value) and part in {field.name for field in fields(value)}:
            value = getattr(value, part)
        elif isinstance(value, tuple):  # of what has names
            value = {getattr(item, "name", None): item for item in value}.get(part)
        else:
            return False
    return value is not None and value not in ({}, ())


def _dates(card: Card) -> Iterator[tuple[KeyPath, str]]:
    """Every date of the card, with its place."""
    for number, source in enumerate(card.sources):
        if source.read:
            yield ("sources", number, "read"), source.read
    if isinstance(card, Hardware):
        for number, price in enumerate(card.prices):
            yield ("prices", number, "read"), price.read
        if card.measured:
            yield ("measured", "date"), card.measured.date


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
