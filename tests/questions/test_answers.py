"""Answers from the packaged cards that a reviewer once found wanting."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import pytest

import specplan
from specplan.errors import UsageError
from specplan.questions.best_k import best_k
from specplan.questions.bills import fitting_tp

PAIR = {"target": "llama-3-8b", "draft": "llama-3.2-1b", "hardware": "h100-sxm"}


def scene(**axes):
    return specplan.scenario(**{**PAIR, "acceptance": 0.8, **axes})


def said(answer) -> str:
    lines = [line for s in answer.view.sections for line in getattr(s, "lines", ())]
    pairs = [f"{a}: {b}" for s in answer.view.sections for a, b in getattr(s, "pairs", ())]
    return "\n".join((answer.view.title, *lines, *pairs))


def test_a_drafter_on_more_gpus_than_its_target_is_paid_for():
    choice = best_k(scene(tp=1, draft_tp=4)).value.choice
    assert choice.tokens_per_s_per_gpu == pytest.approx(choice.tokens_per_s / 4)
    assert scene(tp=1, draft_tp=4).setups[0].where == "4x h100-sxm"


def test_many_margins_are_those_of_one():
    one = best_k(scene(k=(4, 5))).value.choice
    many = next(iter(best_k(scene(k=(4, 5), batch=(1, 2))).table.records()))
    assert many["margin"] == pytest.approx(one.margin_above, rel=1e-9)


def test_a_need_out_of_reach_is_the_answer_no():
    answer = best_k(scene(), need=20)
    assert not answer.ok
    assert answer.value.need.alpha_k is answer.value.need.draft_k is None
    assert "out of reach" in answer.view.title


def test_a_need_is_rounded_so_that_it_is_enough():
    answer = best_k(scene(), need=1.5)
    printed = float(re.search(r"at least ([\d.]+)", said(answer))[1])
    need = answer.value.need
    assert need.alpha <= printed < need.alpha + 1e-3
    reached = best_k(scene(acceptance=printed, k=(need.alpha_k,))).value.choice.speedup
    assert reached >= 1.5
    ratio = float(re.search(r"cost ratio ([\d.]+)", said(answer))[1])
    assert need.cost_ratio - 1e-3 < ratio <= need.cost_ratio
    faster = best_k(scene(draft=f"ratio:{ratio}", k=(need.draft_k,))).value.choice.speedup
    assert faster >= 1.5


def test_a_need_is_no_other_objective():
    with pytest.raises(UsageError, match="--need is a speedup at the batch asked"):
        best_k(scene(), need=1.5, objective="cost")


@pytest.mark.parametrize("question", [specplan.sweep, specplan.memory, specplan.gate])
def test_a_grid_question_takes_no_mix(question):
    mixed = scene(mix=["3", "1,alpha=0.5"])
    with pytest.raises(UsageError, match="takes no mix"):
        question(mixed)


def test_a_mix_says_which_part_does_not_fit():
    answer = best_k(scene(mix=["3", "1,alpha=0.5,batch=400"]))
    assert [part.fits for part in answer.value.parts] == [True, False]
    assert not answer.ok
    assert answer.view.sections[0].columns[-1] == "fits"


def test_the_sweep_knows_a_best_k_that_it_does_not_show():
    rows = list(specplan.sweep(scene(acceptance=[0.05, 0.7], k=[1, 2, 4])).table.records())
    assert {(row["alpha"], row["best_k"]) for row in rows} == {(0.05, 0), (0.7, 3)}


def test_what_does_not_fit_names_the_gpus_that_would_do():
    answer = best_k(scene(target="llama-3.3-70b"))
    assert answer.value.fitting_tp == 2
    assert "with --tp 2 it would fit" in said(answer)
    (setup,) = scene(target="llama-3.3-70b").setups
    # At tp 4 (76.97 - 35.28 - 0.62) GB over 738 MB a sequence are 55.
    assert fitting_tp(replace(setup, tp=2, draft_tp=2), 8192, 55) == 4
    assert fitting_tp(replace(setup, tp=2, draft_tp=2), 8192, 56) == 8
    assert fitting_tp(setup, 2048, 1e9) is None


def test_nothing_fits_so_there_is_no_capacity():
    assert best_k(scene(target="llama-3.3-70b")).value.throughput is None


def test_memory_compares_the_arms_of_every_setup():
    arms = specplan.memory(scene(context=["2k", "8k"], k=4)).value.arms
    assert [(a.context, a.largest_batch_plain) for a in arms] == [(2048, 226), (8192, 56)]
    (chosen,) = specplan.memory(scene()).value.arms
    assert chosen.k == 4


def test_an_interval_is_exact():
    uncertain = best_k(scene(acceptance="0.7+-0.05", k=3)).value.uncertain
    # Quantiles of a normal law at 5 % and 95 %: 1.6448536 standard deviations either way; the law
    # is cut at 1, six deviations up.
    gain = 1 / best_k(scene(acceptance=0.7, k=3)).value.choice.break_even_tokens
    for found, sign in ((uncertain.low, -1), (uncertain.high, 1)):
        alpha = 0.7 + sign * 1.6448536 * 0.05
        assert found == pytest.approx(gain * sum(alpha**i for i in range(4)), rel=1e-6)


def test_the_chance_of_a_loss_is_exact():
    value = best_k(scene(acceptance="0.3+-0.1", k=1)).value
    threshold = value.choice.break_even_tokens - 1  # E(alpha, 1) = 1 + alpha
    z = (threshold - 0.3) / 0.1
    cdf = [0.5 * math.erfc(-x / math.sqrt(2)) for x in (-3, z, 7)]
    expected = (cdf[1] - cdf[0]) / (cdf[2] - cdf[0])
    assert value.uncertain.loss_probability == pytest.approx(expected, abs=1e-9)


def test_a_rule_goes_no_further_than_the_longest_draft():
    answer = best_k(scene(draft="ratio:0.05", acceptance="0.5:0.95:0.05"))
    rule = answer.value.rule
    assert answer.value.reaches_k_max
    assert rule.at_most == 16
    misses = [
        abs(min(round(rule.a * (1 - row["alpha"]) ** -rule.b - rule.c), 16) - row["k"])
        for row in answer.table.records()
    ]
    assert max(misses) == rule.errs_by_at_most <= 1
    assert rule.loses_at_most <= 0.005
