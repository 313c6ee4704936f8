"""Values of single options, read by our own grammar: typer's own takes inf, nan, 1_0 and 1e400."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple

from specplan.cli.complete import COLOURS
from specplan.errors import SpecplanError, UsageError, Where, placed, unknown
from specplan.visible import visible

_POWERS = {"K": 3, "M": 6, "B": 9, "T": 12}
_LONG = {"min": 60.0, "h": 3600.0, "d": 86400.0}
_FEWEST = 1e5  # parameters of a model
LARGEST = 1e15  # whole numbers beyond are not exact as floats


def number(option: str) -> Callable[[object], float]:
    """Reads a finite number."""

    def read(text: object) -> float:
        from specplan.units import parse_number

        with placed(Where(option)):
            return parse_number(str(text))

    return read


def share(option: str) -> Callable[[object], float]:
    """Reads a share: more than 0, at most 1."""

    def read(text: object) -> float:
        value = number(option)(text)
        if not 0 < value <= 1:
            what = f"'{visible(str(text), 60)}' is no share"
            raise UsageError(what, where=Where(option), expected="more than 0 and at most 1")
        return value

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


def quantity(option: str, unit: str, low: float, high: float) -> Callable[[object], float]:
    """Reads a quantity with its unit; `low` to `high` is what such a thing may be in SI."""

    def read(text: object) -> float:
        from specplan.units import likely_slip, parse_quantity

        with placed(Where(option)):
            value = parse_quantity(str(text), unit)
            slip = likely_slip(value, unit, low, high) if str(text)[-1:].isdigit() else ""
            if slip:
                raise UsageError(f"'{visible(str(text), 60)}' has no unit", hint=slip)
            if value <= 0:
                raise UsageError(f"'{visible(str(text), 60)}' is not above 0")
        return value

    return read


def per_second(option: str) -> Callable[[object], float]:
    """Reads a rate, which has a unit: 50/s; 50 a minute is another one."""

    def read(text: object) -> float:
        from specplan.units import parse_quantity

        written = str(text).strip()
        with placed(Where(option)):
            value = parse_quantity(written, "1/s")
            if written[-1:] != "s":
                what = f"'{visible(written, 60)}' has no unit"
                raise UsageError(what, hint=f"write {visible(written, 60)}/s")
            if value <= 0:
                raise UsageError(f"'{visible(written, 60)}' is not above 0")
        return value

    return read


def duration(option: str) -> Callable[[object], float]:
    """Reads a time, which has a unit: 8.8ms is as likely as 8.8 s."""

    def read(text: object) -> float:
        written = str(text).strip()
        with placed(Where(option)):
            if written[-1:].isdigit():
                what = f"'{visible(written, 60)}' has no unit"
                raise UsageError(what, expected="a time such as 8.8ms or 0.3 s")
            value = seconds_of(written)
            if value <= 0:
                raise UsageError(f"'{visible(written, 60)}' is not above 0")
            if value == float("inf"):
                raise UsageError(f"'{visible(written, 60)}' is beyond any number")
        return value

    return read


def seconds_of(text: str) -> float:
    """The seconds of a time with a unit, up to days: 30ms, 90s, 10 min, 1h."""
    from specplan.units import parse_number, parse_quantity

    unit = next((unit for unit in _LONG if text.endswith(unit)), "")
    if unit:
        return parse_number(text.removesuffix(unit).strip()) * _LONG[unit]
    return parse_quantity(text, "s")


def parameters(option: str) -> Callable[[object], float]:
    """Reads a count of parameters: 70B, 500M, 8e9."""

    def read(text: object) -> float:
        from specplan.units import parse_number

        written = str(text).strip()
        power = _POWERS.get(written[-1:].upper(), 0)
        expected = "parameters such as 70B, 500M or 8e9"
        try:
            value = parse_number(written[:-1] if power else written) * 10.0**power
        except SpecplanError:
            what = f"'{visible(written, 60)}' is no number of parameters"
            raise UsageError(what, where=Where(option), expected=expected) from None
        if value < _FEWEST:
            what = f"{value:g} parameters are no model"
            hint = f"write {written}B" if value > 0 and not power else ""
            raise UsageError(what, where=Where(option), expected=expected, hint=hint)
        return value

    return read


def tokens(option: str) -> Callable[[object], float]:
    """Reads one number of tokens; 128k is 131072."""

    def read(text: object) -> float:
        from specplan.units import parse_axis

        with placed(Where(option)):
            values = parse_axis(str(text), tokens=True)
            if len(values) != 1:
                raise UsageError(f"one number, not {len(values)}", expected="such as 128k")
            if values[0] < 1:
                raise UsageError(f"{values[0]:g} tokens are no context", expected="such as 128k")
        return values[0]

    return read


class Years(NamedTuple):
    """The first and the last year; None where that end is open."""

    since: int | None = None
    until: int | None = None


def years(option: str) -> Callable[[object], Years]:
    """Reads a year, or the first and last of several, either left out: 2023, 2023:, 2020:2023."""

    def read(text: object) -> Years:
        first, colon, last = str(text).strip().partition(":")
        said = [end.strip() for end in ((first, last) if colon else (first, first))]
        if not any(said) or not all(len(y) == 4 and y.isdecimal() for y in said if y):
            what = f"'{visible(str(text), 60)}' is no year"
            raise UsageError(what, where=Where(option), expected="2023, 2023: or 2020:2023")
        since, until = (int(year) if year else None for year in said)
        if since and until and since > until:
            hint = f"write {until}:{since}"
            raise UsageError(f"the years {since}:{until} fall", where=Where(option), hint=hint)
        return Years(since, until)

    return read


def word(kind: str, known: Collection[str], option: str) -> Callable[[object], str]:
    """Reads one of a few words."""
    return lambda text: _one_of(kind, str(text).lower(), known, option)


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
