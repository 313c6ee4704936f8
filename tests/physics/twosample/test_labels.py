"""Labels drawn anew, p-values that are never too small, and Holm's adjustment."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specplan.physics.chance import chi_square_tail
from specplan.physics.twosample import labels
from specplan.physics.twosample.labels import (
    critical,
    holm,
    labellings,
    log_labellings,
    p_value,
)
from specplan.physics.twosample.pools import Pool

POOLS = {
    "all distinct": ([[1], [2]], [[3], [4], [5]]),
    "some alike": ([[1], [1], [2]], [[1], [3], [4], [5]]),
    "mostly alike": ([[1]] * 9 + [[2]] * 3, [[1]] * 4 + [[2]] * 5),
}


@pytest.mark.parametrize("name", POOLS)
def test_every_labelling_is_equally_likely(name):
    pool = Pool.of(*POOLS[name])
    rows = labellings(pool, 20_000, np.random.default_rng(1))
    assert (rows.sum(axis=1) == pool.n).all()
    assert (rows <= pool.times).all()
    assert (rows >= 0).all()
    drawn = {tuple(map(int, row)) for row in rows.tolist()}
    ways = {
        one: math.prod(map(math.comb, pool.times.tolist(), one))
        for one in itertools.product(*(range(t + 1) for t in pool.times.tolist()))
        if sum(one) == pool.n
    }
    assert drawn <= set(ways)
    total = math.comb(pool.size, pool.n)
    assert sum(ways.values()) == total
    observed = [int((rows == one).all(axis=1).sum()) for one in ways]
    expected = [20_000 * ways[one] / total for one in ways]
    statistic = sum((o - e) ** 2 / e for o, e in zip(observed, expected, strict=True))
    assert chi_square_tail(statistic, len(ways) - 1) > 1e-4


def test_a_tie_at_the_border_is_drawn_again():
    class Tied:
        """Random numbers that are all alike the first time."""

        calls = 0

        def integers(self, _low, _high, size, dtype):
            self.calls += 1
            rng = np.random.default_rng(self.calls)
            drawn = rng.integers(0, 1 << 32, size, dtype=dtype)
            return np.zeros(size, dtype) if self.calls == 1 else drawn

    rng = Tied()
    chosen = labels._chosen(50, 6, 2, rng)
    assert rng.calls == 2
    assert (chosen.sum(axis=1) == 2).all()


def test_labellings_are_counted():
    assert log_labellings([(2, 3), (1, 1)]) == pytest.approx(math.log(10 * 2))
    assert log_labellings([]) == 0


def test_a_p_value_counts_the_labels_as_they_are():
    assert p_value(np.array([5.0, 1, 2, 3])) == 1 / 4
    assert p_value(np.array([2.0, 1, 2, 3])) == 3 / 4
    assert p_value(np.array([0.3, 0.1 + 0.2, 0.0, 0.0])) == 2 / 4  # a tie but for rounding
    assert p_value(np.array([1.0, 1.0, 1.0])) is None
    assert p_value(np.zeros(4)) is None


@pytest.mark.parametrize("values", [[0, 0, 0, 1, 5], [3, 3, 3, 3, 9], [1, 2, 3, 4, 5]])
def test_p_values_are_at_most_x_with_probability_at_most_x(values):
    """All labellings of a tiny set are drawn, each with equal chance to be the true one."""
    found = []
    for true in values:
        for drawn in itertools.product(values, repeat=3):
            p = p_value(np.array([float(true), *drawn]))
            found.append(1.0 if p is None else p)
    for x in sorted(set(found)):
        assert np.mean(np.array(found) <= x + 1e-12) <= x + 1e-12


@given(
    st.lists(st.integers(-5, 5), min_size=20, max_size=40),
    st.sampled_from([0.05, 0.1, 0.2, 0.5]),
)
def test_what_is_critical_is_what_a_p_value_needs(drawn, level):
    threshold = critical(np.array([0.0, *drawn]), level)
    for statistic in range(-6, 7):
        p = np.mean(np.array([statistic, *drawn]) >= statistic)
        assert (p <= level + 1e-9) == (statistic > threshold) or math.floor(
            level * (1 + len(drawn)) * (1 + 1e-9)
        ) == 0


def test_holm_by_hand():
    assert holm({}) == {}
    adjusted = holm({"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.005})
    assert adjusted == pytest.approx({"d": 0.02, "a": 0.03, "c": 0.06, "b": 0.06})
    assert holm({"a": 0.9, "b": 0.8}) == {"b": 1.0, "a": 1.0}


@given(st.dictionaries(st.sampled_from("abcdefgh"), st.floats(0, 1)))
def test_holm_keeps_the_order_and_lowers_nothing(p_values):
    adjusted = holm(p_values)
    assert adjusted.keys() == p_values.keys()
    for name, p in p_values.items():
        assert p <= adjusted[name] <= 1
        assert all(adjusted[o] <= adjusted[name] for o, q in p_values.items() if q < p)
