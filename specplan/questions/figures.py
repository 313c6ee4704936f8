"""A figure of a card on its way to people: key, SI value, words, sources, and how sure it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from specplan.domain.answer import Scalar
from specplan.domain.card import Source
from specplan.rules.sources import covering
from specplan.units import parse_quantity, people, significant

DERIVED = "derived"
MISSING = "-"
WEAK = " *"  # after a figure that its card calls weak, or that rests on such a one
_SCALES = {
    "FLOP/s": ((1e12, "TFLOP/s"),),
    "B/s": ((1e12, "TB/s"), (1e9, "GB/s")),
}
_PER_WATT = "/W"
_WHOLE = 1000  # from which fractions are left out
_LEAST = 0.1  # of the largest's unit, in which others are written too
_SPELT = {"FLOP/B", "B/FLOP", "USD/h"}
_COUNTED = {"sequences"}
_UNRELATED = {"year"}  # units whose figures have no ratio


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure: its key in the card (or `derived.` and a name), SI value, and how people read it.

    `sources` holds the numbers of the card's sources that cover it, or the word "derived"; `weak`
    says why it is less certain than others, if it is; `bare` is the text without what follows it.
    """

    key: str
    label: str
    unit: str
    value: Scalar
    text: str
    sources: str
    weak: str | None = None
    bare: str = MISSING


class Fact(NamedTuple):
    """A figure before it is put in words; `more` follows its text, `rests` are keys of the card
    that it is derived from, `said` is its text where the value alone would mislead.
    """

    key: str
    label: str
    unit: str
    value: Scalar
    more: str = ""
    rests: tuple[str, ...] = ()
    said: str = ""


def figures(
    facts: Iterable[Fact], sources: tuple[Source, ...], weak: Mapping[str, str]
) -> list[Figure]:
    """The facts of a card in words."""
    return [_figure(fact, sources, weak) for fact in facts]


def ratio(figure: Figure, first: Figure) -> float | None:
    """A figure over that of the first card, where both are quantities."""
    value, other = figure.value, first.value
    if figure.unit in _UNRELATED or isinstance(value, bool) or isinstance(other, bool):
        return None
    if not isinstance(value, int | float) or not isinstance(other, int | float) or not other:
        return None
    return value / other


def together(line: Sequence[Figure]) -> tuple[str, list[str]]:
    """One figure of several cards: its label with the unit of all of them, and their texts."""
    label, unit = line[0].label, line[0].unit
    values = [abs(f.value) for f in line if isinstance(f.value, int | float) and f.value]
    if not unit or unit in _UNRELATED or not values:
        return label, [f.bare + (WEAK if f.weak else "") for f in line]
    size, spelling = _scale(max(values), unit)
    if min(values) < _LEAST * size:
        size, spelling = _scale(min(values), unit)
    texts = []
    for figure in line:
        value = figure.value
        shown = _scaled(value / size, unit) if isinstance(value, int | float) else MISSING
        texts.append(shown + (WEAK if figure.weak else ""))
    return ", ".join(filter(None, (label, spelling))), texts


def _figure(fact: Fact, sources: tuple[Source, ...], weak: Mapping[str, str]) -> Figure:
    if fact.value is None:
        return Figure(fact.key, fact.label, fact.unit, None, MISSING, _cites(fact.key, sources))
    reason = next(filter(None, (_reason(key, weak) for key in (fact.key, *fact.rests))), None)
    bare = fact.said or _text(fact.value, fact.unit)
    text = bare + fact.more + (WEAK if reason else "")
    cites = _cites(fact.key, sources)
    return Figure(fact.key, fact.label, fact.unit, fact.value, text, cites, reason, bare)


def _reason(key: str, weak: Mapping[str, str]) -> str | None:
    """Why a key is weak: itself or the mapping that it stands in."""
    return weak.get(key) or weak.get(key.partition(".")[0])


def _cites(key: str, sources: tuple[Source, ...]) -> str:
    first, *rest = key.split(".")
    if first == DERIVED:
        return DERIVED
    return " ".join(map(str, covering((first, *rest), sources)))


def _text(value: Scalar, unit: str) -> str:
    """The figure with its unit, in words of its own where it is no number."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, int | float) or unit == "year":
        return str(value)
    return _quantity(value, unit)


def _quantity(value: float, unit: str) -> str:
    """Rates keep all the digits that cards state."""
    if unit in _SCALES:
        size, spelling = _scale(value, unit)
        return f"{value / size:,.6g} {spelling}"
    if unit.endswith(_PER_WATT):
        return f"{people(value, unit.removesuffix(_PER_WATT))} per W"
    if unit in _SPELT:
        return f"{significant(value)} {unit}"
    if unit in _COUNTED:
        return f"{value:,.0f} {unit}"
    if unit == "%":
        return f"{100 * value:.3g} %"
    return people(value, unit) if unit else f"{value:,.0f}"


def _scale(value: float, unit: str) -> tuple[float, str]:
    """The size and the spelling of the unit in which a quantity is written."""
    if unit in _SCALES:
        return next((scale for scale in _SCALES[unit] if value >= scale[0]), _SCALES[unit][-1])
    if unit == "%":
        return 0.01, unit
    if unit in _SPELT or unit in _COUNTED or unit == "W":
        return 1.0, unit
    written = people(value, unit.removesuffix(_PER_WATT)).rpartition(" ")
    spelling = written[2] if written[1] else ""  # tokens have none
    return parse_quantity(f"1 {spelling}".strip(), unit.removesuffix(_PER_WATT)), spelling


def _scaled(value: float, unit: str) -> str:
    """A number beside others in its unit."""
    if unit in _SCALES:
        return f"{value:,.6g}"
    if value >= _WHOLE or unit in _COUNTED:
        return f"{value:,.0f}"
    text = significant(value)
    return text.rstrip("0").removesuffix(".") if "." in text else text
