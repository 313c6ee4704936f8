"""explain as people type it: the roofline digit for digit, engines near what was measured."""

from __future__ import annotations

import json
import shlex

import pytest
from typed import answered, one_line

POINT = "explain -t llama-3-8b -d llama-3.2-1b -g h100 -a 0.8 -k 4"

# max(2 P B n / 989e12, (2 P + B c kv) / 3.35e12) by hand: (15e9 + 2048 x 131072) / 3.35e12 is
# 4.5578 ms, (2.48e9 + 2048 x 32768) / 3.35e12 is 0.7605 ms.
ROOFLINE = """\
2.02x at k = 4, taken apart                       ideal roofline: an upper bound
llama-3-8b + llama-3.2-1b on h100-sxm, bf16
batch 1, context 2,048, acceptance 0.8

pass         term           time    share     bytes  FLOP/B  bound by
plain        whole pass  4.56 ms  100.0 %  14.2 GiB   0.982  memory
first draft  whole pass  0.76 ms  100.0 %  2.37 GiB    1.74  memory
draft        whole pass  0.76 ms  100.0 %  2.37 GiB   0.974  memory
verify       whole pass  4.56 ms  100.0 %  14.2 GiB    4.91  memory

  plain step        4.56 ms (ideal 4.56 ms), MBU 100.0 %, MFU 0.3 %, memory
  verification      4.56 ms (ideal 4.56 ms), MBU 100.0 %, MFU 1.7 %, memory
  first draft pass  0.76 ms (ideal 0.76 ms), MBU 100.0 %, MFU 0.6 %, memory
  draft pass        0.76 ms (ideal 0.76 ms), MBU 100.0 %, MFU 0.3 %, memory
  drafting          4 passes, 3.04 ms
  round             7.6 ms, 1.67 plain steps for 3.36 tokens
  prefill           14.1 us a prompt token; the drafter adds 14.0 %
  ridge point       295 FLOP/B; verification 5
"""

# Sums of the measured kernels of a Llama-3.1-8B bf16 step at context 2,048, batch 1, 16, 64, in ms
# (aiconfigurator-core 0.12.0; no sampler, no host).
SUMS = [
    ("h100", 1, 6.24),
    ("h100", 16, 8.20),
    ("h100", 64, 12.53),
    ("h200", 1, 4.91),
    ("h200", 16, 6.33),
    ("h200", 64, 9.47),
    ("a100", 1, 12.0),
    ("a100", 16, 15.0),
    ("a100", 64, 23.1),
    ("b200", 1, 3.49),
    ("b200", 16, 4.17),
    ("b200", 64, 6.07),
]


def rows(capsys, typed: str) -> list[dict]:
    said = answered(capsys, shlex.split(f"{typed} -f json"))
    assert said.code == 0, said.err
    return json.loads(said.out)["rows"]


def test_the_roofline_is_what_it_was(capsys):
    assert answered(capsys, shlex.split(POINT)).out == ROOFLINE
    assert answered(capsys, shlex.split(f"{POINT} -e roofline")).out == ROOFLINE


@pytest.mark.parametrize(("gpu", "batch", "published_ms"), SUMS)
def test_gpu_time_of_a_step_is_near_the_sum_of_its_measured_kernels(
    capsys, gpu, batch, published_ms
):
    point = f"explain -t llama-3.1-8b -d free -g {gpu} -b {batch} -c 2048 -a 0.8 -k 4 -e vllm"
    beside = {"sampler", "host"}
    terms = [r for r in rows(capsys, point) if r["pass"] == "plain" and r["term"] not in beside]
    assert 1e3 * sum(r["time_s"] for r in terms) == pytest.approx(published_ms, rel=0.08)


def test_terms_add_up_to_their_pass(capsys):
    said = answered(capsys, shlex.split(f"{POINT} -e vllm -f json"))
    read = json.loads(said.out)
    first, later = read["answer"]["drafts"]
    passes = {"first draft": first, "draft": later, "plain": read["answer"]["plain"]}
    for name, figures in passes.items():
        terms = [row for row in read["rows"] if row["pass"] == name]
        whole = figures["time_s"]
        assert sum(row["time_s"] for row in terms) == pytest.approx(whole, rel=1e-12)
        assert sum(row["share"] for row in terms) == pytest.approx(1.0, rel=1e-12)


def test_versions_differ_in_the_host_alone(capsys):
    old = rows(capsys, f"{POINT} -e vllm@0.10")
    new = rows(capsys, f"{POINT} -e vllm@0.27")
    gpu = [[r["time_s"] for r in found if r["term"] != "host"] for found in (old, new)]
    assert gpu[0] == gpu[1]
    hosts = [[r["time_s"] for r in found if r["term"] == "host"] for found in (old, new)]
    assert hosts[0] != hosts[1]


def test_a_chart_shows_the_passes_under_the_roof(capsys):
    said = answered(capsys, shlex.split(f"{POINT} -e vllm -f chart"))
    assert said.code == 0
    assert max(map(len, said.out.splitlines())) <= 80
    legend = [line.split(":")[0] for line in said.out.splitlines() if line.startswith("  ")]
    assert [line for line in legend if line[2:3] in "PVD"] == [
        "  P plain step",
        "  V verification",
        "  D draft pass",
    ]


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        (
            "explain -t llama-3-8b -d free -g h100 -a 0.8 -k 1,2",
            "explain is about one point, not 2 of k; ",
        ),
        ("explain -t llama-3-8b -d free -g h100,h200 -a 0.8 -k 1", "explain is about one setup"),
        (f"{POINT} -e vlm", "--engine: unknown engine 'vlm'; did you mean 'vllm'?"),
        (f"{POINT} -e vllm@0.1", "--engine: vllm 0.1 is older than its card goes; "),
        (
            "hardware show h100 -f chart",
            "--format: hardware-show has no picture",
        ),
    ],
)
def test_mistakes(capsys, typed, message):
    said = answered(capsys, shlex.split(typed))
    assert said.code == 2
    assert one_line(said).startswith(message)
