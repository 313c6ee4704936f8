"""The JSON Schema of a kind of file, from the annotations by which `schema` reads it."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from typing import Any, get_args, get_origin

from pydantic.json_schema import GenerateJsonSchema

from specplan.catalogue.schema import SCHEMAS, WHOLE, adapter, header_of, hints_of, unwrap
from specplan.domain.card import NEEDS_UNIT, Strict
from specplan.errors import unknown


def json_schema(cls: type[Strict]) -> dict[str, object]:
    """The JSON Schema of the YAML files that `bind` reads as this class."""
    top: type = cls
    header = header_of(top)
    plain = adapter(cls).json_schema(schema_generator=_Untitled)
    for record in _records(top):
        inner = plain if record is top else plain["$defs"][record.__name__]
        for name, hint in hints_of(record).items():
            base, marks = unwrap(hint)
            if NEEDS_UNIT in marks:
                inner["properties"][name]["anyOf"] = list(map(_with_unit, _arms(inner, name)))
            if get_origin(base) is dict and get_args(base)[0] is int:
                inner["properties"][name]["propertyNames"] = {"pattern": WHOLE}
    schema = _scalars_for_lists(plain)
    assert isinstance(schema, dict)  # noqa: S101 - a mapping stays one
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:specplan:{header.replace('/', ':')}",
        **schema,
        "title": f"specplan {header}",
    }


def schema_text(kind: str) -> str:
    """The JSON Schema of a kind of file as committed and printed: indented ASCII, keys in order."""
    if kind not in SCHEMAS:
        raise unknown("kind", kind, SCHEMAS)
    return json.dumps(json_schema(SCHEMAS[kind]), indent=2, allow_nan=False) + "\n"


class _Untitled(GenerateJsonSchema):
    """Without titles that only repeat the key in capitals."""

    def field_title_should_be_set(self, schema: object) -> bool:  # noqa: ARG002
        """Never."""
        return False


def _arms(schema: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """The alternatives of a property."""
    arms: list[dict[str, Any]] = schema["properties"][name]["anyOf"]
    return arms


def _with_unit(arm: dict[str, Any]) -> dict[str, Any]:
    """One way to write a quantity whose key does not say its unit: of bare numbers only 0."""
    if arm.get("type") == "number":
        return {"const": 0}
    if "pattern" in arm:
        return {**arm, "pattern": arm["pattern"].removesuffix("?$") + "$"}
    return arm


def _records(hint: object) -> Iterator[type]:
    """Every dataclass that a value of this type can hold, the type itself included."""
    base = unwrap(hint)[0]
    if isinstance(base, type) and dataclasses.is_dataclass(base):
        yield base
        for field in hints_of(base).values():
            yield from _records(field)
    for argument in get_args(base) if get_origin(base) in {tuple, dict} else ():
        yield from _records(argument)


def _scalars_for_lists(schema: object) -> object:
    """A schema in which a list may be written as its only item, as the reader allows."""
    if isinstance(schema, list):
        return [_scalars_for_lists(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: _scalars_for_lists(value) for key, value in schema.items()}
    if inner.get("type") != "array" or "items" not in inner:
        return inner
    outer = {"default": inner.pop("default")} if "default" in inner else {}
    return {**outer, "anyOf": [inner["items"], inner]}
