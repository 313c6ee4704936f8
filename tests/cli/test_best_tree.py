"""best-tree as it is typed."""

from __future__ import annotations

import json
import shlex

import pytest
from typed import answered, one_line

PAIR = ("-t", "llama-3-8b", "-d", "llama-3.2-1b", "-g", "h100")
ASKED = ("best-tree", *PAIR, "--ranks", ".6,.2,.1")


def test_a_page(capsys):
    said = answered(capsys, [*ASKED, "-b", "8", "--nodes", "8", "-q"])
    assert (said.code, said.err) == (0, "")
    lines = said.out.splitlines()
    assert lines[0].startswith("Tree of 8, 3 deep: ")
    assert lines[0].endswith("ideal roofline: an upper bound")
    assert "batch 8, context 2,048, ranks 0.6 0.2 0.1" in lines
    start = next(number for number, line in enumerate(lines) if line.startswith("o--"))
    assert lines[start + 1][0] in "|+`"  # the drawing stands as it is
    assert max(map(len, lines)) <= 80
    assert said.out.isascii()


def test_levels_are_repeated_or_separated(capsys):
    words = [*ASKED, "--nodes", "4,8", "--depth", "4", "-q", "-f", "json"]
    repeated = json.loads(answered(capsys, [*words, "--ranks", ".5,.1"]).out)
    words[words.index(".6,.2,.1")] = ".6,.2,.1;.5,.1"
    separated = json.loads(answered(capsys, words).out)
    assert repeated == separated
    assert repeated["answer"]["ranks"] == [[0.6, 0.2, 0.1], [0.5, 0.1]]
    inputs = {name: given["value"] for name, given in repeated["inputs"].items()}
    assert inputs["ranks"] == "0.6,0.2,0.1;0.5,0.1"
    assert (inputs["nodes"], inputs["depth"]) == ("4,8", 4)
    assert not {"acceptance", "k", "shape", "topk"} & set(inputs)


def test_budgets_are_an_axis(capsys):
    said = answered(capsys, [*ASKED, "--nodes", "4:16:x2", "--nodes", "3", "-f", "json"])
    rows = json.loads(said.out)["rows"]
    assert [row["budget"] for row in rows if row["kind"] == "tree"] == [1, 3, 4, 8, 16]


@pytest.mark.parametrize("shape", ["eagle:5,4,8", "medusa:[[0],[0,0],[1]]", "sequoia:8,3"])
def test_shapes(capsys, shape):
    said = answered(capsys, [*ASKED, "--shape", shape, "-f", "json"])
    assert said.code == 0
    envelope = json.loads(said.out)
    assert envelope["inputs"]["shape"]["value"] == shape
    assert envelope["answer"]["asked_about"]
    assert [row["kind"] for row in envelope["rows"] if row["best"]] == ["shape"]


def test_a_plan_brings_everything_but_the_ranks(capsys):
    words = ["init", "plan.yaml", *PAIR, "-a", "0.8", "-b", "8"]
    assert answered(capsys, words).code == 0
    said = answered(capsys, ["best-tree", "plan.yaml", "--ranks", ".6,.2", "-f", "json"])
    envelope = json.loads(said.out)
    assert (said.code, envelope["answer"]["batch"]) == (0, 8)
    assert "acceptance" not in envelope["inputs"]
    line = one_line(answered(capsys, ["best-tree", "plan.yaml"]))
    assert line.startswith("--ranks: how often is the first, second, ... child of a node kept?")


def test_what_does_not_fit_is_exit_1(capsys):
    words = ["best-tree", "-t", "llama-3.3-70b", "-d", "free", "-g", "h100", "--ranks", ".6"]
    said = answered(capsys, [*words, "-q"])
    assert said.code == 1
    assert "Does not fit: batch 1 at 2,048 tokens" in said.out


def test_a_drawing_in_markdown_is_a_block_of_code(capsys):
    said = answered(capsys, [*ASKED, "--nodes", "5", "-f", "markdown", "-q"])
    _, block, _ = said.out.split("~~~")
    assert block.splitlines()[1:] == ["o--1--1:2", "`--2"]


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        (
            "-a 0.7",
            "--acceptance: one alpha only knows chains: a tree needs the acceptance of each rank; "
            "expected --ranks .63,.11,.06 in its place",
        ),
        (
            "",
            "--ranks: how often is the first, second, ... child of a node kept?; expected shares "
            "such as .63,.11,.06; a single alpha only knows chains",
        ),
        (
            "--ranks .6 -k 4",
            "--k: chains of every length are compared; leave it out; --nodes and --depth bound the "
            "tree",
        ),
        ("--ranks .7,.6", "--ranks: the ranks add up to 1.3; expected at most 1, for at most one "),
        ("--ranks 63,11", "--ranks: a rank's share is 63; expected a probability, 0..1; 63 % is "),
        ("--ranks .6 --shape eagle:5", "--shape: '5' are not the figures of eagle; expected "),
        ("--ranks .6 --nodes x", "--nodes: 'x' is not a number; expected a number, a list 1,16, "),
        ("--ranks .6 --nodes 1.5", "--nodes: '1.5' is a fraction; expected a whole number"),
        ("--ranks .6 --nodes 999", "nodes 999 is out of range; expected 1 to 256"),
        ("--ranks .6 --depth x", "--depth: 'x' is not a number"),
        ("--ranks .6 --depth 66", "depth 66 is out of range; expected 2 to 65"),
        ("--ranks .6 --topk 0", "topk 0 is out of range; expected 1 to 256"),
    ],
)
def test_what_people_mistype(capsys, typed, message):
    said = answered(capsys, ["best-tree", *PAIR, *shlex.split(typed)])
    assert said.code == 2
    assert one_line(said).startswith(message)


def test_all_that_is_needed_is_said_at_once(capsys):
    line = one_line(answered(capsys, ["best-tree"]))
    assert line.startswith("--target: which model is to be sped up?")
    assert line.endswith("; also needed: --draft, --hardware, --ranks")


def test_the_reference_as_it_is_published(capsys):
    """Per-rank acceptance of the search published with Sequoia (32 ranks), depth up to 10."""
    counts = "423 72 38 15 13 10 3 2 8 3 5 3 4 2 1 2 1 2 0 2 2 2 0 1 0 1 0 0 0 1 1 1"
    ranks = ",".join(str(int(n) / 667) for n in counts.split())
    words = ["best-tree", "-t", "llama-3.1-8b", "-d", "free", "-g", "h100", "--ranks", ranks]
    said = answered(capsys, [*words, "--depth", "10", "--nodes", "8,16,32,64", "-q", "-f", "json"])
    rows = {r["nodes"]: r for r in json.loads(said.out)["rows"] if r["kind"] == "tree"}
    found = [round(rows[n]["tokens_per_round"], 4) for n in (8, 16, 32, 64)]
    assert found == [2.7322, 3.1303, 3.5007, 3.8523]
    assert rows[64]["depth"] == 10
