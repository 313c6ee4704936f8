"""What mixes tokens in a layer: attention of its kinds, and recurrences.

Counts are integers of elements (parameters, or cached values per token), never bytes:
the storage type is the scenario's choice. A recurrence's state has a type of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Protocol

from annotated_types import Ge, Le

from specplan.domain.card import Count, Dtype, Strict

Width = Annotated[int, Ge(1), Le(10_000_000)]

CONV_BYTES = 2.0  # the inputs that a convolution remembers, in 16 bits
INDEX_BYTES = 1 + 4 / 128  # a key of the indexer: FP8 with a 4-byte scale for 128 values


@dataclass(frozen=True, slots=True, kw_only=True)
class Attention(Strict):
    """Grouped-query attention; `window` is the number of tokens a sliding layer can see, `inputs`
    the hidden-wide vectors that q, k and v read: 2 in an EAGLE-3 head. Values are `value_dim` wide
    (absent: as keys); `keys_are_values` has no value projection, and caches both all the same.
    `head_gate` is one more weight column per head.
    """

    heads: Width
    kv_heads: Width
    head_dim: Width
    value_dim: Width | None = None
    window: Count | None = None
    qkv_bias: bool = False
    out_bias: bool = False
    qk_norm: bool = False
    qk_norm_all_heads: bool = False
    gated: bool = False
    head_gate: bool = False
    keys_are_values: bool = False
    sinks: bool = False
    inputs: Annotated[int, Ge(1), Le(4)] = 1

    @property
    def value_width(self) -> int:
        """Width of one head's values."""
        return self.value_dim or self.head_dim

    @property
    def query_columns(self) -> int:
        """Columns of the query projection; a gate is as wide as the values that it scales."""
        gate = self.heads * self.value_width if self.gated else 0
        return self.heads * self.head_dim + gate + (self.heads if self.head_gate else 0)

    @property
    def kv_columns(self) -> int:
        """Columns of the key and value projections."""
        values = 0 if self.keys_are_values else self.value_width
        return self.kv_heads * (self.head_dim + values)

    def matmul_params(self, hidden: int) -> int:
        """Weights of the q, k, v and output projections."""
        read = self.inputs * (self.query_columns + self.kv_columns)
        return hidden * (read + self.heads * self.value_width)

    def vector_params(self, hidden: int) -> int:
        """Biases, norms and sinks: stored, never multiplied."""
        qkv = self.query_columns + self.kv_columns if self.qkv_bias else 0
        normed = (self.heads + self.kv_heads) if self.qk_norm_all_heads else 2 * self.qk_norm
        sinks = self.heads if self.sinks else 0
        return qkv + (hidden if self.out_bias else 0) + normed * self.head_dim + sinks

    @property
    def kv_elements_per_token(self) -> int:
        """Keys and values that one token leaves in the cache of this layer."""
        return self.kv_heads * (self.head_dim + self.value_width)


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexer(Strict):
    """Picks the tokens that a layer of sparse attention reads (DeepSeek V3.2): `heads` queries from
    the compressed one, a key of `head_dim` values for each token, cached in FP8.
    """

    heads: Width
    head_dim: Width

    def matmul_params(self, hidden: int, q_rank: int) -> int:
        """Weights of queries, key, and the weight of each head."""
        return q_rank * self.heads * self.head_dim + hidden * (self.head_dim + self.heads)

    @property
    def vector_params(self) -> int:
        """The key's norm, with its bias."""
        return 2 * self.head_dim

    @property
    def key_bytes_per_token(self) -> float:
        """What one token leaves beside the cache, whatever type that has."""
        return self.head_dim * INDEX_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class LatentAttention(Strict):
    """Multi-head latent attention: the cache keeps one vector of `latent` + `rope` values a token
    for all heads. `q_rank` is the width of the query's own compression, absent where it has none.
    A sparse layer reads the `top` tokens that an indexer picked: its own or an earlier layer's.
    `inputs` are the hidden-wide vectors that queries and latent are made of.
    """

    heads: Width
    latent: Width
    rope: Width
    nope: Width
    value: Width
    q_rank: Width | None = None
    qkv_bias: bool = False
    top: Count | None = None
    indexer: Indexer | None = None
    inputs: Annotated[int, Ge(1), Le(4)] = 1

    def matmul_params(self, hidden: int) -> int:
        """Weights of the projections down and up, of the output, and of the indexer."""
        read, query = self.inputs * hidden, self.heads * (self.nope + self.rope)
        queries = self.q_rank * (read + query) if self.q_rank else read * query
        keys = read * (self.latent + self.rope) + self.latent * self.heads * (
            self.nope + self.value
        )
        index = self.indexer.matmul_params(hidden, self.q_rank or hidden) if self.indexer else 0
        return queries + keys + self.heads * self.value * hidden + index

    @property
    def vector_params(self) -> int:
        """Norms of the compressed query and latent; biases of both where there are some."""
        bias = (self.q_rank or 0) + self.latent + self.rope if self.qkv_bias else 0
        index = self.indexer.vector_params if self.indexer else 0
        return (self.q_rank or 0) + self.latent + bias + index

    @property
    def kv_elements_per_token(self) -> int:
        """What one token leaves in the cache of this layer."""
        return self.latent + self.rope


class StateMixer(Protocol):
    """A mixer with a state per sequence that no context changes."""

    def matmul_params(self, hidden: int) -> int:
        """Weights of its projections and of its convolution."""

    @property
    def vector_params(self) -> int:
        """What is stored beside and not multiplied."""

    @property
    def state_bytes(self) -> float:
        """Bytes of state per sequence and layer."""

    @property
    def channels(self) -> int:
        """Values of one input that its convolution remembers; 0 where it is not known."""

    @property
    def remembered(self) -> int:
        """Inputs that its convolution remembers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recurrent(Strict):
    """A recurrence of which only weights and bytes of state are known."""

    params: Count
    state_bytes: Annotated[float, Ge(1), Le(1e12)]
    vectors: Annotated[int, Ge(0), Le(10_000_000)] = 0

    def matmul_params(self, hidden: int) -> int:  # noqa: ARG002 - as its siblings
        """As stated."""
        return self.params

    @property
    def vector_params(self) -> int:
        """As stated."""
        return self.vectors

    @property
    def channels(self) -> int:
        """Not known."""
        return 0

    @property
    def remembered(self) -> int:
        """Not known."""
        return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class GatedDelta(Strict):
    """A gated delta net (Qwen3-Next, Qwen3.5): a key_dim x value_dim state for each value head."""

    key_heads: Width
    value_heads: Width
    key_dim: Width
    value_dim: Width
    conv: Width
    state_dtype: Dtype = Dtype.FP32

    @property
    def channels(self) -> int:
        """Channels of the convolution: queries, keys, values."""
        return 2 * self.key_heads * self.key_dim + self.value_heads * self.value_dim

    def matmul_params(self, hidden: int) -> int:
        """Queries, keys, values, gate, two scalars per value head, output, convolution."""
        values = self.value_heads * self.value_dim
        read = self.channels + values + 2 * self.value_heads
        return hidden * (read + values) + self.channels * self.conv

    @property
    def vector_params(self) -> int:
        """Decay and step of each value head, norm of the output."""
        return 2 * self.value_heads + self.value_dim

    @property
    def remembered(self) -> int:
        """Inputs before the one at hand."""
        return self.conv - 1

    @property
    def state_bytes(self) -> float:
        """State of every head, and the last inputs of the convolution."""
        state = self.value_heads * self.key_dim * self.value_dim
        kept = self.remembered * self.channels
        return state * self.state_dtype.bytes_per_element + kept * CONV_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class Mamba2(Strict):
    """A Mamba-2 mixer (Nemotron-H): a head_dim x state matrix for each head."""

    heads: Width
    head_dim: Width
    groups: Width
    state: Width
    conv: Width
    conv_bias: bool = True
    state_dtype: Dtype = Dtype.FP32

    @property
    def _inner(self) -> int:
        return self.heads * self.head_dim

    @property
    def channels(self) -> int:
        """Channels of the convolution: inputs, and both projections of the state."""
        return self._inner + 2 * self.groups * self.state

    def matmul_params(self, hidden: int) -> int:
        """Gate, convolved channels and a step per head in; output; convolution."""
        read = self._inner + self.channels + self.heads
        return hidden * (read + self._inner) + self.channels * self.conv

    @property
    def vector_params(self) -> int:
        """Decay, skip and step of each head, norm of the output, bias of the convolution."""
        return 3 * self.heads + self._inner + (self.channels if self.conv_bias else 0)

    @property
    def remembered(self) -> int:
        """Inputs before the one at hand."""
        return self.conv - 1

    @property
    def state_bytes(self) -> float:
        """State of every head, and the last inputs of the convolution."""
        state = self.heads * self.head_dim * self.state
        kept = self.remembered * self.channels
        return state * self.state_dtype.bytes_per_element + kept * CONV_BYTES
