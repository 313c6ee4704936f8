"""How a name finds its card. Only the cards that are named are parsed."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Generic, TypeVar

from specplan.catalogue.compose import MAX_BYTES
from specplan.catalogue.folders import (
    PACKAGED,
    SUFFIXES,
    Entry,
    Folder,
    entries,
    first_bytes,
    shown_path,
)
from specplan.catalogue.read import Document, read_file
from specplan.catalogue.schema import bind
from specplan.domain.card import NAME_PATTERN, Origin
from specplan.domain.hardware import Hardware
from specplan.domain.model import AGREEMENT, Model
from specplan.errors import InputError, UnknownName, Where, unknown
from specplan.visible import visible

KINDS: dict[str, type[Hardware | Model]] = {"hardware": Hardware, "models": Model}

_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/([A-Za-z0-9](?:[\w.-]*[\w-])?)(?<!\.yaml)(?<!\.yml)")

Card = TypeVar("Card", bound=Hardware | Model)


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
        hidden = self.hides
        while hidden is not None and hidden.layer != PACKAGED:
            hidden = hidden.hides
        return hidden is not None


@dataclass(frozen=True)
class Catalogue:
    """Every card that can be named, packaged and the user's."""

    folders: tuple[Folder, ...] = ()

    def entries(self, kind: str) -> dict[str, Entry]:
        """The winning entry of each name, sorted by name."""
        return self._hardware if kind == "hardware" else self._models

    @cached_property
    def _hardware(self) -> dict[str, Entry]:
        return entries("hardware", self.folders)

    @cached_property
    def _models(self) -> dict[str, Entry]:
        return entries("models", self.folders)

    def hardware(self, name: str, where: Where | None = None) -> Loaded[Hardware]:
        """The accelerator of that name, alias or path."""
        return self._load("hardware", Hardware, name, where)

    def model(self, name: str, where: Where | None = None) -> Loaded[Model]:
        """The model of that name, alias or path."""
        return self._load("models", Model, name, where)

    def every(self, cls: type[Card]) -> list[Loaded[Card]]:
        """All cards of a class by name; the first broken one is an InputError."""
        kind = next(kind for kind, of in KINDS.items() if of is cls)
        return [self._read(entry, cls) for entry in self.entries(kind).values()]

    def _load(self, kind: str, cls: type[Card], name: str, where: Where | None) -> Loaded[Card]:
        if is_path(name):
            hub = _HUB_NAME.fullmatch(name)
            if hub and not Path(name).exists():
                return self._load(kind, cls, hub[1], where)
            if not name.endswith(SUFFIXES) and not Path(name).exists():
                raise self._no_card(kind, cls, name, where)
            return self._read(Entry(Path(name).stem, Path(name), "path"), cls)
        wanted = name.lower()
        entries = self.entries(kind)
        entry = entries.get(wanted)
        if entry is not None:
            return self._read(entry, cls)
        alias = self._by_alias(kind, cls, wanted) if re.match(NAME_PATTERN, wanted) else None
        if alias is not None:
            return alias
        raise self._no_card(kind, cls, name, where)

    def _read(self, entry: Entry, cls: type[Card]) -> Loaded[Card]:
        shown = shown_path(entry.file)
        if entry.layer == PACKAGED:  # where specplan lies is nobody's business
            shown = f"{'hardware' if cls is Hardware else 'models'}/{entry.file.name}"
        document = read_file(entry.file, shown)
        card = bind(document, cls)
        if card.name != entry.name:
            raise _misnamed(card.name, entry.name, document)
        if isinstance(card, Model):
            _agree(card, document)
        origin = Origin(path=document.name, sha256=document.sha256, layer=entry.layer)
        return Loaded(card, origin, document, entry.hides)

    def _by_alias(self, kind: str, cls: type[Card], alias: str) -> Loaded[Card] | None:
        """Parses only the files that hold the alias as text; the last folder's card wins."""
        rank = {folder.layer: i for i, folder in enumerate(self.folders)}
        entries = sorted(self.entries(kind).values(), key=lambda e: -rank.get(e.layer, -1))
        for entry in entries:
            if alias.encode() in first_bytes(entry.file, MAX_BYTES):
                loaded = self._read(entry, cls)
                if alias in loaded.card.aliases:
                    return loaded
        return None

    def _no_card(self, kind: str, cls: type[Card], name: str, where: Where | None) -> UnknownName:
        aliases: list[str] = []
        for entry in self.entries(kind).values():
            with suppress(InputError):  # a broken card has no say in what was meant
                aliases.extend(self._read(entry, cls).card.aliases)
        word = "hardware" if kind == "hardware" else "model"
        listing = f"specplan {kind} list shows all"
        names = self.entries(kind)
        return unknown(word, name, names, also=aliases, where=where, hint=listing)


def is_path(text: str) -> bool:
    """Whether a card is asked for by file rather than by name."""
    return text.endswith(SUFFIXES) or "/" in text or os.sep in text


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
        )
