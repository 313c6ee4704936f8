"""memory on the command line: what the server is told, and the answer no."""

from __future__ import annotations

import json

import pytest
from typed import answered, one_line

BASE = ("memory", "-t", "llama-3.1-8b", "-d", "eagle3", "-g", "h100", "-c", "8k", "-e")


def test_what_the_server_is_told_is_an_input(capsys):
    words = ("--memory-fraction", "0.5", "--max-num-seqs", "64")
    said = answered(capsys, (*BASE, "vllm", "-k", "3", *words, "-f", "json"))
    assert said.code == 0
    answer = json.loads(said.out)
    assert answer["inputs"]["memory_fraction"] == {"value": 0.5, "from": "flag", "sha256": None}
    assert answer["inputs"]["max_num_seqs"]["value"] == 64
    assert "max_batched_tokens" not in answer["inputs"]
    (row,) = answer["rows"]
    (bill,) = answer["answer"]["bills"]
    assert (row["memory_fraction"], row["slots_ahead"], row["block_tokens"]) == (0.5, 7, 16)
    assert row["pool_tokens"] == bill["pool"]["pool_tokens"] == 16 * bill["pool"]["pool_blocks"]
    assert answer["columns"]["pool_tokens"] == "tokens"
    assert row["concurrency"] == pytest.approx(row["pool_tokens"] / 8192)
    assert (row["states_bytes"], row["sequences_limit"]) == (0, 64)


def test_a_known_loss_is_an_object_and_a_note(capsys):
    words = ("memory", "-t", "qwen3.5-27b", "-d", "mtp", "-g", "h100", "--tp", "2", "-e", "sglang")
    said = answered(capsys, (*words, "-c", "8k", "-k", "4", "-f", "json"))
    (loss, *_) = json.loads(said.out)["answer"]["bills"][0]["pool"]["losses"]
    assert (loss["issue"], loss["lost_bytes"]) == ("sgl-project/sglang#36452", 2_542_796_800)
    assert "(sgl-project/sglang#36452)" in said.err


def test_k_needs_an_acceptance_only_where_nobody_counts(capsys):
    assert answered(capsys, (*BASE, "vllm", "-k", "5", "-q")).code == 0
    said = answered(capsys, (*BASE, "roofline", "-k", "5"))
    assert said.code == 2
    assert one_line(said).startswith("-k needs an acceptance")


def test_the_answer_is_no_where_no_fraction_works(capsys):
    words = ("memory", "-t", "llama-3.3-70b", "--dtype", "int4", "-d", "llama-3.1-8b", "-g", "l40s")
    said = answered(capsys, (*words, "-e", "sglang@0.4.3.post2", "-q"))
    assert said.code == 1
    assert "No --mem-fraction-static works" in said.out
    assert max(map(len, said.out.splitlines())) <= 80


@pytest.mark.parametrize("engine", ["vllm", "vllm@0.10", "sglang", "trtllm", "llamacpp"])
def test_a_bill_is_a_page_wide(capsys, engine):
    said = answered(capsys, (*BASE, engine, "-k", "3", "-q"))
    assert (said.code, said.err) == (0, "")
    assert max(map(len, said.out.splitlines())) <= 80


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("vllm", "--memory-fraction", "1.5"), "--memory-fraction: '1.5' is no share; expected"),
        (("vllm", "--memory-fraction", "0"), "--memory-fraction: '0' is no share"),
        (("vllm", "--memory-fraction", "90%"), "--memory-fraction: "),
        (("vllm", "--max-num-seqs", "0"), "--max-num-seqs: 0 is too few; expected 1 to 10,000,000"),
        (("vllm", "--max-num-seqs", "10000001"), "--max-num-seqs: 10000001 is too many; expected"),
        (
            ("vllm", "--max-num-seqs", "9", "--max-batched-tokens", "8"),
            "--max-batched-tokens: vLLM refuses 8: less than --max-num-seqs 9",
        ),
        (("vllm", "--max-num-seqs", "2.5"), "--max-num-seqs: '2.5' is out of reach"),
        (("sglang", "--max-batched-tokens", "-4"), "--max-batched-tokens: -4 is too few"),
        (("roofline", "--memory-fraction", ".5"), "--memory-fraction: roofline has no such limit"),
        (("llamacpp", "--memory-fraction", ".5"), "--memory-fraction: llamacpp has no such limit"),
    ],
)
def test_what_no_server_can_be_told(capsys, words, expected):
    said = answered(capsys, (*BASE, *words))
    assert said.code == 2
    assert one_line(said).startswith(expected)
