"""Replicas: the fewest whose share of the traffic keeps what is promised."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from serving.plain_servers import server

from specplan.domain.slo import Limit, Slo
from specplan.domain.traffic import Lengths, Traffic
from specplan.questions.capacity_size import (
    STABLE,
    Asked,
    Desk,
    _fewest,
    at_one_of,
    sized,
)
from specplan.questions.replicas import shape_of
from specplan.serving.policy import fixed

LENGTHS = Lengths(isl=(1000,), osl=(101,), hit=(0,), weight=(1.0,))
SLO = Slo(limits=(Limit("ttft", 99.0, 1.0), Limit("tpot", 95.0, 0.02)))


def desk(**changes) -> Desk:
    plain = {"sequences": 10, "round_s": 0.01, "prompt_s": 1e-5, "policy": fixed(0), **changes}
    return Desk(server(**plain), LENGTHS)


ONE = desk()


def asked(rate: float, slo: Slo = SLO, margin: float = 0.0, dispersion: float = 1.0) -> Asked:
    traffic = Traffic(rate_per_s=rate, lengths=LENGTHS, dispersion=dispersion)
    return Asked(traffic=traffic, slo=slo, shape=shape_of(LENGTHS), margin=margin)


@pytest.mark.parametrize("rate", [0.01, 1.0, 7.5, 40.0, 1234.5])
@pytest.mark.parametrize("margin", [0.0, 0.3])
@pytest.mark.parametrize("dispersion", [1.0, 6.0])
def test_replicas_carry_the_traffic_and_one_fewer_would_not(rate, margin, dispersion):
    question = asked(rate, margin=margin, dispersion=dispersion)
    found = sized(ONE, question)
    assert found.replicas * found.largest_per_s * (1 - margin) >= rate * (1 - 1e-8)
    assert found.rate_per_s == pytest.approx(rate / found.replicas)
    assert found.at.meets(SLO.limits[0])
    assert found.at.meets(SLO.limits[1])
    fewer = found.replicas - 1
    if fewer:
        most = ONE.largest(SLO, at_one_of(dispersion, fewer)).rate_per_s * (1 - margin)
        assert fewer * most < rate


def test_a_rate_that_is_a_whole_number_of_largest_ones_needs_no_more():
    largest = ONE.largest(SLO, 1.0).rate_per_s
    assert sized(ONE, asked(5 * largest)).replicas == 5
    assert sized(ONE, asked(5.001 * largest)).replicas == 6


def test_without_promises_a_replica_stays_clear_of_the_rate_at_which_queues_only_grow():
    most = ONE.saturation()
    found = sized(ONE, asked(3 * most, Slo()))
    assert found.replicas == 4  # three would be at the edge of it
    assert sized(ONE, asked(3 * STABLE * most, Slo())).replicas == 3


def test_bursts_even_out_over_replicas():
    assert at_one_of(9.0, 1) == 9.0
    assert at_one_of(9.0, 4) == 3.0
    assert at_one_of(1.0, 7) == 1.0
    few, many = (sized(ONE, asked(rate, dispersion=20.0)) for rate in (1.0, 500.0))
    assert few.dispersion > many.dispersion
    assert few.largest_per_s < many.largest_per_s


@given(st.floats(0.1, 5000.0), st.floats(0.0, 30.0))
def test_the_fewest_are_found_as_one_by_one(need, bursts):
    def needed(replicas: float) -> float:
        return need * (1 + bursts / replicas)

    by_one = next(n for n in range(1, 200_000) if needed(n) <= n * (1 + 1e-9))
    assert _fewest(needed) == by_one


def test_what_no_number_carries_has_no_fewest():
    assert _fewest(lambda _: math.inf) is None


# Why there is none


def test_a_promise_that_is_missed_by_one_request_alone_says_by_how_much():
    slow = Slo(limits=(Limit("ttft", 99.0, 1.0), Limit("tpot", 95.0, 0.008)))
    assert sized(ONE, asked(1.0, slow)) == (
        "tpot_p95 is 10 ms for a request alone: 25 % over the 8 ms promised"
    )


def test_a_request_that_does_not_fit_is_named():
    assert sized(desk(pool_tokens=900.0), asked(1.0)) == (
        "a request of 1,101 tokens does not fit beside the weights"
    )


def test_pools_answer_for_their_own_promises():
    # Prompts alone never wait for rounds, and tokens not for prompts.
    slo = Slo(limits=(Limit("ttft", 99.0, 0.05), Limit("tpot", 95.0, 0.02)))
    prefill, decode = (sized(ONE, asked(40.0, slo), role) for role in ("prefill", "decode"))
    assert prefill.bound_by == "ttft_p99"
    assert prefill.saturation_per_s == pytest.approx(1 / 0.0105, rel=1e-3)
    assert decode.saturation_per_s == pytest.approx(10.0, rel=1e-3)
    assert (prefill.at.tpot.mean, prefill.at.batch_mean) == (0, 0)
