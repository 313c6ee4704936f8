"""JSON: one envelope for every command, its rows one object a line, written as they are made."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from functools import lru_cache
from importlib import import_module
from json import JSONEncoder
from typing import TextIO, cast

from specplan.domain.answer import Answer, Basis, Part, Scalar, Table, Verbatim
from specplan.domain.scenario import Input
from specplan.render.cells import shown
from specplan.render.look import Look

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]

VERSION = 1

_encode = JSONEncoder(ensure_ascii=True, allow_nan=False).encode


def write(answer: Answer, out: TextIO, look: Look) -> None:
    """Write the envelope to `out`; a figure that is not finite is a ValueError."""
    head: dict[str, Json] = {
        "schema": f"specplan.{answer.command}/{VERSION}",
        "specplan": version(),
        "inputs": {shown(name): _input(value) for name, value in answer.inputs.items()},
        "basis": _basis(answer.basis),
        "answer": jsonable(answer.value),
        "columns": {column.name: shown(column.unit) for column in answer.table.columns},
    }
    out.write("{")
    out.writelines(f'"{key}": {_encode(value)},\n ' for key, value in head.items())
    out.write('"rows": [')
    _write_rows(answer.table, out)
    out.write(f'],\n "notes": {_encode(jsonable(answer.notes))}')
    if answer.parts:
        _write_parts(answer.parts, out, look)
    out.write("}\n")


def _write_parts(parts: Sequence[Part], out: TextIO, look: Look) -> None:
    """Answers within an answer, each with an envelope of its own."""
    separator = ',\n "parts": ['
    for part in parts:
        told = {"name": part.name, "title": part.title, "about": part.about}
        out.write(f'{separator}{{"part": {_encode(jsonable(told))}, "is": ')
        write(part.answer, out, look)
        out.write("}")
        separator = ",\n"
    out.write("]")


def version() -> str:
    """The version of specplan; asked by name, as the package's surface lies above its renderers."""
    return str(import_module("specplan").__version__)


def jsonable(value: object) -> Json:
    """Dataclasses and mappings as objects, sequences as arrays, enums by value, visible text."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, Enum):
        return jsonable(value.value)
    if isinstance(value, str):
        return str(value) if isinstance(value, Verbatim) else shown(value)
    if isinstance(value, Mapping):
        return {shown(str(key)): jsonable(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [jsonable(item) for item in value]
    if dataclasses.is_dataclass(value):
        fields = dataclasses.fields(value)
        return {field.name: jsonable(getattr(value, field.name)) for field in fields}
    raise TypeError(f"an answer holds a {type(value).__name__}, which JSON cannot")


def _write_rows(table: Table, out: TextIO) -> None:
    names = [column.name for column in table.columns]
    record = ", ".join(f"{_encode(name)}: %s" for name in names)
    separator = "\n  "
    for chunk in table.chunks():
        tokens = zip(*(_tokens(chunk[name]) for name in names), strict=True)
        lines = [f"{{{record}}}" % row for row in tokens]
        if lines:
            out.write(separator + ",\n  ".join(lines))
            separator = ",\n  "
        del chunk  # or the next one is made while this one is still held


def _tokens(values: Sequence[Scalar]) -> Iterable[str]:
    """Each value of a column as JSON; one call of the encoder does for all that is not text."""
    if str in set(map(type, values)):
        return map(_token, values)
    return _encode(values)[1:-1].split(", ") if values else ()


def _token(value: Scalar) -> str:
    return _text(value) if isinstance(value, str) else _encode(value)


@lru_cache(maxsize=4096)
def _text(value: str) -> str:
    return _encode(shown(value))


def _input(given: Input) -> Json:
    return {
        "value": jsonable(given.value),
        "from": shown(given.origin),
        "sha256": given.sha256,
    }


def _basis(basis: Basis) -> Json:
    return {
        "kind": basis.kind,
        "bands": {
            name: list(cast("tuple[Json, Json]", band)) for name, band in basis.bands.items()
        },
        "source": shown(basis.source),
        "says": shown(basis.says),
        "assumed": jsonable(basis.assumed),
        "extrapolated": jsonable(basis.extrapolated),
    }
