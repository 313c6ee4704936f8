"""An accelerator: dense rates, bandwidth, memory, and what it cannot do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from annotated_types import Ge, Le, MaxLen, MinLen

from specplan.domain.card import Date, Dtype, Link, Name, Source, Strict, Text
from specplan.domain.probe import Measured
from specplan.errors import Refused
from specplan.units import Unit

Rate = Annotated[float, Unit("FLOP/s"), Ge(1e9), Le(1e17)]
Bandwidth = Annotated[float, Unit("B/s"), Ge(1e9), Le(1e14)]
Capacity = Annotated[float, Unit("B"), Ge(1e9), Le(1e13)]

# Which rate multiplies weights stored as the key, best first. Four-bit integers and
# mxfp4 are weight-only in the engines: they are widened and run the 16-bit rate. A chip
# without the 16-bit type (bf16 on Turing, both on an Apple GPU as far as is known) widens on.
_WIDE = (Dtype.BF16, Dtype.FP16, Dtype.FP32)
COMPUTE_DTYPES: dict[Dtype, tuple[Dtype, ...]] = {
    Dtype.FP32: (Dtype.FP32,),
    Dtype.BF16: _WIDE,
    Dtype.FP16: (Dtype.FP16, Dtype.BF16, Dtype.FP32),
    Dtype.FP8: (Dtype.FP8, *_WIDE),
    Dtype.INT8: (Dtype.INT8, *_WIDE),
    Dtype.FP4: (Dtype.FP4, *_WIDE),
    Dtype.INT4: _WIDE,
    Dtype.NVFP4: (Dtype.FP4, *_WIDE),
    Dtype.MXFP4: _WIDE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Price(Strict):
    """What a provider asked for one device on a day; what a user states always wins."""

    usd_per_hour: Annotated[float, Ge(0.001), Le(10_000)]
    provider: Text
    kind: Literal["on-demand", "spot", "reserved"] = "on-demand"
    read: Date
    cite: Text
    url: Link | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hardware(Strict):
    """One accelerator as its driver shows it. Rates are dense FLOP/s (OP/s for integers) by dtype.

    `memory_basis` says whether `memory` is what the driver reports or the decimal label; `units`
    are multiprocessors (compute units); `link` is bytes/s per direction to the other accelerators
    of its node. `weak` says of a key why its figure is less certain than the others. With
    `measured`, rates and bandwidth are what one machine reached rather than its peaks.
    """

    schema: Literal["hardware/1"]
    name: Name
    title: Text
    vendor: Name
    arch: Text | None = None
    form: Text | None = None
    status: Literal["available", "announced"] = "available"
    aliases: Annotated[tuple[Name, ...], MaxLen(16)] = ()
    year: Annotated[int, Ge(2010), Le(2040)] | None = None
    rates: Annotated[dict[Dtype, Rate], MinLen(1)]
    bandwidth: Bandwidth
    memory: Capacity
    memory_basis: Literal["driver", "label"]
    units: Annotated[int, Ge(1), Le(10_000)] | None = None
    l2: Annotated[float, Unit("B"), Ge(1e5), Le(1e10)] | None = None
    link: Annotated[float, Unit("B/s"), Ge(1e8), Le(1e14)] | None = None
    tdp: Annotated[float, Unit("W"), Ge(1), Le(1e5)] | None = None
    unsupported: dict[Dtype, Text] = field(default_factory=dict)
    weak: dict[str, Text] = field(default_factory=dict)
    prices: Annotated[tuple[Price, ...], MaxLen(32)] = ()
    measured: Measured | None = None
    accept: dict[str, Text] = field(default_factory=dict)
    sources: Annotated[tuple[Source, ...], MinLen(1)]
    notes: tuple[Text, ...] = ()

    @property
    def lowest_price(self) -> Price | None:
        """The lowest price for which a device can be had without a contract, of those read within
        a year of the latest.
        """
        asked = [price for price in self.prices if price.kind == "on-demand"]
        if not asked:
            return None
        latest = max(price.read for price in asked)
        year_before = f"{int(latest[:4]) - 1}{latest[4:]}"
        fresh = [price for price in asked if price.read >= year_before]
        return min(fresh, key=lambda price: price.usd_per_hour)

    def ridge(self, dtype: Dtype) -> float:
        """FLOP per byte at which a pass in this dtype turns from memory- to compute-bound."""
        return self.rates[dtype] / self.bandwidth

    def compute_dtype(self, stored: Dtype) -> Dtype:
        """The dtype whose rate multiplies weights stored as `stored`; Refused if there is none."""
        for dtype in COMPUTE_DTYPES[stored]:
            if dtype in self.rates:
                return dtype
        reason = self.unsupported.get(stored, f"its card has rates for {', '.join(self.rates)}")
        raise Refused(
            f"{self.name} has no rate for {stored} weights",
            hint=f"{reason}; choose another dtype",
        )
