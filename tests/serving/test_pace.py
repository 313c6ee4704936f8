"""How long steps take on a server: tables against the physics that they come from."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from serving.replicas import replica, setup

from specplan.physics.engine_round import target_layout
from specplan.physics.forward import forward_terms
from specplan.physics.mixed import mixed_step_s, prefill_step_s
from specplan.physics.round import time_rounds
from specplan.physics.silicon import Silicon
from specplan.serving.pace import Pace, pace_of

K = (0, 1, 3)
PACE = pace_of(setup(), K, 64, 8192.0, 9000)
PLAIN = pace_of(setup(), (0,), 64, 8192.0, 9000)


def round_s(batch: float, context: float, k: int) -> float:
    return float(time_rounds(setup(), (context,), (batch,), (k,)).round_s.item())


@pytest.mark.parametrize("k", K)
@pytest.mark.parametrize("batch", [1, 2, 17, 64])
def test_a_round_in_the_table_is_that_of_physics(k, batch):
    for context in PACE.context.tolist():
        ours = float(PACE.at(k, batch, context))
        assert ours == pytest.approx(round_s(batch, context, k), rel=1e-12)


@given(st.integers(1, 64), st.floats(0, 8192), st.sampled_from(K))
def test_between_contexts_it_is_off_by_little(batch, context, k):
    assert float(PACE.at(k, batch, context)) == pytest.approx(round_s(batch, context, k), rel=0.02)


def test_fractions_of_a_batch_lie_between_whole_ones():
    low, half, high = (float(PACE.at(3, batch, 1000)) for batch in (7, 7.5, 8))
    assert half == pytest.approx((low + high) / 2, rel=1e-12)


def test_arrays_give_what_single_calls_give():
    batch, context = np.array([[1.0], [9.0], [64.0]]), np.array([0.0, 700.0, 8192.0])
    every = PACE.at(1, batch, context)
    assert every.shape == (3, 3)
    for (i, j), found in np.ndenumerate(every):
        assert found == float(PACE.at(1, batch[i, 0], context[j]))


@pytest.mark.parametrize("prompt", [1, 100, 1024, 4096])
def test_a_prompt_alone_costs_what_prefill_says(prompt):
    """Without a drafter, on an engine that hides its host behind so long a pass."""
    silicon = Silicon(setup().hardware, setup().engine)
    terms = forward_terms(setup().target, target_layout(setup()), silicon.small)
    theirs = float(prefill_step_s(terms, silicon, prompt, prompt).item())
    assert float(PLAIN.prompt_s(0, prompt, prompt / 2)) == pytest.approx(theirs, rel=0.01)


@pytest.mark.parametrize("batch", [1, 8, 64])
@pytest.mark.parametrize("prompt", [64, 700, 2048])
def test_a_prompt_beside_plain_decoding_costs_what_a_mixed_step_says(batch, prompt):
    silicon = Silicon(setup().hardware, setup().engine)
    terms = forward_terms(setup().target, target_layout(setup()), silicon.small)
    arrays = [np.asarray(v, np.float64) for v in (batch, 1000.0, prompt, prompt)]
    held, context, carried, isl = arrays
    theirs = mixed_step_s(terms, silicon, batch=held, context=context, prompt=carried, isl=isl)
    ours = PLAIN.at(0, batch, 1000) + PLAIN.prompt_s(batch, prompt, prompt / 2)
    assert float(ours) == pytest.approx(float(theirs.item()), rel=0.02)


def test_the_drafter_reads_prompts_too():
    alone, together = PLAIN.prompt_s(0, 2000, 1000), PACE.prompt_s(0, 2000, 1000)
    assert 1.01 < float(together / alone) < 1.2  # one layer of 32, and a head that is not run


def test_without_a_drafter_nothing_of_it_is_charged():
    assert PLAIN.draft is None
    assert PACE.draft is not None


def test_few_tokens_ride_along_and_many_pay_for_their_arithmetic():
    few, many = float(PACE.prompt_s(4, 16, 8)), float(PACE.prompt_s(4, 4096, 2048))
    assert few < 0.05 * float(PACE.at(3, 1, 1000))
    assert many > 10 * float(PACE.at(3, 1, 1000)) / 2


@given(st.integers(0, 200), st.integers(0, 8000), st.integers(0, 8000), st.floats(0, 8000))
def test_more_tokens_never_cost_less(rows, few, more, attended):
    low, high = sorted((few, more))
    assert PACE.prompt_s(rows, low, attended) <= PACE.prompt_s(rows, high, attended) + 1e-12


def test_a_step_without_sequences_waits_for_the_host():
    slow = replace(PLAIN, idle_s=1.0)
    assert float(slow.prompt_s(0, 8, 4)) == pytest.approx(1.0, abs=0.01)
    shown = replace(slow, host_hidden=False)
    assert float(shown.prompt_s(0, 8, 4)) == pytest.approx(1.0 + float(PLAIN.prompt_s(0, 8, 4)), 1)
    assert float(slow.prompt_s(8, 8, 4)) < 0.01


def test_nothing_costs_nothing():
    assert float(PACE.prompt_s(0, 0, 0)) == 0
    assert float(PACE.prompt_s(12, 0, 0)) == 0


@pytest.mark.parametrize("engine", ["sglang", "trtllm", "llamacpp", "transformers"])
def test_every_engine_has_a_pace(engine):
    found: Pace = replica("3", engine).pace
    assert np.isfinite(found.round_s).all()
    assert (found.round_s > 0).all()
    assert float(found.prompt_s(0, 1000, 500)) > 0
