"""The loss of a fixed k against plain loops, and against every choice that foreknowledge allows."""

from __future__ import annotations

import itertools
import math

import numpy as np
import oracle
import pytest
import worlds
from hypothesis import given, settings
from hypothesis import strategies as st

from specplan.domain.acceptance import Alpha
from specplan.domain.histogram import GATED, Histogram
from specplan.physics.regret import (
    foreknown,
    gated_ranges,
    plain_shares,
    policies,
    speedup_over,
    taxed,
)
from specplan.physics.survival import survival

CONTEXT = 1000.0
ALPHA = 0.7
K = (0, 1, 2, 4)
CASES = {"pair": worlds.PAIR, "free": worlds.FREE}


def plain_loops(case, histogram, ranges, tax):
    """Tokens a second of every k, of the schedule and of the best k of each batch, one batch at a
    time: the tokens that the recorded server made, and the seconds that each takes for them.
    """

    def k_at(batch):
        return next(k for last, k in ranges if batch <= last)

    def seconds_and_tokens(batch, k, taxed):
        seconds = oracle.round_s(case, batch, k, CONTEXT)
        made = batch * oracle.expected_tokens(ALPHA, k)
        return seconds * (1 + tax if taxed and not k else 1), made

    work = {}
    for batch, weight in zip(histogram.batch, histogram.weight, strict=True):
        gated = histogram.recorded == GATED
        k = k_at(batch) if gated else histogram.recorded
        seconds, made = seconds_and_tokens(batch, k, gated)
        work[batch] = weight * {"time": made / seconds, "rounds": made, "tokens": 1}[histogram.of]
    total = math.fsum(work.values())

    def rate(choose, *, taxed=False):
        took = 0.0
        for batch, tokens in work.items():
            seconds, made = seconds_and_tokens(batch, choose(batch), taxed)
            took += tokens * seconds / made
        return total / took

    def best(batch):
        return max(K, key=lambda k: oracle.speedup(case, ALPHA, batch, k, CONTEXT))

    return {
        "fixed": [rate(lambda _, k=k: k) for k in K],
        "gated": rate(k_at, taxed=True),
        "best": rate(best),
    }


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
@pytest.mark.parametrize("of", ["time", "rounds", "tokens"])
@pytest.mark.parametrize("recorded", [0, 4, GATED])
@pytest.mark.parametrize("tax", [0.0, 0.3])
def test_against_plain_loops(case, of, recorded, tax):
    over = Histogram(batch=(1, 7, 30, 60), weight=(3, 1, 4, 2), of=of, recorded=recorded)
    found = policies(worlds.setup(case), Alpha(ALPHA), CONTEXT, K, over, 60, tax=tax)
    ranges = [(r.last_batch, r.k) for r in found.ranges]
    theirs = plain_loops(case, over, ranges, tax)
    plain = found.plain_tokens_per_s
    np.testing.assert_allclose(
        plain * speedup_over(found.shares, found.speedup), theirs["fixed"], rtol=1e-12
    )
    assert plain * found.over(found.gated) == pytest.approx(theirs["gated"], rel=1e-12)
    assert plain * found.over(found.best) == pytest.approx(theirs["best"], rel=1e-12)


WEIGHTS = st.dictionaries(st.integers(1, 60), st.floats(0.01, 100), min_size=1, max_size=8)


@given(
    weights=WEIGHTS,
    alpha=st.floats(0, 1),
    of=st.sampled_from(["time", "rounds", "tokens"]),
    recorded=st.sampled_from([0, 2, GATED]),
)
@settings(max_examples=30)
def test_no_schedule_beats_the_best_of_each_batch_nor_one_k_the_schedule(
    weights, alpha, of, recorded
):
    batch = tuple(sorted(weights))
    weight = tuple(weights[b] for b in batch)
    over = Histogram(batch=batch, weight=weight, of=of, recorded=recorded)
    found = policies(worlds.setup(worlds.PAIR), Alpha(alpha), CONTEXT, K, over, 61, hysteresis=0.0)
    each = speedup_over(found.shares, found.speedup)
    gated, best, known = (found.over(s) for s in (found.gated, found.best, found.known))
    slack = 1 + 1e-8  # ties between k go to the smaller within 1e-9
    assert known * slack >= best
    assert best * slack >= gated
    assert gated * slack >= each.max()
    assert each[0] == pytest.approx(1, rel=1e-12)


@given(batch=st.integers(1, 60), alpha=st.floats(0, 1))
@settings(max_examples=30)
def test_one_batch_is_that_batch_s_gate(batch, alpha):
    over = Histogram(batch=(batch,), weight=(0.25,))
    setup = worlds.setup(worlds.PAIR)
    found = policies(setup, Alpha(alpha), CONTEXT, K, over, 60, hysteresis=0.0)
    ours = [oracle.speedup(worlds.PAIR, alpha, batch, k, CONTEXT) for k in K]
    np.testing.assert_allclose(found.speedup[0], ours, rtol=1e-12)
    assert found.over(found.gated) == pytest.approx(max(ours), rel=1e-8)
    assert found.over(found.best) == pytest.approx(max(ours), rel=1e-12)


def test_the_same_tokens_whatever_they_are_told_in():
    """What a server recorded by time, by rounds and by tokens is one and the same work."""
    setup, batch = worlds.setup(worlds.PAIR), (1, 20, 60)
    time = (0.2, 0.5, 0.3)
    rounds = [
        t / oracle.round_s(worlds.PAIR, b, 2, CONTEXT) for b, t in zip(batch, time, strict=True)
    ]
    tokens = [r * b for b, r in zip(batch, rounds, strict=True)]
    shares = []
    for of, weight in (("time", time), ("rounds", rounds), ("tokens", tokens)):
        over = Histogram(batch=batch, weight=tuple(weight), of=of, recorded=2)
        shares.append(policies(setup, Alpha(ALPHA), CONTEXT, K, over, 60).shares)
    np.testing.assert_allclose(shares[1], shares[0], rtol=1e-12)
    np.testing.assert_allclose(shares[2], shares[0], rtol=1e-12)


def test_shares_of_plain_time_are_harmonic():
    weight, one = np.asarray([0.5, 0.5]), np.ones(2)
    shares = plain_shares(weight, "time", np.asarray([1.0, 9.0]), one, one, one)
    np.testing.assert_allclose(shares, weight)
    assert speedup_over(shares, np.asarray([1.0, 3.0])) == pytest.approx(1.5)


def test_the_tax_is_on_plain_steps_alone():
    np.testing.assert_allclose(taxed(np.asarray([[1.0, 2.0]]), (0, 3), 0.25), [[0.8, 2.0]])


def test_a_tax_keeps_a_drafter_on():
    """A plain step of the gated server that is twice as long is never taken at all."""
    setup = worlds.setup(worlds.FREE)
    tokens = np.asarray([oracle.expected_tokens(0.5, k) for k in (0, 1)])
    said = {"hysteresis": 0.0}
    off = gated_ranges(setup, 1.0, (0, 1), tokens, 400, tax=0.0, **said)
    on = gated_ranges(setup, 1.0, (0, 1), tokens, 400, tax=1.0, **said)
    assert {r.k for r in off} == {0, 1}
    assert {r.k for r in on} == {1}


def brute(survival_, k, times, sequences):
    """The best long-run rate a sequence of one k a round for all, chosen with the kept drafts of
    each sequence known: every map from what is kept to k is tried.
    """
    ends = [1.0, *survival_, 0.0]
    share = [a - b for a, b in itertools.pairwise(ends)]
    states = list(itertools.product(range(len(share)), repeat=sequences))
    weight = [math.prod(share[i] for i in state) for state in states]
    best = 0.0
    for choice in itertools.product(range(len(k)), repeat=len(states)):
        tokens = sum(
            w * sum(min(k[c], kept) + 1 for kept in state)
            for w, c, state in zip(weight, choice, states, strict=True)
        )
        took = sum(w * times[c] for w, c in zip(weight, choice, strict=True))
        best = max(best, tokens / took / sequences)
    return best


@given(
    alpha=st.floats(0, 1),
    times=st.tuples(st.floats(1, 2), st.floats(1, 3), st.floats(1, 4)),
)
@settings(max_examples=30)
def test_of_one_sequence_foreknowledge_is_the_best_of_every_choice(alpha, times):
    kept = survival(Alpha(alpha), 2)
    ours = float(foreknown(kept, (0, 1, 2), np.asarray([times]))[0])
    assert ours == pytest.approx(brute(kept.tolist(), (0, 1, 2), times, 1), rel=1e-9)


@pytest.mark.parametrize("alpha", [0.2, 0.6, 0.9])
@pytest.mark.parametrize("times", [(1.0, 1.3), (1.0, 1.9), (1.0, 1.05)])
def test_of_several_sequences_it_is_a_bound(alpha, times):
    kept = survival(Alpha(alpha), 1)
    ours = float(foreknown(kept, (0, 1), np.asarray([times]))[0])
    theirs = brute(kept.tolist(), (0, 1), times, 3)
    assert ours >= theirs * (1 - 1e-9)
    assert theirs >= max(1 / times[0], (1 + alpha) / times[1]) * (1 - 1e-9)


def test_nothing_drafts():
    assert foreknown(np.zeros(0), (0,), np.asarray([[0.5], [0.25]])).tolist() == [2.0, 4.0]
