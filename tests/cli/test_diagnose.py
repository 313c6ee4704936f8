"""specplan diagnose: its pages, files told apart by content, exit codes and JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typed import answered, one_line

from specplan.cli.diagnose import EXAMPLES

SLOW = "diagnose -e vllm -a length:1.87@1 -b 1 --seen-tokens-per-s 40.6 --plain-tokens-per-s 57"
PAYS = "diagnose -t llama-3.1-8b -d eagle3 -g h100 -e vllm -b 8 -k 8 -a 0.7"
PLAN = """\
schema: plan/1
target: llama-3.1-8b
draft: eagle3
hardware: h100-sxm
engine: vllm
k: 3
workload: {batch: 8, context: 2k, acceptance: {length: 2.6, at_k: 3}}
"""


@pytest.fixture
def plan() -> Path:
    path = Path("deployed")  # told by its content, not by its name
    path.write_text(PLAN, encoding="utf-8")
    return path


def test_a_loss_in_full(capsys):
    said = answered(capsys, SLOW.split())
    assert said.code == 1
    assert (
        said.out
        == """\
Speculation loses now: 0.71x measured                                as measured
vllm, k = 1, batch 1

  with          40.6 tok/s seen
  without       57 tok/s seen
  tokens/round  1.87
  break-even    2.63 tokens a round

SD001 error, speculation loses: 40.6 tok/s with, 57 without. 29 % fewer tokens a
    second (0.71x). Do: start it without --speculative-config.

SD002 error, a round costs more than it yields: a round takes 46.1 ms, a plain
    step 17.5 ms: 2.63 plain steps a round, which yields 1.87 tokens. Even a
    perfect drafter loses at k = 1: 2 tokens are 0.76x. Do: more acceptance
    cannot help: find what a round adds (graph mode, host, launches, wide
    verification), or start it without --speculative-config.
"""
    )
    assert said.err == "specplan: nothing is predicted without --target, --draft, --hardware\n"


def test_a_gain_begins_with_its_verdict_and_names_the_best_k(capsys):
    said = answered(capsys, PAYS.split())
    assert said.code == 0
    first, caption, at = said.out.splitlines()[:3]
    assert (
        first == "Predicted to pay: 1.87x (nothing measured); k = 5: 1.99x       vLLM: an estimate"
    )
    assert caption == "llama-3.1-8b + eagle3-llama-3.1-8b on h100-sxm, bf16"
    assert at == "vllm, k = 8, batch 8, context 2,048"
    assert '. Do: "num_speculative_tokens": 5.' in said.out
    assert max(map(len, said.out.splitlines())) <= 80


def test_json_keeps_findings_as_rows_and_scalars_in_the_answer(capsys):
    said = answered(capsys, [*SLOW.split(), "-f", "json"])
    envelope = json.loads(said.out)
    assert envelope["schema"] == "specplan.diagnose/1"
    answer = envelope["answer"]
    assert (answer["paying"], answer["by"], answer["k"]) == (False, "measured", 1)
    assert answer["tau"] == pytest.approx(1.87)
    assert answer["break_even_tokens_per_round"] == pytest.approx(1.87 * 57 / 40.6)
    assert (answer["errors"], answer["best_k"]) == (2, None)
    assert [row["rule"] for row in envelope["rows"]] == ["SD001", "SD002"]
    assert envelope["rows"][1]["found"] == pytest.approx(1.87 * 57 / 40.6)
    assert envelope["rows"][1]["limit"] == 2
    inputs = envelope["inputs"]
    assert inputs["seen_tokens_per_s"] == {"value": 40.6, "from": "flag", "sha256": None}


def test_a_plan_is_told_by_its_content(capsys, plan):
    said = answered(capsys, ["diagnose", str(plan), "-f", "json"])
    assert said.code == 0
    envelope = json.loads(said.out)
    assert envelope["answer"]["k"] == 3
    assert envelope["inputs"]["k_in_use"]["value"] == 3
    assert "k" not in envelope["inputs"]
    over = answered(capsys, ["diagnose", str(plan), "-k", "6", "-a", "0.5", "-f", "json"])
    assert json.loads(over.out)["answer"]["k"] == 6


def test_two_plans_are_one_too_many(capsys, plan):
    Path("other.yaml").write_text(PLAN, encoding="utf-8")
    said = answered(capsys, ["diagnose", str(plan), "other.yaml"])
    assert (said.code, one_line(said)) == (2, "deployed and other.yaml are both plans; keep one")


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        (
            "diagnose",
            "--engine: which engine runs it?; expected vllm, sglang, trtllm, llamacpp or "
            "a card of your own",
        ),
        (
            "diagnose -e vllm --seen-tpot 8",
            "--seen-tpot: '8' has no unit; expected a time such as 8.8ms or 0.3 s",
        ),
        (
            "diagnose -e vllm --seen-tokens-per-s fast",
            "--seen-tokens-per-s: 'fast' is not a number",
        ),
        (
            "diagnose -e vllm -a 0.7",
            "--k: which draft length was in use?; expected one k, such as -k 4",
        ),
        (
            "diagnose -e vllm -t llama-3-8b -k 3 -a 0.7",
            "--draft: what drafts?; expected a model such as llama-3.2-1b",
        ),
        ("diagnose -e vlm -a length:2@3", "--engine: unknown engine 'vlm'; did you mean 'vllm'?"),
    ],
)
def test_mistakes(capsys, typed, message):
    said = answered(capsys, typed.split())
    assert said.code == 2
    assert one_line(said).startswith(message)


def test_a_word_on_how_it_drafts_needs_no_cards(capsys):
    typed = "diagnose -e vllm -d ngram --seen-tokens-per-s 61.8 --plain-tokens-per-s 69.8"
    said = answered(capsys, typed.split())
    assert said.code == 1
    assert "SD012 error, no repetition to look up: ngram drafts" in said.out


def test_rules_of_deployments_are_explained_by_check(capsys):
    listed = answered(capsys, ["check", "--rules"])
    assert "SD011  error" in listed.out
    one = answered(capsys, ["check", "--rule", "sd002"])
    assert one.out.startswith("SD002 a round costs more than it yields")
    assert "Above k + 1 even a perfect drafter loses" in one.out


def test_every_example_of_flags_answers(capsys):
    for line in EXAMPLES.splitlines():
        if ".log" not in line:
            assert answered(capsys, line.split()[1:]).code in {0, 1}
