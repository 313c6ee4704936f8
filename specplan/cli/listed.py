"""Rows of a listing: from the index where it knows a file by its bytes, else from the parsed card.

What parses (YAML, validation) is loaded only when some card must be.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from specplan.catalogue.folders import Entry, card_path, entries, user_folders
from specplan.catalogue.index import Index, Known
from specplan.domain.answer import Column, Scalar
from specplan.domain.card import Origin
from specplan.domain.cards import AnyCard
from specplan.domain.curve import Curve
from specplan.domain.engine import Engine
from specplan.domain.hardware import Hardware
from specplan.domain.model import Model
from specplan.errors import SpecplanError
from specplan.questions.cards import ORIGIN_COLUMNS, Listed, Row
from specplan.visible import visible

NUMBERED = ("year",)  # numbers that people read without a separator

Card = TypeVar("Card", bound=AnyCard)


@dataclass(frozen=True)
class Kind(Generic[Card]):
    """Cards of a kind, and how each becomes a row of exactly these columns."""

    folder: str
    cls: type[Card]
    row: Callable[[Card], Row]
    columns: tuple[Column, ...]

    @property
    def names(self) -> Collection[str]:
        """The columns of a row; where a card lies is added by the listing."""
        return {column.name for column in self.columns} - {c.name for c in ORIGIN_COLUMNS}

    def rows(self, known: Known) -> bool:
        """Whether what an index says of a card is such a row, with each value of its column's
        type.
        """
        row = known.row
        return (
            row.keys() == self.names
            and row["name"] == known.name
            and all(_of_type(row.get(column.name), column) for column in self.columns)
        )

    def known(self, card: Card) -> Known:
        """What the index holds of a card."""
        return Known(card.name, card.aliases, self.row(card))


def hardware() -> Kind[Hardware]:
    """Accelerators."""
    from specplan.questions.hardware_list import ASIDE, COLUMNS, hardware_row

    return Kind("hardware", Hardware, hardware_row, (*COLUMNS, *ASIDE))


def models() -> Kind[Model]:
    """Models and drafters."""
    from specplan.questions.models_list import ASIDE, COLUMNS, model_row

    return Kind("models", Model, model_row, (*COLUMNS, *ASIDE))


def engines() -> Kind[Engine]:
    """Serving engines."""
    from specplan.questions.engines_list import COLUMNS, engine_row

    return Kind("engines", Engine, engine_row, COLUMNS)


def curves() -> Kind[Curve]:
    """Acceptance curves."""
    from specplan.questions.curves_list import CARD_COLUMNS, curve_row

    return Kind("curves", Curve, curve_row, CARD_COLUMNS)


def listed(kind: Kind[Card], folders: Sequence[str]) -> tuple[list[Listed], list[SpecplanError]]:
    """Every card of a kind that can be read, by name, and what is wrong with the others."""
    index, found, broken = Index(kind.folder), list[Listed](), list[SpecplanError]()
    for entry in entries(kind.folder, user_folders(folders)).values():
        digest, known = index.find(entry)
        try:
            if known is None or not kind.rows(known):
                digest, known = _parsed(kind, entry)
        except SpecplanError as error:
            broken.append(error)
            continue
        path = visible(card_path(kind.folder, entry))
        origin = Origin(path=path, sha256=digest, layer=entry.layer)
        hides = entry.hides.layer if entry.hides else ""
        found.append(Listed(known.row, known.aliases, origin, hides))
    return found, broken


def _of_type(value: Scalar, column: Column) -> bool:
    """Whether the value may stand in the column: text, a truth or a number, where it is known."""
    if value is None:
        return True
    if column.form == "text" and column.name not in NUMBERED:
        return isinstance(value, str)
    return isinstance(value, int | float) and isinstance(value, bool) is (column.form == "flag")


def _parsed(kind: Kind[Card], entry: Entry) -> tuple[str, Known]:
    from specplan.catalogue.store import Catalogue

    loaded = Catalogue().read(entry, kind.cls)
    return loaded.origin.sha256, kind.known(loaded.card)
