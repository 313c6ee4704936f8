"""From a document to a domain object, by the dataclass's own annotations; and its JSON Schema.

First what people write becomes plain SI values (quantities to numbers, one value to a list of
one, plausibility bands checked with words of our own), then pydantic validates it strictly. So
no schema holds an untagged union, and an error is one line at its own column.
"""

from __future__ import annotations

import dataclasses
import json
import types
from collections.abc import Mapping
from enum import Enum
from functools import cache
from typing import (
    Annotated,
    Any,
    Literal,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

from annotated_types import Ge, Le
from pydantic import TypeAdapter, ValidationError

from specplan.catalogue.read import Document, KeyPath
from specplan.domain.card import NEEDS_UNIT, Strict
from specplan.errors import InputError, SpecplanError, Where, did_you_mean
from specplan.units import Unit, likely_slip, parse_quantity, people
from specplan.visible import visible

T = TypeVar("T", bound=Strict)

_SHOWN = 60
_USUAL = {"s": 1e-3, "B": float(2**30)}  # what a bare number most likely means


@cache
def adapter(cls: type[T]) -> TypeAdapter[T]:
    """The validator of a domain class."""
    return TypeAdapter(cls)


@cache
def _hints(cls: type) -> dict[str, Any]:
    return get_type_hints(cls, include_extras=True)


def bind(document: Document, cls: type[T]) -> T:
    """The object that a document describes, or the first thing wrong with it as an InputError."""
    plain = _Reading(document).value(document.data, cls, ())
    try:
        return adapter(cls).validate_json(json.dumps(plain))
    except ValidationError as error:
        raise _explain(document, error) from None


def json_schema(cls: type[Strict]) -> dict[str, object]:
    """The JSON Schema of the YAML files that `bind` reads as this class."""
    schema = _scalars_for_lists(adapter(cls).json_schema())
    assert isinstance(schema, dict)  # noqa: S101 - a mapping stays one
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _scalars_for_lists(schema: object) -> object:
    """A schema in which a list may be written as its only item, as the reader allows."""
    if isinstance(schema, list):
        return [_scalars_for_lists(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: _scalars_for_lists(value) for key, value in schema.items()}
    if inner.get("type") != "array" or "items" not in inner:
        return inner
    outer = {key: inner.pop(key) for key in ("title", "default") if key in inner}
    return {**outer, "anyOf": [inner["items"], inner]}


@dataclasses.dataclass(frozen=True, slots=True)
class _Reading:
    """One document on its way to plain SI data."""

    document: Document

    def value(self, data: object, hint: object, path: KeyPath) -> object:
        """`data` as the field annotated `hint` takes it."""
        base, marks = _unwrap(hint)
        if data is None and _optional(hint):
            return None
        if isinstance(base, type) and dataclasses.is_dataclass(base):
            return self._record(data, base, path)
        origin, arguments = get_origin(base), get_args(base)
        if origin is tuple:
            items = data if isinstance(data, list) else [data]
            return [
                self.value(v, arguments[0], (*path, i)) for i, v in enumerate(items)
            ]
        if origin is dict and isinstance(data, dict):
            self._known(data, arguments[0], path)
            return {k: self.value(v, arguments[1], (*path, k)) for k, v in data.items()}
        if base is float:
            return self._number(data, marks, path)
        if base is str and isinstance(data, int | float) and not isinstance(data, bool):
            return repr(data)  # a name such as 4090 is text wherever text is expected
        return data

    def _record(self, data: object, cls: type, path: KeyPath) -> object:
        if not isinstance(data, dict):
            raise InputError(
                f"{_label(path)} is no mapping",
                where=self.document.where(path),
                expected=f"keys such as {', '.join(list(_hints(cls))[:4])}",
            )
        hints = {f.name: _hints(cls)[f.name] for f in dataclasses.fields(cls)}
        for key in data:
            if key not in hints:
                raise self._unknown(key, list(hints), path)
        return {k: self.value(v, hints[k], (*path, k)) for k, v in data.items()}

    def _known(
        self, data: Mapping[str, object], key_type: object, path: KeyPath
    ) -> None:
        """Refuses keys outside a closed set, with the nearest member."""
        if isinstance(key_type, type) and issubclass(key_type, Enum):
            members = [str(member.value) for member in key_type]
            for key in data:
                if key not in members:
                    raise self._unknown(key, members, path)

    def _unknown(self, key: str, known: list[str], path: KeyPath) -> InputError:
        parent = f" in {_label(path)}" if path else ""
        guess = did_you_mean(key, known)
        return InputError(
            f"unknown key '{visible(key, _SHOWN)}'{parent}",
            where=self.document.where((*path, key), key=True),
            expected="" if guess else f"one of {', '.join(known)}",
            hint=guess,
        )

    def _number(self, data: object, marks: tuple[object, ...], path: KeyPath) -> object:
        unit = next((m.symbol for m in marks if isinstance(m, Unit)), "")
        where = self.document.where(path)
        value = data
        if unit and isinstance(data, str):
            value = located(where, _label(path), data, unit)
        elif NEEDS_UNIT in marks and isinstance(data, int | float) and data != 0:
            raise InputError(
                f"{_label(path)} is {data:g} without a unit",
                where=where,
                expected=f"a quantity such as {people(float(data) * _USUAL[unit], unit)}",
            )
        if isinstance(value, bool) or not isinstance(value, int | float):
            return value
        low = next((m.ge for m in marks if isinstance(m, Ge)), None)
        high = next((m.le for m in marks if isinstance(m, Le)), None)
        if isinstance(low, int | float) and isinstance(high, int | float):
            _plausible(value, unit, float(low), float(high), _label(path), where)
        return value


def located(where: Where, label: str, text: str, unit: str) -> float:
    """The SI value of a quantity, its error placed at `where`."""
    try:
        return parse_quantity(text, unit)
    except SpecplanError as error:
        raise InputError(
            f"{label}: {error.what}",
            where=where,
            expected=error.expected,
            hint=error.hint,
        ) from None


def _plausible(
    value: float, unit: str, low: float, high: float, label: str, where: Where
) -> None:
    if low <= value <= high:
        return
    slip = likely_slip(float(value), unit, low, high) if unit and value > 0 else ""
    raise InputError(
        f"{label} {value:g} is implausible",
        where=where,
        expected=f"{low:g} to {high:g} {unit}".strip(),
        hint=slip,
    )


def _unwrap(hint: object) -> tuple[Any, tuple[object, ...]]:
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


def _label(path: KeyPath) -> str:
    """The last named key of a path, as messages call it."""
    return next(
        (visible(part, _SHOWN) for part in reversed(path) if isinstance(part, str)),
        "file",
    )


def _explain(document: Document, error: ValidationError) -> InputError:
    """The first of pydantic's complaints in our form; it never quotes what a file holds at length."""
    first = error.errors(include_url=False, include_context=True)[0]
    path: KeyPath = first["loc"]
    label, kind, context = _label(path), first["type"], first.get("ctx", {})
    shown = visible(repr(first["input"]), _SHOWN)
    where = document.where(path, key=kind.startswith("missing"))
    if kind == "missing":
        return InputError(f"missing key '{label}'", where=document.where(path[:-1]))
    if kind in {"literal_error", "enum"}:
        return InputError(
            f"{label} {shown} is not known", where=where, expected=context["expected"]
        )
    if kind == "string_pattern_mismatch":
        return InputError(
            f"{label} {shown} is malformed",
            where=where,
            expected=f"text like {context['pattern']}",
        )
    bounds = {
        "greater_than_equal": ("ge", "at least"),
        "less_than_equal": ("le", "at most"),
    }
    if kind in bounds:
        name, words = bounds[kind]
        return InputError(
            f"{label} {shown} is out of range",
            where=where,
            expected=f"{words} {context[name]:g}",
        )
    words = first["msg"].removeprefix("Input should be ")
    return InputError(f"{label} {shown} does not fit", where=where, expected=words)
