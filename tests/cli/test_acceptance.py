"""The grammar of -a, in flags, plans and Python."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typed import answered

import specplan
from specplan.cli.acceptance import KINDS, acceptances
from specplan.domain.acceptance import (
    Alpha,
    Burst,
    Conditional,
    Decay,
    Lengths,
    Unconditional,
)
from specplan.domain.acceptance_parts import ByContext, Mixture
from specplan.domain.acceptance_text import acceptance_text
from specplan.errors import SpecplanError, UsageError

WHAT = {"target": "llama-3-8b", "draft": "llama-3.2-1b", "hardware": "h100-sxm"}
BEST = ["best-k", "-t", "llama-3-8b", "-d", "llama-3.2-1b", "-g", "h100", "-q", "-f", "json"]


@pytest.mark.parametrize(
    ("text", "models"),
    [
        ("0.7", [Alpha(0.7)]),
        ("0.6,0.8", [Alpha(0.6), Alpha(0.8)]),
        ("0.7+-0.05", [Alpha(0.7, 0.05)]),
        ("conditional:.68,.57", [Conditional((0.68, 0.57))]),
        ("conditional:.6,.7", [Conditional((0.6, 0.7))]),
        ("unconditional:.8,.6,.5", [Unconditional((0.8, 0.6, 0.5))]),
        ("decay:.82,.95", [Decay(0.82, 0.95)]),
        ("length:2.9@4", [Lengths(((4, 2.9),))]),
        ("length:2.6@2,1.9@1", [Lengths(((1, 1.9), (2, 2.6)))]),
        ("burst:.2@3.1", [Burst(0.2, 3.1)]),
        ("context:.6@32k,.8@2k", [ByContext(((2048, Alpha(0.8)), (32768, Alpha(0.6))))]),
        ("mixture:.8@0.7,.5@0.3", [Mixture(((0.7, Alpha(0.8)), (0.3, Alpha(0.5))))]),
        (
            "mixture:decay:.8,.9@2;length:2.9@4@1",
            [Mixture(((2, Decay(0.8, 0.9)), (1, Lengths(((4, 2.9),)))))],
        ),
    ],
)
def test_what_may_be_written(text, models):
    assert list(acceptances((text,))) == models
    for model in models:  # what an answer prints is read back as the same
        if not model.sd:
            assert list(acceptances((str(model),))) == [model]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            ".8,.6,.5",
            "a falling list, .8,.6,.5, looks like rates per position; expected alphas that rise, "
            "one for each workload; given all before it: conditional:.8,.6,.5; of all rounds, as "
            "engines print: unconditional:.8,.6,.5",
        ),
        (
            "unconditional:.5,.6",
            "position 2 is kept in 0.6 of the rounds and position 1 in 0.5; expected rates that "
            "never rise: a token is kept only if all before it are; rates given all before are "
            "conditional:",
        ),
        ("unconditional:80", "the unconditional rate of position 1, 80 is no probability"),
        ("conditional:", "'' is not a number"),
        ("length:6@4", "6 tokens a round at k = 4 cannot be; expected 1 to 5, the bonus token"),
        ("length:0.6@1", "expected 1 to 2, the bonus token included; without it write 1.6"),
        ("length:2.9", "'2.9' lacks a part; expected length:2.9@4"),
        ("length:2@1.5", "k 1.5 is no whole number"),
        ("length:2@1,2@1", "k 1 after 1; expected k that rise, none twice"),
        ("decay:.8", "a decay of 1 figures; expected decay:.82,.95"),
        ("decay:.8,3", "a decay by 3 a position; expected 0..2"),
        ("burst:2@3", "the share of rounds that fire 2 is no probability"),
        ("burst:.2@-1", "a burst of -1 tokens"),
        ("context:.8@0", "'0' is no context; expected tokens such as 2k"),
        ("context:.8@2k,.7@2k", "context 2048 after 2048"),
        ("mixture:.8@0", "share 0 of the requests; expected more than 0"),
        ("mixture:.8+-.1@1", "takes one alpha, not 0.8+-0.1"),
        ("mixture:.1:.3:.1@1", "'.1:.3:.1' is 3 models"),
        ("conditonal:.8", "unknown acceptance 'conditonal'; did you mean 'conditional'?"),
        ("chat", "'chat' is no acceptance; expected 0.7, 0.6,0.8"),
    ],
)
def test_what_is_refused(text, said):
    with pytest.raises(SpecplanError) as caught:
        acceptances((text,))
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.7, "0.7"),
        ("eagle3/mt-bench", "eagle3/mt-bench"),
        ({"alpha": 0.7}, "0.7"),
        ({"curve": "eagle3/mt-bench"}, "eagle3/mt-bench"),
        ({"conditional": [0.8, 0.7]}, "conditional:0.8,0.7"),
        ({"unconditional": [0.8, 0.6]}, "unconditional:0.8,0.6"),
        ({"decay": [0.82, 0.95]}, "decay:0.82,0.95"),
        ({"length": 2.9, "at_k": 3}, "length:2.9@3"),
        ({"lengths": {1: 1.8, "2": 2.4}}, "length:1.8@1,2.4@2"),
        ({"fire": 0.2, "burst": 3.1}, "burst:0.2@3.1"),
        (
            {"context": {"2k": 0.8, "32k": {"decay": [0.6, 0.9]}}},
            "context:0.8@2k;decay:0.6,0.9@32k",
        ),
        (
            {"mixture": [{"share": 0.7, "alpha": 0.8}, {"share": 0.3, "conditional": [0.5, 0.4]}]},
            "mixture:0.8@0.7;conditional:0.5,0.4@0.3",
        ),
    ],
)
def test_mappings_say_the_same_as_texts(value, text):
    assert acceptance_text(value) == text
    if "mt-bench" not in text:
        acceptances((text,))


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ([0.8, 0.7], "acceptance is a bare list"),
        (
            {"conditinal": [0.8]},
            "unknown key 'conditinal' in acceptance; did you mean 'conditional'?",
        ),
        ({"length": 2.9}, "acceptance says length; expected"),
        ({}, "acceptance says nothing"),
        ({"decay": [0.8]}, "decay has 1 figures; expected 2"),
        ({"conditional": ["x"]}, "conditional: 'x' is no number"),
        ({"alpha": True}, "alpha: True is no number"),
        ({"lengths": [1.8]}, "lengths is no mapping"),
        ({"context": 0.8}, "context is no mapping"),
        ({"mixture": {"share": 1}}, "mixture is no list"),
        ({"mixture": [{"alpha": 0.8}]}, "a part of a mixture without share"),
        (None, "None is no acceptance"),
        (True, "True is no acceptance"),
    ],
)
def test_mappings_that_say_nothing(value, said):
    with pytest.raises(UsageError) as caught:
        acceptance_text(value)
    assert said in str(caught.value)


def test_flags_plans_and_python_agree(tmp_path, capsys):
    plan = tmp_path / "plan.yaml"
    lines = [
        "schema: plan/1",
        *(f"{key}: {name}" for key, name in WHAT.items()),
        "workload: {batch: 1, context: 2k, acceptance: {fire: 0.4, burst: 3.1}}",
    ]
    plan.write_text("\n".join(lines), encoding="utf-8")
    by_flag = json.loads(answered(capsys, [*BEST, "-a", "burst:.4@3.1"]).out)
    by_plan = json.loads(answered(capsys, ["best-k", str(plan), "-q", "-f", "json"]).out)
    assert by_flag["answer"] == by_plan["answer"]
    scene = specplan.scenario(**WHAT, acceptance={"fire": 0.4, "burst": 3.1})
    assert specplan.best_k(scene).value.choice.speedup == by_flag["answer"]["choice"]["speedup"]
    assert by_flag["answer"]["choice"]["alpha"] is None
    assert by_flag["answer"]["choice"]["acceptance"] == "burst:0.4@3.1"


def test_a_mistake_in_a_mapping_has_its_place(tmp_path, capsys):
    plan = tmp_path / "plan.yaml"
    plan.write_text(
        "schema: plan/1\ntarget: llama-3-8b\ndraft: llama-3.2-1b\nhardware: h100-sxm\n"
        "workload:\n  acceptance: {conditinal: [0.8]}\nexpect: {fits: true}\n",
        encoding="utf-8",
    )
    said = answered(capsys, ["check", str(plan)])
    assert said.code == 2
    assert "plan.yaml:6:15: SP101 unknown key 'conditinal' in acceptance" in said.out


def test_what_is_extrapolated_is_said(capsys):
    said = json.loads(answered(capsys, [*BEST, "-a", "length:2.9@4"]).out)
    (told,) = said["basis"]["extrapolated"]
    assert told.startswith("acceptance length:2.9@4 was measured up to k = 4: beyond it stands the")
    within = json.loads(answered(capsys, [*BEST, "-a", "length:2.9@4", "-k", "1:4"]).out)
    assert within["basis"]["extrapolated"] == []
    outside = json.loads(answered(capsys, [*BEST, "-a", "context:.8@4k,.7@8k"]).out)
    assert "is known at contexts of 4,096 to 8,192" in outside["basis"]["extrapolated"][0]


def test_break_even_is_in_tokens_for_any_acceptance(capsys):
    said = json.loads(answered(capsys, [*BEST, "-a", "decay:.9,.8"]).out)
    choice = said["answer"]["choice"]
    assert choice["break_even_alpha"] is None
    assert choice["break_even_tokens"] == pytest.approx(
        choice["tokens_per_round"] / choice["speedup"]
    )


def test_an_iid_alpha_and_its_length_choose_alike(capsys):
    """A curve of which every point is that of an alpha answers as the alpha does."""
    iid = json.loads(answered(capsys, [*BEST, "-a", "0.8"]).out)
    same = json.loads(answered(capsys, [*BEST, "-a", "decay:.8,1"]).out)
    assert same["answer"]["choice"]["k"] == iid["answer"]["choice"]["k"]
    assert [row["speedup"] for row in same["rows"]] == pytest.approx(
        [row["speedup"] for row in iid["rows"]]
    )


def test_every_kind_is_in_the_help(capsys):
    said = answered(capsys, ["best-k", "--help"])
    assert [kind for kind in KINDS if f"{kind}:" not in said.out.replace("\n", " ")] == []
    assert Path  # the plans above are real files


@pytest.mark.parametrize(
    "value",
    [
        {
            "mixture": [
                {"share": 0.5, "context": {"2k": 0.8, "32k": 0.6}},
                {"share": 1, "alpha": 0.2},
            ]
        },
        {"context": {"2k": {"mixture": [{"share": 1, "alpha": 0.8}]}, "8k": {"decay": [0.8, 0.9]}}},
    ],
)
def test_parts_may_have_parts(value):
    text = acceptance_text(value)
    (model,) = acceptances((text,))
    assert list(acceptances((str(model),))) == [model]


@pytest.mark.parametrize(
    "flags",
    [
        ["conditional:.6,.6"],
        ["unconditional:.5,.4"],
        ["decay:.82,.95"],
        ["length:1.8@1,2.4@2"],
        ["context:.8@2k,.6@32k"],
        ["mixture:conditional:.8,.7@.5;.5@.5"],
        ["0.6,0.8", "burst:.2@3.1"],
        ["0.7+-0.05"],
    ],
)
def test_init_writes_any_acceptance_and_check_reads_it(tmp_path, capsys, flags):
    plan = tmp_path / "plan.yaml"
    words = [word for flag in flags for word in ("-a", flag)]
    made = ["init", str(plan), *BEST[1:7], *words, "-b", "1,16", "-q"]
    assert answered(capsys, made).code == 0
    said = answered(capsys, ["check", str(plan), "-f", "json"])
    assert said.code == 0, said.out
    assert json.loads(said.out)["answer"]["fail"] == 0


def test_a_plan_says_which_acceptance_an_expectation_is_about(tmp_path, capsys):
    plan = tmp_path / "plan.yaml"
    plan.write_text(
        "schema: plan/1\ntarget: llama-3-8b\ndraft: llama-3.2-1b\nhardware: h100-sxm\n"
        'workload: {alpha: ["conditional:.8,.7", "0.3"]}\n'
        "expect:\n  - at: {acceptance: {conditional: [0.8, 0.7]}}\n    min_speedup: 1.5\n",
        encoding="utf-8",
    )
    said = json.loads(answered(capsys, ["check", str(plan), "-f", "json"]).out)
    assert (said["answer"]["fail"], said["answer"]["unsure"]) == (0, 1)


def test_what_lies_beside_a_mistake_is_told(capsys):
    said = answered(capsys, [*BEST, "-a", "0.7,conditional:.8,.7"])
    assert (said.code, "repeat -a for each" in said.err) == (2, True)
    said = answered(capsys, [*BEST, "-a", "mixture:conditional:.8,.7@0.5,.5@0.5"])
    assert (said.code, "parts that hold commas are set apart by ;" in said.err) == (2, True)
