"""A measured product and a measured round, whole: tests change what they are about."""

from __future__ import annotations

from specplan.domain.card import Dtype
from specplan.domain.measurement import Measurement

PRODUCT = Measurement(
    kind="gemm",
    source="mine",
    engine="vllm",
    gpu="h100-sxm",
    dtype=Dtype.BF16,
    rows=8,
    n=4096,
    inner=4096,
    value=1e-5,
    unit="s",
)
ROUND = Measurement(
    kind="round",
    source="mine",
    engine="vllm",
    gpu="h100-sxm",
    gpus=1,
    target="llama-3.1-8b",
    draft="oracle",
    dtype=Dtype.BF16,
    batch=2,
    context=1000,
    k=3,
    tokens=4,
    tau=3.0,
    value=1.5,
    unit="1",
)
