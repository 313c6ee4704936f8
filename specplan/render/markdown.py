"""The page as GitHub Markdown; nothing in a name can end a cell, open a tag or make a link."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from typing import TextIO

from specplan.domain.answer import Answer
from specplan.render.cells import shown
from specplan.render.grid import Element, Grid, Head, Pairs, Prose, Row
from specplan.render.layout import elements
from specplan.render.look import Look

_SPECIAL = re.compile(r"([\\`|<>\[\]*_~#&$])")
_MENTION = re.compile(r"(?<!\w)@(?=\w)")  # GitHub would tell that person
_BULLET = re.compile(r"^(\d*)([-+=.)])")


def write(answer: Answer, out: TextIO, _: Look) -> None:
    """Write the page to `out`; parts follow, each to be unfolded."""
    _page(answer, out, "###")
    for part in answer.parts:
        out.write(f"\n<details><summary>{escape(shown(part.title))}</summary>\n\n")
        out.write(f"{_sentence(part.about)}\n\n")
        _page(part.answer, out, "####")
        out.write("\n</details>\n")


def _page(answer: Answer, out: TextIO, heading: str) -> None:
    """Paragraphs with an empty line between them, under a heading of a level."""
    for number, paragraph in enumerate(_paragraphs(answer, heading)):
        if number:
            out.write("\n")
        out.writelines(f"{line}\n" for line in paragraph)


def escaped(text: str) -> str:
    """`text`, made visible, with every character that means something to Markdown escaped."""
    return _MENTION.sub("@&#8203;", _SPECIAL.sub(r"\\\1", shown(text)))


def _paragraphs(answer: Answer, heading: str) -> Iterator[Iterator[str]]:
    view, says = answer.view, escaped(answer.basis.says)
    if view.title:
        yield iter([f"{heading} {escaped(view.title)}"])
    under = ([f"*{says}*"] if says else []) + [_sentence(text) for text in view.caption]
    if under:
        yield _broken(under)
    for element in elements(answer):
        if isinstance(element, Grid) and element.title:
            yield iter([f"**{escaped(element.title)}**"])
        yield _drawn(element)


def _drawn(element: Element) -> Iterator[str]:
    match element:
        case Grid():
            return _grid(element)
        case Pairs():
            told = ((label, "; ".join(values)) for label, values in element.together())
            return (f"- {escaped(label)}: {escaped(value)}" for label, value in told)
        case Prose(lines, drawn=True):
            return iter(("~~~", *lines, "~~~"))
        case Prose(lines):
            return _broken([_sentence(line) for line in lines])


def _sentence(text: str) -> str:
    """A line that starts no list, heading or code block."""
    return _BULLET.sub(r"\1\\\2", escaped(text).strip())


def _broken(lines: list[str]) -> Iterator[str]:
    """Lines of one paragraph that stay lines."""
    return (line + ("\\" if number < len(lines) else "") for number, line in enumerate(lines, 1))


def _grid(grid: Grid) -> Iterator[str]:
    yield _row([escaped(head.text) for head in grid.heads])
    yield "|" + "|".join(map(_side, grid.heads)) + "|"
    for row in grid.rows:
        yield _row(_cells(row))


def _side(head: Head) -> str:
    return ":---" if head.left else "---:"


def _cells(row: Row) -> list[str]:
    cells = [escaped(cell.text + cell.mark) for cell in row.cells]
    return [f"{escaped(row.mark)} {cells[0]}", *cells[1:]] if row.mark else cells


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
