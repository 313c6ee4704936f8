"""Queues of prompts and of sequences, each against a plain simulation or a sum."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specplan.serving.backlog import mean_step_s, steps_of
from specplan.serving.bursts import burst_of
from specplan.serving.chain import Prompts, chain_of
from specplan.serving.crowd import crowd_of, fixed_points
from specplan.serving.law import Law, always, delayed, law_of, lognormals, mixture, normal
from specplan.serving.queues import erlang_c

KINDS = Prompts(np.asarray([100.0, 700.0, 3000.0]), np.asarray([0.5, 0.4, 0.1]), 0.0)


def step_s(tokens: np.ndarray) -> np.ndarray:
    """A round of 10 ms and 20 us a token."""
    return 0.01 + 2e-5 * np.asarray(tokens)


def simulated(prompts: Prompts, budget: float, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Lengths of steps, and times to the first token, one step after the other."""
    rng = np.random.default_rng(3)
    waiting: list[list[float]] = []  # arrival, tokens left
    now, lengths, firsts = 0.0, [], []
    for _ in range(steps):
        room, read, ended = budget, 0.0, []
        for item in waiting:
            some = min(item[1], room)
            item[1], room, read = item[1] - some, room - some, read + some
            if item[1] <= 0:
                ended.append(item[0])
        waiting = [item for item in waiting if item[1] > 0]
        long = float(step_s(read))
        for _ in range(rng.poisson(long * prompts.rate_per_s / prompts.burst)):
            at = now + rng.random() * long
            for _ in range(rng.geometric(1 / prompts.burst)):
                waiting.append([at, float(rng.choice(prompts.tokens, p=prompts.weight))])
        waiting.sort(key=lambda item: item[0])
        now += long
        lengths.append(long)
        firsts += [now - at for at in ended]
    return np.asarray(lengths), np.asarray(firsts)


@pytest.mark.parametrize(
    ("rate", "burst", "budget"), [(10, 1, 8192), (40, 1, 8192), (20, 3, 8192), (30, 1, 1024)]
)
def test_steps_and_first_tokens_are_those_of_a_simulation(rate, burst, budget):
    prompts = Prompts(KINDS.tokens, KINDS.weight, float(rate), float(burst))
    lengths, firsts = simulated(prompts, float(budget), 30_000)
    ours = steps_of(prompts, float(budget), step_s, alone=False)
    assert ours.mean_s == pytest.approx(float(lengths.mean()), rel=0.03)
    assert ours.variance == pytest.approx(float(lengths.var()), rel=0.15)
    assert ours.first.mean == pytest.approx(float(firsts.mean()), rel=0.06)
    for p in (50, 95, 99):
        theirs = float(np.percentile(firsts, p))
        assert ours.first.percentile(p) == pytest.approx(theirs, rel=0.1)


@given(st.floats(0.1, 60), st.floats(1, 6), st.sampled_from([512.0, 2048.0, 8192.0]))
def test_prompts_that_cost_the_same_by_the_token_take_their_share(rate, burst, budget):
    """E[X] = T + lambda w E[X], however they come."""
    prompts = Prompts(KINDS.tokens, KINDS.weight, rate, burst)
    share = rate * prompts.mean * 2e-5
    found = mean_step_s(prompts, budget, step_s)
    if rate * prompts.mean * float(step_s(budget)) >= budget:
        assert found is None
    elif rate * prompts.mean * float(step_s(budget)) < 0.8 * budget:
        assert found == pytest.approx(0.01 / (1 - share), rel=0.02)


@given(st.floats(0.1, 60), st.floats(1, 6), st.booleans())
def test_a_chain_is_a_law(rate, burst, alone):
    chain = chain_of(Prompts(KINDS.tokens, KINDS.weight, rate, burst), 8192.0, step_s, alone=alone)
    if chain:
        for law in (chain.weight, chain.runs(), chain.found_in()):
            assert float(law.sum()) == pytest.approx(1)
            assert float(law.min()) >= 0


def test_a_burst_is_as_large_as_one_looks_far():
    """Gaps of a gamma law, counted after arrivals of a simulation."""
    rng = np.random.default_rng(1)
    at = np.cumsum(rng.gamma(1 / 4, 4 / 10.0, 200_000))
    for within in (0.01, 0.1, 1.0):
        after = np.searchsorted(at, at[:-5000] + within) - np.arange(1, len(at) - 4999)
        more = float(after.mean()) - 10 * within
        assert burst_of(10.0, 4.0, within) == pytest.approx(1 + more, abs=0.05)
    assert burst_of(10.0, 4.0, 1e6) == 2.5
    assert burst_of(10.0, 0.3, 1.0) == 1.0


def test_a_crowd_of_groups_keeps_its_flow_and_widens():
    tau_s = np.full(300, 1.0)
    plain, noisy = (crowd_of(40.0, tau_s, group) for group in (1.0, 3.0))
    count = np.arange(301)
    assert plain.mean == pytest.approx(40, rel=1e-6)
    assert noisy.mean == pytest.approx(40, rel=1e-6)
    assert float(plain.law @ (count - 40) ** 2) == pytest.approx(40, rel=1e-6)
    assert float(noisy.law @ (count - 40) ** 2) == pytest.approx(120, rel=1e-6)


@pytest.mark.parametrize("places", [1, 3, 20])
def test_a_full_crowd_is_erlangs(places):
    """Services that no number slows: M/M/c."""
    found = crowd_of(0.8 * places, np.ones(places))
    assert found.waits == pytest.approx(float(erlang_c(places, 0.8 * places)), rel=1e-9)
    assert found.spare_per_s == pytest.approx(0.2 * places)


def test_dips_that_are_crossed_all_the_time_part_nothing():
    count = np.arange(1.0, 101)

    def points(rate: float, tau_s: np.ndarray, group: float = 1.0) -> tuple[float, ...]:
        return fixed_points(rate, tau_s, crowd_of(rate, tau_s, group).law)

    assert len(points(30.0, 1 + 0.02 * np.sin(count))) == 1
    steep = np.where(count < 36, 1.0, 3.0)
    steep[-20:] = 0.5  # a server that keeps up when it is full
    found = points(20.0, steep)
    assert found[:3] == pytest.approx((20.0, 35.3, 60.0), abs=0.5)
    assert len(points(20.0, steep, 9.0)) < len(found)  # groups carry it across


def test_laws_answer_both_ways():
    law = Law(np.asarray([1.0, 2.0, 4.0]), np.asarray([0.0, 0.5, 1.0]), 2.25)
    assert [law.percentile(p) for p in (0, 25, 50, 75, 100)] == [1.0, 1.5, 2.0, 3.0, 4.0]
    assert [law.at_most(t) for t in (0.5, 1.5, 3.0, 9.0)] == [0.0, 0.25, 0.75, 1.0]
    one = always(3.0)
    assert (one.percentile(1), one.percentile(99)) == (3.0, 3.0)
    assert (one.at_most(2.9), one.at_most(3.0)) == (0.0, 1.0)


def test_a_mixture_lies_between_its_parts():
    some = law_of(np.linspace(1, 2, 50), np.ones(50))
    more = law_of(np.linspace(9.9, 10.1, 50), np.ones(50))
    both = mixture([some, more], np.asarray([3.0, 1.0]))
    assert both.mean == pytest.approx(0.75 * some.mean + 2.5)
    assert both.at_most(5.0) == pytest.approx(0.75, abs=0.01)
    assert both.percentile(90) == pytest.approx(10.0, rel=0.05)


def test_a_delay_is_added_as_a_whole_law():
    found = delayed(always(2.0), 0.5)
    at = np.asarray([2.1, 2.5, 3.5])
    wanted = 1 - np.exp(-(at - 2) / 0.5)
    assert [found.at_most(t) for t in at.tolist()] == pytest.approx(wanted.tolist(), abs=0.01)
    assert found.mean == 2.5


@given(st.floats(1e-3, 1e3), st.floats(0.01, 1))
def test_lognormal_times_have_their_mean_and_spread(mean, cv):
    law = lognormals(np.asarray([mean]), np.asarray([(cv * mean) ** 2]), np.ones(1))
    middle = (law.at_s[1:] + law.at_s[:-1]) / 2
    weight = np.diff(law.share)
    assert float(weight @ middle) == pytest.approx(mean, rel=0.01)
    assert float(weight @ (middle - mean) ** 2) == pytest.approx((cv * mean) ** 2, rel=0.1)


def test_the_normal_table_is_exact_enough():
    assert normal([-9.0, -1.96, 0.0, 1.6449, 9.0]) == pytest.approx(
        [0, 0.0249979, 0.5, 0.95, 1], abs=2e-5
    )
