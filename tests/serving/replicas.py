"""Servers that tests of queues and simulations share: small grids, one real card."""

from __future__ import annotations

from functools import cache

import specplan
from specplan.domain.acceptance import Alpha
from specplan.domain.scenario import Setup
from specplan.questions.replicas import Shape, fixed_replica, gated_replica, plain_replica
from specplan.serving.replica import Replica

CHAT = Shape(context=1300.0, longest=16_000.0)


@cache
def setup(
    engine: str = "vllm", draft: str = "eagle3", target: str = "llama-3.1-8b", gpu: str = "h100"
) -> Setup:
    """A real setup."""
    asked = specplan.scenario(
        target=target, draft=draft, hardware=gpu, engine=engine, acceptance=0.7, k=3
    )
    return asked.setups[0]


@cache
def replica(policy: str = "3", engine: str = "vllm", alpha: float = 0.7) -> Replica:
    """One H100 with Llama-3.1-8B and its EAGLE-3 head: none, a k, or gate."""
    if policy == "none":
        return plain_replica(setup(engine), Alpha(alpha), CHAT)
    if policy == "gate":
        return gated_replica(setup(engine), Alpha(alpha), CHAT, (0, 1, 2, 3, 4, 5))
    return fixed_replica(setup(engine), Alpha(alpha), CHAT, int(policy))
