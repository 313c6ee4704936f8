"""The ideal roofline: a pass takes as long as its arithmetic or its traffic, whichever is longer.

No attention arithmetic, no overhead, no communication: nothing real is faster. `batch`, `tokens`
(new tokens per sequence: 1 in plain decoding, k + 1 in verification) and `context` broadcast.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from specplan.domain.card import Dtype
from specplan.domain.hardware import Hardware
from specplan.domain.model import Model
from specplan.physics.tokens import FloatArray

BOUNDS = ("memory", "compute", "latency", "network")


@dataclass(frozen=True, slots=True)
class Pass:
    """One forward pass on one GPU: FLOP, bytes, seconds under each ceiling; equal shapes."""

    flops: FloatArray
    traffic_bytes: FloatArray
    compute_s: FloatArray
    memory_s: FloatArray

    @property
    def time_s(self) -> FloatArray:
        """Seconds: the longer of the two."""
        return np.maximum(self.compute_s, self.memory_s)

    @property
    def compute_bound(self) -> npt.NDArray[np.bool_]:
        """Where arithmetic, not traffic, takes the time."""
        return self.compute_s > self.memory_s

    @property
    def bound(self) -> npt.NDArray[np.intp]:
        """Index into BOUNDS: memory or compute."""
        return self.compute_bound.astype(np.intp)

    @property
    def intensity(self) -> FloatArray:
        """Arithmetic intensity, FLOP per byte."""
        return self.flops / self.traffic_bytes


def read_params(model: Model, tokens: npt.ArrayLike) -> FloatArray:
    """Parameters that a pass over `tokens` tokens in all reads (P_read).

    Dense models read what one token multiplies. A sparse layer reads the experts touched,
    N (1 - (1 - top/N)^tokens) when tokens route independently (MoESD's N(t); kappa = 1).
    """
    total = np.asarray(tokens, np.float64)
    params = np.full(total.shape, model.active_params)
    for group in model.expert_groups:
        missed = (1 - group.active / group.experts) ** total
        touched = group.experts * (1 - missed)
        params = params + group.layers * group.expert_params * (touched - group.active)
    return params


def head_params(model: Model) -> float:
    """Parameters of the head among those that a token multiplies; 0 where a card does not tell
    them from the others, and for heads side by side, which all run whatever is proposed.
    """
    arch = model.architecture
    return float(arch.vocab * (arch.hidden + (arch.markov or 0))) if arch else 0.0


def key_params(model: Model) -> float:
    """Parameters that make keys and values of hidden states, of a model with an architecture."""
    return float(model.architecture.key_params) if model.architecture else 0.0


def keys_pass(
    model: Model, hardware: Hardware, *, dtype: Dtype, tp: int, rows: npt.ArrayLike
) -> Pass:
    """The pass that makes keys and values of `rows` hidden states, and nothing else of them."""
    params = key_params(model) / tp
    flops = 2 * params * np.asarray(rows, np.float64)
    traffic = dtype.bytes_per_element * params * np.ones_like(flops)
    peak = hardware.rates[hardware.compute_dtype(dtype)]
    return Pass(flops, traffic, flops / peak, traffic / hardware.bandwidth)


def kv_bytes(model: Model, context: npt.ArrayLike, kv_dtype: Dtype, tp: int = 1) -> FloatArray:
    """Bytes that one sequence of `context` tokens keeps in cache, on one of `tp` GPUs.

    Sliding layers keep min(context, window); recurrent state is constant. KV heads divide over
    the GPUs and are never split: beyond one GPU per head they are replicated.
    """
    length = np.asarray(context, np.float64)
    elements = np.zeros(length.shape)
    for group, share in zip(model.kv_groups, kv_shares(model, tp), strict=True):
        seen = length if group.window is None else np.minimum(length, group.window)
        elements = elements + share * group.elements_per_token * seen
    return (
        elements * kv_dtype.bytes_per_element + index_bytes(model, length) + model.state_bytes / tp
    )


def kv_read_bytes(model: Model, context: npt.ArrayLike, kv_dtype: Dtype, tp: int = 1) -> FloatArray:
    """Bytes of them that a pass reads: sparse layers read the `top` tokens picked, and every key
    of the indexer to pick them; all others read what they keep.
    """
    length = np.asarray(context, np.float64)
    skipped = np.zeros(length.shape)
    for group, share in zip(model.kv_groups, kv_shares(model, tp), strict=True):
        if group.top is not None:
            unread = np.maximum(length - group.top, 0.0)
            skipped = skipped + share * group.elements_per_token * unread
    return kv_bytes(model, length, kv_dtype, tp) - skipped * kv_dtype.bytes_per_element


def index_bytes(model: Model, context: FloatArray) -> FloatArray:
    """Bytes of the indexers' keys of one sequence; every GPU keeps all."""
    return sum(group.index_bytes for group in model.kv_groups) * context


def kv_shares(model: Model, tp: int) -> tuple[float, ...]:
    """The part of each KV group that the fullest of `tp` GPUs holds."""
    return tuple(group.share(tp) for group in model.kv_groups)


def ideal_pass(
    model: Model,
    hardware: Hardware,
    *,
    dtype: Dtype,
    kv_dtype: Dtype,
    tp: int,
    batch: npt.ArrayLike,
    tokens: npt.ArrayLike,
    context: npt.ArrayLike,
    groups: int = 1,
    outputs: npt.ArrayLike | None = None,
    overlap: float = 1.0,
) -> Pass:
    """One pass: max(2 P_active B n / peak, (w P_read(B n) + B kv_bytes(context)) / bandwidth).

    Where only `outputs` of a sequence's new tokens propose, no more of them go through the head.
    `overlap` below 1 has the tokens of a sequence share experts: P_read(B (1 + overlap (n - 1))).

    KV is read once per sequence whatever n is. Weights divide by `tp`, however many attention
    `groups` hold copies of them; of its own sequences alone a group reads the cache. Refused when
    the accelerator has no rate for weights of this dtype.
    """
    sequences, width = np.asarray(batch, np.float64), np.asarray(tokens, np.float64)
    peak = hardware.rates[hardware.compute_dtype(dtype)]
    flops = 2 * model.active_params * sequences * width / tp
    if outputs is not None:
        flops = flops - 2 * head_params(model) * sequences * (width - np.asarray(outputs)) / tp
    alone = width if overlap == 1 else 1 + overlap * (width - 1)
    weights = dtype.bytes_per_element * read_params(model, sequences * alone) / tp
    held = np.ceil(sequences / groups) if groups > 1 else sequences
    traffic = weights + held * kv_read_bytes(model, context, kv_dtype, tp // groups)
    flops, traffic = np.broadcast_arrays(flops, traffic)
    return Pass(flops, traffic, flops / peak, traffic / hardware.bandwidth)
