"""specplan diagnose on what engines print: the files of tests/counters/fixtures, as they are."""

from __future__ import annotations

import gzip
import io
import json
import shutil
import sys
from pathlib import Path

import pytest
from typed import answered, one_line

FILES = Path(__file__).parents[1] / "counters" / "fixtures"
CARDS = "-t llama-3.1-8b -d eagle3 -g h100"


def diagnosed(capsys, files, options=""):
    """The answer as JSON, of files copied to where the command runs."""
    for name in files.split():
        if name != "-":
            shutil.copy(FILES / name, name)
    said = answered(capsys, ["diagnose", *files.split(), *options.split(), "-f", "json"])
    assert said.code in {0, 1}, said.err
    return json.loads(said.out)


@pytest.mark.parametrize(
    ("files", "engine", "k", "tau", "batch"),
    [
        ("vllm-0.33.log", "vllm", 3, 2.5248, 2.700),
        ("vllm-0.8.5.log", "vllm", 3, 2.5248, 2.700),
        ("vllm-v0.log", "vllm", 3, 2.5248, None),
        ("vllm-metrics-before.prom vllm-metrics.prom", "vllm", 3, 2.5490, None),
        ("vllm-bench.json", "vllm", 3, 2.5248, 3.882),
        ("vllm-requests.jsonl", "vllm", 4, 2.9167, None),
        ("sglang-0.5.10.log", "sglang", 3, 2.5277, None),
        ("sglang-requests-0.5.23.jsonl", "sglang", 4, 2.9167, None),
        ("trtllm-iterations.json", "trtllm", 4, 2.9753, None),
        ("trtllm-metrics-before.prom trtllm-metrics.prom", "trtllm", 4, 2.8937, None),
        ("llamacpp-a.log", "llamacpp", 4, 2.9167, None),
        ("llamacpp-c.log", "llamacpp", 4, 2.9167, None),
        ("llamacpp-timings.jsonl", "llamacpp", 4, 2.9167, None),
    ],
)
def test_every_engines_files(capsys, files, engine, k, tau, batch):
    envelope = diagnosed(capsys, files)
    answer = envelope["answer"]
    assert (answer["engine"], answer["k"]) == (engine, k)
    assert answer["tau"] == pytest.approx(tau, abs=1e-4)
    assert (answer["paying"], answer["by"]) == (None, "")
    if batch is not None:  # by hand: (960 rounds x 1 + 1,256 x 4) / 2,216; as the result has it
        assert answer["batch"] == pytest.approx(batch, abs=1e-3)
        assert answer["round_s"] == pytest.approx(
            answer["tau"] * answer["batch"] / answer["seen_tokens_per_s"]
        )
    assert envelope["inputs"]["capture"]["sha256"]


@pytest.mark.parametrize("harness", ["aiperf.json", "guidellm.json"])
def test_a_harness_does_not_say_whose_server_it_asked(capsys, harness):
    shutil.copy(FILES / harness, harness)
    said = answered(capsys, ["diagnose", harness])
    assert said.code == 2
    assert one_line(said).startswith(f"--engine: which engine does {harness} tell of?; expected")
    assert diagnosed(capsys, harness, "-e vllm")["answer"]["tau"] == pytest.approx(3.4087, abs=1e-4)


def test_a_packed_file_and_standard_input_are_the_plain_one(capsys, monkeypatch):
    plain = diagnosed(capsys, "vllm-0.33.log")["answer"]
    Path("served").write_bytes(gzip.compress((FILES / "vllm-0.33.log").read_bytes()))
    packed = answered(capsys, ["diagnose", "served", "-f", "json"])
    assert json.loads(packed.out)["answer"] == plain
    piped = io.TextIOWrapper(io.BytesIO((FILES / "vllm-0.33.log").read_bytes()))
    monkeypatch.setattr(sys, "stdin", piped)
    assert diagnosed(capsys, "-")["answer"] == plain


def test_our_own_json_stands_for_the_file(capsys):
    shutil.copy(FILES / "vllm-0.33.log", "vllm-0.33.log")
    assert answered(capsys, ["acceptance", "vllm-0.33.log", "-o", "acc.json"]).code == 0
    ours = answered(capsys, ["diagnose", "acc.json", "-f", "json"])
    assert json.loads(ours.out)["answer"] == diagnosed(capsys, "vllm-0.33.log")["answer"]


def test_two_scrapes_are_a_difference_and_two_logs_before_and_now(capsys):
    assert "before" not in diagnosed(capsys, "vllm-metrics-before.prom vllm-metrics.prom")["inputs"]
    envelope = diagnosed(capsys, "llamacpp-a.log vllm-0.33.log")
    assert envelope["inputs"]["before"]["value"] == "llamacpp-a.log"
    assert envelope["answer"]["tau_before"] == pytest.approx(2.9167, abs=1e-4)


def test_a_plan_beside_a_log_says_what_ran_and_what_was_hoped_for(capsys):
    Path("plan").write_text(
        "schema: plan/1\ntarget: llama-3.1-8b\ndraft: eagle3\nhardware: h100-sxm\nengine: vllm\n"
        "k: 3\nworkload: {batch: 64, context: 2k, acceptance: {length: 3.2, at_k: 3}}\n"
    )
    shutil.copy(FILES / "sglang-0.5.10.log", "x.log")
    said = answered(capsys, ["diagnose", "x.log", "plan", "-f", "json"])
    envelope = json.loads(said.out)
    answer = envelope["answer"]
    assert (answer["engine"], round(answer["batch"])) == ("sglang", 4)  # what ran is what counts
    assert envelope["inputs"]["target"]["value"] == "llama-3.1-8b"
    (row,) = (row for row in envelope["rows"] if row["rule"] == "SD016")
    assert row["evidence"] == "3.20 tokens a round planned, 2.53 kept"


def test_a_file_stands_for_an_acceptance_and_brings_its_k(capsys):
    shutil.copy(FILES / "vllm-0.33.log", "vllm-0.33.log")
    envelope = diagnosed(capsys, "", f"{CARDS} -e vllm -b 8 -a vllm-0.33.log")
    answer = envelope["answer"]
    assert (answer["k"], answer["batch"]) == (3, 8)
    assert answer["tau_low"] < answer["tau"] < answer["tau_high"]  # counted, not only modelled
    assert answer["seen_tokens_per_s"] is None  # of another run, perhaps
    assert envelope["inputs"]["acceptance"]["value"] == "vllm-0.33.log"
    assert envelope["inputs"]["acceptance"]["sha256"]
    assert envelope["inputs"]["k_in_use"]["from"] == "vllm-0.33.log"


def test_a_file_may_be_the_acceptance_before(capsys):
    shutil.copy(FILES / "vllm-requests.jsonl", "before.jsonl")
    envelope = diagnosed(capsys, "vllm-0.33.log", "--before before.jsonl")
    assert envelope["answer"]["tau_before"] == pytest.approx(2.9167, abs=1e-4)


def test_a_drafter_that_keeps_nothing(capsys):
    envelope = diagnosed(capsys, "hand-vllm-broken.log")
    assert envelope["answer"]["paying"] is False
    assert [row["rule"] for row in envelope["rows"]] == ["SD011"]


def test_a_bench_has_both_of_its_times(capsys):
    (row,) = diagnosed(capsys, "vllm-bench.json")["rows"]
    assert (row["rule"], row["level"]) == ("SD044", "note")
    assert row["evidence"] == "ITL 30.3 ms, TPOT 12.4 ms"  # mean_itl_ms, mean_tpot_ms


def test_what_was_seen_is_held_against_the_prediction(capsys):
    shutil.copy(FILES / "vllm-0.33.log", "vllm-0.33.log")
    said = answered(capsys, ["diagnose", "vllm-0.33.log", *CARDS.split()])
    assert said.code == 0
    lines = said.out.splitlines()
    assert lines[0].startswith("Whether speculation pays is not known: 0.69x to 2.29x")
    assert max(map(len, lines)) <= 80
    assert "  with          286.5 tok/s seen, 787.4 predicted, -64 %" in lines
    gap = diagnosed(capsys, "vllm-0.33.log", CARDS)["answer"]
    times, found = gap["round_times"], gap["gap"]
    # by hand: tau B / rate, and the two ends between which the speedup lies
    seen_s = 2.5248194945848375 * 2.700361010830325 / 286.4851985559567
    assert times["seen_s"] == pytest.approx(seen_s)
    assert found["missing_s"] == pytest.approx(seen_s - times["round_s"])
    assert found["speedup_as_predicted"] == pytest.approx(
        2.5248194945848375 * times["plain_s"] / seen_s
    )
    assert found["speedup_as_slow"] == pytest.approx(
        2.5248194945848375 * (times["plain_s"] + seen_s - times["round_s"]) / seen_s
    )
    parts = sum(times[name] for name in ("draft_s", "verify_s", "host_s", "eager_s"))
    assert parts == pytest.approx(times["round_s"])
    assert gap["paying"] is None


def test_a_batch_that_nobody_said_is_not_compared(capsys):
    answer = diagnosed(capsys, "aiperf.json", f"{CARDS} -e vllm")["answer"]
    assert answer["seen_tokens_per_s"] == pytest.approx(305.9, abs=0.1)
    assert answer["gap"] is None
    assert diagnosed(capsys, "aiperf.json", f"{CARDS} -e vllm -b 4")["answer"]["gap"]


@pytest.mark.parametrize(
    ("files", "options", "message"),
    [
        (
            "nothing-sglang.log",
            "",
            "no round of speculation is counted in nothing-sglang.log: nothing to diagnose; "
            "expected a log,",
        ),
        ("nothing.txt", "", "nothing.txt: nothing recognised in 0 lines; expected a log,"),
        (
            "vllm-0.33.log",
            "-k 5",
            "--k: 5, but vllm-0.33.log counts 3 positions; leave -k out: the best k is looked for "
            "among all",
        ),
        (
            "vllm-0.33.log",
            "-a a.log,b.log",
            "--acceptance: diagnose is about one acceptance, not 2",
        ),
        ("vllm-0.33.log", "-a none.log", "none.log: no such file"),
    ],
)
def test_mistakes_with_files(capsys, files, options, message):
    shutil.copy(FILES / files, files)
    said = answered(capsys, ["diagnose", files, *options.split()])
    assert said.code == 2
    assert one_line(said).startswith(message)


def test_a_log_of_another_engine_is_said(capsys):
    shutil.copy(FILES / "vllm-0.33.log", "vllm-0.33.log")
    said = answered(capsys, ["diagnose", "vllm-0.33.log", "-e", "sglang"])
    assert "vllm-0.33.log was printed by vllm, not by sglang" in said.err


def test_a_log_says_how_its_weights_are_stored(capsys):
    start = (
        "INFO 11-20 09:12:01 [core.py:93] Initializing a V1 LLM engine (v0.20.1) with config: "
        "model='meta-llama/Llama-3.1-8B-Instruct', speculative_config=SpeculativeConfig("
        "method='eagle3', model='yuhuili/EAGLE3-LLaMA3.1-Instruct-8B', num_spec_tokens=3), "
        "dtype=torch.bfloat16, tensor_parallel_size=1, quantization={}, enforce_eager=True\n"
    )
    log = (FILES / "vllm-0.33.log").read_text()
    Path("served.log").write_text(start.format("fp8") + log)
    said = answered(capsys, ["diagnose", "served.log", "-g", "h100"])
    assert "on h100-sxm, fp8, drafter bf16" in said.out
    assert "SD024" in said.out  # enforce_eager
    assert "CUDA graphs are off" in said.out
    assert "no CUDA graphs: " in said.out
    Path("served.log").write_text(start.format("compressed-tensors") + log)
    said = answered(capsys, ["diagnose", "served.log", "-g", "h100"])
    assert "quantised by compressed-tensors, which does not say to what: give --dtype" in said.err


@pytest.mark.parametrize("swapped", [False, True])
def test_a_run_without_drafts_is_the_one_to_be_compared_with(capsys, swapped):
    files = ["vllm-bench.json", "hand-vllm-bench-plain.json"]
    envelope = diagnosed(capsys, " ".join(reversed(files) if swapped else files))
    answer = envelope["answer"]
    assert answer["speedup"] == pytest.approx(306.38321009134313 / 200)  # output_throughput
    assert (answer["paying"], answer["by"]) == (True, "measured")
    assert envelope["inputs"]["plain"]["value"] == "hand-vllm-bench-plain.json"
    assert envelope["inputs"]["capture"]["value"] == "vllm-bench.json"
    over = diagnosed(capsys, " ".join(files), "--plain-tokens-per-s 400")["answer"]
    assert over["paying"] is False


def test_of_a_log_only_the_load_of_the_other_run_is_compared(capsys):
    answer = diagnosed(capsys, "vllm-0.33.log nothing-sglang.log")["answer"]
    assert answer["speedup"] == pytest.approx(246.3 / 2.18)  # their lines at batch 1
    assert answer["loads_of_one"] == [4]


def test_a_file_that_lacks_k_says_so(capsys):
    shutil.copy(FILES / "vllm-2025-03.log", "old.log")
    said = answered(capsys, ["diagnose", "old.log"])
    assert said.code == 2
    assert one_line(said).endswith(
        "the number of rounds is not printed: -k, the draft length in use, gives it"
    )
    assert answered(capsys, ["diagnose", "old.log", "-k", "3"]).code == 0


def test_a_log_of_each_load_tells_where_the_gap_is(capsys):
    gap = diagnosed(capsys, "vllm-0.33.log", CARDS)["answer"]["gap"]
    one, four = gap["at_loads"]
    assert (one["batch"], one["seen_tokens_per_s"]) == (1, 246.3)  # its lines, word for word
    assert (four["batch"], four["seen_tokens_per_s"]) == (4, 317.2)
    alone = diagnosed(capsys, "vllm-0.33.log", f"{CARDS} -b 4 -a length:2.5063694267515926@3")
    assert four["predicted_tokens_per_s"] == pytest.approx(
        alone["answer"]["predicted_tokens_per_s"], rel=1e-6
    )
