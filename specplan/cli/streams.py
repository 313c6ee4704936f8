"""What is said on stderr: it never changes what a command answers, even if nobody can read it."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TextIO

from specplan.visible import visible


def say(line: str) -> None:
    """One line on stderr, or nothing if it is full or closed."""
    try:
        sys.stderr.write(f"specplan: {visible(line)}\n")
        sys.stderr.flush()
    except OSError:
        silence(sys.stderr)


def silence(stream: TextIO) -> None:
    """Gives what the stream still holds, and all that follows, to nobody: the interpreter flushes
    the streams when it ends, and would turn a failure into an exit code of its own.
    """
    with suppress(OSError, ValueError):
        nobody = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nobody, stream.fileno())
        os.close(nobody)
