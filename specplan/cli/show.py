"""An Answer on its way out: format, stream or file, notes on stderr, exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from specplan.domain.answer import Answer, Chunk
from specplan.errors import OutputError, UsageError, Where, unknown
from specplan.files import writing
from specplan.visible import visible

if TYPE_CHECKING:
    from specplan.cli.options import Out
    from specplan.render.look import Look

COLOURS = ("auto", "always", "never")
LONG_ROWS = 100_000  # from here on a terminal gets a progress bar


class ClosedPipe(Exception):  # noqa: N818 - not an error: the reader has seen enough
    """Whoever read our standard output went away."""


def show(answer: Answer, out: Out, *, auto: str = "") -> int:
    """Writes the answer and returns the exit code: 0 answered, 1 the answer is no.

    `auto` is the format of a command that does not want a table by default.
    """
    from specplan.render import renderer

    name = format_name(out, auto)
    write = renderer(name)
    answer = replace(answer, table=replace(answer.table, chunks=_counted(answer, out)))
    if out.output and out.output != "-":
        path = Path(out.output)
        _refuse_inputs(path, answer)
        with writing(path) as file:
            write(answer, file, look(out, file))
    else:
        _to_stdout(answer, out, write)
    if not out.quiet:
        for note in answer.notes:
            print(f"specplan: {visible(note)}", file=sys.stderr)
    return 0 if answer.ok else 1


def format_name(out: Out, auto: str = "") -> str:
    """The format: asked for, or the suffix of the output file, or what suits the stream."""
    from specplan.render import SUFFIXES

    if out.format != "auto":
        return out.format
    if out.output and out.output != "-":
        suffix = Path(out.output).suffix
        if suffix not in SUFFIXES:
            raise UsageError(
                f"the suffix '{visible(suffix, 20)}' names no format",
                where=Where("--output"),
                expected=f"one of {' '.join(SUFFIXES)}",
                hint="or say -f",
            )
        return SUFFIXES[suffix]
    if auto:
        return auto
    return "table" if sys.stdout.isatty() else "plain"


def look(out: Out, stream: TextIO) -> Look:
    """What the stream can carry: colour, width, characters beyond ASCII."""
    from specplan.render.look import Look

    if out.color not in COLOURS:
        raise unknown("colour", out.color, COLOURS, where=Where("--color"))
    terminal = stream.isatty()
    width = os.get_terminal_size(stream.fileno()).columns if terminal else None
    encoding = (getattr(stream, "encoding", None) or "ascii").lower()
    return Look(color=_coloured(out.color, terminal), width=width, unicode="utf" in encoding)


def _coloured(wish: str, terminal: bool) -> bool:
    if wish != "auto":
        return wish == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return terminal and os.environ.get("TERM") != "dumb"


def _to_stdout(answer: Answer, out: Out, write) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    try:
        write(answer, sys.stdout, look(out, sys.stdout))
        sys.stdout.flush()
    except BrokenPipeError as error:
        raise ClosedPipe from error
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise OutputError(f"cannot write to standard output: {reason}") from error


def _refuse_inputs(path: Path, answer: Answer) -> None:
    """An output that is a card or plan read for this very answer would destroy it."""
    if not path.exists():
        return
    for used in answer.inputs.values():
        source = Path(used.origin.split(" (")[0])
        if source.is_file() and source.samefile(path):
            raise UsageError(
                f"{visible(str(path), 200)} is an input of this answer", where=Where("--output")
            )


def _counted(answer: Answer, out: Out):  # type: ignore[no-untyped-def]  # noqa: ANN202
    """The table's chunks, counted by a progress bar when they are many and someone watches."""
    chunks = answer.table.chunks
    if answer.table.rows < LONG_ROWS or out.quiet or not sys.stderr.isatty():
        return chunks

    def counted() -> Iterator[Chunk]:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

        bar = Progress(
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        with bar:
            task = bar.add_task("rows", total=answer.table.rows)
            for chunk in chunks():
                yield chunk
                bar.advance(task, len(next(iter(chunk.values()))))

    return counted
