"""A view's sections as the elements that table, plain and markdown draw, each in its own way."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from specplan.domain.answer import Answer, Facts, Lines, Pivot, Rows, Table
from specplan.render.cells import cell_text, rows, shown
from specplan.render.grid import Cell, Element, Grid, Head, Pairs, Prose, Row
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
        yield Grid(heads, chain((first,), found))


def _listed(section: Rows, table: Table) -> Iterator[Row]:
    forms = [table.column(name).form for name in section.columns]
    marked = [bool(section.mark) and name == section.marked for name in section.columns]
    shape = len(section.columns)
    flags = [name for name in (section.where, section.mark) if name]
    for values in rows(table, (*section.columns, *flags)):
        if section.where and not values[shape]:
            continue
        chosen = bool(section.mark and values[-1])
        cells = (
            Cell(cell_text(value, form), *(("*", "best") if chosen and is_marked else ()))
            for value, form, is_marked in zip(values[:shape], forms, marked, strict=True)
        )
        yield Row(tuple(cells))
