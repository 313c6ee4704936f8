"""Where cards lie and which of two wins, by file names alone: completion runs this at every Tab.

Folders in rising precedence: packaged, the user's directory, ./specplan.d, SPECPLAN_CATALOGUE,
--catalogue.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import platformdirs

from specplan.errors import InputError, Where
from specplan.visible import visible

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

PACKAGED = "packaged"
HEADERS = {"hardware": "hardware/1", "models": "model/1"}
SUFFIXES = (".yaml", ".yml")
_HEADER = re.compile(rb"^(?:\xef\xbb\xbf)?schema:[ ]*[\"']?([a-z-]+/\d+)", re.MULTILINE)


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


def entries(kind: str, folders: Sequence[Folder]) -> dict[str, Entry]:
    """The winning entry of each name, sorted by name."""
    found = {stem: Entry(stem, file, PACKAGED) for stem, file in _cards(packaged(kind))}
    for folder in folders:
        for stem, file in (*_flat(folder.path, kind), *_cards(folder.path.joinpath(kind))):
            found[stem] = Entry(stem, file, folder.layer, found.get(stem))
    return dict(sorted(found.items()))


def _cards(folder: Traversable) -> Iterator[tuple[str, Traversable]]:
    """Card files of a folder by name; a name starting with an underscore is a template."""
    if folder.is_dir():
        for file in sorted(folder.iterdir(), key=lambda f: f.name):
            stem, dot, suffix = file.name.rpartition(".")
            named = dot + suffix in SUFFIXES and not stem.startswith(("_", "."))
            if named and file.is_file():
                yield stem, file


def _flat(folder: Traversable, kind: str) -> Iterator[tuple[str, Traversable]]:
    """Cards that lie directly in a user's folder, told apart by their header."""
    for stem, file in _cards(folder):
        header = _HEADER.search(first_bytes(file, 4096))
        if header and header.group(1).decode() == HEADERS[kind]:
            yield stem, file


def first_bytes(file: Traversable, limit: int) -> bytes:
    """The first bytes of a file, to see whether it is worth parsing."""
    try:
        with file.open("rb") as opened:
            return opened.read(limit)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        where = Where(visible(shown_path(file)))
        raise InputError(f"cannot be read: {reason}", where=where) from error


def shown_path(file: Traversable) -> str:
    """A path as people know it: relative to where they stand if it lies below."""
    path = Path(str(file))
    try:
        return str(path.relative_to(Path.cwd()))
    except (ValueError, OSError):  # it lies elsewhere, or where they stand is gone
        return str(path)
