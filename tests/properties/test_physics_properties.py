"""What must hold of the ideal roofline whatever the figures: bounds, limits, scaling, order."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import oracle
import pytest
import worlds
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from specplan.domain.acceptance import Alpha
from specplan.physics.choose import TIE, alpha_range, best_index
from specplan.physics.memory import memory_bill
from specplan.physics.roofline import ideal_pass
from specplan.physics.round import cost_ratio, time_rounds
from specplan.physics.tokens import alpha_for_tokens, expected_tokens
from specplan.questions import grids
from specplan.questions import sweep as sweeping
from specplan.questions.best_k import best_k
from specplan.questions.weigh import Point, weigh

EPSILON = 2.0**-52
ULPS = 4 * EPSILON  # a few roundings
K = np.arange(65)


# --- tokens ----------------------------------------------------------------------------------


@given(alpha=worlds.ALPHAS)
def test_tokens_lie_between_one_and_all(alpha):
    tokens = expected_tokens(alpha, K)
    assert tokens[0] == 1.0
    assert (tokens >= 1).all()
    assert (tokens <= K + 1).all()


@given(alpha=worlds.ALPHAS)
def test_one_more_draft_adds_alpha_to_the_k(alpha):
    tokens = expected_tokens(alpha, K)
    gained = [alpha**k for k in K[1:].tolist()]
    np.testing.assert_allclose(np.diff(tokens), gained, rtol=0, atol=ULPS * tokens.max())


@given(alphas=st.lists(worlds.ALPHAS, min_size=2).map(sorted))
def test_tokens_rise_with_alpha_and_with_k(alphas):
    tokens = expected_tokens(np.asarray(alphas)[:, np.newaxis], K)
    assert (np.diff(tokens, axis=0) >= -ULPS * tokens[1:]).all()
    assert (np.diff(tokens, axis=1) >= -ULPS * tokens[:, 1:]).all()


@given(low=st.floats(0.01, 0.99), step=st.floats(1e-6, 0.01), k=st.integers(1, 64))
def test_a_better_drafter_yields_more(low, step, k):
    assert expected_tokens(low + step, k) > expected_tokens(low, k)


def test_the_ends_are_exact():
    assert expected_tokens(0.0, K).tolist() == [1.0] * 65
    assert expected_tokens(1.0, K).tolist() == (K + 1.0).tolist()


@pytest.mark.parametrize("k", [0, 1, 2, 4, 8, 16, 64])
@pytest.mark.parametrize(
    "alpha",
    [
        *(1 - 2.0**-n for n in (1, 5, 10, 20, 26, 27, 40, 50, 52, 53)),
        *(10.0**-n for n in (1, 3, 8, 9, 16, 17, 40, 150, 300, 308)),
        5e-324,
        1 / 3,
        0.1,
        0.7,
    ],
)
def test_tokens_match_exact_sums(alpha, k):
    exact = sum(Fraction(alpha) ** i for i in range(k + 1))
    error = abs(Fraction(float(expected_tokens(alpha, k))) - exact) / exact
    assert error <= 2 * Fraction(EPSILON)


@given(alpha=worlds.ALPHAS, k=st.integers(1, 64))
def test_the_inverse_gives_the_tokens_back(alpha, k):
    tokens = expected_tokens(alpha, k)
    found = float(alpha_for_tokens(tokens, k))
    assert 0 <= found <= 1
    assert expected_tokens(found, k) == pytest.approx(float(tokens), rel=ULPS * k)


# --- speedup ---------------------------------------------------------------------------------


@given(case=worlds.cases(), load=worlds.WORKLOADS)
def test_no_speedup_exceeds_the_tokens(case, load):
    k = load.k if case.drafts else (0,)
    gain = time_rounds(worlds.setup(case), load.context, load.batch, k).gain
    assert (gain > 0).all()
    assert (gain <= 1 + ULPS).all()


@given(case=worlds.cases(), load=worlds.WORKLOADS)
def test_plain_decoding_gains_exactly_nothing(case, load):
    setup = worlds.setup(case)
    timing = time_rounds(setup, load.context, load.batch, (0,))
    assert (timing.gain == 1.0).all()
    assert (timing.round_s == timing.plain_s).all()
    point = Point(setup, load.context[0], load.batch[0], Alpha(load.alpha[0]))
    assert weigh(point, (0, 1)).speedup[0] == 1.0


@given(case=worlds.cases(), load=worlds.WORKLOADS, scale=st.floats(1e-3, 1e3))
def test_a_chip_twice_as_fast_takes_half_the_time(case, load, scale):
    k = load.k if case.drafts else (0,)
    rates = {name: rate * scale for name, rate in case.rates.items()}
    scaled = replace(case, rates=rates, bandwidth=case.bandwidth * scale)
    here, there = (
        time_rounds(worlds.setup(c), load.context, load.batch, k) for c in (case, scaled)
    )
    np.testing.assert_allclose(there.round_s * scale, here.round_s, rtol=1e-14)
    np.testing.assert_allclose(there.plain_s * scale, here.plain_s, rtol=1e-14)
    np.testing.assert_allclose(there.gain, here.gain, rtol=1e-14)


@given(
    case=worlds.cases(),
    batch=st.integers(1, 10_000),
    context=st.integers(1, 100_000),
    alpha=st.floats(0, 1),
)
def test_best_k_is_the_best_of_all(case, batch, context, alpha):
    point = Point(worlds.setup(case), context, batch, Alpha(alpha))
    w = weigh(point, tuple(range(17)))
    speedups = w.speedup.tolist()
    chosen = w.best()
    assert all(s <= speedups[chosen] * (1 + TIE) for s in speedups)
    assert all(s < speedups[chosen] for s in speedups[:chosen])
    assert speedups[chosen] >= 1 - TIE


@given(gains=st.lists(st.floats(0.5, 2), min_size=1, max_size=10), closeness=st.floats(0, 0.9))
def test_ties_go_to_the_smaller_k(gains, closeness):
    top = max(gains)
    tied = np.asarray([top * (1 - closeness * TIE), *gains])
    assert int(best_index(tied)) == 0
    clear = np.asarray([top * (1 - 2 * TIE), *gains])
    assert int(best_index(clear)) > 0


@given(
    gains=st.lists(st.floats(0.05, 1), min_size=1, max_size=20),
    alphas=st.lists(st.floats(0, 1), min_size=2, max_size=20).map(sorted),
)
def test_the_best_k_never_falls_as_alpha_grows(gains, alphas):
    """Which makes the alphas of one k an interval, as best-k says."""
    gain, lengths = np.asarray(gains), np.arange(len(gains))
    best = best_index(expected_tokens(np.asarray(alphas)[:, np.newaxis], lengths) * gain)
    assert (np.diff(best) >= 0).all()
    for alpha, chosen in zip(alphas, best.tolist(), strict=True):
        low, high = alpha_range(gain, lengths.tolist(), chosen, alpha)
        assert low <= alpha <= high
        for other, its in zip(alphas, best.tolist(), strict=True):
            inside = low - 1e-6 <= other <= high + 1e-6
            outside = not low + 1e-6 <= other <= high - 1e-6
            assert inside if its == chosen else outside


# --- limits ----------------------------------------------------------------------------------


def dense(case: oracle.Case) -> oracle.Case:
    """The case with models that read the same whatever the batch."""
    still = [
        replace(m, layers=tuple(replace(layer, experts=0) for layer in m.layers)) if m else None
        for m in (case.target, case.draft)
    ]
    return replace(case, target=still[0], draft=still[1])


@given(
    case=worlds.cases().map(dense),
    batch=st.integers(1, 100),
    k=st.integers(1, 16),
    alpha=st.floats(0, 1),
)
def test_when_memory_binds_a_round_costs_one_plus_k_c(case, batch, k, alpha):
    assume(case.drafts)
    case = replace(case, rates=dict.fromkeys(case.rates, 1e30))
    setup = worlds.setup(case)
    gain = float(time_rounds(setup, (1000,), (batch,), (k,)).gain[0, 0, 0])
    c = cost_ratio(setup, 1000, batch)
    tokens = float(expected_tokens(alpha, k))
    assert tokens * gain == pytest.approx(tokens / (1 + k * c), rel=1e-12)


@given(case=worlds.cases(), batch=st.integers(1, 100), k=st.integers(1, 16), alpha=st.floats(0, 1))
def test_when_arithmetic_binds_speculation_only_costs(case, batch, k, alpha):
    assume(case.drafts)
    case = replace(case, bandwidth=1e40)
    w = weigh(Point(worlds.setup(case), 1000, batch, Alpha(alpha)), (0, k))
    # Verification takes k + 1 plain steps and yields at most k + 1 tokens.
    assert w.speedup[1] <= (1 + ULPS) * expected_tokens(alpha, k) / (k + 1)
    free = replace(case, draft=None, ratio=0.0)
    w = weigh(Point(worlds.setup(free), 1000, batch, Alpha(alpha)), (0, k))
    assert w.speedup[1] == pytest.approx(float(expected_tokens(alpha, k)) / (k + 1), rel=1e-14)


@given(case=worlds.cases(), batch=st.integers(1, 100), k=st.integers(1, 16), alpha=st.floats(0, 1))
def test_when_arithmetic_binds_time_is_arithmetic(case, batch, k, alpha):
    """Theorem 3.11: with both models on one rate and as many GPUs, speedup is 1 / FLOP factor."""
    assume(case.drafts)
    case = replace(case, bandwidth=1e40, draft_tp=case.tp, draft_dtype=case.dtype)
    w = weigh(Point(worlds.setup(case), 1000, batch, Alpha(alpha)), (0, k))
    np.testing.assert_allclose(w.speedup * w.flops_per_token, 1.0, rtol=1e-13)
    assert (w.flops_per_token >= 1 - ULPS).all()


# --- monotone --------------------------------------------------------------------------------


def pass_s(case: oracle.Case, batch: float, tokens: float, context: float) -> float:
    """Seconds of a pass of the target."""
    setup = worlds.setup(case)
    sizes = {"dtype": setup.dtype, "kv_dtype": setup.kv_dtype, "tp": setup.tp}
    load = {"batch": batch, "tokens": tokens, "context": context}
    return float(ideal_pass(setup.target, setup.hardware, **sizes, **load).time_s)


@given(
    case=worlds.cases(),
    batch=st.lists(st.integers(1, 1_000_000), min_size=2, max_size=2).map(sorted),
    tokens=st.lists(st.integers(1, 65), min_size=2, max_size=2).map(sorted),
    context=st.lists(st.floats(0, 1e7), min_size=2, max_size=2).map(sorted),
)
def test_more_work_takes_no_less_time(case, batch, tokens, context):
    base = pass_s(case, batch[0], tokens[0], context[0])
    slack = 1 - 16 * EPSILON
    assert pass_s(case, batch[1], tokens[0], context[0]) >= base * slack
    assert pass_s(case, batch[0], tokens[1], context[0]) >= base * slack
    assert pass_s(case, batch[0], tokens[0], context[1]) >= base * slack


@given(case=worlds.cases(), context=st.lists(st.integers(1, 10**7), min_size=2).map(sorted))
def test_longer_contexts_never_fit_more(case, context):
    bill = memory_bill(worlds.setup(case), np.asarray(context))
    for largest in (bill.largest_plain, bill.largest):
        assert (np.diff(largest) <= 0).all()
        assert (largest >= 0).all()
    assert (bill.largest <= bill.largest_plain).all()


@given(case=worlds.cases(), context=st.integers(1, 10**6))
def test_the_largest_batch_fits_and_the_next_does_not(case, context):
    bill = memory_bill(worlds.setup(case), context)
    for drafted, largest in ((False, float(bill.largest_plain)), (True, float(bill.largest))):
        per_sequence = float(bill.needed_bytes(1, drafted=drafted)) - float(
            bill.needed_bytes(0, drafted=drafted)
        )
        assume(per_sequence >= 1)
        if largest > 0:
            needed = float(bill.needed_bytes(largest, drafted=drafted))
            assert needed <= bill.usable_bytes * (1 + ULPS)
        more = float(bill.needed_bytes(largest + 1, drafted=drafted))
        assert more > bill.usable_bytes * (1 - ULPS)


@given(case=worlds.cases(), context=st.integers(1, 10**5), batch=st.integers(1, 1000))
def test_more_gpus_never_take_longer_or_hold_more_each(case, context, batch):
    for fewer, more in pairwise((1, 2, 4, 8, 16)):
        small, large = (worlds.setup(replace(case, tp=tp)) for tp in (fewer, more))
        slow, fast = (time_rounds(s, (context,), (batch,), (0, 4)) for s in (small, large))
        assert (fast.verify_s <= slow.verify_s * (1 + ULPS)).all()
        held, shared = (memory_bill(s, context) for s in (small, large))
        assert shared.target_sequence_bytes <= held.target_sequence_bytes * (1 + ULPS)
        assert shared.target_bytes < held.target_bytes


# --- order and chunks ------------------------------------------------------------------------


@given(case=worlds.cases(), load=worlds.WORKLOADS, data=st.data())
def test_the_order_of_an_axis_orders_the_rows(case, load, data):
    axes = {
        "batch": load.batch,
        "context": load.context,
        "acceptance": tuple(map(Alpha, load.alpha)),
        "k": load.k,
    }
    shuffled = {name: tuple(data.draw(st.permutations(axis))) for name, axis in axes.items()}
    here, there = (
        list(sweeping.sweep(worlds.scenario(case, **a)).table.records()) for a in (axes, shuffled)
    )
    alphas = [a.alpha for a in shuffled["acceptance"]]
    lengths = shuffled["k"] if case.drafts else (0,)
    key = ("context", "batch", "alpha", "k")
    assert [tuple(row[name] for name in key) for row in there] == list(
        product(shuffled["context"], shuffled["batch"], alphas, lengths)
    )
    by_point = {tuple(row[name] for name in key): row for row in here}
    assert len(by_point) == len(here) == len(there)
    # Bit for bit: a cell does not know its neighbours.
    assert all(by_point[tuple(row[name] for name in key)] == row for row in there)


@settings(max_examples=30)
@given(case=worlds.cases(), load=worlds.WORKLOADS, rows=st.integers(1, 70))
def test_chunks_do_not_change_a_sweep(case, load, rows):
    alphas = tuple(map(Alpha, load.alpha))
    scene = worlds.scenario(
        case, batch=load.batch, context=load.context, acceptance=alphas, k=load.k
    )
    whole = list(sweeping.sweep(scene).table.records())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grids, "CHUNK_ROWS", rows)
        chunks = list(sweeping.sweep(scene).table.chunks())
        again = list(sweeping.sweep(scene).table.records())
    assert again == whole
    k_count = len(load.k) if case.drafts else 1
    assert all(len(chunk["k"]) <= max(rows, k_count) for chunk in chunks)


# --- extremes --------------------------------------------------------------------------------

HUGE = oracle.Model(planned_params=1e13, planned_kv_bytes=1e9, planned_stored=1e14)
SPARSE = oracle.Model(
    hidden=65536,
    vocab=1_000_000,
    layers=(
        oracle.Layer(
            repeat=1000,
            heads=1024,
            kv_heads=1024,
            head_dim=256,
            experts=4096,
            active=64,
            expert_width=65536,
        ),
    ),
)


@pytest.mark.parametrize("target", [HUGE, SPARSE])
@pytest.mark.parametrize("draft", [None, HUGE, SPARSE])
@pytest.mark.parametrize("rate", [1e11, 1e17])
@pytest.mark.parametrize("bandwidth", [1e9, 1e14])
def test_extreme_figures_stay_finite(target, draft, rate, bandwidth):
    case = oracle.Case(
        target=target,
        draft=draft,
        ratio=0.0 if draft else 10.0,
        rates={"bf16": rate},
        bandwidth=bandwidth,
        memory=1e13,
        kv_dtype="fp32",
    )
    alphas = (0.0, 5e-324, 0.5, math.nextafter(1, 0), 1.0)
    scene = worlds.scenario(
        case,
        batch=(1.0, 1e6),
        context=(1.0, 1e7, 1e8),
        acceptance=tuple(map(Alpha, alphas)),
        k=(0, 1, 64),
    )
    for row in sweeping.sweep(scene).table.records():
        numbers = [v for v in row.values() if isinstance(v, float)]
        assert all(math.isfinite(v) and v >= 0 for v in numbers)
        assert 0 < row["speedup"] <= 65
        assert row["tpot_s"] > 0
    answer = best_k(replace(scene, acceptance=(Alpha(0.5),), batch=(1e6,), context=(1e8,)))
    assert math.isfinite(answer.value.choice.score)
    assert answer.value.choice.speedup >= 1 - TIE
    assert not answer.ok
