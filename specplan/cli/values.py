"""Values of single options, read by our own grammar: typer's own takes inf, nan, 1_0 and 1e400."""

from __future__ import annotations

from collections.abc import Callable, Collection

from specplan.cli.complete import COLOURS
from specplan.errors import UsageError, Where, placed, unknown
from specplan.visible import visible

LARGEST = 1e15  # whole numbers beyond are not exact as floats


def number(option: str) -> Callable[[object], float]:
    """Reads a finite number."""

    def read(text: object) -> float:
        from specplan.units import parse_number

        with placed(Where(option)):
            return parse_number(str(text))

    return read


def whole(option: str) -> Callable[[object], int]:
    """Reads a whole number."""

    def read(text: object) -> int:
        value = number(option)(text)
        if value != int(value) or abs(value) > LARGEST:
            what = f"'{visible(str(text), 60)}' is out of reach"
            raise UsageError(what, where=Where(option), expected="a whole number below 1e15")
        return int(value)

    return read


def format_name(text: str) -> str:
    """A format's name, or auto."""
    from specplan.render import FORMATS

    return _one_of("format", text, ("auto", *FORMATS), "--format")


def colour(text: str) -> str:
    """When to colour."""
    return _one_of("colour", text, COLOURS, "--color")


def one_dash(text: str) -> str:
    """Refuses `-tp 4`, as an engine spells it; it would be read as `-t p` and a plan named 4."""
    raise UsageError(f"-tp {text} has one dash too few", hint=f"write --tp {text}")


def _one_of(kind: str, text: str, known: Collection[str], option: str) -> str:
    if text not in known:
        raise unknown(kind, text, known, where=Where(option))
    return text
