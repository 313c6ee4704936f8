"""The parts a transformer block is made of, and the counts each one derives.

Counts are integers of elements (parameters, or cached values per token), never bytes:
the storage type is the scenario's choice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge, Le

from specplan.domain.card import Count, Strict

Width = Annotated[int, Ge(1), Le(10_000_000)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attention(Strict):
    """Grouped-query attention; `window` is the number of tokens a sliding layer can see."""

    heads: Width
    kv_heads: Width
    head_dim: Width
    window: Count | None = None
    qkv_bias: bool = False
    out_bias: bool = False
    qk_norm: bool = False

    def matmul_params(self, hidden: int) -> int:
        """Weights of the q, k, v and output projections."""
        return hidden * self.head_dim * (2 * self.heads + 2 * self.kv_heads)

    def vector_params(self, hidden: int) -> int:
        """Biases and norms: stored, never multiplied."""
        qkv = (self.heads + 2 * self.kv_heads) * self.head_dim if self.qkv_bias else 0
        return qkv + (hidden if self.out_bias else 0) + (2 * self.head_dim if self.qk_norm else 0)

    @property
    def kv_elements_per_token(self) -> int:
        """Keys and values that one token leaves in the cache of this layer."""
        return 2 * self.kv_heads * self.head_dim


@dataclass(frozen=True, slots=True, kw_only=True)
class Recurrent(Strict):
    """A linear-attention or state-space mixer: a state per sequence that no context changes."""

    params: Count
    state_bytes: Annotated[float, Ge(1), Le(1e12)]


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
    """Sparse feed-forward: `active` of `experts` run for a token, beside a shared one if any."""

    experts: Width
    active: Width
    width: Width
    shared_width: Annotated[int, Ge(0), Le(10_000_000)] = 0
    gated: bool = True

    def expert_params(self, hidden: int) -> int:
        """Weights of one expert."""
        return (3 if self.gated else 2) * hidden * self.width

    def resident_params(self, hidden: int) -> int:
        """Weights read whatever is routed: the router and the shared expert."""
        shared = (3 if self.gated else 2) * hidden * self.shared_width
        return hidden * self.experts + shared


@dataclass(frozen=True, slots=True, kw_only=True)
class Block(Strict):
    """`repeat` layers of one shape: mixer, feed-forward and `norms` hidden-wide norm vectors."""

    repeat: Annotated[int, Ge(1), Le(1000)]
    attention: Attention | None = None
    recurrent: Recurrent | None = None
    mlp: Mlp | None = None
    experts: Experts | None = None
    norms: Annotated[int, Ge(0), Le(16)] = 2

    def resident_params(self, hidden: int) -> int:
        """Multiplied weights of one layer that every token uses, experts left out."""
        return (
            (self.attention.matmul_params(hidden) if self.attention else 0)
            + (self.recurrent.params if self.recurrent else 0)
            + (self.mlp.matmul_params(hidden) if self.mlp else 0)
            + (self.experts.resident_params(hidden) if self.experts else 0)
        )

    def vector_params(self, hidden: int) -> int:
        """Norms and biases of one layer."""
        return (
            self.norms * hidden
            + (self.attention.vector_params(hidden) if self.attention else 0)
            + (self.mlp.vector_params(hidden) if self.mlp else 0)
        )
