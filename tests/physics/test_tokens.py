"""Tokens of a round by hand: sums of a few powers, and roots of linear and quadratic equations."""

from __future__ import annotations

import math

import numpy as np
import pytest

from specplan.physics.tokens import alpha_for_tokens, expected_tokens, tokens_variance


@pytest.mark.parametrize(
    ("alpha", "k", "tokens"),
    [
        (0.5, 1, 1.5),
        (0.5, 2, 1.75),
        (0.5, 3, 1.875),
        (0.25, 2, 1.3125),
        (0.8, 4, 3.3616),
        (0.7, 4, 2.7731),
        (0.0, 9, 1.0),
        (1.0, 9, 10.0),
        (0.3, 0, 1.0),
        (0.9, 64, 10 * (1 - 0.9**65)),
    ],
)
def test_expected_tokens(alpha, k, tokens):
    assert float(expected_tokens(alpha, k)) == pytest.approx(tokens, rel=1e-15)


def test_tokens_broadcast():
    table = expected_tokens(np.array([[0.0], [0.5], [1.0]]), [0, 1, 2])
    assert table.tolist() == [[1, 1, 1], [1, 1.5, 1.75], [1, 2, 3]]


@pytest.mark.parametrize(
    ("tokens", "k", "alpha"),
    [
        (1.3, 1, 0.3),
        (1.75, 2, 0.5),
        (2.0, 2, (math.sqrt(5) - 1) / 2),
        (1.875, 3, 0.5),
        (5.0, 4, 1.0),
        (1.0, 4, 0.0),
        (0.3, 4, 0.0),
        (1.0, 0, 0.0),
    ],
)
def test_alpha_for_tokens(tokens, k, alpha):
    assert float(alpha_for_tokens(tokens, k)) == pytest.approx(alpha, rel=1e-14, abs=1e-15)


@pytest.mark.parametrize(("tokens", "k"), [(5.0001, 4), (1.0001, 0), (math.inf, 64)])
def test_more_tokens_than_drafts_and_bonus_need_an_impossible_alpha(tokens, k):
    assert float(alpha_for_tokens(tokens, k)) == math.inf


def test_alphas_broadcast():
    found = alpha_for_tokens(np.array([[1.0], [2.0], [3.0]]), [1, 2])
    golden = (math.sqrt(5) - 1) / 2
    np.testing.assert_allclose(found, [[0, 0], [1, golden], [np.inf, 1]], rtol=1e-14)


@pytest.mark.parametrize(
    ("alpha", "k", "variance"),
    [
        (0.3, 1, 0.21),  # a coin
        (0.5, 2, 0.6875),  # 1, 2, 3 tokens with 1/2, 1/4, 1/4: 3.75 - 1.75^2
        (0.5, 3, 1.109375),  # 1, 2, 3, 4 tokens with 1/2, 1/4, 1/8, 1/8: 4.625 - 1.875^2
        (0.0, 5, 0.0),
        (1.0, 5, 0.0),
        (0.7, 0, 0.0),
    ],
)
def test_variance(alpha, k, variance):
    assert float(tokens_variance(alpha, k)) == pytest.approx(variance, rel=1e-14, abs=1e-15)


def test_variances_of_several_alphas():
    assert tokens_variance(np.array([0.0, 0.5, 1.0]), 1).tolist() == [0.0, 0.25, 0.0]
