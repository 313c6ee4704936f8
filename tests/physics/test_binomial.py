"""Binomial tails and intervals, against scipy and exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, binom

from specplan.physics.binomial import at_least, interval


@given(st.integers(0, 40), st.integers(1, 40), st.fractions(0, 1, max_denominator=50))
def test_small_tails_are_exact(hits, trials, share):
    exact = sum(
        (
            math.comb(trials, i) * share**i * (1 - share) ** (trials - i)
            for i in range(hits, trials + 1)
        ),
        Fraction(0),
    )
    assert at_least(hits, trials, float(share)) == pytest.approx(float(exact), rel=1e-9, abs=1e-14)


@pytest.mark.parametrize(
    ("hits", "trials", "share"),
    [
        (2000, 100_000, 0.02),
        (2500, 100_000, 0.02),
        (1500, 100_000, 0.02),
        (20, 10**8, 1e-7),
        (2_005_000, 10**8, 0.02),
        (20_000_010, 10**9, 0.02),
        (90, 100, 0.5),
        (10**6 - 3, 10**6, 0.999),
    ],
)
def test_large_tails(hits, trials, share):
    assert at_least(hits, trials, share) == pytest.approx(
        binom.sf(hits - 1, trials, share), rel=2e-6
    )


@pytest.mark.parametrize(("hits", "trials"), [(0, 10), (10, 10), (3, 50), (12, 51_234), (1, 1)])
@pytest.mark.parametrize("error", [0.05, 0.001])
def test_intervals(hits, trials, error):
    low, high = interval(hits, trials, error)
    assert low == pytest.approx(beta.ppf(error / 2, hits, trials - hits + 1) if hits else 0)
    right = beta.ppf(1 - error / 2, hits + 1, trials - hits) if hits < trials else 1
    assert high == pytest.approx(right)
