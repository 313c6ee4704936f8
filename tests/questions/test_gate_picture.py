"""The picture of a gate: each fixed k as the physics prices it, its crossings on its line."""

from __future__ import annotations

import oracle
import pytest
import worlds

from specplan.domain.acceptance import Alpha
from specplan.domain.picture import Plot
from specplan.questions.gate import gate
from specplan.questions.gate_picture import LINES


def panels(answer) -> tuple[Plot, Plot]:
    assert answer.view.picture is not None
    k, speedup = answer.view.picture().panels
    assert isinstance(k, Plot)
    assert isinstance(speedup, Plot)
    return k, speedup


def asked(k=(), k_max=4):
    axes = {"context": (1.0,), "acceptance": (Alpha(0.5),)}
    return gate(worlds.scenario(worlds.FREE, k=k, k_max=k_max, **axes))


def test_each_fixed_k_is_as_a_slow_oracle_has_it():
    _, speedup = panels(asked())
    lines = {curve.name: curve.points for curve in speedup.curves if curve.style == "line"}
    assert sorted(lines) == [f"k = {k}" for k in range(1, 5)]
    for k in range(1, 5):
        for batch, value in lines[f"k = {k}"][::9]:
            assert value == pytest.approx(oracle.speedup(worlds.FREE, 0.5, batch, k, 1.0))


def test_no_fixed_k_is_above_the_best_at_the_ends_of_ranges():
    _, speedup = panels(asked())
    best, *lines = speedup.curves
    for line in lines:
        there = dict(line.points)
        for batch, value in best.points:
            assert there[batch] <= value * (1 + 1e-9)


def test_crossings_are_the_answers_and_lie_on_their_lines():
    answer = asked()
    _, speedup = panels(answer)
    turns = {one.k: one.crossings[-1].batch for one in answer.value.fixed if one.crossings}
    assert turns
    assert {mark.name.partition(" from")[0]: mark.x for mark in speedup.marks} == {
        f"k = {k} loses": batch for k, batch in turns.items()
    }
    lines = {curve.name: dict(curve.points) for curve in speedup.curves}
    for mark in speedup.marks:
        assert mark.y == lines[mark.name.partition(" loses")[0]][mark.x] < 1


def test_lengths_that_are_left_out_are_said():
    answer = asked(k_max=16)
    _, speedup = panels(answer)
    assert speedup.title == f"{LINES} of 16 fixed k"
    assert len(speedup.curves) == 1 + LINES


def test_steps_are_flat_within_a_range():
    k, _ = panels(asked())
    points = k.curves[0].points
    assert all(a[1] == b[1] for a, b in zip(points[::2], points[1::2], strict=True))
