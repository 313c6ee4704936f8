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
SUFFIXES = (".yaml", ".yml")
_HEAD_BYTES = 65_536
_HEADER = re.compile(rb"^(?:\xef\xbb\xbf)?[\"']?schema[\"']?[ ]*:[ ]*[\"']?([a-z-]+)", re.MULTILINE)
_KIND_OF = {
    b"hardware": "hardware",
    b"model": "models",
    b"models": "models",
    b"engine": "engines",
    b"engines": "engines",
    b"curve": "curves",
    b"curves": "curves",
}
_OTHERS = (b"plan", b"lock")
_KEYS_OF = {  # what only a card of that kind has at its top
    "hardware": re.compile(rb"^(?:rates|bandwidth|memory_basis):", re.MULTILINE),
    "models": re.compile(rb"^(?:matmul_params|kv_bytes_per_token|architecture):", re.MULTILINE),
    "engines": re.compile(rb"^(?:kernels|releases|follows|stand_in):", re.MULTILINE),
    "curves": re.compile(rb"^(?:series|drafter):", re.MULTILINE),
}


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


def recordings() -> dict[str, Path]:
    """The recorded traffics that ship with specplan, by name."""
    folder = Path(str(packaged("traffic")))
    return {file.stem: file for file in sorted(folder.glob("*.csv"))}


def user_folders(extra: Sequence[str] = ()) -> list[Folder]:
    """The user's folders, later ones winning. A folder named by hand must exist."""
    found = [
        Folder(path, layer)
        for path, layer in (
            (platformdirs.user_data_path("specplan", appauthor=False), "user"),
            (Path("specplan.d"), "./specplan.d"),
        )
        if os.path.isdir(path)  # noqa: PTH112 - False where it may not look
    ]
    listed = [p for p in os.environ.get("SPECPLAN_CATALOGUE", "").split(os.pathsep) if p]
    named = [(p, "SPECPLAN_CATALOGUE") for p in listed] + [(p, "--catalogue") for p in extra]
    for text, option in named:
        if not os.path.isdir(text):  # noqa: PTH112 - so that there is one message
            raise InputError(f"no folder '{visible(text, 60)}'", where=Where(option))
        found.append(Folder(Path(text), text))
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
    try:
        files = sorted(folder.iterdir(), key=lambda f: f.name) if folder.is_dir() else []
        for file in files:
            stem, dot, suffix = file.name.rpartition(".")
            named = dot + suffix in SUFFIXES and not stem.startswith(("_", "."))
            if named and file.is_file():
                yield stem, file
    except OSError as error:  # a card that cannot be seen may be one that overrides
        raise _unreadable(folder, error) from error


def _flat(folder: Traversable, kind: str) -> Iterator[tuple[str, Traversable]]:
    """Cards that lie directly in a user's folder, told apart by their header.

    So that none is passed over in silence, a header of any version counts, then the keys of a file
    that says no kind of ours; and a file that cannot be read may be a card of any kind.
    """
    for stem, file in _cards(folder):
        try:
            head = first_bytes(file, _HEAD_BYTES)
        except InputError:
            yield stem, file
            continue
        header = _HEADER.search(head)
        said = header.group(1) if header else b""
        if said in _KIND_OF:
            ours = _KIND_OF[said] == kind
        else:
            ours = said not in _OTHERS and bool(_KEYS_OF[kind].search(head))
        if ours:
            yield stem, file


def first_bytes(file: Traversable, limit: int) -> bytes:
    """The first bytes of a file, to see whether it is worth parsing."""
    try:
        with file.open("rb") as opened:
            return opened.read(limit)
    except OSError as error:
        raise _unreadable(file, error) from error


def _unreadable(file: Traversable, error: OSError) -> InputError:
    reason = error.strerror or type(error).__name__
    return InputError(f"cannot be read: {reason}", where=Where(visible(shown_path(file))))


def card_path(kind: str, entry: Entry) -> str:
    """A card's file as messages call it; where specplan itself lies is nobody's business."""
    if entry.layer == PACKAGED:
        return f"{kind}/{entry.file.name}"
    return shown_path(entry.file)


def shown_path(file: Traversable) -> str:
    """A path as people know it: relative to where they stand if it lies below."""
    path = Path(str(file))
    try:
        return str(path.relative_to(Path.cwd()))
    except (ValueError, OSError):  # it lies elsewhere, or where they stand is gone
        return str(path)


def file_called(name: str) -> str:
    """The file where they stand that has the name of a card that no folder has; or nothing."""
    paths = (f"{name}{suffix}" for suffix in SUFFIXES)
    found = next((path for path in paths if os.path.isfile(path)), "")  # noqa: PTH113 - too long
    bare = found == os.path.basename(found)  # noqa: PTH119 - text, no path yet
    return visible(f"./{found}" if found and bare else found, 60)
