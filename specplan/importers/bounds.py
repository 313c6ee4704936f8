"""Whether a card made of foreign figures is one that could be read back: the bounds of its fields.

The catalogue checks them when it reads a file; a report makes cards that no file ever holds.
"""

from __future__ import annotations

import re
import types
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from annotated_types import Ge, Le, MaxLen, MinLen

from specplan.domain.card import Pattern
from specplan.errors import InputError
from specplan.visible import visible

_SHOWN = 40


def fits(record: object, path: str = "") -> None:
    """Refuses the first field, however deep, that lies outside what its annotation allows."""
    if is_dataclass(record) and not isinstance(record, type):
        marks = _marks(type(record))
        for field in fields(record):
            value, name = getattr(record, field.name), f"{path}{field.name}"
            if value is not None:
                for mark in marks[field.name]:
                    _held(value, mark, name)
                fits(value, f"{name}.")
    elif isinstance(record, tuple):
        for each in record:
            fits(each, path)


def _held(value: Any, mark: object, name: str) -> None:  # noqa: ANN401
    expected = ""
    if isinstance(mark, Ge) and value < mark.ge:
        expected = f"at least {mark.ge:,}"
    elif isinstance(mark, Le) and value > mark.le:
        expected = f"at most {mark.le:,}"
    elif isinstance(mark, MinLen) and len(value) < mark.min_length:
        expected = f"at least {mark.min_length} of them"
    elif isinstance(mark, MaxLen) and len(value) > mark.max_length:
        expected = f"at most {mark.max_length} of them"
    elif isinstance(mark, Pattern) and not re.match(mark, value):
        expected = f"{mark}"
    if expected:
        shown = f"{value:,}" if isinstance(value, int | float) else repr(value)
        raise InputError(f"{name} would be {visible(shown, _SHOWN)}", expected=expected)


@cache
def _marks(kind: type) -> dict[str, tuple[object, ...]]:
    """The bounds of each field of a dataclass, those of its items left out."""
    hints = get_type_hints(kind, include_extras=True)
    return {name: tuple(_of(hint)) for name, hint in hints.items()}


def _of(hint: Any) -> Iterator[object]:  # noqa: ANN401
    if get_origin(hint) is Annotated:
        inner, *marks = get_args(hint)
        yield from marks
        yield from _of(inner)
    elif get_origin(hint) in {Union, types.UnionType}:
        for each in get_args(hint):
            yield from _of(each)
