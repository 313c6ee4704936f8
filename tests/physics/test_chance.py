"""Limits against exact tails, the chi-square tail against closed forms and scipy."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from specplan.physics.chance import (
    FALSE_ALARM,
    MIN_EXPECTED,
    chi_square_tail,
    mean_limit,
    mean_tv,
    pearson,
    tv_margin,
)


@pytest.mark.parametrize("x", [1e-6, 0.5, 3.0, 20.0, 200.0, 1400.0])
def test_two_degrees_of_freedom_decay_exponentially(x):
    assert chi_square_tail(x, 2) == pytest.approx(math.exp(-x / 2), rel=1e-12)


@pytest.mark.parametrize("x", [1e-6, 0.5, 1.4, 1.6, 3.0, 20.0, 200.0])
def test_one_degree_of_freedom_is_a_squared_normal(x):
    assert chi_square_tail(x, 1) == pytest.approx(math.erfc(math.sqrt(x / 2)), rel=1e-12)


@pytest.mark.parametrize("df", [4, 6, 20, 64])
@pytest.mark.parametrize("x", [0.3, 8.0, 33.0, 120.0])
def test_even_degrees_of_freedom_are_a_poisson_sum(df, x):
    terms = [(x / 2) ** j / math.factorial(j) for j in range(df // 2)]
    assert chi_square_tail(x, df) == pytest.approx(math.exp(-x / 2) * sum(terms), rel=1e-12)


@pytest.mark.parametrize("df", [1, 2, 3, 7, 31, 206, 255, 4095, 65_535])
@pytest.mark.parametrize("sigmas", [-4, -1, 0, 0.5, 1, 3, 6, 15])
def test_tail_agrees_with_scipy(df, sigmas):
    stats = pytest.importorskip("scipy.stats")
    x = max(df + sigmas * math.sqrt(2 * df), 1e-3)
    assert chi_square_tail(x, df) == pytest.approx(float(stats.chi2.sf(x, df)), rel=1e-9)


def test_nothing_exceeds_nothing():
    assert chi_square_tail(0.0, 5) == 1.0
    assert chi_square_tail(3.0, 0) == 1.0
    assert chi_square_tail(1e6, 255) == 0.0


@pytest.mark.parametrize("trials", [1, 2, 10, 1000])
@pytest.mark.parametrize("p", [(0.5, 0.5), (0.4, 0.25, 0.15, 0.1, 0.06, 0.04), (0.999, 0.001, 0.0)])
def test_mean_tv_is_the_binomial_sum(trials, p):
    total = 0.0
    for one in p:
        for count in range(trials + 1):
            mass = math.comb(trials, count) * one**count * (1 - one) ** (trials - count)
            total += mass * abs(count / trials - one)
    assert mean_tv(np.array(p), trials) == pytest.approx(total / 2, rel=1e-9)


def test_mean_tv_stays_accurate_at_a_billion_trials():
    p = np.array([0.4, 0.35, 0.25])
    normal = 0.5 * np.sqrt(2 * p * (1 - p) / (math.pi * 1e9)).sum()
    assert mean_tv(p, 10**9) == pytest.approx(normal, rel=1e-5)


def test_a_certain_token_has_no_sampling_error():
    assert mean_tv(np.array([0.0, 1.0, 0.0]), 1000) == 0.0


def test_tv_exceeds_its_limit_no_oftener_than_stated():
    # All outcomes of 40 draws over three tokens, with their multinomial probabilities.
    n, p = 40, (0.6, 0.3, 0.1)
    limit = mean_tv(np.array(p), n) + tv_margin(n)
    beyond = 0.0
    for a, b in itertools.product(range(n + 1), repeat=2):
        if (c := n - a - b) >= 0:
            tv = 0.5 * sum(abs(x / n - y) for x, y in zip((a, b, c), p, strict=True))
            ways = math.comb(n, a) * math.comb(n - a, b)
            beyond += (tv > limit) * ways * p[0] ** a * p[1] ** b * p[2] ** c
    assert 0 < beyond <= FALSE_ALARM


@pytest.mark.parametrize("rate", [0.001, 0.05, 0.5, 0.79, 0.999])
@pytest.mark.parametrize("trials", [20, 300, 5000])
def test_a_mean_exceeds_its_limit_no_oftener_than_stated(rate, trials):
    limit = mean_limit(rate * (1 - rate), max(rate, 1 - rate), trials)
    beyond = 0.0
    for count in range(trials + 1):
        if abs(count / trials - rate) > limit:
            log_ways = math.lgamma(trials + 1) - math.lgamma(count + 1)
            log_ways -= math.lgamma(trials - count + 1)
            log_mass = count * math.log(rate) + (trials - count) * math.log(1 - rate)
            beyond += math.exp(log_ways + log_mass)
    assert beyond <= FALSE_ALARM


def test_a_mean_limit_is_some_five_standard_errors_at_many_trials():
    assert mean_limit(0.25, 0.5, 10**8) / math.sqrt(0.25 / 10**8) == pytest.approx(5.387, abs=0.01)
    assert mean_limit(0.0, 1.0, 10) == 0.0


def test_pearson_by_hand():
    # 100/200 + 400/200 + 100/200
    statistic, df = pearson(np.array([210, 180, 210]), np.array([200.0, 200.0, 200.0]))
    assert (statistic, df) == (pytest.approx(0.5 + 2.0 + 0.5), 2)


def test_small_cells_are_pooled():
    expected = np.array([500.0, 60.0, 60.0, 380.0])
    statistic, df = pearson(np.array([500, 90, 40, 370]), expected)
    assert (statistic, df) == (pytest.approx(10**2 / 120 + 10**2 / 380), 2)


def test_a_small_pool_joins_the_smallest_cell():
    expected = np.array([800.0, 150.0, 30.0, 20.0])
    statistic, df = pearson(np.array([780, 150, 40, 30]), expected)
    assert (statistic, df) == (pytest.approx(20**2 / 800 + 20**2 / 200), 1)
    assert expected.tolist() == [800.0, 150.0, 30.0, 20.0]


def test_impossible_cells_stay_out_and_one_cell_tells_nothing():
    assert pearson(np.array([1000, 7]), np.array([1000.0, 0.0])) == (0.0, 0)
    assert pearson(np.array([3, 7]), np.array([4.0, 6.0])) == (0.0, 0)
    assert MIN_EXPECTED > 6
