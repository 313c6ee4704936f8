"""Residuals carried: near those that are known, to passes of as many rows, nowhere far away."""

from __future__ import annotations

import numpy as np
import pytest

from specplan.physics.kriging import JITTER, MOST, Carried, Places, Surface, _Far, _likelihood


def places(*rows):
    batch, width, drafts = zip(*rows, strict=True)
    return Places(np.asarray(batch, float), np.asarray(width, float), np.asarray(drafts, bool))


def matern(far):
    return (1 + 3**0.5 * far) * np.exp(-(3**0.5) * far)


def covariance(surface, one, other):
    """Between two places (batch, width, round), written out."""
    batch, width = abs(np.log(one[0] / other[0])), abs(np.log(one[1] / other[1]))
    rows = abs(np.log(one[0] * one[1] / (other[0] * other[1])))
    apart = matern(batch / surface.batch) * matern(width / surface.width) * (one[2] == other[2])
    alike = surface.share * matern(rows / surface.rows)
    return surface.variance * (alike + (1 - surface.share) * apart)


GRID = [(b, w, w > 1) for b in (1, 4, 16, 64) for w in (1, 2, 6)]
OFF = 0.1 * np.sin(np.arange(len(GRID)))


def test_mean_and_deviation_are_those_of_the_joint_normal():
    carried = Carried.of(places(*GRID), OFF)
    asked = [(16, 4, True), (64, 1, False), (8, 3, True), (500, 2, True)]
    every = [*GRID, *asked]
    joint = np.asarray([[covariance(carried.surface, a, b) for b in every] for a in every])
    known = len(GRID)
    noisy = joint[:known, :known] + JITTER**2 * np.eye(known)
    across = joint[known:, :known]
    mean = across @ np.linalg.solve(noisy, OFF)
    left = joint[known:, known:] - across @ np.linalg.solve(noisy, across.T)
    said, doubt = carried.at(places(*asked))
    assert said == pytest.approx(mean, rel=1e-8, abs=1e-12)
    assert doubt == pytest.approx(np.sqrt(np.diag(left)), rel=1e-6)


def test_the_surface_is_the_likeliest_of_those_weighed():
    known = places(*GRID)
    best = Carried.of(known, OFF).surface
    others = [
        Surface(best.variance, share, best.rows, best.batch, best.width) for share in (0, 0.9)
    ]
    far = _Far.between(known, known)
    for surface in (best, *others):
        cover = np.asarray([[covariance(surface, a, b) for b in GRID] for a in GRID])
        noisy = cover + JITTER**2 * np.eye(len(GRID))
        likelihood = -0.5 * OFF @ np.linalg.solve(noisy, OFF) - np.linalg.slogdet(noisy)[1] / 2
        assert _likelihood(surface, far, OFF) == pytest.approx(likelihood, rel=1e-9)
        assert likelihood <= _likelihood(best, far, OFF) + 1e-9


def test_passes_of_as_many_rows_share_what_was_missed():
    wave = {1: 0.0, 2: 0.01, 4: -0.02, 8: 0.03, 16: 0.01, 32: -0.04, 64: 0.15, 128: 0.02, 256: 0.0}
    known = [(b, w, w > 1) for b in (1, 2, 4, 8, 16, 32, 64, 128) for w in (1, 2)]
    carried = Carried.of(places(*known), np.asarray([wave[b * w] for b, w, _ in known]))
    assert carried.surface.share > 0.5
    (at_64,), (doubt,) = carried.at(places((16, 4, True)))
    assert at_64 == pytest.approx(0.15, abs=0.03)
    assert doubt < 0.05


def test_far_away_nothing_is_carried():
    carried = Carried.of(places(*GRID), OFF)
    said, doubt = carried.at(places((1e6, 1, False)))
    assert said == pytest.approx([0.0], abs=1e-3)
    assert doubt == pytest.approx([np.sqrt(carried.surface.variance)], rel=1e-2)


def test_a_perfect_form_leaves_nothing_to_carry():
    said, doubt = Carried.of(places(*GRID), np.zeros(len(GRID))).at(places((8, 3, True)))
    assert said.tolist() == [0.0]
    assert doubt[0] < 1e-6


def test_of_many_residuals_some_carry_all():
    batch = np.arange(1.0, 3 * MOST + 1)
    known = Places(batch, np.ones_like(batch), np.zeros(len(batch), bool))
    carried = Carried.of(known, 0.05 * np.sin(np.log(batch)))
    assert len(carried.weight) <= MOST
    said, _ = carried.at(places((100.5, 1, False)))
    assert said == pytest.approx([0.05 * np.sin(np.log(100.5))], abs=0.002)
