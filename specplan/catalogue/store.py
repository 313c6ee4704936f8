"""How a name finds its card. Only the cards that are named are parsed."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Generic, TypeAlias, TypeVar

from specplan.catalogue.agree import agree
from specplan.catalogue.compose import MAX_BYTES
from specplan.catalogue.curves import curves_of
from specplan.catalogue.drafters import drafters_of, kindred_of
from specplan.catalogue.folders import (
    PACKAGED,
    SUFFIXES,
    Entry,
    Folder,
    card_path,
    entries,
    file_called,
    first_bytes,
)
from specplan.catalogue.foreign import refuse_config
from specplan.catalogue.index import Index, Known
from specplan.catalogue.read import Document, read_file
from specplan.catalogue.schema import bind
from specplan.domain.card import NAME_PATTERN, Origin
from specplan.domain.cards import AnyCard
from specplan.domain.curve import Curve
from specplan.domain.engine import Engine
from specplan.domain.follow import following
from specplan.domain.hardware import Hardware
from specplan.domain.model import Model
from specplan.errors import InputError, SpecplanError, UnknownName, Where, placed, unknown

KINDS: dict[str, type[AnyCard]] = {
    "hardware": Hardware,
    "models": Model,
    "engines": Engine,
    "curves": Curve,
}
_WORDS = {"hardware": "hardware", "models": "model", "engines": "engine", "curves": "curve"}

_NAMED_BROKEN = 3  # broken files that one message names

HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/([A-Za-z0-9](?:[\w.-]*[\w-])?)(?<!\.yaml)(?<!\.yml)")

Card = TypeVar("Card", bound=AnyCard)


@dataclass(frozen=True, slots=True)
class Loaded(Generic[Card]):
    """A card, the file it came from, and the document for errors that point into it."""

    card: Card
    origin: Origin
    document: Document
    hides: Entry | None = None

    @property
    def hides_packaged(self) -> bool:
        """Whether a card that ships with specplan lies under this one, however deep."""
        hidden = _layers(self.hides) if self.hides else ()
        return any(entry.layer == PACKAGED for entry in hidden)


AnyLoaded: TypeAlias = Loaded[Hardware] | Loaded[Model] | Loaded[Engine] | Loaded[Curve]


@dataclass(frozen=True, slots=True)
class Shelf(Generic[Card]):
    """All cards of a class by name, and what is wrong with those that cannot be read."""

    cards: list[Loaded[Card]]
    broken: list[SpecplanError]


@dataclass(frozen=True)
class Catalogue:
    """Every card that can be named, packaged and the user's."""

    folders: tuple[Folder, ...] = ()

    def entries(self, kind: str) -> dict[str, Entry]:
        """The winning entry of each name, sorted by name."""
        if kind not in self._entries:
            self._entries[kind] = entries(kind, self.folders)
        return self._entries[kind]

    @cached_property
    def _entries(self) -> dict[str, dict[str, Entry]]:
        """Entries by kind, looked for when first asked for."""
        return {}

    @cached_property
    def indices(self) -> dict[str, Index]:
        """What is written down of packaged cards, by kind; each is read once."""
        return {kind: Index(kind) for kind in KINDS}

    def hardware(self, name: str, where: Where | None = None) -> Loaded[Hardware]:
        """The accelerator of that name, alias or path."""
        return self._load("hardware", Hardware, name, where)

    def model(self, name: str, where: Where | None = None) -> Loaded[Model]:
        """The model of that name, alias or path."""
        return self._load("models", Model, name, where)

    def engine(self, name: str, where: Where | None = None) -> Loaded[Engine]:
        """The engine of that name, alias or path, completed by the one that it follows."""
        return completed(self.engine_alone(name, where), self.engine_alone)

    def engine_alone(self, name: str, where: Where | None = None) -> Loaded[Engine]:
        """The same with nothing but what its own file states."""
        return self._load("engines", Engine, name, where)

    def curve(self, name: str, where: Where | None = None) -> Loaded[Curve]:
        """The card of acceptance curves of that name, alias or path."""
        return self._load("curves", Curve, name, where)

    def curves(
        self, target: Model | None, wanted: Callable[[str, str], bool]
    ) -> list[Loaded[Curve]]:
        """The cards of curves measured with the target, or with any, of drafters whose kind and
        family are `wanted`.
        """
        return curves_of(self, target, wanted)

    def drafters(self, target: Model, wanted: Callable[[str, str], bool]) -> list[Loaded[Model]]:
        """The heads trained for the target of which the kind and the family are `wanted`."""
        return drafters_of(self, target, wanted)

    def kindred(
        self, target: Model, wanted: Callable[[str, str], bool]
    ) -> list[tuple[Loaded[Model], str]]:
        """The same of other models of its family and width, with the name of one of them."""
        return kindred_of(self, target, wanted)

    def every(self, cls: type[Card]) -> list[Loaded[Card]]:
        """All cards of a class by name that can be read."""
        return self.shelf(cls).cards

    def shelf(self, cls: type[Card]) -> Shelf[Card]:
        """All cards of a class: one that is broken does not take the others with it."""
        kind = _kind(cls)
        shelf: Shelf[Card] = Shelf([], [])
        for entry in self.entries(kind).values():
            try:
                shelf.cards.append(self.read(entry, cls))
            except SpecplanError as error:
                shelf.broken.append(error)
        return shelf

    def known(
        self, cls: type[Card], *, hidden: bool = False
    ) -> Iterator[tuple[Entry, Known | None]]:
        """Every entry of a class, or also those that it hides, with what is written down of its
        card.
        """
        kind = _kind(cls)
        for winner in self.entries(kind).values():
            for entry in _layers(winner) if hidden else (winner,):
                yield entry, self.indices[kind].find(entry)[1]

    def _load(self, kind: str, cls: type[Card], name: str, where: Where | None) -> Loaded[Card]:
        if cls is Model and (is_path(name) or name.endswith(".json")):
            refuse_config(name)
        if is_path(name):
            hub = HUB_NAME.fullmatch(name)
            if hub and not os.path.exists(name):  # noqa: PTH110 - False for a name too long
                return self._load(kind, cls, hub[1], where)
            if not name.endswith(SUFFIXES) and not os.path.exists(name):  # noqa: PTH110
                raise self._no_card(kind, cls, name, where)
            return self.read(Entry(Path(name).stem, Path(name), "path"), cls)
        wanted = name.lower()
        entry = self.entries(kind).get(wanted)
        if entry is None and re.match(NAME_PATTERN, wanted):
            entry = self._by_alias(kind, cls, wanted, where)
        if entry is None:
            raise self._no_card(kind, cls, name, where)
        return self.read(entry, cls)

    def read(self, entry: Entry, cls: type[Card]) -> Loaded[Card]:
        """The card of an entry, parsed."""
        document = read_file(entry.file, card_path(_kind(cls), entry))
        card = bind(document, cls)
        agree(card, entry.name, document)
        origin = Origin(path=document.name, sha256=document.sha256, layer=entry.layer)
        return Loaded(card, origin, document, entry.hides)

    def _by_alias(
        self, kind: str, cls: type[Card], alias: str, where: Where | None
    ) -> Entry | None:
        """The entry of the only name with that alias. Opened are the packaged cards that the index
        names for it, or all where none of them has it, and those of the user; parsed only what
        holds it as text.

        A card keeps the aliases of those that it hides: it takes their place.
        """
        text = re.compile(rb"(?<![\w.-])" + re.escape(alias.encode()) + rb"(?![\w.-])")

        def calling(layers: Iterable[Entry]) -> set[str]:
            return {one.name for one in layers if self._calls(kind, one, cls, alias, text)}

        winners = self.entries(kind)
        every = [layer for entry in winners.values() for layer in _layers(entry)]
        ours = [layer for layer in every if layer.layer == PACKAGED]
        known = self.indices[kind].called(alias)
        named = calling(one for one in ours if one.name in known) or calling(ours)
        named |= calling(one for one in every if one.layer != PACKAGED)
        found = [entry for name, entry in winners.items() if name in named]
        if len(found) > 1:
            cards = " and ".join(
                f"{entry.name} ({card_path(_kind(cls), entry)})" for entry in found[:2]
            )
            raise InputError(
                f"'{alias}' is an alias of {len(found)} cards: {cards}",
                where=where,
                hint="write a name",
            )
        return found[0] if found else None

    def _calls(
        self, kind: str, entry: Entry, cls: type[Card], alias: str, text: re.Pattern[bytes]
    ) -> bool:
        """Whether a card that can be read has the alias."""
        with suppress(SpecplanError):
            if text.search(first_bytes(entry.file, MAX_BYTES)):
                return alias in self._aliases(kind, entry, cls)
        return False

    def _aliases(self, kind: str, entry: Entry, cls: type[Card]) -> tuple[str, ...]:
        """The other names of a card, which is parsed only where nothing is written down of it."""
        _, known = self.indices[kind].find(entry)
        return known.aliases if known else self.read(entry, cls).card.aliases

    def _no_card(self, kind: str, cls: type[Card], name: str, where: Where | None) -> UnknownName:
        """The error for a name of no card; a broken one may be what was meant."""
        aliases: list[str] = []
        unread: list[SpecplanError] = []
        for entry in self.entries(kind).values():
            try:
                aliases += self._aliases(kind, entry, cls)
            except SpecplanError as broken:
                unread.append(broken)
        error = unknown(
            _WORDS[kind],
            name,
            self.entries(kind),
            also=aliases,
            where=where,
            hint=f"specplan {kind} list shows all",
        )
        if file := file_called(name):
            error.expected, error.hint = "", f"did you mean {file}?"
        if unread:
            places = [str(broken.where) for broken in unread[:_NAMED_BROKEN]]
            more = len(unread) - len(places)
            named = ", ".join(places) + (f" and {more} more" if more else "")
            error.what += f"; could not be read: {named}"
        return error


def completed(
    loaded: Loaded[Engine], lend: Callable[[str, Where], Loaded[Engine]]
) -> Loaded[Engine]:
    """The engine with what it does not state taken from the one that it follows, and so on; `lend`
    finds those by name.
    """
    chain = [loaded]
    while (followed := chain[-1].card.follows) is not None:
        base = lend(followed, _follows(chain[-1]))
        if base.origin.path in {one.origin.path for one in chain}:
            names = " follows ".join(one.card.name for one in (*chain, base))
            hint = "let one of them stand on its own"
            raise InputError(f"a circle: {names}", where=_follows(loaded), hint=hint)
        chain.append(base)
    card = chain[-1].card
    for one in reversed(chain[:-1]):
        with placed(_follows(one)):
            card = following(one.card, card)
    return replace(loaded, card=card)


def _follows(loaded: Loaded[Engine]) -> Where:
    """Where a card names the engine that it follows."""
    return loaded.document.where(("follows",))


def _kind(cls: type[object]) -> str:
    """The folder that cards of this class lie in."""
    return next(kind for kind, of in KINDS.items() if of is cls)


def _layers(entry: Entry) -> Iterator[Entry]:
    """The entry and those that it hides."""
    layer: Entry | None = entry
    while layer is not None:
        yield layer
        layer = layer.hides


def is_path(text: str) -> bool:
    """Whether a card is asked for by file rather than by name."""
    return text.endswith(SUFFIXES) or "/" in text or os.sep in text
