"""The only place that opens a file for writing: whole or not at all."""

from __future__ import annotations

import os
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
    renamed; the mode is what the umask gives, or that of the file replaced.
    """
    target = Path(os.path.realpath(path))
    temporary = ""
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        Path(temporary).chmod(_mode(target))
        Path(temporary).replace(target)
    except OSError as error:
        _discard(temporary)
        raise OutputError(
            f"cannot write {visible(str(path), 200)}: {error.strerror or type(error).__name__}"
        ) from error
    except BaseException:
        _discard(temporary)
        raise


def _mode(target: Path) -> int:
    if target.exists():
        return target.stat().st_mode & 0o777
    umask = os.umask(0)
    os.umask(umask)
    return 0o666 & ~umask


def _discard(temporary: str) -> None:
    if temporary:
        with suppress(OSError):
            Path(temporary).unlink()
