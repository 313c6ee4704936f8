"""The inverse question: what is asked for is reached when the answer is plugged back."""

from __future__ import annotations

import numpy as np
import pytest

from specplan.physics.need import alpha_needed, draft_step_needed
from specplan.physics.tokens import expected_tokens

K = np.arange(9.0)


def gain(c: float) -> np.ndarray:
    """Plain step over round while memory binds."""
    return 1 / (1 + K * c)


@pytest.mark.parametrize("speedup", [1.01, 1.5, 2.0, 3.0])
@pytest.mark.parametrize("c", [0.0, 0.05, 0.17, 0.3])
def test_the_alpha_needed_gives_the_speedup(speedup, c):
    found = alpha_needed(speedup, gain(c), K)
    if found.value is None:
        assert ((K + 1) * gain(c) < speedup).all()
        return
    reached = expected_tokens(found.value, K) * gain(c)
    assert reached[found.k] == pytest.approx(speedup, rel=1e-9)
    # No other k would do with less.
    assert (reached <= speedup * (1 + 1e-9)).all()


def test_an_alpha_by_hand():
    # Free drafts of one token: 1 + alpha = 1.5. With two, 1 + a + a^2 = 1.5 needs less.
    assert alpha_needed(1.5, np.ones(2), K[:2]) == (pytest.approx(0.5, rel=1e-14), 1)
    root = (3**0.5 - 1) / 2
    assert alpha_needed(1.5, np.ones(3), K[:3]) == (pytest.approx(root, rel=1e-14), 2)


def test_no_alpha_is_enough():
    assert alpha_needed(5.0, gain(0.3), K).value is None
    assert alpha_needed(1.1, np.ones(1), np.zeros(1)) == (None, 0)


def test_plain_decoding_is_already_as_fast_as_itself():
    assert alpha_needed(1.0, gain(0.1), K) == (0.0, 0)
    assert alpha_needed(0.5, gain(0.1), K) == (0.0, 0)


@pytest.mark.parametrize("speedup", [1.01, 1.5, 2.0, 2.4])
@pytest.mark.parametrize("slope", [0.0, 0.1])
def test_the_draft_step_needed_gives_the_speedup(speedup, slope):
    tokens, plain_s = expected_tokens(0.7, K), 2e-3
    verify_s = plain_s * (1 + slope * K)
    found = draft_step_needed(speedup, K, tokens, plain_s, verify_s, K)
    if found.value is None:
        assert (tokens[1:] * plain_s / verify_s[1:] < speedup).all()
        return
    assert found.value >= 0
    reached = tokens * plain_s / (K * found.value + verify_s)
    assert reached[found.k] == pytest.approx(speedup, rel=1e-9)
    # With a slower step no k reaches it.
    slower = tokens * plain_s / (K * found.value * 1.001 + verify_s)
    assert (slower[1:] < speedup).all()


def test_a_step_by_hand():
    # alpha 0.5, k = 1: 1.5 x 2 ms / 1.2 = 2.5 ms for the round, of which verification takes 2.
    found = draft_step_needed(
        1.2, np.array([1.0]), np.array([1.5]), 2e-3, np.array([2e-3]), np.array([1.0])
    )
    assert found == (pytest.approx(0.5e-3, rel=1e-12), 1)


def test_one_pass_may_draft_many():
    # Four drafts in one pass: 1.9375 x 2 ms / 1.25 = 3.1 ms, of which verification takes 2.
    found = draft_step_needed(
        1.25, np.array([4.0]), np.array([1.9375]), 2e-3, np.array([2e-3]), np.array([1.0])
    )
    assert found == (pytest.approx(1.1e-3, rel=1e-12), 4)


def test_no_drafter_is_fast_enough():
    tokens = expected_tokens(0.1, K)  # never more than 1.11
    found = draft_step_needed(1.2, K, tokens, 2e-3, np.full(9, 2e-3), K)
    assert found.value is None


def test_nothing_drafts():
    zero = np.zeros(1)
    assert draft_step_needed(1.2, zero, zero + 1, 2e-3, zero + 2e-3, zero) == (None, 0)
