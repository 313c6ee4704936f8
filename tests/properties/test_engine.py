"""Engine times against the oracle, and what must hold for any engine, accelerator and model."""

from __future__ import annotations

from dataclasses import replace

import engine_oracle as oracle
import engine_worlds as made
import numpy as np
import pytest
import worlds
from hypothesis import given, settings
from hypothesis import strategies as st

from specplan.domain.card import Dtype
from specplan.domain.engine import Decode, Engine, Gemm, Grouped, Kernels, Latent
from specplan.domain.hardware import Hardware
from specplan.domain.scenario import Setup
from specplan.physics.engine_round import target_layout
from specplan.physics.experts import Route
from specplan.physics.forward import Layout, forward_terms
from specplan.physics.kernels import seconds
from specplan.physics.moving import Elementwise, Exchange, Sample, State
from specplan.physics.round import time_rounds
from specplan.physics.silicon import Silicon
from specplan.physics.steps import SINGLE, Step, gpu_step
from specplan.physics.work import Attend, AttendLatent, Matmul, Term, load

RTOL = 1e-12
BATCH = st.integers(1, 40)
TOKENS = st.integers(1, 8)
CONTEXT = st.integers(1, 100_000).map(float)
WIDTH = st.integers(1, 8000)
FEW = settings(max_examples=25)  # the oracle counts rows one by one


def silicon(chip: Hardware, kernels: Kernels) -> Silicon:
    """Kernels on an accelerator."""
    return Silicon(chip, engine_of(kernels))


def engine_of(kernels: Kernels) -> Engine:
    """An engine of these kernels whose small operations cost their traffic alone."""
    return Engine(
        schema="engine/1",
        name="made",
        title="Made",
        kind="estimate",
        says="made",
        small=made.IDEAL,
        kernels=(kernels,),
        sources=worlds.SOURCES,
    )


def time_s(term: Term, on: Silicon, batch: float, tokens: float, context: float) -> float:
    """Seconds of one point."""
    return float(seconds(term, load(batch, tokens, context), on).item())


def asked(batch: int, tokens: int, context: float, kv: Dtype = Dtype.BF16, **more) -> oracle.Asked:
    """The same point as the oracle takes it."""
    return oracle.Asked(batch, tokens, context, "bf16", str(kv), **more)


# --- each term against the oracle ------------------------------------------------------------


@FEW
@given(made.chips(), made.kernels(), made.DTYPES, WIDTH, WIDTH, st.integers(1, 300))
def test_a_product_at_each_number_of_rows(chip, kernels, dtype, n, inner, rows):
    on = silicon(chip, kernels)
    term = Matmul("m", 1, n, inner, dtype)
    every = np.arange(1.0, rows + 1)
    there = oracle.Chip(chip, kernels, made.IDEAL)
    expected, highest = [], 0.0
    for m in range(1, rows + 1):
        highest = max(highest, oracle.gemm_raw_s(n, inner, m, str(dtype), there))
        expected.append(highest)
    got = seconds(term, load(every, 1, 1), on)
    np.testing.assert_allclose(got, expected, rtol=RTOL)
    assert time_s(term, on, rows, 1, 1) == pytest.approx(expected[-1], rel=RTOL)


@given(
    made.chips(),
    made.kernels(),
    made.KV_DTYPES,
    st.integers(1, 64),
    st.integers(1, 16),
    st.none() | st.integers(1, 5000),
    st.booleans(),
    BATCH,
    TOKENS,
    CONTEXT,
)
def test_attention(chip, kernels, kv, heads, kv_heads, window, rereads, batch, tokens, context):
    term = Attend("a", 1, heads, kv_heads, 128, window, kv, rereads=rereads)
    expected = oracle.attention_s(
        (heads, kv_heads, 128),
        window,
        asked(batch, tokens, context, kv, rereads=rereads),
        oracle.Chip(chip, kernels, made.IDEAL),
    )
    got = time_s(term, silicon(chip, kernels), batch, tokens, context)
    assert got == pytest.approx(expected, rel=RTOL)


@given(
    made.chips(), made.kernels(), made.KV_DTYPES, st.integers(1, 128), WIDTH, BATCH, TOKENS, CONTEXT
)
def test_latent_attention(chip, kernels, kv, heads, latent, batch, tokens, context):
    term = AttendLatent("a", 1, heads, latent, 64, kv)
    there = oracle.Chip(chip, kernels, made.IDEAL)
    expected = oracle.latent_s(heads, latent, 64, asked(batch, tokens, context, kv), there)
    got = time_s(term, silicon(chip, kernels), batch, tokens, context)
    assert got == pytest.approx(expected, rel=RTOL)


@st.composite
def routes(draw: st.DrawFn) -> Route:
    """A layer of experts on one of up to eight GPUs."""
    experts = draw(st.integers(2, 256))
    return Route(
        "e",
        1,
        experts=experts,
        held=experts / draw(st.sampled_from([1, 2, 4])),
        active=draw(st.integers(1, min(experts - 1, 16))),
        hidden=draw(WIDTH),
        width=float(draw(WIDTH)),
        matrices=3,
        groups=draw(st.sampled_from([1, 2])),
        dtype=draw(made.DTYPES),
    )


@given(routes(), st.floats(0, 1), BATCH, TOKENS)
def test_experts_touched(route, overlap, batch, tokens):
    effective = route.groups * batch * (1 + overlap * (tokens - 1))
    expected = oracle.touched(route.experts, route.active, route.held, effective)
    got = float(route.touched(load(batch, tokens, 1, overlap)))
    assert got == pytest.approx(expected, rel=1e-11)  # the oracle subtracts two like numbers


@FEW
@given(made.chips(), made.kernels(), st.integers(1, 40_000_000), st.integers(2, 16))
def test_allreduce(chip, kernels, payload, gpus):
    term = Exchange("allreduce", 1, payload, gpus)
    expected = oracle.allreduce_s(2.0 * payload, gpus, oracle.Chip(chip, kernels, made.IDEAL))
    assert time_s(term, silicon(chip, kernels), 1, 1, 1) == pytest.approx(expected, rel=RTOL)


@given(made.chips(), made.SMALLS, WIDTH, st.booleans(), BATCH, TOKENS)
def test_small_terms(chip, small, width, draft, batch, tokens):
    on = Silicon(chip, replace(engine_of(IDEAL_KERNELS), small=small))
    there, rows = oracle.Chip(chip, IDEAL_KERNELS, small), batch * tokens
    pairs = (
        (Elementwise("e", 5, width), oracle.small_s(5, width, rows, there)),
        (State("s", 1, float(width)), oracle.state_s(float(width), rows, there)),
        (
            Sample("s", width, 1 if draft else 3, draft),
            oracle.sampler_s(width, asked(batch, tokens, 1, draft=draft), there),
        ),
    )
    for term, expected in pairs:
        assert time_s(term, on, batch, tokens, 1) == pytest.approx(expected, rel=RTOL)


# --- whole passes and rounds against the oracle ----------------------------------------------


def forward(setup: Setup, batch: int, tokens: int, context: float) -> oracle.Forward:
    """The target's pass as the oracle takes it."""
    there = oracle.Chip(setup.hardware, setup.engine.kernels[0], setup.engine.small)
    return oracle.Forward(
        setup.target,
        oracle.Asked(
            batch,
            tokens,
            context,
            str(setup.dtype),
            str(setup.kv_dtype),
            setup.engine.overlap,
            setup.tp,
            setup.attention_dp,
            setup.ep,
            setup.engine.rereads,
        ),
        there,
    )


def step_of(setup: Setup, batch: object, tokens: object, context: object) -> Step:
    """The target's pass on the GPU."""
    on = Silicon(setup.hardware, setup.engine)
    terms = forward_terms(setup.target, target_layout(setup), on.small)
    return gpu_step(terms, load(batch, tokens, context, setup.engine.overlap), on)


@FEW
@given(made.setups(), st.integers(1, 12), st.integers(1, 6), CONTEXT)
def test_a_step_term_by_term(setup, batch, tokens, context):
    step = step_of(setup, batch, tokens, context)
    expected = oracle.named(forward(setup, batch, tokens, context).terms())
    got = {share.name: float(share.time_s.item()) for share in step.shares}
    assert got.keys() <= expected.keys()
    assert {name for name in expected if expected[name]} <= got.keys()
    for name, whole in got.items():
        assert whole == pytest.approx(expected[name], rel=1e-11, abs=1e-30), name
    assert float(step.time_s.item()) == pytest.approx(sum(expected.values()), rel=RTOL)


@settings(max_examples=40)
@given(made.setups(), st.integers(1, 20), st.integers(0, 5), CONTEXT)
def test_a_round(setup, batch, k, context):
    """Host hidden or exposed, graphs of any width, draft floor, groups of sequences."""
    timing = time_rounds(setup, (context,), (float(batch),), (k,))
    expected = oracle.round_times(setup, batch, context, k)
    assert float(timing.plain_s.item()) == pytest.approx(expected.plain_s, rel=RTOL)
    assert float(timing.draft_s.item()) == pytest.approx(expected.draft_s, rel=RTOL)
    assert float(timing.round_s.item()) == pytest.approx(expected.round_s, rel=RTOL)


# --- what holds for any ----------------------------------------------------------------------

IDEAL_KERNELS = Kernels(
    gpus=("chip",),
    basis="assumed",
    gemm={Dtype.BF16: Gemm(tiles="tiny", launch=0.0, memory=1.0, compute=1.0)},
    attention={Dtype.BF16: Decode(launch=0.0, memory=1.0, block=0.0)},
    latent=Latent(launch=0.0, memory=1.0, compute=1.0),
    experts={Dtype.BF16: Grouped(launch=0.0, expert=0.0, memory=1.0, compute=1.0, rows=1)},
)

BATCHES, CONTEXTS = np.array([1.0, 2, 3, 17, 64, 200]), np.array([1.0, 100, 5000, 200_000])


@given(made.setups())
def test_no_drafts_cost_what_a_plain_step_costs(setup):
    timing = time_rounds(setup, CONTEXTS.tolist(), BATCHES.tolist(), (0, 1, 5))
    np.testing.assert_array_equal(timing.verify_s[..., :1], timing.plain_s)
    np.testing.assert_array_equal(timing.round_s[..., :1], timing.plain_s)
    np.testing.assert_array_equal(timing.gain[..., 0], 1.0)


@given(made.setups(single=False))
def test_more_work_takes_no_less_time(setup):
    """Batch, new tokens and context: the GPU's time of the whole pass."""
    tokens = np.arange(1.0, 18)
    context, batch = CONTEXTS[:, np.newaxis, np.newaxis], BATCHES[:, np.newaxis]
    shape = len(CONTEXTS), len(BATCHES), len(tokens)
    time = np.broadcast_to(step_of(setup, batch, tokens, context).time_s, shape)
    for axis in range(3):
        assert np.diff(time, axis=axis).min() >= -1e-12 * time.max(axis=None)


@given(
    made.chips(),
    made.kernels(),
    made.KV_DTYPES,
    st.integers(1, 64),
    st.integers(1, 16),
    st.none() | st.integers(1, 5000),
    st.integers(2, 40_000),
)
def test_a_row_of_neighbours_in_context_and_batch_takes_no_less_time(
    chip, kernels, kv, heads, kv_heads, window, context
):
    """Where parts of a cache are added and where a wave is full the steps are fine."""
    term = Attend("a", 1, heads, kv_heads, 128, window, kv)
    contexts = np.concatenate([np.arange(context - 1.0, context + 2), 512 * np.arange(1.0, 40)])
    contexts = np.unique(np.concatenate([contexts, contexts + 1]))[:, np.newaxis]
    time = seconds(term, load(np.arange(1.0, 260), 1, contexts), silicon(chip, kernels))
    time = np.broadcast_to(time, (len(contexts), 259))
    for axis in range(2):
        assert np.diff(time, axis=axis).min() >= -1e-12 * time.max(axis=None)


@given(made.setups(single=False), st.floats(1, 100))
def test_slower_silicon_takes_no_less_time(setup, factor):
    """Every byte at less bandwidth, every FLOP at a lower rate."""
    chip = setup.hardware
    narrow = replace(chip, bandwidth=chip.bandwidth / factor)
    slow = replace(chip, rates={name: rate / factor for name, rate in chip.rates.items()})
    fast_s = step_of(setup, BATCHES, 4, 1000).time_s
    for worse in (narrow, slow):
        slow_s = step_of(replace(setup, hardware=worse), BATCHES, 4, 1000).time_s
        assert np.all(slow_s >= fast_s * (1 - 1e-12))


@given(made.chips(), made.kernels(), made.DTYPES, WIDTH, WIDTH, st.integers(0, 3000))
def test_a_deeper_product_takes_no_less_time(chip, kernels, dtype, n, inner, more):
    """More bytes and more FLOP through the same tiles."""
    on = silicon(chip, kernels)
    rows = load(np.arange(1.0, 600, 7), 1, 1)
    shallow = seconds(Matmul("m", 1, n, inner, dtype), rows, on)
    deep = seconds(Matmul("m", 1, n, inner + more, dtype), rows, on)
    assert np.all(deep >= shallow * (1 - 1e-12))


@given(made.setups())
def test_one_gpu_has_no_communication(setup):
    alone = replace(setup, tp=1, attention_dp=1, ep=1)
    step = step_of(alone, BATCHES, 1, 100)
    assert "allreduce" not in {share.name for share in step.shares}
    assert not np.any(step.network_s)
    pair = replace(setup, tp=2, attention_dp=1, ep=1)
    assert "allreduce" in {share.name for share in step_of(pair, BATCHES, 1, 100).shares}


@given(routes(), BATCH, TOKENS)
def test_all_experts_are_touched_in_the_end_and_kappa_0_touches_one_tokens(route, batch, tokens):
    assert float(route.touched(load(1e12, 1, 1))) == route.held
    one = route.touched(load(batch, 1, 1))
    assert float(route.touched(load(batch, tokens, 1, overlap=0.0))) == float(one)
    assert float(route.touched(load(1 / route.groups, 1, 1))) == pytest.approx(
        route.active * route.held / route.experts, rel=1e-9
    )
    spread = route.touched(load(batch, tokens, 1, overlap=1.0))
    assert one <= spread <= route.held


@given(st.integers(1, 64), st.integers(1, 16), BATCH, CONTEXT)
def test_the_cache_is_read_once_for_all_new_tokens(heads, kv_heads, batch, context):
    tokens = np.arange(1.0, 18)
    at = load(batch, tokens, context)
    once = Attend("a", 3, heads, kv_heads, 128, None, Dtype.BF16)
    latent = AttendLatent("a", 3, heads, 512, 64, Dtype.BF16)
    for term in (once, latent):
        assert len(set(np.broadcast_to(term.traffic_bytes(at), tokens.shape).tolist())) == 1
    again = replace(once, rereads=True)
    np.testing.assert_allclose(again.traffic_bytes(at), tokens * once.traffic_bytes(at), rtol=RTOL)


@given(st.integers(1, 128), st.integers(1, 512), BATCH, TOKENS, CONTEXT)
def test_latent_attention_is_multi_query_attention_in_the_degenerate_case(
    heads, width, batch, tokens, context
):
    """Without a rotated part: one key and value head, and keys that are the values."""
    at = load(batch, tokens, context)
    latent = AttendLatent("a", 1, heads, width, 0, Dtype.BF16)
    shared = Attend("a", 1, heads, 1, width, None, Dtype.BF16)
    assert float(latent.flops(at)) == float(shared.flops(at))
    assert float(latent.traffic_bytes(at)) == float(shared.traffic_bytes(at)) / 2


@given(made.setups())
def test_a_grid_is_its_points(setup):
    """Chunked or whole: no figure depends on which others are asked for with it."""
    ks = (0, 1, 4, 9)
    whole = time_rounds(setup, CONTEXTS.tolist(), BATCHES.tolist(), ks)
    for i, context in enumerate(CONTEXTS):
        part = time_rounds(setup, (float(context),), BATCHES[2:4].tolist(), ks[1:3])
        np.testing.assert_allclose(part.round_s[0], whole.round_s[i, 2:4, 1:3], rtol=1e-14)
        np.testing.assert_allclose(part.plain_s[0], whole.plain_s[i, 2:4], rtol=1e-14)


@given(made.chips(), made.models(), st.integers(1, 300), st.integers(2, 6), CONTEXT)
def test_perfect_kernels_come_down_to_each_terms_roofline(chip, model, batch, tokens, context):
    """All shares 1, nothing fixed: never below max(FLOP / peak, bytes / bandwidth) of a term."""
    on = Silicon(replace(chip, units=1), engine_of(IDEAL_KERNELS))
    layout = Layout(dtype=Dtype.BF16, kv_dtype=Dtype.BF16)
    at = load(batch, tokens, context)
    floor = 0.0
    for term in forward_terms(replace(model, dtype=Dtype.BF16, parts={}), layout, on.small):
        compute = float(term.flops(at)) / on.peak(Dtype.BF16)
        memory = float(term.traffic_bytes(at)) / on.bandwidth
        took = float(seconds(term, at, on).item())
        assert took >= max(compute, memory) * (1 - 1e-12), term.name
        floor += max(compute, memory)
    step = gpu_step(
        forward_terms(replace(model, dtype=Dtype.BF16, parts={}), layout, on.small), at, on
    )
    assert float(step.time_s.item()) >= floor * (1 - 1e-12)


@given(made.chips(), st.integers(1, 20), st.integers(1, 20), WIDTH)
def test_a_perfect_product_of_whole_tiles_is_the_blend(chip, tall, wide, inner):
    """On one multiprocessor no wave is part full: cbrt(memory^3 + arithmetic^3) exactly."""
    on = silicon(replace(chip, units=1), IDEAL_KERNELS)
    term = Matmul("m", 1, 64 * wide, inner, Dtype.BF16)
    at = load(32 * tall, 1, 1)
    compute = float(term.flops(at)) / on.peak(Dtype.BF16)
    memory = float(term.traffic_bytes(at)) / on.bandwidth
    assert float(seconds(term, at, on).item()) == pytest.approx(np.cbrt(compute**3 + memory**3))


@given(made.chips(), made.kernels(), WIDTH, WIDTH)
def test_the_slow_path_of_one_row_is_a_term_of_its_own(chip, kernels, n, inner):
    on = silicon(chip, kernels)
    single = on.gemm(Dtype.BF16).single
    step = gpu_step((Matmul("m", 7, n, inner, Dtype.BF16),), load([1, 2], 1, 1), on)
    slow = [share.time_s.tolist() for share in step.shares if share.name == SINGLE]
    assert slow == ([[7 * single, 0.0]] if single else [])
