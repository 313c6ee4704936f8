"""One number as people read it, in the manner of its column; machines get the number itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from specplan.units import people, significant

Form = Literal[
    "text", "count", "times", "number", "precise", "seconds", "bytes", "percent", "flag", "alpha"
]


def number_text(value: float, form: Form) -> str:
    """`value` in the manner of its column: "1.37x", "8,192", "8.78 ms", "79.6 GiB", "23.0 %".

    Percentages are held as fractions, bytes and seconds as such; a truth value is yes or no.
    """
    return _FORMS["flag" if isinstance(value, bool) else form](value)


_PREFIXES = (("P", 1e15), ("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3))


def prefixed(value: float) -> str:
    """A number of an axis in three digits with a decimal prefix: "1.2 T"."""
    for prefix, size in _PREFIXES:
        if abs(value) >= size:
            return f"{value / size:.3g} {prefix}"
    return f"{value:.3g}"


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
