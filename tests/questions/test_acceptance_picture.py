"""Pictures of captures: every counted figure is a point, and models are the lines."""

from __future__ import annotations

import foreign
import pytest

from specplan.cli.captured import acceptance
from specplan.domain.answer import Answer
from specplan.domain.picture import Curve, Plot

LOGS = ("vllm-0.33.log", "vllm-ngram.log", "hand-sglang-example.log")


def panels(answer: Answer) -> tuple[Plot, ...]:
    assert answer.view.picture is not None
    found = answer.view.picture().panels
    assert all(isinstance(panel, Plot) for panel in found)
    return found  # type: ignore[return-value]


def curve(panel: Plot, name: str) -> Curve:
    return next(one for one in panel.curves if one.name.startswith(name))


@pytest.mark.parametrize("name", LOGS[:2])
def test_counted_positions_are_points_in_their_intervals(name):
    answer = acceptance(foreign.FIXTURES / name)
    rows = list(answer.table.records())
    first = panels(answer)[0]
    counted = curve(first, "counted")
    assert counted.style == "points"
    assert counted.points == tuple((row["position"], row["unconditional"]) for row in rows)
    for band in first.bands:
        assert band.points == tuple((row["position"], row["low"], row["high"]) for row in rows)


def test_tokens_by_length_end_at_the_tokens_counted():
    answer = acceptance(foreign.FIXTURES / LOGS[0])
    by_length = panels(answer)[1]
    counted = curve(by_length, "counted")
    assert counted.points[-1] == (answer.value.k, pytest.approx(answer.value.tokens_per_round))
    alone = curve(by_length, "alpha")
    assert alone.style == "dashed"
    alpha = answer.value.alpha
    assert alone.points[1] == (2, pytest.approx(1 + alpha + alpha**2))
    beyond = curve(by_length, "beyond")
    assert beyond.points[0] == pytest.approx(counted.points[-1])
    assert beyond.points[-1][0] == answer.value.k + 3


def test_loads_are_points():
    answer = acceptance(foreign.FIXTURES / LOGS[0])
    assert len(answer.value.loads) > 1
    counted = curve(panels(answer)[-1], "counted")
    loads = answer.value.loads
    assert counted.points == tuple((one.batch, one.tokens_per_round) for one in loads)


def test_two_captures_and_their_difference():
    answer = acceptance(*(foreign.FIXTURES / name for name in LOGS[:2]))
    rows = [r for r in answer.table.records() if r["figure"].startswith("position")]
    both, change = panels(answer)
    assert curve(both, "A").points == tuple((n, r["a"]) for n, r in enumerate(rows, 1))
    assert curve(both, "B").points == tuple((n, r["b"]) for n, r in enumerate(rows, 1))
    told = curve(change, "B - A").points
    assert told == tuple((n, r["difference"]) for n, r in enumerate(rows, 1))
    assert [rule.at for rule in change.rules] == [0.0]
