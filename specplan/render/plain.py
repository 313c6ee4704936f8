"""The page as text without colour, for pipes and files; no line is ever cut."""

from __future__ import annotations

from typing import TextIO

from specplan.domain.answer import Answer
from specplan.render.align import Line, lines
from specplan.render.cells import shown
from specplan.render.look import Look


def write(answer: Answer, out: TextIO, look: Look) -> None:
    """Write the page to `out`, and those of its parts under their headings."""
    out.writelines(map(_text, lines(answer, look)))
    for part in answer.parts:
        out.write(f"\n== {shown(part.title)}\n\n")
        write(part.answer, out, look)


def _text(line: Line) -> str:
    return "".join(text for text, _ in line).rstrip() + "\n"
