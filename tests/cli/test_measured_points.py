"""`sweep --measured`: rounds that somebody measured, as points over the predicted lines."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from typed import ROOT, answered, one_line

import specplan
from specplan.cli.measured import measured_rows
from specplan.domain.picture import Plot

SETUP = {
    "target": "qwen3-30b-a3b",
    "draft": "eagle3-qwen3-30b-a3b",
    "hardware": "h200",
    "tp": 4,
    "engine": "sglang",
}
FLAGS = ("-t", "qwen3-30b-a3b", "-d", "eagle3-qwen3-30b-a3b", "-g", "h200", "--tp", "4")


@pytest.fixture
def rows() -> list[dict[str, str]]:
    """Rounds of that setup and one of another, as a file."""
    with (ROOT / "measurements" / "rounds.csv").open(encoding="utf-8") as file:
        every = list(csv.DictReader(file))
    own = [row for row in every if row["draft"] == SETUP["draft"] and row["k"] in {"3", "5"}][:6]
    other = [next(row for row in every if row["target"] != SETUP["target"])]
    with Path("rounds.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, every[0].keys())
        writer.writeheader()
        writer.writerows(own + other)
    return own


def panels(rows: list[dict[str, str]], **more: object) -> list[Plot]:
    scene = specplan.scenario(**SETUP, batch=[1, 8, 32], k=[3, 5], **more)
    found, _ = measured_rows(Path("rounds.csv"), specplan.load())
    assert len(found) == len(rows) + 1
    answer = specplan.sweep(scene, measured=found)
    assert f"{len(rows)} of {len(rows) + 1} measured rows are of this sweep" in answer.notes
    return [panel for panel in answer.view.picture().panels if isinstance(panel, Plot)]


def test_each_row_is_a_point_at_its_batch(rows):
    (panel,) = panels(rows, acceptance=0.6)
    points = [c for c in panel.curves if c.style == "points"]
    assert [curve.name for curve in points] == ["measured at k = 3", "measured at k = 5"]
    for curve in points:
        k = curve.name[-1]
        expected = [(float(r["batch"]), float(r["value"])) for r in rows if r["k"] == k]
        assert sorted(curve.points) == sorted(expected)


def test_a_point_stands_where_as_many_tokens_are_predicted(rows):
    few, many = panels(rows, acceptance=[0.3, 0.7])
    taus = {
        "few": 1 + 0.3 + 0.3**2 + 0.3**3,
        "many": 1 + 0.7 + 0.7**2 + 0.7**3,
    }
    for row in (r for r in rows if r["k"] == "3"):
        at = (float(row["batch"]), float(row["value"]))
        near = min(taus, key=lambda name: abs(taus[name] - float(row["tau"])))
        for name, panel in (("few", few), ("many", many)):
            held = {p for c in panel.curves if c.name == "measured at k = 3" for p in c.points}
            assert (at in held) == (name == near)


def test_the_file_is_an_input_and_what_is_of_others_is_said(capsys, rows):
    words = ["sweep", *FLAGS, "-e", "sglang", "-a", "0.6", "-k", "3,5", "--measured", "rounds.csv"]
    said = answered(capsys, [*words, "-f", "chart"])
    assert said.code == 0
    assert f"{len(rows)} of {len(rows) + 1} measured rows are of this sweep" in said.err
    assert "measured rounds.csv (" in " ".join(said.out.split())
    assert said.out.count("o measured at k = ") == said.out.count("x measured at k = ") == 1


def test_rows_of_others_alone_are_no_points(capsys, rows):
    assert rows
    said = answered(capsys, ["sweep", "-q", "--measured", "rounds.csv", "-f", "chart"])
    assert said.code == 0
    assert "measured at" not in said.out
    loud = answered(capsys, ["sweep", "--measured", "rounds.csv"])
    assert "none of 7 measured rows is of this sweep" in loud.err


def test_a_file_that_cannot_be_read_is_one_line(capsys):
    said = answered(capsys, ["sweep", "--measured", "nowhere.csv"])
    assert said.code == 2
    assert one_line(said).startswith("nowhere.csv: ")


def curves(picture):
    return {
        curve.name: curve.points
        for panel in picture.panels
        if isinstance(panel, Plot)
        for curve in panel.curves
        if curve.style == "points" and curve.name.startswith("measured")
    }


def test_best_k_has_those_of_its_batch_over_its_candidates(rows):
    found, _ = measured_rows(Path("rounds.csv"), specplan.load())
    for batch in sorted({int(row["batch"]) for row in rows}):
        scene = specplan.scenario(**SETUP, batch=batch, acceptance=0.6)
        answer = specplan.best_k(scene, measured=found)
        own = sorted((float(r["k"]), float(r["value"])) for r in rows if int(r["batch"]) == batch)
        assert curves(answer.view.picture()) == {f"measured at batch {batch}": tuple(own)}
        assert f"{len(own)} of {len(found)} measured rows are of this workload" in answer.notes


def test_gate_has_them_over_the_fixed_k_that_were_measured(rows):
    found, _ = measured_rows(Path("rounds.csv"), specplan.load())
    scene = specplan.scenario(**SETUP, acceptance=0.6)
    answer = specplan.gate(scene, measured=found)
    drawn = curves(answer.view.picture())
    assert set(drawn) == {"measured at k = 3", "measured at k = 5"}
    for name, points in drawn.items():
        k = name[-1]
        expected = [(float(r["batch"]), float(r["value"])) for r in rows if r["k"] == k]
        assert sorted(points) == sorted(expected)
    lines = {c.name for p in answer.view.picture().panels for c in p.curves}
    assert {"k = 3", "k = 5"} <= lines
    assert f"{len(rows)} of {len(rows) + 1} measured rows are of this gate" in answer.notes


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["best-k", "-b", "1,8"], "--measured stands beside one workload, not 2; ask about one"),
        (["best-k", "--mix", "1,batch=2"], "--measured stands beside one workload, not a mix"),
        (["best-k", "--objective", "cost"], "--measured are speedups at a batch; leave out"),
        (["gate", "--rate", "5/s", "--isl", "1k", "--osl", "200"], "--measured: stands beside a"),
    ],
)
def test_what_measured_speedups_have_no_place_in_is_refused(capsys, rows, words, said):
    asked = answered(capsys, [*words, *FLAGS, "-a", "0.6", "--measured", "rounds.csv"])
    assert rows
    assert asked.code == 2
    assert said in one_line(asked)
