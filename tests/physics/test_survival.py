"""Each model of acceptance: its survival, its tokens, and simulation of what it says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specplan.domain.acceptance import (
    Acceptance,
    Alpha,
    Burst,
    Conditional,
    Decay,
    Lengths,
    Named,
    Unconditional,
)
from specplan.domain.acceptance_parts import ByContext, Mixture
from specplan.physics.survival import (
    fires,
    known_contexts,
    rounds_for,
    survival,
    tail_of,
    tokens_of,
    tokens_table,
)
from specplan.physics.tokens import (
    alpha_for_tokens,
    expected_tokens,
    lockstep_tokens,
    round_variance,
    rounds_to_finish,
)

TABLE = Lengths(
    ((1, 1.92), (2, 2.61), (3, 2.97), (4, 3.0), (5, 3.1), (6, 3.16), (7, 3.0), (8, 3.11))
)
MODELS: list[Acceptance] = [
    Alpha(0.7),
    Alpha(0.0),
    Alpha(1.0),
    Conditional((0.68, 0.57, 0.6)),
    Unconditional((0.8, 0.6, 0.5)),
    Unconditional((0.5, 0.0)),
    Decay(0.82, 0.95),
    TABLE,
    Lengths(((4, 2.9),)),
    Lengths(((3, 2.5), (7, 3.3))),
    Burst(0.2, 3.1),
    ByContext(((2048.0, Alpha(0.8)), (32768.0, Decay(0.6, 0.9)))),
    Mixture(((0.7, Alpha(0.8)), (0.3, Decay(0.5, 0.9)))),
    Named("made/curve", TABLE),
]


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("k", [0, 1, 3, 8, 64])
def test_survival_is_a_share_that_never_rises(model, k):
    kept = survival(model, k, 8192)
    assert kept.shape == (k,)
    assert ((kept >= 0) & (kept <= 1)).all()
    assert (np.diff(kept) <= 1e-12).all()


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_tokens_lie_between_one_and_all(model):
    k = np.arange(65)
    tokens = tokens_of(model, k.tolist(), 8192)
    assert tokens[0] == 1
    assert ((tokens >= 1) & (tokens <= k + 1)).all()


@pytest.mark.parametrize(
    "model", [m for m in MODELS if not isinstance(m, Lengths | Named)], ids=str
)
@pytest.mark.parametrize("k", [1, 4, 9])
def test_tokens_are_the_sum_of_survivals(model, k):
    total = 1 + survival(model, k, 5000).sum()
    assert tokens_of(model, (k,), 5000)[0] == pytest.approx(total, rel=1e-12)


def test_measured_lengths_come_back_exactly():
    assert tokens_of(TABLE, range(1, 9)).tolist() == [tau for _, tau in TABLE.points]
    gaps = Lengths(((3, 2.5), (7, 3.3)))
    assert tokens_of(gaps, (3, 7)).tolist() == [2.5, 3.3]
    assert np.abs(1 + np.cumsum(survival(TABLE, 8)) - tokens_of(TABLE, range(1, 9))).max() <= 0.2


def test_one_length_is_inverted():
    alpha = alpha_for_tokens(2.9, 4)
    k = np.arange(20)
    assert tokens_of(Lengths(((4, 2.9),)), k.tolist()) == pytest.approx(expected_tokens(alpha, k))


def test_beyond_the_last_position_stands_the_decay():
    known = Conditional((0.8, 0.76, 0.722))  # 0.8 x 0.95^(i-1)
    whole = Decay(0.8, 0.95)
    assert survival(known, 12) == pytest.approx(survival(whole, 12), rel=1e-3)
    assert tail_of(known)[:2] == pytest.approx((0.8, 0.95), abs=1e-3)
    assert tail_of(Named("x", known)) == tail_of(known)
    assert tail_of(Alpha(0.5)) is None
    rising = Conditional((0.9, 0.99, 1.0))  # no rate passes one
    assert (np.diff(survival(rising, 30)) <= 0).all()


def test_a_burst_keeps_what_it_says():
    assert survival(Burst(0.2, 3.1), 4096).sum() == pytest.approx(0.2 * 3.1, rel=1e-9)
    assert survival(Burst(0.2, 0.0), 3).tolist() == [0, 0, 0]
    assert (fires(Burst(0.2, 3.1), 4), fires(Alpha(0.3), 4)) == (0.2, 1.0)


def test_how_often_a_drafter_fires_depends_on_what_it_meets():
    often, seldom = Burst(0.6, 2.0), Burst(0.2, 3.1)
    table = ByContext(((1024.0, seldom), (4096.0, often)))
    assert [fires(table, 4, c) for c in (10, 2048, 9e9)] == pytest.approx([0.2, 0.4, 0.6])
    assert fires(Named("x", table), 4, 2048) == pytest.approx(0.4)
    # Of requests half each: a round is the likelier one of theirs the fewer tokens it makes.
    mix = Mixture(((1.0, seldom), (1.0, often)))
    tokens = np.array([tokens_of(model, (4,))[0] for model in (seldom, often)])
    shares = (1 / tokens) / (1 / tokens).sum()
    assert fires(mix, 4) == pytest.approx(shares @ [0.2, 0.6])
    assert fires(mix, 4) < 0.4


def test_survival_between_measured_lengths_never_rises():
    """A gap of one rate would end below the gain after it; it keeps above that."""
    for points in (((1, 1.8), (3, 2.4), (4, 2.68)), ((1, 1.8), (3, 2.4), (5, 2.96))):
        kept = survival(Lengths(points), 12)
        assert (np.diff(kept) <= 0).all()
        for k, tau in points:
            assert 1 + kept[:k].sum() == pytest.approx(tau)


@given(
    st.lists(st.tuples(st.integers(1, 5), st.floats(0, 1)), min_size=1, max_size=6),
    st.integers(1, 40),
)
def test_any_measured_lengths_have_a_survival(gaps, k):
    ends = np.cumsum([positions for positions, _ in gaps])
    tau = 1 + np.cumsum([positions * gain for positions, gain in gaps])
    kept = survival(Lengths(tuple(zip(ends.tolist(), tau.tolist(), strict=True))), k)
    assert ((kept >= 0) & (kept <= 1)).all()
    assert (np.diff(kept) <= 1e-12).all()


def test_rates_that_rise_do_not_rise_beyond_what_was_measured():
    rising = Lengths(((1, 1.5), (2, 2.1), (3, 2.6)))
    fit = tail_of(rising)
    kept = survival(rising, 30)
    assert fit.ratio > 1
    assert kept[10] / kept[9] == pytest.approx(min(1.0, fit.first * fit.ratio**2))


def test_a_table_over_contexts_is_linear_in_their_logarithm():
    table = ByContext(((1024.0, Alpha(0.8)), (4096.0, Alpha(0.6))))
    at = [float(tokens_of(table, (1,), c)[0]) for c in (10, 1024, 2048, 4096, 1e6)]
    assert at == pytest.approx([1.8, 1.8, 1.7, 1.6, 1.6])
    assert tokens_table((table, Alpha(0.5)), (1,), (1024.0, 4096.0))[..., 0].tolist() == [
        pytest.approx([1.8, 1.5]),
        pytest.approx([1.6, 1.5]),
    ]
    assert tokens_table((Alpha(0.5),), (1, 2), (1.0, 2.0)).shape == (1, 1, 2)
    assert known_contexts(Named("x", table)) == (1024.0, 4096.0)
    assert known_contexts(Alpha(0.5)) is None


def drawn(model: Acceptance, k: int, size: int, rng: np.random.Generator) -> np.ndarray:
    """Tokens of independent rounds: positions are tried until one is not kept."""
    kept = np.concatenate(([1.0], survival(model, k, 5000)))
    rates = np.divide(kept[1:], kept[:-1], out=np.zeros(k), where=kept[:-1] > 0)
    tokens = np.ones(size, int)
    alive = np.ones(size, bool)
    for rate in rates:
        alive &= rng.random(size) < rate
        tokens += alive
    return tokens


@pytest.mark.parametrize("model", [m for m in MODELS if not isinstance(m, Mixture)], ids=str)
def test_moments_by_simulation(model):
    """Mean, variance and the most of a batch, within 4 standard errors of 40,000 rounds."""
    k, size, batch = 5, 40_000, 8
    tokens = drawn(model, k, size, np.random.default_rng(7))
    kept = survival(model, k, 5000)
    variance = float(round_variance(kept))
    assert abs(tokens.mean() - 1 - kept.sum()) <= 4 * (variance / size) ** 0.5 + 1e-12
    fourth = float(((tokens - tokens.mean()) ** 4).mean())
    error = max(fourth - variance**2, 0) ** 0.5 / size**0.5
    assert abs(tokens.var() - variance) <= 4 * error + 1e-3 * variance + 1e-12
    most = tokens.reshape(-1, batch).max(axis=1)
    theirs = float(lockstep_tokens(kept, batch))
    assert abs(most.mean() - theirs) <= 4 * most.std() / len(most) ** 0.5 + 1e-9


@pytest.mark.parametrize("wanted", [1, 5, 50, 200])
@pytest.mark.parametrize("model", [Alpha(0.8), Decay(0.9, 0.8), Burst(0.3, 4.0)], ids=str)
def test_rounds_to_finish_by_simulation(model, wanted):
    """Whole generations, within 4 standard errors of 4,000 of them."""
    rng, k, size = np.random.default_rng(3), 4, 4000
    made, rounds = np.zeros(size, int), np.zeros(size, int)
    while (made < wanted).any():
        going = made < wanted
        rounds += going
        made += np.where(going, drawn(model, k, size, rng), 0)
    theirs = rounds_to_finish(survival(model, k), wanted)
    assert abs(rounds.mean() - theirs) <= 4 * rounds.std() / size**0.5 + 1e-12


@pytest.mark.parametrize(("alpha", "k"), [(0.8, 4), (0.6, 2), (0.3, 8)])
def test_long_requests_follow_the_renewal_limit(alpha, k):
    """E[N(m)] = (m + E[X^2] / (2 E[X]) - 1/2) / E[X] within 0.02 % at 200 tokens; m / E[X] alone
    counts too few.
    """
    kept, i = survival(Alpha(alpha), k), np.arange(1, k + 1)
    mean, square = 1 + kept.sum(), 1 + ((2 * i + 1) * kept).sum()
    for wanted in (200, 5000, 20_000):
        limit = (wanted + square / (2 * mean) - 0.5) / mean
        assert rounds_to_finish(kept, wanted) == pytest.approx(limit, rel=2e-4)
    assert rounds_to_finish(kept, 200) > 200 / mean


def test_a_perfect_drafter_takes_whole_rounds():
    assert rounds_to_finish(survival(Alpha(1.0), 4), 11) == 3.0
    assert rounds_to_finish(survival(Alpha(1.0), 4), 0) == 0.0
    assert rounds_for(Alpha(1.0), 4, 11) == 2.0  # the first token comes from prefill


def test_a_mixture_is_of_requests_not_of_rounds():
    """A server that always holds as many sequences, each request as long as the others: the slow
    kind takes more of the rounds. By simulation, within 4 standard errors.
    """
    mix, k, length = Mixture(((0.5, Alpha(0.9)), (0.5, Alpha(0.2)))), 4, 400
    rng = np.random.default_rng(5)
    made = rounds = 0.0
    per_request = []
    for _ in range(600):
        model = mix.parts[int(rng.random() < 0.5)][1]
        tokens = drawn(model, k, length, rng).cumsum()
        taken = int(np.searchsorted(tokens, length)) + 1
        made, rounds = made + float(tokens[taken - 1]), rounds + taken
        per_request.append(taken)
    theirs = float(tokens_of(mix, (k,))[0])
    error = np.std(per_request) / len(per_request) ** 0.5 / np.mean(per_request)
    assert abs(made / rounds / theirs - 1) <= 4 * error
    mean_of_rounds = 0.5 * expected_tokens(0.9, k) + 0.5 * expected_tokens(0.2, k)
    assert theirs < mean_of_rounds
    apart = [rounds_for(Alpha(a), k, 100) for a in (0.9, 0.2)]
    assert rounds_for(mix, k, 100) == pytest.approx(np.mean(apart))


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=10),
    st.integers(1, 64),
)
def test_conditional_and_unconditional_say_the_same(rates, k):
    kept = np.cumprod(rates)
    one, other = (
        Conditional(tuple(rates)),
        Unconditional(tuple(np.minimum.accumulate(kept).tolist())),
    )
    assert survival(one, k) == pytest.approx(survival(other, k), abs=1e-6)


def test_more_is_kept_of_a_larger_share():
    base = Mixture(((1.0, Alpha(0.8)), (1.0, Alpha(0.4))))
    more = Mixture(((3.0, Alpha(0.8)), (1.0, Alpha(0.4))))
    assert tokens_of(more, (4,))[0] > tokens_of(base, (4,))[0]
    assert base.shares == (0.5, 0.5)
