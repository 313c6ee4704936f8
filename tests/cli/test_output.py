"""Output files: the format by suffix, whole or not at all, never over an input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typed import ROOT, answered, one_line

from specplan.render import SUFFIXES, csv_

PLAN = ("init", "plan.yaml", "-t", "llama-3-8b", "-d", "free", "-g", "h100", "-a", "0.8")


@pytest.fixture
def plan(capsys) -> Path:
    assert answered(capsys, PLAN).code == 0
    return Path("plan.yaml")


def test_the_suffix_picks_the_format(capsys, tmp_path):
    for name, begins in [("a.json", "{"), ("a.csv", "target,"), ("a.md", "### "), ("a.txt", "Sp")]:
        said = answered(capsys, ["sweep", "-q", "-o", name])
        assert said == (0, "", "")
        assert (tmp_path / name).read_text().startswith(begins)


def test_an_unknown_suffix_needs_a_format(capsys, tmp_path):
    line = one_line(answered(capsys, ["sweep", "-o", "answer.dat"]))
    assert line.startswith("--output: the suffix '.dat' names no format; expected one of .json ")
    assert line.endswith("; or say -f")
    assert answered(capsys, ["sweep", "-q", "-o", "answer.dat", "-f", "csv"]).code == 0
    assert (tmp_path / "answer.dat").is_file()


def test_a_dash_is_standard_output(capsys):
    assert answered(capsys, ["sweep", "-o", "-"]) == answered(capsys, ["sweep"])


def test_a_missing_folder_is_one_line_and_exit_3(capsys):
    said = answered(capsys, ["sweep", "-o", "nowhere/x.csv"])
    assert said.code == 3
    assert one_line(said) == "cannot write nowhere/x.csv: No such file or directory"


def test_an_old_file_survives_a_failure_while_writing(capsys, tmp_path, monkeypatch):
    def fails(_values: object) -> None:
        raise RuntimeError("half way")

    Path("x.csv").write_text("old\n")
    monkeypatch.setattr(csv_, "_column", fails)
    said = answered(capsys, ["sweep", "-o", "x.csv"])
    assert (said.code, one_line(said)) == (
        3,
        "bug: RuntimeError: half way; run again with --debug and report it",
    )
    assert Path("x.csv").read_text() == "old\n"
    assert [p.name for p in tmp_path.iterdir()] == ["x.csv"]


@pytest.mark.parametrize(
    "words",
    [
        ["hardware", "list", "-o", "x" * 300 + ".csv"],
        ["sweep", "-o", "file/x.csv"],
        ["init", "x" * 300 + ".yaml", *PLAN[2:]],
        ["init", "file/x.yaml", *PLAN[2:]],
    ],
)
def test_a_name_that_cannot_be_written_is_3(capsys, tmp_path, words):
    (tmp_path / "file").touch()
    said = answered(capsys, words)
    assert said.code == 3
    assert one_line(said).startswith("cannot write ")


@pytest.mark.parametrize(
    "words",
    [["best-k", "x" * 300 + ".yaml"], ["hardware", "show", "x" * 300 + ".yaml"]],
)
def test_a_name_that_cannot_be_read_is_2(capsys, words):
    said = answered(capsys, words)
    assert said.code == 2
    assert "File name too long" in one_line(said)


def test_a_path_that_check_cannot_look_at_is_2(capsys):
    said = answered(capsys, ["check", "x" * 300])
    assert said.code == 2
    assert "File name too long" in said.out


def test_an_output_that_is_an_input_is_refused(capsys, plan):
    before = plan.read_bytes()
    said = answered(capsys, ["best-k", "plan.yaml", "-o", "./plan.yaml", "-f", "json"])
    assert (said.code, one_line(said)) == (2, "--output: plan.yaml is an input of this answer")
    assert plan.read_bytes() == before


def test_a_card_is_no_output_either(capsys, tmp_path):
    folder = tmp_path / "my cards (new)"
    folder.mkdir()
    card = folder / "gpu.yaml"
    source = ROOT / "hardware" / "h100-sxm.yaml"
    card.write_text(source.read_text().replace("name: h100-sxm", "name: gpu"))
    link = tmp_path / "link.yaml"
    link.symlink_to(card)
    words = ["sweep", "--catalogue", str(folder), "-g", "gpu", "-f", "csv"]
    for output in (card, link):
        said = answered(capsys, [*words, "-o", str(output)])
        assert said.code == 2
        assert one_line(said) == f"--output: {output} is an input of this answer"
    assert answered(capsys, [*words, "-o", str(folder / "other.yaml")]).code == 0


def test_counters_are_inputs_and_what_they_mean_is_said(capsys):
    words = (
        "best-k -t llama-3-8b -d llama-3.2-1b -g h100 --accepted 1735 --drafted 2648 -k 4 -f json"
    )
    answer = answered(capsys, words.split())
    inputs = json.loads(answer.out)["inputs"]
    given = {name: inputs[name]["value"] for name in ("accepted", "drafted", "k_in_use")}
    assert given == {"accepted": 1735, "drafted": 2648, "k_in_use": 4}
    assert "is alpha 0.838, not 0.655" in answer.err


def test_suffixes_in_capitals_and_htm_name_formats(capsys, tmp_path):
    for name in ("SWEEP.CSV", "sweep.Csv"):
        assert answered(capsys, ["sweep", "-q", "-o", str(tmp_path / name)]).code == 0
        assert (tmp_path / name).read_text().startswith("target,")
    assert SUFFIXES[".htm"] == SUFFIXES[".html"] == "html"


@pytest.mark.parametrize(
    ("name", "format_name"), [("x.svg", "png"), ("x.csv", "svg"), ("x.png", "table")]
)
def test_a_figure_is_not_written_under_another_format_s_name(capsys, tmp_path, name, format_name):
    path = tmp_path / name
    said = answered(capsys, ["sweep", "-q", "-f", format_name, "-o", str(path)])
    assert said.code == 2
    assert one_line(said).startswith(f"--output: {format_name} is written, but .{name[2:]} says ")
    assert not path.exists()


def test_a_folder_is_no_file(capsys, tmp_path):
    said = answered(capsys, ["sweep", "-q", "-f", "csv", "-o", f"{tmp_path}/new/"])
    assert said.code == 2
    assert one_line(said) == f"--output: {tmp_path}/new/ is a folder; expected a file in it"
    assert list(tmp_path.iterdir()) == []
