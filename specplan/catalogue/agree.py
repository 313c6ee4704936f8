"""Whether a card agrees with itself: its name with its file's, its figures with its layers."""

from __future__ import annotations

import re

from specplan.catalogue.read import Document
from specplan.domain.agreement import likely
from specplan.domain.card import NAME_PATTERN
from specplan.domain.cards import AnyCard
from specplan.domain.model import AGREEMENT, Model
from specplan.errors import InputError
from specplan.visible import visible


def agree(card: AnyCard, stem: str, document: Document) -> None:
    """Refuses a card that its file calls `stem` and that says otherwise, or two things at once."""
    if card.name != stem:
        raise _misnamed(card.name, stem, document)
    if isinstance(card, Model):
        _agree(card, document)


def _misnamed(name: str, stem: str, document: Document) -> InputError:
    """The error for a card whose name is not that of its file."""
    if re.match(NAME_PATTERN, stem):
        what = f"the card calls itself '{name}'"
        expected = f"'{stem}', as its file is called"
    else:
        what = f"the file name '{visible(stem, 60)}' is no card's name"
        expected = f"'{name}', as the card calls itself"
    return InputError(what, where=document.where(("name",)), expected=expected)


def _agree(model: Model, document: Document) -> None:
    for wrong in model.disagreements():
        raise InputError(
            f"{wrong.key} {wrong.stated:,.0f} is {100 * abs(wrong.relative):.1f} % "
            f"{'above' if wrong.relative > 0 else 'below'} what the architecture gives",
            where=document.where((wrong.key,)),
            expected=f"{wrong.derived:,.0f} within {100 * AGREEMENT:g} %",
            hint=f"likely {likely(model, wrong)}",
        )
