"""Acceptance from counters, and choices under uncertainty, against simulation and by hand."""

from __future__ import annotations

import math
import tracemalloc
from statistics import NormalDist

import numpy as np
import oracle
import pytest

from specplan.domain.acceptance import Alpha
from specplan.errors import UsageError
from specplan.physics.estimate import (
    INTERVAL,
    NODES,
    alpha_from_counts,
    alpha_nodes,
    fit_rule,
    under_uncertainty,
)
from specplan.physics.tokens import expected_tokens

# --- counters --------------------------------------------------------------------------------


def test_counters_of_an_engine():
    found = alpha_from_counts(1735, 2648, 4)
    # 662 rounds kept 2.62 drafts each: 1 + a + a^2 + a^3 + a^4 = 3.6208 at a = 0.8378.
    assert found.alpha == pytest.approx(oracle.alpha_for(1 + 1735 / 662, 4), rel=1e-14)
    assert f"{found.alpha:.4f}" == "0.8379"
    # Tokens of a round have variance 2.466, so their mean is known to 0.0610; E rises there by
    # 1 + 2 a + 3 a^2 + 4 a^3 = 7.13 tokens per unit of alpha.
    assert f"{found.sd:.4f}" == "0.0086"


def test_the_rate_that_engines_print_is_not_alpha():
    assert alpha_from_counts(1735, 2648, 4).alpha > 1735 / 2648 + 0.15


@pytest.mark.parametrize(("accepted", "drafted"), [(30, 100), (999, 1000), (1, 1000)])
def test_with_one_draft_a_round_alpha_is_the_rate_of_a_coin(accepted, drafted):
    found = alpha_from_counts(accepted, drafted, 1)
    rate = accepted / drafted
    assert found.alpha == pytest.approx(rate, rel=1e-12)
    shrunk = (accepted + 1) / (drafted + 2)
    assert found.sd == pytest.approx(math.sqrt(shrunk * (1 - shrunk) / drafted), rel=1e-8)


@pytest.mark.parametrize("k", [1, 4, 8])
@pytest.mark.parametrize("accepted", [0, 1])
def test_all_or_nothing_accepted_is_no_certainty(k, accepted):
    rounds = 200
    found = alpha_from_counts(accepted * rounds * k, rounds * k, k)
    assert found.alpha == accepted
    # If each of n tries came out alike, 95 % confidence still allows a rate of 3 / n for the
    # other outcome; a normal law cut at 0 or 1 puts 95 % within 1.96 deviations.
    tries = rounds * (k if accepted else 1)
    assert 0.5 * 3 / tries < 1.96 * found.sd < 1.5 * 3 / tries


def test_more_rounds_know_better():
    few, many = (alpha_from_counts(65 * n, 100 * n, 4) for n in (10, 1000))
    assert many.alpha == pytest.approx(few.alpha, rel=1e-12)
    assert many.sd == pytest.approx(few.sd / 10, rel=0.005)


@pytest.mark.parametrize(
    ("accepted", "drafted", "k", "says"),
    [
        (11, 10, 1, "11 accepted of 10 drafted cannot be"),
        (-1, 10, 1, "-1 accepted of 10 drafted cannot be"),
        (math.nan, 10, 1, "nan accepted"),
        (1, math.inf, 1, "inf drafted"),
        (0, 0, 1, "no round of k = 1"),
        (3, 3, 4, "no round of k = 4"),
        (3, 3, 0, "no round of k = 0"),
    ],
)
def test_counts_that_cannot_be(accepted, drafted, k, says):
    with pytest.raises(UsageError, match=says):
        alpha_from_counts(accepted, drafted, k)


def kept_in_rounds(rng, alpha: float, k: int, shape: tuple[int, int]) -> np.ndarray:
    """Drafts kept in each of `shape` simulated rounds."""
    kept = rng.random((*shape, k)) < alpha
    return kept.cumprod(axis=-1).sum(axis=-1)


@pytest.mark.parametrize(
    ("alpha", "k", "rounds", "seed"),
    [(0.7, 4, 400, 1), (0.3, 2, 300, 2), (0.9, 8, 300, 3), (0.6, 1, 500, 4)],
)
def test_the_interval_covers_the_truth_as_often_as_it_says(alpha, k, rounds, seed):
    runs = 2000
    rng = np.random.default_rng(seed)
    totals = kept_in_rounds(rng, alpha, k, (runs, rounds)).sum(axis=1)
    true = float(expected_tokens(alpha, k))
    covered, distinct = 0, np.unique(totals, return_counts=True)
    for total, times in zip(*(values.tolist() for values in distinct), strict=True):
        known = alpha_from_counts(total, rounds * k, k)
        found = under_uncertainty(known, np.ones(1), np.array([float(k)]), 0)
        covered += times * (found.low <= true <= found.high)
    error = math.sqrt(INTERVAL * (1 - INTERVAL) / runs)
    assert abs(covered / runs - INTERVAL) <= 4 * error


@pytest.mark.parametrize(("alpha", "k", "rounds", "seed"), [(0.8, 4, 300, 5), (0.5, 8, 300, 6)])
def test_the_standard_error_is_the_spread_of_estimates(alpha, k, rounds, seed):
    runs = 2000
    rng = np.random.default_rng(seed)
    totals = kept_in_rounds(rng, alpha, k, (runs, rounds)).sum(axis=1)
    estimates = np.array([oracle.alpha_for(1 + t / rounds, k) for t in totals.tolist()])
    said = alpha_from_counts(alpha_sum(alpha, k) * rounds, rounds * k, k).sd
    # The deviation of a sample of n from a nearly normal law has a relative error of 1/sqrt(2n).
    assert abs(estimates.std() / said - 1) <= 4 / math.sqrt(2 * runs)


def alpha_sum(alpha: float, k: int) -> float:
    """Drafts kept per round on average."""
    return oracle.expected_tokens(alpha, k) - 1


# --- the law of alpha ------------------------------------------------------------------------


def test_a_known_alpha_is_one_value():
    assert alpha_nodes(Alpha(0.7)).tolist() == [0.7]


def test_nodes_have_the_mean_and_spread_asked_for():
    nodes = alpha_nodes(Alpha(0.5, sd=0.05))
    assert len(nodes) == NODES
    assert (np.diff(nodes) > 0).all()
    assert nodes.mean() == pytest.approx(0.5, abs=1e-12)
    assert nodes.std() == pytest.approx(0.05, rel=2e-3)  # the slices' tails are cut short


@pytest.mark.parametrize("acceptance", [Alpha(1.0, sd=0.1), Alpha(0.0, sd=0.3), Alpha(0.9, sd=0.5)])
def test_nodes_stay_probabilities_and_follow_the_cut_law(acceptance):
    nodes = alpha_nodes(acceptance)
    assert ((nodes >= 0) & (nodes <= 1)).all()
    law = NormalDist(acceptance.alpha, acceptance.sd)
    low, high = law.cdf(0), law.cdf(1)
    for value in (0.1, 0.5, 0.95):
        share = (law.cdf(value) - low) / (high - low)
        assert (nodes <= value).mean() == pytest.approx(share, abs=1 / NODES)


# --- choices ---------------------------------------------------------------------------------

K = np.arange(9.0)
GAIN = 1 / (1 + 0.17 * K)


def simulated(acceptance: Alpha, n: int) -> np.ndarray:
    """Speedups (n, 9) at alphas drawn from the normal law, those outside [0, 1] drawn again."""
    rng = np.random.default_rng(11)
    alphas = np.empty(0)
    while len(alphas) < n:
        drawn = rng.normal(acceptance.alpha, acceptance.sd, n)
        alphas = np.append(alphas, drawn[(drawn >= 0) & (drawn <= 1)])
    return np.stack([(alphas[:n, None] ** np.arange(k + 1)).sum(1) for k in range(9)], 1) * GAIN


@pytest.mark.parametrize(
    ("acceptance", "chosen"),
    [(Alpha(0.7, sd=0.05), 3), (Alpha(0.4, sd=0.15), 4), (Alpha(0.95, sd=0.1), 8)],
)
def test_uncertainty_against_simulation(acceptance, chosen):
    n = 200_000
    speedups = simulated(acceptance, n)
    found = under_uncertainty(acceptance, GAIN, K, chosen)
    mine = speedups[:, chosen]
    tail = (1 - INTERVAL) / 2
    for value, share in ((found.low, tail), (found.high, 1 - tail)):
        assert abs((mine <= value).mean() - share) <= 4 * math.sqrt(tail / n) + 1 / NODES
    loss = (mine < 1).mean()
    assert abs(found.loss_probability - loss) <= 4 * math.sqrt(0.25 / n) + 1 / NODES
    regret = speedups.max(axis=1, keepdims=True) - speedups
    errors = 4 * regret.std(axis=0) / math.sqrt(n) + regret.max(axis=0) / NODES
    means = regret.mean(axis=0)
    assert abs(found.regret - means[chosen]) <= errors[chosen]
    least = found.least_regret_k
    assert abs(found.least_regret - means[least]) <= errors[least]
    assert means[least] <= means.min() + errors[least]
    assert found.least_regret <= found.regret


def test_a_certain_alpha_regrets_nothing():
    speedups = expected_tokens(0.7, K) * GAIN
    best = int(np.argmax(speedups))
    found = under_uncertainty(Alpha(0.7), GAIN, K, best)
    assert found.low == found.high == pytest.approx(float(speedups[best]), rel=1e-15)
    assert found.loss_probability == 0
    assert (found.least_regret_k, found.least_regret, found.regret) == (best, 0, 0)


def test_plain_decoding_cannot_lose():
    found = under_uncertainty(Alpha(0.3, sd=0.3), GAIN, K, 0)
    assert found.low == found.high == 1.0
    assert found.loss_probability == 0.0


def test_k_names_the_candidate_of_least_regret():
    lengths = np.array([0.0, 3.0, 5.0])
    gain = 1 / (1 + 0.01 * lengths)
    assert under_uncertainty(Alpha(0.9, sd=0.01), gain, lengths, 1).least_regret_k == 5


# --- the rule of thumb -----------------------------------------------------------------------

ALPHAS = np.array([0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95])


def peaked(best, longest=16, fall=0.01):
    """Speedups that are highest at the given best k and fall off to both sides."""
    return 1 / (1 + fall * np.abs(np.arange(longest + 1) - np.asarray(best)[:, None]))


def drafted(ratio, alphas, longest=16):
    """Speedups of a drafter whose step costs `ratio` plain steps, verification one."""
    k = np.arange(longest + 1)
    return expected_tokens(alphas[:, None], k) / (1 + ratio * k)


@pytest.mark.parametrize(("a", "b"), [(1.28, 0.73), (0.8, 0.9), (2.5, 0.4)])
def test_a_planted_rule_is_found(a, b):
    best = np.rint(a * (1 - ALPHAS) ** -b)
    fit = fit_rule(ALPHAS, peaked(best))
    assert fit.rule.k(ALPHAS).tolist() == best.tolist()
    assert (fit.misses, fit.loss) == (0, 0)
    assert fit.rule.a == pytest.approx(a, rel=0.15)
    assert fit.rule.b == pytest.approx(b, rel=0.15)
    assert fit.rule.c == 0


def test_the_golden_rule_is_exact_on_its_ten():
    best = np.array([2, 2, 2, 3, 3, 4, 4, 5, 7, 11.0])
    assert np.rint(1.28 * (1 - ALPHAS) ** -0.73).tolist() == best.tolist()
    fit = fit_rule(ALPHAS, peaked(best))
    assert fit.rule.k(ALPHAS).tolist() == best.tolist()
    assert fit.loss == 0


@pytest.mark.parametrize("ratio", [0.005, 0.01, 0.02, 0.05, 0.08, 0.1, 0.12, 0.15, 0.2, 0.3, 0.5])
@pytest.mark.parametrize("alphas", [ALPHAS, np.linspace(0.3, 0.95, 66)], ids=["ten", "fine"])
def test_a_rule_errs_by_one_token_and_loses_half_a_percent_at_most(ratio, alphas):
    score = drafted(ratio, alphas)
    fit = fit_rule(alphas, score)
    guess = fit.rule.k(alphas).astype(int)
    assert np.abs(guess - score.argmax(axis=1)).max() == fit.misses <= 1
    loss = 1 - score[np.arange(alphas.size), guess] / score.max(axis=1)
    assert loss.max() == pytest.approx(fit.loss, abs=1e-15)
    assert fit.loss <= 0.005


def test_a_third_constant_comes_only_where_two_do_not_do():
    assert fit_rule(ALPHAS, drafted(0.2, ALPHAS)).rule.c == 0
    fit = fit_rule(ALPHAS, drafted(0.12, ALPHAS))  # two constants lose 0.60 % at best
    assert fit.rule.c > 0
    assert fit.loss < 0.001


def test_what_no_rule_follows_is_missed_by_little():
    best = np.array([5, 1, 5, 1, 5, 1, 5, 1, 5, 1.0])
    score = np.exp(-0.001 * (np.arange(17) - best[:, None]) ** 2)
    fit = fit_rule(ALPHAS, score)
    assert fit.misses == 2  # 3 throughout is 2 off everywhere; nothing is closer
    assert fit.loss == pytest.approx(1 - math.exp(-0.001 * 2**2), rel=1e-9)


def test_the_longest_k_tried_cuts_the_rule():
    planted = np.rint(1.28 * (1 - ALPHAS) ** -0.73)  # up to 11
    best = np.minimum(planted, 5)
    fit = fit_rule(ALPHAS, peaked(best, longest=5))
    assert (fit.misses, fit.loss) == (0, 0)
    assert fit.rule.k(ALPHAS).tolist() == best.tolist()
    assert fit.rule.is_capped(ALPHAS)
    assert not fit.rule.is_capped(ALPHAS[:3])


def test_a_fine_axis_of_alphas_is_fitted_in_little_memory_and_judged_whole():
    alphas = np.linspace(0.3, 0.95, 2000)
    best = np.rint(0.9 * (1 - alphas) ** -0.8)
    score = peaked(best)
    tracemalloc.start()
    fit = fit_rule(alphas, score)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50e6
    assert (fit.rule.a, fit.rule.b) == (pytest.approx(0.9, rel=0.02), pytest.approx(0.8, rel=0.02))
    assert fit.misses == np.abs(fit.rule.k(alphas) - best).max() <= 1
