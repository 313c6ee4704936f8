"""Passes as wholes: blends between a sum and a maximum, tables that are exact where measured."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specplan.domain.fitted import At, Steps
from specplan.physics.whole import blended, draft_token_s, measured_s

STEPS = Steps(
    width=(1, 2, 8),
    at=(
        At(batch=1, time=(0.010, 0.011, 0.013), draft=0.001),
        At(batch=16, time=(0.012, 0.014, 0.030), draft=0.002),
    ),
)
SECONDS = st.floats(1e-6, 10)


@given(SECONDS, SECONDS, st.floats(1, 12))
def test_a_blend_lies_between_the_longer_and_the_sum(memory_s, compute_s, exponent):
    found = float(blended(np.asarray(memory_s), np.asarray(compute_s), exponent))
    assert max(memory_s, compute_s) * (1 - 1e-12) <= found <= (memory_s + compute_s) * (1 + 1e-12)
    slow = (memory_s**exponent + compute_s**exponent) ** (1 / exponent)
    assert found == pytest.approx(slow, rel=1e-9)


def test_a_table_is_exact_where_it_was_measured():
    for at in STEPS.at:
        assert measured_s(STEPS, at.batch, STEPS.width).tolist() == pytest.approx(at.time)
    assert draft_token_s(STEPS, [1, 16]).tolist() == [0.001, 0.002]


def test_between_measured_points_logarithms_are_straight():
    middle = float(measured_s(STEPS, 1, 4))
    assert middle == pytest.approx(math.sqrt(0.011 * 0.013))
    assert float(measured_s(STEPS, 4, 1)) == pytest.approx(math.sqrt(0.010 * 0.012))


def test_beyond_them_times_grow_by_the_last_slope_and_at_most_in_proportion():
    last = math.log(0.013 / 0.011) / math.log(4)
    assert float(measured_s(STEPS, 1, 32)) == pytest.approx(0.013 * 4**last)
    steep = Steps(width=(1, 2), at=(At(batch=1, time=(0.01, 0.05)),))
    assert float(measured_s(steep, 1, 4)) == pytest.approx(0.10)
    falling = Steps(width=(1, 2), at=(At(batch=1, time=(0.05, 0.01)),))
    assert float(measured_s(falling, 1, 4)) == pytest.approx(0.01)
    assert float(measured_s(steep, 1, 0.5)) == pytest.approx(0.005)


def test_axes_broadcast():
    found = measured_s(STEPS, np.asarray([[1.0], [4.0], [16.0]]), np.asarray([1.0, 3.0]))
    assert found.shape == (3, 2)
    assert found[1, 1] == pytest.approx(float(measured_s(STEPS, 4, 3)))
