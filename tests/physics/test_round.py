"""Rounds by hand. At batch 1 and 1,000 tokens the target steps in 2.1 ms, the drafter in 0.21."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import worlds

from specplan.domain.acceptance import Alpha
from specplan.domain.scenario import Setup
from specplan.physics.round import cost_ratio, time_rounds
from specplan.physics.survival import tokens_table

PAIR = worlds.setup(worlds.PAIR)


def test_a_round_is_k_drafts_and_one_verification():
    timing = time_rounds(PAIR, (1000,), (1,), (0, 1, 4))
    np.testing.assert_allclose(timing.plain_s[0, 0], [2.1e-3], rtol=1e-15)
    np.testing.assert_allclose(timing.draft_s[0, 0], [0, 0.21e-3, 0.84e-3], rtol=1e-15)
    np.testing.assert_allclose(timing.verify_s[0, 0], [2.1e-3] * 3, rtol=1e-15)
    np.testing.assert_allclose(timing.round_s[0, 0], [2.1e-3, 2.31e-3, 2.94e-3], rtol=1e-15)
    np.testing.assert_allclose(timing.gain[0, 0], [1, 1 / 1.1, 1 / 1.4], rtol=1e-15)


def test_a_wide_verification_computes():
    timing = time_rounds(PAIR, (1000,), (200,), (9,))
    # Verify 2e9 x 200 x 10 / 1e14 = 40 ms; draft (2e8 + 200 x 1e7) / 1e12 = 2.2 ms; plain 22 ms.
    assert float(timing.round_s[0, 0, 0]) == pytest.approx(9 * 2.2e-3 + 40e-3, rel=1e-14)
    assert timing.verify.compute_bound.all()
    assert not timing.plain.compute_bound.any()
    assert float(timing.gain[0, 0, 0]) == pytest.approx(22 / 59.8, rel=1e-14)


def test_shapes_are_context_batch_k():
    timing = time_rounds(PAIR, (1, 2), (1, 2, 3), (0, 1, 2, 3, 4))
    assert timing.plain_s.shape == (2, 3, 1)
    for values in (timing.verify_s, timing.draft_s, timing.round_s, timing.gain):
        assert values.shape == (2, 3, 5)


def test_plain_decoding_is_the_same_pass_to_the_bit():
    timing = time_rounds(PAIR, (1, 77, 4096), (1, 5, 321), (0,))
    assert timing.gain.tolist() == [[[1.0]] * 3] * 3


def test_a_ratio_is_a_share_of_the_plain_step():
    case = replace(worlds.FREE, ratio=0.25)
    timing = time_rounds(worlds.setup(case), (1000,), (1, 200), (2,))
    np.testing.assert_allclose(timing.draft_s[0, :, 0], [0.5 * 2.1e-3, 0.5 * 22e-3], rtol=1e-14)


def test_free_drafts_take_no_time():
    timing = time_rounds(worlds.setup(worlds.FREE), (1000,), (1,), (1, 16))
    assert timing.draft_s.tolist() == [[[0.0, 0.0]]]
    assert timing.gain.tolist() == [[[1.0, 1.0]]]


def test_the_drafter_has_its_own_gpus_and_type():
    alone: Setup = worlds.setup(replace(worlds.PAIR, tp=4, draft_dtype="fp8"))
    timing = time_rounds(alone, (1000,), (1,), (1,))
    assert float(timing.plain_s[0, 0, 0]) == pytest.approx(2.1e-3 / 4, rel=1e-14)
    assert float(timing.draft_s[0, 0, 0]) == pytest.approx(0.11e-3, rel=1e-14)


def test_nothing_drafts_nothing():
    timing = time_rounds(worlds.setup(worlds.PLAIN), (1000,), (1,), (0,))
    assert timing.gain.tolist() == [[[1.0]]]


def test_cost_ratio():
    assert cost_ratio(PAIR, 1000) == pytest.approx(0.1, rel=1e-14)
    # At batch 200: 2.2 ms over 22 ms, the same; without context 0.2 over 2.
    assert cost_ratio(PAIR, 1000, 200) == pytest.approx(0.1, rel=1e-14)
    assert cost_ratio(worlds.setup(replace(worlds.FREE, ratio=0.3)), 7) == pytest.approx(0.3)


def test_tokens_table():
    (table,) = tokens_table((Alpha(0.5), Alpha(1.0, sd=0.1)), (0, 1, 2))
    assert table.tolist() == [[1, 1.5, 1.75], [1, 2, 3]]
