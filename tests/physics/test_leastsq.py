"""Robust least squares: what made the figures is found, what contradicts them is left out."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest
from steptimes import DENSE, LAWS, noisy, table

from specplan.errors import Refused
from specplan.physics import leastsq
from specplan.physics.leastsq import fit
from specplan.physics.step_form import Points, StepForm
from specplan.physics.told import told

LONG = (0, 1, 2, 3, 5, 7)


def fitted(rows):
    batch, k, time_s = (np.asarray(column, np.float64) for column in zip(*rows, strict=True))
    points = Points(batch, 0 * batch, k + 1, k)
    form = StepForm.of(points, time_s)
    return fit(form.unknowns, lambda values: form.seconds(values, points), time_s)


def constants(found):
    return dict(zip((u.name for u in found.unknowns), found.values.tolist(), strict=True))


@pytest.mark.parametrize("name", ["memory", "additive", "compute", "experts", "overhead"])
def test_the_law_behind_the_figures_explains_them(name):
    found = fitted(table(LAWS[name], k=LONG))
    assert np.abs(found.residual).max() < 0.01
    assert found.kept.all()
    at = constants(found)
    assert at["draft"] == pytest.approx(LAWS[name].draft / 1000, rel=0.1)
    assert at["round"] == pytest.approx(LAWS[name].round / 1000, rel=0.2)


@pytest.mark.parametrize("seed", range(2))
def test_constants_lie_within_their_errors(seed):
    found = fitted(noisy(table(LAWS["compute"], k=LONG), 0.01, seed))
    truth = {"row": 0.12e-3, "draft": 0.2e-3, "floor": 3e-3}
    for unknown, value, error in zip(found.unknowns, found.values, found.errors, strict=True):
        if unknown.name in truth:
            assert abs(value - truth[unknown.name]) < 4 * error, unknown.name
    assert 0.005 < found.noise < 0.02


@pytest.mark.parametrize("place", [0, 7, 14])
@pytest.mark.parametrize("factor", [0.5, 1.6])
def test_one_wrong_figure_is_left_out_and_moves_nothing(place, factor):
    rows = table(DENSE)
    clean = fitted(rows)
    batch, k, time_s = rows[place]
    planted = fitted([*rows[:place], (batch, k, factor * time_s), *rows[place + 1 :]])
    assert np.flatnonzero(~planted.kept).tolist() == [place]
    assert planted.residual[place] == pytest.approx(np.log(factor), abs=0.05)
    others = np.arange(len(rows)) != place
    assert np.abs(planted.residual[others] - clean.residual[others]).max() < 0.02


def test_noise_is_no_outlier():
    for seed in range(2):
        assert fitted(noisy(table(DENSE, k=LONG), 0.03, seed)).kept.all()


def test_left_out_residuals_are_those_of_a_fit_without_the_figure():
    rows = noisy(table(DENSE), 0.01)
    found = fitted(rows)
    assert np.abs(found.left_out).mean() > np.abs(found.residual).mean()


def test_from_plain_steps_and_k_1_overhead_and_drafts_cannot_be_told_apart():
    open_ = told(fitted(table(DENSE, k=(0, 1))))
    assert ("round", "draft") in open_.together
    assert open_.rank < 9


def test_a_third_draft_length_tells_them_apart():
    open_ = told(fitted(table(DENSE, k=(0, 1, 5))))
    assert not any({"round", "draft"} <= set(group) for group in open_.together)
    assert not {"round", "draft"} & set(open_.alone)


def test_at_one_batch_what_grows_with_it_is_not_told():
    open_ = told(fitted(table(DENSE, batches=(8,), k=(0, 1, 3, 5))))
    named = {*open_.alone, *(name for group in open_.together for name in group)}
    assert {"sequence", "blend"} <= named
    assert open_.rank <= 4


def test_plain_steps_alone_have_no_drafts_to_tell():
    assert "draft" not in constants(fitted(table(DENSE, k=(0,))))


def test_without_scipy_it_says_how_to_get_it(monkeypatch):
    def missing(name):
        if name.startswith("scipy"):
            raise ImportError(name)
        return import_module(name)

    monkeypatch.setattr(leastsq, "import_module", missing)
    with pytest.raises(Refused, match="SciPy's, which is not installed") as error:
        fitted(table(DENSE))
    assert error.value.hint == "pip install 'specplan[stats]'"
