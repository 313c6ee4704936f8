"""One value as people read it; machines get the value itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from specplan.domain.answer import Scalar, Table
from specplan.domain.forms import Form, number_text
from specplan.visible import visible

MISSING = "-"

# A column of text repeats few values; looking at each character of each row would cost most.
shown = lru_cache(maxsize=4096)(visible)


def cell_text(value: Scalar, form: Form) -> str:
    """`value` in the manner of its column (`domain.forms`). Text is made visible; what is missing
    is "-".
    """
    if value is None:
        return MISSING
    if isinstance(value, str):
        return shown(value)
    return number_text(value, form)


def rows(table: Table, names: Sequence[str]) -> Iterator[tuple[Scalar, ...]]:
    """The named columns row by row, holding one chunk at a time."""
    for chunk in table.chunks():
        yield from zip(*(chunk[name] for name in names), strict=True)
        del chunk  # or the next one is made while this one is still held
