"""specplan as tests type it: in this process, in another one, or on a terminal."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import termios
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import typer

import specplan
from specplan.cli.app import app
from specplan.cli.run import run

ROOT = Path(specplan.__file__).parents[1]
OUTSIDE = ("NO_COLOR", "FORCE_COLOR", "GITHUB_ACTIONS", "SPECPLAN_CATALOGUE", "PYTHONIOENCODING")
"""Variables of whoever runs the tests that change what specplan prints."""

ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Said(NamedTuple):
    """What a command answered."""

    code: int
    out: str
    err: str


def answered(capsys: Any, words: Sequence[str]) -> Said:
    """The command run in this process."""
    capsys.readouterr()
    code = run(list(words))
    return Said(code, *capsys.readouterr())


def one_line(said: Said) -> str:
    """The only line of an error."""
    assert said.out == ""
    assert said.err.startswith("specplan: ")
    assert said.err.count("\n") == 1
    assert said.err.endswith("\n")
    return said.err.removeprefix("specplan: ").rstrip("\n")


def environment(home: Path, **more: str) -> dict[str, str]:
    """Variables for a process of its own, without any that change what is printed."""
    kept = {name: value for name, value in os.environ.items() if name not in OUTSIDE}
    own = {"PYTHONPATH": str(ROOT), "XDG_DATA_HOME": str(home), "COLUMNS": "80", "TERM": "xterm"}
    return kept | own | more


def started(words: Sequence[str], folder: Path, **options: Any) -> subprocess.Popen[str]:
    """The command in a process of its own, standing in `folder`."""
    variables: Mapping[str, str] = options.pop("variables", {})
    return subprocess.Popen(
        [sys.executable, "-m", "specplan", *words],
        cwd=folder,
        env=environment(folder, **variables),
        text=True,
        **({"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options),
    )


def finished(words: Sequence[str], folder: Path, **options: Any) -> Said:
    """The command run to its end in a process of its own."""
    with started(words, folder, **options) as process:
        out, err = process.communicate(timeout=120)
    return Said(process.returncode, out or "", err or "")


@contextmanager
def terminal(columns: int | None = None) -> Iterator[tuple[TextIO, list[str]]]:
    """A stream that is a terminal, as wide as told; what was written to it is in the list
    afterwards.
    """
    keyboard, screen = pty.openpty()
    if columns is not None:
        termios.tcsetwinsize(screen, (50, columns))
    shown: list[str] = []
    with os.fdopen(screen, "w", encoding="utf-8") as stream:
        yield stream, shown
        stream.flush()
        os.set_blocking(keyboard, False)
        shown.append(_drained(keyboard))
    os.close(keyboard)


def _drained(keyboard: int) -> str:
    read = b""
    while True:
        try:
            piece = os.read(keyboard, 65_536)
        except BlockingIOError:
            return read.decode().replace("\r\n", "\n")
        read += piece


def on_terminal(words: Sequence[str], folder: Path, columns: int, **variables: str) -> str:
    """What a process of its own writes to a terminal so many columns wide."""
    keyboard, screen = pty.openpty()
    termios.tcsetwinsize(screen, (50, columns))
    streams = {"stdin": subprocess.DEVNULL, "stdout": screen, "stderr": subprocess.DEVNULL}
    with started(words, folder, variables=variables, **streams) as process:
        os.close(screen)
        read = b""
        while piece := _piece(keyboard):
            read += piece
        assert process.wait(timeout=60) == 0
    os.close(keyboard)
    return read.decode().replace("\r\n", "\n")


def _piece(keyboard: int) -> bytes:
    """What comes next; nothing when all who wrote have closed their end."""
    try:
        return os.read(keyboard, 65_536)
    except OSError:  # as Linux says it
        return b""


def commands() -> dict[str, Any]:
    """Every command as typer knows it, by the words that are typed: `hardware list`."""
    return dict(_leaves(typer.main.get_command(app), ""))


def _leaves(group: Any, typed: str) -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        words = f"{typed} {name}".strip()
        if hasattr(command, "commands"):
            yield from _leaves(command, words)
        else:
            yield words, command
