"""A picture in words that the stream can carry, before it is laid out by their width."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import TypeVar

from specplan.render.cells import shown
from specplan.render.look import Look

T = TypeVar("T")


def spoken(value: T, look: Look) -> T:
    """The same with every text visible and, for a stream without Unicode, in ASCII."""
    if isinstance(value, str):
        text = shown(value)
        return text if look.unicode else text.encode("ascii", "backslashreplace").decode("ascii")  # type: ignore[return-value]
    if isinstance(value, tuple):
        return tuple(spoken(one, look) for one in value)  # type: ignore[return-value]
    if is_dataclass(value) and not isinstance(value, type):
        told = {field.name: spoken(getattr(value, field.name), look) for field in fields(value)}
        return replace(value, **told)
    return value
