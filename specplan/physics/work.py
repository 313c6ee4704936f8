"""What a forward pass does: named terms, each with FLOP, bytes and launches on one GPU.

Terms are static (shapes, counts); a Load says how much is asked of them. Batch, tokens and context
broadcast, so a term's figures have the shape of what it depends on and no more: a matrix product
knows rows, attention alone knows context. Sums over the terms give the card's parameters and cache.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from specplan.domain.card import Dtype
from specplan.physics.tokens import FloatArray

ACTIVATION_BYTES = 2.0  # activations travel between kernels as bf16 in every engine
SCALE_BYTES = {Dtype.INT4: 2 / 128}  # per element, where Dtype.bytes_per_element leaves them out
# Bytes moved per input activation: an 8- or 4-bit product reads bf16, writes it quantised, reads
# that; weight-only formats widen the weights and leave activations alone.
INPUT_BYTES = {
    Dtype.FP8: 4.0,
    Dtype.INT8: 4.0,
    Dtype.FP4: 3.125,
    Dtype.NVFP4: 3.125,
    Dtype.MXFP4: 2.0,
    Dtype.FP32: 4.0,
}


@dataclass(frozen=True, slots=True)
class Load:
    """What a pass is asked: sequences of one attention group, new tokens of each, their context.

    `overlap` is kappa: how independently a sequence's later tokens route, 1 as strangers, 0 all
    through the experts of the first.
    """

    batch: FloatArray
    tokens: FloatArray
    context: FloatArray
    overlap: float = 1.0

    @property
    def rows(self) -> FloatArray:
        """Tokens that pass through the matrices."""
        return self.batch * self.tokens


def load(
    batch: npt.ArrayLike, tokens: npt.ArrayLike, context: npt.ArrayLike, overlap: float = 1.0
) -> Load:
    """A Load of anything array-like."""
    sequences, new, seen = (np.asarray(value, np.float64) for value in (batch, tokens, context))
    return Load(sequences, new, seen, overlap)


def stored_bytes(dtype: Dtype) -> float:
    """Bytes that a pass reads per weight, scales included."""
    return dtype.bytes_per_element + SCALE_BYTES.get(dtype, 0.0)


class Term(Protocol):
    """One named part of a pass; `count` layers run it alike."""

    @property
    def name(self) -> str:
        """As `explain` prints it."""

    @property
    def launches(self) -> float:
        """Kernels started, over all layers."""

    @property
    def params(self) -> float:
        """Weights of this GPU, over all layers, every expert included."""

    def flops(self, load: Load) -> FloatArray:
        """Arithmetic over all layers."""

    def traffic_bytes(self, load: Load) -> FloatArray:
        """Bytes to and from memory (or to other GPUs) over all layers."""


@dataclass(frozen=True, slots=True)
class Matmul:
    """`count` products of (rows x k) activations and (k x n) weights."""

    name: str
    count: int
    n: float
    k: float
    dtype: Dtype

    @property
    def launches(self) -> float:
        """One each."""
        return self.count

    @property
    def params(self) -> float:
        """Of one product n k, times their number."""
        return self.count * self.n * self.k

    def flops(self, load: Load) -> FloatArray:
        """2 rows n k each."""
        return 2 * self.params * load.rows

    def traffic_bytes(self, load: Load) -> FloatArray:
        """Weights once, activations in and out."""
        return self.count * self.call_bytes(load.rows)

    def call_bytes(self, rows: FloatArray) -> FloatArray:
        """Bytes of one call."""
        inputs = INPUT_BYTES.get(self.dtype, ACTIVATION_BYTES)
        weights = stored_bytes(self.dtype) * self.n * self.k
        return weights + rows * (inputs * self.k + ACTIVATION_BYTES * self.n)


@dataclass(frozen=True, slots=True)
class Attend:
    """Grouped-query attention of `count` layers over the cache, read once for all new tokens
    (`rereads`: once for each). Where keys and values differ in width, `head_dim` is their mean.
    """

    name: str
    count: int
    heads: float
    kv_heads: float
    head_dim: float
    window: int | None
    dtype: Dtype
    rereads: bool = False
    params: float = 0.0

    @property
    def launches(self) -> float:
        """One each."""
        return self.count

    def seen(self, load: Load) -> FloatArray:
        """Positions attended to."""
        return load.context if self.window is None else np.minimum(load.context, self.window)

    def call_flops(self, load: Load) -> FloatArray:
        """4 heads head_dim per query and position (scores, then values)."""
        return 4 * self.heads * self.head_dim * load.rows * self.seen(load)

    def call_bytes(self, load: Load) -> FloatArray:
        """Keys and values of the positions seen."""
        kept = 2 * self.kv_heads * self.head_dim * self.dtype.bytes_per_element
        reads = load.rows if self.rereads else load.batch
        return kept * reads * self.seen(load)

    def flops(self, load: Load) -> FloatArray:
        """Of all layers."""
        return self.count * self.call_flops(load)

    def traffic_bytes(self, load: Load) -> FloatArray:
        """Of all layers."""
        return self.count * self.call_bytes(load)


@dataclass(frozen=True, slots=True)
class AttendLatent:
    """Multi-head latent attention, absorbed: every query against the whole latent, on every rank
    (theory: heads (2 (d_c + d_r) + 2 d_c) FLOP per query and position). Sparse layers read `top`.
    """

    name: str
    count: int
    heads: float
    latent: int
    rope: int
    dtype: Dtype
    top: int | None = None
    params: float = 0.0

    @property
    def launches(self) -> float:
        """One each."""
        return self.count

    def seen(self, load: Load) -> FloatArray:
        """Positions attended to."""
        return load.context if self.top is None else np.minimum(load.context, self.top)

    def call_flops(self, load: Load) -> FloatArray:
        """Of one layer."""
        per_position = 2 * (self.latent + self.rope) + 2 * self.latent
        return self.heads * per_position * load.rows * self.seen(load)

    def call_bytes(self, load: Load) -> FloatArray:
        """The latent of one layer, once."""
        return (
            (self.latent + self.rope)
            * self.dtype.bytes_per_element
            * load.batch
            * (self.seen(load) + 0 * load.tokens)
        )

    def flops(self, load: Load) -> FloatArray:
        """Of all layers."""
        return self.count * self.call_flops(load)

    def traffic_bytes(self, load: Load) -> FloatArray:
        """Of all layers."""
        return self.count * self.call_bytes(load)


@dataclass(frozen=True, slots=True)
class AttendIndex:
    """The pick of a sparse layer: every query of the indexer against the key of every position
    (DeepSeek V3.2: 2 heads head_dim FLOP each), on every rank.
    """

    name: str
    count: int
    heads: int
    head_dim: int
    key_bytes: float
    params: float = 0.0

    @property
    def launches(self) -> float:
        """One each."""
        return self.count

    def call_flops(self, load: Load) -> FloatArray:
        """Of one layer."""
        return 2 * self.heads * self.head_dim * load.rows * load.context

    def call_bytes(self, load: Load) -> FloatArray:
        """The keys of one layer, once."""
        return self.key_bytes * load.batch * (load.context + 0 * load.tokens)

    def flops(self, load: Load) -> FloatArray:
        """Of all layers."""
        return self.count * self.call_flops(load)

    def traffic_bytes(self, load: Load) -> FloatArray:
        """Of all layers."""
        return self.count * self.call_bytes(load)
