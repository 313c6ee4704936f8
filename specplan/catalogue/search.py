"""Which files are to be checked: those named, and YAML in folders whose first key is `schema:`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from specplan.errors import InputError, Where
from specplan.visible import visible

SUFFIXES = (".yaml", ".yml")
HEAD_BYTES = 65_536
_PASSED_OVER = ("node_modules", "__pycache__", "site-packages")
# Comments, blank lines and a document marker may come before the first key. Other programs have
# files that begin with `schema:` too; what ours say of themselves is a kind, mostly a version.
_OURS = re.compile(
    rb"\A(?:\xef\xbb\xbf)?(?:[ ]*(?:#[^\n]*)?\r?\n|---[ ]*\r?\n)*"
    rb"[\"']?schema[\"']?[ ]*:[ ]*[\"']?(?:(?:plan|hardware|model)\b|[a-z-]+/[0-9]+)"
)


def search(paths: Sequence[Path]) -> Iterator[Path | InputError]:
    """Each file once, folders in order of name; or why a file or folder cannot be looked at.

    Hidden folders, environments and folders behind symbolic links are left alone, as are files
    whose name begins with a dot or an underscore.
    """
    seen: set[Path] = set()
    for path in paths:
        here = _from_here(path)
        is_folder = os.path.isdir(here)  # noqa: PTH112 - False for a name too long
        found: Iterator[Path | InputError] = _in_folder(here) if is_folder else iter((here,))
        for item in found:
            if isinstance(item, InputError):
                yield item
            elif (real := Path(os.path.realpath(item))) not in seen:  # a loop is its own place
                seen.add(real)
                yield item


def _from_here(path: Path) -> Path:
    """The path relative to the current folder if it lies below."""
    if path.is_absolute():
        with suppress(OSError):  # where they stand is gone
            here = Path.cwd()
            return path.relative_to(here) if path.is_relative_to(here) else path
    return path


def _in_folder(folder: Path) -> Iterator[Path | InputError]:
    closed: list[OSError] = []
    for place, folders, files in os.walk(folder, onerror=closed.append):
        folders[:] = sorted(name for name in folders if not _passed_over(Path(place, name)))
        for name in sorted(files):
            path = Path(place, name)
            if name.endswith(SUFFIXES) and not name.startswith((".", "_")) and _is_file(path):
                yield from _if_ours(path)
    yield from (_closed(Path(error.filename), error) for error in closed)


def _is_file(path: Path) -> bool:
    return os.path.isfile(path)  # noqa: PTH113 - False where it may not look


def _passed_over(folder: Path) -> bool:
    hidden = folder.name.startswith(".") or folder.name in _PASSED_OVER
    return hidden or os.path.exists(folder / "pyvenv.cfg")  # noqa: PTH110 - False where it may not look


def _if_ours(path: Path) -> Iterator[Path | InputError]:
    try:
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError as error:
        yield _closed(path, error)
        return
    if _OURS.match(head):
        yield path


def _closed(path: Path, error: OSError) -> InputError:
    reason = error.strerror or type(error).__name__
    return InputError(f"cannot be read: {reason}", where=Where(visible(str(path))))
