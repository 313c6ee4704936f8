"""An acceptance that a Python caller holds already, in place of the file that it came from."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import specplan
from specplan.cli.captures import one_capture
from specplan.domain.acceptance import Alpha, Decay, Lengths, Named
from specplan.errors import UsageError

FIXTURES = Path(__file__).parents[1] / "counters" / "fixtures"
SETUP = {"target": "llama-3-8b", "draft": "llama-3.2-1b", "hardware": "h100", "engine": "roofline"}
LOGS = ["vllm-0.33.log", "sglang-0.5.23.log"]  # rates by position, and an uncertain alpha


def fixture(name):
    return str(FIXTURES / name)


@pytest.mark.parametrize("log", LOGS)
def test_an_answer_its_value_and_a_capture_stand_for_the_file(log):
    path = fixture(log)
    (named,) = specplan.scenario(**SETUP, acceptance=path).acceptance
    assert isinstance(named, Named)
    answer = specplan.acceptance(path)
    for held in (answer, answer.value, one_capture(path).capture):
        for option in ("acceptance", "alpha"):
            (found,) = specplan.scenario(**SETUP, **{option: held}).acceptance
            assert found == named.model, "to the last digit"


def test_an_answer_knows_the_k_that_its_file_does_not_say():
    answer = specplan.acceptance(fixture("sglang-bench.jsonl"), k=3)
    (found,) = specplan.scenario(**SETUP, acceptance=answer).acceptance
    assert found.alpha == answer.value.alpha


def test_a_capture_of_tokens_per_round_alone():
    capture = replace(one_capture(fixture(LOGS[1])).capture, alpha=None, tokens_per_round=2.25, k=3)
    (found,) = specplan.scenario(**SETUP, acceptance=capture).acceptance
    assert found == Lengths(((3, 2.25),))


@pytest.mark.parametrize("held", [Alpha(0.123456789), Decay(0.8, 0.9)])
def test_a_model_of_acceptance_is_itself(held):
    assert specplan.scenario(**SETUP, acceptance=held).acceptance == (held,)


def test_an_answer_among_other_acceptances():
    answer = specplan.acceptance(fixture(LOGS[0]))
    found = specplan.scenario(**SETUP, acceptance=[answer, 0.5, {"decay": [0.8, 0.9]}]).acceptance
    assert [str(each)[:5] for each in found] == ["uncon", "0.5", "decay"]


def test_steps_are_calibrated_with_an_answer(tmp_path):
    pytest.importorskip("scipy")
    runs = tmp_path / "runs.csv"
    runs.write_text(
        "batch,context,k,step_s\n"
        "1,2048,0,.010\n8,2048,0,.011\n1,2048,1,.011\n8,2048,1,.0125\n1,2048,4,.014\n8,2048,4,.018\n"
    )
    answer = specplan.acceptance(fixture(LOGS[0]))
    held = specplan.calibrate(runs, acceptance=answer).value.best_k
    assert held == specplan.calibrate(runs, acceptance=fixture(LOGS[0])).value.best_k
    assert held


def test_what_is_no_acceptance_says_what_to_pass():
    two = specplan.acceptance(*map(fixture, LOGS))
    for held in (object(), two, specplan.best_k(specplan.scenario(**SETUP, acceptance=0.7))):
        with pytest.raises(UsageError, match="is no acceptance") as refused:
            specplan.scenario(**SETUP, acceptance=held)
        assert refused.value.hint == "pass the file's path"
