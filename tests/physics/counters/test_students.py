"""Student's t by published tables, the score interval by its definition."""

from __future__ import annotations

import math

import pytest

from specplan.physics.counters.students import quantile, score_interval, within


# Two-sided 95 % points of a table of Student's t (Abramowitz and Stegun, table 26.10, A = 0.95).
@pytest.mark.parametrize(
    ("df", "t"),
    [(1, 12.706), (2, 4.303), (3, 3.182), (7, 2.365), (15, 2.131), (30, 2.042), (120, 1.980)],
)
def test_quantiles_are_those_of_the_table(df, t):
    assert quantile(df) == pytest.approx(t, abs=6e-4)


def test_many_degrees_of_freedom_are_normal():
    assert quantile(1e9) == pytest.approx(1.959964, abs=1e-6)
    assert quantile(9_999) == pytest.approx(quantile(1e9), abs=3e-4)


@pytest.mark.parametrize("df", [1, 2, 3, 4, 9, 10, 63])
def test_within_is_the_integral_of_the_density(df):
    log_scale = math.lgamma((df + 1) / 2) - math.lgamma(df / 2) - math.log(df * math.pi) / 2
    steps, end = 20_000, 2.5
    mass = sum(
        math.exp(log_scale - (df + 1) / 2 * math.log1p((end * (i + 0.5) / steps) ** 2 / df))
        for i in range(steps)
    )
    assert within(end, df) == pytest.approx(2 * mass * end / steps, abs=1e-7)


@pytest.mark.parametrize(("share", "trials"), [(0.7, 200.0), (0.1, 50.0), (0.999, 1e4)])
def test_ends_are_t_standard_errors_of_their_own_away(share, trials):
    for t in (1.96, 4.3):
        for end in score_interval(share, trials, t):
            error = math.sqrt(end * (1 - end) / trials)
            assert abs(share - end) == pytest.approx(t * error, rel=1e-9)


def test_all_or_nothing_kept_is_no_point():
    low, high = score_interval(1.0, 50, 1.96)
    assert (low, high) == (pytest.approx(50 / (50 + 1.96**2)), 1.0)
    assert score_interval(0.0, 50, 1.96) == (0.0, pytest.approx(1.96**2 / (50 + 1.96**2)))
    assert score_interval(0.5, 0, 1.96) == (0.0, 1.0)


@pytest.mark.parametrize("events", [1, 2, 3])
def test_few_events_reach_down_to_the_mean_that_rarely_makes_as_many(events):
    """P(as many or more) is 0.05 at the low end: summed term by term."""
    low, high = score_interval(events / 1e6, 1e6, 1.959964)
    mean, (upper_low, upper) = 1e6 * low, score_interval(1 - events / 1e6, 1e6, 1.959964)
    fewer = sum(math.exp(-mean) * mean**n / math.factorial(n) for n in range(events))
    assert 1 - fewer == pytest.approx(0.05, abs=2e-4)
    assert (upper_low, upper) == pytest.approx((1 - high, 1 - low))
