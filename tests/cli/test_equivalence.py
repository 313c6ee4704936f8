"""`specplan equivalence` as it is typed."""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from generated import examples, prompts, speculated, written
from typed import ANSI, answered, one_line, terminal

import specplan
from specplan.cli import equivalence as module
from specplan.physics.rounds import random_chains
from specplan.physics.verify import Bug


@pytest.fixture(autouse=True)
def _files():
    """plain.jsonl and spec.jsonl of one distribution, bug.jsonl of another."""
    examples()
    rng = np.random.default_rng(0)
    made = {"right": None, "bug": Bug.INVERTED_RATIO}
    for name, bug in {"target": None, **made}.items():
        arms = []
        for prompt in range(4):
            target, draft = random_chains(6, prompt)
            drafter = target if name == "target" else draft
            arms.append(list(speculated(target, drafter, 3, 16, 25, rng, bug)))
        written(f"{name}.jsonl", prompts(arms))


def asked(capsys, *words):
    return answered(capsys, ["equivalence", *words])


def test_what_people_see(capsys):
    said = asked(capsys, "target.jsonl", "bug.jsonl")
    assert (said.code, said.err) == (1, "")
    assert max(map(len, said.out.splitlines())) <= 80
    lines = said.out.splitlines()
    assert lines[0].startswith("The distributions differ   ")
    assert lines[0].endswith("permutation tests, level 0.01")
    assert lines[1:3] == ["target.jsonl and bug.jsonl", "4 prompts, 100 and 100 outputs, token ids"]
    assert lines[4].split() == ["test", "p", "effect", "(95", "%)", "TV", "seen", "covers"]
    assert [line[:20].strip() for line in lines[5:13]] == [
        *("first token", "token after a prefix", "token after a token", "token after two"),
        *("length", "repetition", "surprise", "one prompt"),
    ]
    assert lines[9].split() == ["length", "not", "made", "-"]
    assert "0.0035*" in lines[7]  # seven tests made, the least p of 2,000 labellings
    assert "* differs at level 0.01." in lines
    assert any(line.split() == ["prompt", "deviation", "p", "adjusted", "p"] for line in lines)


def test_no_difference_is_exit_0(capsys):
    said = asked(capsys, "target.jsonl", "right.jsonl", "--sensitivity", "0.6")
    assert said.code == 0
    assert said.out.startswith("No difference seen   ")
    few = asked(capsys, "target.jsonl", "right.jsonl")
    assert few.code == 0
    assert few.out.startswith("No difference seen, but too few outputs   ")


def test_json(capsys):
    said = asked(capsys, "target.jsonl", "bug.jsonl", "-f", "json", "--seed", "3")
    envelope = json.loads(said.out)
    answer = envelope["answer"]
    assert (answer["verdict"], answer["decoding"], answer["unit"]) == (
        "differs",
        "sampled",
        "tokens",
    )
    assert answer["greedy"] is None
    assert envelope["inputs"]["seed"] == {"value": 3, "from": "flag", "sha256": None}
    assert envelope["inputs"]["level"]["from"] == "default"
    assert len(envelope["inputs"]["plain"]["sha256"]) == 64
    assert envelope["basis"]["kind"] == "exact"
    assert len(envelope["rows"]) == 8 + 4
    assert envelope["rows"][4]["p_value"] is None


def test_csv_has_every_prompt(capsys):
    said = asked(capsys, "target.jsonl", "bug.jsonl", "-f", "csv")
    rows = list(csv.DictReader(io.StringIO(said.out)))
    assert {row["prompt"] for row in rows} == {"", "q0", "q1", "q2", "q3"}


def test_greedy_outputs(capsys):
    written("g1.jsonl", [{"prompt": f"q{i}", "text": "one two three"} for i in range(20)])
    written(
        "g2.jsonl",
        [{"prompt": f"q{i}", "text": "one two tree" if i else "one two three"} for i in range(20)],
    )
    said = asked(capsys, "g1.jsonl", "g2.jsonl")
    assert said.code == 1
    lines = said.out.splitlines()
    assert lines[0].startswith("Greedy outputs differ: they part once in 3.3 tokens   ")
    assert "  outputs part      19 of 20 prompts, 1 are identical" in lines
    assert "  first difference  half by token 3, the middle half 3 to 3, earliest 3" in lines
    assert max(map(len, lines)) <= 80
    assert "taken for greedy" in said.err
    same = asked(capsys, "g1.jsonl", "g1.jsonl.gz")
    assert (
        one_line(same)
        == "g1.jsonl.gz: no such file; expected JSONL, a record of a prompt and its outputs a line"
    )


def test_gzip_and_standard_input(capsys, monkeypatch):
    raw = Path("target.jsonl").read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(raw))))
    piped = asked(capsys, "-", "bug.jsonl", "-f", "csv")
    assert (piped.code, piped.out) == (
        1,
        asked(capsys, "target.jsonl", "bug.jsonl", "-f", "csv").out,
    )
    assert one_line(asked(capsys, "-", "-")) == "standard input can be one of the files, not both"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("target.jsonl",), "missing argument 'SPEC'; specplan equivalence --help shows how"),
        (("target.jsonl", "target.jsonl"), "target.jsonl is given twice; name the other file"),
        (("target.jsonl", "bug.jsonl", "--level", "0"), "level is 0; expected 0.00001 to 0.5"),
        (("target.jsonl", "bug.jsonl", "--level", "x"), "--level: 'x' is not a number; "),
        (("target.jsonl", "bug.jsonl", "--permutations", "9"), "9 permutations at level 0.01; "),
        (("target.jsonl", "bug.jsonl", "--seed", "-1"), "seed is -1; expected 0 or more"),
        (("target.jsonl", "bad.jsonl"), "bad.jsonl:2:1: no outputs among prompt_id; expected tok"),
        (("target.jsonl", "bug.jsonl", "-o", "target.jsonl", "-f", "json"), "--output: target.js"),
    ],
)
def test_mistakes_are_one_line(capsys, words, says):
    Path("bad.jsonl").write_text('{"prompt_id": "q0", "tokens": [1]}\n{"prompt_id": 1}\n')
    said = asked(capsys, *words)
    assert said.code == 2
    assert one_line(said).startswith(says)


def test_many_outputs_are_counted_on_a_terminal(monkeypatch, capsys):
    monkeypatch.setattr(module, "LONG_OUTPUTS", 200)
    words = ["equivalence", "target.jsonl", "bug.jsonl"]
    with terminal() as (stream, shown):
        monkeypatch.setattr(sys, "stderr", stream)
        answered(capsys, words)
    assert "4/4" in ANSI.sub("", shown[0])
    with terminal() as (stream, shown):
        monkeypatch.setattr(sys, "stderr", stream)
        answered(capsys, [*words, "-q"])
    assert shown[0] == ""


def test_python_asks_the_same(capsys):
    answer = specplan.equivalence("target.jsonl", Path("bug.jsonl"), level=0.05, seed=2)
    assert answer.value.verdict == "differs"
    said = asked(
        capsys, "target.jsonl", "bug.jsonl", "--level", "0.05", "--seed", "2", "-f", "json"
    )
    rows = json.loads(said.out)["rows"]
    assert rows == list(answer.table.records())


def test_names_from_files_are_made_visible(capsys):
    for name in ("x.jsonl", "y.jsonl"):
        rng = np.random.default_rng(len(name))
        tokens = rng.integers(0, 3 if name == "x.jsonl" else 2, (40, 5)).tolist()
        written(name, [{"prompt": p, "token_ids": tokens} for p in ("\x1b[31mred", "two")])
    said = asked(capsys, "x.jsonl", "y.jsonl")
    assert "\x1b" not in said.out
    assert r"\x1b[31mred" in said.out
