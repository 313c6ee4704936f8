"""All cards of a kind in a table, in order, and narrowed to those that were asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from specplan.domain.answer import Answer, Basis, Column, Rows, Scalar, Section, View, table_of
from specplan.domain.card import Origin
from specplan.domain.cards import AnyCard
from specplan.domain.scenario import Input
from specplan.errors import Refused, Where, unknown

Card = TypeVar("Card", bound=AnyCard)
Value = TypeVar("Value")
Row = Mapping[str, Scalar]

PACKAGED = "packaged"
BASIS = Basis(kind="exact", says="", source="catalogue")

ORIGIN_COLUMNS = (
    Column("aliases", "", "aliases", "text", "other names, separated by spaces"),
    Column("layer", "", "from", "text", "the folder of cards it was found in"),
    Column("path", "", "file", "text", "the card's file"),
    Column("sha256", "", "sha256", "text", "hash of the file"),
    Column("hides", "", "hides", "text", "layer of the card of that name that this one hides"),
)


class FromFile(Protocol):
    """A card by name, where it was read from, and the layer of the card of its name it hides."""

    @property
    def name(self) -> str:
        """The card's name."""

    @property
    def origin(self) -> Origin:
        """Its file."""

    @property
    def hides(self) -> str:
        """The layer, or nothing."""


@dataclass(frozen=True, slots=True)
class Filed(Generic[Card]):
    """A card, where it was read from, and the layer of the card of its name that it hides."""

    card: Card
    origin: Origin
    hides: str = ""

    @property
    def name(self) -> str:
        """The card's name."""
        return self.card.name


@dataclass(frozen=True, slots=True)
class Listed:
    """The same without the card: its figures as the row that a listing shows."""

    row: Row
    aliases: tuple[str, ...]
    origin: Origin
    hides: str = ""

    @property
    def name(self) -> str:
        """The card's name."""
        return str(self.row["name"])


@dataclass(frozen=True, slots=True)
class Listing:
    """The scalars of a listing: its cards, of how many, and how many come from each folder."""

    cards: int
    of: int
    layers: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Order:
    """Columns to sort by, the first first, and whether what is largest leads."""

    columns: tuple[str, ...]
    falling: bool = False


def listing(
    command: str,
    listed: Sequence[Listed],
    *,
    of: int,
    columns: tuple[Column, ...],
    sections: tuple[Section, ...],
    title: str,
    caption: tuple[str, ...],
    aside: tuple[Column, ...] = (),
) -> Answer:
    """Cards of one kind, a row for each, with where each comes from; `of` are known."""
    layers = Counter(one.origin.layer for one in listed)
    rows = [{**one.row, **origin_row(one)} for one in listed]
    return Answer(
        command=command,
        value=Listing(len(listed), of, dict(sorted(layers.items()))),
        table=table_of(columns, rows, aside),
        view=View(title=title, caption=caption if listed else (), sections=sections),
        basis=BASIS,
        inputs=inputs_of(listed),
        notes=hiding_notes(listed),
    )


def counted(count: int, of: int, word: str) -> str:
    """The title of a listing: "16 accelerators", "3 of 16 accelerators"."""
    if count == of:
        return f"{of} {word}"
    return f"{count} of {of} {word}" if count else f"no match among {of} {word}"


def rows_of(
    listed: Sequence[Listed],
    columns: tuple[str, ...],
    where: str = "",
    mark: str = "",
    marked: str = "",
) -> Rows:
    """The columns for people; where cards come from as soon as some are the user's. What is to be
    marked is the last of the columns unless it is said.
    """
    own = any(one.origin.layer != PACKAGED for one in listed)
    shown = (*columns, "layer") if own else columns
    return Rows(columns=shown, where=where, mark=mark, marked=marked or columns[-1])


def ordered(listed: Iterable[Listed], order: Order, *, reverse: bool = False) -> list[Listed]:
    """The cards in an order; equal ones by name, and last those without the figure."""
    by_name = sorted(listed, key=lambda one: one.name)
    first = order.columns[0]
    have = [one for one in by_name if one.row[first] is not None]
    lack = [one for one in by_name if one.row[first] is None]

    def key(one: Listed) -> tuple[tuple[bool, Scalar], ...]:
        return tuple((one.row[c] is not None, one.row[c]) for c in order.columns)

    # Equal ones keep their order either way round.
    return sorted(have, key=key, reverse=order.falling is not reverse) + lack


def one_of_each(
    option: str, word: str, asked: Sequence[str], listed: Iterable[Listed], column: str
) -> frozenset[str]:
    """The words asked for, if each stands in the column of some card."""
    known = {str(one.row[column]) for one in listed}
    return among(option, word, asked, known)


def among(option: str, word: str, asked: Sequence[str], known: Collection[str]) -> frozenset[str]:
    """The words asked for in any case, if all are known."""
    wanted = [text.lower() for text in asked]
    for text in wanted:
        if text not in known:
            raise unknown(word, text, known, where=Where(option))
    return frozenset(wanted)


def at_least(row: Row, column: str, least: float | None, most: float | None = None) -> bool:
    """Whether a figure lies within what was asked; one that is missing does not."""
    if least is None and most is None:
        return True
    value = row[column]
    if not isinstance(value, int | float):
        return False
    return (least is None or value >= least) and (most is None or value <= most)


def known(figure: Callable[[], Value]) -> Value | None:
    """The figure, or None for a card that neither states nor derives it."""
    try:
        return figure()
    except Refused:
        return None


def inputs_of(filed: Iterable[FromFile]) -> dict[str, Input]:
    """The cards that an answer rests on, by name."""
    return {
        f.name: Input(value=f.name, origin=f.origin.path, sha256=f.origin.sha256) for f in filed
    }


def hiding_notes(filed: Iterable[FromFile]) -> tuple[str, ...]:
    """A sentence for each card that stands in another's place."""
    return tuple(
        f"{f.name} is read from {f.origin.path}, which hides the {f.hides} card of that name"
        for f in filed
        if f.hides
    )


def origin_row(listed: Listed) -> dict[str, Scalar]:
    """Where a card lies, as columns."""
    return {
        "aliases": " ".join(listed.aliases),
        "layer": listed.origin.layer,
        "path": listed.origin.path,
        "sha256": listed.origin.sha256,
        "hides": listed.hides or None,
    }
