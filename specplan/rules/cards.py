"""What can be wrong with a card that reads well: here figures without source and slips of unit.

A card's `accept: {SC003: reason}` turns that warning into a note; errors cannot be accepted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, is_dataclass, replace

from specplan.domain.card import Dtype, Source
from specplan.domain.engine import Engine
from specplan.domain.hardware import Hardware
from specplan.domain.model import Model
from specplan.rules import Finding, KeyPath, Rule
from specplan.rules.lent import LACKING, STRANGER, UNFOLLOWED
from specplan.rules.names import CLASH, OVERRIDE, RESERVED, Card, override, reserved
from specplan.rules.usable import (
    CONTRADICTED,
    RATELESS,
    UNPRICED,
    contradicted,
    rateless,
    unpriced,
)
from specplan.units import significant

RIDGE_BAND = (20.0, 2000.0)  # FLOP/B of 16-bit products: A100 153, L4 403, MI355X 315
FP8_BAND = (1.0, 2.1)  # dense FP8 over 16-bit rate; L40S states 2.02
ENGINE_FIGURES = ("expert_overlap", "small", "kernels", "releases")
SIXTEEN_BITS = (Dtype.BF16, Dtype.FP16)

UNSOURCED = Rule(
    id="SC001",
    level="error",
    title="figure without a source",
    what="A number of the card is named in the `of` of none of its sources.",
    why="Nobody can check a figure that comes from nowhere.",
    remedy="Add a source that covers the key, or delete the figure: absent is better than guessed.",
)
RIDGE = Rule(
    id="SC002",
    level="warning",
    title="implausible ridge point",
    what="A 16-bit rate over the bandwidth lies outside 20 to 2000 FLOP per byte.",
    why="No accelerator is built so; a prefix of rate or bandwidth has usually slipped by 1000.",
    remedy="Compare both with the datasheet; accept with a reason if they are right.",
)
SPARSE = Rule(
    id="SC003",
    level="warning",
    title="implausible FP8 rate",
    what="The FP8 rate is not 1 to 2.1 times the 16-bit rate.",
    why="One of the two is usually the rate with 2:4 sparsity, twice what a dense product reaches.",
    remedy="Write dense rates; accept with a reason if the silicon is really so.",
)
LABEL = Rule(
    id="SC006",
    level="note",
    title="memory from the label",
    what="The capacity is the decimal label, not what the driver reports.",
    why="The two differ by up to 7 %, and so does the number of sequences that fit.",
    remedy="Write what the driver prints in MiB and `memory_basis: driver`.",
)
NEEDLESS = Rule(
    id="SC007",
    level="warning",
    title="nothing to accept",
    what="`accept` names a rule that finds nothing here or whose findings cannot be accepted.",
    why="It would silence the next mistake, or only seems to silence this one.",
    remedy="Delete the entry.",
)
STRAY = Rule(
    id="SC012",
    level="warning",
    title="source of what is not there",
    what="The `of` of a source names a key that the card does not have.",
    why="A figure was dropped or a key misspelt, and the source seems to cover more than it does.",
    remedy="Correct the key, or delete it from `of`.",
)
CARD_RULES = (
    *(UNSOURCED, RIDGE, SPARSE, CLASH, OVERRIDE, LABEL, NEEDLESS),
    *(RESERVED, UNPRICED, RATELESS, CONTRADICTED, STRAY, STRANGER, UNFOLLOWED, LACKING),
)


def check_hardware(card: Hardware, *, overrides: bool = False) -> list[Finding]:
    """What the rules say of an accelerator; `overrides`: it hides a packaged card."""
    found = [
        *(unsourced(key, card.sources) for key in numeric_keys(card)),
        *(ridge(card, dtype) for dtype in SIXTEEN_BITS),
        fp8_ratio(card),
        override(card, overrides=overrides),
        label(card),
        *reserved(card),
        rateless(card),
        *contradicted(card),
        *stray(card),
    ]
    return _accepted(card, [f for f in found if f])


def check_model(card: Model, *, overrides: bool = False) -> list[Finding]:
    """What the rules say of a model; `overrides`: it hides a packaged card."""
    found = [
        *(unsourced(key, card.sources) for key in numeric_keys(card)),
        override(card, overrides=overrides),
        *reserved(card),
        unpriced(card),
        *stray(card),
    ]
    return _accepted(card, [f for f in found if f])


def check_engine(
    card: Engine, *, overrides: bool = False, also: Iterable[Finding] = ()
) -> list[Finding]:
    """What the rules say of an engine as its own file states it: constants are sourced by group.
    `also` was found of the cards that it names.
    """
    owed = [name for name in ENGINE_FIGURES if getattr(card, name) not in (None, ())]
    found = [
        *(unsourced((name,), card.sources) for name in owed),
        override(card, overrides=overrides),
        *also,
    ]
    return _accepted(card, [f for f in found if f])


def check_card(
    card: Card, *, overrides: bool = False, also: Iterable[Finding] = ()
) -> list[Finding]:
    """What the rules say of a card of any kind; `also` was found of the cards that it names."""
    if isinstance(card, Hardware):
        return check_hardware(card, overrides=overrides)
    if isinstance(card, Model):
        return check_model(card, overrides=overrides)
    return check_engine(card, overrides=overrides, also=also)


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


def unsourced(key: KeyPath, sources: Sequence[Source]) -> Finding | None:
    """SC001: none of the sources covers the key or what it stands in."""
    if covering(key, sources):
        return None
    message = f"no source covers {'.'.join(map(str, key))}"
    return Finding(UNSOURCED.id, UNSOURCED.level, message, key)


def stray(card: Card) -> Iterator[Finding]:
    """SC012: each key in the `of` of a source that leads to nothing."""
    for number, source in enumerate(card.sources):
        for place, key in enumerate(source.of):
            if not _leads(card, key):
                path = ("sources", number, "of", place)
                message = f"'{key}' is no key of the card"
                yield Finding(STRAY.id, STRAY.level, message, path)


def ridge(card: Hardware, dtype: Dtype) -> Finding | None:
    """SC002: the ridge point of a 16-bit dtype, if the card has its rate, is out of band."""
    low, high = RIDGE_BAND
    if dtype not in card.rates or low <= card.ridge(dtype) <= high:
        return None
    message = (
        f"{dtype} rate over bandwidth is {significant(card.ridge(dtype))} FLOP/B; "
        f"expected {low:g} to {high:g}"
    )
    return Finding(RIDGE.id, RIDGE.level, message, ("rates", str(dtype)))


def fp8_ratio(card: Hardware) -> Finding | None:
    """SC003: the FP8 rate is out of proportion to the first 16-bit rate there is."""
    base = next((dtype for dtype in SIXTEEN_BITS if dtype in card.rates), None)
    if base is None or Dtype.FP8 not in card.rates:
        return None
    low, high = FP8_BAND
    ratio = card.rates[Dtype.FP8] / card.rates[base]
    if low <= ratio <= high:
        return None
    message = (
        f"fp8 rate is {significant(ratio)} times the {base} rate; expected {low:g} to {high:g}"
    )
    return Finding(SPARSE.id, SPARSE.level, message, ("rates", "fp8"))


def label(card: Hardware) -> Finding | None:
    """SC006: the capacity is a label."""
    if card.memory_basis != "label":
        return None
    message = "capacity is the label, not what the driver reports"
    return Finding(LABEL.id, LABEL.level, message, ("memory_basis",))


def _leads(card: Card, key: str) -> bool:
    """Whether something is set where the dotted key leads."""
    value: object = card
    for part in key.split("."):
        if isinstance(value, dict):
            value = value.get(part)
        elif is_dataclass(value) and part in {field.name for field in fields(value)}:
            value = getattr(value, part)
        else:
            return False
    return value is not None and value not in ({}, ())


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _accepted(card: Card, found: list[Finding]) -> list[Finding]:
    """The findings with accepted warnings as notes, and SC007 for what accepts nothing."""
    settled = [
        replace(f, level="note", message=f"{f.message}; accepted: {card.accept[f.rule]}")
        if f.level == "warning" and f.rule in card.accept
        else f
        for f in found
    ]
    levels = {f.rule: f.level for f in found}
    for rule in card.accept:
        if rule not in levels:
            message = f"{rule} is accepted and finds nothing"
        elif levels[rule] == "error":
            message = f"{rule} is an error and cannot be accepted"
        else:
            continue
        settled.append(Finding(NEEDLESS.id, NEEDLESS.level, message, ("accept", rule)))
    return settled
