"""Gates by hand and by brute force: ranges, crossings, limits, and what is no question."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import oracle
import pytest
import worlds

import specplan
from specplan.domain.acceptance import Alpha
from specplan.errors import UsageError
from specplan.physics.choose import Crossing
from specplan.questions import gate as gating
from specplan.questions.best_k_view import crossing_words
from specplan.questions.gate import WAVERS, FixedK, Gate, _fixed_facts, gate

HALF = (Alpha(0.5),)


def holding(case: oracle.Case, sequences: int, context: float) -> oracle.Case:
    """The case with memory for so many sequences and a half."""
    weights = oracle.weights_bytes(case, drafted=True)
    each = oracle.sequence_bytes(case, context, drafted=True)
    return replace(case, memory=(weights + (sequences + 0.5) * each) / 0.9)


# Free drafts, hardly any context: a plain step takes 2 ms up to batch 100 and 0.02 B ms above it;
# verifying k + 1 tokens each takes 0.02 (k + 1) B ms from batch 100 / (k + 1).
SHORT = holding(worlds.FREE, 200, 1)


def test_one_candidate():
    answer = gate(worlds.scenario(SHORT, context=(1.0,), acceptance=HALF, k=(1,)))
    value = answer.value
    # 1.5 x 2 / (0.04 B) falls below 1 above 75: from 76 on plain decoding is best.
    assert [(r.first_batch, r.last_batch, r.k) for r in value.ranges] == [(1, 75, 1), (76, 200, 0)]
    assert value.ranges[0].speedup_first == pytest.approx(1.5, rel=1e-3)
    assert value.ranges[0].speedup_last == pytest.approx(1.0, rel=5e-3)
    assert (value.ranges[1].speedup_first, value.ranges[1].speedup_last) == (1.0, 1.0)
    (fixed,) = value.fixed
    assert (fixed.k, fixed.crossings) == (1, (Crossing(76, pays=False),))
    assert (value.largest_batch, value.largest_batch_plain, value.scanned_to) == (200, 200, 200)
    assert answer.ok
    assert answer.view.title == "Speculation pays up to batch 75"


def test_ranges_meet_and_shorten():
    axes = {"context": (1.0,), "acceptance": HALF, "k_max": 8}
    value = gate(worlds.scenario(SHORT, **axes)).value
    ranges = [(r.first_batch, r.last_batch, r.k) for r in value.ranges]
    assert ranges == oracle.gate_ranges(SHORT, 0.5, range(9), 1, 200)
    assert ranges[0][0] == 1
    assert ranges[-1][1] == 200
    for before, after in pairwise(ranges):
        assert after[0] == before[1] + 1
        assert after[2] < before[2]
    assert all(r.speedup_first >= 1 <= r.speedup_last for r in value.ranges)
    assert [f.k for f in value.fixed] == list(range(1, 9))
    # The longer the draft, the earlier it loses.
    losses = [f.crossings[0].batch for f in value.fixed]
    assert losses == sorted(losses, reverse=True)


def test_rows_are_the_ranges():
    answer = gate(worlds.scenario(SHORT, context=(1.0,), acceptance=HALF, k_max=4))
    rows = list(answer.table.records())
    assert answer.table.rows == len(rows) == len(answer.value.ranges)
    for row, found in zip(rows, answer.value.ranges, strict=True):
        assert row == {name: getattr(found, name) for name in row}


def test_chunks_of_the_scan_do_not_show(monkeypatch):
    axes = {"context": (1.0,), "acceptance": HALF, "k_max": 8}
    whole = gate(worlds.scenario(SHORT, **axes)).value
    for size in (1, 7, 75, 76):
        monkeypatch.setattr("specplan.physics.choose._CHUNK", size)
        assert gate(worlds.scenario(SHORT, **axes)).value == whole


def test_it_pays_at_every_batch_that_fits():
    answer = gate(worlds.scenario(worlds.FREE, acceptance=HALF, k=(2,)))
    assert [(r.first_batch, r.last_batch, r.k) for r in answer.value.ranges] == [(1, 70, 2)]
    assert answer.value.fixed[0].crossings == ()
    assert answer.view.title == "Speculation pays at every batch that fits"


def test_it_never_pays():
    slow = replace(worlds.FREE, ratio=2.0)
    answer = gate(worlds.scenario(slow, acceptance=HALF, k_max=3))
    assert [(r.first_batch, r.last_batch, r.k) for r in answer.value.ranges] == [(1, 70, 0)]
    assert all(f.crossings == (Crossing(1, pays=False),) for f in answer.value.fixed)
    assert answer.view.title == "Speculation never pays"
    assert answer.ok  # it is an answer, and the workload fits


def test_nothing_drafts():
    value = gate(worlds.scenario(worlds.PLAIN, acceptance=HALF)).value
    assert [(r.first_batch, r.last_batch, r.k) for r in value.ranges] == [(1, 70, 0)]
    assert value.fixed == ()


def test_the_drafter_s_memory_ends_the_schedule():
    value = gate(worlds.scenario(worlds.PAIR, k_max=4)).value
    assert (value.largest_batch, value.largest_batch_plain) == (61, 70)
    assert value.ranges[-1].last_batch == 61


def test_nothing_fits():
    answer = gate(worlds.scenario(replace(worlds.PAIR, memory=2e9)))
    assert not answer.ok
    assert answer.value.ranges == ()
    assert (answer.value.largest_batch, answer.value.scanned_to) == (0, 0)
    assert answer.view.title == "Nothing to gate"


def test_the_scan_has_an_end(monkeypatch):
    monkeypatch.setattr(gating, "BATCH_LIMIT", 50)
    value = gate(worlds.scenario(SHORT, context=(1.0,), acceptance=HALF, k=(1,))).value
    assert (value.largest_batch, value.scanned_to) == (200, 50)
    assert [(r.first_batch, r.last_batch, r.k) for r in value.ranges] == [(1, 50, 1)]
    assert value.fixed[0].crossings == ()


def test_the_batch_axis_plays_no_part():
    axes = {"context": (1.0,), "acceptance": HALF, "k_max": 3}
    here = gate(worlds.scenario(SHORT, **axes, batch=(1.0,))).value
    there = gate(worlds.scenario(SHORT, **axes, batch=(7.0, 1e6))).value
    assert here == there


def test_sequences_that_grow_end_the_schedule_sooner():
    value = gate(worlds.scenario(worlds.PAIR, growth=500.0, k=(4,))).value
    assert (value.largest_batch, value.largest_batch_plain) == (41, 46)
    still = gate(worlds.scenario(worlds.PAIR, k=(4,))).value
    assert value.ranges[0].speedup_first == still.ranges[0].speedup_first


@pytest.mark.parametrize(
    ("cases", "axes", "says"),
    [
        ((worlds.PAIR, worlds.FREE), {}, "gate is about one setup, not 2"),
        ((worlds.PAIR,), {"context": (1.0, 2.0)}, "one context and one acceptance"),
        ((worlds.PAIR,), {"acceptance": (Alpha(0.1), Alpha(0.2))}, "one context and one accept"),
    ],
)
def test_gates_are_about_one_setup_context_and_acceptance(cases, axes, says):
    with pytest.raises(UsageError, match=says):
        gate(worlds.scenario(*cases, **axes))


def crossed(*batches: int) -> tuple[Crossing, ...]:
    return tuple(Crossing(batch, pays=bool(place % 2)) for place, batch in enumerate(batches))


@pytest.mark.parametrize(
    ("batches", "words"),
    [
        ((), "pays at every batch that fits"),
        ((163,), "loses from batch 163"),
        ((69, 75), "loses from batch 69, pays from batch 75"),
        ((69, 70, 73), "loses from batch 69 on, but for 70-72"),
        ((107, 119, 129, 136, 137), "loses from batch 107 on, but for 119-128 and 136"),
        ((107, 119, 129, 136), "loses from batch 107 on, but for 119-128 and from 136 on"),
        (
            (9, 11, 13, 17, 19, 33, 1500),
            "loses from batch 9 on, but for 11-12 and so on to 1,500",
        ),
        (
            (110, 112, 119, 130, 140, 150, 163),
            "loses from batch 110 on, but for 112-118 and so on to 163",
        ),
        (
            (1110, 1112, 1119, 1130, 1140, 1150),
            "loses from batch 1,110 on, with gaps to batch 1,150, then pays",
        ),
    ],
)
def test_a_k_that_wavers_is_told_in_few_words(batches, words):
    assert crossing_words(crossed(*batches)) == words


def test_no_line_of_a_gate_is_wider_than_a_page():
    found = crossed(*range(110, 1000, 7))
    fixed = tuple(FixedK(k, found[k:] if k % 2 == 0 else found) for k in (1, 12, 13))
    words = [f"  {label}  {said}" for label, said in _fixed_facts(Gate((), fixed, 999, 999, 999))]
    assert max(map(len, words)) <= 80


def test_why_k_wavers_is_a_line_of_the_caption():
    setup = {"target": "llama-3.1-8b", "draft": "eagle3", "hardware": "h100", "acceptance": 0.7}
    tiled = gate(specplan.scenario(**setup, engine="vllm"))
    assert any(after.k > before.k for before, after in pairwise(tiled.value.ranges))
    assert WAVERS in tiled.view.caption
    assert len(WAVERS) <= 80
    ideal = gate(specplan.scenario(**setup, engine="roofline"))
    assert WAVERS not in ideal.view.caption
