"""Several workloads on one server: one k, weighed by output tokens."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import oracle
import pytest
import worlds

from specplan.errors import UsageError
from specplan.questions.best_k import best_k

EASY, HARD = (1, 1, 1000, 0.9), (1, 1, 1000, 0.3)  # weight, batch, context, alpha


def mixed(*parts, case=worlds.PAIR, **axes):
    return best_k(worlds.scenario(case, parts=tuple(worlds.part(*p) for p in parts), **axes))


def tpot(alpha: float, k: int) -> float:
    """Time per token in plain steps, the drafter costing a tenth of one."""
    return (1 + 0.1 * k) / sum(alpha**i for i in range(k + 1))


def test_weights_are_shares_of_the_tokens():
    value = mixed((3, 1, 1000, 0.9), (1, 1, 1000, 0.3)).value
    speedups = [1 / (0.75 * tpot(0.9, k) + 0.25 * tpot(0.3, k)) for k in range(17)]
    assert value.k == int(np.argmax(speedups))
    assert value.speedup == pytest.approx(max(speedups), rel=1e-12)
    assert [part.share for part in value.parts] == [0.75, 0.25]


def test_each_part_against_its_own_best():
    value = mixed(EASY, HARD).value
    for part, alpha in zip(value.parts, (0.9, 0.3), strict=True):
        own = min(range(17), key=lambda k, a=alpha: tpot(a, k))
        assert part.own_k == own
        assert part.own_speedup == pytest.approx(1 / tpot(alpha, own), rel=1e-12)
        assert part.speedup == pytest.approx(1 / tpot(alpha, value.k), rel=1e-12)
        assert part.loss == pytest.approx(1 - part.speedup / part.own_speedup, rel=1e-12)
    easy, hard = value.parts
    assert hard.own_k <= value.k <= easy.own_k
    apart = 0.5 * tpot(0.9, easy.own_k) + 0.5 * tpot(0.3, hard.own_k)
    together = 0.5 * tpot(0.9, value.k) + 0.5 * tpot(0.3, value.k)
    assert value.cost_of_sharing == pytest.approx(1 - apart / together, rel=1e-12)


def test_slow_workloads_weigh_by_the_time_they_take():
    # Long contexts take longer per token: the mix leans to their k, whatever the shares.
    parts = ((1, 1, 1000, 0.3), (1, 1, 1_000_000, 0.9))
    value = mixed(*parts).value
    speedups = list(oracle.mix_speedups(worlds.PAIR, parts, range(17)))
    assert value.k == oracle.smallest_best(speedups)
    assert abs(value.k - value.parts[1].own_k) < abs(value.k - value.parts[0].own_k)


def test_one_workload_is_no_mix():
    value = mixed((5, 2, 500, 0.8)).value
    alone = best_k(worlds.scenario(worlds.PAIR, batch=(2.0,), context=(500.0,))).value.choice
    assert (value.k, value.speedup) == (alone.k, pytest.approx(alone.speedup, rel=1e-12))
    assert value.cost_of_sharing == pytest.approx(0, abs=1e-12)
    assert value.parts[0].share == 1


def test_only_proportions_of_weights_count():
    here, there = (mixed((3 * s, 1, 1000, 0.9), (s, 4, 500, 0.5)).value for s in (1.0, 1e6))
    assert here == there


def test_order_does_not_count():
    here, there = mixed(EASY, HARD).value, mixed(HARD, EASY).value
    assert (here.k, here.parts) == (there.k, there.parts[::-1])
    assert here.speedup == pytest.approx(there.speedup, rel=1e-14)


def test_rows_are_the_parts():
    answer = mixed(EASY, (2, 8, 300, 0.6))
    assert answer.command == "best-k"
    rows = list(answer.table.records())
    assert [(r["batch"], r["context"], r["alpha"]) for r in rows] == [(1, 1000, 0.9), (8, 300, 0.6)]
    for row, part in zip(rows, answer.value.parts, strict=True):
        assert row == {name: getattr(part, name) for name in row}


def test_candidates():
    assert mixed(EASY, HARD, k=(2,)).value.k in {0, 2}
    assert mixed(EASY, EASY, k_max=3).value.k == 3


def test_nothing_drafts():
    value = mixed(EASY, HARD, case=worlds.PLAIN).value
    assert (value.k, value.speedup, value.cost_of_sharing) == (0, 1.0, 0.0)


@pytest.mark.parametrize(("batch", "fits"), [(61, True), (62, False)])
def test_every_part_must_fit(batch, fits):
    assert mixed(EASY, (1, batch, 1000, 0.9)).ok is fits


def test_plain_decoding_fits_without_the_drafter():
    answer = mixed((1, 65, 1000, 0.0))
    assert (answer.value.k, answer.ok) == (0, True)


def test_parts_grow():
    assert mixed((1, 50, 1000, 0.9)).ok
    assert not mixed((1, 50, 1000, 0.9), growth=500.0).ok


def test_a_mix_is_about_one_setup():
    scene = worlds.scenario(worlds.PAIR, worlds.FREE, parts=(worlds.part(*EASY),))
    with pytest.raises(UsageError, match="a mix is about one setup"):
        best_k(scene)


@pytest.mark.parametrize("asked", [{"objective": "throughput"}, {"need": 1.5}])
def test_what_a_mix_does_not_answer_is_refused(asked):
    scene = replace(worlds.scenario(worlds.PAIR), parts=(worlds.part(*EASY),))
    with pytest.raises(UsageError, match="a mix has one k for latency"):
        best_k(scene, **asked)


def test_a_picture_has_the_mix_and_each_workload_with_its_best_k():
    answer = mixed((3, 1, 1000, 0.9), (1, 1, 1000, 0.3))
    (plot,) = answer.view.picture().panels
    assert [curve.name for curve in plot.curves] == [
        "the mix",
        "75.0 %: batch 1, context 1,000, acceptance 0.9",
        "25.0 %: batch 1, context 1,000, acceptance 0.3",
    ]
    value = answer.value
    assert dict(plot.curves[0].points)[value.k] == pytest.approx(value.speedup)
    for curve, part in zip(plot.curves[1:], value.parts, strict=True):
        assert dict(curve.points)[value.k] == pytest.approx(part.speedup)
    assert [(mark.sign, mark.x, mark.y) for mark in plot.marks] == [
        ("*", value.k, pytest.approx(value.speedup)),
        *(("+", part.own_k, pytest.approx(part.own_speedup)) for part in value.parts),
    ]


def test_of_many_workloads_the_largest_shares_are_drawn():
    (plot,) = mixed(*((n, 1, 1000, 0.05 * n) for n in range(1, 11))).view.picture().panels
    assert plot.title == "7 of 10 workloads"
    assert [curve.name.rpartition(" ")[2] for curve in plot.curves] == [
        "mix", "0.5", "0.45", "0.4", "0.35", "0.3", "0.25", "0.2",
    ]  # fmt: skip
