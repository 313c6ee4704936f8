"""Plans with traffic as typed: what is expected of it, mistakes in their places, traces locked."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from demanded_facts import FACTS as ANY
from typed import answered

from specplan.questions import outcomes

PLAN = """\
schema: plan/1
target: llama-3.1-8b
draft: eagle3
hardware: h100
engine: vllm
k: 3
workload: {acceptance: 0.7}
traffic:
  rate: 20/s
  isl: 1000
  osl: 200
  slo: {ttft_p99: 2 s, tpot_p95: 30 ms}
expect:
  max_gpus: 24
"""
TRACE = "TIMESTAMP,ContextTokens,GeneratedTokens\n" + "".join(
    f"2023-11-16 18:17:{second:02d}.0000000,1000,{100 + second}\n" for second in range(60)
)


@pytest.fixture(autouse=True)
def _alone(tmp_path, monkeypatch):
    for name in ("NO_COLOR", "FORCE_COLOR", "GITHUB_ACTIONS", "SPECPLAN_CATALOGUE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


def put(text: str = PLAN, *changes: tuple[str, str], name: str = "plan.yaml") -> None:
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    Path(name).write_text(text, "utf-8")


def said(capsys, *words: str):
    return answered(capsys, ["check", *words])


FACTS = replace(
    ANY,
    target="llama-3.1-8b",
    draft="eagle3-llama-3.1-8b",
    hardware="h100-sxm",
    alpha=0.7,
    acceptance="0.7",
    usd_per_million_output_tokens=1.18,
    strain=0.5,
    latency_s={"itl_p99": 0.045},
    others=(),
)


@pytest.fixture
def sized(monkeypatch):
    """Every candidate of every plan as these facts say, without any queue."""
    facts = [FACTS]

    class Sizes:
        def __init__(self, scenario, demand):
            self.scenario, self.demand = scenario, demand

        def facts(self):
            return iter(facts)

        def others(self, one):
            return replace(one, others=(("gated", 22.0),))

    monkeypatch.setattr(outcomes, "Sizes", Sizes)
    return facts


# What is found


L4 = (
    ("hardware: h100", "hardware: l4"),
    ("rate: 20/s", "rate: 3/s"),
    ("tpot_p95: 30 ms", "tpot_p95: 120 ms"),
)  # a small machine: fewer batches to look at


def test_gpus_of_a_real_plan_and_what_capacity_says(capsys):
    """A server carries 1.9 requests a second with drafts of 3 under these promises, and 1.2 without
    any: two where three would be needed.
    """
    put(PLAN, *L4, ("max_gpus: 24", "{meets_slo: true, max_itl_p99: 250 ms, max_gpus: 1}"))
    answer = said(capsys)
    assert answer.code == 1
    assert answer.out.splitlines() == [
        "plan.yaml:14:52: SP010 max_gpus 1: 2 GPUs (k=3; 2 gated, 3 without)",
        "1 plan, 3 expectations: 2 hold, 1 fails",
    ]
    rows = json.loads(answered(capsys, ["capacity", "plan.yaml", "-f", "json"]).out)["rows"]
    assert {row["policy"]: row["gpus"] for row in rows} == {"none": 3, "k=3": 2, "gated": 2}


def test_a_server_without_speculation_needs_no_workload(capsys):
    put(
        PLAN,
        *L4,
        ("draft: eagle3", "draft: none"),
        ("workload: {acceptance: 0.7}\n", ""),
        ("k: 3\n", ""),
        ("max_gpus: 24", "{max_gpus: 3, min_sequences: 20}"),
    )
    answer = said(capsys, "-f", "json")
    assert answer.code == 0
    rows = json.loads(answer.out)["rows"]
    by_name = {row["name"]: row for row in rows}
    assert by_name["max_gpus"]["policy"] == "without"
    assert by_name["min_sequences"]["context"] == 1100  # of the traffic: 1000 + 200 / 2


def test_promises_that_nothing_keeps(capsys):
    put(PLAN, *L4, ("tpot_p95: 120 ms", "tpot_p95: 1 ms"), ("max_gpus: 24", "meets_slo: true"))
    answer = said(capsys)
    assert answer.code == 1
    line = answer.out.splitlines()[0]
    assert line.startswith("plan.yaml:14:14: SP012 meets_slo true: kept with no number of GPUs ")
    assert line.endswith(" the 1 ms promised")
    assert " (k=3): tpot_p95 is " in line


@pytest.mark.usefixtures("sized")
def test_a_finding_as_machines_read_it(capsys):
    put()
    answer = said(capsys)
    assert answer.out.splitlines() == [
        "plan.yaml:14:13: SP010 max_gpus 24: 28 GPUs (k=3; 22 gated)",
        "1 plan, 1 expectation: 0 hold, 1 fails",
    ]
    (row,) = json.loads(said(capsys, "-f", "json").out)["rows"]
    assert (row["rule"], row["name"], row["unit"]) == ("SP010", "max_gpus", "GPU")
    assert (row["expected"], row["found"], row["gpus"], row["policy"]) == (24, 28, 28, "k=3")
    assert (row["batch"], row["context"], row["speedup"]) == (None, None, None)
    github = said(capsys, "-f", "github").out
    assert github == (
        "::error file=plan.yaml,line=14,col=13,title=SP010::max_gpus 24: 28 GPUs (k=3; 22 gated)\n"
    )
    assert 'type="SP010"' in said(capsys, "-f", "junit").out
    assert json.loads(said(capsys, "-f", "sarif").out)["runs"][0]["results"][0]["ruleId"] == "SP010"


def test_endless_figures_are_null_for_machines(capsys, sized):
    sized[0] = replace(FACTS, gpus=math.inf, strain=math.inf, reason="too slow", latency_s={})
    put(PLAN, ("max_gpus: 24", "{max_gpus: 24, max_itl_p99: 30 ms}"))
    answer = said(capsys, "-f", "json")
    assert "Infinity" not in answer.out
    rows = json.loads(answer.out)["rows"]
    assert [(row["found"], row["gpus"]) for row in rows] == [(None, None), (None, None)]


def test_what_the_band_leaves_open_fails_when_strict(capsys, sized):
    sized[0] = replace(FACTS, gpus=23.0, band=0.12)
    put()
    loose, strict = said(capsys), said(capsys, "--strict")
    assert (loose.code, strict.code) == (0, 1)
    assert loose.out.splitlines()[-1] == "1 plan, 1 expectation: 0 hold, 1 unsure"
    assert strict.out.splitlines()[0] == (
        "plan.yaml:14:13: SP010 max_gpus 24: 23 GPUs (k=3), holds within the engine's 12 %: unsure"
    )


def test_at_narrows_candidates_and_points(capsys, sized):
    sized[:] = [
        replace(FACTS, setup="h100-sxm", gpus=30.0),
        replace(FACTS, setup="h200-sxm", hardware="h200-sxm", candidate=1, gpus=20.0),
    ]
    put(
        PLAN,
        ("hardware: h100", "hardware: [h100, h200]"),
        (
            "  max_gpus: 24",
            "  - max_gpus: 24\n  - {at: {hardware: h100}, max_gpus: 24}\n"
            "  - {at: {hardware: l40s}, max_gpus: 24}",
        ),
    )
    assert said(capsys).out.splitlines() == [
        "plan.yaml:15:38: SP010 max_gpus 24: 30 GPUs (h100-sxm, k=3; 22 gated)",
        "plan.yaml:16:21: SP102 max_gpus at hardware l40s: no such point; "
        "the plan has h100-sxm, h200-sxm",
        "1 plan, 3 expectations: 1 holds, 2 fail",
    ]


def test_a_price_that_no_card_has(capsys, sized):
    sized[0] = replace(FACTS, usd_per_million_output_tokens=None)
    put(PLAN, ("max_gpus: 24", "max_usd_per_million_output_tokens: 0.5"))
    answer = said(capsys)
    assert answer.code == 2
    assert answer.out.splitlines()[0] == (
        "plan.yaml:14:38: SP107 max_usd_per_million_output_tokens needs a price, and none of "
        "h100-sxm is known; add usd_per_gpu_hour: 3.80 to traffic"
    )


# Mistakes


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        (
            [
                (PLAN[PLAN.index("traffic:") : PLAN.index("expect:")], ""),
                ("workload: {", "workload: {batch: 8, "),
            ],
            "plan.yaml:9:13: SP101 max_gpus needs traffic; "
            "add traffic: {rate: 50/s, isl: 4000, osl: 500}",
        ),
        (
            [("engine: vllm\n", "")],
            "plan.yaml:13:13: SP101 max_gpus needs an engine: roofline is a bound, so GPUs would "
            "be too few; add engine: vllm",
        ),
        (
            [
                ("  slo: {ttft_p99: 2 s, tpot_p95: 30 ms}\n", ""),
                ("max_gpus: 24", "meets_slo: true"),
            ],
            "plan.yaml:13:14: SP101 meets_slo needs promises; "
            "add slo: {ttft_p99: 2 s, tpot_p95: 30 ms} to traffic",
        ),
        (
            [("{acceptance: 0.7}", "{mix: [{weight: 1, batch: 4, alpha: 0.7}]}")],
            "plan.yaml:14:13: SP101 max_gpus is about one acceptance, not a mix of workloads; "
            "give the mix's acceptance",
        ),
        (
            [("  max_gpus: 24", "  - {at: {batch: 1}, max_gpus: 24}")],
            "plan.yaml:14:18: SP101 max_gpus is about all of the traffic, which decides the batch; "
            "leave batch out of `at`",
        ),
        (
            [("  rate: 20/s\n", "")],
            "plan.yaml:8:1: SP101 how many requests come?; expected a rate such as 50/s",
        ),
        (
            [("rate: 20/s", "rate: 20")],
            "plan.yaml:9:9: SP101 rate is 20 without a unit; expected a quantity such as 20/s",
        ),
        (
            [("ttft_p99: 2 s", "ttft: 2 s")],
            "plan.yaml:12:8: SP101 ttft of which requests?; write ttft_p99=2 s",
        ),
        (
            [("max_gpus: 24", "max_itl_p99: 30")],
            "plan.yaml:14:16: SP101 max_itl_p99 is 30 without a unit; expected a quantity such as",
        ),
        (
            [("max_gpus: 24", "max_gpu: 24")],
            "plan.yaml:14:3: SP101 unknown key 'max_gpu' in expect; did you mean 'max_gpus'?",
        ),
        (
            [("max_gpus: 24", "max_gpus: 0")],
            "plan.yaml:14:13: SP101 max_gpus 0 is out of range; expected at least 1",
        ),
        (
            [("  rate: 20/s\n  isl: 1000\n  osl: 200\n", "  trace: ../../etc/passwd\n")],
            "plan.yaml:9:10: SP101 '../../etc/passwd' is outside the plan's folder and repository; "
            "expected a file below one of them",
        ),
        (
            [("  rate: 20/s\n  isl: 1000\n  osl: 200\n", "  trace: absent.csv\n")],
            "plan.yaml:9:10: SP101 no such file: absent.csv; expected a trace of ",
        ),
    ],
)
def test_a_mistake_stands_where_it_is(capsys, changes, line):
    put(PLAN, *changes)
    answer = said(capsys)
    assert answer.code == 2
    assert answer.out.splitlines()[0].startswith(line)


# Locks


@pytest.mark.usefixtures("sized")
def test_a_lock_covers_the_trace(capsys):
    Path("trace.csv").write_text(TRACE, "utf-8")
    put(
        PLAN,
        ("  rate: 20/s\n  isl: 1000\n  osl: 200\n", "  trace: trace.csv\n"),
        ("max_gpus: 24", "max_gpus: 28"),
    )
    assert said(capsys, "--lock").code == 0
    assert "trace.csv" in Path("specplan.lock").read_text("utf-8")
    assert "changed" not in said(capsys).err
    Path("trace.csv").write_text(TRACE.replace(",1000,", ",2000,"), "utf-8")
    again = said(capsys)
    assert again.code == 0
    assert (
        "specplan: plan.yaml:9:10: trace.csv changed since the lock: no expectation moved\n"
    ) in again.err


def test_a_verdict_that_a_new_trace_turns_is_an_error(capsys, sized):
    Path("trace.csv").write_text(TRACE, "utf-8")
    put(
        PLAN,
        ("  rate: 20/s\n  isl: 1000\n  osl: 200\n", "  trace: trace.csv\n"),
        ("max_gpus: 24", "max_gpus: 28"),
    )
    assert said(capsys, "--lock").code == 0
    Path("trace.csv").write_text(TRACE.replace(",1000,", ",2000,"), "utf-8")
    sized[0] = replace(FACTS, gpus=31.0)
    again = said(capsys)
    assert again.code == 1
    assert "SP103 trace.csv changed since the lock: max_gpus 28 GPUs -> 31 GPUs" in again.out


def test_rules_are_listed_and_explained(capsys):
    listed = said(capsys, "--rules").out
    for key in ("max_gpus", "max_usd_per_million_output_tokens", "meets_slo", "max_itl_p99"):
        assert f" {key} " in listed
    assert said(capsys, "--rule", "max_gpus").out.startswith("SP010 max_gpus\n")
