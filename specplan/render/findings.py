"""A table of findings, as check and its kind make it, for the formats that machines of CI read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from specplan.domain.answer import Answer, Scalar
from specplan.errors import UsageError
from specplan.render.cells import rows, shown


class Finding(NamedTuple):
    """What one rule says of one place: level pass, note, warning or error; line 0 is no line."""

    rule: str
    level: str
    file: str
    line: int
    column: int
    message: str
    name: str
    help: str

    @property
    def place(self) -> str:
        """`file:line:column` as far as it is known."""
        known = [self.file] if self.file else []
        known += [str(self.line)] if self.line else []
        known += [str(self.column)] if self.line and self.column else []
        return ":".join(known)


def findings(answer: Answer, format_name: str) -> Iterator[Finding]:
    """The rows of the answer as findings, all text visible; refused if it has no such rows."""
    if not set(Finding._fields) <= {column.name for column in answer.table.columns}:
        raise UsageError(f"format {format_name} shows findings", hint="it is for check")
    return (_finding(row) for row in rows(answer.table, Finding._fields))


def _finding(row: tuple[Scalar, ...]) -> Finding:
    rule, level, file, line, column, message, name, explained = row
    return Finding(
        rule=_text(rule),
        level=_text(level),
        file=_text(file),
        line=int(line or 0),
        column=int(column or 0),
        message=_text(message),
        name=_text(name),
        help=_text(explained),
    )


def _text(value: Scalar) -> str:
    return "" if value is None else shown(str(value))
