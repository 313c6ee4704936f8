"""CSV: the table alone, every figure whole; no cell of text becomes a formula in a spreadsheet."""

from __future__ import annotations

import csv
from typing import TextIO

from specplan.domain.answer import Answer, Scalar
from specplan.errors import UsageError
from specplan.render.cells import rows, shown
from specplan.render.look import Look

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def write(answer: Answer, out: TextIO, look: Look) -> None:  # noqa: ARG001 - one signature for all
    """Write column names and rows to `out`; a missing value is an empty cell."""
    names = [column.name for column in answer.table.columns]
    if not names:
        raise UsageError(
            f"format csv writes a table and {answer.command} has none", hint="use -f json"
        )
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(map(_plain, row) for row in rows(answer.table, names))


def _plain(value: Scalar) -> Scalar:
    """The value as csv should write it: floats by their shortest exact digits, text disarmed."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return ("'" if value.startswith(_FORMULA) else "") + shown(value)
    return value
