"""Decode steps that carry prompts: what an output token costs on a busy server."""

from __future__ import annotations

import numpy as np
import pytest
from engine_worlds import CHIP, ENGINE

from specplan.catalogue.store import Catalogue
from specplan.domain.card import Dtype
from specplan.physics.forward import Layout, forward_terms
from specplan.physics.mixed import BUDGET_TOKENS, mixed_step_s, tpot_gpu_s
from specplan.physics.silicon import Silicon
from specplan.physics.steps import gpu_step
from specplan.physics.work import load

ON = Silicon(CHIP, ENGINE)
BF16 = Layout(dtype=Dtype.BF16, kv_dtype=Dtype.BF16)
STORE = Catalogue()
LLAMA = forward_terms(STORE.model("llama-3.1-8b").card, BF16, ON.small)
DEEPSEEK = forward_terms(STORE.model("deepseek-r1").card, BF16, ON.small)


def decode_s(batch: float, context: float) -> float:
    return float(gpu_step(LLAMA, load(batch, 1, context), ON).time_s.item())


def tpot_s(batch: float, isl: float, osl: float) -> float:
    return float(np.asarray(tpot_gpu_s(LLAMA, ON, batch=batch, isl=isl, osl=osl)).item())


def mixed_s(prompt: float, isl: float = 1000.0, batch: float = 8.0) -> float:
    arrays = (np.asarray(v, np.float64) for v in (batch, 1000.0, prompt, isl))
    held, context, carried, asked = arrays
    step = mixed_step_s(LLAMA, ON, batch=held, context=context, prompt=carried, isl=asked)
    return float(np.asarray(step).item())


def test_a_single_request_waits_for_no_prompt_but_its_own():
    assert tpot_s(1, 4000, 1000) == pytest.approx(decode_s(1, 4500), rel=1e-14)


def test_a_server_full_of_long_answers_is_nearly_decoding():
    assert tpot_s(16, 1, 100_000) == pytest.approx(decode_s(16, 50_001), rel=1e-3)


def test_prompts_cost_more_the_shorter_the_answers():
    times = [tpot_s(32, 2000, osl) - decode_s(32, 2000 + osl / 2) for osl in (1000, 300, 100)]
    assert 0 < times[0] < times[1] < times[2]


def test_a_token_carries_its_share_of_the_step_with_a_chunk():
    """7 of 8 requests start every 500 steps, 1,000 tokens each: 14 tokens a step, one step in 71
    takes a whole prompt.
    """
    context = 1000 + 500 / 2
    plain = decode_s(8, context)
    arrays = (np.asarray(v, np.float64) for v in (8.0, context, 1000.0, 1000.0))
    batch, seen, prompt, isl = arrays
    chunked = mixed_step_s(LLAMA, ON, batch=batch, context=seen, prompt=prompt, isl=isl)
    expected = plain + 14 / 1000 * (float(np.asarray(chunked).item()) - plain)
    assert tpot_s(8, 1000, 500) == pytest.approx(expected, rel=1e-12)


def test_a_step_without_budget_for_prompts_decodes():
    batch = float(BUDGET_TOKENS)
    assert tpot_s(batch, 1000, 100) == pytest.approx(decode_s(batch, 1050), rel=1e-14)


def test_prompts_take_longer_the_longer_they_are():
    steps = [mixed_s(prompt) for prompt in (1.0, 100.0, 1000.0, 8000.0)]
    assert steps == sorted(steps)
    assert mixed_s(1000.0, isl=4000.0) > mixed_s(1000.0, isl=1000.0)


def test_head_and_sampler_see_one_row_a_sequence():
    """A prompt of 8,000 tokens would send 8,000 rows through a head of a 128 k vocabulary."""
    wide = [term for term in LLAMA if term.name in {"head", "sampler"}]
    at_9 = float(gpu_step(wide, load(9, 1, 1000), ON).time_s.item())
    at_all = float(gpu_step(wide, load(8008, 1, 1000), ON).time_s.item())
    rest = [term for term in LLAMA if term not in wide and term.name != "attention"]
    products = float(gpu_step(rest, load(1, 8008, 1000), ON).time_s.item())
    step = mixed_s(8000.0)
    assert products + at_9 < step < products + at_all


def test_prompts_run_latent_attention_in_its_plain_form():
    """A third of the FLOP of the absorbed form, at half of the bf16 peak."""
    (attend,) = {t for t in DEEPSEEK if t.name == "attention" and t.launches > 3}
    arrays = [np.asarray(v, np.float64) for v in (8.0, 1000.0, 1000.0, 1000.0)]
    batch, context, prompt, isl = arrays
    only = mixed_step_s((attend,), ON, batch=batch, context=context, prompt=prompt, isl=isl)
    decoding = gpu_step((attend,), load(8, 1, 1000), ON).time_s
    flops = attend.flops(load(1, 1000, 500)) / 3
    assert only - decoding == pytest.approx(flops / 0.5e14, rel=1e-9)


def test_arrays_are_priced_point_by_point():
    batch, osl = np.array([[1.0], [40.0]]), np.array([10.0, 1000.0])
    grid = tpot_gpu_s(LLAMA, ON, batch=batch, isl=700.0, osl=osl)
    each = [[tpot_s(b, 700.0, o) for o in osl] for b in (1.0, 40.0)]
    np.testing.assert_allclose(grid, each, rtol=1e-12)
