"""The page as text without colour, for pipes and files; no line is ever cut."""

from __future__ import annotations

from typing import TextIO

from specplan.domain.answer import Answer
from specplan.render.align import Line, lines
from specplan.render.look import Look


def write(answer: Answer, out: TextIO, look: Look) -> None:
    """Write the page to `out`."""
    out.writelines(map(_text, lines(answer, look)))


def _text(line: Line) -> str:
    return "".join(text for text, _ in line).rstrip() + "\n"
