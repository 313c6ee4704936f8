"""Where cards lie, which of two wins, and how a name finds one.

Folders in rising precedence: packaged, the user's directory, ./specplan.d, SPECPLAN_CATALOGUE,
--catalogue. Only the cards that are named are parsed; listing names looks at file names alone.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

import platformdirs

from specplan.catalogue.compose import MAX_BYTES
from specplan.catalogue.read import Document, read_file
from specplan.catalogue.schema import bind
from specplan.domain.card import NAME_PATTERN, Origin
from specplan.domain.hardware import Hardware
from specplan.domain.model import Model
from specplan.errors import InputError, UnknownName, Where, unknown
from specplan.units import significant
from specplan.visible import visible

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

KINDS: dict[str, type[Hardware | Model]] = {"hardware": Hardware, "models": Model}
PACKAGED = "packaged"
HEADERS = {"hardware": "hardware/1", "models": "model/1"}
_SUFFIXES = (".yaml", ".yml")
_HEADER = re.compile(rb"^schema:[ ]*[\"']?([a-z-]+/\d+)", re.MULTILINE)

Card = TypeVar("Card", bound=Hardware | Model)


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder of cards; `layer` says in words whose it is."""

    path: Traversable
    layer: str


@dataclass(frozen=True, slots=True)
class Entry:
    """A card's file, not yet read; `hides` is the entry of the same name that it overrides."""

    name: str
    file: Traversable
    layer: str
    hides: Entry | None = None


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


def packaged(kind: str) -> Traversable:
    """The folder of cards that ships with specplan: in a wheel or zip, or beside the package.

    A checkout's pyproject.toml tells its folder from some other project's of that name.
    """
    inside = files("specplan").joinpath("_data", kind)
    if inside.is_dir():
        return inside
    checkout = Path(__file__).resolve().parents[2]
    if (checkout / "pyproject.toml").is_file() and (checkout / kind).is_dir():
        return checkout / kind
    raise InputError(f"specplan's own {kind} folder is missing", hint="reinstall specplan")


def user_folders(extra: Sequence[str] = ()) -> list[Folder]:
    """The user's folders, later ones winning. A folder named by hand must exist."""
    found = [
        Folder(path, layer)
        for path, layer in (
            (platformdirs.user_data_path("specplan", appauthor=False), "user"),
            (Path("specplan.d"), "./specplan.d"),
        )
        if path.is_dir()
    ]
    listed = [p for p in os.environ.get("SPECPLAN_CATALOGUE", "").split(os.pathsep) if p]
    named = [(p, "SPECPLAN_CATALOGUE") for p in listed] + [(p, "--catalogue") for p in extra]
    for text, option in named:
        path = Path(text)
        if not path.is_dir():
            raise InputError(f"no folder '{text[:60]}'", where=Where(option))
        found.append(Folder(path, text))
    return found


@dataclass(frozen=True)
class Catalogue:
    """Every card that can be named, packaged and the user's."""

    folders: tuple[Folder, ...] = ()

    def entries(self, kind: str) -> dict[str, Entry]:
        """The winning entry of each name, sorted by name."""
        return self._hardware if kind == "hardware" else self._models

    @cached_property
    def _hardware(self) -> dict[str, Entry]:
        return self._collect("hardware")

    @cached_property
    def _models(self) -> dict[str, Entry]:
        return self._collect("models")

    def _collect(self, kind: str) -> dict[str, Entry]:
        found = {stem: Entry(stem, file, PACKAGED) for stem, file in _cards(packaged(kind))}
        for folder in self.folders:
            for stem, file in (
                *_flat(folder.path, kind),
                *_cards(folder.path.joinpath(kind)),
            ):
                found[stem] = Entry(stem, file, folder.layer, found.get(stem))
        return dict(sorted(found.items()))

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
            if not name.endswith(_SUFFIXES) and not Path(name).exists():
                # vendor/Model-Name, as model hubs write it
                raise self._no_card(kind, cls, name.rpartition("/")[2], where)
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
        document = read_file(entry.file, _shown(entry.file))
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
            if alias.encode() in _bytes(entry.file, MAX_BYTES):
                loaded = self._read(entry, cls)
                if alias in loaded.card.aliases:
                    return loaded
        return None

    def _no_card(self, kind: str, cls: type[Card], name: str, where: Where | None) -> UnknownName:
        names = list(self.entries(kind))
        for entry in self.entries(kind).values():
            with suppress(InputError):  # a broken card has no say in what was meant
                names.extend(self._read(entry, cls).card.aliases)
        word = "hardware" if kind == "hardware" else "model"
        listing = f"specplan {kind} list shows all"
        return unknown(word, name, names, where=where, hint=listing)


def is_path(text: str) -> bool:
    """Whether a card is asked for by file rather than by name."""
    return text.endswith(_SUFFIXES) or "/" in text or os.sep in text


def _cards(folder: Traversable) -> Iterator[tuple[str, Traversable]]:
    """Card files of a folder by name; a name starting with an underscore is a template."""
    if folder.is_dir():
        for file in sorted(folder.iterdir(), key=lambda f: f.name):
            stem, dot, suffix = file.name.rpartition(".")
            named = dot + suffix in _SUFFIXES and not stem.startswith(("_", "."))
            if named and file.is_file():
                yield stem, file


def _flat(folder: Traversable, kind: str) -> Iterator[tuple[str, Traversable]]:
    """Cards that lie directly in a user's folder, told apart by their header."""
    for stem, file in _cards(folder):
        header = _HEADER.search(_bytes(file, 4096))
        if header and header.group(1).decode() == HEADERS[kind]:
            yield stem, file


def _bytes(file: Traversable, limit: int) -> bytes:
    """The first bytes of a file, to see whether it is worth parsing."""
    try:
        with file.open("rb") as opened:
            return opened.read(limit)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        where = Where(visible(_shown(file)))
        raise InputError(f"cannot be read: {reason}", where=where) from error


def _shown(file: Traversable) -> str:
    """A path as people know it: relative to where they stand if it lies below."""
    path = Path(str(file))
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)


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
            f"{wrong.key} {wrong.stated:g} is {abs(wrong.relative):.1%} "
            f"{'above' if wrong.relative > 0 else 'below'} what the architecture gives",
            where=document.where((wrong.key,)),
            expected=f"{significant(wrong.derived, 6)} within 0.5 %",
        )
