"""Measured figures from CSV files: ours, which ship with specplan, and yours.

A file is a header and one line per figure, its columns in any order; a blank cell says nothing.
Times may be in s, ms, us or ns, and are seconds once read. Every refusal is one InputError at its
line and column.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from specplan.catalogue.explain import SHOWN
from specplan.catalogue.folders import packaged
from specplan.catalogue.lines import MAX_BYTES, cells, lines, row_cells, starts
from specplan.catalogue.read import Document, KeyPath, read_bytes, read_file
from specplan.catalogue.schema import bind, fill
from specplan.catalogue.store import HUB_NAME
from specplan.domain.bands import Bands
from specplan.domain.card import NAME_PATTERN
from specplan.domain.measurement import COLUMNS, NEEDS, WORDS, HeldOut, Measurement
from specplan.errors import InputError, Where, did_you_mean
from specplan.units import parse_number, parse_quantity
from specplan.visible import visible

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

FOLDER: Final = "measurements"
MANUAL: Final = "measurements/README.md has the columns"
_TIMES: Final = ("ms", "us", "ns")
_UNITS: Final = ("s", *_TIMES, "1")
_UNIT_WORDS: Final = "s, ms, us or ns for a time, 1 for the speedup of a round"
_REQUIRED: Final = {
    "kind": ", ".join(NEEDS),
    "source": "who measured it",
    "engine": "an engine such as vllm",
    "gpu": "an accelerator such as h100-sxm",
    "value": "what was measured",
    "unit": _UNIT_WORDS,
}
_LISTS: Final = {"gpu": "hardware", "engine": "engines", "target": "models", "draft": "models"}


@dataclass(frozen=True, slots=True)
class Placed:
    """A measurement and the places of its cells."""

    row: Measurement
    document: Document


def read_rows(path: Path | Traversable, name: str | None = None) -> Iterator[Measurement]:
    """The measurements in a CSV file of at most 8 MB, in order; messages call it `name`."""
    return (one.row for one in placed_rows(path, name))


def placed_rows(path: Path | Traversable, name: str | None = None) -> Iterator[Placed]:
    """The same, each with the places of its cells; a file without rows is refused."""
    shown = name or (str(path) if isinstance(path, Path) else path.name)
    found = lines(read_bytes(path, shown, "a CSV file", MAX_BYTES), visible(shown))
    header, where = next(found, ("", Where(visible(shown), 1, 1)))
    columns = _columns(header, where)
    line = None
    for line, at in found:
        yield _row(line, at, columns)
    if line is None:
        raise InputError(
            "no rows", where=where, expected="a line per figure below the header", hint=MANUAL
        )


def packaged_rows() -> Iterator[Measurement]:
    """The measurements that ship with specplan, file by file."""
    for file in sorted(packaged(FOLDER).iterdir(), key=lambda one: one.name):
        if file.name.endswith(".csv"):
            yield from read_rows(file, f"{FOLDER}/{file.name}")


def held_out() -> HeldOut:
    """The constants that left out the packaged measurements, fold by fold."""
    name = "held-out.yaml"
    return bind(read_file(packaged(FOLDER).joinpath(name), f"{FOLDER}/{name}"), HeldOut)


@cache
def bands() -> Bands:
    """How far the rounds that ship with specplan lie from their held-out predictions."""
    name = "bands.yaml"
    return bind(read_file(packaged(FOLDER).joinpath(name), f"{FOLDER}/{name}"), Bands)


def _columns(header: str, where: Where) -> list[str]:
    """The names of the columns, each known and none twice, the necessary ones among them."""
    columns = cells(header, where) if header else []
    if ";" in header and "," not in header:
        raise InputError("semicolons between cells", where=where, hint="separate them by commas")
    for index, (column, start) in enumerate(zip(columns, starts(header), strict=False)):
        at = Where(where.name, where.line, start)
        if column not in COLUMNS:
            guess = did_you_mean(column, COLUMNS)
            raise InputError(
                f"unknown column '{visible(column, SHOWN)}'",
                where=at,
                expected="" if guess else f"one of {', '.join(COLUMNS)}",
                hint=guess,
            )
        if column in columns[:index]:
            raise InputError(f"column '{column}' twice", where=at, hint="keep one")
    missing = [column for column in _REQUIRED if column not in columns]
    if missing:
        raise InputError(
            f"missing column '{missing[0]}'",
            where=where,
            expected=f"a header with {', '.join(_REQUIRED)} and what each kind of row needs",
        )
    return columns


def _row(line: str, where: Where, columns: list[str]) -> Placed:
    """One line as a measurement."""
    found = row_cells(line, columns, where)
    said = {column: cell for column, cell in zip(columns, found, strict=True) if cell}
    values: dict[str, object] = {}
    positions: dict[KeyPath, tuple[int, int]] = {(): (where.line, 1)}
    for column, start in zip(columns, starts(line), strict=True):
        positions[column,] = (where.line, start)
        at = Where(where.name, where.line, start)
        if column in said:
            values[column] = _value(column, said, at)
        elif column in _REQUIRED:
            raise InputError(f"{column} is blank", where=at, expected=_REQUIRED[column])
    document = Document(values, positions, {}, where.name, "")
    return Placed(fill(document, Measurement), document)


def _value(column: str, said: Mapping[str, str], where: Where) -> object:
    """A cell of a row as what its column holds: a number in SI, a list of columns, or text."""
    cell = said[column]
    match column:
        case "assumed":
            return cell.split()
        case "unit":
            return _unit(cell, said.get("kind"), where)
        case "engine" if "@" in cell:
            name, _, version = cell.partition("@")
            what = f"engine '{visible(cell, SHOWN)}' holds a version"
            hint = f"write {visible(name, SHOWN)}, and {visible(version, SHOWN)} under version"
            raise InputError(what, where=where, hint=hint)
        case _ if column in _LISTS:
            return _name(column, cell, where)
        case _ if column in WORDS:
            return cell
    try:
        number = parse_number(cell)
        unit = said.get("unit", "")
        return parse_quantity(f"{cell} {unit}", "s") if _scaled(column, unit, number) else number
    except InputError as error:
        hint = error.hint or ("its unit goes under unit" if column == "value" else "")
        what = f"{column}: {error.what}"
        raise InputError(what, where=where, expected=error.expected, hint=hint) from None


def _name(column: str, cell: str, where: Where) -> str:
    """A card's name as the command line takes it: in any case, a model's also as the Hub has it."""
    hub = HUB_NAME.fullmatch(cell) if _LISTS[column] == "models" else None
    name = (hub[1] if hub else cell).lower()
    if column != "draft" and not re.match(NAME_PATTERN, name):
        raise InputError(
            f"{column} '{visible(cell, SHOWN)}' is no name",
            where=where,
            expected="the name or alias of a card",
            hint=f"specplan {_LISTS[column]} list shows all",
        )
    return name


def _scaled(column: str, unit: str, number: float) -> bool:
    """Whether a number is a time in another unit than seconds; none is below 0."""
    return column == "value" and unit in _TIMES and number >= 0


def _unit(cell: str, kind: str | None, where: Where) -> str:
    """The SI unit of a row's value."""
    if cell not in _UNITS:
        raise InputError(
            f"unit '{visible(cell, SHOWN)}' is not known",
            where=where,
            expected=_UNIT_WORDS,
        )
    if kind == "round" and cell in _TIMES:
        raise InputError(f"a round row in '{cell}'", where=where, expected="unit '1'")
    return "s" if cell in _TIMES else cell
