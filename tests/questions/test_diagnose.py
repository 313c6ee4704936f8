"""A diagnosis: what it predicts, from whom it takes what ran, and how its figures hang together."""

from __future__ import annotations

import io
import json
import math
from dataclasses import asdict, replace
from itertools import pairwise

import pytest
from captures import capture, steady
from hypothesis import given, settings
from hypothesis import strategies as st

import specplan
from specplan.domain.observed import Kept, Observed
from specplan.errors import UsageError
from specplan.physics.round import time_rounds
from specplan.questions.deployment import experts_read, priced, schedule
from specplan.questions.weigh import Point, weigh
from specplan.render.look import Look
from specplan.render.plain import write

DENSE = {"target": "llama-3.1-8b", "draft": "eagle3", "hardware": "h100"}
RAN = {
    "target": "meta-llama/Llama-3.1-8B-Instruct",
    "draft": "yuhuili/EAGLE3-LLaMA3.1-Instruct-8B",
    "method": "eagle3",
    "k": 3,
    "version": "0.23.1",
    "gpu": "NVIDIA H100 80GB HBM3",
}


def ran(**more):
    """A capture of a vLLM log with everything in it."""
    given = {
        "k": 3,
        "tokens_per_round": 2.35,
        "tokens_per_round_low": 2.3,
        "tokens_per_round_high": 2.4,
        "per_position": (0.65, 0.42, 0.28),
        "effective_rounds": 4000.0,
        "batch": steady(16.0, 3.0, 24.0),
        "tokens_per_s": steady(2000.0),
        "told": RAN,
        "sha256": "00ff",
    }
    return capture(**{**given, **more})


def rules(answer):
    return {row["rule"] for row in answer.table.records()}


# What is predicted


def test_the_prediction_is_that_of_best_k_and_memory():
    answer = specplan.diagnose(**DENSE, engine="vllm", batch=8, k=8, acceptance=0.7)
    scene = specplan.scenario(**DENSE, engine="vllm", batch=8, acceptance=0.7)
    best = specplan.best_k(scene).value
    fixed = specplan.best_k(replace(scene, k=(8,))).table
    value = answer.value
    assert (value.best_k, value.best_speedup) == (best.choice.k, best.choice.speedup)
    (row,) = (row for row in fixed.records() if row["k"] == 8)
    assert value.speedup == pytest.approx(row["speedup"], rel=1e-12)
    assert value.break_even_tokens_per_round == pytest.approx(row["break_even_tokens"], rel=1e-12)
    assert value.predicted_tokens_per_s == pytest.approx(8 / row["tpot_s"], rel=1e-12)
    assert value.memory.draft_weights_bytes == best.memory.draft_weights_bytes
    assert (value.paying, value.by) == (True, "predicted")


def test_a_tree_is_drafted_to_its_depth_and_verified_to_its_width():
    setup = specplan.scenario(**DENSE, engine="sglang", acceptance=0.7).setups[0]
    seen = Observed(engine="sglang", k=5, topk=4, draft_tokens=16, kept=Kept(tau=3.4))
    scene = specplan.scenario(**DENSE, engine="sglang", batch=4, acceptance=0.7)
    point = Point(setup, 2048, 4, scene.acceptance[0])
    found = priced(point, seen, range(9)).predicted
    deep = time_rounds(setup, (2048,), (4,), (5,))
    wide = time_rounds(setup, (2048,), (4,), (15,))
    assert found.round_s == pytest.approx(deep.draft_s.item() + wide.verify_s.item())
    assert found.chain_round_s == pytest.approx(deep.round_s.item())
    assert found.speedup == pytest.approx(3.4 * deep.plain_s.item() / found.round_s)


def test_experts_read_by_a_pass():
    scene = specplan.scenario(
        target="qwen3-30b-a3b", draft="eagle3", hardware="h100", engine="vllm", acceptance=0.7
    )
    setup = scene.setups[0]
    assert experts_read(setup, 1, 1) == pytest.approx(8 / 128)
    effective = 4 * (1 + setup.engine.overlap * 3)  # by hand: 1 - (1 - top/N)^T_eff
    assert experts_read(setup, 4, 4) == pytest.approx(1 - (1 - 8 / 128) ** effective)
    dense = specplan.scenario(**DENSE, engine="vllm", acceptance=0.7).setups[0]
    assert experts_read(dense, 4, 4) == 0


@settings(max_examples=8)
@given(
    alpha=st.floats(0.2, 0.95),
    context=st.sampled_from([512, 4096, 32768]),
    target=st.sampled_from(["llama-3.1-8b", "qwen3-30b-a3b"]),
)
def test_a_schedule_covers_every_batch_and_loses_little(alpha, context, target):
    scene = specplan.scenario(
        target=target,
        draft="eagle3",
        hardware="h100",
        engine="vllm",
        context=context,
        acceptance=alpha,
    )
    weighed = weigh(Point(scene.setups[0], context, 1, scene.acceptance[0]), tuple(range(9)))
    ranges, lost = schedule(weighed)
    largest = int(weighed.bill.largest)
    assert lost in {0.02, 0.05, 0.1}
    assert ranges[0].first_batch == 1
    assert ranges[-1].last_batch == largest
    for before, after in pairwise(ranges):
        assert after.first_batch == before.last_batch + 1
        assert after.k != before.k
    for one in ranges:  # plain Python at both ends and in the middle
        for batch in {one.first_batch, one.last_batch, (one.first_batch + one.last_batch) // 2}:
            timing = time_rounds(scene.setups[0], (context,), (batch,), weighed.k)
            speedups = (weighed.tokens * timing.gain[0, 0]).tolist()
            kept = speedups[weighed.k.index(one.k)]
            assert kept >= (1 - lost) * max(speedups) - 1e-9
            assert kept >= 1 - 1e-6


def test_uncertain_acceptance_widens_the_speedup():
    value = specplan.diagnose(**DENSE, engine="vllm", k=3, acceptance="0.7+-0.05").value
    assert value.speedup_low < value.speedup < value.speedup_high
    # alpha 0.7 -+ 0.098: E(3) = 1 + a + a^2 + a^3, by hand
    low, mean, high = (1 + a + a**2 + a**3 for a in (0.602, 0.7, 0.798))
    assert value.speedup_low / value.speedup == pytest.approx(low / mean, rel=1e-6)
    assert value.speedup_high / value.speedup == pytest.approx(high / mean, rel=1e-6)


# What ran: the capture, the flags, the plan


def test_a_capture_tells_of_its_deployment():
    answer = specplan.diagnose(ran())
    inputs = {name: given.value for name, given in answer.inputs.items()}
    assert inputs["target"] == "llama-3.1-8b"
    assert inputs["draft"] == "eagle3-llama-3.1-8b"
    assert inputs["hardware"] == "h100-sxm"
    assert inputs["engine"] == "vllm@0.23.1"
    assert inputs["batch"] == "16"
    assert inputs["k_in_use"] == 3
    assert inputs["acceptance"] == "unconditional:0.65,0.42,0.28"
    assert answer.inputs["capture"].sha256 == "00ff"
    said = next(note for note in answer.notes if "says" in note)
    assert said.startswith("server.log says target llama-3.1-8b, hardware h100-sxm, draft eagle3-")
    value = answer.value
    assert value.seen_tokens_per_s == 2000.0
    gap, predicted = value.gap, value.predicted_tokens_per_s
    assert gap.relative == pytest.approx(2000.0 / predicted - 1)
    assert gap.missing_s == pytest.approx(2.35 * 16 / 2000 - 16 * 2.35 / predicted)
    low, high = gap.at_loads
    assert (low.batch, high.batch) == (3.0, 24.0)
    assert low.predicted_tokens_per_s < predicted < high.predicted_tokens_per_s
    assert value.speedup_low == pytest.approx(value.speedup * 2.3 / 2.35)


def test_flags_stand_above_a_capture():
    answer = specplan.diagnose(ran(), batch=2, k=5, acceptance=0.8, engine="sglang")
    value = answer.value
    assert (value.batch, value.k, value.engine) == (2, 5, "sglang")
    assert value.tau == pytest.approx(sum(0.8**n for n in range(6)))
    assert value.gap.at_loads == ()


def test_names_that_no_card_has_are_said_and_nothing_is_predicted():
    told = {**RAN, "target": "/models/secret", "gpu": "Abacus 3000"}
    answer = specplan.diagnose(ran(told=told))
    assert answer.value.predicted_tokens_per_s is None
    notes = " ".join(answer.notes)
    assert "the target '/models/secret' of the log names no card" in notes
    assert "the accelerator 'Abacus 3000' of the log names no card" in notes
    assert "nothing is predicted without --target, --hardware" in notes
    assert answer.value.paying is None
    assert answer.ok


def test_a_method_stands_for_the_only_head_or_a_lookup():
    by_kind = specplan.diagnose(ran(told={**RAN, "draft": RAN["target"], "method": "eagle3"}))
    assert by_kind.inputs["draft"].value == "eagle3-llama-3.1-8b"
    found = specplan.diagnose(ran(told={**RAN, "draft": None, "method": "ngram"}))
    assert found.inputs["draft"].value == "ngram"
    absent = {name: value for name, value in RAN.items() if name != "draft"}
    none = specplan.diagnose(ran(told={**absent, "method": "mtp"}))
    assert "no card of kind mtp drafts for llama-3.1-8b" in " ".join(none.notes)


def test_an_old_version_of_a_log_takes_the_newest_habits():
    answer = specplan.diagnose(ran(told={**RAN, "version": "0.5.1"}))
    assert answer.value.engine_version == "0.5.1"
    assert answer.inputs["engine"].value == "vllm"
    with pytest.raises(UsageError, match="older than its card goes"):
        specplan.diagnose(ran(), engine="vllm@0.5")


def test_a_capture_without_positions_is_its_length_at_k():
    answer = specplan.diagnose(ran(per_position=(), alpha=0.64))
    assert answer.inputs["acceptance"].value == "length:2.35@3"


def test_two_captures_are_before_and_now():
    before = ran(
        tokens_per_round=2.9, tokens_per_round_low=2.85, tokens_per_round_high=2.95, source="a.log"
    )
    answer = specplan.diagnose(before, ran())
    assert "SD015" in rules(answer)
    assert (answer.inputs["before"].value, answer.inputs["after"].value) == ("a.log", "server.log")
    assert "SD015" not in rules(specplan.diagnose(ran(), before))


def test_a_gap_has_its_prompts():
    value = specplan.diagnose(ran(), isl=4000, osl=500).value
    assert value.context == 4500  # the end, which the drafter has to reach
    assert value.gap.prompts_s > 0
    # by hand: for every 500 tokens of a sequence a prompt of 4,000, in rounds of 2.35 tokens
    per_request = value.gap.prompts_s * 500 / 2.35 / 16
    assert 0.02 < per_request < 0.5
    assert specplan.diagnose(ran()).value.gap.prompts_s is None


def test_measured_figures_stand_above_predicted_ones():
    value = specplan.diagnose(ran(), plain_tokens_per_s=2500).value
    assert (value.paying, value.by, value.speedup) == (False, "measured", 0.8)
    assert value.speedup_low is None
    assert value.predicted_speedup > 1
    assert value.break_even_tokens_per_round == pytest.approx(2.35 / 0.8)


@pytest.mark.parametrize(
    ("seen", "plain", "speedup"),
    [
        ({"seen_tokens_per_s": 150}, {"plain_tokens_per_s": 100}, 1.5),
        ({"seen_tpot": "8ms"}, {"plain_tpot": "12 ms"}, 1.5),
        ({"seen_tpot": 0.008}, {"plain_tokens_per_s": 400}, 1.25),
        ({"seen_speedup": 1.1}, {}, 1.1),
    ],
)
def test_rates_and_times_say_the_same(seen, plain, speedup):
    value = specplan.diagnose(engine="vllm", batch=4, **seen, **plain).value
    assert value.speedup == pytest.approx(speedup)


# What is refused


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "--engine: which engine runs it?"),
        ({"engine": "roofline"}, "--engine: roofline is no engine that runs anything"),
        ({"engine": "vllm"}, "nothing to diagnose"),
        ({"engine": "vllm", "acceptance": 0.7}, "--k: which draft length was in use?"),
        ({"engine": "vllm", "acceptance": 0.7, "k": "2,3"}, "--k: '2,3' is no k in use"),
        ({"engine": "vllm", "acceptance": 0.7, "k": 0}, "--k: '0' is no k in use"),
        ({"engine": "vllm", "acceptance": "0.6,0.7", "k": 3}, "one acceptance, not 2"),
        (
            {"engine": "vllm", "target": "llama-3-8b", "acceptance": 0.7, "k": 3},
            "--draft: what drafts?",
        ),
        (
            {**DENSE, "engine": "vllm", "acceptance": 0.7, "k": 3, "batch": "1,2"},
            "one point, not 2 of batch",
        ),
        ({"engine": "vllm", "seen_speedup": 0}, "--seen-speedup: 0 is not above 0"),
        ({"engine": "vllm", "seen_tpot": "8"}, "--seen-tpot: '8' has no unit"),
        ({"engine": "vllm", "schedule": "5"}, "--schedule: '5' is no schedule"),
        ({"engine": "vllm", "schedule": "[[4,1,2]]"}, "'[[4,1,2]]' is no schedule"),
        ({"engine": "vllm", "seen_speedup": 2, "before": "0.7"}, "an acceptance without its k"),
        (
            {**DENSE, "draft": "none", "engine": "vllm", "acceptance": 0.7, "k": 3},
            "--draft: none drafts nothing: there is no speculation to diagnose",
        ),
        ({"engine": "vllm", "topk": 2.5, "seen_speedup": 2}, "--topk: 2.5 is no whole number"),
        ({"engine": "vllm", "topk": 4, "seen_speedup": 2}, "--draft-tokens: how many tokens does"),
        (
            {"engine": "sglang", "draft_tokens": 16, "k": 5, "seen_speedup": 2},
            "--topk: 16 tokens of k = 5 are a tree: how many children has a node?",
        ),
    ],
)
def test_what_is_refused(options, message):
    with pytest.raises(specplan.SpecplanError) as raised:
        specplan.diagnose(**options)
    assert message in str(raised.value)


def test_three_captures_are_too_many():
    with pytest.raises(UsageError, match="3 captures"):
        specplan.diagnose(ran(), ran(), ran())


def test_nothing_in_an_answer_is_no_number():
    for answer in (
        specplan.diagnose(ran(), isl=4000, osl=500),
        specplan.diagnose(engine="vllm", acceptance="length:1@4"),
        specplan.diagnose(**DENSE, engine="vllm", batch=4096, k=3, acceptance=0.7),
    ):
        text = json.dumps(asdict(answer.value), allow_nan=False)
        assert "NaN" not in text
        for record in answer.table.records():
            assert all(v is None or isinstance(v, str) or math.isfinite(v) for v in record.values())


def test_a_batch_that_does_not_fit_is_an_error():
    answer = specplan.diagnose(**DENSE, engine="vllm", batch=4096, k=3, acceptance=0.7)
    assert "SD026" in rules(answer)


# How it is told


def page(answer):
    out = io.StringIO()
    write(answer, out, Look(color=False, width=80, unicode=True))
    return out.getvalue()


def test_what_contradicts_the_prediction_is_the_headline():
    slow = page(specplan.diagnose(ran(tokens_per_s=steady(1500.0))))
    assert slow.startswith("Whether speculation pays is not known: 0.73x to 2.12x ")
    assert "0.73x if plain steps are as predicted, 2.12x if off as much" in slow
    assert "(what follows is of the prediction, not of what was seen)" in slow
    measured = specplan.diagnose(ran(tokens_per_s=steady(1500.0)), plain_tokens_per_s=1550)
    assert page(measured).startswith("Speculation loses now: 0.97x measured  ")  # and no other k
    assert "a plain step took" in page(measured)
    assert not {"SD004"} & rules(measured)


def test_what_does_not_fit_is_the_headline():
    said = page(specplan.diagnose(**DENSE, engine="vllm", batch=4096, k=3, acceptance=0.7))
    assert said.startswith("Batch 4,096 does not fit; it would pay: ")


def test_a_tree_has_no_chain_to_compare_with():
    answer = specplan.diagnose(
        **DENSE, engine="sglang", batch=16, topk=8, draft_tokens=32, acceptance="length:3.2@5"
    )
    value = answer.value
    assert (value.best_k, value.loads, value.tree_tokens) == (None, (), 32)
    assert value.k == 5
    lines = page(answer).splitlines()
    assert "a tree 5 deep of 32 tokens, batch 16" in lines[2]
    pays = next(line for line in lines if line.startswith("  pays"))
    setup = specplan.scenario(**DENSE, engine="sglang", acceptance=0.7).setups[0]
    for batch, gains in ((value.pays_to, True), (value.pays_to + 1, False)):  # plain Python
        deep = time_rounds(setup, (2048,), (batch,), (5,))
        wide = time_rounds(setup, (2048,), (batch,), (31,))
        round_s = deep.draft_s.item() + wide.verify_s.item()
        assert (3.2 * deep.plain_s.item() / round_s >= 1) is gains
    assert f"up to batch {value.pays_to}" in pays


def test_the_sequences_that_fit_are_the_same_in_facts_and_findings():
    answer = specplan.diagnose(
        target="llama-3.1-70b", draft="llama-3.2-1b", hardware="h100", engine="vllm", tp=8,
        draft_tp=1, k=4, acceptance=0.6,
    )  # fmt: skip
    (row,) = (row for row in answer.table.records() if row["rule"] == "SD026")
    memory = answer.value.memory
    assert row["consequence"].startswith(
        f"{memory.largest_batch_plain} -> {memory.largest_batch} sequences at full context"
    )
    assert answer.value.pays_to <= memory.largest_batch


def test_why_that_k_is_best():
    value = specplan.diagnose(**DENSE, engine="vllm", batch=8, k=3, acceptance=0.7).value
    k = value.best_k
    assert value.best_adds_tokens == pytest.approx(0.7**k)
    assert value.next_adds_tokens == pytest.approx(0.7 ** (k + 1))
    # a draft is worth it while it adds more tokens a step than a round has
    assert value.best_adds_tokens / value.best_adds_steps > value.best_speedup
    assert value.next_adds_tokens / value.next_adds_steps < value.best_speedup


def test_a_tie_gains_nothing():
    said = page(specplan.diagnose(engine="vllm", seen_speedup=1.003))
    assert said.startswith("Speculation gains nothing now: 1.00x measured")


def test_what_would_tell_whether_it_pays():
    said = page(specplan.diagnose(ran(told={})))
    assert "pays if       a plain step takes over 8 ms: a round takes 18.8 ms" in said
    # by hand: 2.35 x 16 / 2,000 = 18.8 ms, and over 2.35 tokens
    bare = page(specplan.diagnose(engine="vllm", acceptance="length:2.5@3"))
    assert "pays if       a round takes less than 2.50 plain steps" in bare


def test_graphs_that_were_captured_narrower_cost_launches():
    asked = {**DENSE, "engine": "vllm", "batch": 16, "k": 3, "acceptance": 0.7}
    narrow = specplan.diagnose(**asked, graphs_up_to=8)
    assert "SD024" in rules(narrow)
    assert "SD024" not in rules(specplan.diagnose(**asked))
    assert narrow.value.round_times.eager_s >= 0


@pytest.mark.parametrize(
    ("claims", "words"),
    [
        ({"acceptance": "length:1.5@3", "seen_speedup": 2.1}, "2.10x is more than a round yields"),
        ({"seen_speedup": 1.5, "plain_eager": True}, "1.50x is over an eager run"),
    ],
)
def test_runs_that_cannot_be_compared_say_nothing(claims, words):
    answer = specplan.diagnose(engine="vllm", **claims)
    assert answer.value.paying is None
    assert page(answer).startswith(f"Whether speculation pays is not known: {words}")
    assert "break-even" not in page(answer)


def test_times_between_tokens_are_told_and_make_a_round():
    answer = specplan.diagnose(
        engine="vllm", acceptance="length:1.9@1", seen_tpot="9ms", plain_tpot="12ms"
    )
    assert answer.value.round_s == pytest.approx(1.9 * 0.009)
    assert "with          9 ms a token seen" in page(answer)
    assert "without       12 ms a token seen" in page(answer)
    assert "break-even    1.42 tokens a round" in page(answer)  # 1.9 x 9 / 12 = 1.425
