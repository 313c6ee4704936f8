"""Attention groups: everything that asks whether a batch fits asks it of the GPUs of one group.

4 GPUs in 2 groups, 9e9 usable bytes each: 1e9 of weights and 0.5e8 for every second sequence leave
room for 2 x 160; without groups 0.5e9 and 0.25e8 for each leave 340.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
import worlds

from specplan.catalogue.store import Catalogue
from specplan.domain.answer import Facts
from specplan.domain.card import Dtype
from specplan.domain.scenario import Scenario
from specplan.questions.best_k import best_k
from specplan.questions.bills import fitting_tp
from specplan.questions.explain import explain
from specplan.questions.facts import facts_of
from specplan.questions.gate import gate
from specplan.questions.memory import memory
from specplan.questions.sweep import sweep
from specplan.questions.weigh import Objective, Point, weigh

FOUR = replace(worlds.FREE, tp=4, draft_tp=4)


def scenario(groups: int = 2, **axes: object) -> Scenario:
    asked = worlds.scenario(FOUR, **axes)
    setups = tuple(replace(s, attention_dp=groups) for s in asked.setups)
    return replace(asked, setups=setups)


BATCHES = pytest.mark.parametrize(("batch", "fits"), [(320.0, True), (321.0, False)])


@BATCHES
def test_memory(batch, fits):
    answer = memory(scenario(batch=(batch,)))
    (bill,) = answer.value.bills
    assert (bill.target_weights_bytes, bill.target_kv_bytes_per_sequence) == (1e9, 0.5e8)
    assert (bill.largest_batch_plain, bill.largest_batch) == (320, 320)
    assert answer.ok is fits
    # The 321st takes a group to 161 sequences.
    assert bill.shortfall_bytes == pytest.approx(0 if fits else 0.5e8)


def test_a_gpu_holds_some_of_the_sequences():
    answer = memory(scenario())
    facts, *_ = (s for s in answer.view.sections if isinstance(s, Facts))
    assert dict(facts.pairs)["target KV"].endswith("per sequence, one in 2 of them on a GPU")
    (note,) = answer.notes
    assert note.startswith("attention-dp 2: a GPU holds one in 2 of the sequences")
    assert memory(scenario(groups=1)).notes == ()


def test_each_number_of_groups_is_noted_once():
    several = (scenario(1), scenario(2), scenario(4), scenario(2))
    asked = replace(several[0], setups=tuple(s.setups[0] for s in several))
    assert [note.split(":")[0] for note in memory(asked).notes] == [
        "attention-dp 2",
        "attention-dp 4",
    ]


@BATCHES
def test_sweep(batch, fits):
    (row,) = sweep(scenario(batch=(batch,), k=(4,))).table.records()
    assert (row["fits_plain"], row["fits"]) == (fits, fits)


@BATCHES
def test_best_k(batch, fits):
    value = best_k(scenario(batch=(batch,))).value
    assert value.choice.fits is fits
    assert (value.load.largest_batch, value.memory.largest_batch) == (320, 320)
    many = best_k(scenario(batch=(1.0, batch)))
    assert [row["fits"] for row in many.table.records()] == [True, fits]


def test_gate():
    value = gate(scenario(k=(1, 4))).value
    assert (value.largest_batch, value.largest_batch_plain) == (320, 320)


@BATCHES
def test_what_check_looks_at(batch, fits):
    (facts,) = facts_of(scenario(batch=(batch,), k=(4,)))
    assert facts.largest_batch == 320
    assert (facts.free_bytes >= 0) is fits


def test_throughput_is_at_the_largest_batch_of_all_groups():
    asked = scenario()
    point = Point(asked.setups[0], 1000.0, 1.0, asked.acceptance[0])
    assert float(weigh(point, (0, 4)).bill.largest_plain) == 320
    at_largest = weigh(replace(point, batch=320.0), (0, 4)).score(Objective.LATENCY)
    assert weigh(point, (0, 4)).score(Objective.THROUGHPUT) == pytest.approx(at_largest)


def test_more_gpus_keep_their_groups():
    (setup,) = scenario().setups
    assert fitting_tp(setup, 1000.0, 321.0) == 8
    three = replace(setup, tp=3, draft_tp=3, attention_dp=3)
    assert fitting_tp(three, 1000.0, 1e5) is None  # no power of two divides into 3 groups


def test_deepseek_on_eight_gpus():
    """What is no routed expert (58 layers of 256, 3 x 7168 x 2048 each) is on every GPU; the
    latent of a sequence is whole on one GPU as on eight.
    """
    (setup,) = scenario().setups
    store = Catalogue()
    fp8 = {"dtype": Dtype.FP8, "hardware": store.hardware("h200").card}
    target = store.model("deepseek-r1").card
    setup = replace(setup, target=target, tp=8, draft_tp=8, **fp8)
    asked = replace(scenario(), context=(4096.0,))

    def bill(groups: int, ep: int):
        laid = replace(setup, attention_dp=groups, ep=ep)
        return memory(replace(asked, setups=(laid,))).value.bills[0]

    assert bill(1, 1).largest_batch == 179
    assert bill(8, 1).largest_batch == 968
    assert bill(8, 8) == bill(8, 1)
    experts = 58 * 256 * 3 * 7168 * 2048
    assert target.expert_bytes(Dtype.FP8) == experts
    other = target.weights_bytes(Dtype.FP8) - experts
    assert bill(8, 8).target_weights_bytes == other + experts / 8
    assert bill(8, 8).target_kv_bytes_per_sequence == bill(1, 1).target_kv_bytes_per_sequence


@pytest.mark.parametrize(
    ("batch", "k", "note"),
    [
        (61.0, 4, ()),
        (62.0, 4, ("batch 62 does not fit: memory ends at 61",)),
        (62.0, 0, ()),
        (71.0, 0, ("batch 71 does not fit: memory ends at 70",)),
    ],
)
def test_explain_says_where_a_batch_does_not_fit(batch, k, note):
    assert explain(worlds.scenario(worlds.PAIR, batch=(batch,), k=(k,))).notes == note


def test_explain_looks_at_the_end_of_a_sequence():
    grown = worlds.scenario(worlds.PAIR, batch=(42.0,), k=(4,), growth=500.0)
    assert explain(grown).notes == ("batch 42 does not fit: memory ends at 41",)


def test_explain_of_what_never_fits():
    none = worlds.scenario(replace(worlds.PAIR, memory=1e9), k=(4,))
    assert explain(none).notes == ("batch 1 does not fit: no sequence fits",)


def test_explain_in_groups():
    assert explain(scenario(batch=(320.0,), k=(4,))).notes == ()
    assert explain(scenario(batch=(321.0,), k=(4,))).notes == (
        "batch 321 does not fit: memory ends at 320",
    )
