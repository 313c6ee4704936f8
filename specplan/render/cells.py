"""One value as people read it; machines get the value itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache

from specplan.domain.answer import Form, Scalar, Table
from specplan.units import people, significant
from specplan.visible import visible

MISSING = "-"

# A column of text repeats few values; looking at each character of each row would cost most.
shown = lru_cache(maxsize=4096)(visible)


def _shortest(value: float) -> str:
    return repr(float(value)).removesuffix(".0")


def _count(value: float) -> str:
    return f"{int(value):,}" if value == int(value) else f"{value:,}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if isinstance(value, int) or abs(value) >= 1000 else significant(value)


_FORMS: Mapping[Form, Callable[[float], str]] = {
    "text": _shortest,
    "count": _count,
    "times": lambda value: f"{value:.2f}x",
    "number": _number,
    "precise": lambda value: significant(value, 4),
    "seconds": lambda value: people(value, "s"),
    "bytes": lambda value: people(value, "B"),
    "percent": lambda value: f"{100 * value:.1f} %",
    "flag": lambda value: "yes" if value else "no",
    "alpha": _shortest,
}


def cell_text(value: Scalar, form: Form) -> str:
    """`value` in the manner of its column: "1.37x", "8,192", "8.78 ms", "79.6 GiB", "23.0 %".

    Percentages are held as fractions, bytes and seconds as such. Text is made visible; what is
    missing is "-".
    """
    if value is None:
        return MISSING
    if isinstance(value, str):
        return shown(value)
    return _FORMS["flag" if isinstance(value, bool) else form](value)


def rows(table: Table, names: Sequence[str]) -> Iterator[tuple[Scalar, ...]]:
    """The named columns row by row, holding one chunk at a time."""
    for chunk in table.chunks():
        yield from zip(*(chunk[name] for name in names), strict=True)
        del chunk  # or the next one is made while this one is still held
