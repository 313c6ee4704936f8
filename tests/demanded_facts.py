"""One candidate under traffic, as capacity works it out: facts made by hand."""

from __future__ import annotations

from specplan.rules.demanded import TrafficFacts

FACTS = TrafficFacts(
    setup="",
    candidate=0,
    point=0,
    alphas=False,
    lengths=False,
    target="qwen3-32b",
    draft="qwen3-0.6b",
    hardware="h200-sxm",
    tp=1,
    alpha=0.8,
    acceptance="0.8",
    k=3,
    policy="k=3",
    gpus=28.0,
    usd_per_million_output_tokens=1.182,
    strain=0.9,
    latency_s={"itl_p50": 0.0, "itl_p95": 0.0312, "itl_p99": 0.0456},
    others=(("gated", 22.0), ("without", 31.0)),
)
