"""An accelerator: dense rates, bandwidth, memory, and what it cannot do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from annotated_types import Ge, Le, MaxLen, MinLen

from specplan.domain.card import Dtype, Name, Source, Strict, Text
from specplan.errors import Refused
from specplan.units import Unit

Rate = Annotated[float, Unit("FLOP/s"), Ge(1e11), Le(1e17)]
Bandwidth = Annotated[float, Unit("B/s"), Ge(1e9), Le(1e14)]
Capacity = Annotated[float, Unit("B"), Ge(1e9), Le(1e13)]

# Which rate multiplies weights stored as the key, best first. Four-bit integers and
# mxfp4 are weight-only in the engines: they are widened and run the 16-bit rate.
COMPUTE_DTYPES: dict[Dtype, tuple[Dtype, ...]] = {
    Dtype.FP32: (Dtype.FP32,),
    Dtype.BF16: (Dtype.BF16,),
    Dtype.FP16: (Dtype.FP16, Dtype.BF16),
    Dtype.FP8: (Dtype.FP8, Dtype.BF16),
    Dtype.INT8: (Dtype.INT8, Dtype.BF16),
    Dtype.FP4: (Dtype.FP4, Dtype.BF16),
    Dtype.INT4: (Dtype.BF16, Dtype.FP16),
    Dtype.NVFP4: (Dtype.FP4, Dtype.BF16),
    Dtype.MXFP4: (Dtype.BF16, Dtype.FP16),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Hardware(Strict):
    """One accelerator as its driver shows it. Rates are dense FLOP/s (OP/s for integers) by dtype.

    `memory_basis` says whether `memory` is what the driver reports or the decimal label; `units`
    are multiprocessors (compute units); `link` is bytes/s per direction to the other accelerators
    of its node.
    """

    schema: Literal["hardware/1"]
    name: Name
    title: Text
    vendor: Name
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
    accept: dict[str, Text] = field(default_factory=dict)
    sources: Annotated[tuple[Source, ...], MinLen(1)]
    notes: tuple[Text, ...] = ()

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
