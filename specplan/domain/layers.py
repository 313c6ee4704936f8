"""The layers of a transformer: a mixer, a feed-forward, norms, and the counts each one derives.

Counts are integers of parameters, never bytes: the storage type is the scenario's choice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated

from annotated_types import Ge, Le

from specplan.domain.card import Dtype, Strict
from specplan.domain.mixers import (
    Attention,
    GatedDelta,
    LatentAttention,
    Mamba2,
    Recurrent,
    StateMixer,
    Width,
)


class Part(StrEnum):
    """A part of a checkpoint that may be stored in a type of its own."""

    ATTENTION = "attention"
    RECURRENT = "recurrent"
    MLP = "mlp"
    SHARED = "shared"
    EXPERTS = "experts"
    ROUTER = "router"
    HEAD = "head"
    EMBEDDING = "embedding"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mlp(Strict):
    """A feed-forward layer; gated ones have three matrices, plain ones two."""

    width: Width
    gated: bool = True
    bias: bool = False

    def matmul_params(self, hidden: int) -> int:
        """Weights of its matrices."""
        return (3 if self.gated else 2) * hidden * self.width

    def vector_params(self, hidden: int) -> int:
        """Biases of its matrices."""
        return ((2 if self.gated else 1) * self.width + hidden) if self.bias else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Experts(Strict):
    """Sparse feed-forward: `active` of `experts` run for a token, beside a shared one if any.

    Experts of a `latent` width work on a projection of the hidden state; `shared_gate` scales the
    shared expert; `bias` is that of every expert, `router_bias` one value per expert.
    """

    experts: Width
    active: Width
    width: Width
    shared_width: Annotated[int, Ge(0), Le(10_000_000)] = 0
    gated: bool = True
    latent: Width | None = None
    bias: bool = False
    router_bias: bool = False
    shared_gate: bool = False

    @property
    def matrices(self) -> int:
        """Matrices of an expert."""
        return 3 if self.gated else 2

    def expert_params(self, hidden: int) -> int:
        """Weights of one expert."""
        return self.matrices * (self.latent or hidden) * self.width

    def router_params(self, hidden: int) -> int:
        """Weights of the router."""
        return hidden * self.experts

    def shared_params(self, hidden: int) -> int:
        """Weights read whatever is routed: shared expert, its gate, and to the latent and back."""
        shared = self.matrices * hidden * self.shared_width
        latent = 2 * hidden * self.latent if self.latent else 0
        return shared + latent + (hidden if self.shared_gate else 0)

    def vector_params(self, hidden: int) -> int:
        """Biases of all experts and of the router."""
        expert = (self.matrices - 1) * self.width + (self.latent or hidden) if self.bias else 0
        return self.experts * (expert + self.router_bias)


@dataclass(frozen=True, slots=True, kw_only=True)
class Block(Strict):
    """`repeat` layers of one shape: mixer, feed-forward and `norms` hidden-wide norm vectors.

    `parts` are stored otherwise here than elsewhere in the checkpoint.
    """

    repeat: Annotated[int, Ge(1), Le(1000)]
    attention: Attention | None = None
    latent: LatentAttention | None = None
    recurrent: Recurrent | None = None
    delta: GatedDelta | None = None
    mamba: Mamba2 | None = None
    mlp: Mlp | None = None
    experts: Experts | None = None
    norms: Annotated[int, Ge(0), Le(16)] = 2
    parts: dict[Part, Dtype] = field(default_factory=dict)

    @property
    def state_mixer(self) -> StateMixer | None:
        """The recurrence of these layers, if they have one."""
        return self.delta or self.mamba or self.recurrent

    def resident(self, hidden: int) -> Iterator[tuple[Part, int]]:
        """Multiplied weights of one layer that every token uses, by part; experts left out."""
        if self.attention:
            yield Part.ATTENTION, self.attention.matmul_params(hidden)
        if self.latent:
            yield Part.ATTENTION, self.latent.matmul_params(hidden)
        if self.state_mixer:
            yield Part.RECURRENT, self.state_mixer.matmul_params(hidden)
        if self.mlp:
            yield Part.MLP, self.mlp.matmul_params(hidden)
        if self.experts:
            yield Part.ROUTER, self.experts.router_params(hidden)
            yield Part.SHARED, self.experts.shared_params(hidden)

    def resident_params(self, hidden: int) -> int:
        """Their sum."""
        return sum(params for _, params in self.resident(hidden))

    def vector_params(self, hidden: int) -> int:
        """Norms and biases of one layer."""
        return (
            self.norms * hidden
            + (self.attention.vector_params(hidden) if self.attention else 0)
            + (self.latent.vector_params if self.latent else 0)
            + (self.state_mixer.vector_params if self.state_mixer else 0)
            + (self.mlp.vector_params(hidden) if self.mlp else 0)
            + (self.experts.vector_params(hidden) if self.experts else 0)
        )
