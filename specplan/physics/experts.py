"""Layers of routed experts: how many of them a pass reads, and what it multiplies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from specplan.domain.card import Dtype
from specplan.physics.tokens import FloatArray
from specplan.physics.work import ACTIVATION_BYTES, Load, stored_bytes


def touched_share(active: float, experts: float, effective: FloatArray) -> FloatArray:
    """The share of `experts` that so many effective tokens, >= 0, reach, `active` each:
    1 - (1 - top/N)^T_eff (MoESD, N(t)).
    """
    share = min(active / experts, 1 - 1e-16)
    reached: FloatArray = -np.expm1(effective * np.log1p(-share))
    return reached


@dataclass(frozen=True, slots=True)
class Route:
    """`count` fused expert layers: `experts` in all, `held` of them here in slices of `width`,
    `active` per token; `groups` attention groups send their tokens.
    """

    name: str
    count: int
    experts: int
    held: float
    active: int
    hidden: int
    width: float
    matrices: int
    groups: int
    dtype: Dtype

    @property
    def launches(self) -> float:
        """Permute, two grouped products, combine."""
        return 4.0 * self.count

    @property
    def expert_params(self) -> float:
        """Weights of one expert's slice."""
        return self.matrices * self.hidden * self.width

    @property
    def params(self) -> float:
        """Every expert held."""
        return self.count * self.held * self.expert_params

    def touched(self, load: Load) -> FloatArray:
        """Experts of this GPU that T_eff = B (1 + kappa (tokens - 1)) tokens reach:
        N (1 - (1 - top/N)^T_eff) (MoESD, N(t)).
        """
        effective = self.groups * load.batch * (1 + load.overlap * (load.tokens - 1))
        return self.held * touched_share(self.active, self.experts, effective)

    def routed(self, load: Load) -> FloatArray:
        """Rows through the experts of this GPU, each token counted for each expert."""
        return self.groups * load.rows * self.active * self.held / self.experts

    def call_bytes(self, load: Load) -> FloatArray:
        """Weights of the experts touched, activations in and out."""
        weights = stored_bytes(self.dtype) * self.touched(load) * self.expert_params
        moved = 2 * self.hidden + self.matrices * self.width
        return weights + ACTIVATION_BYTES * self.routed(load) * moved

    def flops(self, load: Load) -> FloatArray:
        """2 weights of an expert per routed row."""
        return self.count * 2 * self.expert_params * self.routed(load)

    def traffic_bytes(self, load: Load) -> FloatArray:
        """Of all layers."""
        return self.count * self.call_bytes(load)
