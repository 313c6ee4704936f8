"""What a test would have seen, by formula."""

from __future__ import annotations

import math

import numpy as np
import pytest

from specplan.physics.twosample.places import Reach
from specplan.physics.twosample.power import largest_tv, power, smallest_tv

RNG = np.random.default_rng(0)
# Two tokens, counts 1,000 and 1,000 of 2,000, half of them of either engine.
EVEN = Reach(compared=1999, spread=16 * 2 * 1000 ** (2 / 3), noise=4 * 2000, events=2000)
# Under no shift z.F is normal with variance N/4 * 1/4 in each of the two cells, and S is chi-square
# with one degree of freedom, less its mean, times this.
SCALE = 2 * 125 * 1000 ** (-2 / 3)
STATISTICS = SCALE * (RNG.standard_normal(20_001) ** 2 - 1)


def normal_tail(x):
    return 0.5 * math.erfc(x / math.sqrt(2))


@pytest.mark.parametrize("tv", [0.02, 0.05, 0.08])
def test_two_tokens_have_the_power_of_a_normal_test(tv):
    """A shift of d moves the share of one token by d: sqrt(N) d standard deviations. With one
    degree of freedom the formula is at its worst.
    """
    threshold = SCALE * (2.5758**2 - 1)  # two-sided level 0.01
    moved = math.sqrt(2000) * tv
    exact = normal_tail(2.5758 - moved) + normal_tail(2.5758 + moved)
    assert power(STATISTICS, EVEN, tv, threshold) == pytest.approx(exact, abs=0.08)


def test_power_rises_with_the_shift_and_falls_with_the_threshold():
    found = [power(STATISTICS, EVEN, tv, SCALE * 5.6) for tv in (0.01, 0.02, 0.05, 0.1, 0.5, 1)]
    assert found == sorted(found)
    assert found[-1] == pytest.approx(1)
    assert power(STATISTICS, EVEN, 0.05, SCALE * 9) < found[2]


def test_the_smallest_shift_has_the_power_asked_for():
    threshold = SCALE * 5.6
    found = smallest_tv(STATISTICS, EVEN, threshold, 0.9)
    assert found is not None
    assert power(STATISTICS, EVEN, found, threshold) == pytest.approx(0.9, abs=1e-4)
    assert found == pytest.approx((2.5758 + 1.2816) / math.sqrt(2000), rel=0.05)
    assert smallest_tv(STATISTICS, EVEN, 1e9, 0.9) is None


def test_the_largest_shift_left_possible():
    low, high = STATISTICS.copy(), STATISTICS.copy()
    low[0], high[0] = 0.0, SCALE * 50
    assert 0 < largest_tv(low, EVEN, 0.975) < largest_tv(high, EVEN, 0.975) < 1
    high[0] = 1e9
    assert largest_tv(high, EVEN, 0.975) == 1


def test_nothing_compared_has_no_power():
    assert power(STATISTICS, Reach(), 0.5, 0.0) == 0
    assert power(STATISTICS, EVEN, 0.0, -1.0) == 0
    assert smallest_tv(STATISTICS, Reach(), 0.0, 0.9) is None
