"""Curves of acceptance: survival by isotonic regression, decay, and both held against search."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specplan.physics.curves import decay_survival, fit_decay, isotonic, survival_from_lengths
from specplan.physics.tokens import expected_tokens

# InferenceX's golden acceptance lengths of DeepSeek-V4-Pro's MTP module, coding, thinking off
# (SPEED-Bench, B300): measured with noise, for they fall from k = 6 to 7.
NOISY = (1.92, 2.61, 2.97, 3.00, 3.10, 3.16, 3.00, 3.11)


def test_measured_lengths_that_never_bend_are_kept():
    tau = 1 + np.cumsum([0.9, 0.7, 0.5, 0.5, 0.1])
    survival = survival_from_lengths([1, 2, 3, 4, 5], tau)
    assert survival == pytest.approx([0.9, 0.7, 0.5, 0.5, 0.1])


def test_noise_is_pooled():
    survival = survival_from_lengths(range(1, 9), NOISY)
    assert survival[:6] == pytest.approx([0.92, 0.69, 0.36, 0.065, 0.065, 0.06])
    assert survival[6:].tolist() == [0.0, 0.0]  # -0.16 and +0.11 pool below zero
    assert np.abs(1 + np.cumsum(survival) - NOISY).max() <= 0.2


@given(st.lists(st.tuples(st.floats(-3, 3), st.integers(1, 5)), min_size=1, max_size=7))
def test_isotonic_regression_is_the_nearest_falling_sequence(pairs):
    """Against the min-max formula of isotonic regression, block by block."""
    values, weights = (np.array(axis, float) for axis in zip(*pairs, strict=True))

    def mean(i: int, j: int) -> float:
        return float(np.average(values[i : j + 1], weights=weights[i : j + 1]))

    n = len(values)
    theirs = [min(max(mean(i, j) for j in range(p, n)) for i in range(p + 1)) for p in range(n)]
    assert isotonic(values, weights) == pytest.approx(theirs, abs=1e-9)


def test_between_two_measured_lengths_one_rate_holds():
    survival = survival_from_lengths([2, 5], [2.2, 3.0])
    first = survival[1] / survival[0]
    assert survival[0] == pytest.approx(first)
    assert survival.sum() == pytest.approx(2.0)
    assert survival[3] / survival[2] == pytest.approx(survival[4] / survival[3])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.data())
def test_survival_never_rises_and_is_a_share(rates, data):
    tau = 1 + np.cumsum(np.cumprod(rates))
    noise = data.draw(st.lists(st.floats(-0.3, 0.3), min_size=len(tau), max_size=len(tau)))
    k = np.arange(1, len(tau) + 1)
    survival = survival_from_lengths(k, np.clip(tau + noise, 1, k + 1))
    assert (survival >= 0).all()
    assert (survival <= 1).all()
    assert (np.diff(survival) <= 1e-12).all()


@pytest.mark.parametrize(("first", "ratio"), [(0.8, 0.95), (0.95, 0.73), (0.5, 1.0), (0.6, 1.1)])
def test_a_decay_is_found_again(first, ratio):
    k = np.arange(1, 9)
    tau = 1 + np.cumsum(decay_survival(first, ratio, 8))
    fit = fit_decay(k, tau)
    assert (fit.first, fit.ratio) == pytest.approx((first, ratio), abs=2e-4)
    assert fit.rmse < 1e-4


def test_a_decay_beats_the_best_single_alpha_on_a_measured_curve():
    k = np.arange(1, 9)
    fit = fit_decay(k, NOISY)
    alphas = np.linspace(0, 1, 10_001)
    single = np.sqrt(((expected_tokens(alphas[:, None], k) - NOISY) ** 2).mean(axis=1)).min()
    assert fit.rmse < 0.05
    assert single > 0.15
    assert fit.ratio == pytest.approx(0.727, abs=0.01)


def test_a_search_finds_no_better_decay():
    k = np.arange(1, 9)
    fit = fit_decay(k, NOISY)
    a, r = np.meshgrid(np.linspace(0.9, 1, 201), np.linspace(0.6, 0.85, 251), indexing="ij")
    lengths = 1 + np.cumsum(decay_survival(a, r, 8), axis=-1)
    assert fit.rmse <= np.sqrt(((lengths - NOISY) ** 2).mean(axis=-1)).min() + 1e-9


def test_rates_stay_at_one():
    assert decay_survival(0.9, 1.2, 5).tolist() == pytest.approx([0.9] * 5)


def test_one_length_is_an_alpha():
    assert fit_decay([4], [3.3616])[:2] == pytest.approx((0.8, 1.0))
