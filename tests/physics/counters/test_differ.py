"""Differences of two figures: intervals, chance, and what would have shown."""

from __future__ import annotations

import numpy as np
import pytest

from specplan.physics.counters.differ import Interval, difference
from specplan.physics.counters.students import score_interval


def share(hits, trials):
    return Interval(hits / trials, *score_interval(hits / trials, trials, 1.959964))


# Newcombe 1998, table II, method 10: 56/70 less 48/80 is 0.2, 0.0524 to 0.3339.
def test_newcombes_example():
    found = difference(share(48, 80), share(56, 70))
    assert found.difference == pytest.approx(0.2)
    assert (found.low, found.high) == (
        pytest.approx(0.0524, abs=5e-5),
        pytest.approx(0.3339, abs=5e-5),
    )
    assert 0.005 < found.p_value < 0.02  # Pearson's test says 0.0078


def test_the_same_twice_is_no_difference():
    one = share(30, 50)
    found = difference(one, one)
    assert (found.difference, found.p_value) == (0, 1)
    assert found.low == -found.high < 0


def test_zero_outside_the_interval_is_a_p_below_its_level():
    rng = np.random.default_rng(1)
    for _ in range(200):
        trials = rng.integers(20, 400, 2)
        found = difference(*(share(rng.integers(0, n + 1), int(n)) for n in trials))
        assert (found.p_value < 0.05) == (not found.low <= 0 <= found.high)


def test_the_smallest_difference_shows_nine_times_in_ten():
    rng = np.random.default_rng(2)
    trials = 2000
    smallest = difference(share(1200, trials), share(1200, trials)).smallest
    seen = [
        difference(share(a, trials), share(b, trials)).p_value <= 0.05
        for a, b in zip(
            rng.binomial(trials, 0.6 - smallest / 2, 2000),
            rng.binomial(trials, 0.6 + smallest / 2, 2000),
            strict=True,
        )
    ]
    assert np.mean(seen) == pytest.approx(0.9, abs=0.025)


def test_many_tests_see_less():
    one = share(1200, 2000)
    assert difference(one, one, 5).smallest > 1.15 * difference(one, one).smallest
