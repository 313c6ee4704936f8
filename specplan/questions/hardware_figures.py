"""The figures of an accelerator, stated and derived, in one order for all of them."""

from __future__ import annotations

from collections.abc import Iterator

from specplan.domain.card import Dtype
from specplan.domain.hardware import Hardware, Price
from specplan.questions.cards import known
from specplan.questions.figures import Fact, Figure, figures

STORED = (Dtype.BF16, Dtype.FP8, Dtype.INT4)  # weights whose turning batch is shown
SOLD = "available"
_MACS = 2  # FLOP of a weight and a token


def hardware_figures(card: Hardware) -> list[Figure]:
    """Every figure that any accelerator may have; the value is None where this one has none."""
    facts = [
        Fact("arch", "architecture", "", card.arch),
        Fact("form", "form", "", card.form),
        Fact("status", "status", "", None if card.status == SOLD else f"{card.status} only"),
        Fact("year", "year", "year", card.year),
        Fact("memory", "memory", "B", card.memory, _capacity(card)),
        Fact("bandwidth", "bandwidth", "B/s", card.bandwidth),
        *(Fact(f"rates.{d}", f"{d} rate", "FLOP/s", card.rates.get(d)) for d in Dtype),
        Fact("units", "multiprocessors", "", card.units),
        Fact("l2", "L2 cache", "B", card.l2),
        Fact("link", "link, per direction", "B/s", card.link),
        Fact("tdp", "power limit", "W", card.tdp),
        *(_ridge(card, dtype) for dtype in Dtype),
        *(_turning(card, stored) for stored in STORED),
        *_shares(card),
        _price(card),
        *_measured(card),
    ]
    return figures(facts, card.sources, card.weak)


def price_words(price: Price) -> str:
    """A price with who asked it and when that was read."""
    cited = "; ".join(filter(None, (price.cite, price.url)))
    return (
        f"{price.usd_per_hour:g} USD/h {price.kind}, {price.provider}, read {price.read}: {cited}"
    )


def _ridge(card: Hardware, dtype: Dtype) -> Fact:
    value = card.ridge(dtype) if dtype in card.rates else None
    rests = (f"rates.{dtype}", "bandwidth")
    return Fact(f"derived.ridge.{dtype}", f"{dtype} ridge point", "FLOP/B", value, "", rests)


def _turning(card: Hardware, stored: Dtype) -> Fact:
    """The batch from which a pass over the weights of a dense model is bound by compute: each
    weight is read once and multiplied with every sequence.
    """
    dtype = known(lambda: card.compute_dtype(stored))
    value = card.ridge(dtype) * stored.bytes_per_element / _MACS if dtype else None
    return Fact(
        f"derived.compute_bound_batch.{stored}",
        f"{stored} weights compute-bound",
        "sequences",
        value,
        f" ({dtype})",
        (f"rates.{dtype}", "bandwidth"),
    )


def _shares(card: Hardware) -> Iterator[Fact]:
    """Bandwidth for each FLOP of 16-bit products, and both for each watt."""
    dtype = known(lambda: card.compute_dtype(Dtype.BF16))
    rate = card.rates[dtype] if dtype else None
    ridge = (f"rates.{dtype}", "bandwidth")
    per_flop = card.bandwidth / rate if rate else None
    yield Fact("derived.bytes_per_flop", "bandwidth over rate", "B/FLOP", per_flop, "", ridge)
    power = (f"rates.{dtype}", "tdp"), ("bandwidth", "tdp")
    labels = ("rate_per_watt", "16-bit rate"), ("bandwidth_per_watt", "bandwidth")
    for (key, label), unit, value, rests in zip(
        labels, ("FLOP/s/W", "B/s/W"), (rate, card.bandwidth), power, strict=True
    ):
        share = value / card.tdp if value and card.tdp else None
        yield Fact(f"derived.{key}", f"{label} per watt", unit, share, "", rests)


def _price(card: Hardware) -> Fact:
    price = card.lowest_price
    value = price.usd_per_hour if price else None
    return Fact("derived.usd_per_hour", "lowest price on demand", "USD/h", value)


def _measured(card: Hardware) -> Iterator[Fact]:
    """What a probe of the machine reached: copy, smallest kernel, best product of each dtype."""
    found = card.measured
    copy, floor = (found.copy, found.floor) if found else (None, None)
    copied, started = (
        (_spread(found.copy_spread), _spread(found.floor_spread)) if found else ("", "")
    )
    yield Fact("measured.copy", "measured copy", "B/s", copy, copied)
    yield Fact("measured.floor", "measured smallest kernel", "s", floor, started)
    for dtype in Dtype:
        best = found.best(dtype) if found and dtype in found.dtypes else None
        yield Fact(
            f"measured.{dtype}",
            f"measured {dtype} product",
            "FLOP/s",
            best.flops if best else None,
            _spread(best.spread, f"width {best.m}, ") if best else "",
        )


def _spread(spread: float, of: str = "") -> str:
    return f" ({of}spread {100 * spread:.2g} %)"


def _capacity(card: Hardware) -> str:
    """The capacity as its basis counts it: whole MiB by the driver, decimal GB on the label."""
    mib = card.memory / 2**20
    exact = f"{mib:,.0f} MiB" if mib.is_integer() else f"{card.memory / 1e9:,.6g} GB"
    return f" ({exact}, {card.memory_basis})"
