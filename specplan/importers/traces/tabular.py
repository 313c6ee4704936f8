"""Tables of requests, a row each, with a header: read by the names of columns."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import Final

from specplan.domain.traffic import Trace
from specplan.errors import InputError, Where
from specplan.importers.traces.clock import EXPECTED, Clock
from specplan.importers.traces.columns import FORM, KNOWN, Columns, in_header
from specplan.importers.traces.lines import Lines
from specplan.importers.traces.rows import Counted, Rows, tokens, wrong
from specplan.opening import place
from specplan.visible import visible

DELIMITERS: Final = ",;\t"
_IMAGES: Final = "numimages"  # of Azure's multimodal trace, 2025
_COUNT: Final = "a whole number of tokens"


def header_of(line: str) -> tuple[list[str], str]:
    """The names in the first line, and what stands between them."""
    delimiter = max(DELIMITERS, key=line.count)
    try:
        names = next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        names = [line]
    return [name.strip() for name in names], delimiter


def layout_of(header: list[str], wanted: Columns | None, lines: Lines) -> Columns:
    """The columns that a header has: those asked for, or those of a known format."""
    if wanted is not None:
        found = in_header(wanted, header)
        if found is None:
            low = [name.lower() for name in header]
            missing = next(name for name in wanted.named if name.lower() not in low)
            what = f"no column '{visible(missing, 40)}'"
            raise InputError(what, where=lines.where(), expected=f"one of {_listed(header)}")
        return found
    known = (in_header(layout, header) for layout in KNOWN)
    found = next((layout for layout in known if layout is not None), None)
    if found is None:
        raise InputError(
            f"columns {_listed(header)} are of no known trace",
            where=lines.where(),
            hint=f"name them: --columns {FORM}",
        )
    return found


def read_table(lines: Lines, rest: Iterator[str], header: str, wanted: Columns | None) -> Trace:
    """The trace in a table; `header` has been taken from its lines, `rest` follows."""
    names, delimiter = header_of(header)
    layout = layout_of(names, wanted, lines)
    rows = Rows(lines, layout.form, timed=bool(layout.arrival), hits=bool(layout.hit))
    places = [_place(names, name, lines) for name in layout.named]
    reader = csv.reader(rest, delimiter=delimiter)
    try:
        _take(reader, rows, layout, places)
    except csv.Error as error:
        raise InputError(f"is no table: {visible(str(error), 60)}", where=lines.where()) from error
    trace = rows.trace()
    if any(name.lower() == _IMAGES for name in names):
        return replace(trace, dropped=(*trace.dropped, "images are not counted, text alone is"))
    return trace


def _take(reader: Iterator[list[str]], rows: Rows, layout: Columns, places: list[int]) -> None:
    at, clock, counted = iter(places), Clock(layout.unit), Counted()
    arrival = next(at) if layout.arrival else None
    isl, osl = next(at), next(at)
    hit = next(at) if layout.hit else None
    last = max(places)
    for row in reader:
        if len(row) <= last:
            if not any(row):
                continue
            what = f"a row of {len(row)} fields"
            raise InputError(what, where=rows.lines.where(), expected=f"at least {last + 1}")
        try:
            rows.take(
                clock(row[arrival]) if arrival is not None else 0.0,
                counted[row[isl]],
                counted[row[osl]],
                counted[row[hit]] if hit is not None else 0,
            )
        except (ValueError, OverflowError):
            raise _at_fault(row, rows.lines, clock, (arrival, isl, osl, hit), layout) from None


def _at_fault(
    row: list[str],
    lines: Lines,
    clock: Clock,
    places: tuple[int | None, ...],
    layout: Columns,
) -> InputError:
    """The error for the first value of a row that cannot be read."""
    names = (layout.arrival, layout.isl, layout.osl, layout.hit)
    for index, name in zip(places, names, strict=True):
        if index is None:
            continue
        is_time = name == layout.arrival
        try:
            (clock if is_time else tokens)(row[index])
        except (ValueError, OverflowError) as error:
            expected = EXPECTED if is_time else _COUNT
            found = wrong(visible(name, 40), row[index], error, expected)
            found.where = _where(row, index, lines)
            return found
    raise AssertionError("all values of the row can be read")  # one of them was refused


def _where(row: list[str], index: int, lines: Lines) -> Where:
    """The place of a field in the line that was read last."""
    before = sum(len(field) + 1 for field in row[:index])
    quotes = lines.text.count('"')
    return lines.where(1 if quotes else before + 1)


def _place(header: list[str], name: str, lines: Lines) -> int:
    if header.count(name) > 1:
        raise InputError(f"two columns are called '{visible(name, 40)}'", where=lines.where())
    return header.index(name)


def _listed(header: list[str]) -> str:
    shown = ", ".join(visible(name, 24) for name in header[:8])
    return shown + (", ..." if len(header) > 8 else "") if any(header) else "without names"


def first_line(lines: Lines) -> tuple[str, Iterator[str]]:
    """The first line that holds something, and the lines after it."""
    every = iter(lines)
    for line in every:
        if line.strip():
            return line, chain((), every)
    raise InputError("is empty", where=place(lines.path), expected="a trace")
