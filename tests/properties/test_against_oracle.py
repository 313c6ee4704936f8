"""The arrays against the slow scalar oracle, on hardware, models and workloads of every kind."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import oracle
import pytest
import worlds
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from specplan.domain.acceptance import Alpha
from specplan.domain.card import Dtype
from specplan.physics.choose import best_index, break_even_alpha, crossings
from specplan.physics.memory import memory_bill
from specplan.physics.roofline import ideal_pass, kv_bytes, read_params
from specplan.physics.round import cost_ratio, time_rounds
from specplan.physics.survival import tokens_table
from specplan.physics.tokens import alpha_for_tokens, expected_tokens, tokens_variance
from specplan.questions.best_k import best_k
from specplan.questions.gate import gate
from specplan.questions.memory import memory
from specplan.questions.sweep import sweep
from specplan.questions.weigh import Objective, Point, weigh

RTOL = 1e-12


def same(ours: object, theirs: object) -> None:
    """Equal to a relative 1e-12; zeros and infinities exactly."""
    np.testing.assert_allclose(
        np.asarray(ours, float), np.asarray(theirs, float), rtol=RTOL, atol=0
    )


def lengths(case: oracle.Case, k: tuple[int, ...]) -> tuple[int, ...]:
    """The k that the case's drafter can propose."""
    return k if case.drafts else (0,)


@given(alpha=st.lists(worlds.ALPHAS, min_size=1), k=worlds.LENGTHS)
def test_expected_tokens_are_the_sum(alpha, k):
    ours = expected_tokens(np.asarray(alpha)[:, np.newaxis], np.asarray(k))
    same(ours, [[oracle.expected_tokens(a, n) for n in k] for a in alpha])


@given(alpha=st.floats(0, 1), k=st.integers(0, 64))
def test_variance_is_that_of_the_truncated_geometric_law(alpha, k):
    kept = [alpha**i * (1 - alpha) for i in range(k)] + [alpha**k]  # P(exactly i drafts kept)
    mean = math.fsum(p * (i + 1) for i, p in enumerate(kept))
    spread = math.fsum(p * (i + 1 - mean) ** 2 for i, p in enumerate(kept))
    # Both are differences of squares of up to k + 1: that is where the rounding comes from.
    assert float(tokens_variance(alpha, k)) == pytest.approx(
        spread, rel=RTOL, abs=1e-14 * (k + 1) ** 3
    )


@given(share=st.floats(0, 1), k=st.integers(1, 64))
def test_alpha_for_tokens_is_the_root(share, k):
    tokens = 1 + share * k
    ours = float(alpha_for_tokens(tokens, k))
    # E is flat near alpha 0 and tokens near 1 are rounded there: hence the absolute part.
    assert ours == pytest.approx(oracle.alpha_for(tokens, k), rel=RTOL, abs=1e-15)


@given(figures=worlds.models(), tokens=st.integers(1, 64_000_000), dtype=st.sampled_from(Dtype))
def test_counts_come_from_the_layers(figures, tokens, dtype):
    model = worlds.model(figures)
    same(model.active_params, oracle.active_params(figures))
    same(model.checkpoint_params, oracle.stored_params(figures))
    same(read_params(model, tokens), oracle.read_params(figures, tokens))
    for context, tp in itertools.product((0, 1, 5000.5, 1e7), (1, 2, 3, 8, 16)):
        theirs = oracle.kv_bytes(figures, context, str(dtype), tp)
        same(kv_bytes(model, context, dtype, tp), theirs)


@given(
    case=worlds.cases(),
    batch=st.integers(1, 1_000_000),
    new=st.integers(1, 65),
    context=st.floats(0, 1e8),
)
def test_a_pass_is_its_longer_half(case, batch, new, context):
    setup = worlds.setup(case)
    ours = ideal_pass(
        setup.target,
        setup.hardware,
        dtype=setup.dtype,
        kv_dtype=setup.kv_dtype,
        tp=setup.tp,
        batch=batch,
        tokens=new,
        context=context,
    )
    theirs = oracle.target_step(case, batch, new, context)
    same(ours.flops, theirs.flops)
    same(ours.traffic_bytes, theirs.moved_bytes)
    same(ours.compute_s, theirs.compute_s)
    same(ours.memory_s, theirs.memory_s)
    same(ours.time_s, theirs.seconds)
    same(ours.intensity, theirs.flops / theirs.moved_bytes)
    if abs(theirs.compute_s / theirs.memory_s - 1) > RTOL:
        assert bool(ours.compute_bound) is (theirs.compute_s > theirs.memory_s)


@given(case=worlds.cases(), load=worlds.WORKLOADS)
def test_rounds_and_speedups(case, load):
    setup, k = worlds.setup(case), lengths(case, load.k)
    timing = time_rounds(setup, load.context, load.batch, k)
    grid = list(itertools.product(load.context, load.batch, k))
    shape = (len(load.context), len(load.batch), len(k))

    def each(function):
        return np.reshape([function(c, b, n) for c, b, n in grid], shape)

    rounds = each(lambda c, b, n: oracle.round_s(case, b, n, c))
    verify = each(lambda c, b, n: oracle.target_step(case, b, n + 1, c).seconds)
    plain = each(lambda c, b, _: oracle.target_step(case, b, 1, c).seconds)
    same(timing.round_s, rounds)
    same(timing.verify_s, verify)
    same(np.broadcast_to(timing.plain_s, shape), plain)
    drafting = each(lambda c, b, n: oracle.drafting_s(case, b, n, c))
    same(timing.draft_s, drafting)
    tokens = tokens_table([Alpha(a) for a in load.alpha], k)[0]
    for i, alpha in enumerate(load.alpha):
        speedups = each(lambda c, b, n, a=alpha: oracle.speedup(case, a, b, n, c))
        same(tokens[i] * timing.gain, speedups)


@given(case=worlds.cases(), context=st.floats(1, 1e6))
def test_cost_ratio_is_a_draft_step_over_a_plain_step(case, context):
    theirs = oracle.draft_step_s(case, 1, context) / oracle.target_step(case, 1, 1, context).seconds
    same(cost_ratio(worlds.setup(case), context), theirs if case.drafts else 0.0)


@given(case=worlds.cases(), context=st.integers(1, 1_000_000))
def test_memory_bill(case, context):
    bill = memory_bill(worlds.setup(case), context)
    same(bill.usable_bytes, 0.9 * case.memory)
    same(bill.target_bytes, oracle.weights_bytes(case, drafted=False))
    for drafted in (False, True):
        weights = oracle.weights_bytes(case, drafted=drafted)
        each = oracle.sequence_bytes(case, context, drafted=drafted)
        same(bill.needed_bytes(7, drafted=drafted), weights + 7 * each)
        largest = bill.largest if drafted else bill.largest_plain
        room = (0.9 * case.memory - weights) / max(each, 1.0)
        # A quotient that is whole to the last bits may be floored either way.
        if abs(room - round(room)) > RTOL * abs(room):
            assert int(largest) == oracle.largest_batch(case, context, drafted=drafted)


@given(
    case=worlds.cases(),
    batch=st.integers(1, 10_000),
    context=st.integers(1, 100_000),
    alpha=st.floats(0, 1),
    k=st.lists(st.integers(1, 64), max_size=8, unique=True),
)
def test_the_best_of_a_point(case, batch, context, alpha, k):
    candidates = lengths(case, tuple(sorted({0, *k})))
    w = weigh(Point(worlds.setup(case), context, batch, Alpha(alpha)), candidates)
    speedups = [oracle.speedup(case, alpha, batch, n, context) for n in candidates]
    same(w.speedup, speedups)
    same(w.flops_per_token, [oracle.flops_per_token(case, alpha, n) for n in candidates])
    same(w.throughput, [oracle.throughput(case, alpha, n, context) for n in candidates])
    assert w.k[w.best()] == oracle.best_k(case, alpha, batch, candidates, context)
    for objective, scores in (
        (Objective.THROUGHPUT, w.throughput),
        (Objective.COST, 1 / w.flops_per_token),
    ):
        assert w.best(objective) == oracle.smallest_best(scores.tolist())


@given(case=worlds.cases(), batch=st.integers(1, 10_000), k=st.integers(1, 64))
def test_break_even_alpha(case, batch, k):
    assume(case.drafts)
    cost = oracle.round_s(case, batch, k, 1000) / oracle.target_step(case, batch, 1, 1000).seconds
    assume(abs(cost - (k + 1)) > RTOL * cost)  # at the edge of what k + 1 tokens can pay
    ours = float(break_even_alpha(cost, k))
    assert ours == pytest.approx(oracle.break_even_alpha(case, batch, k, 1000), rel=1e-9)


@given(
    case=worlds.cases(),
    context=st.sampled_from([1.0, 100.0, 4000.0]),
    alpha=st.floats(0, 1),
    k=st.lists(st.integers(1, 12), min_size=1, max_size=4, unique=True),
    largest=st.integers(1, 300),
    ridge=st.floats(1, 500),
    cheap=st.none() | st.floats(0, 0.2),
)
def test_gates_and_crossings_by_brute_force(*, case, context, alpha, k, largest, ridge, cheap):
    if cheap is not None:  # most drafters drawn are too dear to pay anywhere
        case = replace(case, draft=None, ratio=cheap, drafts=True)
    candidates = lengths(case, tuple(sorted({0, *k})))
    # Memory for about `largest` sequences, as the oracle's scan takes its time, and a ridge that
    # verification passes among them.
    weights = oracle.weights_bytes(case, drafted=True)
    each = max(oracle.sequence_bytes(case, context, drafted=True), 1.0)
    case = replace(
        case,
        memory=(weights + (largest + 0.5) * each) / 0.9,
        bandwidth=oracle.peak(case, case.dtype) / ridge,
    )
    scene = worlds.scenario(case, context=(context,), acceptance=(Alpha(alpha),), k=tuple(k))
    value = gate(scene).value
    limit = oracle.largest_batch(case, context, drafted=True)
    assert value.largest_batch == limit
    # Where two candidates or a speedup and 1 differ by rounding alone, either answer is right.
    for batch in range(1, limit + 1):
        speedups = [oracle.speedup(case, alpha, batch, n, context) for n in candidates]
        top = max(speedups) * (1 - oracle.SAME)
        assume(all(abs(s / top - 1) > RTOL for s in speedups))
        assume(all(abs(s / (1 - oracle.SAME) - 1) > RTOL for s in speedups))
    ranges = [(r.first_batch, r.last_batch, r.k) for r in value.ranges]
    assert ranges == oracle.gate_ranges(case, alpha, candidates, context, limit)
    for found in value.ranges:
        ends = (found.first_batch, found.last_batch)
        same(
            (found.speedup_first, found.speedup_last),
            [oracle.speedup(case, alpha, b, found.k, context) for b in ends],
        )
    for fixed in value.fixed:
        theirs = oracle.crossings(case, alpha, fixed.k, context, limit)
        assert [tuple(c) for c in fixed.crossings] == theirs
        tokens = oracle.expected_tokens(alpha, fixed.k)
        assert crossings(worlds.setup(case), context, tokens, fixed.k, limit) == fixed.crossings


@settings(max_examples=30)
@given(case=worlds.cases(), other=worlds.cases(), load=worlds.WORKLOADS)
def test_every_row_of_a_sweep(case, other, load):
    scene = worlds.scenario(
        case,
        other,
        batch=load.batch,
        context=load.context,
        acceptance=tuple(map(Alpha, load.alpha)),
        k=load.k,
    )
    answer = sweep(scene)
    points = [
        (one, c, b, a, n)
        for one in (case, other)
        for c, b, a, n in itertools.product(
            load.context, load.batch, load.alpha, lengths(one, load.k)
        )
    ]
    records = list(answer.table.records())
    assert len(records) == len(points) == answer.table.rows == answer.value.points
    for row, (one, c, b, a, n) in zip(records, points, strict=True):
        assert (row["context"], row["batch"], row["alpha"], row["k"]) == (c, b, a, n)
        plain, verify = (oracle.target_step(one, b, new, c) for new in (1, n + 1))
        spent_s, tokens = oracle.round_s(one, b, n, c), oracle.expected_tokens(a, n)
        theirs = {
            "speedup": oracle.speedup(one, a, b, n, c),
            "tokens_per_round": tokens,
            "plain_step_s": plain.seconds,
            "verify_s": verify.seconds,
            "round_s": spent_s,
            "tpot_s": spent_s / tokens,
            "plain_intensity": plain.flops / plain.moved_bytes,
            "verify_intensity": verify.flops / verify.moved_bytes,
        }
        same([row[name] for name in theirs], list(theirs.values()))


@settings(max_examples=30)
@given(
    case=worlds.cases(),
    parts=st.lists(
        st.tuples(
            st.floats(0.01, 100), st.integers(1, 5000), st.integers(1, 50_000), st.floats(0, 1)
        ),
        min_size=1,
        max_size=4,
    ),
)
def test_a_mix(case, parts):
    candidates = lengths(case, tuple(range(9)))
    scene = worlds.scenario(case, k_max=8, parts=tuple(worlds.part(*p) for p in parts))
    value = best_k(scene).value
    speedups = list(oracle.mix_speedups(case, parts, candidates))
    best = oracle.smallest_best(speedups)
    assert value.k == candidates[best]
    same(value.speedup, speedups[best])
    for (_, batch, context, alpha), part in zip(parts, value.parts, strict=True):
        own = oracle.best_k(case, alpha, batch, candidates, context)
        assert part.own_k == own
        same(part.speedup, oracle.speedup(case, alpha, batch, value.k, context))
        same(part.own_speedup, oracle.speedup(case, alpha, batch, own, context))


@given(case=worlds.cases(), alpha=st.floats(0, 1), k=st.integers(0, 16))
def test_the_arms_of_a_memory_bill(case, alpha, k):
    value = memory(worlds.scenario(case, acceptance=(Alpha(alpha),), k=(k,))).value
    (bill,) = value.bills
    plain, drafted = bill.largest_batch_plain, bill.largest_batch
    assert plain == oracle.largest_batch(case, 1000, drafted=False)
    assert drafted == oracle.largest_batch(case, 1000, drafted=True)
    if not drafted or (k and not case.drafts):
        assert value.arms == ()
        return
    (arm,) = value.arms
    same(arm.at_equal_batch, oracle.speedup(case, alpha, plain, k, 1000))
    same(arm.at_own_largest, oracle.throughput(case, alpha, k, 1000))


@given(gains=st.lists(st.floats(0.1, 10), min_size=1, max_size=20))
def test_best_index_is_the_first_of_the_best(gains):
    assert int(best_index(np.asarray(gains))) == oracle.smallest_best(gains)
