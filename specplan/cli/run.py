"""Runs the program: every failure becomes one line on stderr and one exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress

from specplan.errors import SpecplanError
from specplan.visible import visible

TRY = """\
specplan: does speculative decoding pay, here?

  specplan sweep                     the speedup table (Llama-3-8B on one H100)
  specplan best-k -t llama-3-8b -d llama-3.2-1b -g h100 -a 0.8     which k, by what margin
  specplan memory -t llama-3-8b -d llama-3.2-1b -g h100            what the drafter costs
  specplan gate -t llama-3-8b -d llama-3.2-1b -g h100 -a 0.8       up to which load it pays
  specplan init plan.yaml            a plan that `specplan check` guards in CI

All commands: specplan --help.  What it knows: specplan hardware list.
"""
INSTEAD = {
    "help": "write specplan COMMAND --help",
    "plot": "pictures come later; write specplan sweep",
    "validate": "write specplan check PLAN",
    "bestk": "write specplan best-k",
}
BUG, INTERRUPTED, CLOSED = 3, 130, 141


def run(arguments: Sequence[str]) -> int:
    """The exit code of a command line: 0, 1 the answer is no, 2 bad input, 3 a bug, 130, 141."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    if not arguments:
        sys.stdout.write(TRY)
        return 2
    try:
        return _answer(arguments)
    except SpecplanError as error:
        if "--debug" in arguments:
            raise
        _say(str(error))
        return error.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        if "--debug" in arguments:
            raise
        if type(error).__name__ == "ClosedPipe":
            return _closed()
        if hasattr(error, "format_message"):  # typer's own, under whichever name it has them
            _say(_usage(error.format_message(), arguments))
            return int(getattr(error, "exit_code", 2))
        _say(f"bug: {type(error).__name__}: {error}; run again with --debug and report it")
        return BUG


def _answer(arguments: Sequence[str]) -> int:
    for word in arguments:
        if word.startswith("-tp") and not word.startswith("--"):
            _say("-tp is read as -t p; write --tp")
            return 2
    from specplan.cli.app import app

    code = app(args=list(arguments), prog_name="specplan", standalone_mode=False)
    sys.stdout.flush()
    return code if isinstance(code, int) else 0


def _usage(message: str, arguments: Sequence[str]) -> str:
    """Typer's complaint as one line, with what to write instead of a command that is none."""
    hint = INSTEAD.get(arguments[0], "")
    return " ".join(message.split()) + (f"; {hint}" if hint else "")


def _say(line: str) -> None:
    with suppress(OSError):
        sys.stderr.write(f"specplan: {visible(line)}\n")


def _closed() -> int:
    """Silences the interpreter's own flush of a pipe that nobody reads."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return CLOSED
