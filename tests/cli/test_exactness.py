"""Exactness on the command line: where distributions come from, and what cannot go together."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from typed import answered, one_line

LOGITS = {
    "kind": "logits",
    "target": [[2.0, 1.0, 0.0, -1.0], [0.0, 2.0, 1.0, 0.5]],
    "draft": [[1.5, 1.2, 0.0, -1.0], [0.5, 1.0, 1.0, 0.5]],
    "history": [0],
    "drafted": [1],
}


@pytest.fixture(autouse=True)
def _tables():
    Path("tables.json").write_text(json.dumps(LOGITS), encoding="utf-8")


def ran(capsys, typed):
    return answered(capsys, ["exactness", "--trials", "20000", *shlex.split(typed)])


def test_tables_from_a_file(capsys):
    said = ran(
        capsys, "--tables tables.json --sampling frequency-penalty=1,repetition-penalty=1.2 -f json"
    )
    assert said.code == 0
    found = json.loads(said.out)
    assert list(found["inputs"]) == ["tables", "sampling", "draft_sampling", "verify", "seed"]
    assert found["inputs"]["tables"]["from"] == "tables.json"
    assert len(found["inputs"]["tables"]["sha256"]) == 64
    assert len(found["answer"]["cases"][0]["acceptance"]) == 2


def test_the_file_is_not_written_over(capsys):
    said = ran(capsys, "--tables tables.json -f json -o tables.json")
    assert said.code == 2
    assert "is an input of this answer" in one_line(said)


def test_history_counts_for_one_position(capsys):
    words = "--logits --p 2,1,0 --q 1,2,0 --sampling frequency-penalty=1 -f json"
    fresh, seen = (json.loads(ran(capsys, f"{words} {more}").out) for more in ("", "--history 0,0"))
    before, after = (one["answer"]["cases"][0]["acceptance"] for one in (fresh, seen))
    assert before != after


@pytest.mark.parametrize(
    ("typed", "code"),
    [
        ("--verify block --sampling temperature=0.6", 0),
        ("--verify match", 0),
        ("--verify greedy --sampling greedy", 0),
        ("--verify greedy", 1),
        ("--verify typical:0.09,0.3", 1),
        ("--sampling frequency-penalty=0.8 --plant stale-penalties", 1),
        ("--sampling temperature=0.6 --draft-sampling greedy", 0),
        ("--vocabulary 40 --sampling top-k=5", 0),
    ],
)
def test_the_exit_says_whether_it_is_exact(capsys, typed, code):
    said = ran(capsys, typed)
    assert (said.code, said.err) == (code, "")


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("--tables tables.json --p 1,0 --q 0,1", "--p: --p and --tables say the same twice"),
        ("--tables tables.json --vocabulary 4", "--vocabulary: --vocabulary and --tables say"),
        ("--tables tables.json --history 1", "--history: --history and --tables say the same"),
        ("--tables tables.json --logits", "--logits: --logits and --tables say the same twice"),
        ("--logits", "--logits: --logits is about --p and --q"),
        ("--tables none.json", "none.json: no such file; expected tables of probabilities or"),
        ("--history 1.5", "--history: '1.5' is out of reach; expected a whole number"),
        ("--history ''", "--history: '' is not a number"),
        ("--sampling top-p=2", "--sampling: top-p is 2; expected 1e-06 to 1"),
        ("--draft-sampling x=1", "--draft-sampling: unknown sampling setting 'x'; "),
        ("--verify nothing", "--verify: unknown verification 'nothing'; expected one of block, "),
        ("--p inf,1 --q 1,0 --logits", "--p: 'inf' is not a number"),
    ],
)
def test_what_does_not_go_together(capsys, typed, says):
    said = ran(capsys, typed)
    assert said.code == 2
    assert one_line(said).startswith(says)
