"""The simulator's own truth: what it draws has the distribution that it was asked for.

Figures are compared within four standard errors, so that a sound simulator passes whatever the
seed, and one that counts wrongly does not.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from counters.world import (
    World,
    found,
    iid,
    interval_truths,
    mixed,
    positions,
    simulate,
    truth,
)


def share(count: int, of: int, expected: float) -> bool:
    """Whether count of `of` is expected within four standard errors."""
    return abs(count / of - expected) <= 4 * math.sqrt(expected * (1 - expected) / of)


@pytest.mark.parametrize("alpha", [0.3, 0.7, 0.95])
@pytest.mark.parametrize("k", [1, 4])
def test_iid_drafts_survive_with_alpha_at_every_place(alpha: float, k: int):
    told = truth(simulate(iid(alpha), k=k, requests=60, tokens=150, batch=6, seed=11))
    for accepted, tested in zip(told.accepted_at, told.tested_at, strict=True):
        assert share(accepted, tested, alpha)
    assert share(told.accepted_tokens, told.accepted_tokens + told.rejections, alpha)
    assert share(told.agreed_tokens, told.drafted_tokens, alpha)
    expected = (1 - alpha ** (k + 1)) / (1 - alpha)
    spread = k * 4 / math.sqrt(told.drafts)
    assert abs(told.tokens_per_round - expected) <= spread


def test_places_have_survival_of_their_own():
    survival = (0.9, 0.6, 0.8, 0.3)
    told = truth(simulate(positions(survival), k=4, requests=80, tokens=150, batch=8, seed=12))
    for accepted, tested, p in zip(told.accepted_at, told.tested_at, survival, strict=True):
        assert share(accepted, tested, p)
    assert told.conditional == pytest.approx(survival, abs=0.05)


def test_requests_differ_by_the_beta_that_was_asked_for():
    world = simulate(mixed(7, 3), k=1, requests=300, tokens=400, batch=8, seed=13)
    rates = np.array(
        [sum(row.accepted for row in one.rounds) / len(one.rounds) for one in world.requests]
    )
    long = np.array([len(one.rounds) for one in world.requests]) >= 60
    spread = math.sqrt(7 * 3 / (10**2 * 11))
    assert abs(rates[long].mean() - 0.7) <= 4 * spread / math.sqrt(long.sum()) + 0.01
    # the binomial's own spread adds a little to Beta's
    assert spread * 0.85 <= rates[long].std() <= spread * 1.35


def test_found_drafts_are_as_often_and_as_long_as_asked_for():
    world = simulate(
        iid(0.8), k=5, requests=60, tokens=200, batch=4, length=found(0.4, 0.7), seed=14
    )
    told = truth(world)
    assert share(told.drafts, told.steps, 0.4)
    for place in range(1, 5):
        assert share(told.drafted_at[place], told.drafted_at[place - 1], 0.7)
    assert told.tokens_per_step < told.tokens_per_round


def test_a_schedule_gives_k_by_running_requests():
    world = simulate(
        iid(0.7), k=4, requests=40, tokens=60, batch=12, seed=15,
        schedule=((1, 4, 4), (5, 8, 2), (9, 12, 0)),
    )  # fmt: skip
    assert {one.drafted for one in world.rounds} == {0, 2, 4}
    assert all(
        one.drafted == (4 if one.running <= 4 else 2 if one.running <= 8 else 0)
        for one in world.rounds
    )


def test_gaps_of_a_schedule_carry_the_k_before_them():
    world = simulate(
        iid(0.7), k=4, requests=30, tokens=60, batch=6, seed=15, schedule=((1, 2, 4), (5, 5, 1))
    )
    assert {one.drafted for one in world.rounds if one.running in {3, 4}} == {4}
    assert {one.drafted for one in world.rounds if one.running == 6} == {1}


WORLDS = {
    "plain": lambda seed: simulate(iid(0.7), k=3, seed=seed),
    "engines": lambda seed: simulate(mixed(), k=4, engines=3, waves=2, gap_s=30, seed=seed),
    "found": lambda seed: simulate(iid(0.9), k=6, length=found(0.5), seed=seed),
    "schedule": lambda seed: simulate(
        iid(0.5), k=3, batch=6, schedule=((1, 3, 3), (4, 6, 0)), seed=seed
    ),
}


@pytest.fixture(params=list(WORLDS))
def world(request: pytest.FixtureRequest) -> World:
    """A world of each kind."""
    return WORLDS[request.param](7)


def test_sums_agree(world: World):
    told = truth(world)
    assert told.accepted_tokens == sum(told.accepted_at)
    assert told.drafted_tokens == sum(told.drafted_at)
    assert told.rejections == sum(told.tested_at) - told.accepted_tokens
    assert told.drafts == told.tested_at[0]
    assert told.accepted_tokens <= told.agreed_tokens <= told.drafted_tokens
    assert told.tokens_per_round <= world.k + 1
    assert sum(one.emitted for one in world.rounds) == told.accepted_tokens + told.steps
    assert all(a >= b for a, b in zip(told.per_position, told.per_position[1:], strict=False))


def test_parts_add_up(world: World):
    whole = truth(world)
    by_engine = [truth(world, engine=engine) for engine in range(world.engines)]
    middle = world.end / 2
    by_time = [truth(world, until=middle), truth(world, since=middle)]
    for parts in (by_engine, by_time):
        assert sum(one.drafts for one in parts) == whole.drafts
        assert sum(one.rejections for one in parts) == whole.rejections
        assert sum(one.agreed_tokens for one in parts) == whole.agreed_tokens


def test_intervals_add_up(world: World):
    told = interval_truths(world, 2.0)
    assert sum(one.drafts for one in told) == truth(world).drafts
    assert all(one.drafts for one in told)


def test_requests_that_differ_spread_more_between_intervals_than_drafts_that_do_not():
    spread = []
    for law in (iid(0.7), mixed(7, 3)):
        world = simulate(law, k=3, requests=60, tokens=300, batch=2, seed=16)
        rates = [one.alpha for one in interval_truths(world, 5.0)]
        mean = sum(rates) / len(rates)
        spread.append(sum((rate - mean) ** 2 for rate in rates) / len(rates))
    assert spread[1] > 3 * spread[0]


def test_every_round_belongs_to_a_request(world: World):
    mine = [row for one in world.requests for row in one.rounds]
    assert sorted(mine, key=repr) == sorted(world.rounds, key=repr)
    assert len({one.number for one in world.requests}) == len(world.requests)
    for one in world.requests:
        assert one.first < one.rounds[0].at <= one.rounds[-1].at == one.last
        assert {row.engine for row in one.rounds} == {one.engine}


def test_steps_hold_every_running_request_once(world: World):
    for engine in range(world.engines):
        times = []
        for at, rows in world.steps(engine):
            times.append(at)
            assert len({row.request for row in rows}) == len(rows) == rows[0].running
        assert times == sorted(set(times))


def test_a_seed_is_a_world():
    for make in WORLDS.values():
        assert make(3) == make(3)
        assert make(3) != make(4)


def test_nothing_runs_between_waves():
    world = simulate(iid(0.7), k=3, requests=4, tokens=40, waves=3, gap_s=45, seed=8)
    times = [one.at for one in world.rounds]
    gaps = [after - before for before, after in pairwise(times)]
    assert sum(gap >= 45 for gap in gaps) == 2
    quiet = next(at for at, gap in zip(times, gaps, strict=False) if gap >= 45)
    assert not list(world.between(quiet, quiet + 45))


def test_truth_of_rounds_counted_by_hand():
    # k = 3: keeps 2 of 3; 0 of 3; all 3; drafts 1 and keeps it; drafts nothing
    world = _by_hand([(3, 2), (3, 0), (3, 3), (1, 1), (0, 0)])
    told = truth(world)
    assert (told.steps, told.drafts, told.drafted_tokens, told.accepted_tokens) == (5, 4, 10, 6)
    assert told.rejections == 2
    assert told.accepted_at == (3, 2, 1)
    assert told.drafted_at == (4, 3, 3)
    assert told.tested_at == (4, 2, 2)
    assert told.tokens_per_round == 2.5
    assert told.tokens_per_step == 2.2
    assert told.alpha == 6 / 8
    assert told.per_position == (0.75, 0.5, 0.25)
    assert told.conditional == (0.75, 1.0, 0.5)


def _by_hand(rows: list[tuple[int, int]]) -> World:
    from counters.test_printers import request_of  # noqa: PLC0415

    request = request_of(rows)
    return World(3, 1, request.rounds, (request,), 0, request.last)
