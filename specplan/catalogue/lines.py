"""CSV line by line: the text of a file, its lines, their cells and where each begins."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from typing import Final

from specplan.errors import InputError, Where
from specplan.visible import is_hidden, visible

MAX_BYTES: Final = 8_000_000
MAX_ROWS: Final = 50_000
MAX_LINE_CHARS: Final = 8_192


def lines(raw: bytes, name: str) -> Iterator[tuple[str, Where]]:
    """Each line that holds something, with its place."""
    if len(raw) > MAX_BYTES:
        raise InputError("too large", where=Where(name), expected=f"at most {MAX_BYTES:,} bytes")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode("utf-8-sig").split("\n")
        where, hint = Where(name, len(before), len(before[-1]) + 1), "save it as UTF-8"
        raise InputError("not UTF-8 text", where=where, hint=hint) from error
    found = text.replace("\r\n", "\n").split("\n")
    if len(found) > MAX_ROWS:  # said before any of them is read, which would take seconds
        where = Where(name, MAX_ROWS + 1, 1)
        raise InputError("too many lines", where=where, expected=f"at most {MAX_ROWS:,}")
    for number, line in enumerate(found, start=1):
        where = Where(name, number, 1)
        if len(line) > MAX_LINE_CHARS:
            what = f"a line of {len(line):,} characters"
            raise InputError(what, where=where, expected=f"at most {MAX_LINE_CHARS:,}")
        hidden = None if line.isprintable() else next(filter(is_hidden, line), None)
        if hidden is not None:
            column = line.index(hidden) + 1
            raise InputError(
                f"invisible character {visible(hidden)}",
                where=Where(name, number, column),
                hint="separate cells by commas" if hidden == "\t" else "remove it",
            )
        if line.strip():
            yield line, where


def cells(line: str, where: Where) -> list[str]:
    """The cells of a line, without blanks around them."""
    try:
        (cells,) = csv.reader([line], strict=True)
    except csv.Error as error:
        what = "a quoted cell goes on" if "unexpected end" in str(error) else "misplaced quote"
        raise InputError(what, where=where, expected="one row per line, as CSV") from error
    return [cell.strip() for cell in cells]


def starts(line: str) -> list[int]:
    """The place of each cell's first character, counted from 1."""
    starts, quoted = [1], False
    for place, char in enumerate(line, start=1):
        quoted ^= char == '"'
        if char == "," and not quoted:
            starts.append(place + 1)
    return starts


def row_cells(line: str, columns: Sequence[str], where: Where) -> list[str]:
    """The cells of a row, one for each column."""
    found = cells(line, where)
    if len(found) != len(columns):
        raise InputError(
            f"{len(found)} cells under {len(columns)} columns",
            where=where,
            expected="a cell for each column",
            hint="quote text that holds a comma"
            if len(found) > len(columns)
            else "leave a cell that says nothing blank, its comma in place",
        )
    return found
