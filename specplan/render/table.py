"""The page on a terminal, with colour where the caller allows it; marks say the same without."""

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import islice
from typing import TextIO

from rich.console import Console
from rich.text import Text

from specplan.domain.answer import Answer
from specplan.render.align import Line, lines
from specplan.render.cells import shown
from specplan.render.grid import Style
from specplan.render.look import Look

STYLES: dict[Style, str] = {
    "": "",
    "title": "bold",
    "basis": "cyan",
    "head": "bold",
    "dim": "dim",
    "best": "bold green",
    "loss": "red",
    "misfit": "dim",
}
BATCH = 500


def write(answer: Answer, out: TextIO, look: Look) -> None:
    """Write the page to `out`, and those of its parts under their headings."""
    console = _console(color=look.color)
    page = map(_text, _pages(answer, look, "\u2500" if look.unicode else "-"))
    for batch in _batches(page):
        # Captured, because rich itself would end the program with 1 ("the answer is no") when
        # the reader of a pipe has gone.
        with console.capture() as shown:
            console.print(Text("\n").join(batch), soft_wrap=True)
        out.write(shown.get())


def _pages(answer: Answer, look: Look, rule: str) -> Iterator[Line]:
    yield from lines(answer, look, rule=rule)
    for part in answer.parts:
        yield []
        yield [(f"== {shown(part.title)}", "title")]
        yield []
        yield from _pages(part.answer, look, rule)


def _console(*, color: bool) -> Console:
    """A console that takes text for text and asks no environment variable."""
    return Console(
        file=io.StringIO(),
        width=80,  # of no effect on unwrapped text, but rich prints nothing at the width 0
        color_system="standard" if color else None,
        force_terminal=color,
        force_jupyter=False,
        no_color=not color,
        markup=False,
        emoji=False,
        highlight=False,
    )


def _text(line: Line) -> Text:
    text = Text.assemble(*((part, STYLES[style]) for part, style in line))
    text.rstrip()
    return text


def _batches(page: Iterator[Text]) -> Iterator[list[Text]]:
    while batch := list(islice(page, BATCH)):
        yield batch
