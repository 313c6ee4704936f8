"""What a prompt costs: the target's pass over it, and the drafter's own.

A drafter with a cache of its own has to fill it before it can draft, so it reads every prompt too;
engines run prompts in chunks, which the figures here take as full.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from specplan.domain.drafter import Does
from specplan.domain.scenario import Setup
from specplan.physics.drafting import Passes, passes_of
from specplan.physics.engine_round import draft_layout, target_layout
from specplan.physics.forward import Layout, forward_terms, key_terms
from specplan.physics.mixed import BUDGET_TOKENS, prefill_step_s
from specplan.physics.silicon import Silicon
from specplan.physics.whole import prompt_s


@dataclass(frozen=True, slots=True)
class Prefill:
    """Seconds per prompt token of the target, and of the drafter, 0 for one that reads none."""

    target_s_per_token: float
    draft_s_per_token: float


def prefill(setup: Setup, prompt: float) -> Prefill:
    """The prefill of prompts of `prompt` tokens (1 or more), in chunks of up to BUDGET_TOKENS that
    attend to half a prompt on average. No host time: it hides behind so long a pass.

    A drafter with a module for each position runs all of them; one that makes keys and values of
    hidden states runs no more than that.
    """
    draft_s = 0.0
    if setup.draft.prefills:
        first = passes_of(setup.draft, (1,))[0]
        draft_s = setup.draft.caches * _chunk_s(setup, first, draft_layout(setup), prompt)
    whole = np.ones(1)
    target = Passes(setup.target, whole, whole, whole)
    return Prefill(_chunk_s(setup, target, target_layout(setup), prompt), draft_s)


def _chunk_s(setup: Setup, some: Passes, layout: Layout, prompt: float) -> float:
    """Seconds per token of one chunk through what these passes run."""
    chunk, model = min(prompt, float(BUDGET_TOKENS)), some.model
    if setup.engine.kind != "bound" and not setup.engine.fitted:
        silicon = Silicon(setup.hardware, setup.engine)
        make = key_terms if some.does is Does.KEYS else forward_terms
        terms = make(model, layout, silicon.small)
        return float(prefill_step_s(terms, silicon, chunk, prompt).item()) / chunk
    time_s = prompt_s(setup, model, layout, some.does, chunk, prompt / 2)
    return float(time_s.item()) / chunk
