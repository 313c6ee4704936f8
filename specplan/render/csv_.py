"""CSV: the table alone, every figure whole; no cell of text becomes a formula in a spreadsheet."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TextIO

from specplan.domain.answer import Answer, Scalar
from specplan.errors import UsageError
from specplan.render.look import Look
from specplan.visible import visible

FORMULA = ("=", "+", "-", "@", "\t", "\r")
NUMBERS = {int, float, type(None)}


def write(answer: Answer, out: TextIO, look: Look) -> None:  # noqa: ARG001 - one signature for all
    """Write column names and rows to `out`; a missing value is an empty cell."""
    names = [column.name for column in answer.table.columns]
    if not names:
        raise UsageError(
            f"format csv writes a table and {answer.command} has none", hint="use -f json"
        )
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    for chunk in answer.table.chunks():
        writer.writerows(zip(*(_column(chunk[name]) for name in names), strict=True))
        del chunk  # or the next one is made while this one is still held


def _column(values: Sequence[Scalar]) -> Iterable[Scalar]:
    """Numbers as they are: csv writes a float by its shortest exact digits."""
    return values if set(map(type, values)) <= NUMBERS else map(_cell, values)


def _cell(value: Scalar) -> Scalar:
    if isinstance(value, bool):
        return "true" if value else "false"
    return _text(value) if isinstance(value, str) else value


@lru_cache(maxsize=4096)
def _text(value: str) -> str:
    return ("'" if value.startswith(FORMULA) else "") + visible(value)
