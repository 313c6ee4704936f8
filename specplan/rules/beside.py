"""What the figures of an accelerator say beside those of others: copies, rates with sparsity."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from specplan.domain.card import Dtype
from specplan.domain.hardware import Hardware
from specplan.rules import Finding, Rule

SAME = 0.05  # between figures of one chip, relative
TWICE_BAND = (1.9, 2.1)  # what 2:4 sparsity makes of a rate
SPARSE_RATES = (Dtype.BF16, Dtype.FP16, Dtype.FP8, Dtype.INT8, Dtype.FP4)

TWIN = Rule(
    id="SC023",
    level="note",
    title="accelerator of two names",
    what="Another card of the vendor has the same rates, bandwidth, memory and link.",
    why="A plan gets the same figures from both; one may be a copy that was to be changed.",
    remedy="Make one an alias of the other if they are one chip.",
)
DOUBLED = Rule(
    id="SC037",
    level="warning",
    title="twice the rate of a card like it",
    what="A rate is 1.9 to 2.1 times that of a card whose bandwidth and memory are the same within "
    "5 %.",
    why="Datasheets print rates with 2:4 sparsity, twice what a dense product reaches; every type "
    "may be doubled alike.",
    remedy="Write dense rates; accept with a reason if the silicon is really so.",
)
BESIDE_RULES = (TWIN, DOUBLED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What is compared of an accelerator; `trusted` figures came with the catalogue."""

    name: str
    vendor: str
    bandwidth: float
    memory: float
    rates: Mapping[Dtype, float]
    trusted: bool


def figures_of(card: Hardware, *, trusted: bool = False) -> Figures:
    """Those of a card."""
    return Figures(
        name=card.name,
        vendor=card.vendor,
        bandwidth=card.bandwidth,
        memory=card.memory,
        rates=card.rates,
        trusted=trusted,
    )


def twins(card: Hardware, others: Iterable[Hardware]) -> Iterator[Finding]:
    """SC023: the others of another name that no plan could tell from this card."""
    alike = {other.name for other in others if _all(other) == _all(card)} - {card.name}
    if alike:
        message = f"same rates, bandwidth, memory and link as {' and '.join(sorted(alike))}"
        yield Finding(TWIN.id, TWIN.level, message, ("name",))


def doubled(card: Hardware, others: Iterable[Figures]) -> Iterator[Finding]:
    """SC037: rates twice those of the nearest card that is like this one otherwise, one of its own
    vendor first; none that a trusted card has too. What was measured has no sparsity.
    """
    if card.measured:
        return
    own = figures_of(card)
    like = sorted(
        (o for o in others if _apart(card, o) <= SAME and replace(o, trusted=False) != own),
        key=lambda o: (o.vendor != card.vendor, _apart(card, o), o.name),
    )
    shared = {
        dtype
        for other in like
        for dtype in _rated(card, other)
        if other.trusted and abs(card.rates[dtype] / other.rates[dtype] - 1) <= SAME
    }
    low, high = TWICE_BAND
    for other in like:
        twice = [
            dtype
            for dtype in _rated(card, other)
            if dtype not in shared and low <= card.rates[dtype] / other.rates[dtype] <= high
        ]
        if twice:
            message = _twice(twice, "the packaged " * (other.name == card.name) + other.name)
            yield Finding(DOUBLED.id, DOUBLED.level, message, ("rates", str(twice[0])))
            return


def _twice(dtypes: list[Dtype], other: str) -> str:
    *first, last = map(str, dtypes)
    like = f"{other}, a card of the same bandwidth and memory"
    if not first:
        return f"{last} rate is twice that of {like}: the rate with sparsity?"
    named = f"{', '.join(first)} and {last}"
    return f"{named} rates are twice those of {like}: the rates with sparsity?"


def _rated(card: Hardware, other: Figures) -> list[Dtype]:
    return [dtype for dtype in SPARSE_RATES if dtype in card.rates and dtype in other.rates]


def _apart(card: Hardware, other: Figures) -> float:
    """How far bandwidth or memory lie apart, relative."""
    return max(
        abs(card.bandwidth / other.bandwidth - 1),
        abs(card.memory / other.memory - 1),
    )


def _all(card: Hardware) -> tuple[object, ...]:
    return card.vendor, card.rates, card.bandwidth, card.memory, card.link
