"""The ledger's picture: measured points over the predicted line, thinned and said to be."""

from __future__ import annotations

import math

import pytest

from specplan.cli.scored import accuracy
from specplan.domain.picture import Bars, Plot
from specplan.questions.accuracy_picture import POINTS


@pytest.fixture(scope="module")
def rounds():
    return accuracy(kind="round")


def test_points_are_the_rows_of_the_worst_list():
    answer = accuracy(kind="round", worst=40)
    (plot,) = [p for p in answer.view.picture().panels if isinstance(p, Plot)]
    rows = {(row["predicted"], row["measured"]) for row in answer.table.records()}
    assert set(plot.curves[1].points) == rows
    assert plot.curves[1].style == "points"
    assert plot.title == "a round"


def test_the_line_is_where_both_are_the_same(rounds):
    plot = rounds.view.picture().panels[0]
    line, points = plot.curves
    assert all(x == y for x, y in line.points)
    assert line.points[0][0] <= min(min(p) for p in points.points)
    assert line.points[1][0] >= max(max(p) for p in points.points)
    for x, low, high in plot.bands[0].points:
        assert (low, high) == pytest.approx((0.9 * x, 1.1 * x))
    assert all(math.isfinite(v) and v > 0 for p in points.points for v in p)


def test_what_is_left_out_is_said(rounds):
    plot = rounds.view.picture().panels[0]
    assert len(plot.curves[1].points) == POINTS
    assert plot.title.startswith(f"a round, {POINTS} of ")


def test_bars_are_the_errors_of_groups(rounds):
    bars = next(p for p in rounds.view.picture().panels if isinstance(p, Bars))
    errors = [(r["median"], r["p90"]) for r in rounds.table.records()]
    assert bars.bars
    for bar in bars.bars:
        sizes = [piece.size for piece in bar.pieces]
        total = sum(sizes) if len(sizes) > 1 else None
        assert any(
            sizes[0] == m and (p is None if total is None else p == pytest.approx(total))
            for m, p in errors
        )


def test_of_many_groups_those_of_most_rows_are_drawn():
    """They were picked by their place, which left out the largest."""
    every = accuracy()
    bars = next(p for p in every.view.picture().panels if isinstance(p, Bars))
    drawn = {bar.name: int(bar.text.split()[0]) for bar in bars.bars}
    assert len(drawn) == len(bars.bars) == 16
    assert max(drawn.values()) == drawn["TPOT, vllm, experts"] > 500
    assert min(drawn.values()) >= 10
    assert "16 of 23 groups" in bars.title
