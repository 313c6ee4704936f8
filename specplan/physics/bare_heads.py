"""Terms of heads without layers: Medusa's, side by side, and the stages of MLP speculators."""

from __future__ import annotations

from collections.abc import Iterator

from specplan.domain.card import Dtype
from specplan.domain.engine import Small
from specplan.domain.heads import MedusaHeads, MlpSpeculator
from specplan.physics.moving import Elementwise, Sample
from specplan.physics.work import Matmul, Term


def medusa_terms(
    shape: MedusaHeads, dtype: Dtype, head_dtype: Dtype, tp: int, small: Small
) -> Iterator[Term]:
    """One pass of all heads: residual layers (kept whole by every GPU), then an output each."""
    layers = shape.heads * shape.layers
    if layers:
        yield Matmul("residual", layers, shape.hidden, shape.hidden, dtype)
        yield Elementwise("small", small.launches / 4 * layers, 3 * layers * shape.hidden)
    yield Matmul("head", shape.heads, -(-shape.vocab // tp), shape.hidden, head_dtype)
    yield Sample("sampler", shape.heads * shape.vocab, 1, draft=True)


def speculator_terms(
    shape: MlpSpeculator, dtype: Dtype, head_dtype: Dtype, tp: int, small: Small
) -> Iterator[Term]:
    """One pass of its stages, as many as the shape has: state and embedding joined, normed, put
    out.
    """
    for stage in range(shape.stages):
        width = shape.hidden if stage == 0 else shape.inner
        yield Matmul("stage", 1, shape.inner, width, dtype)
    yield Elementwise("small", small.launches / 2 * shape.stages, 6 * shape.stages * shape.inner)
    yield Matmul("head", shape.stages, -(-shape.vocab // tp), shape.inner, head_dtype)
    yield Sample("sampler", shape.stages * shape.vocab, 1, draft=True)
