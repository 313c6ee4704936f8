"""How long prompts and outputs are, as a law: one length, a few known shapes, or a table.

As text: 4000, lognormal:1200,0.9 (mean, and standard deviation of the logarithm), uniform:100,200
(ends), exponential:500 (mean). Lengths are tokens, never fewer than one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from specplan.errors import SpecplanError, UsageError, unknown
from specplan.units import parse_axis, parse_number
from specplan.visible import visible

MOST_TOKENS: Final = 100_000_000
MOST_SIGMA: Final = 5.0
FORMS: Final = (
    "4000, lognormal:MEAN,SIGMA, uniform:LOW,HIGH, exponential:MEAN or a file of a distribution"
)


@dataclass(frozen=True, slots=True)
class Fixed:
    """All are so long."""

    tokens: float


@dataclass(frozen=True, slots=True)
class Uniform:
    """Every length between two ends is as likely."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Exponential:
    """Memoryless, with this mean."""

    mean: float


@dataclass(frozen=True, slots=True)
class Lognormal:
    """With this mean; `sigma` is the standard deviation of the natural logarithm."""

    mean: float
    sigma: float


@dataclass(frozen=True, slots=True)
class Tabled:
    """A cumulative distribution: the share `cumulative[i]` of the requests has at most `tokens[i]`
    tokens, and between two of the points lengths are spread evenly. Both rise; the last share is 1.
    """

    tokens: Sequence[float]
    cumulative: Sequence[float]
    source: str = ""


Law = Fixed | Uniform | Exponential | Lognormal | Tabled


def is_law(text: str) -> bool:
    """Whether a text is meant as a law, and not as the name of a file."""
    kind, colon, _ = text.strip().partition(":")
    return (bool(colon) and kind.lower() in _KINDS) or _starts_as_number(text.strip())


def law_of(text: str) -> Law:
    """The law that a text names; one that fits nothing is refused with the forms there are."""
    written = text.strip()
    kind, colon, figures = written.partition(":")
    if not colon:
        return Fixed(_tokens(written))
    made = _KINDS.get(kind.lower())
    if made is None:
        raise unknown("law of lengths", visible(kind, 40), _KINDS, hint=f"write {FORMS}")
    return made([each.strip() for each in figures.split(",")], written)


def _lognormal(figures: list[str], written: str) -> Law:
    mean, sigma = _two(figures, written, "lognormal:1200,0.9, the mean and the sigma of the log")
    value = parse_number(sigma)
    if not 0 <= value <= MOST_SIGMA:
        raise UsageError(f"sigma {value:g} is out of range", expected=f"0 to {MOST_SIGMA:g}")
    return Lognormal(_tokens(mean), value) if value else Fixed(_tokens(mean))


def _uniform(figures: list[str], written: str) -> Law:
    low, high = map(_tokens, _two(figures, written, "uniform:100,200, the ends"))
    if low > high:
        raise UsageError(f"'{visible(written, 60)}' falls", hint="write the lower end first")
    return Uniform(low, high) if high > low else Fixed(low)


def _exponential(figures: list[str], written: str) -> Law:
    if len(figures) != 1:
        what = f"'{visible(written, 60)}' has {len(figures)} figures"
        raise UsageError(what, expected="exponential:500, the mean")
    return Exponential(_tokens(figures[0]))


_KINDS: Final[dict[str, Callable[[list[str], str], Law]]] = {
    "exponential": _exponential,
    "lognormal": _lognormal,
    "uniform": _uniform,
}


def _two(figures: list[str], written: str, expected: str) -> tuple[str, str]:
    if len(figures) != 2:
        what = f"'{visible(written, 60)}' has {len(figures)} figure{'s' * (len(figures) != 1)}"
        raise UsageError(what, expected=expected)
    return figures[0], figures[1]


def _tokens(text: str) -> float:
    try:
        values = parse_axis(text, tokens=True)
    except SpecplanError as error:
        what = f"'{visible(text, 60)}' is no number of tokens"
        raise UsageError(what, expected=FORMS, hint=error.hint) from None
    if len(values) != 1:
        raise UsageError(f"'{visible(text, 60)}' is {len(values)} lengths", expected=FORMS)
    if not 1 <= values[0] <= MOST_TOKENS:
        what = f"{values[0]:g} tokens are out of range"
        raise UsageError(what, expected=f"1 to {MOST_TOKENS:,}")
    return values[0]


def _starts_as_number(text: str) -> bool:
    try:
        return math.isfinite(parse_axis(text, tokens=True)[0])
    except SpecplanError:
        return False
