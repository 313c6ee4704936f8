"""Runs the program: every failure becomes one line on stderr and one exit code."""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from specplan.cli.streams import say, silence
from specplan.errors import InputError, SpecplanError, UsageError
from specplan.visible import visible

TRY = """\
specplan: does speculative decoding pay, here?

  specplan sweep                 the speedup table (Llama-3-8B on one H100)
  specplan init plan.yaml -t llama-3-8b -d llama-3.2-1b -g h100 -a 0.8
  specplan best-k plan.yaml      which k, by what margin, up to which load
  specplan compare plan.yaml     which drafter, GPU or tp
  specplan check plan.yaml       does the plan still hold? For CI

All commands: specplan --help.  What it knows: specplan hardware list.
"""
COMPLETE = "_SPECPLAN_COMPLETE"  # the shell asks through it, without arguments
OUTPUT, BUG, INTERRUPTED, CLOSED = 3, 3, 130, 141


def run(arguments: Sequence[str]) -> int:
    """The exit code of a command line: 0, 1 the answer is no, 2 bad input, 3 a bug, 130, 141."""
    if sys.stderr is None:  # closed by the caller; print would take standard output instead
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123
    if sys.stdout is None:
        say("cannot write to standard output: it is closed")
        return OUTPUT
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = _answer(arguments)
        sys.stdout.flush()
    except BaseException as error:  # noqa: BLE001 - the last handler; interruptions end here too
        return _failed(error, arguments)
    return code


def _answer(arguments: Sequence[str]) -> int:
    if COMPLETE in os.environ:
        # Typer loads rich to take markup out of help texts; ours have none.
        sys.modules["rich"] = None  # type: ignore[assignment]
    elif not arguments:
        sys.stdout.write(TRY)
        return 2
    elif list(arguments) in (["--version"], ["-V"]):  # asked too often to wait for typer
        from specplan import __version__

        sys.stdout.write(f"specplan {__version__}\n")
        return 0
    from specplan.cli.app import app

    code = app(args=list(arguments), prog_name="specplan", standalone_mode=False)
    return code if isinstance(code, int) else 0


def _failed(error: BaseException, arguments: Sequence[str]) -> int:
    """Says what went wrong in one line, and under --debug where; returns the exit code."""
    if isinstance(error, SystemExit) and not isinstance(error.__context__, BrokenPipeError):
        return error.code if isinstance(error.code, int) else 0
    if isinstance(error, SystemExit | BrokenPipeError):  # typer turns the one into the other
        silence(sys.stdout)
        return CLOSED
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    if "--debug" in arguments:
        import traceback

        with suppress(OSError):
            traceback.print_exception(error)
    if COMPLETE in os.environ:  # at a Tab, a message would land in the line that is typed
        return 2
    line, code = _explained(error)
    say(line)
    return code


def _explained(error: BaseException) -> tuple[str, int]:
    if isinstance(error, SpecplanError):
        return str(error), error.exit_code
    if isinstance(error, FileNotFoundError) and error.filename is None:  # os.getcwd's, no stream's
        return str(InputError("the current folder is gone", hint="change to one that exists")), 2
    if isinstance(error, OSError) and error.filename is None:  # no file's, hence a stream's
        return f"cannot write to standard output: {error.strerror or error}", OUTPUT
    if isinstance(error, OSError):
        shown = visible(str(error.filename), 60)
        return f"{shown}: {error.strerror or type(error).__name__}", 2
    if hasattr(error, "format_message"):  # typer's own, under whichever name it has them
        return _usage(error, error.format_message()), 2
    return f"bug: {type(error).__name__}: {error}; run again with --debug and report it", BUG


def _usage(error: BaseException, message: str) -> str:
    """Typer's complaint in the form of ours."""
    context = getattr(error, "ctx", None)
    page = f"{getattr(context, 'command_path', 'specplan')} --help shows how"
    if not hasattr(error, "possibilities"):
        what = " ".join(message.split()).rstrip(".")
        return f"{what[:1].lower()}{what[1:]}; {page}"
    wrong = str(getattr(error, "option_name", ""))
    if context is not None and context.parent is None:
        hint = "options come after the command"
    else:
        hint = _near(wrong, getattr(getattr(context, "command", None), "params", ())) or page
    return str(UsageError(f"unknown option '{wrong[:60]}'", hint=hint))


def _near(wrong: str, parameters: Sequence[Any]) -> str:
    """The long option meant, the dashes left out of the comparison: they are alike in all."""
    known = {o.lstrip("-"): o for p in parameters for o in p.opts if o.startswith("--")}
    near = difflib.get_close_matches(wrong.lstrip("-"), known, n=1)
    return f"did you mean '{known[near[0]]}'?" if near else ""
