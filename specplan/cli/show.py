"""An Answer on its way out: format, stream or file, notes on stderr, exit code."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from specplan.cli.progress import counting
from specplan.cli.streams import say
from specplan.domain.answer import Answer, Chunk
from specplan.errors import UsageError, Where, placed
from specplan.files import writing, writing_bytes
from specplan.visible import visible

if TYPE_CHECKING:
    from specplan.cli.options import Out
    from specplan.render.look import Look

MOST_SAID = 24  # notes: who compares hundreds of setups reads no thousand lines
LONG_ROWS = 100_000  # from here on a terminal gets a progress bar
STREAMED = ("csv", "json")  # formats that write while rows are made


def show(answer: Answer, out: Out, *, auto: str = "") -> int:
    """Writes the answer and returns the exit code: 0 answered, 1 the answer is no.

    `auto` is the format of a command that does not want a table by default.
    """
    from specplan.render import renderer

    path = _path(out)
    name = format_name(out, auto)
    write = renderer(name)
    if path:
        refuse_inputs(path, answer)
        _refuse_yaml(path, answer)
    if _watched(answer, out, name):
        answer = _counted(answer, out)
    with _target(path, name) as stream, _placed(name, out):
        write(answer, stream, look(out, stream, name))
        stream.flush()
    if not out.quiet:
        notes = (*answer.notes, *answer.basis.assumed, *answer.basis.extrapolated)
        for note in notes[:MOST_SAID]:
            say(note)
        if len(notes) > MOST_SAID:
            say(f"and {len(notes) - MOST_SAID:,} notes more: -f json has all of them")
    return 0 if answer.ok else 1


def _target(path: Path | None, name: str) -> AbstractContextManager[IO[Any]]:
    """What is written to: a stream of bytes for a format that is no text."""
    from specplan.render import BINARY

    if path:
        return writing_bytes(path) if name in BINARY else writing(path)
    if name not in BINARY:
        return nullcontext(sys.stdout)
    stream = getattr(sys.stdout, "buffer", None)
    if stream is None or sys.stdout.isatty():
        raise UsageError(f"a {name} is no text: write it with -o x.{name}")
    return nullcontext(stream)


def _placed(name: str, out: Out) -> AbstractContextManager[None]:
    """What a figure refuses is said of the option that asked for one."""
    from specplan.render import FIGURES

    asked = "--output" if out.format == "auto" else "--format"
    return placed(Where(asked)) if name in FIGURES else nullcontext()


def format_name(out: Out, auto: str = "") -> str:
    """The format: asked for, or the suffix of the output file, or what suits the stream."""
    from specplan.render import SUFFIXES

    path = _path(out)
    suffix = path.suffix.lower() if path else ""
    if out.format != "auto":
        _refuse_other(out.format, suffix)
        return out.format
    if path:
        if suffix not in SUFFIXES:
            raise UsageError(
                f"the suffix '{visible(path.suffix, 20)}' names no format",
                where=Where("--output"),
                expected=f"one of {' '.join(SUFFIXES)}",
                hint="or say -f",
            )
        return SUFFIXES[suffix]
    return auto or (
        "table" if sys.stdout.isatty() or coloured(out.color, terminal=False) else "plain"
    )


def look(out: Out, stream: IO[Any], name: str) -> Look:
    """What the stream can carry: colour, width, characters beyond ASCII. That of a chart, which
    fills its width, may be said where no terminal says it.
    """
    from specplan.render.look import Look

    terminal = stream.isatty()
    width = os.get_terminal_size(stream.fileno()).columns if terminal else None
    told = os.environ.get("COLUMNS", "")
    if width is None and name == "chart" and told.isdecimal() and len(told) < 6:
        width = int(told)
    encoding = (getattr(stream, "encoding", None) or "ascii").lower()
    return Look(
        color=coloured(out.color, terminal=terminal), width=width, unicode="utf" in encoding
    )


def coloured(wish: str, *, terminal: bool) -> bool:
    """Whether a stream gets colour: as wished, or by the variables that say so."""
    if wish != "auto":
        return wish == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return terminal and os.environ.get("TERM") != "dumb"


def _refuse_other(name: str, suffix: str) -> None:
    """Refuses a figure under the name of another format, and another format under a figure's."""
    from specplan.render import FIGURES, SUFFIXES

    said = SUFFIXES.get(suffix, name)
    if said != name and {said, name} & FIGURES:
        what = f"{name} is written, but {suffix} says {said}"
        raise UsageError(what, where=Where("--output"), hint="leave out -f, or change the suffix")


def _path(out: Out) -> Path | None:
    """The file to write; None for standard output."""
    if out.output and out.output.endswith(("/", os.sep)):
        shown = visible(out.output, 200)
        raise UsageError(f"{shown} is a folder", where=Where("--output"), expected="a file in it")
    if out.output == "":
        raise UsageError("'' is no file", where=Where("--output"), hint="- is standard output")
    return None if out.output in {None, "-"} else Path(str(out.output))


def refuse_inputs(path: Path, answer: Answer) -> None:
    """Refuses an output that is a card or plan read for this very answer: it would be lost."""
    if not os.path.isfile(path):  # noqa: PTH113 - what cannot be looked at, writing refuses
        return
    digest = ""
    with suppress(OSError), path.open("rb") as file:  # some files can only be written to
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    for used in answer.inputs.values():
        if used.sha256 == digest or _is_file(used.origin, path):
            shown = visible(str(path), 200)
            raise UsageError(f"{shown} is an input of this answer", where=Where("--output"))


def _refuse_yaml(path: Path, answer: Answer) -> None:
    """Where every YAML file is a card or a plan, only a new plan replaces one."""
    if not os.path.isfile(path):  # noqa: PTH113 - what cannot be looked at, writing refuses
        return
    if path.suffix in {".yaml", ".yml"} and answer.command != "init":
        shown = visible(str(path), 200)
        raise UsageError(f"{shown} may be a card or a plan", where=Where("--output"))


def _is_file(origin: str, path: Path) -> bool:
    """Whether an input came from the file at `path`."""
    source = Path(origin)
    return source.is_file() and source.samefile(path)


def _watched(answer: Answer, out: Out, name: str) -> bool:
    """Whether a progress bar is worth it and would not stand between the rows themselves."""
    rows_on_screen = _path(out) is None and name in STREAMED and sys.stdout.isatty()
    long = answer.table.rows >= LONG_ROWS and not out.quiet
    return long and sys.stderr.isatty() and not rows_on_screen


def _counted(answer: Answer, out: Out) -> Answer:
    """The answer with a progress bar on stderr that counts its rows as they are made."""
    chunks, total = answer.table.chunks, answer.table.rows

    def counted() -> Iterator[Chunk]:
        with counting(total, colour=coloured(out.color, terminal=True)) as advance:
            for chunk in chunks():
                yield chunk
                advance(len(next(iter(chunk.values()))))

    return replace(answer, table=replace(answer.table, chunks=counted))
