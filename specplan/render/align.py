"""Elements as aligned lines of text with style words: what table and plain have in common.

A line is never cut; long text is wrapped between words where its section allows it. Widths are
those of the first 2,000 rows; a wider cell later moves the rest of its own line, so that a long
list is never held to be measured.
"""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice

from specplan.domain.answer import SEPARATOR, Answer
from specplan.render.cells import shown
from specplan.render.grid import Cell, Element, Grid, Pairs, Prose, Row, Style
from specplan.render.layout import elements
from specplan.render.look import Look

EDGE = 80
MEASURED = 2_000
LEAST, HANG = 20, 4  # of wrapped text: the narrowest it gets, and the indent of what goes on

Segment = tuple[str, Style]
Line = Sequence[Segment]


def lines(answer: Answer, look: Look, rule: str = "") -> Iterator[Line]:
    """The page line by line; `rule`, if given, is drawn below the headings of every grid."""
    edge = min(EDGE, look.width or EDGE)
    head = list(_head(answer, edge))
    drawn = (_drawn(e, rule, look.width or EDGE) for e in elements(answer))
    paragraphs = chain([head] if head else [], drawn)
    for number, paragraph in enumerate(paragraphs):
        if number:
            yield []
        for line in paragraph:
            yield line if look.unicode else [(_ascii(text), style) for text, style in line]


def columns(text: str) -> int:
    """The terminal columns that `text` takes: two for wide characters, none for combining ones."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    return len(text) + wide - sum(unicodedata.combining(char) > 0 for char in text)


def _ascii(text: str) -> str:
    return text.encode("ascii", "backslashreplace").decode("ascii")


def _head(answer: Answer, edge: int) -> Iterator[Line]:
    title, says = shown(answer.view.title), shown(answer.basis.says)
    if columns(title) > edge:
        *before, title = _wrapped(title, edge)
        for line in before:
            yield [(line, "title")]
    gap = edge - columns(title) - columns(says)
    basis: Segment = (says, "basis")
    if title and says and gap >= 2:
        yield [(title, "title"), (" " * gap, ""), basis]
    elif title:
        yield [(title, "title")]
        parts = [says] if columns(says) <= edge else says.split(SEPARATOR)
        for part in filter(None, parts):
            yield [(" " * max(0, edge - columns(part)), ""), (part, "basis")]
    for text in answer.view.caption:
        yield [(shown(text), "dim")]


def _drawn(element: Element, rule: str, width: int) -> Iterable[Line]:
    match element:
        case Grid():
            return _grid(element, rule)
        case Pairs(pairs):
            widest = max(columns(label) for label, _ in pairs)
            return [
                [(f"  {label}{' ' * (widest - columns(label))}  {value}", "")]
                for label, value in pairs
            ]
        case Prose(texts, style, wrap, _):
            parts = chain.from_iterable(_wrapped(t, width) for t in texts) if wrap else texts
            return [[(text, style)] for text in parts]


def _wrapped(text: str, width: int) -> list[str]:
    """The text in lines of at most so many characters, unless one word is longer: an address."""
    return textwrap.wrap(
        text,
        max(width, LEAST),
        subsequent_indent=" " * HANG,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _grid(grid: Grid, rule: str) -> Iterator[Line]:
    rows = iter(grid.rows)
    first = list(islice(rows, MEASURED))
    heading = Row(tuple(Cell(head.text, style="head") for head in grid.heads))
    widths = [
        max(columns(cell.text) for cell in column)
        for column in zip(*(row.cells for row in (heading, *first)), strict=True)
    ]
    if grid.title:
        yield [(grid.title, "head")]
    blocks = _blocks(grid, widths)
    if len(blocks) == 1:
        yield from _block(grid, heading, chain(first, rows), widths, rule)
        return
    every = [*first, *rows]
    for number, block in enumerate(blocks):
        if number:
            yield []
        part = replace(grid, heads=tuple(grid.heads[place] for place in block))
        some = [widths[place] for place in block]
        below = (_part(row, block) for row in every)
        yield from _block(part, _part(heading, block), below, some, rule)


def _block(
    grid: Grid, heading: Row, rows: Iterable[Row], widths: list[int], rule: str
) -> Iterator[Line]:
    yield _aligned(heading, grid, widths)
    if rule:
        total = grid.lead + sum(widths) + sum(head.gap for head in grid.heads)
        yield [(rule * total, "dim")]
    for row in rows:
        yield _aligned(row, grid, widths)


def _blocks(grid: Grid, widths: Sequence[int]) -> list[Sequence[int]]:
    """The places of the columns that stand together: all, or as many as a page is wide for, behind
    those that are repeated.
    """
    sizes = [width + head.gap for width, head in zip(widths, grid.heads, strict=True)]
    room = EDGE - 1 - grid.lead - sum(sizes[: grid.repeated])  # a mark may end the line
    heads, others = range(grid.repeated), range(grid.repeated, len(sizes))
    if not heads or sum(sizes[place] for place in others) <= room:
        return [range(len(sizes))]
    blocks: list[list[int]] = [[]]
    for place in others:
        if blocks[-1] and sum(sizes[p] for p in (*blocks[-1], place)) > room:
            blocks.append([])
        blocks[-1].append(place)
    return [[*heads, *block] for block in blocks]


def _part(row: Row, block: Sequence[int]) -> Row:
    return replace(row, cells=tuple(row.cells[place] for place in block))


def _aligned(row: Row, grid: Grid, widths: list[int]) -> Line:
    """The row with each cell at its column; a mark stands in the gap before the next column."""
    line: list[Segment] = [(row.mark, "misfit")] if row.mark else []
    position, start = len(row.mark), int(grid.lead)
    least = 0
    for cell, head, width in zip(row.cells, grid.heads, widths, strict=True):
        start += head.gap
        size = columns(cell.text)
        pad = max(start + (0 if head.left else width - size) - position, least)
        line += [(" " * pad, ""), (cell.text + cell.mark, cell.style)]
        position += pad + size + len(cell.mark)
        start += width
        least = 1
    return line
