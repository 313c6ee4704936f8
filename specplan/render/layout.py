"""A view's sections as the elements that table, plain and markdown draw, each in its own way."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from specplan.domain.answer import Answer, Facts, Lines, Pivot, Rows, Table
from specplan.render.cells import cell_text, rows, shown
from specplan.render.grid import Cell, Element, Grid, Head, Pairs, Prose, Row, Style
from specplan.render.pivot import pivot

TEXTUAL = ("text", "flag")


def elements(answer: Answer) -> Iterator[Element]:
    """What stands below title and caption, in order; sections with nothing in them are left out."""
    for section in answer.view.sections:
        match section:
            case Pivot():
                yield from pivot(section, answer.table)
            case Rows():
                yield from _listing(section, answer.table)
            case Facts(pairs):
                if pairs:
                    yield Pairs(tuple((shown(label), shown(value)) for label, value in pairs))
            case Lines(lines, wrap, drawn):
                if lines:
                    yield Prose(tuple(map(shown, lines)), wrap=wrap, drawn=drawn)


def _listing(section: Rows, table: Table) -> Iterator[Grid]:
    found = _listed(section, table)
    first = next(found, None)
    if first is not None:
        columns = [table.column(name) for name in section.columns]
        heads = tuple(
            Head(shown(column.title), left=column.form in TEXTUAL, gap=2 if number else 0)
            for number, column in enumerate(columns)
        )
        yield Grid(heads, chain((first,), found), repeated=section.heads)


def _listed(section: Rows, table: Table) -> Iterator[Row]:
    forms = [table.column(name).form for name in section.columns]
    marks: list[tuple[str, str, str, Style]] = []
    if section.mark:
        marks.append((section.marked, section.mark, "*", "best"))
    marks += [(column, flag, "!", "loss") for column, flag in section.losing]
    flags = [name for name in (section.where, *(flag for _, flag, _, _ in marks)) if name]
    shape = len(section.columns)
    for values in rows(table, (*section.columns, *flags)):
        told = dict(zip(flags, values[shape:], strict=True))
        if section.where and not told[section.where]:
            continue
        marked = {
            column: (sign, style) for column, flag, sign, style in reversed(marks) if told[flag]
        }
        cells = (
            Cell(cell_text(value, form), *marked.get(name, ()))
            for value, form, name in zip(values[:shape], forms, section.columns, strict=True)
        )
        yield Row(tuple(cells))
