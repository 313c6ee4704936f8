"""The rule at one position: exact when right, seen when wrong, and honest about its limits."""

from __future__ import annotations

import numpy as np
import pytest

from specplan.errors import Refused, SpecplanError, UsageError
from specplan.physics import draws, trials
from specplan.physics.chance import mean_tv, tv_margin
from specplan.physics.distributions import random_pair
from specplan.physics.draws import Sampler
from specplan.physics.rule import REFERENCE_DRAFT, REFERENCE_TARGET, Rule, greedy, single
from specplan.physics.verify import PLANTED_TEMPERATURE, Bug

TRIALS = 200_000
P, Q = REFERENCE_TARGET, REFERENCE_DRAFT
SEEN = [Bug.RESAMPLE_FROM_TARGET, Bug.INVERTED_RATIO, Bug.ONE_SIDED_TEMPERATURE]
UNSEEN = [Bug.BONUS_FROM_DRAFT, Bug.STALE_DRAFT]


def rng(seed=0):
    return np.random.default_rng(seed)


def law(p, q, bug=None):
    """Output distribution and acceptance of one position, by the definition and token by token."""
    heat = [x ** (1 / PLANTED_TEMPERATURE) for x in q]
    drawn = [x / sum(heat) for x in heat] if bug is Bug.ONE_SIDED_TEMPERATURE else list(q)
    kept = []
    for x, a, b in zip(drawn, p, q, strict=True):
        top, bottom = (b, a) if bug is Bug.INVERTED_RATIO else (a, b)
        kept.append(x * min(1.0, top / bottom) if bottom > 0 else x)
    residual = [max(a - b, 0.0) for a, b in zip(p, q, strict=True)]
    if bug is Bug.RESAMPLE_FROM_TARGET:
        residual = list(p)
    lost = 1 - sum(kept)
    share = [r / sum(residual) for r in residual]
    return [k + lost * s for k, s in zip(kept, share, strict=True)], sum(kept)


def test_the_reference_pair_is_accepted_at_079():
    found = single(P, Q, TRIALS, rng())
    assert found.expected_acceptance == pytest.approx(0.790, abs=1e-12)
    assert abs(found.acceptance - 0.790) < 5 * found.acceptance_se
    assert found.acceptance_se == pytest.approx((0.79 * 0.21 / TRIALS) ** 0.5)
    assert found.histogram.sum() == TRIALS
    assert found.passed


def test_the_definition_gives_p_and_the_overlap():
    output, acceptance = law(P, Q)
    assert output == pytest.approx(P, abs=1e-15)
    assert acceptance == pytest.approx(sum(map(min, P, Q)), abs=1e-15)


@pytest.mark.parametrize("bug", [None, *SEEN])
def test_the_simulation_follows_the_law_of_its_bug(bug):
    found = single(P, Q, TRIALS, rng(1), bug=bug)
    output, acceptance = law(P, Q, bug)
    tv = 0.5 * np.abs(found.histogram / TRIALS - output).sum()
    assert tv <= mean_tv(np.array(output), TRIALS) + tv_margin(TRIALS)
    assert abs(found.acceptance - acceptance) < 5 * (acceptance * (1 - acceptance) / TRIALS) ** 0.5


@pytest.mark.parametrize("bug", SEEN)
def test_a_bug_of_one_position_is_caught_for_every_seed(bug):
    for seed in range(20):
        found = single(P, Q, TRIALS, rng(seed), bug=bug)
        assert not found.same_distribution
        assert not found.passed


def test_the_acceptance_gives_away_only_the_bugs_that_change_it():
    assert not single(P, Q, TRIALS, rng(), bug=Bug.INVERTED_RATIO).same_acceptance
    assert single(P, Q, TRIALS, rng(), bug=Bug.RESAMPLE_FROM_TARGET).same_acceptance
    # Drafts that are sharper than q on (.9, .1) against (.5, .5) are kept more rarely.
    sharp = single((0.5, 0.5), (0.9, 0.1), TRIALS, rng(), bug=Bug.ONE_SIDED_TEMPERATURE)
    assert not sharp.same_acceptance


@pytest.mark.parametrize("bug", UNSEEN)
def test_one_position_has_no_bonus_token_and_no_previous_position(bug):
    planted = single(P, Q, TRIALS, rng(3), bug=bug)
    assert planted.passed
    assert planted.histogram.tolist() == single(P, Q, TRIALS, rng(3)).histogram.tolist()


def test_the_right_rule_passes_for_every_seed():
    assert all(single(P, Q, 20_000, rng(seed)).passed for seed in range(200))


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("vocabulary", [1, 2, 16, 17, 1000])
def test_the_right_rule_passes_for_random_pairs(vocabulary, seed):
    p, q = random_pair(vocabulary, seed)
    assert single(p, q, 20_000, rng(seed)).passed


def test_a_large_vocabulary_still_shows_a_bug():
    p, q = random_pair(128_256, 0)
    assert single(p, q, TRIALS, rng()).passed
    assert not single(p, q, TRIALS, rng(), bug=Bug.RESAMPLE_FROM_TARGET).same_distribution


def test_equal_distributions_accept_everything():
    for p in (P, (1.0,), (0.0, 1.0), (0.1,) * 10):
        found = single(p, p, 10_000, rng())
        assert found.acceptance == found.expected_acceptance == 1.0
        assert found.acceptance_limit == 0.0
        assert found.passed


def test_disjoint_distributions_accept_nothing():
    found = single((0.5, 0.5, 0.0, 0.0), (0.0, 0.0, 0.3, 0.7), 10_000, rng())
    assert found.acceptance == found.expected_acceptance == 0.0
    assert found.histogram[2:].tolist() == [0, 0]
    assert found.passed


def test_zeros_on_either_side():
    p, q = (0.0, 0.5, 0.3, 0.2, 0.0), (0.25, 0.0, 0.25, 0.5, 0.0)
    found = single(p, q, TRIALS, rng())
    assert found.expected_acceptance == pytest.approx(0.45)
    assert found.histogram[[0, 4]].tolist() == [0, 0]
    assert found.passed


def test_one_impossible_output_is_enough():
    # Inverted, the rule keeps every draft that p rules out: far fewer of them than the TV limit.
    p, q = (0.5, 0.49995, 0.0, 0.00005), (0.5, 0.4999, 0.0001, 0.0)
    found = single(p, q, TRIALS, rng(), bug=Bug.INVERTED_RATIO)
    assert found.tv < found.tv_limit
    assert found.impossible > 0
    assert not found.same_distribution


def test_greedy_puts_out_the_argmax_and_accepts_as_often_as_q_says_it():
    found = greedy(P, Q, TRIALS, rng())
    assert found.histogram.tolist() == [TRIALS, 0, 0, 0, 0, 0]
    assert found.tv == found.expected_tv == 0.0
    assert found.expected_acceptance == pytest.approx(Q[0])
    assert found.passed
    assert not greedy(P, Q, TRIALS, rng(), bug=Bug.INVERTED_RATIO).same_distribution


def test_a_greedy_tie_goes_to_the_first():
    assert greedy((0.4, 0.4, 0.2), (0.2, 0.4, 0.4), 1000, rng()).histogram.tolist() == [1000, 0, 0]


def test_search_and_comparison_draw_the_same_tokens(monkeypatch):
    rows = rng().standard_exponential((5, 12)) * (rng(1).random((5, 12)) < 0.7)
    sampler, row = Sampler.of(rows), rng(2).integers(0, 5, 50_000)
    compared = sampler.draw(row, rng(3))
    monkeypatch.setattr(draws, "_FEW_TOKENS", 0)
    assert sampler.draw(row, rng(3)).tolist() == compared.tolist()
    assert (rows[row, compared] > 0).all()


@pytest.mark.parametrize("vocabulary", [3, 40])
def test_no_draw_leaves_its_row(vocabulary):
    class Top:
        """The largest number a generator returns."""

        def random(self, n):
            return np.full(n, np.nextafter(1.0, 0.0))

    rows = np.full((4096, vocabulary), 1 / vocabulary)
    tokens = Sampler.of(rows).draw(np.arange(4096), Top())
    assert tokens.tolist() == [vocabulary - 1] * 4096


def test_the_tables_of_a_bug_differ_from_the_right_ones_only_where_it_acts():
    p, q = np.array([P]), np.array([Q])
    right = Rule.of(q, p, q, None)
    hot = Rule.of(q, p, q, Bug.ONE_SIDED_TEMPERATURE)
    assert np.array_equal(right.keep, hot.keep)
    assert not np.array_equal(right.draft.cdf, hot.draft.cdf)
    resample = Rule.of(q, p, q, Bug.RESAMPLE_FROM_TARGET)
    assert np.array_equal(right.draft.cdf, resample.draft.cdf)
    assert resample.correction.cdf[0] == pytest.approx(np.cumsum(P))


def test_chunks_change_nothing_but_the_order_of_draws(monkeypatch):
    monkeypatch.setattr(trials, "_CHUNK", 999)
    found = single(P, Q, 100_001, rng())
    assert found.histogram.sum() == 100_001
    assert found.passed


def test_a_random_pair_is_named_by_its_seed():
    p, q = random_pair(50, 7)
    again, _ = random_pair(50, 7)
    other, _ = random_pair(50, 8)
    assert p.sum() == pytest.approx(1)
    assert q.sum() == pytest.approx(1)
    assert p.tolist() == again.tolist()
    assert p.tolist() != other.tolist()
    assert p.tolist() != q.tolist()


@pytest.mark.parametrize(
    ("p", "q", "says"),
    [
        ((0.5, 0.6), (0.5, 0.5), "p sums to 1.1; expected 1 within 1e-09"),
        ((0.5, 0.5), (0.5, 0.5 + 2e-9), "q sums to 1.000000002"),
        ((1.5, -0.5), (0.5, 0.5), "p has a negative probability, -0.5"),
        ((0.5, 0.5), (float("nan"), 0.5), "q has a probability that is not a finite number"),
        ((0.5, float("inf")), (0.5, 0.5), "p has a probability that is not a finite number"),
        ((0.5, 0.5), (0.2, 0.3, 0.5), "p has 2 probabilities and q has 3"),
        ((), (), "p has shape (0,); expected 1 dimension, the last from 1 to 1000000"),
        (((0.5, 0.5),), (0.5, 0.5), "p has shape (1, 2)"),
        (("a", "b"), (0.5, 0.5), "p is not an array of numbers"),
        (((0.5, 0.5), (1.0,)), (0.5, 0.5), "p is not an array of numbers"),
        (np.full(1_000_001, 1 / 1_000_001), (1.0,), "p has shape (1000001,)"),
    ],
)
@pytest.mark.parametrize("check", [single, greedy])
def test_bad_distributions_are_refused_in_one_line(check, p, q, says):
    with pytest.raises(UsageError) as refused:
        check(p, q, 1000, rng())
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_sum_within_the_tolerance_is_scaled():
    assert single((0.5, 0.5 + 5e-10), (0.5, 0.5), 1000, rng()).passed


@pytest.mark.parametrize("trials", [0, -1, 1_000_000_001])
def test_trials_out_of_range(trials):
    with pytest.raises(UsageError, match=f"trials is {trials}; expected 1 to 1000000000"):
        single(P, Q, trials, rng())


def test_a_check_that_cannot_fail_is_refused():
    with pytest.raises(Refused, match="5 trials cannot tell a wrong rule from a right one"):
        single(P, Q, 5, rng())


@pytest.mark.parametrize(("vocabulary", "seed"), [(0, 1), (1_000_001, 1), (4, -1)])
def test_random_pair_out_of_range(vocabulary, seed):
    with pytest.raises(SpecplanError, match="expected"):
        random_pair(vocabulary, seed)
