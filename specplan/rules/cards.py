"""Every rule of a card by its kind: names, sources, figures, and what the cards it names say.

A card's `accept: {SC003: reason}` turns that warning into a note; errors cannot be accepted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import date

from specplan.domain.curve import Curve
from specplan.domain.engine import Engine
from specplan.domain.hardware import Hardware
from specplan.domain.model import Model
from specplan.rules import Finding, Rule
from specplan.rules.beside import BESIDE_RULES
from specplan.rules.curves import CURVE_RULES, curve_findings, unsourced_series
from specplan.rules.drafters import DRAFTER_RULES
from specplan.rules.hardware import HARDWARE_RULES, hardware_findings
from specplan.rules.lent import LACKING, STRANGER, UNFOLLOWED
from specplan.rules.models import MODEL_RULES, model_findings
from specplan.rules.names import CLASH, OVERRIDE, RESERVED, TWICE, Card, override, reserved, twice
from specplan.rules.shapes import shapeless
from specplan.rules.sources import (
    STRAY,
    UNDATED,
    UNSOURCED,
    numeric_keys,
    stray,
    undated,
    unsourced,
)
from specplan.rules.usable import (
    CONTRADICTED,
    RATELESS,
    UNPRICED,
    contradicted,
    rateless,
    unpriced,
)

ENGINE_FIGURES = ("expert_overlap", "small", "passes", "steps", "kernels", "releases")

NEEDLESS = Rule(
    id="SC007",
    level="warning",
    title="nothing to accept",
    what="`accept` names a rule that finds nothing here or whose findings cannot be accepted.",
    why="It would silence the next mistake, or only seems to silence this one.",
    remedy="Delete the entry.",
)
_OF_ANY = (UNSOURCED, CLASH, OVERRIDE, NEEDLESS, RESERVED, STRAY, UNDATED, TWICE)
_OF_USE = (UNPRICED, RATELESS, CONTRADICTED)
_OF_OTHERS = (STRANGER, UNFOLLOWED, LACKING, *BESIDE_RULES)
CARD_RULES = tuple(
    sorted(
        (
            *(*_OF_ANY, *_OF_USE, *_OF_OTHERS),
            *(*HARDWARE_RULES, *MODEL_RULES, *DRAFTER_RULES, *CURVE_RULES),
        ),
        key=lambda rule: rule.id,
    )
)


def check_hardware(
    card: Hardware,
    *,
    overrides: bool = False,
    also: Iterable[Finding] = (),
    today: date | None = None,
) -> list[Finding]:
    """What the rules say of an accelerator; `overrides`: it hides a packaged card; `also` was found
    beside other cards; dates are held against `today` where that is given.
    """
    found = [
        *unsourced(numeric_keys(card), card.sources),
        *_of_any(card, today, overrides=overrides),
        *hardware_findings(card, today),
        *_there(rateless(card)),
        *contradicted(card),
        *stray(card),
        *also,
    ]
    return _accepted(card, found)


def check_model(
    card: Model,
    *,
    overrides: bool = False,
    also: Iterable[Finding] = (),
    today: date | None = None,
) -> list[Finding]:
    """The same of a model; `also` was found of the targets that it drafts for."""
    found = [
        *unsourced(numeric_keys(card), card.sources),
        *_of_any(card, today, overrides=overrides),
        *_there(unpriced(card)),
        *model_findings(card),
        *shapeless(card),
        *stray(card),
        *also,
    ]
    return _accepted(card, found)


def check_engine(
    card: Engine,
    *,
    overrides: bool = False,
    also: Iterable[Finding] = (),
    today: date | None = None,
) -> list[Finding]:
    """The same of an engine as its own file states it: constants are sourced by group. `also` was
    found of the cards that it names.
    """
    owed = [(name,) for name in ENGINE_FIGURES if getattr(card, name) not in (None, ())]
    found = [
        *unsourced(owed, card.sources),
        *_of_any(card, today, overrides=overrides),
        *also,
    ]
    return _accepted(card, found)


def check_curve(
    card: Curve,
    *,
    overrides: bool = False,
    also: Iterable[Finding] = (),
    today: date | None = None,
) -> list[Finding]:
    """The same of acceptance curves: each series is sourced as one."""
    found = [
        *unsourced_series(card),
        *_of_any(card, today, overrides=overrides),
        *curve_findings(card),
        *stray(card),
        *also,
    ]
    return _accepted(card, found)


def check_card(
    card: Card,
    *,
    overrides: bool = False,
    also: Iterable[Finding] = (),
    today: date | None = None,
) -> list[Finding]:
    """What the rules say of a card of any kind."""
    if isinstance(card, Hardware):
        return check_hardware(card, overrides=overrides, also=also, today=today)
    if isinstance(card, Model):
        return check_model(card, overrides=overrides, also=also, today=today)
    if isinstance(card, Curve):
        return check_curve(card, overrides=overrides, also=also, today=today)
    return check_engine(card, overrides=overrides, also=also, today=today)


def _of_any(card: Card, today: date | None, *, overrides: bool) -> Iterable[Finding]:
    """What can be wrong with a card of any kind."""
    yield from _there(override(card, overrides=overrides))
    yield from reserved(card)
    yield from twice(card)
    yield from undated(card, today)


def _there(found: Finding | None) -> tuple[Finding, ...]:
    return (found,) if found else ()


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
