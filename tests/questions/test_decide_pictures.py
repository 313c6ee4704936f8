"""Pictures show the rows of their answers, and say what they leave out."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from engine_worlds import CHIP, ENGINE, RELEASE

from specplan.catalogue.store import Catalogue
from specplan.domain.acceptance import Alpha, Conditional
from specplan.domain.answer import Answer
from specplan.domain.card import Dtype
from specplan.domain.drafters import ModelDrafter
from specplan.domain.picture import Bars, Cells, Picture, Plot
from specplan.domain.scenario import Scenario, Setup
from specplan.errors import UsageError
from specplan.questions.best_k import best_k
from specplan.questions.explain import explain
from specplan.questions.gate import gate
from specplan.questions.memory import memory
from specplan.questions.pictures import CURVES, PANELS, by_axis, fitting, left_out, thinned
from specplan.questions.sweep import sweep

STORE = Catalogue()
SETUP = Setup(
    target=STORE.model("llama-3.1-8b").card,
    draft=ModelDrafter(STORE.model("llama-3.2-1b").card),
    hardware=CHIP,
    tp=1,
    draft_tp=1,
    engine=ENGINE,
    dtype=Dtype.BF16,
    draft_dtype=Dtype.BF16,
    kv_dtype=Dtype.BF16,
    release=RELEASE,
)
ONE = Scenario(setups=(SETUP,), batch=(4,), context=(1024,), acceptance=(Alpha(0.8),))
GRID = replace(ONE, batch=(1, 8, 64), acceptance=tuple(map(Alpha, (0.5, 0.7, 0.9))), k=(1, 2, 4))


def picture(answer: Answer) -> Picture:
    assert answer.view.picture is not None
    return answer.view.picture()


def test_sweep_draws_each_row_once() -> None:
    """Pieces of a line that stops fitting share a point, which is one row."""
    answer = sweep(GRID)
    plots = [panel for panel in picture(answer).panels if isinstance(panel, Plot)]
    drawn = {
        (plot.title[:14], curve.sign, point)
        for plot in plots
        for curve in plot.curves
        for point in curve.points
    }
    assert sorted(point for _, _, point in drawn) == sorted(
        (row["batch"], row["speedup"]) for row in answer.table.records()
    )
    assert all(rule.at == 1.0 for plot in plots for rule in plot.rules)


def test_map_of_a_sweep_has_the_best_of_each_cell() -> None:
    answer = sweep(GRID)
    (cells,) = (panel for panel in picture(answer).panels if isinstance(panel, Cells))
    rows = list(answer.table.records())
    for y, line in zip(cells.y, cells.values, strict=True):
        for x, value in zip(cells.x, line, strict=True):
            here = (r["speedup"] for r in rows if (str(r["batch"]), r["acceptance"]) == (x, y))
            assert value == max(here)
    assert cells.middle == 1.0


def test_what_is_left_out_is_said() -> None:
    many = replace(ONE, batch=(1, 2), acceptance=tuple(Alpha(a / 20) for a in range(1, 13)))
    found = picture(sweep(replace(many, k=tuple(range(1, 13)))))
    panels = found.panels
    assert len(panels) == PANELS
    assert found.note == "panels: 8 of 12 acceptances"
    assert not any("of 12 accept" in panel.title for panel in panels)
    assert all("8 of 12 lines" in panel.title for panel in panels)
    assert thinned(range(10), 3) == (0, 4, 9)
    assert not [*left_out("lines", range(CURVES), range(CURVES))]


KEYS = [(c, a) for c in (1, 8, 32) for a in (3, 4, 5, 6, 7, 8, 9)]


def test_each_axis_of_small_multiples_is_thinned_by_itself() -> None:
    kept, note = by_axis(KEYS, ("context", "acceptance"), "panels", 6)
    assert kept == ((1, 3), (1, 9), (8, 3), (8, 9), (32, 3), (32, 9))
    assert note == "6 of 21 panels: 2 of 7 acceptances"
    turned, _ = by_axis([key[::-1] for key in KEYS[:7] + KEYS[14:]], ("acceptance", "x"), "a", 4)
    assert turned == ((3, 1), (3, 32), (9, 1), (9, 32))
    assert by_axis(KEYS[:14], ("context", "acceptance"), "panels", 14)[1] == ""
    assert by_axis([()], (), "panels", 8) == (((),), "")


def test_an_axis_of_two_runs_side_by_side() -> None:
    kept, _ = by_axis([(c, a) for c in (1, 8) for a in (3, 4, 5)], ("c", "a"), "panels", 8)
    assert kept == ((1, 3), (8, 3), (1, 4), (8, 4), (1, 5), (8, 5))


def test_what_follows_from_an_axis_is_none_and_no_grid_is_thinned_as_it_comes() -> None:
    follows = [(c, f"type of {c}", a) for c, a in KEYS]
    kept, note = by_axis(follows, ("draft", "draft_dtype", "acceptance"), "setups", 6)
    assert [key[::2] for key in kept[:2]] == [(1, 3), (1, 9)]
    assert note == "6 of 21 setups: 2 of 7 acceptances"
    assert by_axis(KEYS[1:], ("context", "acceptance"), "panels", 2) == (
        (KEYS[1], KEYS[-1]),
        "2 of 20 panels",
    )


def test_memory_of_many_setups_has_each_drafter_on_each_gpu() -> None:
    chips = [replace(CHIP, name=f"chip-{n}") for n in range(4)]
    drafts = [replace(STORE.model("llama-3.2-1b").card, name=f"draft-{n}") for n in range(5)]
    setups = tuple(
        replace(SETUP, hardware=chip, draft=ModelDrafter(draft))
        for draft in drafts
        for chip in chips
    )
    found = picture(memory(replace(ONE, setups=setups)))
    assert found.note == "6 of 20 setups: 3 of 5 drafters, 2 of 4 GPUs"
    told = [panel.title for panel in found.panels]
    for draft in (0, 2, 4):
        for chip in (0, 3):
            assert any(f"draft-{draft} on" in t and f"chip-{chip}" in t for t in told)


def test_a_line_is_dashed_from_the_last_that_fits() -> None:
    solid, dashed = fitting("k = 1", "a", [(1, 2, True), (2, 3, True), (4, 1, False)])
    assert (solid.name, solid.style, solid.points) == ("k = 1", "line", ((1, 2), (2, 3)))
    assert (dashed.name, dashed.style, dashed.points) == ("", "dashed", ((2, 3), (4, 1)))


def test_best_k_marks_the_best() -> None:
    answer = best_k(ONE)
    plot, _, bars = picture(answer).panels
    assert isinstance(plot, Plot)
    assert isinstance(bars, Bars)
    (best,) = (mark for mark in plot.marks if mark.name == "best k")
    (row,) = (row for row in answer.table.records() if row["best"])
    assert (best.x, best.y) == (row["k"], row["speedup"])


def over_alpha(answer: Answer) -> Plot:
    (plot,) = (panel for panel in picture(answer).panels if panel.title == "over acceptance")
    assert isinstance(plot, Plot)
    return plot


def test_best_k_over_alpha_is_the_best_k_at_every_alpha() -> None:
    choice = best_k(ONE).value.choice  # type: ignore[attr-defined]
    plot = over_alpha(best_k(ONE))
    top, own = (dict(curve.points) for curve in plot.curves)
    for alpha in (0.0, 0.25, 0.5, 0.8, 0.95, 1.0):
        there = best_k(replace(ONE, acceptance=(Alpha(alpha),)))
        assert top[alpha] == pytest.approx(there.value.choice.speedup)  # type: ignore[attr-defined]
        (same,) = (row for row in there.table.records() if row["k"] == choice.k)
        assert own[alpha] == pytest.approx(same["speedup"])
    (mark,) = plot.marks
    assert (mark.name, mark.x) == (f"as asked, k = {choice.k}", 0.8)
    assert mark.y == pytest.approx(choice.speedup)
    (even,) = (rule for rule in plot.rules if rule.axis == "x")
    assert even.name.startswith(f"k = {choice.k} loses below alpha 0.")
    assert even.at == pytest.approx(choice.break_even_alpha)


def test_where_no_k_pays_the_first_that_would_is_drawn() -> None:
    scene = replace(ONE, acceptance=(Alpha(0.05),))
    choice = best_k(scene).value.choice  # type: ignore[attr-defined]
    plot = over_alpha(best_k(scene))
    assert choice.k == 0
    top, own = plot.curves
    (even,) = (rule for rule in plot.rules if rule.axis == "x")
    assert all(y == 1.0 for x, y in top.points if x < even.at - 0.01)
    assert all(y > 1.0 for x, y in top.points if x > even.at + 0.01)
    assert even.name.startswith(f"{own.name} loses below alpha ")


@pytest.mark.parametrize("objective", ["throughput", "cost"])
def test_best_k_over_alpha_is_told_as_the_objective_goes_by(objective: str) -> None:
    answer = best_k(ONE, objective=objective)
    plot, column = over_alpha(answer), {"throughput": "throughput", "cost": "flops_per_token"}
    (row,) = (row for row in answer.table.records() if row["best"])
    assert plot.marks[0].y == pytest.approx(row[column[objective]])
    better = max if objective == "throughput" else min
    top, own = (dict(curve.points) for curve in plot.curves)
    assert all(better(y, own[x]) == y for x, y in top.items())


def test_an_acceptance_without_an_alpha_has_no_panel_over_it() -> None:
    scene = replace(ONE, acceptance=(Conditional((0.8, 0.7, 0.6)),))
    assert len(picture(best_k(scene)).panels) == 2


def test_workloads_along_one_axis_are_lines_and_stairs() -> None:
    answer = best_k(replace(ONE, batch=(1, 4, 64)))
    rows = list(answer.table.records())
    speedup, k = picture(answer).panels
    assert isinstance(speedup, Plot)
    assert isinstance(k, Plot)
    (line,), (stairs,) = speedup.curves, k.curves
    assert list(line.points) == [(row["batch"], row["speedup"]) for row in rows]
    a, b, c = (row["k"] for row in rows)
    assert list(stairs.points) == [(1, a), (2, a), (2, b), (16, b), (16, c), (64, c)]
    assert (speedup.x_label, speedup.x_scale) == (k.x_label, k.x_scale)
    assert [rule.at for rule in speedup.rules] == [1.0]


def test_workloads_along_alpha_have_a_line_for_each_setup() -> None:
    two = replace(SETUP, tp=2, draft_tp=2)
    alphas = tuple(map(Alpha, (0.5, 0.9)))
    answer = best_k(replace(ONE, setups=(SETUP, two), acceptance=alphas))
    speedup, k = picture(answer).panels
    assert isinstance(speedup, Plot)
    assert isinstance(k, Plot)
    assert len(speedup.curves) == len(k.curves) == 2
    assert [x for x, _ in speedup.curves[1].points] == [0.5, 0.9]
    assert [x for x, _ in k.curves[1].points] == [0.5, 0.7, 0.7, 0.9]


def test_workloads_along_no_axis_are_bars() -> None:
    said = (Conditional((0.8, 0.7, 0.6)), Conditional((0.5, 0.4, 0.3)))
    answer = best_k(replace(ONE, acceptance=said))
    (bars,) = picture(answer).panels
    assert isinstance(bars, Bars)
    rows = list(answer.table.records())
    assert [bar.name for bar in bars.bars] == [row["acceptance"] for row in rows]
    assert [bar.pieces[0].size for bar in bars.bars] == [row["speedup"] for row in rows]
    assert [bar.text for bar in bars.bars] == [f"k = {row['k']}" for row in rows]


def test_workloads_along_two_axes_are_a_map() -> None:
    (cells,) = picture(best_k(replace(ONE, batch=(1, 4), context=(1024, 4096)))).panels
    assert isinstance(cells, Cells)


def test_a_round_takes_its_time() -> None:
    answer = explain(replace(ONE, k=(4,)))
    value = answer.value
    _, sequence, _ = picture(answer).panels
    assert isinstance(sequence, Bars)
    plain, drafted = (math.fsum(p.size for p in bar.pieces) for bar in sequence.bars)
    assert drafted == pytest.approx(value.round_s)  # type: ignore[attr-defined]
    assert plain / drafted == pytest.approx(value.speedup)  # type: ignore[attr-defined]


def test_memory_fits_what_it_says() -> None:
    (bars,) = picture(memory(ONE)).panels
    assert isinstance(bars, Bars)
    usable = next(rule.at for rule in bars.rules if rule.name.startswith("usable"))
    assert all(math.fsum(p.size for p in bar.pieces) <= usable * 1.0001 for bar in bars.bars)


def test_gate_draws_its_ranges() -> None:
    answer = gate(ONE)
    k, speedup = picture(answer).panels
    assert isinstance(k, Plot)
    assert isinstance(speedup, Plot)
    rows = list(answer.table.records())
    assert len(rows) > 1
    starts = [row["first_batch"] for row in rows]
    expected = [
        (batch, row["k"])
        for row, after in zip(rows, [*starts[1:], rows[-1]["last_batch"]], strict=True)
        for batch in (row["first_batch"], after)
    ]
    assert list(k.curves[0].points) == expected  # upright where k changes
    assert [y for _, y in speedup.curves[0].points] == [
        row[end] for row in rows for end in ("speedup_first", "speedup_last")
    ]


def test_a_sweep_of_too_many_points_has_no_picture() -> None:
    wide = replace(ONE, batch=tuple(range(1, 501)), k=tuple(range(1, 9)))
    wide = replace(wide, acceptance=tuple(Alpha(a / 100) for a in range(1, 61)))
    with pytest.raises(UsageError, match="240,000 points are more than a picture shows"):
        picture(sweep(wide))
