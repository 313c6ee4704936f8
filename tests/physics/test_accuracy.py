"""What relative errors come to, against figures worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from specplan.physics.accuracy import Errors, Slowdowns, relative, slowdowns, summary


def test_errors_are_shares_of_what_was_measured():
    assert relative(np.array([1.1, 3.0]), np.array([1.0, 4.0])).tolist() == pytest.approx(
        [0.1, -0.25]
    )


def test_eleven_known_errors():
    # Sorted by size 0, 0.02, 0.04 ... 0.2: the sixth is the median, the tenth the 90th percentile.
    errors = np.array([0, -2, 4, -6, 8, -10, 12, -14, 16, -18, 20]) / 100
    found = summary(errors)
    assert found.n == 11
    assert found.signed == pytest.approx(0.0)
    assert found.median == pytest.approx(0.10)
    assert found.p90 == pytest.approx(0.18)
    assert found.within_10 == pytest.approx(6 / 11)
    assert found.within_20 == 1.0


def test_the_sign_tells_too_long_from_too_short():
    assert summary(np.array([0.3] * 6 + [-0.1] * 5)).signed == pytest.approx(0.3)
    assert summary(np.array([0.3] * 5 + [-0.1] * 6)).signed == pytest.approx(-0.1)


def test_few_rows_have_medians_and_no_band():
    assert summary(np.full(9, -0.5)) == Errors(9, -0.5, 0.5)
    assert summary(np.full(10, -0.5)).p90 == 0.5
    assert summary(np.zeros(0)) == Errors(0)


def test_slowdowns_that_were_foreseen_and_feared():
    measured = np.array([0.5, 0.89, 0.9, 1.0, 1.1, 1.2, 3.0])
    predicted = np.array([1.0, 1.01, 0.5, 0.5, 0.5, 0.99, 1.0])
    # Lost: the first two, one foreseen. Won: the last two, one feared. The rest is neither.
    assert slowdowns(predicted, measured) == Slowdowns(losses=2, caught=1, gains=2, alarms=1)
