"""Choices by hand: ties, the alphas at which two lines cross, crossings of toy models."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import oracle
import pytest
import worlds

from specplan.physics import choose
from specplan.physics.choose import (
    TIE,
    Crossing,
    alpha_range,
    best_index,
    break_even_alpha,
    crossings,
    scan_batches,
)
from specplan.physics.round import time_rounds

FREE = worlds.setup(worlds.FREE)


@pytest.mark.parametrize(
    ("gains", "best"),
    [
        ([1.0], 0),
        ([1.0, 1.5, 1.2], 1),
        ([1.0, 1.0, 1.0], 0),
        ([1.0, 1.0 + 0.5 * TIE], 0),
        ([1.0, 1.0 + 2 * TIE], 1),
        ([0.5, 2.0 - TIE, 2.0], 1),
        ([0.0, 0.0], 0),
    ],
)
def test_the_smallest_of_the_best(gains, best):
    assert int(best_index(np.array(gains))) == best


def test_the_last_axis_is_chosen_from():
    gains = np.array([[[1, 2], [2, 1]], [[3, 3], [0, 1]]], float)
    assert best_index(gains).tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize(
    ("cost", "k", "alpha"),
    [
        (1.0, 4, 0.0),
        (1.4, 1, 0.4),
        (1.75, 2, 0.5),
        (5.0, 4, 1.0),
        (5.1, 4, math.inf),
    ],
)
def test_break_even(cost, k, alpha):
    assert float(break_even_alpha(cost, k)) == pytest.approx(alpha, rel=1e-14)


def test_two_candidates_part_where_their_lines_cross():
    # 0.8 (1 + alpha) passes 1 at 0.25.
    gain = np.array([1.0, 0.8])
    assert alpha_range(gain, (0, 1), 1, 0.5) == (pytest.approx(0.25, abs=1e-6), 1.0)
    assert alpha_range(gain, (0, 1), 0, 0.1) == (0.0, pytest.approx(0.25, abs=1e-6))


def test_a_candidate_between_two_others():
    # 0.8 (1 + a) passes 1 at 0.25; 0.6 (1 + a + a^2) passes 0.8 (1 + a) at the root of
    # 0.6 a^2 - 0.2 a - 0.2 = 0.
    gain = np.array([1.0, 0.8, 0.6])
    upper = (0.2 + math.sqrt(0.04 + 0.48)) / 1.2
    low, high = alpha_range(gain, (0, 1, 2), 1, 0.5)
    assert (low, high) == (pytest.approx(0.25, abs=1e-6), pytest.approx(upper, abs=1e-6))
    assert alpha_range(gain, (0, 1, 2), 2, 0.9) == (pytest.approx(upper, abs=1e-6), 1.0)


def test_a_sliver_between_two_others_is_found():
    # k = 1 pays from alpha 0.25; k = 2 overtakes it 1e-4 later.
    later = 0.2501
    gain = np.array([1.0, 0.8, 0.8 * (1 + later) / (1 + later + later**2)])
    low, high = alpha_range(gain, (0, 1, 2), 1, 0.25005)
    assert (low, high) == (pytest.approx(0.25, abs=1e-6), pytest.approx(later, abs=1e-6))


def test_a_lone_candidate_is_always_best():
    assert alpha_range(np.array([0.7]), (4,), 0, 0.5) == (0.0, 1.0)


def test_a_loss_at_batch_one_is_a_crossing():
    # ratio 2: a round of k = 1 costs 3 plain steps and yields at most 2 tokens.
    slow = worlds.setup(replace(worlds.FREE, ratio=2.0))
    assert crossings(slow, 1000, 2.0, 1, 50) == (Crossing(1, pays=False),)


def test_free_drafts_lose_once_verification_computes():
    # No context, k = 1: verification takes 2e9 x 2 B / 1e14 = 0.04 B ms, over 2 ms from B = 51;
    # the plain step stays 2 ms up to B = 100. 1.5 x 2 / 0.04 B falls below 1 above B = 75.
    assert crossings(FREE, 0, 1.5, 1, 70) == ()
    assert crossings(FREE, 0, 1.5, 1, 75) == ()
    assert crossings(FREE, 0, 1.5, 1, 200) == (Crossing(76, pays=False),)


def test_k_zero_never_crosses():
    assert crossings(FREE, 0, 1.0, 0, 10_000) == ()


def test_sparse_models_cross_more_than_once():
    """A few sequences touch few experts, so verifying reads more; many touch all of them anyway."""
    layer = oracle.Layer(
        repeat=4, heads=4, kv_heads=1, head_dim=64, experts=128, active=8, expert_width=512
    )
    case = replace(worlds.FREE, target=oracle.Model(hidden=512, vocab=1000, layers=(layer,)))
    found = crossings(worlds.setup(case), 100, oracle.expected_tokens(0.5, 4), 4, 1000)
    assert [c.pays for c in found] == [False, True, False]
    assert found[0].batch == 1
    assert [tuple(c) for c in found] == oracle.crossings(case, 0.5, 4, 100, 1000)


def test_a_scan_is_every_batch_in_order(monkeypatch):
    monkeypatch.setattr(choose, "_CHUNK", 7)
    parts = list(scan_batches(FREE, 500, (0, 2), 23))
    assert [len(batch) for batch, _ in parts] == [7, 7, 7, 2]
    assert np.concatenate([batch for batch, _ in parts]).tolist() == list(range(1, 24))
    gains = time_rounds(FREE, (500,), range(1, 24), (0, 2)).gain[0]
    assert np.concatenate([gain for _, gain in parts]).tolist() == gains.tolist()


@pytest.mark.parametrize("chunk", [1, 2, 75, 76, 77])
def test_a_crossing_at_the_edge_of_a_chunk(monkeypatch, chunk):
    monkeypatch.setattr(choose, "_CHUNK", chunk)
    assert crossings(FREE, 0, 1.5, 1, 200) == (Crossing(76, pays=False),)


def test_nothing_to_scan():
    assert list(scan_batches(FREE, 1000, (0, 1), 0)) == []
    assert crossings(FREE, 1000, 1.5, 1, 0) == ()
