"""Setups that differ in engine, version, attention groups or expert ways are told apart; what they
agree on is said once, and nobody speaks for an engine but itself.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
import worlds

from specplan import best_k, memory, scenario, sweep
from specplan.domain.acceptance import Alpha
from specplan.domain.answer import Answer, Facts, Lines, Pivot, Rows
from specplan.domain.engine import Engine
from specplan.domain.scenario import Scenario, Serving
from specplan.physics.round import time_rounds
from specplan.questions import beyond
from specplan.questions.common import basis_of, setups_caption
from specplan.questions.facts import facts_of
from specplan.questions.servings import servings_caption, telling, told_once, varied

ASKED = {"target": "qwen3-8b", "draft": "eagle3-qwen3-8b", "hardware": "h100-sxm"}
EXPERTS = {"target": "qwen3-30b-a3b", "draft": "ratio:0.05", "engine": "vllm@0.10", "tp": 8}
IDEAL = worlds.ROOFLINE


def asked(**axes: object) -> Scenario:
    """A scenario of catalogued cards."""
    return scenario(**{**ASKED, "acceptance": 0.7, "batch": (1, 32), "k": (2, 4), **axes})


def speaking(says: str, kind: str = "estimate") -> Engine:
    """An engine called after its first word."""
    engine = asked(engine="vllm").setups[0].engine
    return replace(engine, name=says.partition(":")[0], says=says, kind=kind)


def served(*engines: Engine, bands: tuple[float | None, ...] = ()) -> Scenario:
    """A scenario of one setup an engine."""
    scene = asked()
    shares = bands or (None,) * len(engines)
    setups = (
        replace(scene.setups[0], engine=engine, band=band)
        for engine, band in zip(engines, shares, strict=True)
    )
    return replace(scene, setups=tuple(setups))


def lines(answer: Answer) -> list[str]:
    """The closing lines."""
    return [line for s in answer.view.sections if isinstance(s, Lines) for line in s.lines]


# Words


def test_a_serving_is_called_as_it_is_typed():
    serving = Serving(engine="vllm", engine_version=None, attention_dp=1, ep=1)
    assert serving.served_by == "vllm"
    assert replace(serving, engine_version="0.10").served_by == "vllm@0.10"


def test_words_only_for_what_differs():
    (one,) = asked(engine="vllm@0.10").setups
    dp, old = replace(one, attention_dp=8), replace(one, version="0.8")
    assert (varied([one]), varied([one, one])) == ((), ())
    assert telling([one])(one.serving) == servings_caption([one]) == ""
    assert varied([one, dp]) == ("attention_dp",)
    assert [telling([one, dp])(s.serving) for s in (one, dp)] == [
        "attention-dp 1",
        "attention-dp 8",
    ]
    assert servings_caption([one, dp]) == ", attention-dp 1, attention-dp 8"
    assert telling([one, dp, old])(old.serving) == "vllm@0.8, attention-dp 1"
    assert servings_caption([one, old]) == " under vllm@0.10, vllm@0.8"
    assert servings_caption([one, replace(one, ep=8)]) == ", ep 1, ep 8"


def test_what_servings_agree_on_is_said_once():
    def serving(engine: str, ep: int) -> Serving:
        return Serving(engine=engine, engine_version=None, attention_dp=1, ep=ep)

    grid = [serving(engine, ep) for engine in ("a", "b") for ep in (1, 8)]
    said = [(s, "same") for s in grid]
    assert list(told_once(said)) == [("", "same")]
    by_ep = [(s, f"{s.ep} ways") for s in grid]
    assert list(told_once(by_ep)) == [("ep 1", "1 ways"), ("ep 8", "8 ways")]
    by_both = [(s, f"{s.engine}{s.ep}") for s in grid]
    assert [words for words, _ in told_once(by_both)] == [
        *("a, ep 1", "a, ep 8", "b, ep 1", "b, ep 8")
    ]


def test_the_caption_of_several():
    assert setups_caption(asked(engine="vllm@0.10,sglang")) == (
        "qwen3-8b + eagle3-qwen3-8b on h100-sxm under vllm@0.10, sglang"
    )
    one_engine = asked(hardware="h100-sxm,h200-sxm", engine="vllm@0.10")
    assert setups_caption(one_engine) == "qwen3-8b + eagle3-qwen3-8b on h100-sxm, h200-sxm"


# Setups


def test_a_setup_keeps_the_version_that_was_typed():
    found = asked(engine="vllm,vllm@0.10,trtllm,tensorrt-llm").setups
    assert [s.version for s in found] == [None, "0.10", None]  # an alias names no other engine
    assert [s.engine.name for s in found] == ["vllm", "vllm", "trtllm"]


# Data


@pytest.mark.parametrize("ask", [sweep, best_k, memory])
@pytest.mark.parametrize("batch", [(1,), (1, 32)])
def test_columns_say_who_serves(ask, batch):
    axes = {"engine": "vllm@0.10,sglang", "attention_dp": (1, 8), "ep": (1, 4)}
    answer = ask(asked(**{**EXPERTS, **axes}, batch=batch))
    names = ("engine", "engine_version", "attention_dp", "ep")
    rows = list(answer.table.records())
    assert {tuple(row[n] for n in names) for row in rows} == {
        (engine, version, groups, ep)
        for engine, version in (("vllm", "0.10"), ("sglang", None))
        for groups in (1, 8)
        for ep in (1, 4)
    }
    assert all(list(row) == [c.name for c in answer.table.columns] for row in rows)


def test_one_workload_says_who_serves():
    answer = best_k(asked(engine="vllm@0.10", batch=1))
    assert {(r["engine"], r["engine_version"]) for r in answer.table.records()} == {
        ("vllm", "0.10")
    }
    assert answer.value.choice.serving.served_by == "vllm@0.10"


# People


def test_a_sweep_has_a_block_for_each_serving():
    answer = sweep(asked(**{**EXPERTS, "engine": "vllm@0.10,sglang"}, attention_dp=(1, 8)))
    (pivot,) = (s for s in answer.view.sections if isinstance(s, Pivot))
    assert {"served_by", "attention_dp", "ep"} <= set(pivot.blocks)
    blocks = [
        tuple(chunk[name][0] for name in ("served_by", "attention_dp"))
        for chunk in answer.table.chunks()
    ]
    assert blocks == [("vllm@0.10", 1), ("vllm@0.10", 8), ("sglang", 1), ("sglang", 8)]


def test_closing_lines_never_repeat():
    found = lines(sweep(asked(engine="vllm@0.10,vllm@0.15")))  # which count memory alike
    of = "eagle3-qwen3-8b for qwen3-8b on h100-sxm"
    assert [line.split(": ")[0] for line in found] == [f"{of}, vllm@0.10", f"{of}, vllm@0.15", of]
    assert "cost ratio" in found[0]
    assert found[2].split(": ")[1].startswith("drafter")


def test_rows_of_best_k_name_what_differs():
    def shown(**axes: object) -> tuple[str, ...]:
        view = best_k(asked(**axes)).view
        return next(s.columns for s in view.sections if isinstance(s, Rows))

    assert shown(engine="vllm@0.10,vllm@0.8")[:2] == ("served_by", "batch")
    assert shown(**EXPERTS, attention_dp=(1, 8))[:2] == ("attention_dp", "batch")
    assert shown(**EXPERTS, ep=(1, 8))[:2] == ("ep", "batch")
    assert shown(engine="vllm@0.10")[0] == "batch"


def test_rows_and_arms_of_memory_name_what_differs():
    answer = memory(asked(engine="vllm@0.10,sglang", batch=1, k=(4,)))
    rows, arms = answer.view.sections
    assert isinstance(rows, Rows)
    assert isinstance(arms, Facts)
    assert rows.columns[3:6] == ("tp", "served_by", "context")
    assert [label for label, _ in arms.pairs] == [
        "h100-sxm, vllm@0.10, 2,048, alpha 0.7, k=4",
        "h100-sxm, sglang, 2,048, alpha 0.7, k=4",
    ]
    assert [arm.serving.engine for arm in answer.value.arms] == ["vllm", "sglang"]
    alone = memory(asked(engine="vllm@0.10", hardware="h100-sxm,h200-sxm", batch=1, k=(4,)))
    assert "served_by" not in alone.view.sections[0].columns
    assert alone.view.sections[1].pairs[0][0] == "h100-sxm, 2,048, alpha 0.7, k=4"


def test_points_of_a_plan_are_told_apart():
    scene = asked(**{**EXPERTS, "engine": "vllm@0.10,sglang"}, ep=(1, 8), batch=1, k=(4,))
    assert [facts.setup for facts in facts_of(scene)] == [
        *("vllm@0.10, ep 1", "vllm@0.10, ep 8", "sglang, ep 1", "sglang, ep 8")
    ]


def test_findings_say_whose_they_are(monkeypatch):
    monkeypatch.setattr(beyond, "paid_alone", lambda _: "1 ms of host time")
    found = list(beyond.beyond_tokens(asked(engine="vllm@0.10,sglang")))
    of = "qwen3-8b + eagle3-qwen3-8b on h100-sxm"
    assert [line.split(": ")[0] for line in found] == [f"{of}, vllm@0.10", f"{of}, sglang"]
    (alone,) = beyond.beyond_tokens(asked(engine="vllm@0.10"))
    assert alone.startswith(f"{of}: speedups")


# Basis


def test_each_engine_has_its_own_words_and_band():
    mine, yours = speaking("mine: an estimate"), speaking("yours: an estimate")
    basis = basis_of(served(mine, yours, mine, bands=(0.1, 0.3, 0.2)))
    assert basis.says == (
        "mine: an estimate, 9 of 10 within 20 %; yours: an estimate, 9 of 10 within 30 %"
    )
    assert basis.source == "mine, yours"
    assert basis.bands == {"speedup": (-0.3, 0.3)}  # true of both
    half = basis_of(served(mine, yours, bands=(0.1, None)))
    assert half.says == "mine: an estimate, 9 of 10 within 10 %; yours: an estimate"
    assert half.bands == {}


def test_a_bound_and_a_fit_are_neither():
    basis = basis_of(served(IDEAL, speaking("mine: fitted", "calibrated")))
    assert (basis.kind, basis.source) == ("estimate", "roofline, mine")
    assert basis.says == "ideal roofline: an upper bound; mine: fitted"
    assert basis_of(served(IDEAL, IDEAL)).kind == "bound"


def test_what_one_engine_assumes_is_said_of_it_alone():
    axes = {"hardware": "h200-sxm", "tp": 2}
    assert basis_of(asked(engine="roofline", **axes)).assumed == (
        "tp 2 without the cost of communication",
    )
    both = basis_of(asked(engine="roofline,vllm", **axes)).assumed
    assert "roofline: tp 2 without the cost of communication" in both
    assert "efficiency scaled, not measured: vllm on h200-sxm" in both


def test_blocks_hold_the_figures_of_their_own_engine():
    scene = asked(engine="vllm@0.10,sglang,roofline", acceptance=Alpha(0.7))
    rows = list(sweep(scene).table.records())
    for setup in scene.setups:
        mine = [r["plain_step_s"] for r in rows if r["engine"] == setup.engine.name]
        plain_s = time_rounds(setup, scene.context, scene.batch, (2, 4)).plain_s[0, :, 0]
        assert mine == [s for s in plain_s.tolist() for _ in (2, 4)]
