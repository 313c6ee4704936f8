"""init with traffic: the plan holds GPUs and gaps, its files are named from its folder."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from typed import answered, one_line

from specplan.catalogue.read import read_file

PAIR = "-t llama-3.1-8b -d eagle3 -g l4 -e vllm -a 0.7"
SLO = "--slo ttft_p99=2s,tpot_p95=120ms"


@pytest.fixture(autouse=True)
def _alone(tmp_path, monkeypatch):
    for name in ("NO_COLOR", "FORCE_COLOR", "GITHUB_ACTIONS", "SPECPLAN_CATALOGUE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


def init(capsys, flags: str):
    return answered(capsys, ["init", *shlex.split(flags)])


def test_a_plan_of_a_rate_holds_what_it_needs(capsys):
    said = init(capsys, f"plan.yaml {PAIR} --rate 1.5/s --isl 500 --osl 100 {SLO}")
    assert (said.code, said.out) == (0, "")
    plan = read_file(Path("plan.yaml")).data
    assert plan["k"] == "gate"
    assert plan["workload"] == {"acceptance": 0.7}
    assert plan["traffic"] == {
        "rate": "1.5/s",
        "isl": 500,
        "osl": 100,
        "slo": "ttft_p99=2s,tpot_p95=120ms",
    }
    assert plan["expect"]["meets_slo"] is True
    assert plan["expect"]["max_gpus"] == 1
    assert "max_usd_per_million_output_tokens" not in plan["expect"]  # no price is known of an L4
    assert plan["expect"]["max_itl_p99"].endswith(" ms")
    # What is no promise about the traffic says at which batch it holds.
    told = [line for line in Path("plan.yaml").read_text().splitlines() if ", at batch 1" in line]
    assert [line.split(":")[0].strip() for line in told] == ["min_speedup", "max_tpot"]


def test_files_are_named_from_the_plan_s_folder(capsys):
    Path("plans").mkdir()
    rows = "".join(f"2023-11-16 18:17:{s:02d}.0000000,300,50\n" for s in range(0, 60, 2))
    Path("plans/azure.csv").write_text(f"TIMESTAMP,ContextTokens,GeneratedTokens\n{rows}", "utf-8")
    said = init(capsys, f"plans/plan.yaml {PAIR} -k 2 -b 4 --trace plans/azure.csv")
    assert said.code == 0
    plan = read_file(Path("plans/plan.yaml")).data
    assert plan["traffic"] == {"trace": "azure.csv"}
    assert (plan["k"], plan["workload"]["batch"]) == (2, 4)
    assert "at batch 1" not in Path("plans/plan.yaml").read_text()
    assert "meets_slo" not in plan["expect"]


def test_promises_that_nothing_keeps(capsys):
    flags = f"plan.yaml {PAIR} --rate 1/s --isl 500 --osl 100 --slo tpot_p95=1ms"
    said = init(capsys, flags)
    assert (said.code, said.out) == (1, "")
    assert said.err.startswith("specplan: no plan was written: tpot_p95 is ")
    assert said.err.endswith(" over the 1 ms promised\n")
    assert not Path("plan.yaml").exists()


@pytest.mark.parametrize(
    ("flags", "line"),
    [
        (
            "-t llama-3.1-8b -d eagle3 -g l4 -a 0.7 --rate 1/s --isl 500 --osl 100",
            "--engine: roofline is a bound, and traffic needs an engine; expected one such as vllm",
        ),
        (f"{PAIR} {SLO}", "--slo: is of traffic; give --rate 5/s or --trace FILE"),
        (f"{PAIR} --rate 1/s --isl 500", "--osl: how long are the outputs?; expected tokens such"),
        (
            f"{PAIR} --tp 1,2 --rate 1/s --isl 500 --osl 100",
            "a plan with traffic starts from one setup, one acceptance and one k; add candidates",
        ),
    ],
)
def test_mistakes_are_one_line(capsys, flags, line):
    said = init(capsys, f"plan.yaml {flags}")
    assert said.code == 2
    assert one_line(said).startswith(line)
