"""Nothing that was typed is left unused without a word."""

from __future__ import annotations

import json

import pytest
from typed import ROOT, answered

import specplan
from specplan.errors import SpecplanError, UsageError

PAIR = "-t llama-3-8b -d llama-3.2-1b -g h100"
MIX_FORM = "expected WEIGHT,KEY=VALUE,... such as 3,alpha=0.8,context=2k"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            f"best-k {PAIR} -a 0.7 --mix 1,alpha=0.5 --mix 1,alpha=0.6",
            "--acceptance is not used: every part of the mix has its own; "
            "leave it out, here or in the parts",
        ),
        (
            f"best-k {PAIR} -b 4 --mix 1,alpha=0.5,batch=2",
            "--batch is not used: every part of the mix has its own; "
            "leave it out, here or in the parts",
        ),
        (
            f"best-k {PAIR} -a 0.7 -k 1:4 --k-max 5",
            "--k-max is not used beside a list of -k; leave out one of them",
        ),
        (
            f"best-k {PAIR} -a 0.7+-0.1 --need 1.5",
            "--need takes one alpha, not 0.7+-0.1; write -a 0.7",
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
            "--need asks what a drafter must reach, and -d none is no drafter; "
            "name one, or free, or ratio:0.05",
        ),
        (
            f"best-k {PAIR} --isl 10 --osl 2 --mix 1,alpha=0.5,context=1k",
            "--isl is not used: every part of the mix has its own; "
            "leave it out, here or in the parts",
        ),
        (
            f"best-k {PAIR} -g h800 -a 0.7 --draft-dtype fp32",
            "--draft-dtype: h800-sxm has no rate for fp32 weights; its card has rates for bf16, "
            "fp16, fp8, int8; choose another dtype",
        ),
        (
            "best-k -t llama-3-8b -d ratio:0.05,free -g h100 -a 0.7 --draft-dtype fp8",
            "--draft-dtype is not used: draft ratio:0.05, free has no weights; "
            "leave it out, or name a model",
        ),
        (
            f"best-k {PAIR} --mix 1,alpha=0.5 --accepted 4 --drafted 8 -k 4",
            "--accepted and --drafted are about one workload, not a mix; give each part its alpha",
        ),
        (
            f"best-k {PAIR} --accepted 1735 --drafted 2648 -k 4 --need 1.5",
            "--need takes one alpha, not 0.8379+-0.0086; write -a 0.8379",
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


def plan_of_a_mix(folder, workload=""):
    plan = folder / "mix.yaml"
    plan.write_text(
        "schema: plan/1\ntarget: llama-3-8b\ndraft: llama-3.2-1b\nhardware: h100-sxm\n"
        f"workload:\n  mix:\n    - {{weight: 3, alpha: 0.8, context: 1k}}\n"
        f"    - {{weight: 1, alpha: 0.5}}\n{workload}"
    )
    return plan


def test_a_plan_whose_acceptance_no_part_of_its_mix_uses_is_refused(tmp_path, capsys):
    plan = plan_of_a_mix(tmp_path, "  alpha: 0.9\n")
    said = answered(capsys, ["best-k", str(plan)])
    refusal = "is not used: every part of the mix has its own; leave it out, here or in the parts"
    assert (said.code, said.err) == (2, f"specplan: {plan}:9:10: acceptance {refusal}\n")
    said = answered(capsys, ["best-k", str(plan_of_a_mix(tmp_path)), "-a", "0.4"])
    assert (said.code, said.err) == (2, f"specplan: --acceptance {refusal}\n")


def test_the_mix_of_a_plan_can_be_asked_for_again(tmp_path, capsys):
    plan = plan_of_a_mix(tmp_path)
    answer = json.loads(answered(capsys, ["best-k", str(plan), "-f", "json"]).out)
    mix = answer["inputs"]["mix"]
    assert mix["from"] == str(plan)
    parts = [flag for part in mix["value"].split("; ") for flag in ("--mix", part)]
    again = answered(capsys, ["best-k", *PAIR.split(), *parts, "-f", "json"])
    assert json.loads(again.out)["answer"] == answer["answer"]


def test_a_drafter_stored_in_what_no_rate_is_for_is_told_its_own_flag(tmp_path, capsys):
    text = (ROOT / "models" / "llama-3.2-1b.yaml").read_text("utf-8")
    card = tmp_path / "wide.yaml"
    renamed = text.replace("name: llama-3.2-1b", "name: wide").replace("dtype: bf16", "dtype: fp32")
    card.write_text(renamed)
    said = answered(capsys, ["best-k", *f"-t llama-3-8b -d {card} -g h800 -a 0.7".split()])
    assert said.code == 2
    assert said.err == (
        "specplan: --draft: h800-sxm has no rate for fp32 weights; its card has rates for bf16, "
        "fp16, fp8, int8; choose another dtype with --draft-dtype\n"
    )


def test_a_default_that_every_part_replaces_is_not_said(capsys):
    line = f"best-k {PAIR} --mix 1,alpha=0.5,batch=3 --mix 1,alpha=0.6,batch=4"
    assert "batch" not in answered(capsys, line.split()).err
    inputs = json.loads(answered(capsys, [*line.split(), "-f", "json"]).out)["inputs"]
    assert "batch" not in inputs
    assert inputs["context"]["from"] == "default"


def test_a_part_beyond_what_a_model_is_made_for_is_said(capsys):
    line = f"best-k {PAIR} --mix 1,alpha=0.5 --mix 1,alpha=0.5,context=9k"
    said = answered(capsys, line.split()).err
    assert "9,216 tokens are beyond the 8,192 that llama-3-8b is made for" in said


def test_inputs_are_enough_to_ask_again(capsys):
    line = f"best-k {PAIR} -a 0.7 --isl 1000 --osl 300 --objective throughput --k-max 9 -f json"
    inputs = json.loads(answered(capsys, line.split()).out)["inputs"]
    wanted = {"isl": "1000", "osl": "300", "objective": "throughput", "k_max": 9}
    wanted |= {"engine": "roofline", "context": "1150"}
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
    line = f"memory {PAIR} -a 0.7 --isl 1001 --osl 300 -f json"
    memory = json.loads(answered(capsys, line.split()).out)["answer"]
    assert [repr(memory[arm][0]["context"]) for arm in ("bills", "arms")] == ["1301", "1301"]
    line = f"best-k {PAIR} -a 0.7 --isl 1024 --osl 255 -f json"
    odd = json.loads(answered(capsys, line.split()).out)["answer"]
    assert odd["choice"]["context"] == 1151.5
    assert repr(odd["memory"]["context"]) == "1279"
    line = f"best-k {PAIR} --mix 1,alpha=0.5,context=1k -f json"
    mix = json.loads(answered(capsys, line.split()).out)
    assert repr(mix["answer"]["parts"][0]["context"]) == repr(mix["rows"][0]["context"]) == "1024"


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
        ({"k_max": "5"}, "'5' is out of range"),
    ],
)
def test_python_refuses_what_the_command_does(axes, message):
    named = {"target": "llama-3-8b", "draft": "llama-3.2-1b", "hardware": "h100"}
    with pytest.raises(UsageError, match=message):
        specplan.scenario(**{**named, "acceptance": 0.8, **axes})


def test_folders_of_cards_are_named_as_text_or_as_paths(tmp_path):
    assert specplan.load(tmp_path).folders == specplan.load(str(tmp_path)).folders
    with pytest.raises(SpecplanError, match="no folder"):
        specplan.load(["cards"])


def test_a_scenario_takes_folders_of_cards(tmp_path):
    text = (ROOT / "models" / "llama-3.2-1b.yaml").read_text("utf-8")
    (tmp_path / "models").mkdir()
    card = tmp_path / "models" / "own.yaml"
    card.write_text(text.replace("name: llama-3.2-1b", "name: own"))
    named = {"target": "llama-3-8b", "draft": "own", "hardware": "h100", "acceptance": 0.7}
    for folders in (str(tmp_path), tmp_path, [str(tmp_path)], specplan.load(tmp_path)):
        assert specplan.scenario(**named, catalogue=folders).setups[0].draft.label == "own"
    with pytest.raises(SpecplanError, match="no folder"):
        specplan.scenario(**named, catalogue=["cards"])


def test_a_plan_may_say_the_storage_of_another_drafter(tmp_path, capsys):
    plan = tmp_path / "plan.yaml"
    flags = f"{PAIR} -a 0.8 --draft-dtype fp8"
    assert answered(capsys, ["init", str(plan), *flags.split()]).code == 0
    assert answered(capsys, ["best-k", str(plan), "-d", "free"]).code == 0


def test_one_part_of_a_mix_needs_no_list():
    named = {"target": "llama-3-8b", "draft": "free", "hardware": "h100"}
    mixed = specplan.scenario(**named, mix="1,alpha=0.5")
    assert mixed.parts == specplan.scenario(**named, mix=["1,alpha=0.5"]).parts


def test_what_does_not_fit_is_marked_apart_from_its_figure(capsys):
    line = f"sweep {PAIR} -b 256 -a 0.8 -k 1,2,4"
    out = answered(capsys, line.split()).out
    assert "    k=1    k=2    k=4  best   verify by\n# 1.46x  1.66x  1.73x* k=4" in out


def test_a_capped_scan_says_up_to_where(capsys):
    small = "-t llama-3.2-1b -d free -g h200 -a 1 -c 1 -k 1"
    out = answered(capsys, ["gate", *small.split()]).out
    assert "every batch that fits" not in out
    assert "1,048,576" in out
