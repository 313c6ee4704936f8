"""The picture of a regret has the rows of its table and the batches that were given."""

from __future__ import annotations

from dataclasses import replace

import oracle
import pytest
import worlds

from specplan.domain.acceptance import Alpha
from specplan.domain.histogram import Histogram
from specplan.domain.picture import Picture, Plot
from specplan.questions.regret import regret

GIVEN = {0: 0.1, 10: 0.4, 200: 0.4, 400: 0.1}


def asked(weights, *, k=(1,), k_max=1):
    """One token of context, and memory for 300 sequences and a half."""
    weights_bytes = oracle.weights_bytes(worlds.FREE, drafted=True)
    each = oracle.sequence_bytes(worlds.FREE, 1, drafted=True)
    case = replace(worlds.FREE, memory=(weights_bytes + 300.5 * each) / 0.9)
    axes = {"context": (1.0,), "acceptance": (Alpha(0.5),)}
    scenario = worlds.scenario(case, k=k, k_max=k_max, **axes)
    return regret(scenario, Histogram(batch=tuple(weights), weight=tuple(weights.values())))


def panels(answer) -> tuple[Plot, ...]:
    assert answer.view.picture is not None
    picture = answer.view.picture()
    assert isinstance(picture, Picture)
    assert all(isinstance(panel, Plot) for panel in picture.panels)
    return picture.panels


def test_lines_are_the_rows_of_the_table():
    answer = asked(GIVEN, k=(1,), k_max=3)
    speedup, losses, _ = panels(answer)
    rows = list(answer.table.records())
    curves = (*speedup.curves, *losses.curves)
    for curve, name in zip(curves, ("speedup", "loss", "oracle_loss", "worst_loss"), strict=True):
        assert curve.points == tuple((row["k"], row[name]) for row in rows)
    (best,) = (row for row in rows if row["best"])
    assert [(mark.x, mark.y) for mark in speedup.marks] == [(best["k"], best["speedup"])]


def test_rules_stand_where_the_answer_says():
    answer = asked(GIVEN, k=(1,), k_max=3)
    value = answer.value
    speedup, losses, batches = panels(answer)
    assert [rule.at for rule in speedup.rules] == [
        *(value.gated_speedup, value.oracle_speedup, value.foreknown_speedup)
    ]
    assert [(rule.axis, rule.at) for rule in losses.rules] == [("y", 0.0), ("x", 1.0)]
    assert [rule.at for rule in batches.rules] == [value.largest_batch]


@pytest.mark.parametrize("scale", [1.0, 50.0])
def test_batches_are_shares_of_the_whole_histogram(scale):
    batches = panels(asked({batch: scale * share for batch, share in GIVEN.items()}))[-1]
    assert dict(batches.curves[0].points) == pytest.approx(GIVEN)
    assert batches.y_label == "share of time, 1"


def test_memory_is_drawn_only_where_batches_reach_it():
    assert panels(asked({10: 1.0}))[-1].rules == ()


def test_nothing_counted_is_no_picture():
    assert asked({0: 1.0}).view.picture is None
