"""One point taken apart: figures by hand, and findings told with their cause."""

from __future__ import annotations

from dataclasses import replace

import pytest
import worlds
from engine_worlds import CHIP, ENGINE, RELEASE, SIMPLE

from specplan.catalogue.store import Catalogue
from specplan.domain.acceptance import Alpha
from specplan.domain.answer import Answer, Facts, Lines
from specplan.domain.card import Dtype
from specplan.domain.drafters import ModelDrafter, drafter_of
from specplan.domain.picture import Plot
from specplan.domain.scenario import Part, Scenario, Setup
from specplan.domain.weightless import NoDrafter, RatioDrafter
from specplan.errors import UsageError
from specplan.physics.round import time_rounds
from specplan.questions.best_k import best_k
from specplan.questions.beyond import beyond_tokens, paid_alone
from specplan.questions.explain import explain
from specplan.questions.gate import gate
from specplan.questions.sweep import sweep

STORE = Catalogue()
BARE = replace(RELEASE, host=0.0, round_host=0.0, draft_host=0.0, host_hidden=False)
SETUP = Setup(
    target=STORE.model("llama-3.1-8b").card,
    draft=ModelDrafter(STORE.model("llama-3.2-1b").card),
    hardware=CHIP,
    tp=1,
    draft_tp=1,
    engine=ENGINE,
    dtype=Dtype.BF16,
    draft_dtype=Dtype.BF16,
    kv_dtype=Dtype.BF16,
    release=BARE,
)
FP8_FREE = replace(SETUP, dtype=Dtype.FP8, draft=RatioDrafter(0.0))
"""fp8 products take 9 us more at one row alone."""


def point(setup: Setup, *, k: int = 4, batch: float = 1.0) -> Scenario:
    return Scenario(
        setups=(setup,), batch=(batch,), context=(1000.0,), acceptance=(Alpha(0.8),), k=(k,)
    )


def sentences(setup: Setup) -> str:
    view = explain(point(setup)).view
    return " ".join(x for s in view.sections if isinstance(s, Lines) for x in s.lines)


def test_rows_add_up_and_keep_their_pass():
    answer = explain(point(SETUP))
    rows = list(answer.table.records())
    assert list(dict.fromkeys(row["pass"] for row in rows)) == [
        *("plain", "first draft", "draft", "verify"),
    ]
    whole = {"plain": answer.value.plain, "verify": answer.value.verify}
    whole |= zip(("first draft", "draft"), answer.value.drafts, strict=True)
    for name, figures in whole.items():
        terms = [row for row in rows if row["pass"] == name]
        assert sum(row["time_s"] for row in terms) == pytest.approx(figures.time_s, rel=1e-12)
        moved = sum(row["traffic_bytes"] for row in terms)
        assert figures.mbu == pytest.approx(moved / 1e12 / figures.time_s, rel=1e-12)
        assert all(row["time_s"] > 0 for row in terms)


def test_a_round_is_its_drafts_and_its_verification():
    value = explain(point(SETUP)).value
    assert (value.k, value.passes) == (4, 4)
    assert value.round_s == pytest.approx(value.draft_s + value.verify.time_s, rel=1e-14)
    assert value.tokens_per_round == pytest.approx(3.3616, rel=1e-14)
    assert value.speedup == pytest.approx(3.3616 * value.plain.time_s / value.round_s, rel=1e-12)
    assert value.ridge == 100.0


def test_the_ideal_roofline_beside_it_is_the_roofline():
    engine = explain(point(SETUP)).value
    ideal = explain(point(replace(SETUP, engine=worlds.ROOFLINE, release=None))).value
    assert engine.ideal_speedup == ideal.speedup == ideal.ideal_speedup
    assert engine.plain.ideal_s == ideal.plain.time_s
    assert (ideal.waits_s, ideal.paid_alone) == (0.0, None)
    assert engine.waits_s == pytest.approx(engine.round_s - ideal.round_s, rel=1e-12)
    assert "The ideal roofline says" in sentences(SETUP)
    assert sentences(replace(SETUP, engine=worlds.ROOFLINE, release=None)) == ""


def test_what_binds_a_term():
    rows = {(r["pass"], r["term"]): r for r in explain(point(SETUP)).table.records()}
    assert rows["plain", "head"]["bound_by"] == "memory"
    assert rows["plain", "small"]["bound_by"] == "latency"
    two = explain(point(replace(SETUP, tp=2))).table.records()
    assert {r["bound_by"] for r in two if r["term"] == "allreduce"} == {"network"}


def test_a_speedup_above_the_tokens_of_a_round_names_the_slow_path():
    """4 products a layer of 32 layers, 9 us each: 1.15 ms; the head stays in bf16."""
    value = explain(point(FP8_FREE)).value
    assert value.speedup > value.tokens_per_round
    assert value.paid_alone == "1.15 ms of the slow path of its matrix kernels at one row"
    assert (
        "is above the 3.36 tokens of a round: a plain step alone pays 1.15 ms of "
        "the slow path of its matrix kernels at one row."
    ) in sentences(FP8_FREE)


def test_a_speedup_above_the_tokens_of_a_round_names_the_host():
    exposed = replace(SETUP, draft=RatioDrafter(0.0), release=replace(BARE, host=5e-3))
    assert explain(point(exposed)).value.paid_alone == "5 ms of host time between steps"


def test_a_speedup_within_the_tokens_of_a_round_is_no_finding():
    assert explain(point(SETUP)).value.paid_alone is None
    assert "is above" not in sentences(SETUP)
    assert explain(point(FP8_FREE, batch=2.0)).value.paid_alone is None


def test_the_cause_is_told_where_most_is_gained():
    timing = time_rounds(FP8_FREE, (10.0, 50_000.0), (1.0, 2.0), (1, 16))
    assert paid_alone(timing) == "1.15 ms of the slow path of its matrix kernels at one row"


def test_sweeps_and_best_k_note_it():
    note = (
        "llama-3.1-8b + free on chip: speedups are above the tokens per round at batch 1, "
        "for a plain step alone pays 1.15 ms of the slow path of its matrix kernels at one row"
    )
    scenario = point(FP8_FREE)
    assert list(beyond_tokens(scenario)) == [note]
    assert sweep(scenario).notes == (note,)
    assert best_k(scenario).notes == (note,)
    assert list(beyond_tokens(replace(scenario, batch=(2.0, 8.0)))) == []
    ideal = replace(FP8_FREE, engine=worlds.ROOFLINE, release=None)
    assert list(beyond_tokens(point(ideal))) == []


def test_gates_mixes_and_many_workloads_note_it_too():
    scenario = point(FP8_FREE, batch=8.0)
    (note,) = beyond_tokens(replace(scenario, batch=(1.0,)))
    assert gate(scenario).notes == (note,)  # it scans from batch 1
    assert best_k(replace(scenario, batch=(1.0, 8.0))).notes == (note,)
    alone = Part(weight=1.0, batch=1.0, context=1000.0, acceptance=Alpha(0.8))
    crowded = replace(alone, batch=8.0)
    assert best_k(replace(scenario, parts=(alone, crowded))).notes == (note,)
    assert best_k(replace(scenario, parts=(crowded, crowded))).notes == ()


def roofline(answer: Answer) -> Plot:
    """The picture of the roof and the passes under it."""
    assert answer.view.picture is not None
    return next(panel for panel in answer.view.picture().panels if isinstance(panel, Plot))


def test_without_a_model_that_drafts_there_is_no_draft_pass():
    answer = explain(point(replace(SETUP, draft=RatioDrafter(0.1))))
    assert {row["pass"] for row in answer.table.records()} == {"plain", "verify"}
    assert answer.value.drafts == ()
    chart = roofline(answer)
    assert [mark.sign for mark in chart.marks] == ["P", "V"]


def test_marks_lie_under_the_roof():
    chart = roofline(explain(point(SETUP)))
    ((_, low), (ridge, peak), _) = chart.curves[0].points
    assert (ridge, peak, low) == (100.0, 1e14, 0.5e12)
    for mark in chart.marks:
        assert mark.y <= min(peak, 1e12 * mark.x)


def test_facts_name_every_pass():
    (facts,) = (s for s in explain(point(SETUP)).view.sections if isinstance(s, Facts))
    assert [name for name, _ in facts.pairs] == [
        *("plain step", "verification", "first draft pass", "draft pass"),
        *("drafting", "round", "prefill", "ridge point"),
    ]


def test_without_k_the_best_is_explained():
    scenario = replace(point(SETUP), k=())
    assert explain(scenario).value.k == best_k(scenario).value.choice.k > 0


def test_what_makes_verification_longer_than_a_plain_step():
    value = explain(point(replace(SETUP, release=replace(BARE, round_host=3e-3)))).value
    assert value.longer[0] == ("host", 3e-3)
    rest = sum(seconds for _, seconds in value.longer)
    assert rest == pytest.approx(value.verify.time_s - value.plain.time_s, rel=1e-9)
    assert list(value.longer) == sorted(value.longer, key=lambda term: -term[1])


def test_what_makes_verification_shorter_than_a_plain_step():
    value = explain(point(replace(FP8_FREE, release=replace(BARE, round_host=1e-4)))).value
    assert value.longer[0] == ("single row", pytest.approx(-1.152e-3))  # 4 x 32 slow products
    told = sentences(replace(FP8_FREE, release=replace(BARE, round_host=1e-4)))
    assert "less than a plain step: single row 1.15 ms, host +0.1 ms" in told


def test_what_a_drafter_cannot_propose_is_refused():
    setup = replace(SETUP, draft=NoDrafter())
    with pytest.raises(UsageError, match="draft none cannot propose k = 4; expected at most 0"):
        explain(point(setup))
    assert explain(point(setup, k=0)).value.speedup == 1.0


def test_a_head_that_fuses_does_so_once_a_round():
    head = drafter_of(STORE.model("eagle3-llama-3.1-8b").card)
    answer = explain(point(replace(SETUP, draft=head)))
    rows = list(answer.table.records())
    (fuse,) = (row for row in rows if row["term"] == "fuse")
    assert fuse["pass"] == "first draft"
    first, later = (
        sum(row["time_s"] for row in rows if row["pass"] == name)
        for name in ("first draft", "draft")
    )
    assert answer.value.draft_s == pytest.approx(first + 3 * later, rel=1e-12)


def test_mfu_is_of_the_peaks_that_a_pass_computes_at():
    """An fp8 body at twice the rate of its bf16 head: never above 1, whatever the batch."""
    for batch in (1.0, 64.0, 4096.0):
        value = explain(point(FP8_FREE, batch=batch)).value
        assert 0 < value.plain.mfu < value.verify.mfu < 1


@pytest.mark.parametrize("axis", ["batch", "context", "k"])
def test_a_grid_is_refused(axis):
    with pytest.raises(UsageError, match="explain is about one point"):
        explain(replace(point(SETUP), **{axis: (1, 2)}))


def test_kernels_of_the_made_engine_have_the_slow_path_these_tests_speak_of():
    assert (SIMPLE.gemm[Dtype.FP8].single, SIMPLE.gemm[Dtype.BF16].single) == (9e-6, 0.0)
