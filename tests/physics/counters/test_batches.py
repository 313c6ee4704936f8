"""Batches hold all sums whatever their number, and widen where neighbours are alike."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specplan.physics.counters.batches import MOST, Batches, spread


@given(st.lists(st.integers(0, 9), min_size=1, max_size=700))
def test_nothing_is_lost_and_memory_is_bounded(values):
    batches = Batches()
    for value in values:
        batches.add([1.0, value], "")
        assert len(batches.done) < MOST
    rows = batches.array()
    assert rows.sum(axis=0).tolist() == [len(values), sum(values)]
    sizes = rows[:-1, 0].tolist()
    assert len(set(sizes)) <= 1  # equally many spans in all but the last
    assert rows[-1, 0] <= (sizes or [rows[-1, 0]])[0]


def test_vectors_may_grow():
    batches = Batches()
    batches.add([1.0], "")
    batches.add([2.0, 3.0], "")
    assert batches.array().tolist() == [[1.0, 0.0], [2.0, 3.0]]


def test_engines_that_print_at_the_same_time_are_one_span():
    batches = Batches()
    for _ in range(3):
        for group in ("000", "001"):
            batches.add([1.0], group)
    assert batches.array().tolist() == [[2.0], [2.0], [2.0]]


def test_the_variance_is_that_of_a_ratio_estimator():
    over, under = np.array([6.0, 9.0, 7.0]), np.array([10.0, 12.0, 10.0])
    found = spread(over, under)
    ratio = 22 / 32
    residuals = [6 - 10 * ratio, 9 - 12 * ratio, 7 - 10 * ratio]
    assert found.variance == pytest.approx(sum(r * r for r in residuals) * 3 / 2 / 32**2)
    assert found.df == 2


def test_one_batch_tells_no_variance():
    assert spread(np.array([5.0]), np.array([9.0])) is None
    assert spread(np.zeros(3), np.zeros(3)) is None


def test_runs_of_like_neighbours_widen_it():
    rng = np.random.default_rng(3)
    under = np.full(64, 100.0)
    runs = np.repeat(rng.binomial(100, rng.beta(7, 3, 8)), 8).astype(float)
    alike = spread(runs, under)
    naive = float(((runs - runs.mean()) ** 2).sum()) * 64 / 63 / under.sum() ** 2
    assert alike.variance > 4 * naive  # eight spans of one request are one draw of it, not eight
    turns = spread(np.where(np.arange(64) % 2, 60.0, 80.0), under)
    assert turns.variance < alike.variance / 100  # unlike neighbours make up for each other


@pytest.mark.parametrize(
    ("batches", "df"), [(2, 1), (4, 3), (5, 4), (12, 4), (30, 4), (40, 5), (63, 6)]
)
def test_degrees_of_freedom_follow_from_the_number_of_batches_alone(batches, df):
    rng = np.random.default_rng(batches)
    assert spread(rng.poisson(70, batches).astype(float), np.full(batches, 100.0)).df == df


def test_the_variance_is_that_of_a_slow_oracle():
    rng = np.random.default_rng(1)
    under = rng.integers(50, 150, 20).astype(float)
    over = np.round(under * rng.beta(7, 3, 20))
    ratio = sum(over) / sum(under)
    loads = []
    for turn in (1, 2, 3, 4):
        waves = [math.cos(math.pi * turn * (place + 0.5) / 20) for place in range(20)]
        rests = (wave * (a - ratio * b) for wave, a, b in zip(waves, over, under, strict=True))
        loads.append(sum(rests))
    expected = 2 * sum(load**2 for load in loads) / 4 / sum(under) ** 2
    assert spread(over, under).variance == pytest.approx(expected)
