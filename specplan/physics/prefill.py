"""What a prompt costs: the target's pass over it, and the drafter's own.

A drafter with a cache of its own has to fill it before it can draft, so it reads every prompt too;
engines run prompts in chunks, which the figures here take as full.
"""

from __future__ import annotations

from dataclasses import dataclass

from specplan.domain.model import Model
from specplan.domain.scenario import Setup
from specplan.physics.engine_round import draft_layout, target_layout
from specplan.physics.forward import Layout, forward_terms
from specplan.physics.mixed import BUDGET_TOKENS, prefill_step_s
from specplan.physics.roofline import ideal_pass
from specplan.physics.silicon import Silicon


@dataclass(frozen=True, slots=True)
class Prefill:
    """Seconds per prompt token of the target, and of the drafter, 0 for one that reads none."""

    target_s_per_token: float
    draft_s_per_token: float


def prefill(setup: Setup, prompt: float) -> Prefill:
    """The prefill of prompts of `prompt` tokens (1 or more), in chunks of up to BUDGET_TOKENS that
    attend to half a prompt on average. No host time: it hides behind so long a pass.

    A drafter with a module for each position runs all of them.
    """
    draft_s = 0.0
    if setup.draft.prefills:
        model = setup.draft.runs(1)[0].model
        one = _chunk_s(setup, model, draft_layout(setup), prompt)
        draft_s = setup.draft.caches * one
    return Prefill(_chunk_s(setup, setup.target, target_layout(setup), prompt), draft_s)


def _chunk_s(setup: Setup, model: Model, layout: Layout, prompt: float) -> float:
    """Seconds per token of one chunk."""
    chunk = min(prompt, float(BUDGET_TOKENS))
    if setup.engine.kind != "bound":
        silicon = Silicon(setup.hardware, setup.engine)
        terms = forward_terms(model, layout, silicon.small)
        return float(prefill_step_s(terms, silicon, chunk, prompt).item()) / chunk
    alone = ideal_pass(
        model,
        setup.hardware,
        dtype=layout.dtype,
        kv_dtype=layout.kv_dtype,
        tp=layout.gpus,
        batch=1,
        tokens=chunk,
        context=prompt / 2,
        outputs=1,
    )
    return float(alone.time_s.item()) / chunk
