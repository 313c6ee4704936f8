"""The memory bill by hand: 70 sequences of 1,000 tokens without the drafter, 61 with it."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import oracle
import pytest
import worlds

import specplan
from specplan.domain.acceptance import Alpha
from specplan.questions import arms as comparing
from specplan.questions.memory import memory

NO_ALPHA = {"acceptance": ()}


def test_the_bill():
    answer = memory(worlds.scenario(worlds.PAIR, **NO_ALPHA))
    (bill,) = answer.value.bills
    assert (bill.hardware, bill.draft, bill.memory_basis) == ("chip", "drafter", "driver")
    assert (bill.memory_bytes, bill.usable_bytes) == (1e10, 9e9)
    assert (bill.target_weights_bytes, bill.draft_weights_bytes) == (2e9, 2e8)
    assert bill.target_kv_bytes_per_sequence == 1e8
    assert (bill.draft_kv_bytes_per_token, bill.draft_kv_bytes_per_sequence) == (1e4, 1e7)
    assert (bill.largest_batch_plain, bill.largest_batch, bill.sequences_lost) == (70, 61, 9)
    assert bill.shortfall_bytes == 0
    assert answer.value.arms == ()
    assert answer.ok


def test_a_bill_has_no_times_and_no_band():
    asked = {"target": "llama-3.1-8b", "draft": "eagle3-llama-3.1-8b", "hardware": "h100-sxm"}
    bill = memory(specplan.scenario(**asked, engine="vllm@0.10", acceptance=[0.7]))
    assert bill.basis.bands["speedup"][1] > 0  # with an acceptance it compares speeds
    bare = memory(replace(specplan.scenario(**asked, engine="vllm", acceptance=0.7), acceptance=()))
    assert (bare.basis.bands, bare.basis.says) == ({}, "vLLM: an estimate")
    assert not any("band" in one or "efficiency" in one for one in bare.basis.assumed)


@pytest.mark.parametrize(("batch", "fits"), [(1, True), (61, True), (62, False), (500, False)])
def test_a_batch_that_does_not_fit_is_a_no(batch, fits):
    answer = memory(worlds.scenario(worlds.PAIR, batch=(float(batch),), **NO_ALPHA))
    (bill,) = answer.value.bills
    assert answer.ok is fits
    # 2.2e9 of weights and 1.1e8 a sequence, of 9e9.
    assert bill.shortfall_bytes == pytest.approx(0 if fits else 2.2e9 + batch * 1.1e8 - 9e9)
    (row,) = answer.table.records()
    assert (row["batch"], row["fits"]) == (batch, fits)


def test_the_shortfall_is_said():
    answer = memory(worlds.scenario(worlds.PAIR, batch=(100.0,), **NO_ALPHA))
    said = " ".join(line for s in answer.view.sections for line in getattr(s, "lines", ()))
    # 13.2e9 bytes of 9e9: 4.2e9 are 3.91 GiB.
    assert said.startswith("Does not fit: batch 100 at 1,000 tokens needs 12.29 GiB a GPU")
    assert "3.91 GiB more than chip can give" in said


def test_the_largest_batch_of_several_is_asked_about():
    answer = memory(worlds.scenario(worlds.PAIR, batch=(62.0, 1.0), **NO_ALPHA))
    assert not answer.ok
    assert [row["batch"] for row in answer.table.records()] == [62]


def test_a_batch_that_fills_memory_to_the_byte_fits():
    # 7.2e9 usable: 2e9 of weights and exactly 52 x 1e8.
    answer = memory(worlds.scenario(replace(worlds.FREE, memory=8e9), batch=(52.0,)))
    assert answer.value.bills[0].largest_batch == 52
    assert answer.ok
    more = memory(worlds.scenario(replace(worlds.FREE, memory=8e9), batch=(53.0,)))
    assert not more.ok
    assert more.value.bills[0].shortfall_bytes == pytest.approx(1e8)


@pytest.mark.parametrize(
    ("stored", "sequences", "kv_bytes"),
    [
        (6484305301, 72, 2819880408.305556),
        (5721592915, 89, 2298391170.4494386),
        (7208063656, 3, 67194624229.33334),
    ],
)
def test_a_full_batch_fits_in_bytes_as_in_sequences(stored, sequences, kv_bytes):
    """Found by search: memory for a whole number of sequences, whose bytes round to a bit more."""
    target = oracle.Model(
        planned_params=1e9, planned_kv_bytes=kv_bytes, planned_stored=float(stored)
    )
    case = replace(worlds.FREE, target=target, memory=80e9, tp=3)
    answers = [
        memory(worlds.scenario(case, context=(1.0,), batch=(float(batch),)))
        for batch in (sequences, sequences + 1)
    ]
    (bill,) = answers[0].value.bills
    needed = bill.target_weights_bytes + sequences * bill.target_kv_bytes_per_sequence
    assert needed > bill.usable_bytes
    assert bill.largest_batch == sequences
    assert bill.shortfall_bytes == 0
    assert [answer.ok for answer in answers] == [True, False]


def test_setups_and_contexts():
    scene = worlds.scenario(
        worlds.PAIR, worlds.FREE, context=(1000.0, 2000.0, 100_000.0), **NO_ALPHA
    )
    answer = memory(scene)
    rows = list(answer.table.records())
    assert [(r["draft"], r["context"]) for r in rows] == list(
        product(("drafter", "free"), (1000, 2000, 100_000))
    )
    assert [r["largest_batch"] for r in rows] == [61, 30, 0, 70, 35, 0]
    assert [r["sequences_lost"] for r in rows] == [9, 5, 0, 0, 0, 0]
    assert [r["fits"] for r in rows] == [True, True, False] * 2
    assert not answer.ok
    assert [b.context for b in answer.value.bills] == [1000, 2000, 100_000] * 2


def test_arms():
    answer = memory(worlds.scenario(worlds.PAIR, k=(4,)))
    (arm,) = answer.value.arms
    assert (arm.alpha, arm.k) == (0.8, 4)
    # Batch 70: plain 9 ms; draft 0.9 ms, verify max(7, 9) = 9 ms: 3.3616 x 9 / 12.6.
    assert arm.at_equal_batch == pytest.approx(3.3616 * 9 / 12.6, rel=1e-14)
    # 61 sequences: draft 0.81 ms, verify 8.1 ms; 61 x 3.3616 / 11.34 ms against 70 / 9 ms.
    own = (61 * 3.3616 / 11.34) / (70 / 9)
    assert arm.at_own_largest == pytest.approx(own, rel=1e-14)


def test_arms_of_each_acceptance_and_k():
    axes = {"acceptance": (Alpha(0.3), Alpha(0.9)), "k": (1, 4)}
    found = memory(worlds.scenario(worlds.PAIR, **axes)).value.arms
    assert [(a.alpha, a.k) for a in found] == list(product((0.3, 0.9), (1, 4)))


def test_arms_do_not_depend_on_what_is_timed_together(monkeypatch):
    axes = {"acceptance": (Alpha(0.3), Alpha(0.9)), "context": (100.0, 1000.0, 1e6, 3000.0)}
    whole = memory(worlds.scenario(worlds.PAIR, worlds.FREE, **axes)).value.arms
    assert len(whole) == 2 * 3 * 2
    assert len({arm.k for arm in whole}) > 1
    monkeypatch.setattr(comparing, "_CELLS", 1)
    assert memory(worlds.scenario(worlds.PAIR, worlds.FREE, **axes)).value.arms == whole
    alone = [
        memory(worlds.scenario(case, acceptance=(a,), context=(c,))).value.arms
        for case in (worlds.PAIR, worlds.FREE)
        for c in (100.0, 1000.0, 3000.0)
        for a in axes["acceptance"]
    ]
    assert tuple(arm for (arm,) in alone) == whole


def test_plain_decoding_needs_no_drafter():
    (arm,) = memory(worlds.scenario(worlds.PAIR, k=(0,))).value.arms
    assert (arm.at_equal_batch, arm.at_own_largest) == (1.0, 1.0)


def test_nothing_drafts():
    answer = memory(worlds.scenario(worlds.PLAIN, k=(1, 4)))
    assert answer.value.arms == ()  # there is no k = 4 without a drafter
    assert answer.value.bills[0].sequences_lost == 0


def test_no_arms_where_nothing_fits():
    answer = memory(worlds.scenario(replace(worlds.PAIR, memory=2.4e9), k=(4,)))
    (bill,) = answer.value.bills
    assert (bill.largest_batch_plain, bill.largest_batch) == (1, 0)
    assert answer.value.arms == ()
    assert not answer.ok


def test_growth_is_in_the_bill_and_not_in_the_times():
    answer = memory(worlds.scenario(worlds.PAIR, growth=500.0, k=(4,)))
    (bill,), (arm,) = answer.value.bills, answer.value.arms
    assert (bill.context, bill.largest_batch_plain, bill.largest_batch) == (1500, 46, 41)
    equal = oracle.speedup(worlds.PAIR, 0.8, 46, 4, 1000)
    assert arm.at_equal_batch == pytest.approx(equal, rel=1e-14)
    plain, drafted = (
        batch / seconds
        for batch, seconds in (
            (46, oracle.target_step(worlds.PAIR, 46, 1, 1000).seconds),
            (41, oracle.round_s(worlds.PAIR, 41, 4, 1000) / 3.3616),
        )
    )
    assert arm.at_own_largest == pytest.approx(drafted / plain, rel=1e-14)


def test_gpus_share():
    (bill,) = memory(worlds.scenario(replace(worlds.PAIR, tp=4), **NO_ALPHA)).value.bills
    assert bill.hardware == "4x chip"
    assert (bill.target_weights_bytes, bill.draft_weights_bytes) == (0.5e9, 2e8)
    assert (bill.largest_batch_plain, bill.largest_batch) == (340, 237)


def test_a_label_is_no_driver():
    scene = worlds.scenario(worlds.PAIR, worlds.FREE, **NO_ALPHA)
    assert memory(scene).basis.assumed == ()
    labelled = tuple(
        replace(s, hardware=replace(s.hardware, memory_basis="label")) for s in scene.setups
    )
    (note,) = memory(replace(scene, setups=labelled)).basis.assumed
    assert note.startswith("chip: memory is its label")
