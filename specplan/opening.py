"""Regular files of others, opened for reading without ever waiting on a pipe or a device."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from specplan.errors import InputError, Where
from specplan.visible import visible

_SHOWN = 200


def place(path: Path, line: int = 0, column: int = 0) -> Where:
    """A place in a file, its name made safe to print."""
    return Where(visible(str(path), _SHOWN), line, column)


def is_folder(path: Path) -> bool:
    """Whether it is a folder; False where nobody may look."""
    return os.path.isdir(path)  # noqa: PTH112 - pathlib raises for names that are too long


def exists(path: Path) -> bool:
    """Whether something of that name is there; False where nobody may look."""
    return os.path.exists(path)  # noqa: PTH110 - pathlib raises for names that are too long


@contextmanager
def opened(path: Path, wanted: str) -> Iterator[tuple[BinaryIO, int]]:
    """A regular file and its size in bytes; `wanted` says what it was expected to be.

    What fails while the block reads it is an InputError as well.
    """
    with _opened(path, wanted) as file:
        try:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise InputError("not a regular file", where=place(path), expected=wanted)
            yield file, status.st_size
        except OSError as error:
            raise _unreadable(path, error.strerror) from error


def _opened(path: Path, wanted: str) -> BinaryIO:
    try:
        return open(path, "rb", opener=_unblocked)
    except IsADirectoryError as error:
        raise InputError("is a folder", where=place(path), expected=wanted) from error
    except FileNotFoundError as error:
        raise InputError("no such file", where=place(path), expected=wanted) from error
    except OSError as error:
        raise _unreadable(path, error.strerror) from error
    except ValueError as error:  # a NUL in it
        raise _unreadable(path, "not a file name") from error


def _unreadable(path: Path, reason: str | None) -> InputError:
    return InputError(f"cannot be read: {reason or 'an error'}", where=place(path))


def _unblocked(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
