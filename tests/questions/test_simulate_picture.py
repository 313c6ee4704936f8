"""The picture of a simulation shows what it counted, and what was promised."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace

import pytest

import specplan
from specplan.domain.answer import Answer
from specplan.domain.picture import Plot
from specplan.domain.slo import Limit, Slo
from specplan.domain.traffic import Lengths
from specplan.questions.simulate import Options, simulate
from specplan.questions.simulate_picture import cumulative, strip_points
from specplan.questions.simulated import Histogram
from specplan.serving.incoming import steady

LENGTHS = Lengths(isl=[300, 1500], osl=[80, 240], hit=[0, 0], weight=[0.5, 0.5])
SCENE = specplan.scenario(
    target="llama-3.1-8b", draft="eagle3", hardware="h100", engine="vllm", acceptance=0.7, k=3
)
FEW = Options(k=3, requests=400)


def asked(*limits: Limit, lengths: Lengths = LENGTHS, options: Options = FEW) -> Answer:
    return simulate(SCENE, steady(8.0, lengths), options, slo=Slo(limits=limits))


def distributions(answer: Answer) -> dict[str, Plot]:
    assert answer.view.picture is not None
    picture = answer.view.picture()
    plots = [panel for panel in picture.panels if isinstance(panel, Plot)]
    return {plot.x_label: plot for plot in plots if plot.y_label.endswith("at or under it, %")}


def share(plot: Plot, seconds: float) -> float:
    """What a curve says there, straight between its points."""
    points = plot.curves[0].points
    place = min(max(bisect_right([x for x, _ in points], seconds), 1), len(points) - 1)
    (x0, y0), (x1, y1) = points[place - 1 : place + 1]
    return y0 + (y1 - y0) * (seconds - x0) / (x1 - x0)


def test_distributions_are_those_of_the_table() -> None:
    answer = asked()
    plots = distributions(answer)
    assert list(plots) == ["TTFT, s", "TPOT, s", "ITL, s", "E2E, s"]
    rows = {row["measure"]: row for row in answer.table.records()}
    for label, plot in plots.items():
        row = rows[label.split(",")[0].lower()]
        assert plot.curves[0].points[-1][1] == 100.0
        for place, percent in (("p50", 50), ("p90", 90), ("p95", 95), ("p99", 99)):
            if row[place]:
                assert share(plot, row[place]) == pytest.approx(percent, abs=2.5), (label, place)
        assert not plot.rules
        assert not plot.marks


def test_gaps_of_no_time_are_said_and_counted() -> None:
    """A round of k = 3 at 0.7 gives 2.5 tokens: 60 % of them come with another."""
    plot = distributions(asked())["ITL, s"]
    assert plot.curves[0].points[0][1] == pytest.approx(60.0, abs=1.5)
    (words, _, _) = plot.title.partition("; ")[2].partition(" %")
    assert float(words) == pytest.approx(plot.curves[0].points[0][1], abs=0.06)
    alone = distributions(asked(options=replace(FEW, k=0)))["ITL, s"]
    assert alone.title == "time between two tokens"
    assert alone.curves[0].points[0][1] == 0.0


def test_a_promise_is_a_rule_and_a_mark_says_whether_it_is_met() -> None:
    limits = (Limit("ttft", 99, 9.0), Limit("ttft", 50, 1e-4), Limit("tpot", 95, 0.5))
    answer = asked(*limits)
    plots, held = distributions(answer), answer.value.limits  # type: ignore[attr-defined]
    ttft, tpot = plots["TTFT, s"], plots["TPOT, s"]
    assert [(rule.name, rule.axis, rule.at) for rule in ttft.rules] == [
        ("p99 promised: 9 s", "x", 9.0),
        ("p50 promised: 0.1 ms", "x", 1e-4),
    ]
    assert [(mark.sign, mark.name, mark.x, mark.y) for mark in ttft.marks] == [
        ("+", "p99 is met", held[0].reached_s, 99),
        ("x", "p50 is missed", held[1].reached_s, 50),
    ]
    assert [mark.name for mark in tpot.marks] == ["p95 is met"]
    assert not plots["E2E, s"].rules


def test_a_promise_kept_in_no_time_is_told_by_its_rule() -> None:
    plot = distributions(asked(Limit("itl", 50, 0.02)))["ITL, s"]
    assert [rule.name for rule in plot.rules] == ["p50 promised: 20 ms, met"]
    assert not plot.marks


def test_requests_of_one_token_have_first_tokens_alone() -> None:
    one = Lengths(isl=[300], osl=[1], hit=[0], weight=[1.0])
    assert list(distributions(asked(lengths=one))) == ["TTFT, s", "E2E, s"]


def test_shares_add_up_at_the_edges_of_bins() -> None:
    assert list(cumulative(Histogram(0.5, 2.0, (1, 0, 3)), 4)) == [
        (0.5, 50.0), (1.0, 62.5), (2.0, 62.5), (4.0, 100.0),
    ]  # fmt: skip


@pytest.mark.parametrize("bins", [1, 63, 64, 65, 130, 514])
def test_a_strip_goes_forward_and_ends_where_time_does(bins: int) -> None:
    """The last of 65 groups was short and stood beyond the end."""
    points = strip_points([float(n) for n in range(bins)], 0.5)
    at = [x for x, _ in points]
    assert at == sorted(at)
    assert (at[0], at[-1]) == (0.0, 0.5 * bins)
