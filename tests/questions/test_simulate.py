"""Simulations as an answer: what is asked, refused, told and noted."""

from __future__ import annotations

from dataclasses import replace

import pytest

import specplan
from specplan.domain.accounting import Limits
from specplan.domain.slo import Limit, Slo
from specplan.domain.traffic import Lengths, Trace
from specplan.errors import Refused, Unfit, UsageError
from specplan.questions import simulate as asking
from specplan.questions.simulate import Options, simulate
from specplan.serving.entries import Gating
from specplan.serving.incoming import replayed, steady
from specplan.serving.lock_step import Static
from specplan.serving.outcome import Outcomes

CHAT = Lengths(isl=[300, 1500], osl=[80, 240], hit=[0, 0], weight=[0.5, 0.5])
TRAFFIC = steady(8.0, CHAT)
SCENE = specplan.scenario(
    target="llama-3.1-8b", draft="eagle3", hardware="h100", engine="vllm", acceptance=0.7, k=3
)
FEW = Options(k=3, requests=400)
TRACE = Trace(
    arrival_s=[0.1 * n for n in range(50)], isl=[500] * 50, osl=[100] * 50, hit=[100] * 50
)


def rows(answer):
    return {row["measure"]: row for row in answer.table.records()}


def test_an_answer_has_every_measure():
    slo = Slo(limits=(Limit("ttft", 99, 1.0), Limit("tpot", 95, 0.02)))
    answer = simulate(SCENE, TRAFFIC, replace(FEW, replications=3), slo=slo)
    value, table = answer.value, rows(answer)
    assert answer.ok
    assert value.meets_slo
    assert (value.policy, value.gpus, value.replications) == ("k=3", 1, 3)
    assert value.done == 1200
    assert value.requests < value.done
    assert value.tokens_asked == value.tokens_made
    for name in ("ttft", "tpot", "itl", "itl_chunk", "e2e"):
        row = table[name]
        assert row["unit"] == "s"
        assert 0 <= row["p50"] <= row["p90"] <= row["p95"] <= row["p99"] <= row["p99_9"]
        assert row["mean_ci95"] > 0
        assert row["p99_ci95"] is not None
    for name in ("goodput_per_s", "tokens_per_s", "batch_mean", "kv_share", "kv_peak"):
        assert table[name]["mean"] > 0
        assert table[name]["mean_ci95"] is not None
        assert table[name]["p50"] is None
    assert table["time at k=3"]["mean"] == 1.0
    assert table["ttft_p99"]["mean"] == value.limits[0].share
    assert value.limits[0].reached_s == table["ttft"]["p99"]
    assert sum(of.time_share for of in value.batch) == pytest.approx(1)
    assert sum(of.round_share for of in value.batch) == pytest.approx(1)
    assert sum(value.histograms["ttft"].counts) == value.requests
    assert len(value.timeline.batch) == len(value.timeline.kv_share) > 100


def test_a_limit_that_does_not_hold_is_the_answer_no():
    slo = Slo(limits=(Limit("tpot", 50, 0.0001),))
    answer = simulate(SCENE, TRAFFIC, FEW, slo=slo)
    assert not answer.ok
    assert answer.value.meets_slo is False
    assert answer.view.title == "The SLO does not hold"
    assert answer.value.good_share == 0.0


def test_tokens_a_round_are_those_of_the_acceptance():
    """E = 2.533 at alpha 0.7 and k = 3, less what a last round makes and nobody asked for."""
    (asked,) = (row["mean"] for row in [rows(simulate(SCENE, TRAFFIC, FEW))["tokens_per_round"]])
    assert asked == pytest.approx(2.51, abs=0.03)


def test_without_speculation_no_drafter_is_loaded():
    plain = simulate(SCENE, TRAFFIC, replace(FEW, k=0))
    drafted = simulate(SCENE, TRAFFIC, FEW)
    assert rows(plain)["tokens_per_round"]["mean"] == 1.0
    assert plain.value.policy == "none"
    assert rows(plain)["tpot"]["mean"] > rows(drafted)["tpot"]["mean"]
    assert "no speculation" in plain.view.caption[1]


def test_a_gate_uses_several_k():
    busy = steady(30.0, CHAT)
    gated = replace(FEW, k=None, candidates=(0, 1, 3, 5), requests=1500)
    answer = simulate(SCENE, busy, gated)
    assert len(answer.value.k) > 1
    assert sum(of.time_share for of in answer.value.k) == pytest.approx(1)
    closed = simulate(SCENE, busy, replace(FEW, gating=Gating(by="queue", queue=0), requests=1500))
    assert {of.k for of in closed.value.k} == {0, 3}


def test_a_trace_is_replayed_whole_and_its_hits_count():
    answer = simulate(SCENE, replayed(TRACE), Options(k=3))
    value = answer.value
    assert value.requests == value.done == 50
    assert value.warm_up == 0
    read = rows(answer)["prompt_per_s"]["mean"] * value.seconds
    assert read == pytest.approx(50 * 400)
    first = simulate(SCENE, replayed(TRACE), Options(k=3, requests=20))
    assert first.value.done == 20


def test_requests_of_one_token_have_no_gaps():
    """Nothing is known of what never happens; nothing is NaN."""
    ones = Lengths(isl=[100], osl=[1], hit=[0], weight=[1.0])
    slo = Slo(limits=(Limit("tpot", 99, 0.001),))
    answer = simulate(SCENE, steady(8.0, ones), FEW, slo=slo)
    assert answer.ok
    assert answer.value.good_share == 1.0
    answer = simulate(SCENE, steady(8.0, ones), FEW)
    table = rows(answer)
    assert table["ttft"]["p99"] == table["e2e"]["p99"] > 0
    for name in ("tpot", "itl", "itl_chunk", "tokens_per_round"):
        assert table[name]["mean"] is None
    assert answer.value.k == ()
    assert answer.view.title.startswith("TTFT p95")
    assert "TPOT" not in answer.view.title


def test_what_a_server_is_told_holds():
    few = simulate(SCENE, TRAFFIC, FEW, limits=Limits(max_num_seqs=2))
    assert max(of.batch for of in few.value.batch) <= 2
    assert rows(few)["ttft"]["p95"] > rows(simulate(SCENE, TRAFFIC, FEW))["ttft"]["p95"]


def test_static_batches():
    answer = simulate(SCENE, TRAFFIC, replace(FEW, static=Static(4, 0.5)))
    assert max(of.batch for of in answer.value.batch) == 4
    assert "static batches of 4" in answer.view.caption[1]


def test_a_server_that_does_not_keep_up_is_said():
    notes = simulate(SCENE, steady(400.0, CHAT), replace(FEW, requests=3000)).notes
    assert any("does not keep up" in note for note in notes)
    assert not any("keep up" in note for note in simulate(SCENE, TRAFFIC, FEW).notes)


def test_prompts_longer_than_the_cache_are_refused_and_said():
    long = Trace(arrival_s=[0.0, 1.0], isl=[900_000, 100], osl=[10, 10])
    answer = simulate(SCENE, replayed(long), Options(k=3))
    assert (answer.value.refused, answer.value.requests) == (1, 1)
    assert any("longer than the cache" in note for note in answer.notes)
    alone = Trace(arrival_s=[0.0, 1.0], isl=[900_000] * 2, osl=[10] * 2)
    with pytest.raises(Refused, match="none of 2 requests fits"):
        simulate(SCENE, replayed(alone), Options(k=3))


def test_what_was_done_when_it_was_interrupted():
    def told(done):
        told.count += done
        if told.count >= 4000:
            raise KeyboardInterrupt

    told.count = 0
    answer = simulate(SCENE, TRAFFIC, replace(FEW, requests=20_000), told=told)
    assert answer.value.interrupted
    assert any("interrupted: these figures are of the" in note for note in answer.notes)

    assert 1500 < answer.value.requests < 2500
    told.count = 3000
    # The first 2,000 of 20,000 warm up: nothing to show.
    with pytest.raises(KeyboardInterrupt, match="in the first 10% of the time, of which nothing"):
        simulate(SCENE, TRAFFIC, replace(FEW, requests=20_000), told=told)


@pytest.mark.parametrize(
    ("traffic", "workers", "said"),
    [
        (TRAFFIC, 2, "interrupted before one of 8 replications was done"),
        (replayed(Trace(arrival_s=[0.0, 1.0], isl=[9, 9], osl=[9, 9])), 1, "before a request was"),
    ],
)
def test_an_interruption_that_leaves_nothing_says_why(monkeypatch, traffic, workers, said):
    monkeypatch.setattr(asking, "replicate", lambda *_: Outcomes((), 8, interrupted=True))
    options = Options(k=3, replications=8, workers=workers)
    with pytest.raises(KeyboardInterrupt, match=said):
        simulate(SCENE, traffic, options)


@pytest.mark.parametrize(
    ("scene", "options", "words"),
    [
        ({"engine": "roofline"}, FEW, "--engine: roofline is a bound"),
        ({"acceptance": "0.5,0.7"}, FEW, "--acceptance: simulate is about one"),
        ({"tp": "1,2"}, FEW, "simulate is about one setup"),
        ({"draft": "none"}, FEW, "-k: nothing drafts k = 3"),
        ({}, replace(FEW, requests=0), "--requests: 0 is out of range"),
        ({}, replace(FEW, replications=0), "--replications: 0 is out of range"),
        ({}, replace(FEW, workers=1000), "--workers: 1,000 is out of range"),
        ({}, replace(FEW, gate_tax=1.5), "--gate-tax: 1.5 is out of range"),
        ({}, replace(FEW, requests=None, seconds=1e7), "--duration: 80,000,000 requests"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_makes_no_sense_is_refused(scene, options, words):
    usual = {
        "target": "llama-3.1-8b", "draft": "eagle3", "hardware": "h100", "engine": "vllm",
        "acceptance": 0.7,
    }  # fmt: skip
    with pytest.raises(UsageError) as caught:
        simulate(specplan.scenario(**(usual | scene)), TRAFFIC, options)
    assert str(caught.value).startswith(words)


def test_a_trace_has_its_own_duration():
    with pytest.raises(UsageError, match="--duration: a trace says itself"):
        simulate(SCENE, replayed(TRACE), Options(k=3, seconds=5.0))


def test_a_card_that_is_too_small():
    scene = specplan.scenario(
        target="llama-3.3-70b", draft="free", hardware="l4", engine="vllm", acceptance=0.7
    )
    with pytest.raises(Unfit, match="no sequence fits") as refused:
        simulate(scene, TRAFFIC, FEW)
    assert refused.value.exit_code == 1  # the answer is no
