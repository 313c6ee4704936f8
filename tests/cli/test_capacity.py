"""capacity as it is typed: what is asked for, refusals, plans, formats; the same from Python."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import foreign
import pytest
from typed import ANSI, answered, one_line, terminal

import specplan
from specplan.cli.run import run

ASKED = ("capacity", "-t", "llama-3.1-8b", "-d", "eagle3", "-g", "h100", "-e", "vllm")
TRAFFIC = ("--rate", "20/s", "--isl", "1200", "--osl", "210")
PLAIN = ("capacity", "-t", "llama-3.1-8b", "-d", "none", "-g", "h100", "-e", "vllm")


def refused(capsys, *words: str) -> str:
    said = answered(capsys, words)
    assert (said.code, said.out) == (2, "")
    return one_line(said)


def envelope(capsys, *words: str, code: int = 0) -> dict:
    said = answered(capsys, [*words, "-f", "json"])
    assert said.code == code, said.err
    return json.loads(said.out)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "--rate: how many requests come?"),
        (("--rate", "50"), "--rate: '50' has no unit; write 50/s"),
        (TRAFFIC, "--acceptance: how likely is a draft token accepted?"),
        ((*TRAFFIC, "-a", "0.7", "--margin", "1"), "--margin: 1 is out of range"),
        ((*TRAFFIC, "-a", "0.7", "--slo", "ttfp=2s"), "--slo: "),
        ((*TRAFFIC, "-a", "0.7", "--bins", "60"), "--bins: '60' has no unit"),
        ((*TRAFFIC, "-a", "0.7", "--usd-per-gpu-hour", "0"), "--usd-per-gpu-hour: 0 USD"),
        ((*TRAFFIC, "-a", "0.7", "--max-num-seqs", "0"), "--max-num-seqs: 0 is too few"),
        ((*TRAFFIC, "-a", "0.7", "--pools", "--slo", "e2e_p99=9s"), "--pools: an e2e promise"),
    ],
)
def test_what_is_missing_or_wrong_is_refused(capsys, words, said):
    assert refused(capsys, *ASKED, *words).startswith(said)


def test_a_bound_is_refused_and_the_engines_of_the_gpu_are_named(capsys):
    words = ("capacity", "-t", "llama-3.1-8b", "-d", "eagle3", "-a", "0.7", *TRAFFIC, "-g")
    assert refused(capsys, *words, "h100") == (
        "--engine: roofline is a bound: GPUs would be too few; expected an engine; with kernels "
        "for h100-sxm: sglang, trtllm, vllm"
    )
    assert "none has kernels for v100" in refused(capsys, *words, "v100-sxm-32gb")


def test_nothing_drafts_and_nothing_is_accepted(capsys):
    found = envelope(capsys, *PLAIN, *TRAFFIC)
    assert [row["policy"] for row in found["rows"]] == ["none"]
    assert found["answer"]["speculating"] is None


def test_a_promise_that_nobody_keeps_exits_with_1(capsys):
    said = answered(capsys, [*PLAIN, *TRAFFIC, "--slo", "tpot_p95=1ms"])
    assert said.code == 1
    assert said.out.startswith("SLO cannot be met")
    assert "over the 1 ms promised" in " ".join(said.out.split())


def test_what_does_not_fit_says_on_how_many_gpus_it_would(capsys):
    said = answered(capsys, ["capacity", "-t", "llama-3.3-70b", *PLAIN[3:], *TRAFFIC])
    assert said.code == 1
    assert "a request of 1,410 tokens does not fit beside the weights" in said.out
    assert "llama-3.3-70b would fit on h100-sxm with --tp 2" in said.err


def test_a_page_of_everything_is_80_columns_wide(capsys):
    foreign.examples()
    words = ("capacity", "chat.yaml", "--explain", "--pools", "--kv-dtype", "bf16,fp8", "-q")
    said = answered(capsys, words)
    assert said.code == 0
    lines = said.out.splitlines()
    assert max(map(len, lines)) <= 80
    assert "GPUs by cause, which add up:" in lines
    for words in ("kv dtype", "policy", "pools", "prefill", "most/s", "USD/Mout", "bound by"):
        assert words in said.out


def test_a_long_acceptance_has_a_line_of_its_own(capsys):
    said = answered(capsys, [*ASKED, *TRAFFIC, "-a", "mixture:.8@0.7,.5@0.3", "-k", "2"])
    assert max(map(len, said.out.splitlines())) <= 80
    assert "\nllama-3.1-8b on h100-sxm under vllm\ndrafter eagle3-llama-3.1-8b, " in said.out


def test_plans_flags_and_python_agree(capsys):
    foreign.examples()
    of_plan = envelope(capsys, "capacity", "chat.yaml", "-d", "ratio:0.1")
    more = ("-d", "ratio:0.1", "-a", "0.7", "-k", "3")
    typed = envelope(capsys, *ASKED[:3], *ASKED[5:], *more, *TRAFFIC)
    answer = specplan.capacity(
        target="llama-3.1-8b",
        draft="ratio:0.1",
        hardware="h100",
        engine="vllm",
        acceptance=0.7,
        k=3,
        rate=20.0,
        isl=1200,
        osl=210,
    )
    assert of_plan["rows"] == typed["rows"] == list(answer.table.records())
    assert of_plan["inputs"]["rate"]["from"] == "chat.yaml"
    assert typed["inputs"]["rate"] == {"value": 20.0, "from": "flag", "sha256": None}
    assert of_plan["schema"] == "specplan.capacity/1"


def test_a_trace_has_gpus_over_time_and_its_digest_is_cited(capsys):
    foreign.examples()
    found = envelope(capsys, "capacity", "chat.yaml", "--trace", "azure.csv", "--bins", "30s")
    assert found["inputs"]["trace"]["sha256"]
    assert found["inputs"]["bins"]["value"] == 30.0
    for row in found["rows"]:
        assert row["peak_gpus"] >= row["mean_gpus"] > 0
        assert row["gpu_hours"] == pytest.approx(row["mean_gpus"] * 119 / 3600, rel=0.02)
    assert any("30 s at no cost" in note for note in found["notes"])


def test_of_a_peak_gpus_over_time_are_those_of_the_whole_trace(capsys):
    foreign.examples()
    words = ("capacity", "chat.yaml", "-d", "none", "--trace", "azure.csv")
    (whole,) = envelope(capsys, *words)["rows"]
    peak = envelope(capsys, *words, "--window", "peak 30 s")
    (row,) = peak["rows"]
    assert peak["answer"]["rate_per_s"] > 1.2 * whole["rate_per_replica_per_s"]
    assert row["gpu_hours"] == pytest.approx(whole["gpu_hours"])  # one GPU does, all the time
    assert row["gpu_hours"] == pytest.approx(119 / 3600, rel=0.02)


def test_the_mean_of_a_trace_is_not_its_busiest_minute(capsys):
    """9 minutes of 1/s, then one of 60/s: what the mean takes breaks down in the last."""
    times = [*range(540), *(540 + n / 60 for n in range(3600))]
    rows = "".join(f"{time:.4f},1200,210\n" for time in times)
    Path("t.csv").write_text(f"arrival,isl,osl\n{rows}", encoding="utf-8")
    said = answered(capsys, [*PLAIN, "--trace", "t.csv"])
    assert said.code == 0
    page = " ".join(said.out.split())
    assert "GPUs are those of 6.9 requests/s, the mean: the busiest 60 s take " in page
    assert '--window "peak 60 s" plans for those' in page
    peak = answered(capsys, [*PLAIN, "--trace", "t.csv", "--window", "peak 60 s"])
    assert "the mean" not in peak.out


def test_a_chart_has_costs_and_latencies(capsys):
    foreign.examples()
    said = answered(capsys, ["capacity", "chat.yaml", "-f", "chart", "-q"])
    assert said.code == 0
    assert max(map(len, said.out.splitlines())) <= 80
    for words in ("USD per million output tokens", "TPOT p95 on", "TTFT p95 on", "requests/s"):
        assert words in said.out


def test_a_plans_price_and_promises_count(capsys):
    foreign.examples()
    text = Path("chat.yaml").read_text("utf-8")
    Path("dear.yaml").write_text(f"{text}  usd_per_gpu_hour: 9\n  slo: {{ttft_p99: 2 s}}\n")
    found = envelope(capsys, "capacity", "dear.yaml", "-d", "none")
    (row,) = found["rows"]
    assert row["usd_per_gpu_hour"] == 9
    assert row["ttft_p99_s"] <= 2
    assert "ttft_p99_s" in found["columns"]


def test_rows_are_counted_on_a_terminal(monkeypatch):
    def shown_of(*more: str) -> str:
        with terminal() as (screen, shown):
            monkeypatch.setattr(sys, "stderr", screen)
            assert run([*PLAIN, *TRAFFIC, "-g", "h100,h200", *more]) == 0
            monkeypatch.undo()
        return ANSI.sub("", shown[0])

    assert "2/2" in shown_of()
    assert shown_of("-q") == ""
