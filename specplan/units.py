"""Quantities and axes as people write them, to and from SI.

Inside the program every number is SI base (bytes, FLOP, seconds, watts, tokens) as float64; a unit
exists only in text and in the annotation of a domain field. GB is 1e9, GiB is 2^30; no spelling
stands for both, and an operation of an integer rate (OP/s) counts as a FLOP.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Context, Decimal
from functools import partial
from typing import NamedTuple

from specplan.errors import InputError

MAX_CHARACTERS = 64
MAX_AXIS_VALUES = 100_000
AXIS_FORMS = "a number, a list 1,16, or a range 1:8, 0.5:0.95:0.05, 1:256:x2"

_ECHOED = 60  # characters of a wrong text that an error repeats

# At most three exponent digits keep every Decimal cheap; all that a float can hold needs no more.
_NUMBER = r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?"
# 64 typed digits times 2^50 stay exact; what a long geometric range rounds is far below a float.
_EXACT = Context(prec=160, traps=[])
# Nobody writes 1e-05 EB/s or 3e+15 ns; such a value went wrong in another way than by its prefix.
_LEAST_WRITTEN, _MOST_WRITTEN = 0.01, 1e7
_USUAL = {"FLOP/s": 1e14}  # an accelerator's; the band of rates reaches down to one CPU core

_ONE = {"": Decimal(1)}
_DECIMAL = _ONE | {prefix: Decimal(1000) ** n for n, prefix in enumerate("kMGTPE", 1)}
_BINARY = {f"{prefix}i": Decimal(1024) ** n for n, prefix in enumerate("KMGTP", 1)}
_SMALL = _ONE | {"m": Decimal("1e-3"), "u": Decimal("1e-6"), "n": Decimal("1e-9")}


class _Kind(NamedTuple):
    """How one unit is written: an example, every spelling with its SI value, those we print."""

    example: str
    spellings: dict[str, Decimal]
    printed: tuple[str, ...]

    @property
    def pattern(self) -> str:
        """The regular expression, in Python and in JSON Schema, of what may be written."""
        return f"^({_NUMBER})(?: *({'|'.join(self.spellings)}))?$"


def _kind(example: str, prefixes: dict[str, Decimal], *names: str, printed: str) -> _Kind:
    spellings = {prefix + name: prefixes[prefix] for name in names for prefix in prefixes}
    return _Kind(example, spellings, (*(p + names[0] for p in printed.split()), names[0]))


_KINDS = {
    "B": _kind("80 GiB or 80 GB", _DECIMAL | _BINARY, "B", printed="Pi Ti Gi Mi Ki"),
    "B/s": _kind("3.35 TB/s", _DECIMAL | _BINARY, "B/s", printed="E P T G M k"),
    "FLOP/s": _kind("989 TFLOP/s", _DECIMAL, "FLOP/s", "OP/s", printed="E P T G M k"),
    "s": _Kind("30ms or 2 s", {f"{p}s": _SMALL[p] for p in _SMALL}, ("s", "ms", "us", "ns")),
    "W": _kind("700 W", _ONE | {"k": Decimal(1000)}, "W", printed="k"),
    "1/s": _kind("50/s", _ONE, "/s", printed=""),
    "tokens": _Kind(
        "2048 or 8k", {"tokens": Decimal(1), "k": Decimal(1024), "M": Decimal(1024**2)}, ()
    ),
    "USD/h": _kind("3.8 USD/h", _ONE, "USD/h", printed=""),
}


@dataclass(frozen=True, slots=True)
class Unit:
    """The SI unit of a domain field: `Annotated[float, Unit("B/s"), Ge(1e9), Le(1e14)]`."""

    symbol: str

    def __post_init__(self) -> None:
        if self.symbol not in _KINDS:
            raise ValueError(f"no unit '{self.symbol}'; units are {', '.join(_KINDS)}")

    def __get_pydantic_json_schema__(
        self, core_schema: object, handler: Callable[[object], dict[str, object]]
    ) -> dict[str, object]:
        """The JSON Schema of what a card may hold: the bounded SI number, or a quantity as text."""
        kind = _KINDS[self.symbol]
        text = {
            "type": "string",
            "pattern": kind.pattern,
            "maxLength": MAX_CHARACTERS,
            "description": f"such as {kind.example}",
        }
        return {"anyOf": [handler(core_schema), text]}


def parse_quantity(text: str, unit: str) -> float:
    """The SI value, rounded once, of "3.35 TB/s", "80 GiB", "30ms", or of a bare SI number."""
    kind = _KINDS[unit]
    match = re.fullmatch(kind.pattern, text) if len(text) <= MAX_CHARACTERS else None
    if match is None:
        raise _not_a_quantity(text, kind)
    number, spelling = match.groups()
    factor = kind.spellings[spelling] if spelling else Decimal(1)
    return _finite(_EXACT.multiply(Decimal(number), factor), text)


def parse_number(text: str) -> float:
    """The finite float of a plain decimal number: no unit, underscore, comma, inf, nan or hex."""
    expected = "a plain number such as 0.7 or 3.35e12"
    return _finite(_read(text, expected, tokens=False, whole=False), text)


def parse_axis(text: str, *, tokens: bool = False, whole: bool = False) -> tuple[float, ...]:
    """The values of "1,16", "1:8", "0.5:0.95:0.05" or "1:256:x2", in order, repeats dropped.

    A range holds both its ends even when the step misses the last one. Steps are exact decimals,
    so each value is the float nearest to the decimal meant. With `tokens`, 8k is 8192 and 1M is
    1048576; with `whole`, fractions are refused.
    """
    forms = AXIS_FORMS + (", with 8k for 8192" if tokens else "")
    read = partial(_read, expected=forms, tokens=tokens, whole=whole)
    values: list[float] = []
    for item in text.split(","):
        if not all(part.strip() for part in item.split(":")):
            raise InputError(f"{_shown(text)} has an empty item", expected=forms)
        span = _span(item.strip(), read)
        values.extend(_finite(value, item.strip()) for value in span)
        if len(values) > MAX_AXIS_VALUES:
            raise _too_many(text)
    return tuple(dict.fromkeys(values))


def likely_slip(value: float, unit: str, low: float, high: float) -> str:
    """What a value outside [low, high] was probably meant as, or "" when no prefix explains it.

    Of the prefixes that bring it into the band, the one nearest to what is usual, or else to the
    band's geometric middle.
    """
    spellings = _KINDS[unit].spellings
    if low <= value <= high or not _LEAST_WRITTEN <= value <= _MOST_WRITTEN:
        return ""
    usual = math.log(_USUAL.get(unit) or (math.sqrt(low) * math.sqrt(high) if low > 0 else high))
    meant = {s: value * float(spellings[s]) for s in _KINDS[unit].printed if spellings[s] != 1}
    fits = [spelling for spelling, scaled in meant.items() if low <= scaled <= high]
    if not fits:
        return ""
    best = min(fits, key=lambda spelling: abs(math.log(meant[spelling]) - usual))
    shown = repr(float(value)).removesuffix(".0")
    if unit == "B":
        decimal = "kB" if best == "KiB" else best.replace("i", "")
        return f"{shown} looks like {best} or {decimal}; write the unit"
    return f"{shown} looks like {best}; write {shown} {best}"


def significant(value: float, digits: int = 3) -> str:
    """The value at so many significant digits, zeros kept; in scientific notation only below 1e-12,
    where zeros would be all that is seen.
    """
    rounded = f"{value:.{digits - 1}e}"
    if 0 < abs(value) < 1e-12:
        return rounded
    return f"{Decimal(rounded):,f}" if value else "0"


def people(value: float, unit: str, digits: int = 3) -> str:
    """The value at three significant digits with the prefix that suits it: "79.6 GiB", "0.71 ms".

    Bytes take binary prefixes, rates decimal ones; whole tokens are written out. Zeros that only
    fill up the digits are left out.
    """
    if unit == "tokens":
        return f"{value:,.0f}" if float(value).is_integer() else significant(value, digits)
    kind = _KINDS[unit]
    scaled = {s: value / float(kind.spellings[s]) for s in kind.printed}
    # 0.71 ms among passes of several ms reads better than 710 us.
    least = {"ms": 0.1, "us": 0.1}
    fits = [
        s
        for s in kind.printed
        if abs(float(f"{scaled[s]:.2e}")) >= least.get(s, 1.0)
        or (value == 0 and kind.spellings[s] == 1)
    ]
    spelling = fits[0] if fits else kind.printed[-1]
    number = significant(scaled[spelling], digits)
    if "." in number:
        number = number.rstrip("0").removesuffix(".")
    return f"{number}{spelling}" if unit == "1/s" else f"{number} {spelling}"


def _read(text: str, expected: str, *, tokens: bool, whole: bool) -> Decimal:
    """The exact value of one number, signed, with k and M when it counts tokens."""
    suffixes = {"k": 1024, "K": 1024, "M": 1024**2} if tokens else {}
    pattern = rf"([+-]?{_NUMBER})({'|'.join(suffixes)})?"
    match = re.fullmatch(pattern, text) if len(text) <= MAX_CHARACTERS else None
    if match is None:
        raise InputError(f"{_shown(text)} is not a number", expected=expected, hint=_meant(text))
    number, suffix = match.groups()
    value = _EXACT.multiply(Decimal(number), Decimal(suffixes.get(suffix, 1)))
    if whole and value != value.to_integral_value():
        raise InputError(f"{_shown(text)} is a fraction", expected="a whole number")
    return value


def _meant(text: str) -> str:
    """What text that looks like a number, but is none, most likely stands for."""
    if len(text) > MAX_CHARACTERS:
        return ""
    if match := re.fullmatch(rf"({_NUMBER}) ?%", text):
        return f"write {float(match[1]) / 100:g}"
    if match := re.fullmatch(rf"({_NUMBER}) ?(?:-|\.\.\.?|to) ?({_NUMBER})", text):
        return f"write {match[1]}:{match[2]}"
    if match := re.fullmatch(rf"({_NUMBER}) ?(?:\+/-|\u00b1) ?({_NUMBER})", text):
        return f"write {match[1]}+-{match[2]}"
    return ""


def _span(item: str, read: Callable[[str], Decimal]) -> Iterator[Decimal]:
    """The values of one number, `first:last[:step]` or `first:last:xfactor`, both ends included."""
    first_text, is_range, rest = item.partition(":")
    last_text, _, step_text = rest.partition(":")
    first = read(first_text.strip())
    last = read(last_text.strip()) if is_range else first
    factor = step_text.strip().startswith("x")
    step = read(step_text.strip().removeprefix("x")) if step_text else Decimal(1)
    if last < first:
        raise InputError(f"the range {_shown(item)} falls", hint="write the lower end first")
    if factor and (step <= 1 or first <= 0):
        what = f"the range {_shown(item)} never reaches its end"
        raise InputError(what, expected="a first value above 0 and a factor above 1")
    if step <= 0:
        raise InputError(f"the range {_shown(item)} does not rise", expected="a step above 0")
    if factor:
        steps = _EXACT.divide(_EXACT.ln(_EXACT.divide(last, first)), _EXACT.ln(step))
    else:
        steps = _EXACT.divide(_EXACT.subtract(last, first), step)
    if steps >= MAX_AXIS_VALUES:
        raise _too_many(item)
    return _stepped(first, last, step, factor=factor)


def _stepped(first: Decimal, last: Decimal, step: Decimal, *, factor: bool) -> Iterator[Decimal]:
    value = first
    while value < last:
        yield value
        value = _EXACT.multiply(value, step) if factor else _EXACT.add(value, step)
    yield last


def _finite(value: Decimal, text: str) -> float:
    number = float(value) + 0.0  # no negative zero
    if math.isinf(number):
        raise InputError(f"{_shown(text)} is too large", expected="a finite number")
    return number


def _too_many(text: str) -> InputError:
    return InputError(
        f"{_shown(text)} has more than {MAX_AXIS_VALUES:,} values", hint="take a larger step or x2"
    )


def _shown(text: str) -> str:
    return repr(text if len(text) <= _ECHOED else text[: _ECHOED - 3] + "...")


def _not_a_quantity(text: str, kind: _Kind) -> InputError:
    """The error for text that the unit's pattern refuses, with the spelling it comes nearest."""
    expected = f"a quantity such as {kind.example}"
    if len(text) > MAX_CHARACTERS:
        what = f"{_shown(text)} is longer than {MAX_CHARACTERS} characters"
        return InputError(what, expected=expected)
    match = re.fullmatch(rf"({_NUMBER}) *([^\W\d_]*/?[^\W\d_]+)", text)
    if match is None:
        hint = "write digits without , or _" if re.match(r"[0-9]+[,_][0-9]", text) else ""
        return InputError(f"{_shown(text)} is not a quantity", expected=expected, hint=hint)
    number, written = match.groups()
    near = [s for s in kind.spellings if _letters(s) == _letters(written)]
    lower = re.fullmatch("[kmgtp]i?b", written)  # typed without shift: nobody counts memory in bits
    bits = "b" in re.sub("(?i)bytes?", "", written) and not lower
    asked = "b means bits; for bytes write '{}'" if bits else "did you mean '{}'?"
    hint = asked.format(f"{number} {near[0]}") if near else ""
    what = f"{_shown(text)} has an unknown unit '{written}'"
    return InputError(what, expected=expected, hint=hint)


def _letters(unit: str) -> str:
    """A spelling without case, punctuation and the ways to write "per": TBps and TB/s agree."""
    plain = unit.casefold().replace("\u03bc", "u")
    for pattern, letters in (("bytes?|bits?", "b"), ("sec(onds?)?", "s"), ("watts?", "w")):
        plain = re.sub(pattern, letters, plain)
    return re.sub("(?<=b)ps$|(?<=[bp])/?s$|(?<=usd)/?h(r|ours?)?$", "", plain)
