"""Nothing that was typed is left unused without a word."""

from __future__ import annotations

import json

import pytest
from typed import answered

import specplan
from specplan.errors import UsageError

PAIR = "-t llama-3-8b -d llama-3.2-1b -g h100"
MIX_FORM = "expected WEIGHT,KEY=VALUE,... such as 3,alpha=0.8,context=2k"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            f"best-k {PAIR} -a 0.7 --mix 1,alpha=0.5 --mix 1,alpha=0.6",
            "--acceptance is not used: every part of the mix has its own; "
            "leave it out, or leave it to the mix",
        ),
        (
            f"best-k {PAIR} -b 4 --mix 1,alpha=0.5,batch=2",
            "--batch is not used: every part of the mix has its own; "
            "leave it out, or leave it to the mix",
        ),
        (
            f"best-k {PAIR} -a 0.7 -k 1:4 --k-max 5",
            "--k-max is not used beside a list of -k; leave out one of them",
        ),
        (
            f"best-k {PAIR} -a 0.7+-0.1 --need 1.5",
            "--need takes one alpha, not 0.7+-0.1; leave out the +-",
        ),
        (f"best-k {PAIR} --mix 1,alpha=0.5,alpha=0.6", f"--mix: alpha is said twice; {MIX_FORM}"),
        (
            f"best-k {PAIR} --mix 1,alpha=0.5,acceptance=0.6",
            f"--mix: acceptance is said twice; {MIX_FORM}",
        ),
        (
            f"best-k {PAIR} --mix 1,alpha=0.5+-0.1",
            f"--mix: a part of a mix takes one alpha, not 0.5+-0.1; {MIX_FORM}",
        ),
        (
            f"best-k {PAIR} --accepted 5 --drafted 10 -k 4",
            "--drafted: 10 drafted tokens are no whole number of rounds of k = 4; "
            "expected a multiple of 4: engines count k tokens for every round",
        ),
        (
            f"memory {PAIR} -k 4",
            "-k needs an acceptance: the speedup depends on both; add -a 0.7",
        ),
        (
            "best-k -t llama-3-8b -d none -g h100 --need 1.5",
            "--need asks what a drafter must reach, and none drafts; "
            "leave out --draft, or name one",
        ),
        (
            f"best-k {PAIR} -a 0.7 -c 1000 --isl 10 --osl 20",
            "--context and --isl/--osl say the same twice; give one of them",
        ),
    ],
)
def test_what_would_not_be_used_is_refused(capsys, line, message):
    said = answered(capsys, line.split())
    assert (said.code, said.out) == (2, "")
    assert said.err == f"specplan: {message}\n"


def test_a_default_that_every_part_replaces_is_not_said(capsys):
    line = f"best-k {PAIR} --mix 1,alpha=0.5,batch=3 --mix 1,alpha=0.6,batch=4"
    assert "batch" not in answered(capsys, line.split()).err


def test_inputs_are_enough_to_ask_again(capsys):
    line = f"best-k {PAIR} -a 0.7 --isl 1000 --osl 300 --objective throughput --k-max 9 -f json"
    inputs = json.loads(answered(capsys, line.split()).out)["inputs"]
    wanted = {"isl": "1000", "osl": "300", "objective": "throughput", "k_max": 9}
    assert {name: inputs[name]["value"] for name in wanted} == wanted
    line = f"best-k {PAIR} --mix 1,alpha=0.5 --mix 2,alpha=0.6 -f json"
    mix = json.loads(answered(capsys, line.split()).out)["inputs"]["mix"]
    assert mix["value"] == "1,alpha=0.5; 2,alpha=0.6"
    line = f"best-k {PAIR} -a 0.7 --need 1.5 -f json"
    assert json.loads(answered(capsys, line.split()).out)["inputs"]["need"]["value"] == 1.5


def test_counts_are_whole_in_json(capsys):
    answer = json.loads(answered(capsys, f"best-k {PAIR} -a 0.7 -f json".split()).out)
    assert repr(answer["answer"]["choice"]["context"]) == "2048"
    assert repr(answer["rows"][0]["context"]) == "2048"


def test_a_flag_overrides_how_a_plan_says_its_context(tmp_path, capsys):
    plan = tmp_path / "plan.yaml"
    said = answered(capsys, ["init", str(plan), *f"{PAIR} -a 0.8 --isl 1000 --osl 300".split()])
    assert said.code == 0
    assert "isl: 1000" in plan.read_text()
    assert answered(capsys, ["check", str(plan)]).code == 0
    own = json.loads(answered(capsys, ["best-k", str(plan), "-f", "json"]).out)
    assert own["answer"]["choice"]["context"] == 1150
    assert own["answer"]["memory"]["context"] == 1300
    other = json.loads(answered(capsys, ["best-k", str(plan), "-c", "2k", "-f", "json"]).out)
    assert other["answer"]["choice"]["context"] == 2048
    assert other["answer"]["memory"]["context"] == 2048


def test_an_uncertain_speedup_lies_in_its_interval():
    scene = specplan.scenario(
        target="llama-3-8b", draft="llama-3.2-1b", hardware="h100", acceptance="1+-0.2"
    )
    value = specplan.best_k(scene).value
    assert value.uncertain.low < value.choice.speedup <= value.uncertain.high


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        ({"batch": []}, "batch is empty"),
        ({"acceptance": [0.8, 0.5]}, "looks like rates per position"),
    ],
)
def test_python_refuses_what_the_command_does(axes, message):
    named = {"target": "llama-3-8b", "draft": "llama-3.2-1b", "hardware": "h100"}
    with pytest.raises(UsageError, match=message):
        specplan.scenario(**{**named, "acceptance": 0.8, **axes})
