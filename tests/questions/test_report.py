"""A report: the verdict over a plan's points, its parts, and dials that say what commands say."""

from __future__ import annotations

import shlex
from dataclasses import replace
from io import StringIO
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specplan.cli.reported import report as from_options
from specplan.cli.scenario import scenario as scenario_of
from specplan.domain.answer import Answer
from specplan.domain.explorer import Explorer
from specplan.questions.best_k import best_k
from specplan.questions.report_parts import PARTS
from specplan.questions.sweep import sweep
from specplan.render.cells import cell_text
from specplan.render.html import write as write_html
from specplan.render.look import Look

PAIR = {"target": "llama-3-8b", "draft": "llama-3.2-1b", "hardware": "h100-sxm"}
ANSWERS = {
    "iid": from_options(**PAIR, acceptance=0.8),
    "engine": from_options(
        target="llama-3.1-8b",
        draft="eagle3",
        hardware="h100",
        engine="vllm@0.33",
        acceptance="conditional:.7,.6,.5",
        batch=32,
        k=3,
    ),
    "adapting": from_options(
        target="qwen3-8b", draft="ngram", hardware="h100", engine="vllm@0.33", acceptance=0.5, k=4
    ),
}


def dials(answer: Answer) -> Explorer:
    assert answer.explorer is not None
    return answer.explorer


def readings(explorer: Explorer, at: dict[str, int]) -> dict[str, str]:
    """What each reading says at a place of every dial, by its own arithmetic."""
    sizes = {dial.name: len(dial.places) for dial in explorer.dials}
    found = {}
    for reading in explorer.readings:
        flat = 0
        for name in reading.over:
            flat = flat * sizes[name] + at[name]
        found[reading.name] = reading.texts[flat]
    return found


@pytest.mark.parametrize("name", ANSWERS)
def test_readings_have_a_figure_for_every_place(name):
    explorer = dials(ANSWERS[name])
    sizes = {dial.name: len(dial.places) for dial in explorer.dials}
    assert list(sizes) == ["context", "batch", "alpha", "k"]
    for reading in explorer.readings:
        count = 1
        for dial in reading.over:
            count *= sizes[dial]
        assert len(reading.values) == len(reading.texts) == count
    for dial in explorer.dials:
        assert len(set(dial.places)) == len(dial.places)
        assert 0 <= dial.at < len(dial.places)


def options_of(name: str) -> dict[str, object]:
    return {
        "iid": PAIR,
        "engine": {
            "target": "llama-3.1-8b",
            "draft": "eagle3",
            "hardware": "h100",
            "engine": "vllm@0.33",
        },
        "adapting": {
            "target": "qwen3-8b",
            "draft": "ngram",
            "hardware": "h100",
            "engine": "vllm@0.33",
        },
    }[name]


@pytest.mark.parametrize("name", ANSWERS)
@settings(max_examples=12, deadline=None)
@given(st.data())
def test_a_reading_is_what_the_commands_print(name, data):
    """sweep and best-k, asked about the point by its texts, say the same to the printed digit."""
    explorer = dials(ANSWERS[name])
    at = {d.name: data.draw(st.integers(0, len(d.places) - 1), d.name) for d in explorer.dials}
    places = {d.name: d.places[at[d.name]].replace(",", "") for d in explorer.dials}
    point = {"batch": places["batch"], "context": places["context"]}
    dial = next(d for d in explorer.dials if d.name == "alpha")
    own = at["alpha"] == dial.at  # called by what it is worth, where it is no alpha
    alpha = ANSWERS[name].value.acceptance if own else dial.places[at["alpha"]]
    asked = scenario_of(**options_of(name), **point, acceptance=alpha)
    told = readings(explorer, at)
    best = best_k(asked)
    choice = best.value.choice
    assert told["best_k"] == str(choice.k)
    assert told["best_speedup"] == cell_text(choice.speedup, "times")
    k = str(choice.k) if places["k"] == "best" else places["k"]
    at["k"] = next(d for d in explorer.dials if d.name == "k").places.index(k)
    told = readings(explorer, at)
    table = sweep(replace(asked, k=(int(k),))).table
    (row,) = table.records()
    for column in ("speedup", "tpot_s", "tokens_per_round", "draft_s", "verify_s", "round_s"):
        assert told[column] == cell_text(row[column], table.column(column).form), column
    assert told["plain_step_s"] == cell_text(row["plain_step_s"], "seconds")
    assert told["tokens_per_s"] == f"{float(point['batch']) / row['tpot_s']:,.0f}"
    assert told["bound_by"] == row["verify_bound_by"]
    assert told["fits"] == cell_text(row["fits"], "flag")


@pytest.mark.parametrize("name", ANSWERS)
def test_the_dials_stand_at_the_plan(name):
    explorer, value = dials(ANSWERS[name]), ANSWERS[name].value
    at = {d.name: d.places[d.at] for d in explorer.dials}
    assert at["batch"] == f"{value.batch:,.0f}"
    given = "~0.65" if name == "engine" else value.acceptance
    assert at["alpha"] == given
    assert at["k"] == str(value.k)
    told = readings(explorer, {d.name: d.at for d in explorer.dials})
    assert told["speedup"] == cell_text(value.speedup, "times")


@pytest.mark.parametrize("name", ANSWERS)
def test_every_part_is_there_or_says_why_not(name):
    answer = ANSWERS[name]
    there = [part.name for part in answer.parts]
    left = {row["part"]: row["left_out"] for row in answer.table.records() if row["left_out"]}
    silent = {"expectations", "points", "gate-flags"}  # of what there is none of
    assert set(there) | set(left) | silent == set(PARTS)
    assert not set(there) & set(left)
    assert there == [part for part in PARTS if part in there]
    assert {"best-k", "batch-alpha", "best-k-map", "roofline", "time", "memory"} <= set(there)
    assert {"acceptance", "gate", "sources", "reproduce"} <= set(there)
    for reason in left.values():
        assert any(str(reason) in line for line in words(answer))


def words(answer: Answer) -> list[str]:
    return [line for s in answer.view.sections for line in getattr(s, "lines", ())]


def test_a_bound_has_no_flags_and_an_engine_has():
    assert "flags" not in [part.name for part in ANSWERS["iid"].parts]
    (flags,) = [part.answer for part in ANSWERS["engine"].parts if part.name == "flags"]
    assert flags.value.k == 3
    (gated,) = [part.answer for part in ANSWERS["engine"].parts if part.name == "gate-flags"]
    assert gated.value.engine == flags.value.engine


@pytest.mark.parametrize(
    ("options", "verdict", "begins"),
    [
        ({**PAIR, "acceptance": 0.8}, "pays", "It pays: llama-3.2-1b for llama-3-8b"),
        ({**PAIR, "acceptance": 0.2, "k": 4}, "loses", "It does not pay: "),
        ({**PAIR, "acceptance": [0.2, 0.8], "k": 4}, "mixed", "It pays at 1 of 2 points: "),
        ({**PAIR, "acceptance": 0.8, "batch": 100_000}, "does not fit", "It does not fit in mem"),
    ],
)
def test_the_verdict(options, verdict, begins):
    answer = from_options(**options)
    assert answer.value.verdict == verdict
    assert answer.view.title.startswith(begins)
    assert answer.ok == (verdict != "does not fit")


def test_the_point_in_detail_is_where_speculation_helps_least():
    answer = from_options(**PAIR, acceptance=[0.6, 0.8], batch=[1, 64], k=4)
    asked = scenario_of(**PAIR, acceptance=[0.6, 0.8], batch=[1, 64], k=4)
    rows = list(sweep(asked).table.records())
    worst = min(rows, key=lambda row: row["speedup"])
    assert (answer.value.batch, answer.value.acceptance) == (worst["batch"], "0.6")
    assert answer.value.speedup == worst["speedup"]
    assert answer.value.points == len(rows) == 4
    assert answer.value.paying == sum(row["speedup"] > 1 for row in rows)


def test_sources_name_every_card_of_the_point():
    (sources,) = [part.answer for part in ANSWERS["iid"].parts if part.name == "sources"]
    cards = {row["card"] for row in sources.table.records()}
    assert cards == {"llama-3-8b", "llama-3.2-1b", "h100-sxm", "roofline"}
    assert all(row["cite"] for row in sources.table.records())


def part(answer: Answer, name: str) -> Answer:
    (found,) = [one.answer for one in answer.parts if one.name == name]
    return found


def test_sources_cover_every_setup_and_state_the_figures():
    """A figure of any setup stands in the report; each has its card, text and source."""
    answer = from_options(**{**PAIR, "hardware": ["h100-sxm", "a100-sxm-80gb"]}, acceptance=0.8)
    sources = part(answer, "sources")
    cards = {row["card"] for row in sources.table.records()}
    assert {"h100-sxm", "a100-sxm-80gb"} <= cards
    for name, found in sources.value.figures.items():
        numbers = len([row for row in sources.table.records() if row["card"] == name])
        cited = {int(n) for one in found for n in one.sources.split()}
        assert cited <= set(range(1, numbers + 1))
    stated = {one.key: one for one in sources.value.figures["h100-sxm"]}
    asked = scenario_of(**PAIR, acceptance=0.8)
    assert stated["bandwidth"].value == asked.setups[0].hardware.bandwidth
    assert stated["bandwidth"].text == "3.35 TB/s"
    assert not any(one.startswith("derived") for one in stated)


def test_a_command_from_python_names_the_folders(tmp_path):
    answer = from_options(**PAIR, acceptance=0.8, catalogue=str(tmp_path))
    words = shlex.split(part(answer, "reproduce").value.command)
    assert words[words.index("--catalogue") + 1] == str(tmp_path)


def test_dials_stay_few_enough_for_a_page():
    """The longest drafts of a small model on a large GPU: every batch down to one fits."""
    answer = from_options(
        target="qwen3-0.6b",
        draft="ngram",
        hardware="h200",
        engine="vllm@0.33",
        acceptance=0.8,
        batch=3,
        context=3000,
        k_max=64,
    )
    out = StringIO()
    write_html(answer, out, Look())
    assert len(out.getvalue().encode()) < 2_000_000
    batch = next(dial for dial in dials(answer).dials if dial.name == "batch").places
    assert len(batch) >= 4
    assert "3" in batch


def test_a_plan_of_many_points_says_why_they_are_not_listed():
    answer = from_options(**PAIR, acceptance=0.8, k=4, batch="1:40", context="100:2600:100")
    assert answer.value.points == 1040
    left = {row["part"]: row["left_out"] for row in answer.table.records()}
    assert "1,040" in left["points"]
    assert any(str(left["points"]) in line for line in words(answer))


BANDED = {"target": "llama-3.1-8b", "draft": "eagle3", "hardware": "h100", "engine": "vllm@0.6"}


@pytest.mark.parametrize(
    ("alpha", "verdict", "begins"),
    [
        (0, "loses", "It does not pay: "),
        (0.25, "unsure", "Too close to call: "),
        (0.7, "pays", "It pays: "),
    ],
)
def test_a_verdict_within_the_band_is_unsure(alpha, verdict, begins):
    answer = from_options(**BANDED, acceptance=alpha, k=3)
    low, high = answer.basis.bands["speedup"]
    speedup = answer.value.speedup
    held = {
        "loses": speedup * (1 + high) <= 1,
        "unsure": speedup * (1 + low) <= 1 < speedup * (1 + high),
        "pays": speedup * (1 + low) > 1,
    }
    assert held == {name: name == verdict for name in held}
    assert answer.value.verdict == verdict
    assert answer.view.title.startswith(begins)
    assert f"give or take {high:.0%}".replace("%", " %") in answer.view.title
    assert part(answer, "accuracy").value.share == high


def test_the_command_repeats_the_report():
    (again,) = [part.answer for part in ANSWERS["engine"].parts if part.name == "reproduce"]
    assert again.value.command == (
        "specplan report --target llama-3.1-8b --draft eagle3 --hardware h100 --engine vllm@0.33 "
        "--acceptance conditional:.7,.6,.5 --k 3 --batch 32 -o report.html"
    )


def test_parts_have_pictures_and_maps_have_the_contour():
    drawn = {p.name: p.answer.view.picture for p in ANSWERS["iid"].parts}
    for name, kind in product(("batch-alpha", "best-k-map"), ("Cells",)):
        assert drawn[name] is not None
        for panel in drawn[name]().panels:
            assert type(panel).__name__ == kind
            assert panel.middle == 1
    for name in ("best-k", "roofline", "time", "memory", "acceptance", "gate"):
        assert drawn[name] is not None
        assert drawn[name]().panels


@pytest.mark.parametrize("name", ANSWERS)
@pytest.mark.parametrize("part", ["batch-alpha", "best-k-map"])
def test_maps_mark_the_point_itself(name, part):
    """By the names of its row and column, whose speedup is that of the verdict where k is."""
    answer = ANSWERS[name]
    (made,) = (one.answer for one in answer.parts if one.name == part)
    (cells,) = made.view.picture().panels
    row, column = cells.at
    value = answer.value
    alpha = next(dial for dial in dials(answer).dials if dial.name == "alpha")
    expected = alpha.places[alpha.at] if part == "batch-alpha" else f"{value.context:,.0f}"
    assert (cells.y[row], cells.x[column]) == (expected, f"{value.batch:,.0f}")
    speedup = value.speedup if part == "batch-alpha" else value.best_speedup
    assert cells.values[row][column] == pytest.approx(speedup, rel=1e-9)


def test_a_map_of_one_k_says_it_once():
    (made,) = (one.answer for one in ANSWERS["engine"].parts if one.name == "batch-alpha")
    (cells,) = made.view.picture().panels
    assert cells.title == "k = 3"
    assert not any("k" in text for row in cells.texts for text in row)


def head(answer: Answer) -> dict[str, str]:
    return dict(pair for s in answer.view.sections for pair in getattr(s, "pairs", ()))


@pytest.mark.parametrize("options", [{"draft": "none", "acceptance": 0.8}, {"k": 0}])
def test_plain_decoding_breaks_even_nowhere(options):
    answer = from_options(**{**PAIR, "acceptance": 0, **options})
    assert answer.value.k == 0
    assert answer.value.break_even_alpha is None
    assert "breaks even" not in head(answer)


def test_what_breaks_even_is_said_with_its_k():
    answer = ANSWERS["iid"]
    enough = answer.value.break_even_alpha
    assert head(answer)["breaks even"] == f"at acceptance {enough:.2f} with k = {answer.value.k}"


@pytest.mark.parametrize(
    ("options", "remedy"),
    [
        ({**PAIR, "target": "llama-3.3-70b"}, "; with --tp 2 it would fit."),
        ({**PAIR, "batch": [1, 100_000]}, "batch 100,000 at 2,048 tokens; 174 sequences fit"),
    ],
)
def test_what_does_not_fit_says_what_would(options, remedy):
    answer = from_options(**options, acceptance=0.8)
    assert answer.value.verdict == "does not fit"
    assert any(remedy in line for line in words(answer))


def test_an_acceptance_without_one_alpha_says_what_it_is_worth():
    """Its place among alphas is where speedups rise through it."""
    answer = ANSWERS["engine"]
    value, explorer = answer.value, dials(answer)
    assert "worth alpha 0.65 at k = 3" in head(answer)["point"]
    places = next(dial for dial in explorer.dials if dial.name == "alpha").places
    below = value.worth_alpha <= 0.65
    assert places.index("0.65") - places.index("~0.65") == (1 if below else -1)
    at = {dial.name: dial.at for dial in explorer.dials}
    speedups = [float(readings(explorer, at | {"alpha": n})["speedup"][:-1]) for n in range(12)]
    assert speedups == sorted(speedups)


def test_a_gated_plan_shows_the_k_that_it_runs():
    options = {"target": "llama-3.1-8b", "draft": "eagle3", "hardware": "h100", "engine": "vllm"}
    answer = from_options(**options, acceptance=0.7, k="gate", batch=15)
    best = answer.value.best_k
    assert answer.value.k is None
    memory = part(answer, "memory")
    assert memory.value.bills[0].pool.k == best
    assert any(f"k = {best}," in line for line in words(memory))
    (cells,) = part(answer, "batch-alpha").view.picture().panels
    assert min(min(row) for row in cells.values) >= 1
    row, column = cells.at
    assert cells.texts[row][column].startswith(f"{best} ")
    assert cells.values[row][column] == pytest.approx(answer.value.best_speedup)


def test_flags_without_a_version_are_of_the_newest():
    options = {"target": "llama-3.1-8b", "draft": "eagle3", "hardware": "h100", "k": 3}
    answer = from_options(**options, engine="vllm", acceptance=0.7)
    asked = from_options(**options, engine="vllm@0.33", acceptance=0.7)
    for name in ("flags", "gate-flags"):
        flags = part(answer, name)
        assert flags.value.text == part(asked, name).value.text
        assert "vllm@0.33" in " ".join(words(flags))
    assert "nobody said" not in " ".join(words(part(asked, "flags")))


@pytest.mark.parametrize(
    ("more", "title"),
    [
        (
            {"draft": "none", "acceptance": 0.8},
            "Nothing is drafted: plain decoding of llama-3.1-8b ",
        ),
        ({"acceptance": 0.8, "k": 0}, "Nothing is drafted: plain decoding of llama-3.1-8b on "),
        ({"acceptance": 0.0}, "It does not pay: no k gains anything with eagle3-llama-3.1-8b for "),
    ],
)
def test_a_verdict_where_nothing_is_drafted_names_no_speedup(more, title):
    """It said that a drafter called none comes to 1.00x."""
    answer = from_options(**{**BANDED, **more})
    assert answer.view.title.startswith(title)
    assert "1.00x" not in answer.view.title
    assert answer.value.k == 0


def test_a_map_has_no_note_about_panels_that_are_not_beside_it():
    """It said "7 of 11 acceptances" above a map of eleven."""
    picture = part(ANSWERS["engine"], "batch-alpha").view.picture()
    assert picture.note == ""
    assert len(picture.panels[0].y) > 8
