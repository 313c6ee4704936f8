"""Times at any point: measured ones as they are, whatever the fit made of them, others between."""

from __future__ import annotations

import numpy as np
import pytest
from steptimes import DENSE, Law, table

from specplan.physics.between import BETWEEN, BEYOND, MEASURED, Fitted
from specplan.physics.leastsq import fit
from specplan.physics.step_form import Points, StepForm


def fitted(rows, contexts=(2048.0,)):
    batch, k, time_s = (np.asarray(column, np.float64) for column in zip(*rows, strict=True))
    points = Points(batch, np.resize(np.asarray(contexts), len(batch)), k + 1, k)
    form = StepForm.of(points, time_s)
    found = fit(form.unknowns, lambda values: form.seconds(values, points), time_s)
    return Fitted(form.seconds, found, points, time_s)


def at(fits, *places):
    batch, context, k = (np.asarray(axis, np.float64) for axis in zip(*places, strict=True))
    return fits.at(Points(batch, context, k + 1, k))


def test_a_measured_time_stands_even_where_the_fit_left_it_out():
    rows = table(DENSE)
    batch, k, time_s = rows[7]
    rows[7] = (batch, k, 2 * time_s)
    fits = fitted(rows)
    assert not fits.found.kept[7]
    said = at(fits, (batch, 2048, k), (batch, 2048, 3))
    assert said.time_s[0] == pytest.approx(2 * time_s, rel=1e-12)
    assert said.time_s[1] == pytest.approx(DENSE.step_s(batch, 3), rel=0.03)
    assert said.how == (MEASURED, BETWEEN)


TILED = Law(floor=1.5, sequence=0, row=0.07, blend=1, round=0.8, draft=0.2, pad=64)
"""Passes of 65 rows take far longer than of 64: 10.5 ms and 6."""


def test_a_cliff_that_the_fit_left_out_is_where_as_many_rows_are():
    rows = table(TILED, batches=[2**i for i in range(9)])
    fits = fitted(rows)
    cliff = rows.index((16, 5, TILED.step_s(16, 5)))
    assert not fits.found.kept[cliff]
    assert fits.cliffs[cliff]
    said = at(fits, (32, 2048, 2), (16, 2048, 3))
    assert said.time_s[0] == pytest.approx(TILED.step_s(32, 2), rel=0.1)
    assert said.time_s[1] == pytest.approx(TILED.step_s(16, 3), rel=0.1)


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_a_slip_that_sticks_out_of_its_neighbours_is_no_cliff(factor):
    rows = table(DENSE)
    batch, k, time_s = rows[7]
    rows[7] = (batch, k, factor * time_s)
    fits = fitted(rows)
    assert not fits.found.kept[7]
    assert not fits.cliffs.any()
    assert at(fits, (batch, 2048, 3)).time_s == pytest.approx(DENSE.step_s(batch, 3), rel=0.03)


def test_repeats_are_their_geometric_mean_and_a_wrong_one_is_none():
    rows = [*table(DENSE), (16, 5, 1.02 * DENSE.step_s(16, 5)), (16, 5, 3 * DENSE.step_s(16, 5))]
    said = at(fitted(rows), (16, 2048, 5))
    assert said.time_s[0] == pytest.approx(1.02**0.5 * DENSE.step_s(16, 5), rel=1e-9)


def test_what_was_not_measured_is_between_or_beyond():
    said = at(
        fitted(table(DENSE)),
        *((8, 2048, 1), (16, 2048, 2), (256, 2048, 1), (16, 2048, 6), (16, 4096, 1), (8, 2048, 0)),
    )
    assert said.how == (BETWEEN, BETWEEN, BEYOND, BEYOND, BEYOND, BETWEEN)


def test_doubt_grows_with_the_distance_from_what_was_measured():
    said = at(fitted(table(DENSE)), (16, 2048, 5), (16, 2048, 3), (16, 2048, 20))
    assert said.spread[0] <= said.spread[1] < said.spread[2]
