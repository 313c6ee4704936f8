"""Runs of a simulation: what queueing theory knows, and what is counted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from serving.plain_servers import requests, server
from serving.replicas import replica
from serving.step_by_step import Steps

from specplan.domain.slo import Limit, Slo
from specplan.domain.traffic import Trace
from specplan.serving.draws import Streams
from specplan.serving.entries import Gating
from specplan.serving.outcome import Outcomes, outcome_of
from specplan.serving.record import Record
from specplan.serving.simulation import Gaps, Sample, attained, simulate

STEP_S = 1e-3


def waits(osl: list[int], rate: float, runs: int = 6, count: int = 6000) -> Outcomes:
    """One request at a time, a millisecond a token; prompts are free."""
    rng = np.random.default_rng(5)
    found = []
    for number in range(runs):
        trace = Trace(
            arrival_s=np.cumsum(rng.exponential(1 / rate, count)).tolist(),
            isl=[1] * count,
            osl=rng.choice(osl, count).tolist(),
        )
        found.append(outcome_of(simulate(server(round_s=STEP_S), trace, seed=number), Slo()))
    return Outcomes(tuple(found), runs)


def test_a_server_of_one_request_at_a_time_is_an_m_d_1_queue():
    """W = rho S / (2 (1 - rho)) of service S (Pollaczek-Khinchine); rho = 0.6."""
    service = 200 * STEP_S
    wait = waits([201], 0.6 / service).estimates("ttft")[0]
    assert wait.half is not None
    assert wait.half < 0.08 * wait.value
    assert wait.value == pytest.approx(0.6 * service / 0.8, abs=1.5 * wait.half)


def test_a_server_of_one_request_at_a_time_is_an_m_m_1_queue():
    """W = rho S / (1 - rho); rho = 0.5. Geometric tokens are exponential to one part in 200."""
    tokens = np.random.default_rng(0).geometric(1 / 200, 20_000) + 1
    service = float(np.mean(tokens - 1)) * STEP_S
    found = waits(tokens.tolist(), 0.5 / service)
    wait, busy = found.estimates("ttft")[0], found.estimates("utilisation")[0]
    assert wait.half is not None
    assert wait.half < 0.1 * wait.value
    assert wait.value == pytest.approx(service, abs=1.5 * wait.half)
    assert busy.value == pytest.approx(0.5, abs=0.02)


def test_many_requests_at_a_time_without_mutual_delay_are_an_m_g_infinity_queue():
    """Poisson many sequences of mean rate times service, whatever its law; nobody waits."""
    one = server(sequences=64)
    run = simulate(one, requests(8000, 40.0, osl=(2, 399)), seed=1)
    mean = 40.0 * 199.5 * STEP_S
    law = run.batch_law
    assert run.batch_mean == pytest.approx(mean, rel=0.03)
    spread = law @ (np.arange(len(law)) - run.batch_mean) ** 2
    assert spread == pytest.approx(mean, rel=0.08)
    assert run.ttft.percentile(99.9) <= 2 * STEP_S


def test_percentiles_means_and_shares_of_a_sample():
    sample = Sample(np.array([1.0, 2.0, 3.0, 4.0]))
    assert [sample.percentile(p) for p in (0, 25, 50, 75, 76, 100)] == [1, 1, 2, 3, 4, 4]
    assert (sample.mean, sample.at_most(2.0), sample.at_most(0.5)) == (2.5, 0.5, 0.0)
    assert np.isnan(Sample(np.zeros(0)).mean)
    assert np.isnan(Sample(np.zeros(0)).percentile(50))


@given(st.lists(st.floats(1e-5, 100.0), min_size=1, max_size=200), st.floats(1, 99.9))
def test_a_histogram_of_gaps_tells_percentiles_to_its_resolution(gaps, p):
    record = Record(pool=1.0, most=1, span_s=1.0, from_s=0.0, to_s=1.0)
    record.count(np.array(gaps), np.ones(len(gaps)))
    law = Gaps(record.gaps, 0.0, record.gap_s / len(gaps))
    exact = Sample(np.sort(gaps))
    assert law.percentile(p) == pytest.approx(exact.percentile(p), rel=0.0026)
    assert law.mean == pytest.approx(exact.mean)


def test_gaps_times_and_chunks_are_those_of_each_step():
    """All that is counted, counted again from a server that takes every step."""
    one = server(
        k=(0, 3), sequences=6, pool_tokens=1400.0, per_sequence_s=2e-4, prompt_s=1e-5,
        per_token_s=1e-7,
    )  # fmt: skip
    trace = requests(120, 20.0)
    run = simulate(one, trace, seed=np.random.SeedSequence(7), warm_up=0.0)
    steps = Steps(one, trace, Streams(one.acceptance, np.random.SeedSequence(7)), Gating())
    steps.run()
    assert run.preempted == steps.preempted > 0
    gaps = np.sort([gap for sequence in steps.all for gap in sequence.gaps])
    assert run.itl_chunk.counts.sum() == len(gaps)
    assert run.itl_chunk.mean == pytest.approx(gaps.mean())
    for p in (10, 50, 90, 99):
        assert run.itl_chunk.percentile(p) == pytest.approx(Sample(gaps).percentile(p), rel=0.003)
    tokens = sum(trace.osl) - len(trace)
    assert run.itl.mean == pytest.approx(gaps.sum() / tokens)
    assert run.itl.zero == tokens - len(gaps)
    assert run.ttft.values == pytest.approx(
        np.sort([one.first_s - one.arrival_s for one in steps.all])
    )
    assert run.e2e.values == pytest.approx(
        np.sort([one.done_s - one.arrival_s for one in steps.all])
    )
    per_token = [(s.done_s - s.first_s) / (s.osl - 1) for s in steps.all if s.osl > 1]
    assert run.tpot.values == pytest.approx(np.sort(per_token))
    span_s = steps.now
    batch_s = sum(time_s * batch for _, time_s, batch, _, _ in steps.steps)
    assert run.batch_mean == pytest.approx(batch_s / span_s)
    line = run.timeline
    assert line.batch.sum() * line.width_s == pytest.approx(batch_s, rel=0.02)
    assert run.utilisation == pytest.approx(sum(step[1] for step in steps.steps) / span_s)


def test_goodput_is_of_requests_that_meet_every_limit():
    one = server(k=(0, 3), sequences=6, per_sequence_s=2e-4, prompt_s=1e-5)
    trace = requests(300, 9.0)
    slo = Slo(
        limits=(
            Limit("ttft", 99, 0.05),
            Limit("tpot", 95, 0.0014),
            Limit("e2e", 95, 0.3),
            Limit("itl", 95, 0.0043),
            Limit("itl", 99, 0.0051),
        )
    )
    run = simulate(one, trace, seed=np.random.SeedSequence(7), warm_up=0.0, slo=slo)
    steps = Steps(one, trace, Streams(one.acceptance, np.random.SeedSequence(7)), Gating())
    steps.run()
    good = [
        s.first_s - s.arrival_s <= 0.05
        and (s.done_s - s.first_s) <= 0.0014 * (s.osl - 1)
        and s.done_s - s.arrival_s <= 0.3
        and sum(gap > 0.0043 for gap in s.gaps) <= 0.05 * (s.osl - 1) + 1e-9
        and sum(gap > 0.0051 for gap in s.gaps) <= 0.01 * (s.osl - 1) + 1e-9
        for s in steps.all
    ]
    assert 20 < sum(good) < 280
    assert run.good == pytest.approx(np.mean(good))
    assert run.goodput_per_s == pytest.approx(sum(good) / run.to_s)
    assert attained(run, slo.limits[0]) == run.ttft.at_most(0.05)


def test_what_comes_while_the_server_warms_up_is_served_and_not_counted():
    trace = requests(1000, 10.0)
    run = simulate(replica("3"), trace, warm_up=0.25)
    late = [t for t in trace.arrival_s if t >= 0.25 * trace.span_s]
    assert (run.requests, run.done) == (len(late), 1000)
    assert run.to_s == trace.span_s
    assert run.made == run.asked == sum(trace.osl)
    assert run.held_bytes == 0
    assert run.requests_per_s == pytest.approx(10.0, rel=0.1)


def test_who_still_waits_when_the_last_one_comes():
    crowd = Trace(arrival_s=[0.01 * n for n in range(100)], isl=[10] * 100, osl=[101] * 100)
    run = simulate(server(round_s=STEP_S), crowd, warm_up=0.0)
    assert run.left == sum(t > 0.99 for t in np.arange(100) * 0.1)
    assert simulate(server(sequences=99), crowd, warm_up=0.0).left == 1  # the last one itself


def test_ctrl_c_keeps_what_was_done():
    calls = []

    def told(done):
        calls.append(done)
        if len(calls) == 3:
            raise KeyboardInterrupt

    run = simulate(replica("3"), requests(5000, 10.0), warm_up=0.0, told=told)
    assert run.interrupted
    assert 2900 < run.done < 3001
    assert run.done == run.requests
    assert run.unfinished == 5000 - run.done
