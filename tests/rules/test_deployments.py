"""Each rule about a deployment: silent on a sound one, and in the very words where it finds."""

from __future__ import annotations

from dataclasses import replace

import pytest

from specplan.domain.habits import Habits
from specplan.domain.matched import Load
from specplan.domain.observed import Kept, Observed, Pace, Tier
from specplan.rules.claims import incomparable
from specplan.rules.deployed import Deployed, Predicted
from specplan.rules.deployments import DEPLOYMENT_RULES, symptoms
from specplan.rules.registry import RULES

GIB = float(2**30)
HABITS = Habits(
    title="Quick",
    draft_tp="1 or the target's",
    running_cap=48,
    schedule_price="graphs are lost",
    set_full_graphs="end it in k = 1",
)
SOUND = Observed(
    engine="quick",
    way="eagle3",
    k=3,
    kept=Kept(tau=2.6, low=2.5, high=2.7, per_position=(0.75, 0.5, 0.35), rounds=5000.0),
    batch=8.0,
    context=1024.0,
    spec=Pace(tokens_per_s=1600.0, tpot_s=0.005, itl_s=0.0055, ttft_s=0.2),
    plain=Pace(tokens_per_s=1000.0, tpot_s=0.008, ttft_s=0.19),
    tp=1,
    draft_tp=1,
)
MODEL = Predicted(
    k=3,
    speedup=1.6,
    low=1.5,
    high=1.7,
    best_k=3,
    best_speedup=1.6,
    band=0.1,
    batch=8.0,
    context=1024.0,
    tokens_per_s=1600.0,
    plain_tokens_per_s=1000.0,
    plain_step_s=0.008,
    round_s=0.013,
    draft_s=0.003,
    verify_s=0.01,
    host_s=0.0,
    eager_s=0.0,
    graph_rows=512,
    cost_at_one=1.2,
    pays_to=100,
    loses_from=101,
    pays_from=None,
    plain_experts=0.0,
    round_experts=0.0,
    drafter_exchange_s=0.0,
    alone_round_s=0.013,
    trained=8192.0,
    chain_round_s=None,
    largest=195,
    largest_plain=200,
    draft_bytes=GIB,
    spread_draft_bytes=GIB,
    draft_prefill_share=0.05,
    bound=False,
)
SLOW = {"spec": Pace(tokens_per_s=800.0)}


def told(seen=None, model=None, **more):
    """What the rules say of the sound deployment with these differences."""
    seen = replace(SOUND, **(seen or {}))
    model = None if model is None else replace(MODEL, **model)
    return {
        one.rule: one for one in symptoms(Deployed(seen=seen, habits=HABITS, model=model, **more))
    }


FOUND = {
    "SD001": (SLOW, None, "error", "800 tok/s with, 1,000 without; 20 % fewer tokens a second"),
    "SD002": (
        {"spec": Pace(tokens_per_s=500.0)},
        None,
        "error",
        "a round takes 41.6 ms, a plain step 8 ms: 5.20 plain steps a round, which yields 2.60 "
        "tokens; even a perfect drafter loses at k = 3: 4 tokens are 0.77x",
    ),
    "SD003": (
        {},
        {"best_k": 1, "best_speedup": 2.0},
        "warning",
        "1.60 of 3 drafts are kept a round, 53 %; k = 1 is predicted 2.00x, k = 3 1.60x: 20 % lost",
    ),
    "SD004": ({}, {"best_k": 5, "best_speedup": 2.0}, "note", "k = 5 is predicted 2.00x"),
    "SD005": (
        {"batch": 1.0, "spec": Pace(tokens_per_s=300.0), "plain": Pace(tokens_per_s=400.0)},
        None,
        "error",
        "a plain step takes 2.5 ms; a round adds 6.17 ms: 3.47 tokens a round would only",
    ),
    "SD006": (SLOW, {"draft_s": 0.007}, "error", "drafting is 54 % of a round (7 ms of 13 ms"),
    "SD007": (
        {"spec": Pace(tokens_per_s=1100.0)},
        {},
        "warning",
        "1,100 tok/s seen, 1,600 predicted at the same batch, k and acceptance; 5.91 ms of each",
    ),
    "SD008": (
        {"spec": Pace(tokens_per_s=2400.0)},
        {},
        "note",
        "2,400 tok/s seen, 1,600 predicted at the same batch, k and acceptance; a round takes "
        "8.67 ms, 13 ms predicted",
    ),
    "SD011": (
        {"kept": Kept(tau=1.02), "spec": Pace(), "plain": Pace()},
        None,
        "error",
        "1.02 tokens a round at k = 3; every k loses while it lasts",
    ),
    "SD012": (
        {"way": "ngram", "kept": Kept(tau=1.1)},
        None,
        "error",
        "ngram drafts: 1.10 tokens a round; 1.60x: wider verification",
    ),
    "SD013": (
        {"context": 16384.0},
        {},
        "warning",
        "16,384 tokens of context, trained on up to 8,192: 2.60 tokens a round",
    ),
    "SD014": ({"n_predict": 2}, None, "error", "k = 3 with 2 modules; engines refuse to start"),
    "SD015": (
        {"before": Kept(tau=3.0, low=2.9, high=3.1)},
        None,
        "warning",
        "3.00 tokens a round before, 2.60 now; the same rounds yield 13 % fewer tokens",
    ),
    "SD016": (
        {"planned": Kept(tau=2.9)},
        None,
        "warning",
        "2.90 tokens a round planned, 2.60 kept",
    ),
    "SD021": (
        {"batch": 128.0, "speedup": 0.9},
        {"batch": 128.0},
        "note",
        "batch 128; wide verification stops being free",
    ),
    "SD022": (
        SLOW,
        {"plain_experts": 0.1, "round_experts": 0.4, "pays_from": 32},
        "error",
        "a plain step reads 10 % of the experts at batch 8, a verification 40 %; verification "
        "reads 4.0 times the expert weights; it pays from batch 32",
    ),
    "SD023": (
        {"topk": 4, "draft_tokens": 16},
        {"chain_round_s": 0.01},
        "warning",
        "a tree (topk 4) of 16 tokens x batch 8 = 128 rows a pass; a chain of 3 verifies 4 a "
        "sequence, 16 here: rounds of 10 ms, not 13 ms, so it is faster from 2.00 tokens a round "
        "on",
    ),
    "SD024": (
        {"graphs": 16},
        None,
        "warning",
        "8 sequences x 4 tokens = 32 rows against CUDA graphs",
    ),
    "SD025": (
        {"batch_high": 48.0, "waiting": 20.0},
        None,
        "warning",
        "48 requests, 20 waiting; Quick lets 48 run with speculation unless told otherwise",
    ),
    "SD026": ({}, {"largest": 100}, "note", "200 -> 100 sequences at full context, 50 % fewer"),
    "SD031": (
        {"tp": 4, "draft_tp": 4},
        {"alone_round_s": 0.0125},
        "warning",
        "drafter on 4 GPUs: 0.8 times as fast as on one",
    ),
    "SD032": ({"tp": 8, "draft_tp": 2}, None, "error", "draft tp 2 beside tp 8; Quick takes 1 or"),
    "SD033": (
        {"tp": 4, "draft_tp": 1},
        {"draft_bytes": 16 * GIB, "spread_draft_bytes": 4 * GIB},
        "warning",
        "the fullest GPU decides: the cache of all is cut by 12 GiB each, 36 GiB of it unused",
    ),
    "SD034": (
        {"schedule": (Tier(1, 4, 2), Tier(5, 512, 0))},
        None,
        "error",
        "k by batch: 1-4: 2, 5",
    ),
    "SD035": (
        {"schedule": (Tier(1, 4, 3), Tier(5, 512, 0))},
        None,
        "warning",
        "drafts of k = 3 at batch 8, where the schedule has k = 0",
    ),
    "SD041": (
        {"speedup": 3.0},
        None,
        "error",
        "3.00x measured at 2.60 tokens a round; a round takes",
    ),
    "SD042": (
        {"plain_eager": True},
        {},
        "error",
        "1.60x over an eager run; against the 1,000 tok/s",
    ),
    "SD043": (
        {"dataset": "random"},
        None,
        "warning",
        "prompts of random tokens: 2.60 tokens a round",
    ),
    "SD044": (
        {"spec": Pace(tokens_per_s=1600.0, itl_s=0.00823, tpot_s=0.00238)},
        None,
        "warning",
        "ITL 8.23 ms, TPOT 2.38 ms; a chunk holds 3.46 tokens",
    ),
    "SD045": ({"same_prompt": True}, None, "warning", "the same prompt was asked again: 1.60x"),
    "SD046": (
        {"contradictions": ("line 3: tau is 5 at k 3",)},
        None,
        "warning",
        "line 3: tau is 5",
    ),
    "SD047": (
        {"kept": Kept(tau=2.6, low=2.0, high=3.2, rounds=20.0)},
        None,
        "note",
        "2.60 tokens a round, 2.00 to 3.20, worth 20 independent rounds",
    ),
    "SD048": (
        {"spec": Pace(tokens_per_s=1600.0, ttft_s=0.25)},
        {},
        "note",
        "comes 32 % later; the",
    ),
    "SD049": (
        {"batch": 6.138, "plain_batch": 4.333, "spec": Pace(tokens_per_s=1600.0)},
        None,
        "warning",
        "6.1 requests ran with speculation, 4.3 without; their tokens a second are not of one load",
    ),
}


def test_a_sound_deployment_has_no_symptom():
    assert told() == told(model={}) == {}


def test_every_rule_is_tried_here():
    assert list(FOUND) == [rule.id for rule in DEPLOYMENT_RULES]
    assert {*FOUND} <= {*RULES}


@pytest.mark.parametrize("rule", FOUND)
def test_what_a_rule_finds(rule):
    seen, model, level, words = FOUND[rule]
    found = told(seen, model)
    assert rule in found
    assert found[rule].level == level
    assert words in found[rule].message
    parts = found[rule].told
    assert parts.remedy
    assert "None" not in found[rule].message
    assert not {"nan", "inf"} & {*found[rule].message.split()}


def test_errors_come_first():
    found = list(told({**SLOW, "dataset": "random", "n_predict": 1}).values())
    assert [one.level for one in found] == sorted(
        (one.level for one in found), key=["error", "warning", "note"].index
    )


@pytest.mark.parametrize(
    ("seen", "model"),
    [
        ({"way": "ngram"}, None),  # a lookup has no model that could be broken
        ({"dataset": "random"}, None),
        ({"context": 16384.0}, {}),
        ({"kept": Kept(tau=1.05, low=0.9, high=1.6)}, None),  # too few rounds to say so
    ],
)
def test_what_keeps_nothing_and_is_not_broken(seen, model):
    kept = seen.get("kept", Kept(tau=1.05))
    assert "SD011" not in told({**seen, "kept": kept, "spec": Pace(), "plain": Pace()}, model)


def test_a_broken_drafter_is_not_to_be_tuned():
    seen = {"kept": Kept(tau=1.02), "k": 8, "spec": Pace(tokens_per_s=500.0)}
    found = told(seen, {"best_k": 1, "best_speedup": 1.01, "speedup": 0.5})
    assert "SD011" in found
    assert not {"SD003", "SD004", "SD005", "SD021", "SD022"} & {*found}


def test_a_speedup_that_a_cheaper_round_explains_is_possible():
    measured = {"speedup": 2.8}
    assert "SD041" in told(measured)
    assert "SD041" in told(measured, {})
    explained = told(measured, {"round_s": 0.0074})["SD041"]
    assert explained.level == "note"
    assert "predicted to take 0.93 plain steps, which explains it" in explained.message
    assert not incomparable(
        Deployed(
            seen=replace(SOUND, **measured), habits=HABITS, model=replace(MODEL, round_s=0.0074)
        )
    )


@pytest.mark.parametrize("speedup", [2.62, 2.7, 2.75])
def test_a_round_shorter_than_a_plain_step_is_never_told_without_a_word(speedup):
    found = told({"speedup": speedup})["SD041"]  # tau is 2.6, at most 2.7
    assert found.level == "warning"
    assert f"a round took {2.6 / speedup:.2f} plain steps" in found.message
    assert "SD041" not in told({"speedup": 2.6})


def test_a_loss_within_the_band_is_a_warning():
    unsure = {"speedup": 0.98, "low": 0.9, "high": 1.05}
    nothing = {"spec": Pace(), "plain": Pace()}
    assert told(nothing, unsure)["SD001"].level == "warning"
    assert told(nothing, {**unsure, "high": 0.99})["SD001"].level == "error"


def test_the_load_from_which_it_loses():
    seen = {"batch": 128.0, "spec": Pace(), "plain": Pace()}
    found = told(seen, {"batch": 128.0, "speedup": 0.9, "low": 0.8, "high": 0.95})["SD021"]
    assert found.message.endswith(
        "batch 128; k = 3 pays up to batch 100; 0.90x here, and less with every sequence more"
    )
    assert found.told.remedy == "speculate up to batch 100 only"


def test_beyond_memory_is_an_error():
    found = told({}, {"largest": 4})["SD026"]
    assert found.level == "error"
    assert "it does not fit" in found.message


def test_a_chain_yields_no_more_than_its_alpha_allows():
    kept = Kept(tau=3.25, alpha=0.65)
    nothing = {"spec": Pace(), "plain": Pace()}
    assert "2.86 at most" in told({"kept": kept, **nothing})["SD046"].message
    assert "SD046" not in told({"kept": kept, "topk": 8, "draft_tokens": 32, **nothing})


def test_acceptance_falls_at_a_k_that_both_captures_have():
    before = Kept(tau=3.1, k=5, per_position=(0.8, 0.55, 0.35, 0.25, 0.15))
    now = Kept(tau=2.6, k=3, low=2.5, high=2.7, per_position=(0.75, 0.5, 0.35))
    same = told({"kept": now, "before": before})  # 1 + .8 + .55 + .35 = 2.7: within 5 %
    assert "SD015" not in same
    fell = told({"kept": now, "before": Kept(tau=3.6, k=5, per_position=(0.9, 0.7, 0.5, 0.3, 0.2))})
    assert "3.10 tokens a round before, 2.60 now at k = 3, which both have" in fell["SD015"].message
    assert "SD015" not in told({"kept": now, "before": Kept(tau=3.6, k=5)})


def test_a_fall_is_an_error_only_where_it_loses():
    fell = {"before": Kept(tau=3.0, low=2.9, high=3.1)}
    assert told({**fell, **SLOW})["SD015"].level == "error"
    assert told(fell)["SD015"].level == "warning"


def test_times_of_a_token_stand_for_runs_at_other_loads():
    paces = {
        "spec": Pace(tokens_per_s=1600.0, tpot_s=0.005),
        "plain": Pace(tokens_per_s=500.0, tpot_s=0.008),
    }
    seen = replace(SOUND, plain_batch=4.0, **paces)
    assert seen.measured == pytest.approx(1.6)  # 8 ms over 5 ms, and not 1,600 over 500
    assert seen.plain_step_s is None  # of batch 8 nobody timed one
    assert (
        "times per token are compared, 1.60x"
        in told({"plain_batch": 4.0, **paces})["SD049"].message
    )
    assert replace(seen, plain_batch=7.5).measured == pytest.approx(3.2)


def test_prompts_that_take_no_time_are_not_to_be_looked_for():
    slow = {"spec": Pace(tokens_per_s=1100.0)}
    assert "prompts in between" in told(slow, {"prefill_token_s": 5e-5})["SD007"].told.remedy
    few = told({**slow, "prompts_per_s": 150.0}, {"prefill_token_s": 5e-5})
    assert "prompts" not in few["SD007"].told.remedy  # 0.14 ms of the 5.9 ms that a round lacks
    many = told({**slow, "prompts_per_s": 5000.0}, {"prefill_token_s": 5e-5})
    assert "prompts in between" in many["SD007"].told.remedy


def test_a_schedule_that_may_have_run():
    tiers = (Tier(1, 4, 3), Tier(5, 16, 2))
    assert "SD035" in told({"schedule": tiers})
    assert "SD035" not in told({"schedule": tiers, "traps": ("short-drafts",)})
    assert "SD035" not in told({"schedule": tiers, "batch": 3.0})
    loads = (Load(3.0, 2.6, 500.0, 900.0), Load(8.0, 2.6, 900.0, 50.0))
    assert "SD035" not in told({"schedule": tiers, "loads": loads})  # a few rounds at the edge
    found = told({"schedule": tiers, "loads": (*loads, Load(12.0, 2.6, 900.0, 500.0))})["SD035"]
    assert "at batch 12, where the schedule has k = 2" in found.message


def test_what_was_seen_may_contradict_the_prediction_that_it_pays():
    nothing = {"plain": Pace(), "spec": Pace(tokens_per_s=900.0)}  # 1,000 without, as predicted
    unsure = Deployed(seen=replace(SOUND, **nothing), habits=HABITS, model=MODEL)
    assert unsure.unsure
    assert unsure.over_plain == pytest.approx(0.9)
    message = told(nothing, {})["SD007"].message
    assert "plain decoding is predicted 1,000 tok/s: this is 0.90x of it, unless that" in message
    assert "measure a run without" in told(nothing, {})["SD007"].told.remedy
    measured = Deployed(
        seen=replace(SOUND, spec=Pace(tokens_per_s=900.0)), habits=HABITS, model=MODEL
    )
    assert not measured.unsure
    assert (
        "a plain step took 8 ms, 8 ms"
        in told({"spec": Pace(tokens_per_s=900.0)}, {})["SD007"].message
    )


def test_a_bound_and_a_batch_that_nobody_said_have_no_gap():
    slow = {"spec": Pace(tokens_per_s=400.0)}
    assert "SD007" in told(slow, {})
    assert "SD007" not in told(slow, {"bound": True})
    assert "SD007" not in told({**slow, "batch": None}, {})


def test_graphs_of_an_engine_that_counts_sequences_are_as_wide_as_its_rounds():
    counts = replace(HABITS, graphs_in="sequences", set_graphs="up to %(n)d")
    wide = replace(SOUND, batch=300.0, plain=Pace(), spec=Pace())
    silent = {one.rule for one in symptoms(Deployed(seen=wide, habits=counts, model=MODEL))}
    assert "SD024" not in silent
    few = replace(wide, graphs=256, batch=300.4)
    (found,) = (s for s in symptoms(Deployed(seen=few, habits=counts)) if s.rule == "SD024")
    assert found.told.remedy == "up to 301"


def test_graphs_that_are_off():
    found = told({"graphs": 0})["SD024"]
    assert "no CUDA graphs: CUDA graphs are off" in found.message


def test_a_lookup_that_finds_nothing_is_not_to_be_shortened():
    nothing = {"spec": Pace(), "plain": Pace()}
    found = told({"way": "ngram", "k": 5, "kept": Kept(tau=1.1), **nothing})
    assert "SD012" in found
    assert "SD003" not in found


def test_both_times_of_a_file_are_a_note_and_those_of_a_flag_a_warning():
    both = {"spec": Pace(itl_s=0.03, tpot_s=0.01), "plain": Pace()}
    assert told(both)["SD044"].level == "warning"
    assert told({**both, "traps": ("itl-per-chunk",)})["SD044"].level == "note"


@pytest.mark.parametrize("seen", [{"speedup": 3.0}, {"plain_eager": True}])
def test_speedups_of_runs_that_cannot_be_compared(seen):
    assert incomparable(Deployed(seen=replace(SOUND, **seen), habits=HABITS))
    assert not incomparable(Deployed(seen=SOUND, habits=HABITS))


def test_a_chunk_is_as_many_tokens_as_a_round():
    quoted = {"spec": Pace(itl_s=0.026), "plain": Pace(tpot_s=0.012)}
    message = told(quoted)["SD044"].message  # 26 ms / 2.6 tokens, and 12 ms over that
    assert message.endswith(
        "a chunk holds 2.60 tokens: about 10 ms a token, 1.20x of plain decoding"
    )
