"""Schedules: the fewest ranges within the hysteresis, against a search that tries every split."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specplan.physics.schedule import Schedule

SPEEDUPS = st.integers(2, 4).flatmap(
    lambda k: st.lists(
        st.lists(
            st.sampled_from([0.9, 0.98, 0.99, 0.995, 1.0, 1.005, 1.02]), min_size=k, max_size=k
        ),
        min_size=1,
        max_size=14,
    )
)


def seen(speedups, chunk, hysteresis=0.01) -> Schedule:
    schedule = Schedule(tuple(range(len(speedups[0]))), hysteresis)
    for start in range(0, len(speedups), chunk):
        part = np.asarray(speedups[start : start + chunk])
        schedule.see(np.arange(start + 1.0, start + len(part) + 1), part)
    return schedule


def fewest(speedups, hysteresis) -> int:
    """By dynamic programming over every split: the fewest ranges with one k within reach each."""
    shares = [[value / max(row) for value in row] for row in speedups]
    best = [0] + [len(shares) + 1] * len(shares)
    for end in range(1, len(shares) + 1):
        for start in range(end):
            part = shares[start:end]
            held = any(
                min(row[k] for row in part) >= 1 - hysteresis - 1e-9 for k in range(len(part[0]))
            )
            if held:
                best[end] = min(best[end], best[start] + 1)
    return best[-1]


@given(SPEEDUPS, st.integers(1, 15), st.sampled_from([0.0, 0.01, 0.05]))
@settings(max_examples=150, deadline=None)
def test_ranges_are_the_fewest_and_each_holds(speedups, chunk, hysteresis):
    ranges = seen(speedups, chunk, hysteresis).finished()
    assert len(ranges) <= fewest(speedups, hysteresis)  # neighbours of one k are joined
    assert [r.first_batch for r in ranges] == [1, *(r.last_batch + 1 for r in ranges[:-1])]
    assert ranges[-1].last_batch == len(speedups)
    assert all(a.k != b.k for a, b in pairwise(ranges))
    for one in ranges:
        rows = speedups[one.first_batch - 1 : one.last_batch]
        losses = [1 - row[one.k] / max(row) for row in rows]
        assert max(losses) <= hysteresis + 1e-8
        assert one.loss == pytest.approx(max(losses), abs=1e-12)


@given(SPEEDUPS, st.integers(1, 15))
@settings(max_examples=100, deadline=None)
def test_one_k_for_all_loses_least_where_it_loses_most(speedups, chunk):
    one = seen(speedups, chunk).single()
    worst = [max(1 - row[k] / max(row) for row in speedups) for k in range(len(speedups[0]))]
    assert one.loss == pytest.approx(min(worst), abs=1e-12)
    assert worst[one.k] == pytest.approx(min(worst), abs=1e-8)
    row = speedups[one.batch - 1]
    assert 1 - row[one.k] / max(row) == pytest.approx(one.loss, abs=1e-12)


def test_a_gain_of_one_percent_does_not_toggle():
    """Two k that take turns in being 0.9 % better are one range; 1.1 % are four."""
    near = [[1.0, 1.009], [1.009, 1.0]] * 2
    far = [[1.0, 1.0112], [1.0112, 1.0]] * 2
    assert [(r.first_batch, r.last_batch) for r in seen(near, 4).finished()] == [(1, 4)]
    assert [r.k for r in seen(far, 4).finished()] == [1, 0, 1, 0]


def test_nothing_seen_has_no_single():
    with pytest.raises(ValueError, match="no batch"):
        Schedule((0, 1)).single()
