"""Several engines, versions and splits in one question, as people read them."""

from __future__ import annotations

import csv
import io
import json
import shlex

import pytest
from typed import answered, one_line

PAIR = "-t qwen3-8b -d eagle3-qwen3-8b -g h100 -a 0.7"
EXPERTS = "-t qwen3-30b-a3b -d ratio:0.05 -g h100 -a 0.7 --tp 8"
SWEEP = f"sweep {PAIR} -b 1,32 -k 2,4"


def said(capsys, typed: str) -> str:
    found = answered(capsys, shlex.split(typed))
    assert found.code == 0, found.err
    return found.out


def blocks(capsys, typed: str) -> dict[str, list[str]]:
    """The grids of a sweep by their titles, without the mark of their best cells."""
    found = {}
    for paragraph in said(capsys, typed).split("\n\n")[1:]:
        title, *lines = paragraph.splitlines()
        if title.startswith(" batch"):
            title, lines = "", [title, *lines]
        if lines and lines[0].startswith(" batch"):
            found[title] = lines
    return found


@pytest.mark.parametrize(
    ("split", "titles"),
    [
        ("-e vllm@0.10,sglang", {"engine vllm@0.10": "vllm@0.10", "engine sglang": "sglang"}),
        ("-e roofline,vllm", {"engine roofline": "roofline", "engine vllm": "vllm"}),
        (
            "-e vllm@0.10 -e vllm@0.27",
            {"engine vllm@0.10": "vllm@0.10", "engine vllm@0.27": "vllm"},
        ),
    ],
)
def test_a_block_an_engine_with_its_own_figures(capsys, split, titles):
    found = blocks(capsys, f"{SWEEP} {split}")
    alone = {title: blocks(capsys, f"{SWEEP} -e {engine}") for title, engine in titles.items()}
    assert found == {title: one[""] for title, one in alone.items()}


@pytest.mark.parametrize("option", ["attention-dp", "ep"])
def test_a_block_a_split(capsys, option):
    asked = f"sweep {EXPERTS} -k 2,4 -b 1,64 -e vllm"
    found = blocks(capsys, f"{asked} --{option} 1,8")
    alone = {f"{option} {n}": blocks(capsys, f"{asked} --{option} {n}")[""] for n in (1, 8)}
    assert found == alone


def test_what_does_not_differ_is_not_said(capsys):
    out = said(capsys, f"sweep {EXPERTS} -k 2,4 -e vllm@0.10 --attention-dp 8 --ep 8")
    assert not any(word in out for word in ("@", "attention-dp", "ep 8", "engine"))


def test_the_head_speaks_for_each_engine(capsys):
    two = said(capsys, f"{SWEEP} -e roofline,trtllm").splitlines()
    assert two[0].startswith("Speedup over plain decoding")
    assert two[1].strip() == "ideal roofline: an upper bound; TensorRT-LLM: an estimate"
    assert two[2].startswith("qwen3-8b + eagle3-qwen3-8b on h100-sxm under roofline, trtllm, ")
    three = said(capsys, f"{SWEEP} -e roofline,trtllm,llamacpp").splitlines()
    assert [line.strip() for line in three[1:4]] == [
        "ideal roofline: an upper bound",
        "TensorRT-LLM: an estimate",
        "llama.cpp: an estimate from vLLM kernels",
    ]
    assert all(len(line) == 80 for line in three[1:4])


def test_rows_of_best_k_and_memory_begin_with_what_differs(capsys):
    out = said(capsys, f"best-k {PAIR} -b 1 -e vllm@0.10,vllm@0.27,sglang")
    grid = out.split("\n\n")[1].splitlines()
    assert [row.split()[0] for row in grid] == ["engine", "vllm@0.10", "vllm@0.27", "sglang"]
    out = said(capsys, f"memory {EXPERTS} -e vllm --attention-dp 1,8")
    grid = out.split("\n\n")[1].splitlines()
    place = grid[0].split().index("attention-dp")
    assert [row.split()[place] for row in grid[1:]] == ["1", "8"]


@pytest.mark.parametrize("command", ["sweep -k 2", "best-k -b 1,2", "best-k", "memory"])
def test_machines_get_names_and_versions_apart(capsys, command):
    name, *rest = command.split()
    typed = f"{name} {EXPERTS} {' '.join(rest)} -e vllm@0.10 --attention-dp 8 --ep 2 -f csv"
    row = next(csv.DictReader(io.StringIO(said(capsys, typed))))
    columns = ("engine", "engine_version", "attention_dp", "ep")
    assert [row[column] for column in columns] == ["vllm", "0.10", "8", "2"]
    assert "served_by" not in row


def test_a_map_has_its_blocks_too(capsys):
    out = said(capsys, f"sweep {PAIR} -b 1:40 -k 1:30 -e vllm@0.10,sglang")
    assert "engine vllm@0.10\n" in out
    assert "engine sglang\n" in out


@pytest.mark.parametrize("option", ["attention-dp", "ep"])
def test_a_model_without_experts_shares_none(capsys, option):
    asked = shlex.split(f"sweep {PAIR} --tp 2 -e vllm --{option} 1,2")
    message = f"--{option}: {option} is for experts, and qwen3-8b has none; leave it out"
    assert one_line(answered(capsys, asked)) == message


def test_a_block_a_drafters_tp(capsys):
    asked = "sweep -t llama-3-70b -d llama-3.2-1b -g h100 -a 0.7 --tp 4 -b 1,32 -k 2,4"
    found = blocks(capsys, f"{asked} --draft-tp 1,4")
    alone = {f"draft tp {n}": blocks(capsys, f"{asked} --draft-tp {n}")[""] for n in (1, 4)}
    assert found == alone


def test_the_engine_as_typed_and_the_hash_of_its_card(capsys):
    envelope = json.loads(said(capsys, f"{SWEEP} -e vllm@0.10 -f json"))
    given = envelope["inputs"]["engine"]
    assert given["value"] == "vllm@0.10"
    assert len(given["sha256"]) == 64


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("--tp 4 --attention-dp 0", "--attention-dp: 0 is out of range; expected 1 to 1,024"),
        (
            "--attention-dp 8",
            "--attention-dp: attention-dp 8 does not divide the 1 GPUs of tp; "
            "expected a divisor of tp; write --tp 8",
        ),
    ],
)
def test_splits_that_cannot_be(capsys, typed, message):
    asked = f"sweep -t qwen3-30b-a3b -d free -g h100 -a 0.7 -e vllm {typed}"
    assert one_line(answered(capsys, shlex.split(asked))) == message
