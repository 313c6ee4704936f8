"""specplan diagnose on a run with speculation beside one without, and what it says of neither."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from typed import answered

FILES = Path(__file__).parents[1] / "counters" / "fixtures"
CARDS = "-t llama-3.1-8b -d eagle3 -g h100"
LOAD = (
    "INFO 05-06 06:{:02d}:23 [loggers.py:248] Engine 000: Avg prompt throughput: {} tokens/s, "
    "Avg generation throughput: {} tokens/s, Running: {} reqs, Waiting: 0 reqs, "
    "GPU KV cache usage: 5.1%, Prefix cache hit rate: 0.0%\n"
)
ROUNDS = (
    "INFO 05-06 06:11:23 [metrics.py:101] SpecDecoding metrics: Mean acceptance length: 2.50, "
    "Accepted throughput: {0}.00 tokens/s, Drafted throughput: {1}.00 tokens/s, Accepted: {2} "
    "tokens, Drafted: {3} tokens, Per-position acceptance rate: 0.680, 0.480, 0.340, "
    "Avg Draft acceptance rate: 50.0%\n"
)
SPEC, PLAIN = {8: 1850, 4: 980, 1: 270}, {8: 1000, 4: 540, 1: 140}
DRAFTS = {8: 7400, 4: 3900, 1: 1100}
START = (
    "INFO 11-20 09:12:01 [core.py:93] Initializing a V1 LLM engine (v0.20.1) with config: "
    "model='Qwen/Qwen3-30B-A3B', enforce_eager={}\n"
)


def logged(name, flows, *, drafts=None, prompts=154, start=""):
    """A log of vLLM with a line for each load, and one of its rounds."""
    lines = [start]
    for batch, flow in flows.items():
        lines.append(LOAD.format(batch, prompts, flow, batch))
        if drafts:
            drafted, kept = 3 * drafts[batch], round(1.5 * drafts[batch])
            lines.append(ROUNDS.format(kept // 10, drafted // 10, kept, drafted))
    Path(name).write_text("".join(lines))


@pytest.fixture
def logs():
    logged("server.log", SPEC, drafts=DRAFTS)
    logged("plain.log", PLAIN)


def said(capsys, line, code=0):
    """The page of a command line."""
    found = answered(capsys, ["diagnose", *line.split()])
    assert found.code == code, found.err
    assert max(map(len, found.out.splitlines())) <= 80 or "-f json" in line
    return found.out


def answer(capsys, line):
    return json.loads(said(capsys, f"{line} -f json"))


def result(name, flow, tpot_ms):
    """A result of vllm bench serve without speculation."""
    counts = {"num_prompts": 100, "completed": 100, "duration": 60.0}
    rates = {"total_output_tokens": 12000, "output_throughput": flow, "mean_tpot_ms": tpot_ms}
    Path(name).write_text(json.dumps({"model_id": "m", **counts, **rates}))


@pytest.mark.usefixtures("logs")
def test_each_load_is_compared_with_its_like(capsys):
    page = said(capsys, f"server.log plain.log {CARDS}")
    assert "  measured      batch 1: 270 with, 140 without, 1.93x" in page
    assert "batch 4: 980 with, 540 without, 1.81x" in page
    assert "batch 8: 1,850 with, 1,000 without, 1.85x" in page
    found = answer(capsys, f"server.log plain.log {CARDS}")["answer"]
    rounds = sum(DRAFTS.values())
    seen, plain = (sum(DRAFTS[b] * of[b] for b in of) / rounds for of in (SPEC, PLAIN))
    assert found["speedup"] == pytest.approx(seen / plain)  # the same weights for both
    assert page.startswith(f"Speculation pays now: {seen / plain:.2f}x measured")
    assert found["seen_tokens_per_s"] == pytest.approx(seen)
    assert found["plain_tokens_per_s"] == pytest.approx(plain)
    assert 1 < found["break_even_tokens_per_round"] < 2.5
    assert found["gap"]["plain_missing_s"] == pytest.approx(
        found["batch"] / plain - found["round_times"]["plain_s"]
    )


@pytest.mark.usefixtures("logs")
def test_swapped_files_and_no_cards_say_the_same(capsys):
    one = answer(capsys, "server.log plain.log")["answer"]
    other = answer(capsys, "plain.log server.log")["answer"]
    assert one["speedup"] == other["speedup"]
    assert one["both"] == other["both"]


@pytest.mark.usefixtures("logs")
def test_the_batch_that_was_named_is_the_one_that_counts(capsys):
    found = answer(capsys, f"server.log plain.log {CARDS} -b 8")["answer"]
    assert (found["speedup"], found["batch"]) == (pytest.approx(1.85), 8)
    assert (found["seen_tokens_per_s"], found["plain_tokens_per_s"]) == (1850, 1000)
    assert [one["batch"] for one in found["both"]] == [8]
    assert found["loads_of_one"] == []


@pytest.mark.usefixtures("logs")
def test_a_batch_that_did_not_run_was_not_measured(capsys):
    page = said(capsys, f"server.log plain.log {CARDS} -b 20")
    assert page.startswith("Predicted to pay: ")
    assert "(nothing measured)" in page.splitlines()[0]
    found = answer(capsys, f"server.log plain.log {CARDS} -b 20")
    assert found["answer"]["seen_tokens_per_s"] is None
    assert (
        "server.log ran batches of 1, 4, 8: its tokens a second are none of batch 20"
        in found["notes"]
    )


def test_loads_of_one_run_alone_are_left_out(capsys):
    logged("server.log", {8: 1850, 1: 270}, drafts=DRAFTS)
    logged("plain.log", {8: 1000, 32: 3000})
    found = answer(capsys, f"server.log plain.log {CARDS}")["answer"]
    assert (found["speedup"], found["batch"]) == (pytest.approx(1.85), 8)
    assert found["loads_of_one"] == [1, 32]
    page = said(capsys, f"server.log plain.log {CARDS}")
    assert "batch 1, 32: only one of the two, left out" in page


def test_a_load_at_which_more_was_gained_than_a_round_yields_is_named(capsys):
    logged("server.log", SPEC, drafts=DRAFTS)
    logged("plain.log", {**PLAIN, 1: 100})
    page = " ".join(said(capsys, f"server.log plain.log {CARDS}").split())
    assert "batch 1: 270 with, 100 without, 2.70x" in page
    assert "SD041 warning, speedup above tau: 2.70x measured at batch 1 at 2.50 tokens" in page
    assert "less than one; no scatter explains it" in page


@pytest.mark.parametrize("plain", [{16: 1500, 32: 2000}, {2: 280}])
def test_runs_without_a_common_load_have_no_verdict(capsys, plain):
    logged("server.log", SPEC, drafts=DRAFTS)
    logged("plain.log", plain)
    page = said(capsys, f"server.log plain.log {CARDS}")
    assert page.startswith("Whether speculation pays is not known: batch 6.1 with it, ")
    assert "SD049 warning, runs of different loads: 6.1 requests ran with speculation" in page
    found = answer(capsys, f"server.log plain.log {CARDS}")["answer"]
    assert (found["paying"], found["by"], found["speedup"]) == (None, "", None)
    assert found["gap"]["plain_missing_s"] is None


def test_a_result_of_another_load_has_no_verdict(capsys):
    shutil.copy(FILES / "vllm-0.33.log", "server.log")
    result("plain.json", 200.0, 19.5)  # 200 tok/s at 19.5 ms a token: 3.9 at a time
    page = said(capsys, f"server.log plain.json {CARDS}")
    assert page.startswith("Whether speculation pays is not known: batch 2.7 with it, 3.9 without")
    assert "without       200 tok/s seen at batch 3.9" in page
    found = answer(capsys, f"server.log plain.json {CARDS} -b 4")["answer"]
    assert found["speedup"] == pytest.approx(317.2 / 200)  # the log's line of batch 4


def test_results_at_other_loads_are_compared_by_the_time_of_a_token(capsys):
    shutil.copy(FILES / "vllm-bench.json", "spec.json")
    result("plain.json", 1000.0, 20.0)  # 20 at a time, not 3.9
    page = said(capsys, f"spec.json plain.json {CARDS}")
    found = answer(capsys, f"spec.json plain.json {CARDS}")["answer"]
    assert found["speedup"] == pytest.approx(0.02 / found["seen_tpot_s"])
    assert page.startswith(f"Speculation pays now: {found['speedup']:.2f}x measured per token")
    assert "  measured      12.4 ms a token with, 20 ms without" in page
    assert "SD049 warning, runs of different loads: 3.9 requests ran" in page


# What nothing was measured of


def test_what_nobody_measured_is_predicted(capsys):
    line = f"{CARDS} -e vllm -b 8 -k 3 -a 0.7"
    assert said(capsys, line).startswith("Predicted to pay: ")
    lost = said(capsys, f"{CARDS} -e vllm -b 8 -k 8 -a 0.1", code=1)
    assert lost.startswith("Predicted to lose: ")
    assert " now" not in lost.splitlines()[0]


def test_less_than_plain_decoding_is_no_gain(capsys):
    shutil.copy(FILES / "llamacpp-c.log", "server.log")
    page = said(capsys, f"server.log {CARDS}")
    assert page.startswith(
        "Whether speculation pays is not known: 0.93x of plain decoding as predicted"
    )
    found = answer(capsys, f"server.log {CARDS}")["answer"]
    plain = found["predicted_plain_tokens_per_s"]
    assert found["over_plain"] == pytest.approx(found["seen_tokens_per_s"] / plain)


def test_more_than_plain_decoding_at_an_unknown_batch_is_no_proof(capsys):
    typed = f"{CARDS} -e vllm -k 3 -a 0.7 --seen-tokens-per-s"
    assert "(not compared with what was seen)" in said(capsys, f"{typed} 250").splitlines()[0]
    assert said(capsys, f"{typed} 250 -b 1").startswith("Speculation pays now: ")
    assert said(capsys, f"{typed} 120").startswith("Whether speculation pays is not known: ")


# Settings


@pytest.mark.usefixtures("logs")
def test_a_schedule_that_did_not_run(capsys):
    page = said(capsys, "server.log --schedule 1-4:3,5-512:0")
    assert "SD035 warning, another k than the schedule's: drafts of k = 3 at batch 8" in page
    assert "SD035" not in said(capsys, "server.log --schedule 1-512:3")


@pytest.mark.usefixtures("logs")
def test_no_more_requests_than_run_are_said_to_pay(capsys):
    page = said(capsys, f"server.log {CARDS} --max-batch 8")
    assert "pays          at every batch that may run, 1-8: no more requests run" in page
    found = answer(capsys, f"server.log {CARDS} --max-batch 8")["answer"]
    assert (found["pays_to"], found["loads"][-1]["last_batch"]) == (8, 8)
    logged("told.log", SPEC, drafts=DRAFTS, start="INFO non-default args: {'max_num_seqs': 8}\n")
    assert answer(capsys, f"told.log {CARDS}")["answer"]["pays_to"] == 8
    assert answer(capsys, f"server.log {CARDS} --max-batch 4")["answer"]["pays_to"] == 7  # 6.1 did


def test_a_log_of_an_eager_engine_is_priced_as_one(capsys):
    cards = "-t qwen3-30b-a3b -d eagle3 -g b200 -e vllm@0.20.1 --tp 8 -b 1"
    eager, times = {}, {}
    for word in ("True", "False"):
        logged("server.log", SPEC, drafts=DRAFTS, start=START.format(word))
        times[word] = answer(capsys, f"server.log {cards}")["answer"]["round_times"]
        eager[word] = times[word]["eager_s"]
    assert eager["False"] == 0 < eager["True"]
    flag = answer(capsys, f"server.log {cards} --graphs-up-to 0")["answer"]["round_times"]
    assert flag["round_s"] == pytest.approx(times["True"]["round_s"])


def test_prompts_that_the_log_counts_explain_what_they_can(capsys):
    slow = {batch: flow / 2 for batch, flow in SPEC.items()}
    logged("server.log", slow, drafts=DRAFTS, prompts=154)
    page = said(capsys, f"server.log {CARDS}")
    assert "prompts do not explain it: the log shows 154 tok/s" in page
    assert "prompts in between" not in page
    needed = answer(capsys, f"server.log {CARDS}")["answer"]["gap"]["prompts_tokens_per_s"]
    logged("server.log", slow, drafts=DRAFTS, prompts=round(needed / 2))
    assert "prompts explain 50 % of it" in said(capsys, f"server.log {CARDS}")


def test_the_help_says_when_it_exits_with_1(capsys):
    page = " ".join(answered(capsys, ["diagnose", "--help"]).out.split())
    assert "Exits 1 where speculation loses, measured or predicted, and 0 where it pays" in page
