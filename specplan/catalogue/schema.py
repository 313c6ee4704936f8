"""From a document to a domain object, by the dataclass's own annotations.

First what people write becomes plain SI values (quantities to numbers, one value to a list of
one, plausibility bands checked with words of our own), then pydantic validates it strictly. So
no schema holds an untagged union, and an error is one line at its own column.
"""

from __future__ import annotations

import dataclasses
import json
import re
import types
from enum import Enum
from functools import cache
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from annotated_types import Ge, Le
from pydantic import TypeAdapter, ValidationError

from specplan.catalogue.explain import SHOWN, explain, label, within
from specplan.catalogue.read import Document, KeyPath
from specplan.domain.card import NEEDS_UNIT, Strict
from specplan.domain.curve import Curve
from specplan.domain.engine import Engine
from specplan.domain.hardware import Hardware
from specplan.domain.measurement import HeldOut, Measurement
from specplan.domain.model import Model
from specplan.domain.plan import Plan, SpokenText
from specplan.errors import InputError, SpecplanError, Where, did_you_mean, placed
from specplan.units import Unit, likely_slip, parse_quantity, people
from specplan.visible import visible

T = TypeVar("T", bound=Strict)

SCHEMAS: dict[str, type[Strict]] = {
    "hardware": Hardware,
    "model": Model,
    "engine": Engine,
    "curve": Curve,
    "plan": Plan,
    "measurements": Measurement,
    "held-out": HeldOut,
}
"""What `specplan schema` prints the schema of; of measurements, that of a row as an object."""

WHOLE = r"^(?:0|[1-9]\d{0,8})$"
_USUAL = {"s": 1e-3, "B": float(2**30), "1/s": 1.0}  # what a bare number most likely means


def adapter(cls: type[T]) -> TypeAdapter[T]:
    """The validator of a domain class."""
    plain: type = cls
    made: TypeAdapter[T] = _adapter(plain)
    return made


@cache
def _adapter(cls: type) -> TypeAdapter[Any]:
    return TypeAdapter(cls)


@cache
def hints_of(cls: type) -> dict[str, Any]:
    """The annotations of a dataclass's fields, in order."""
    hints = get_type_hints(cls, include_extras=True)
    return {field.name: hints[field.name] for field in dataclasses.fields(cls)}


def bind(document: Document, cls: type[T]) -> T:
    """The object that a document describes, or the first thing wrong with it as an InputError."""
    _headed(document, cls)
    return fill(document, cls)


def fill(document: Document, cls: type[T]) -> T:
    """The object that a document without a header describes."""
    kind: type = cls
    plain = _Reading(document).value(document.data, kind, ())
    try:
        return adapter(cls).validate_json(json.dumps(plain))
    except ValidationError as error:
        raise explain(document, error) from None


def header_of(cls: type) -> str:
    """What `schema:` says in a file of this class; a row of a table has no such key."""
    if "schema" not in hints_of(cls):
        return f"{next(kind for kind, of in SCHEMAS.items() if of is cls)}/1"
    (header,) = get_args(hints_of(cls)["schema"])
    return str(header)


def _headed(document: Document, cls: type) -> None:
    """Refuses a file of another kind before its keys are held against this one."""
    header, wanted = document.data.get("schema"), header_of(cls)
    if header != wanted:
        shown = "missing" if header is None else f"'{visible(str(header), SHOWN)}'"
        raise InputError(
            f"schema is {shown}", where=document.where(("schema",)), expected=f"'{wanted}'"
        )


@dataclasses.dataclass(frozen=True, slots=True)
class _Reading:
    """One document on its way to plain SI data."""

    document: Document

    def value(self, data: object, hint: object, path: KeyPath) -> object:
        """`data` as the field annotated `hint` takes it."""
        base, marks = unwrap(hint)
        if data is None and _optional(hint):
            return None
        if isinstance(base, type) and dataclasses.is_dataclass(base):
            return self._record(data, base, path)
        origin, arguments = get_origin(base), get_args(base)
        if origin is tuple:
            if not isinstance(data, list):
                return [self.value(data, arguments[0], path)]
            return [self.value(v, arguments[0], (*path, i)) for i, v in enumerate(data)]
        if origin is dict and isinstance(data, dict):
            self._known(data, arguments[0], path)
            return {k: self.value(v, arguments[1], (*path, k)) for k, v in data.items()}
        return self._scalar(data, base, marks, path)

    def _record(self, data: object, cls: type, path: KeyPath) -> object:
        hints = hints_of(cls)
        if not isinstance(data, dict):
            raise InputError(
                f"{label(path)} is no mapping",
                where=self.document.where(path),
                expected=f"keys such as {', '.join(list(hints)[:4])}",
            )
        for key in data:
            if key not in hints:
                raise self._unknown(key, list(hints), path)
        return {k: self.value(v, hints[k], (*path, k)) for k, v in data.items()}

    def _known(self, data: dict[str, object], key_type: object, path: KeyPath) -> None:
        """Refuses keys outside a closed set, with the nearest member, and numbers written otherwise
        than all of us do: two spellings of one would hide each other.
        """
        if key_type is int:
            for key in data:
                if not re.fullmatch(WHOLE, key):
                    raise InputError(
                        f"key '{visible(key, SHOWN)}'{within(path)} does not fit",
                        where=self.document.where((*path, key), key=True),
                        expected="a whole number",
                    )
        if isinstance(key_type, type) and issubclass(key_type, Enum):
            members = [str(member.value) for member in key_type]
            for key in data:
                if key not in members:
                    raise self._unknown(key, members, path)

    def _unknown(self, key: str, known: list[str], path: KeyPath) -> InputError:
        guess = did_you_mean(key, known)
        return InputError(
            f"unknown key '{visible(key, SHOWN)}'{within(path)}",
            where=self.document.where((*path, key), key=True),
            expected="" if guess else f"one of {', '.join(known)}",
            hint=guess,
        )

    def _scalar(
        self, data: object, base: object, marks: tuple[object, ...], path: KeyPath
    ) -> object:
        spoken = next((mark for mark in marks if isinstance(mark, SpokenText)), None)
        if spoken and isinstance(data, dict | list):
            with placed(self.document.where(path)):
                return spoken.said(data)
        if isinstance(data, bool):
            return data
        if base is float:
            return self._number(data, marks, path)
        if base is int and isinstance(data, float) and data.is_integer():
            return int(data)  # 8e3 tokens are 8000
        if base is str and isinstance(data, int | float):
            return repr(data)  # a name such as 4090 is text wherever text is expected
        return data

    def _number(self, data: object, marks: tuple[object, ...], path: KeyPath) -> object:
        unit = next((m.symbol for m in marks if isinstance(m, Unit)), "")
        where = self.document.where(path)
        value = located(where, label(path), data, unit) if isinstance(data, str) and unit else data
        if not isinstance(value, int | float):
            return value
        if NEEDS_UNIT in marks and value != 0 and str(data)[-1] in "0123456789.":
            raise InputError(
                f"{label(path)} is {value:g} without a unit",
                where=where,
                expected=f"a quantity such as {people(float(value) * _USUAL[unit], unit)}",
            )
        low = next((m.ge for m in marks if isinstance(m, Ge)), None)
        high = next((m.le for m in marks if isinstance(m, Le)), None)
        if isinstance(low, int | float) and isinstance(high, int | float):
            _plausible(value, unit, (low, high), label(path), where)
        return value


def located(where: Where, name: str, text: str, unit: str) -> float:
    """The SI value of a quantity, its error placed at `where`."""
    try:
        return parse_quantity(text, unit)
    except SpecplanError as error:
        raise InputError(
            f"{name}: {error.what}", where=where, expected=error.expected, hint=error.hint
        ) from None


def _plausible(value: float, unit: str, band: tuple[float, float], name: str, where: Where) -> None:
    low, high = band
    if not low <= value <= high:
        raise InputError(
            f"{name} {value:g} is implausible",
            where=where,
            expected=f"{low:g} to {high:g} {unit}".strip(),
            hint=likely_slip(float(value), unit, low, high) if unit and value > 0 else "",
        )


@cache
def unwrap(hint: object) -> tuple[Any, tuple[object, ...]]:
    """The type under Annotated and `| None`, and the annotations met on the way."""
    marks: tuple[object, ...] = ()
    while True:
        if get_origin(hint) is Annotated:
            hint, *more = get_args(hint)
            marks += tuple(more)
        elif isinstance(hint, types.UnionType) or _optional(hint):
            hint = next(a for a in get_args(hint) if a is not type(None))
        else:
            return hint, marks


def _optional(hint: object) -> bool:
    if get_origin(hint) is Annotated:
        return _optional(get_args(hint)[0])
    return type(None) in get_args(hint) and get_origin(hint) is not Literal
