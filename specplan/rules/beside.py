"""What the figures of an accelerator say beside those of others: copies, factors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from specplan.domain.card import Dtype
from specplan.domain.hardware import Hardware
from specplan.rules import Finding, KeyPath, Rule

SAME = 0.05  # between figures of one chip, relative
TWICE_BAND = (1.9, 2.1)  # what 2:4 sparsity makes of a rate
EXACT = 0.005  # what rounding leaves of a link that is just twice another
NEAR_BAND = (0.5, 2.0)  # bandwidths, and fp32 rates, of chips that are alike otherwise
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
    title="figure unlike that of a card like it",
    what="A rate is 1.9 to 2.1 times that of a card of the same bandwidth and memory within 5 %; "
    "or bandwidth, fp32 rate or link are off by a factor where all else is the same.",
    why="Datasheets print rates with 2:4 sparsity, twice what a dense product reaches, and links "
    "both ways together; prefixes slip.",
    remedy="Write dense rates, bytes per second, and a link per direction; accept with a reason if "
    "the silicon is really so.",
)
BESIDE_RULES = (TWIN, DOUBLED)
_BESIDE: dict[str, tuple[str, KeyPath]] = {
    "bandwidth": ("rates and memory", ("bandwidth",)),
    "fp32 rate": ("16-bit rate, bandwidth and memory", ("rates", "fp32")),
}
"""What is the same of a card that a figure is compared with, and where the figure is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What is compared of an accelerator; `trusted` figures came with the catalogue."""

    name: str
    vendor: str
    bandwidth: float
    memory: float
    link: float | None
    rates: Mapping[Dtype, float]
    trusted: bool


def figures_of(card: Hardware, *, trusted: bool = False) -> Figures:
    """Those of a card."""
    return Figures(
        name=card.name,
        vendor=card.vendor,
        bandwidth=card.bandwidth,
        memory=card.memory,
        link=card.link,
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
    like = [o for o in _others(card, others) if _apart(card, o) <= SAME]
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
            message = _twice(twice, _called(card, other))
            yield Finding(DOUBLED.id, DOUBLED.level, message, ("rates", str(twice[0])))
            return


def unlike(card: Hardware, others: Iterable[Figures]) -> Iterator[Finding]:
    """SC037: bandwidth, fp32 rate and link that no trusted card has near, of those with the same
    figures otherwise, and that are off beside the nearest of them.
    """
    if card.measured:
        return
    kin = _others(card, others)
    rated = [o for o in kin if _near(card.memory, o.memory) and _same_rates(card, o)]
    wide = [o for o in kin if _apart(card, o) <= SAME and _same_wide_rate(card, o)]
    fp32 = card.rates.get(Dtype.FP32)
    yield from _off(card, card.bandwidth, [(o, o.bandwidth) for o in rated], "bandwidth")
    yield from _off(card, fp32, [(o, o.rates.get(Dtype.FP32)) for o in wide], "fp32 rate")
    linked = [(o, o.link) for o in rated if _near(card.bandwidth, o.bandwidth) and o.link]
    if card.link and not any(o.trusted and _near(card.link, there) for o, there in linked):
        for other, there in linked:
            if _near(card.link, 2 * there, EXACT):
                message = (
                    f"link is twice that of {_called(card, other)}, a card of the same rates, "
                    "bandwidth and memory: both directions together?"
                )
                yield Finding(DOUBLED.id, DOUBLED.level, message, ("link",))
                return


def _off(
    card: Hardware, own: float | None, there: Iterable[tuple[Figures, float | None]], what: str
) -> Iterator[Finding]:
    """SC037: a figure half or twice those of others, or further off."""
    known = [(other, own / figure) for other, figure in there if own and figure]
    low, high = NEAR_BAND
    far = [(other, times) for other, times in known if not low <= times <= high]
    if not far or any(other.trusted and low <= times <= high for other, times in known):
        return
    other, times = far[0]
    alike, path = _BESIDE[what]
    factor = float(f"{times:.2g}")
    message = (
        f"{what} is {factor:g} times that of {_called(card, other)}, a card of the same {alike}: "
        "has a prefix slipped?"
    )
    yield Finding(DOUBLED.id, DOUBLED.level, message, path)


def _others(card: Hardware, others: Iterable[Figures]) -> list[Figures]:
    """All but the card itself, those of its vendor and near it first."""
    own = figures_of(card)
    return sorted(
        (other for other in others if replace(other, trusted=False) != own),
        key=lambda o: (o.vendor != card.vendor, _apart(card, o), o.name),
    )


def _called(card: Hardware, other: Figures) -> str:
    return "the packaged " * (other.name == card.name) + other.name


def _near(own: float, there: float, within: float = SAME) -> bool:
    return abs(own / there - 1) <= within


def _same_rates(card: Hardware, other: Figures) -> bool:
    """Whether all rates but fp32 that both have are the same, and there is one."""
    rated = _rated(card, other)
    return bool(rated) and all(_near(card.rates[d], other.rates[d]) for d in rated)


def _same_wide_rate(card: Hardware, other: Figures) -> bool:
    """Whether a 16-bit rate is the same."""
    wide = [d for d in (Dtype.BF16, Dtype.FP16) if d in card.rates and d in other.rates]
    return bool(wide) and _near(card.rates[wide[0]], other.rates[wide[0]])


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
