"""An accelerator under an engine: every constant that a kernel time needs.

Where an engine has no figures for an accelerator or a dtype, the nearest that it has stand in
(its stand-in accelerator; the 16-bit kernels) as shares of this accelerator's own peaks:
`assumed.py` says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from specplan.domain.card import Dtype
from specplan.domain.engine import AllReduce, Decode, Engine, Gemm, Grouped, Kernels, Latent, Small
from specplan.domain.hardware import Hardware
from specplan.errors import Refused

USUAL_UNITS = 132  # multiprocessors, where a card does not say
USUAL_L2_BYTES = 50e6

Constant = TypeVar("Constant")


@dataclass(frozen=True, slots=True)
class Silicon:
    """One accelerator as one engine's kernels use it."""

    hardware: Hardware
    engine: Engine

    @property
    def bandwidth(self) -> float:
        """Bytes/s of the card."""
        return self.hardware.bandwidth

    @property
    def units(self) -> float:
        """Multiprocessors (compute units)."""
        return float(self.hardware.units or USUAL_UNITS)

    @property
    def l2_bytes(self) -> float:
        """Last-level cache."""
        return self.hardware.l2 or USUAL_L2_BYTES

    @property
    def small(self) -> Small:
        """The engine's small operations."""
        if self.engine.small is None:
            raise self.engine.lacking("states no small operations", "small")
        return self.engine.small

    @property
    def kernels(self) -> Kernels:
        """Those of the accelerator, or those that stand in for them."""
        engine = self.engine
        found = engine.on(self.hardware.name) or engine.on(engine.stand_in or "")
        if found is None:
            what = f"has no kernels for {self.hardware.name}"
            raise engine.lacking(what, "kernels or a stand_in that has some")
        return found

    def peak(self, stored: Dtype) -> float:
        """FLOP/s at which weights of this dtype are multiplied."""
        return self.hardware.rates[self.hardware.compute_dtype(stored)]

    def gemm(self, dtype: Dtype) -> Gemm:
        """Matrix kernels for weights of this dtype."""
        return self._nearest(self.kernels.gemm, dtype, "matrix kernels", "gemm")

    def attention(self, kv_dtype: Dtype) -> Decode:
        """Decode attention over a cache of this dtype."""
        return self._nearest(self.kernels.attention, kv_dtype, "attention", "attention")

    def experts(self, dtype: Dtype) -> Grouped:
        """Fused expert layers of this dtype."""
        return self._nearest(self.kernels.experts, dtype, "expert layers", "experts")

    def latent(self) -> Latent:
        """Latent attention."""
        if self.kernels.latent is None:
            raise self._without("latent attention", "latent")
        return self.kernels.latent

    def allreduce(self, gpus: int) -> AllReduce:
        """All-reduce over this many accelerators; between measured counts the next larger."""
        known = sorted(self.kernels.allreduce, key=lambda one: one.gpus)
        if not known:
            raise self._without("all-reduce", "allreduce")
        return next((one for one in known if one.gpus >= gpus), known[-1])

    def _nearest(
        self, known: Mapping[Dtype, Constant], dtype: Dtype, what: str, key: str
    ) -> Constant:
        for near in nearest(dtype):
            if near in known:
                return known[near]
        raise self._without(f"{what} for {dtype}", key)

    def _without(self, what: str, key: str) -> Refused:
        return self.engine.lacking(f"has no {what} on {self.hardware.name}", f"{key} under kernels")


_NEAREST: dict[Dtype, tuple[Dtype, ...]] = {
    Dtype.FP16: (Dtype.BF16,),
    Dtype.FP32: (Dtype.BF16,),
    Dtype.FP8: (Dtype.INT8, Dtype.BF16),
    Dtype.INT8: (Dtype.FP8, Dtype.BF16),
    Dtype.NVFP4: (Dtype.FP4, Dtype.INT4, Dtype.BF16),
    Dtype.FP4: (Dtype.NVFP4, Dtype.INT4, Dtype.BF16),
    Dtype.MXFP4: (Dtype.INT4, Dtype.BF16),
    Dtype.INT4: (Dtype.MXFP4, Dtype.BF16),
}


def nearest(dtype: Dtype) -> tuple[Dtype, ...]:
    """The dtype itself, then those whose kernels resemble its own."""
    return (dtype, *_NEAREST.get(dtype, (Dtype.BF16,)))
