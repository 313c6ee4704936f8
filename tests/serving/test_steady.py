"""A replica under steady traffic: limits that are known, what is conserved, and an oracle."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from serving.batching import served
from serving.replicas import replica

from specplan.domain.acceptance import Alpha
from specplan.domain.slo import Limit, Slo
from specplan.domain.traffic import Lengths
from specplan.errors import Refused, UsageError
from specplan.serving.pace import Pace, Prompts
from specplan.serving.policy import Policy, fixed
from specplan.serving.queues import md1_ttft_s, mg1_wait_s, mm1_response_s, mm1_wait_quantile_s
from specplan.serving.replica import Replica
from specplan.serving.room import Room
from specplan.serving.server import server_of
from specplan.serving.steady import Steady, largest_rate, saturation, steady

MIXED = Lengths(
    isl=[200.0, 800.0, 2500.0, 900.0],
    osl=[20.0, 80.0, 60.0, 200.0],
    hit=[0.0, 0.0, 500.0, 0.0],
    weight=[0.4, 0.3, 0.1, 0.2],
)


def line(
    round_s: np.ndarray,
    *,
    token_s: float = 0.0,
    budget: int = 1000,
    sequences: int = 10**6,
    policy: Policy | None = None,
    k: tuple[int, ...] = (0,),
) -> Replica:
    """A server of made-up times: rounds of 1.. sequences (B,) or (K, B), prompts by the token."""
    table = np.atleast_2d(round_s)
    context, rows = np.asarray([0.0, 1e6]), np.arange(0.0, budget + 1e5, 100)
    pace = Pace(
        k=k,
        width=np.asarray([n + 1.0 for n in k]),
        context=context,
        round_s=np.repeat(table[:, :, np.newaxis], 2, axis=2),
        target=Prompts(rows, token_s * rows, context, np.zeros(2), 0.0),
        draft=None,
        groups=1,
        idle_s=0.0,
        host_hidden=True,
    )
    room = Room(1e15, np.asarray([0.0, 1.0, 2.0]), 16, 0, sequences, budget)
    return Replica(pace=pace, room=room, policy=policy or fixed(0), acceptance=Alpha(0.7), gpus=1)


def alike(isl: float, osl: float) -> Lengths:
    """Every request of these lengths."""
    return Lengths(isl=[isl], osl=[osl], hit=[0.0], weight=[1.0])


def exponential(mean: float) -> Lengths:
    """Outputs whose tokens after the first are geometric."""
    after = np.arange(1.0, 12 * mean)
    weight = (1 - 1 / mean) ** after
    ones = np.ones(len(after))
    return Lengths(isl=ones, osl=after + 1, hit=0 * ones, weight=weight / weight.sum())


@pytest.mark.parametrize("load", [0.1, 0.5, 0.8, 0.9])
def test_one_prompt_a_step_and_no_output_is_m_d_1(load):
    prefill_s = 0.1
    server = line(np.full(1, 1e-3), token_s=prefill_s / 1000)
    rate = load / prefill_s
    found = steady(server, alike(1000, 1), rate, role="prefill")
    assert found.ttft.mean == pytest.approx(float(md1_ttft_s(rate, prefill_s)), rel=0.01)
    assert found.utilisation == pytest.approx(load, rel=1e-6)
    assert saturation(server, alike(1000, 1), "prefill") == pytest.approx(10.0, rel=1e-3)


@pytest.mark.parametrize("load", [0.1, 0.5, 0.8, 0.9])
def test_a_batch_of_one_and_exponential_outputs_is_m_m_1(load):
    lengths = exponential(300.0)
    asked = float(np.asarray(lengths.weight) @ (np.asarray(lengths.osl) - 1)) * 1e-3
    server = line(np.full(1, 1e-3), budget=10_000, sequences=1)
    found = steady(server, lengths, load / asked)
    whole = float(mm1_response_s(load / asked, asked))
    assert found.e2e.mean == pytest.approx(whole, rel=0.02)
    assert found.waits == pytest.approx(load, rel=0.01)
    if load >= 0.5:
        tail = float(mm1_wait_quantile_s(load / asked, asked, 90))
        assert found.ttft.percentile(90) == pytest.approx(tail, rel=0.05)
    assert saturation(server, lengths) == pytest.approx(1 / asked, rel=1e-3)


@pytest.mark.parametrize("osl", [[301.0], [101.0, 1001.0]])
@pytest.mark.parametrize("load", [0.3, 0.8])
def test_a_batch_of_one_waits_as_m_g_1(osl, load):
    part = [1.0] * len(osl)
    lengths = Lengths(isl=part, osl=osl, hit=[0.0] * len(osl), weight=[1 / len(osl)] * len(osl))
    after = np.asarray(osl) - 1
    asked = 1e-3 * float(after.mean())
    cv2 = float((after**2).mean() / after.mean() ** 2 - 1)
    server = line(np.full(1, 1e-3), budget=10_000, sequences=1)
    found = steady(server, lengths, load / asked)
    wait = float(mg1_wait_s(load / asked, asked, cv2))
    assert found.ttft.mean == pytest.approx(wait, rel=0.01, abs=2e-3)  # and the round it is in


def test_rounds_that_any_number_shares_are_m_g_infinity():
    """Rounds that take no longer for more sequences: the batch is Poisson."""
    server = line(np.full(400, 1e-3))
    found = steady(server, MIXED, 200.0)
    mean = 200.0 * 1e-3 * float(np.asarray(MIXED.weight) @ (np.asarray(MIXED.osl) - 1))
    assert found.batch_mean == pytest.approx(mean, rel=0.01)
    count = np.arange(len(found.batch_law))
    variance = float(found.batch_law @ (count - found.batch_mean) ** 2)
    assert variance == pytest.approx(mean, rel=0.02)
    assert found.tpot.percentile(95) == pytest.approx(1e-3, rel=0.01)


def test_rounds_as_long_as_the_batch_are_processor_sharing():
    """n sequences share one server: geometric in the load, whatever the lengths."""
    server = line(1e-4 * np.arange(1.0, 600), budget=10**6)
    asked = 1e-4 * float(np.asarray(MIXED.weight) @ (np.asarray(MIXED.osl) - 1))
    found = steady(server, MIXED, 0.7 / asked)
    wanted = 0.3 * 0.7 ** np.arange(12)
    assert found.batch_law[:12] == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize("policy", ["none", "3", "gate"])
@pytest.mark.parametrize("load", [0.2, 0.6, 0.85])
def test_what_comes_in_goes_out(policy, load):
    rate, found = load * top(policy), at_load(policy, load)
    assert float(found.batch_law.sum()) == pytest.approx(1, abs=1e-9)
    assert float(found.batch_law.min()) >= 0
    assert sum(found.k_shares.values()) == pytest.approx(1, abs=1e-9)
    assert set(found.k_shares) <= set(replica(policy).policy.lengths)
    after = np.asarray(MIXED.osl) - 1
    stays = found.e2e.mean - found.ttft.mean  # Little: a place is held from the first token on
    assert found.batch_mean == pytest.approx(rate * stays, rel=0.02)
    assert found.itl.mean * float(np.asarray(MIXED.weight) @ after) == pytest.approx(
        stays, rel=0.03
    )
    assert 0.8 * load < found.utilisation < 1.05 * load
    assert 0 < found.kv_share < 1
    for law in (found.ttft, found.tpot, found.itl, found.itl_chunk, found.e2e):
        shares = [law.at_most(law.percentile(p)) for p in (5, 50, 95, 99)]
        assert shares == sorted(shares)
        assert shares[-1] == pytest.approx(0.99, abs=0.01)
        assert np.isfinite(law.at_s).all()


@cache
def top(policy: str) -> float:
    """The rate at which it saturates."""
    return saturation(replica(policy), MIXED)


@cache
def at_load(policy: str, load: float) -> Steady:
    """It at a part of that."""
    return steady(replica(policy), MIXED, load * top(policy))


@settings(max_examples=12)
@given(st.lists(st.floats(0.02, 0.97), min_size=2, max_size=2, unique=True))
def test_without_speculation_more_traffic_is_never_faster(loads):
    low, high = (at_load("none", load) for load in sorted(loads))
    near = 1 - 0.01  # steps take jumps where a tile of a matrix begins
    assert high.tpot.mean >= near * low.tpot.mean
    assert high.ttft.mean >= near * low.ttft.mean
    assert high.ttft.percentile(95) >= near * low.ttft.percentile(95)
    assert high.batch_mean >= near * low.batch_mean
    assert high.utilisation >= low.utilisation - 1e-9


@pytest.mark.parametrize(("policy", "load"), [("3", 0.3), ("3", 0.7), ("none", 0.6)])
def test_it_is_near_a_simulation(policy, load):
    """Within 5 % in TPOT and 15 % in the 95th percentile of TTFT; the oracle itself is off by a
    few per cent, with no more requests than take a second or two.
    """
    rng, size = np.random.default_rng(7), 15_000
    rate = load * top(policy)
    kinds = rng.permutation(np.repeat(np.arange(4), (size * np.asarray(MIXED.weight)).astype(int)))
    plain = Lengths(isl=MIXED.isl, osl=MIXED.osl, hit=[0.0] * 4, weight=MIXED.weight)
    isl, osl = np.asarray(MIXED.isl)[kinds], np.asarray(MIXED.osl)[kinds]
    come = np.cumsum(rng.exponential(1, size))
    theirs = served(replica(policy), come * (size / rate / come[-1]), isl, osl, 7)
    ours = steady(replica(policy), plain, rate)
    assert ours.tpot.mean == pytest.approx(float(theirs.tpot.mean()), rel=0.05)
    assert ours.tpot.percentile(95) == pytest.approx(float(np.percentile(theirs.tpot, 95)), rel=0.1)
    assert ours.ttft.mean == pytest.approx(float(theirs.ttft.mean()), rel=0.1)
    assert ours.ttft.percentile(95) == pytest.approx(
        float(np.percentile(theirs.ttft, 95)), rel=0.15
    )
    assert ours.batch_mean == pytest.approx(theirs.batch, rel=0.08)


def test_bursts_make_people_wait_and_the_batch_uneven():
    rate = 0.5 * top("3")
    smooth, bursty = (steady(replica(), MIXED, rate, i) for i in (1.0, 4.0))
    assert bursty.ttft.percentile(95) > 1.2 * smooth.ttft.percentile(95)
    assert bursty.batch_mean == pytest.approx(smooth.batch_mean, rel=0.3)
    count = np.arange(len(smooth.batch_law))
    spread = [float(s.batch_law @ (count - s.batch_mean) ** 2) for s in (smooth, bursty)]
    assert spread[1] > 1.3 * spread[0]
    regular = steady(replica(), MIXED, rate, 0.2)
    assert regular.ttft.mean == smooth.ttft.mean


def test_pools_apart_do_half_each():
    rate = 0.4 * top("3")
    both, prompts, outputs = (
        steady(replica(), MIXED, rate, role=role) for role in ("both", "prefill", "decode")
    )
    assert prompts.ttft.mean < both.ttft.mean  # nobody decodes beside it
    assert outputs.tpot.mean < both.tpot.mean  # no prompt comes in between
    assert prompts.tpot.mean == 0
    assert prompts.tokens_per_s == pytest.approx(rate)
    assert outputs.utilisation + prompts.utilisation == pytest.approx(both.utilisation, rel=0.2)


def test_a_switch_of_k_that_slows_rounds_leaves_two_batches():
    """Up to 20 sequences rounds take 10 ms, beyond them 30 ms: at rates in between, a small batch
    stays small and a large one large.
    """
    rounds = np.where(np.arange(1, 201) <= 20, 0.01, 0.03)
    server = line(rounds, sequences=200)
    rate = 12 / (99 * 0.01)
    found = steady(server, alike(1, 100), rate)
    assert len(found.fixed_points) == 3
    assert found.fixed_points[0] == pytest.approx(12, rel=0.01)
    assert found.fixed_points[2] == pytest.approx(36, rel=0.01)
    assert len(steady(server, alike(1, 100), rate / 3).fixed_points) == 1


@pytest.mark.parametrize("role", ["both", "prefill", "decode"])
def test_what_never_settles_is_refused(role):
    most = saturation(replica(), MIXED, role)
    steady(replica(), MIXED, 0.98 * most, role=role)
    with pytest.raises(Refused, match="more than one server finishes"):
        steady(replica(), MIXED, 1.02 * most, role=role)


def test_no_traffic_is_no_question():
    with pytest.raises(UsageError, match="rate"):
        steady(replica(), MIXED, 0.0)


def test_requests_that_fit_nowhere_are_refused():
    with pytest.raises(Refused, match="does not hold one sequence"):
        steady(replica(), alike(3e6, 100), 1.0)


SLOS = [
    Slo(limits=(Limit("ttft", 99, 0.2),)),
    Slo(limits=(Limit("tpot", 95, 0.012),)),
    Slo(limits=(Limit("ttft", 99, 5.0), Limit("e2e", 90, 1.0))),
]


@pytest.mark.parametrize("slo", SLOS)
def test_the_largest_rate_is_the_last_that_keeps_every_limit(slo):
    found = largest_rate(replica(), MIXED, slo)
    kept = steady(replica(), MIXED, found.rate_per_s)
    assert all(kept.meets(limit) for limit in slo.limits)
    assert found.bound_by in {str(limit) for limit in slo.limits}
    over = steady(replica(), MIXED, 1.005 * found.rate_per_s)
    assert found.bound_by in [str(limit) for limit in slo.limits if not over.meets(limit)]


def test_without_limits_a_server_is_filled():
    found = largest_rate(replica(), MIXED, Slo())
    assert found.rate_per_s == top("3")
    assert found.bound_by in {"memory", "sequences", "stability"}


def test_memory_binds_where_more_of_it_would_carry_more():
    lengths = alike(8.0, 50.0)
    tight = line(np.full(400, 0.01), sequences=10**6)
    room = Room(10.0, np.asarray([0.0, 1.0, 2.0]), 64, 0, 10**6, 1000)
    small = Replica(
        pace=tight.pace, room=room, policy=tight.policy, acceptance=tight.acceptance, gpus=1
    )
    assert largest_rate(small, lengths, Slo()).bound_by == "memory"
    busy = line(0.01 * np.arange(1.0, 401))
    assert largest_rate(busy, lengths, Slo()).bound_by == "stability"


def test_a_limit_that_no_traffic_keeps_has_no_rate():
    found = largest_rate(replica(), MIXED, Slo(limits=(Limit("tpot", 50, 1e-4),)))
    assert found.rate_per_s == 0
    assert found.bound_by == "tpot_p50"


def test_what_nobody_would_serve_has_an_answer_or_a_refusal():
    """Prompts of one token and of a hundred thousand, all in a cache, one output token, little
    traffic and nearly too much: no figure that is none.
    """
    for isl, osl, hit in ((1, 1, 0), (1e5, 1, 0), (435, 3, 434), (14, 341, 14), (5e4, 700, 0)):
        lengths = Lengths(isl=[isl, 20.0], osl=[osl, 9.0], hit=[hit, 0.0], weight=[0.9, 0.1])
        for role in ("both", "prefill", "decode"):
            most = saturation(replica(), lengths, role)
            for load, dispersion in ((1e-6, 1.0), (0.9, 1.0), (0.9, 30.0)):
                found = steady(replica(), lengths, load * most, dispersion, role)
                for law in (found.ttft, found.tpot, found.itl, found.itl_chunk, found.e2e):
                    told = [law.mean, *(law.percentile(p) for p in (0, 50, 95, 99, 100))]
                    assert np.isfinite(told).all()
                    assert min(told) >= 0
                    assert told[1:] == sorted(told[1:])
                assert found.batch_mean <= found.batch_most
                assert 0 <= found.kv_share <= 1


def test_a_batch_that_leaves_no_room_for_prompts_is_not_the_most():
    """256 sequences of 8 rows are all of a step of 2,048 tokens: no batch stays so large, for it
    ends faster than prompts fill it. What a server carries is the most over all batches.
    """
    narrow = replace(replica("3"), room=replace(replica("3").room, step_tokens=1300))
    wide = replace(narrow, room=replace(narrow.room, step_tokens=2 * 1300))
    kept, more = (saturation(one, MIXED) for one in (narrow, wide))
    assert 0.6 * more < kept <= more
    most = len(server_of(narrow, MIXED).k)
    rows = most * float(narrow.pace.width[-1])
    assert rows < 0.8 * 1300  # prompts have the rest
