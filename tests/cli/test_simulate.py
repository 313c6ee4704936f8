"""simulate on the command line and in Python."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from pathlib import Path

import foreign
import pytest
from typed import ANSI, answered, one_line, terminal

import specplan
from specplan.cli import simulate as command
from specplan.cli.run import run

WHAT = "simulate -t llama-3.1-8b -d eagle3 -g h100 -e vllm -a 0.7"
RATE = "--rate 8/s --isl 800 --osl exponential:100 --requests 300"
BASE = (*WHAT.split(), *RATE.split())


def asked(capsys, words: str):
    said = answered(capsys, (*BASE, *words.split(), "-f", "json"))
    assert said.code == 0, said.err
    return json.loads(said.out)


def test_json_carries_everything(capsys):
    words = "-k 3 --gate-by queue:99 --slo ttft_p99=1s --seed 4 --replications 2 --gate-tax 0.1"
    found = asked(capsys, words)
    assert found["schema"] == "specplan.simulate/1"
    answer = found["answer"]
    assert (answer["seed"], answer["replications"], answer["meets_slo"]) == (4, 2, True)
    assert answer["done"] == 600
    assert {"from_s", "ratio", "counts"} == answer["histograms"]["e2e"].keys()
    assert len(answer["timeline"]["batch"]) == len(answer["timeline"]["k"])
    rows = {row["measure"]: row for row in found["rows"]}
    assert rows["ttft"]["p99_9"] >= rows["ttft"]["p50"] > 0
    assert rows["ttft"]["mean_ci95"] > 0
    assert found["columns"]["measure"] == ""
    inputs = found["inputs"]
    assert inputs["rate"]["value"] == 8.0
    assert inputs["slo"]["value"] == "ttft_p99=1s"
    assert inputs["replications"] == {"value": 2, "from": "flag", "sha256": None}
    assert inputs["gate_tax"]["value"] == 0.1
    assert inputs["seed"]["value"] == 4


def test_a_page_fits_and_says_what_matters(capsys):
    said = answered(capsys, (*BASE, "-k", "3", "--replications", "2"))
    assert said.code == 0
    assert max(map(len, said.out.splitlines())) <= 80
    for words in ("TTFT p95", "itl_chunk", "p99.9", "+-", "batch", "cache", "preempted"):
        assert words in said.out
    assert "warm the server up" in said.err


def test_limits_that_do_not_hold_exit_with_1(capsys):
    said = answered(capsys, (*BASE, "-k", "3", "--slo", "tpot_p95=1ms"))
    assert said.code == 1
    assert said.out.startswith("The SLO does not hold")
    assert "beyond 1 ms" in said.out


@pytest.mark.parametrize("words", ["-k none", "-k 0", "-d none"])
def test_a_server_without_speculation_needs_no_drafter(capsys, words):
    base = WHAT.replace(" -d eagle3", "").replace(" -a 0.7", "").split()
    said = answered(capsys, (*base, *RATE.split(), *words.split(), "-f", "json"))
    assert said.code == 0, said.err
    answer = json.loads(said.out)["answer"]
    assert [of["k"] for of in answer["k"]] == [0]
    assert answer["policy"] == "none"


def test_gates(capsys):
    found = asked(capsys, "-k gate")
    assert found["answer"]["policy"] == "gated"
    assert asked(capsys, "-k gated") == found  # the word that answers have for it
    by_queue = asked(capsys, "-k 3 --gate-by queue:0 --hysteresis 1ms --max-num-seqs 4")
    assert {of["k"] for of in by_queue["answer"]["k"]} == {0, 3}
    assert by_queue["inputs"]["gate_by"]["value"] == "queue:0"
    assert by_queue["inputs"]["max_num_seqs"]["value"] == 4
    assert asked(capsys, "-k gate --hysteresis 4,2s")["inputs"]["hysteresis"]["value"] == "4,2s"


def test_static_batches(capsys):
    found = asked(capsys, "-k 3 --static 4 --static-wait 200ms")["answer"]
    assert max(of["batch"] for of in found["batch"]) == 4


def test_a_time_instead_of_a_number(capsys):
    base = [word for word in BASE if word not in {"--requests", "300"}]
    for text, seconds in (("20s", 20), ("0.5min", 30)):
        said = answered(capsys, (*base, "-k", "3", "--duration", text, "-f", "json"))
        done = json.loads(said.out)["answer"]["done"]
        assert done == pytest.approx(8 * seconds, abs=5 * (8 * seconds) ** 0.5)


def test_a_plan_and_a_trace(capsys):
    foreign.examples()
    plan = Path("chat.yaml")
    promise = "  slo: {ttft_p99: 1 s, tpot_p95: 25 ms}\n"
    plan.write_text(plan.read_text(encoding="utf-8") + promise, encoding="utf-8")
    said = answered(capsys, ("simulate", "chat.yaml", "--requests", "500", "-f", "json"))
    assert said.code == 0, said.err
    found = json.loads(said.out)
    assert found["inputs"]["rate"]["from"] == "chat.yaml"
    assert [limit["limit"] for limit in found["answer"]["limits"]] == ["ttft_p99", "tpot_p95"]
    said = answered(capsys, ("simulate", "chat.yaml", "--trace", "azure.csv", "-f", "json"))
    assert said.code == 0, said.err
    found = json.loads(said.out)
    rows = len(Path("azure.csv").read_text(encoding="utf-8").splitlines()) - 1
    assert found["answer"]["requests"] == rows
    assert len(found["inputs"]["trace"]["sha256"]) == 64


def test_a_picture_of_latencies_and_of_the_time_that_goes_by(capsys):
    said = answered(capsys, (*BASE, "-k", "3", "--slo", "ttft_p99=9s", "-f", "chart"))
    assert said.code == 0, said.err
    lines = said.out.splitlines()
    assert max(map(len, lines)) <= 80
    labels = [
        "sequences that decode", "requests that wait", "k, drafts a round", "% of the cache in use",
    ]  # fmt: skip
    assert [line for line in lines if line in labels] == labels
    axes = [line.strip() for line in lines]
    named = {"TTFT", "TPOT", "ITL", "E2E", "time"}  # time is that of all that goes by
    assert [axis for axis in axes if axis in named] == ["TTFT", "TPOT", "ITL", "E2E", "time"]
    assert "\u2506 p99 promised: 9 s" in axes or "| p99 promised: 9 s" in axes


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ("", "-k: how many tokens are drafted?; expected 3, none or gate"),
        ("-k best", "-k: how many tokens are drafted?; expected 3, none or gate"),
        ("-k 1,3", "-k: k '1,3' is no single number; expected 3, none or gate"),
        ("-k 3 --gate-by load", "--gate-by: no gate goes by 'load'; expected batch, queue, or"),
        ("-k 3 --gate-by batch:4", "--gate-by: no gate goes by 'batch:4'"),
        ("-k gate --hysteresis 2,x", "--hysteresis: 'x' is not a quantity"),
        ("-k gate --hysteresis 2.5", "--hysteresis: '2.5' has no unit; expected a time such as"),
        ("-k gate --hysteresis 2s,3s", "--hysteresis: '2s,3s' says the same twice; expected 4, 2s"),
        ("-k gate --hysteresis 4,5", "--hysteresis: '4,5' says the same twice"),
        ("-k 3 --hysteresis 4", "--hysteresis: is of a gate, and one k has none; write -k gate"),
        ("-k 3 --gate-tax 0.1", "--gate-tax: is of a gate, and one k has none; write -k gate"),
        ("-k none --gate-tax 0.1", "--gate-tax: is of a gate, and one k has none"),
        ("-k none --gate-by queue:2 --hysteresis 2s", "--hysteresis: is of a gate"),
        ("-k 3 --duration 60", "--duration: '60' has no unit; expected a time such as 90s"),
        ("-k 3 --duration 900d", "--duration: '900d' is out of range"),
        ("-k 3 --static-wait 1s", "--static-wait: only static batches wait; --static 8"),
        ("-k 3 --static 0", "--static: 0 is out of range"),
        ("-k 3 --max-num-seqs 0", "--max-num-seqs: 0 is too few"),
        ("-k 3 --workers 0", "--workers: 0 is out of range"),
    ],
)
def test_mistakes_are_one_line(capsys, words, error):
    said = answered(capsys, (*BASE, *words.split()))
    assert said.code == 2
    assert one_line(said).startswith(error)


def test_an_engine_is_required(capsys):
    said = answered(capsys, [word for word in BASE if word not in {"-e", "vllm"}] + ["-k", "3"])
    assert one_line(said).startswith("--engine: roofline is a bound: no server steps that fast")


def test_ctrl_c_shows_what_was_done_and_exits_with_130(capsys, monkeypatch):
    @contextmanager
    def watching(_requests, _out):
        count = 0

        def told(done):
            nonlocal count
            count += done
            if count >= 4000:
                raise KeyboardInterrupt

        yield told

    monkeypatch.setattr(command, "_watching", watching)
    words = ("-k", "3", "--requests", "20000")
    said = answered(capsys, (*BASE, *words))
    assert said.code == 130
    assert "TTFT p95" in said.out
    assert "specplan: interrupted: these figures are of the " in said.err
    said = answered(capsys, (*BASE, *words, "--replications", "3"))
    assert said.code == 130
    words = ("-k", "3", "--requests", "100000")  # it is still warming up
    early = "specplan: interrupted in the first 10% of the time, of which nothing is counted\n"
    assert answered(capsys, (*BASE, *words)) == (130, "", early)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_many_requests_are_counted_on_a_terminal(monkeypatch, workers):
    monkeypatch.setattr(command, "LONG_REQUESTS", 600)
    words = [*BASE, "-k", "3", "--replications", "2", "--workers", workers]

    def shown_of(more: list[str]) -> str:
        with terminal() as (screen, shown):
            monkeypatch.setattr(sys, "stderr", screen)
            assert run([*words, *more]) == 0
            monkeypatch.undo()
            monkeypatch.setattr(command, "LONG_REQUESTS", 600)
        return ANSI.sub("", shown[0])

    assert "600/600" in shown_of([])
    assert shown_of(["-q"]) == ""


def test_in_python():
    """The same answer as on the command line, options by the same names."""
    answer = specplan.simulate(
        target="llama-3.1-8b",
        draft="eagle3",
        hardware="h100",
        engine="vllm",
        acceptance=0.7,
        k=3,
        rate=8,
        isl=800,
        osl="exponential:100",
        slo={"ttft_p99": "1s"},
        requests=300,
        max_num_seqs=64,
        gate_by="queue:2",
        hysteresis="2s",
    )
    assert answer.value.done == 300
    assert answer.value.meets_slo
    with pytest.raises(specplan.SpecplanError, match="unknown option 'rats'"):
        specplan.simulate(target="llama-3.1-8b", hardware="h100", engine="vllm", k=0, rats=8)
