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
    """Grouped-query attention; `window` is the number of tokens a sliding layer can see, `inputs`
    the hidden-wide vectors that q, k and v read: 2 in an EAGLE-3 head.
    """

    heads: Width
    kv_heads: Width
    head_dim: Width
    window: Count | None = None
    qkv_bias: bool = False
    out_bias: bool = False
    qk_norm: bool = False
    qk_norm_all_heads: bool = False
    gated: bool = False
    inputs: Annotated[int, Ge(1), Le(4)] = 1

    def matmul_params(self, hidden: int) -> int:
        """Weights of the q, k, v and output projections; a gate is as wide as q."""
        queries = (2 if self.gated else 1) * self.heads
        read = self.inputs * (queries + 2 * self.kv_heads)
        return hidden * self.head_dim * (read + self.heads)

    def vector_params(self, hidden: int) -> int:
        """Biases and norms: stored, never multiplied."""
        qkv = (self.heads + 2 * self.kv_heads) * self.head_dim if self.qkv_bias else 0
        normed = (self.heads + self.kv_heads) if self.qk_norm_all_heads else 2 * self.qk_norm
        return qkv + (hidden if self.out_bias else 0) + normed * self.head_dim

    @property
    def kv_elements_per_token(self) -> int:
        """Keys and values that one token leaves in the cache of this layer."""
        return 2 * self.kv_heads * self.head_dim


@dataclass(frozen=True, slots=True, kw_only=True)
class LatentAttention(Strict):
    """Multi-head latent attention: the cache keeps one vector of `latent` + `rope` values a token
    for all heads. `q_rank` is the width of the query's own compression, absent where it has none.
    """

    heads: Width
    latent: Width
    rope: Width
    nope: Width
    value: Width
    q_rank: Width | None = None

    def matmul_params(self, hidden: int) -> int:
        """Weights of the projections down and up, and of the output."""
        query = self.heads * (self.nope + self.rope)
        queries = self.q_rank * (hidden + query) if self.q_rank else hidden * query
        keys = hidden * (self.latent + self.rope) + self.latent * self.heads * (
            self.nope + self.value
        )
        return queries + keys + self.heads * self.value * hidden

    @property
    def vector_params(self) -> int:
        """Norms of the compressed query and latent."""
        return (self.q_rank or 0) + self.latent

    @property
    def kv_elements_per_token(self) -> int:
        """What one token leaves in the cache of this layer."""
        return self.latent + self.rope


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
    latent: LatentAttention | None = None
    recurrent: Recurrent | None = None
    mlp: Mlp | None = None
    experts: Experts | None = None
    norms: Annotated[int, Ge(0), Le(16)] = 2

    def resident_params(self, hidden: int) -> int:
        """Multiplied weights of one layer that every token uses, experts left out."""
        return (
            (self.attention.matmul_params(hidden) if self.attention else 0)
            + (self.latent.matmul_params(hidden) if self.latent else 0)
            + (self.recurrent.params if self.recurrent else 0)
            + (self.mlp.matmul_params(hidden) if self.mlp else 0)
            + (self.experts.resident_params(hidden) if self.experts else 0)
        )

    def vector_params(self, hidden: int) -> int:
        """Norms and biases of one layer."""
        return (
            self.norms * hidden
            + (self.attention.vector_params(hidden) if self.attention else 0)
            + (self.latent.vector_params if self.latent else 0)
            + (self.mlp.vector_params(hidden) if self.mlp else 0)
        )
