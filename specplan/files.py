"""The only place that opens a file for writing: whole or not at all."""

from __future__ import annotations

import os
import secrets
import signal
import stat
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, BinaryIO, TextIO, cast

from specplan.errors import OutputError
from specplan.visible import visible

_ENDINGS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


@contextmanager
def writing(path: Path) -> Iterator[TextIO]:
    """A UTF-8 text file that replaces `path` when the block ends well and vanishes otherwise.

    Written beside its target (through a symbolic link, beside what it points to), synced, then
    renamed; the mode is what the umask gives, or that of the file replaced. A pipe or device
    cannot be replaced and is written to.
    """
    with _whole(path, "", encoding="utf-8", newline="") as out:
        yield cast("TextIO", out)


@contextmanager
def writing_bytes(path: Path) -> Iterator[BinaryIO]:
    """The same of bytes."""
    with _whole(path, "b") as out:
        yield cast("BinaryIO", out)


@contextmanager
def _whole(path: Path, kind: str, **how: str) -> Iterator[IO[Any]]:
    try:
        with _opened(path, kind, how) as out:
            yield out
    except OSError as error:
        raise OutputError(
            f"cannot write {visible(str(path), 200)}: {error.strerror or type(error).__name__}"
        ) from error


@contextmanager
def _opened(path: Path, kind: str, how: Mapping[str, Any]) -> Iterator[IO[Any]]:
    mode = _mode(path)
    if mode is not None and not stat.S_ISREG(mode):
        with path.open(f"w{kind}", **how) as out:  # a folder refuses
            yield out
        return
    target = Path(os.path.realpath(path))
    # Named before it is made: there is no moment at which an interruption would leave it behind.
    temporary = target.parent / f".specplan-{secrets.token_hex(8)}"
    with _ending_late():
        try:
            with open(temporary, f"x{kind}", opener=_private, **how) as out:
                yield out
                out.flush()
                os.fsync(out.fileno())
            temporary.chmod(stat.S_IMODE(mode) & 0o777 if mode is not None else 0o666 & ~_umask())
            temporary.replace(target)
        except BaseException:
            with suppress(OSError):
                temporary.unlink()
            raise


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


class _EndingError(BaseException):
    """A signal that ends the process has come while a file was being written."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextmanager
def _ending_late() -> Iterator[None]:
    """Signals that would end the process at once do so when the block has cleaned up."""
    if threading.current_thread() is not threading.main_thread():  # only it may set handlers
        yield
        return
    ours = [number for number in _ENDINGS if signal.getsignal(number) is signal.SIG_DFL]
    try:
        try:
            for number in ours:
                signal.signal(number, _end)
            yield
        finally:
            for number in ours:
                signal.signal(number, signal.SIG_DFL)
    except _EndingError as ending:
        signal.signal(ending.number, signal.SIG_DFL)
        signal.raise_signal(ending.number)
        raise


def _end(number: int, frame: object) -> None:  # noqa: ARG001 - handlers are called with both
    signal.signal(number, signal.SIG_IGN)  # a second one may not disturb the cleaning up
    raise _EndingError(number)


def _mode(path: Path) -> int | None:
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        return None


def _umask() -> int:
    umask = os.umask(0)
    os.umask(umask)
    return umask
