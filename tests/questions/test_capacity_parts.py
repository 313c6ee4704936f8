"""GPUs by cause: a server that is never without requests by hand and by loops, and sums."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from serving.plain_servers import server

from specplan.domain.acceptance import Alpha
from specplan.domain.slo import Limit, Slo
from specplan.domain.traffic import Lengths, Traffic
from specplan.questions.capacity_parts import Parts, closed_loop, fitting, parts_of
from specplan.questions.capacity_size import Asked, Desk, sized
from specplan.questions.replicas import shape_of
from specplan.serving.policy import Policy, fixed
from specplan.serving.replica import Replica

LENGTHS = Lengths(isl=(1000,), osl=(101,), hit=(0,), weight=(1.0,))


def asked(*limits: Limit, lengths: Lengths = LENGTHS, rate: float = 100.0, **more) -> Asked:
    traffic = Traffic(rate_per_s=rate, lengths=lengths, dispersion=more.pop("dispersion", 1.0))
    return Asked(traffic=traffic, slo=Slo(limits=limits), shape=shape_of(lengths), **more)


def plain(**changes) -> Replica:
    """A step of 10 ms whatever its batch of up to 10, 10 us for a token of a prompt."""
    given = {"sequences": 10, "round_s": 0.01, "prompt_s": 1e-5, "policy": fixed(0), **changes}
    return server(**given)


def tpot(seconds: float, percentile: float = 95.0) -> Limit:
    return Limit("tpot", percentile, seconds)


# A prompt takes 10 ms plus its attention (1e-4 of a token each, 500 seen: 5 % more), and 100
# further tokens take 100 rounds of 10 ms.


def test_a_full_server_by_hand():
    found = closed_loop(plain(), asked())
    assert (found.batch, found.keeps) == (10, True)
    assert found.prompt_s == pytest.approx(0.0105)
    assert found.decode_s == pytest.approx(1.0 / 10)
    assert found.rate_per_s == pytest.approx(1 / 0.1105)


def test_a_promise_about_tokens_ends_the_batch():
    # B prompts and 100 rounds within 100 times the limit: 0.0105 B + 1 <= 1.05
    found = closed_loop(plain(), asked(tpot(0.0105)))
    assert (found.batch, found.keeps) == (4, True)
    assert found.rate_per_s == pytest.approx(1 / (0.0105 + 0.25))


def test_where_no_batch_keeps_it_the_one_nearest_to_it():
    found = closed_loop(plain(), asked(tpot(0.005)))
    assert (found.batch, found.keeps) == (1, False)


def test_the_pool_ends_the_batch_and_one_that_holds_nothing_has_none():
    assert fitting(plain(pool_tokens=5000.0), 1050.5) == 4  # blocks of a token
    assert closed_loop(plain(pool_tokens=5000.0), asked()).batch == 4
    assert closed_loop(plain(pool_tokens=900.0), asked()) is None
    assert fitting(plain(), 1050.5) == 10


@pytest.mark.parametrize("limit_s", [0.004, 0.008, 0.02, math.inf])
@pytest.mark.parametrize("ks", [(0,), (3,), (0, 3)])
def test_it_is_the_best_of_all_batches_by_loops(limit_s, ks):
    policy = Policy("some", tuple(reversed(ks)), (6, 12)[: len(ks)], tax=0.1)
    one = server(
        policy=policy,
        k=tuple(sorted({0, *ks})),
        sequences=12,
        round_s=0.004,
        per_sequence_s=2e-4,
        prompt_s=1e-6,
        acceptance=Alpha(0.6),
    )
    lengths = Lengths(isl=(300, 900), osl=(40, 200), hit=(0, 100), weight=(0.25, 0.75))
    question = asked(*([tpot(limit_s)] if limit_s < math.inf else []), lengths=lengths)
    best = None
    for batch in range(1, 13):
        k = policy.k_at(batch)
        times = one.pace.at(k, batch, question.shape.context) * (1.1 if k == 0 else 1)
        prompt = rounds = further = 0.0
        for isl, osl, hit, weight in zip(
            lengths.isl, lengths.osl, lengths.hit, lengths.weight, strict=True
        ):
            new = isl - hit
            prompt += weight * float(one.pace.prompt_s(batch * (k + 1), new, hit + new / 2))
            rounds += weight * rounds_by_loop(0.6, k, osl - 1)
            further += weight * (osl - 1)
        each = prompt + rounds * float(times) / batch
        if batch * each / further <= limit_s and (best is None or each < best[1]):
            best = batch, each
    found = closed_loop(one, question)
    assert found.keeps is (best is not None)
    if best:
        assert (found.batch, 1 / found.rate_per_s) == (best[0], pytest.approx(best[1], rel=1e-9))


def rounds_by_loop(alpha: float, k: int, tokens: int) -> float:
    """Mean rounds until so many tokens are there, from the law of one round's."""
    chances = [alpha**i * (1 - alpha) for i in range(k)] + [alpha**k]
    mean = [0.0] * (tokens + 1)
    for left in range(1, tokens + 1):
        mean[left] = 1 + sum(p * mean[max(left - 1 - i, 0)] for i, p in enumerate(chances))
    return mean[tokens]


# Sums


@pytest.mark.parametrize("margin", [0.0, 0.25])
@pytest.mark.parametrize("dispersion", [1.0, 4.0])
@pytest.mark.parametrize("k", [0, 3])
def test_causes_add_up_to_the_gpus(k, dispersion, margin):
    question = asked(tpot(0.02), Limit("ttft", 99.0, 1.0), margin=margin, dispersion=dispersion)
    alone = Desk(plain(), LENGTHS)
    drafting = replace(plain(policy=fixed(k), k=(0, k) if k else (0,)), gpus=2 if k else 1)
    desk = Desk(drafting, LENGTHS) if k else alone
    found = sized(desk, question)
    parts = parts_of(desk, alone, question, found)
    assert parts.total == pytest.approx(found.replicas * drafting.gpus, rel=1e-12)
    assert parts.prefill == pytest.approx(100 * 0.0105)
    assert 0 <= parts.whole < drafting.gpus
    assert (parts.speculation == 0) is (k == 0)
    assert (parts.margin > 0) is (margin > 0)
    assert (parts.bursts > 1e-9) is (dispersion > 1)
    assert parts.queue > 0
    assert dict(parts.pairs()).keys() == set(Parts.__slots__)


def test_what_does_not_fit_has_no_causes():
    alone = Desk(plain(), LENGTHS)
    found = sized(alone, asked())
    none = Desk(plain(pool_tokens=900.0), LENGTHS)
    assert parts_of(none, alone, asked(), found) is None


def test_memory_is_a_cause_of_its_own():
    question = asked(Limit("ttft", 99.0, 5.0))
    small = Desk(plain(pool_tokens=5000.0), LENGTHS)
    parts = parts_of(small, small, question, sized(small, question))
    full, held = 1 / (0.0105 + 0.1), 1 / (0.0105 + 0.25)
    assert parts.decode == pytest.approx(100 / full - 1.05)
    assert parts.memory == pytest.approx(100 / held - 100 / full)
