"""The only place that opens a file for writing: whole or not at all."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from specplan.errors import OutputError
from specplan.visible import visible


@contextmanager
def writing(path: Path) -> Iterator[TextIO]:
    """A UTF-8 text file that replaces `path` when the block ends well and vanishes otherwise.

    Written beside its target (through a symbolic link, beside what it points to), synced, then
    renamed; the mode is what the umask gives, or that of the file replaced. A pipe or device
    cannot be replaced and is written to.
    """
    try:
        with _opened(path) as out:
            yield out
    except OSError as error:
        raise OutputError(
            f"cannot write {visible(str(path), 200)}: {error.strerror or type(error).__name__}"
        ) from error


@contextmanager
def _opened(path: Path) -> Iterator[TextIO]:
    mode = _mode(path)
    if mode is not None and not stat.S_ISREG(mode):
        with path.open("w", encoding="utf-8", newline="") as out:  # a folder refuses
            yield out
        return
    target = Path(os.path.realpath(path))
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=".specplan-")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        temporary.chmod(stat.S_IMODE(mode) & 0o777 if mode is not None else 0o666 & ~_umask())
        temporary.replace(target)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def _mode(path: Path) -> int | None:
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        return None


def _umask() -> int:
    umask = os.umask(0)
    os.umask(umask)
    return umask
