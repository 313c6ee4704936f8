"""Schedules: the cheapest by the rule that `Schedule` states, against every path there is."""

from __future__ import annotations

import math
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specplan.physics.schedule import FINE, MOST, Schedule

SPEEDUPS = st.integers(2, 3).flatmap(
    lambda k: st.lists(
        st.lists(
            st.sampled_from([0.9, 0.96, 0.98, 0.99, 0.995, 1.0, 1.005, 1.02, 1.07]),
            min_size=k,
            max_size=k,
        ),
        min_size=1,
        max_size=6,
    )
)


def seen(speedups, chunk, hysteresis=0.01) -> Schedule:
    schedule = Schedule(tuple(range(len(speedups[0]))), hysteresis)
    for start in range(0, len(speedups), chunk):
        part = np.asarray(speedups[start : start + chunk])
        schedule.see(np.arange(start + 1.0, start + len(part) + 1), part)
    return schedule


def cost(speedups, path, hysteresis) -> float:
    """What a path loses over doublings of the batch, and pays for its changes; inf if too much."""
    total = 0.0
    for i, (row, k) in enumerate(zip(speedups, path, strict=True)):
        losses = [1 - value / max(row) for value in row]
        if losses[k] > max(MOST * hysteresis, min(losses)) + 1e-9:
            return math.inf
        total += losses[k] * math.log((i + 2) / (i + 1))
    return total + hysteresis * math.log(2) * sum(a != b for a, b in pairwise(path))


@given(SPEEDUPS, st.integers(1, 7), st.sampled_from([0.0, 0.003, 0.01, 0.03]))
@settings(max_examples=120, deadline=None)
def test_no_path_is_cheaper(speedups, chunk, hysteresis):
    ranges = seen(speedups, chunk, hysteresis).finished()
    assert [r.first_batch for r in ranges] == [1, *(r.last_batch + 1 for r in ranges[:-1])]
    assert ranges[-1].last_batch == len(speedups)
    assert all(a.k != b.k for a, b in pairwise(ranges))
    path = [r.k for r in ranges for _ in range(r.first_batch, r.last_batch + 1)]
    every = product(range(len(speedups[0])), repeat=len(speedups))
    least = min(cost(speedups, other, hysteresis) for other in every)
    assert cost(speedups, path, hysteresis) == pytest.approx(least, abs=1e-7)
    for one in ranges:
        rows = speedups[one.first_batch - 1 : one.last_batch]
        assert one.loss == pytest.approx(max(1 - row[one.k] / max(row) for row in rows), abs=1e-12)


@given(SPEEDUPS, st.integers(1, 15))
@settings(max_examples=100, deadline=None)
def test_one_k_for_all_loses_least_where_it_loses_most(speedups, chunk):
    one = seen(speedups, chunk).single()
    worst = [max(1 - row[k] / max(row) for row in speedups) for k in range(len(speedups[0]))]
    assert one.loss == pytest.approx(min(worst), abs=1e-12)
    assert worst[one.k] == pytest.approx(min(worst), abs=1e-8)
    row = speedups[one.batch - 1]
    assert 1 - row[one.k] / max(row) == pytest.approx(one.loss, abs=1e-12)


def wide(first: float, then: float, batches: int = 64) -> list[list[float]]:
    """k = 0 gains `first` up to batch 8, k = 1 gains `then` from there on."""
    return [[1 + first, 1.0] if batch <= 8 else [1.0, 1 + then] for batch in range(1, batches + 1)]


def test_a_gain_of_one_percent_over_a_doubling_does_not_toggle():
    """k = 1 gains from batch 9 to 16, one doubling, which is 1 % at 0.99 % and 1.2 % at 1.2 %."""
    near, far = wide(0.3, 0.0095, 16), wide(0.3, 0.012, 16)
    assert [r.k for r in seen(near, 16).finished()] == [0]
    assert [(r.last_batch, r.k) for r in seen(far, 16).finished()] == [(8, 0), (16, 1)]
    turns = [[1.0, 1.03], [1.03, 1.0]] * 40  # 3 % better in turns, as rows of a matrix fit or not
    assert len(seen(turns, 7).finished()) <= 3


def test_no_batch_loses_more_than_five_times_the_hysteresis():
    """A dip of one batch is cheap over a doubling, and is left out of a range all the same."""
    for dip, k in ((0.04, [1]), (0.06, [1, 0, 1])):
        rows = [[1.0, 1.2]] * 40
        rows[30] = [1.2, 1.2 * (1 - dip)]
        assert [r.k for r in seen(rows, 40).finished()] == k
    assert seen(rows, 40).finished()[1][:2] == (31, 31)


def test_large_batches_are_taken_a_few_at_a_time():
    """To a part in FINE; what is lost is still the most of every batch."""
    rows = [[1.0, 1.1]] * 6000 + [[1.1, 1.0]] * 3000
    first, second = seen(rows, 8192).finished()
    assert (first.k, second.k) == (1, 0)
    assert first.last_batch == pytest.approx(6000, abs=6000 / FINE)
    assert max(first.loss, second.loss) <= 1 - 1 / 1.1 + 1e-12


def test_nothing_seen_has_no_single():
    with pytest.raises(ValueError, match="no batch"):
        Schedule((0, 1)).single()
    assert Schedule((0, 1)).finished() == ()
