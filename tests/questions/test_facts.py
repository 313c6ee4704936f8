"""What a plan comes to at each point, against arithmetic in the head and the other questions."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import worlds

from specplan.domain.acceptance import Alpha
from specplan.errors import Refused
from specplan.physics.choose import TIE, crossings
from specplan.physics.tokens import expected_tokens
from specplan.questions import facts as module
from specplan.questions.best_k import best_k, points_of
from specplan.questions.facts import facts_of
from specplan.questions.weigh import weigh

AXES = {
    "batch": (1.0, 16.0, 60.0),
    "context": (100.0, 1000.0),
    "acceptance": (Alpha(0.3), Alpha(0.8)),
}


def test_one_point_by_hand():
    # A step moves 2.1e9 bytes at 1e12 B/s; a draft step costs a tenth; E(0.8, 4) = 3.3616.
    (facts,) = facts_of(worlds.scenario(worlds.PAIR, k=(4,)))
    assert facts.speedup == pytest.approx(3.3616 / 1.4, rel=1e-12)
    assert facts.tpot_s == pytest.approx(2.1e-3 * 1.4 / 3.3616, rel=1e-12)
    assert facts.tokens_per_s == pytest.approx(1 / facts.tpot_s, rel=1e-12)
    alpha = facts.break_even_alpha
    assert sum(alpha**i for i in range(5)) == pytest.approx(1.4, rel=1e-9)
    assert facts.draft_bytes == 2e8 + 1e7
    assert facts.free_bytes == pytest.approx(9e9 - 2e9 - 1e8 - 2e8 - 1e7, rel=1e-12)
    assert facts.largest_batch == int((9e9 - 2.2e9) / 1.1e8)
    assert facts.break_even_batch == math.inf
    assert (facts.k, facts.batch, facts.context, facts.alpha) == (4, 1, 1000, 0.8)
    assert (facts.bound, facts.place()) == (True, "batch 1, context 1000")


def test_the_best_k_is_that_of_best_k_at_every_point():
    scenario = worlds.scenario(worlds.PAIR, worlds.FREE, **AXES)
    found = facts_of(scenario)
    points = list(points_of(scenario))
    assert len(found) == len(points) == 24
    for facts, point in zip(found, points, strict=True):
        alone = {"batch": (point.batch,), "context": (point.context,)}
        alone |= {"acceptance": (point.acceptance,), "setups": (point.setup,)}
        choice = best_k(replace(scenario, **alone)).value.choice
        assert (facts.batch, facts.context, facts.alpha) == (
            choice.batch,
            choice.context,
            choice.alpha,
        )
        assert facts.k == facts.best_k == choice.k
        assert facts.speedup == pytest.approx(choice.speedup, rel=1e-12)
        assert facts.tpot_s == pytest.approx(choice.tpot_s, rel=1e-12)
        assert facts.k_regret == 0
        threshold = choice.break_even_alpha
        assert facts.break_even_alpha == (math.inf if threshold is None else threshold)


def test_regret_is_against_all_candidates_and_the_k_asked_for():
    scenario = worlds.scenario(worlds.PAIR, k=(1, 20), **AXES)
    found = facts_of(scenario)
    points = list(points_of(scenario))
    assert [facts.k for facts in found] == [1] * len(points) + [20] * len(points)
    for facts, point in zip(found, [*points, *points], strict=True):
        weighed = weigh(point, (*range(17), 20))
        best = weighed.speedup.max()
        mine = weighed.speedup[weighed.k.index(facts.k)]
        assert facts.speedup == pytest.approx(mine, rel=1e-12)
        assert facts.best_speedup == pytest.approx(best, rel=1e-9)
        assert facts.k_regret == pytest.approx(1 - mine / best, rel=1e-9, abs=2 * TIE)


@pytest.mark.parametrize("batch", [60.0, 61.0, 62.0, 70.0, 71.0])
@pytest.mark.parametrize("k", [(), (0,), (4,)])
def test_room_agrees_with_the_largest_batch(batch, k):
    (facts,) = facts_of(worlds.scenario(worlds.PAIR, batch=(batch,), k=k))
    assert facts.largest_batch == (70 if k == (0,) else 61)
    assert (facts.free_bytes >= 0) == (batch <= facts.largest_batch)
    assert facts.draft_bytes == (0 if k == (0,) else 2e8 + 1e7 * batch)


def test_memory_is_for_the_end_of_a_sequence():
    scenario = replace(worlds.scenario(worlds.PAIR, k=(4,)), growth=1000.0)
    (facts,) = facts_of(scenario)
    assert facts.draft_bytes == 2e8 + 2e7
    assert facts.speedup == pytest.approx(3.3616 / 1.4, rel=1e-12)


@pytest.mark.parametrize("k", [1, 4, 8])
def test_the_first_batch_at_which_a_fixed_k_loses(k):
    scenario = worlds.scenario(worlds.PAIR, context=(10.0,), batch=(1.0, 5.0), k=(k,))
    found = facts_of(scenario, scan_to=65_536)
    setup = scenario.setups[0]
    tokens, limit = expected_tokens(0.8, k), found[0].largest_batch
    losses = [c.batch for c in crossings(setup, 10.0, tokens, k, limit) if not c.pays]
    assert [facts.break_even_batch for facts in found] == [losses[0]] * 2
    assert losses[0] > 1


def test_batches_beyond_those_asked_for_are_not_looked_at():
    scenario = worlds.scenario(worlds.PAIR, context=(10.0,), k=(8,))
    (facts,) = facts_of(scenario, scan_to=65_536)
    loses = int(facts.break_even_batch)
    assert facts_of(scenario, scan_to=loses)[0].break_even_batch == loses
    assert facts_of(scenario, scan_to=loses - 1)[0].break_even_batch == math.inf


def test_a_chosen_k_loses_where_all_do():
    scenario = worlds.scenario(worlds.PAIR, context=(10.0,))
    (facts,) = facts_of(scenario, scan_to=65_536)
    setup, limit = scenario.setups[0], facts.largest_batch
    last = 0
    for batch in range(1, limit + 1):
        point = replace(next(points_of(scenario)), setup=setup, batch=float(batch))
        if weigh(point, tuple(range(1, 17))).speedup.max() < 1 - TIE:
            last = batch
            break
    assert facts.break_even_batch == last
    assert last > 1


def test_no_batch_loses_with_free_drafts_and_none_fits_beside_too_much():
    (facts,) = facts_of(worlds.scenario(worlds.FREE), scan_to=65_536)
    assert facts.break_even_batch == math.inf
    small = worlds.scenario(replace(worlds.PAIR, memory=1e9), k=(4,))
    (facts,) = facts_of(small, scan_to=65_536)
    assert (facts.largest_batch, facts.break_even_batch) == (0, 0)
    assert facts.free_bytes == pytest.approx(9e8 - 2.31e9, rel=1e-12)


def test_a_mix_runs_one_k_and_each_part_has_its_own_best():
    parts = (worlds.part(3, 1, 1000, 0.9), worlds.part(1, 16, 100, 0.3))
    scenario = worlds.scenario(worlds.PAIR, parts=parts)
    value = best_k(scenario).value
    found = facts_of(scenario)
    assert [facts.k for facts in found] == [value.k, value.k]
    assert [facts.best_k for facts in found] == [part.own_k for part in value.parts]
    assert [facts.speedup for facts in found] == pytest.approx([p.speedup for p in value.parts])
    assert [facts.k_regret for facts in found] == pytest.approx([p.loss for p in value.parts])
    assert found[1].place() == "batch 16, context 100, alpha 0.3"
    fixed = facts_of(replace(scenario, k=(2,)))
    assert [facts.k for facts in fixed] == [2, 2]


def test_what_varies_tells_the_setup():
    scenario = worlds.scenario(worlds.PAIR, replace(worlds.PAIR, tp=2, dtype="fp8"), k=(4,))
    found = facts_of(scenario)
    assert [facts.setup for facts in found] == ["chip, dtype bf16", "2x chip, dtype fp8"]


def test_what_cannot_be_drafted_is_refused():
    with pytest.raises(Refused, match="draft none cannot propose k = 4; at most 0"):
        facts_of(worlds.scenario(worlds.PLAIN, k=(4,)))
    (facts,) = facts_of(worlds.scenario(worlds.PLAIN), scan_to=65_536)
    assert (facts.k, facts.speedup, facts.break_even_batch) == (0, 1, math.inf)


def test_a_plan_has_a_largest_size(monkeypatch):
    scenario = worlds.scenario(worlds.PAIR, k=(1, 2), **AXES)
    monkeypatch.setattr(module, "POINT_LIMIT", 24)
    assert len(facts_of(scenario)) == 24
    monkeypatch.setattr(module, "POINT_LIMIT", 23)
    with pytest.raises(Refused, match="the plan has 24 points; at most 23 are checked"):
        facts_of(scenario)
