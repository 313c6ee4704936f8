"""The loop that jumps, against a server that takes every step; and what must hold of any server."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from serving.plain_servers import requests, server
from serving.replicas import replica
from serving.step_by_step import Steps

from specplan.domain.acceptance import Alpha
from specplan.domain.acceptance_parts import ByContext, Mixture
from specplan.domain.traffic import Trace
from specplan.serving.draws import Streams
from specplan.serving.entries import Entry, Gating
from specplan.serving.event_loop import Server
from specplan.serving.policy import Policy
from specplan.serving.replica import Replica

SWITCHING = Policy("gated", (3, 1, 0), (4, 8, 9), tax=0.1)
MIXED = Mixture(((0.5, Alpha(0.9)), (0.5, ByContext(((100.0, Alpha(0.2)), (600.0, Alpha(0.8)))))))


def seeds() -> np.random.SeedSequence:
    return np.random.SeedSequence(7)


def served(
    one: Replica, trace: Trace, gating: Gating | None = None, gaps_s: tuple[float, ...] = ()
) -> tuple[Server, list[Entry]]:
    log: list[Entry] = []
    found = Server(
        one, trace, Streams(one.acceptance, seeds()), log.append, gating or Gating(), gaps_s
    )
    found.run(lambda _: None)
    return found, log


def stepped(one: Replica, trace: Trace, gating: Gating | None = None) -> Steps:
    found = Steps(one, trace, Streams(one.acceptance, seeds()), gating or Gating())
    found.run()
    return found


def alike(one: Replica, trace: Trace, gating: Gating | None = None) -> tuple[Server, Steps]:
    """Both servers; every first and last token and every step at the same time."""
    jumping, log = served(one, trace, gating)
    steps = stepped(one, trace, gating)
    ends = [sequence.done_s for sequence in steps.all]
    assert jumping.done_s == pytest.approx(ends, rel=1e-9)
    assert jumping.first_s == pytest.approx([s.first_s for s in steps.all], rel=1e-9)
    assert jumping.preempted == steps.preempted
    assert sum(max(entry.rounds, 1) for entry in log) == len(steps.steps)
    assert len(log) < len(steps.steps)
    by_k, by_batch = Counter[int](), Counter[int]()
    for entry in log:
        by_k[entry.k] += max(entry.rounds, 1)
        by_batch[entry.batch] += max(entry.rounds, 1)
    assert by_k == Counter(step[3] for step in steps.steps)
    assert by_batch == Counter(step[2] for step in steps.steps)
    return jumping, steps


@pytest.mark.parametrize("policy", ["none", "3", "gate"])
def test_a_real_server_equals_one_that_takes_every_step(policy):
    rate = 20.0 if policy == "gate" else 8.0
    trace = requests(80, rate, isl=(50, 3000), osl=(1, 400), hits=True)
    alike(replica(policy), trace)


@pytest.mark.parametrize(
    "gating",
    [
        Gating(),
        Gating(sequences=2),
        Gating(dwell_s=0.4),
        Gating(by="queue", queue=1),
        Gating(by="queue", sequences=1, dwell_s=0.2),
    ],
    ids=str,
)
def test_k_that_changes_equals_one_that_is_looked_at_in_every_step(gating):
    one = server(
        policy=SWITCHING, k=(0, 1, 3), sequences=12, per_sequence_s=2e-4, per_token_s=1e-7,
        prompt_s=1e-5, step_tokens=256,
    )  # fmt: skip
    jumping, steps = alike(one, requests(200, 12.0, hits=True), gating)
    assert len({step[3] for step in steps.steps}) >= 2
    assert not any(np.isnan(jumping.done_s))


def test_a_pool_that_is_short_equals_one_that_is_looked_at_in_every_step():
    one = server(
        k=(0, 3), sequences=16, per_sequence_s=2e-4, per_token_s=1e-7, prompt_s=1e-5,
        pool_tokens=1500.0, block=16, ahead=4, step_tokens=200, acceptance=MIXED,
    )  # fmt: skip
    jumping, _ = alike(one, requests(200, 20.0))
    assert jumping.preempted > 20


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    rate=st.floats(1.0, 80.0),
    sequences=st.integers(1, 20),
    pool=st.integers(750, 6000),
    step_tokens=st.integers(90, 600),
    gating=st.builds(
        Gating,
        by=st.sampled_from(["batch", "queue"]),
        queue=st.integers(0, 3),
        sequences=st.integers(0, 3),
        dwell_s=st.floats(0.0, 0.5),
    ),
)
def test_any_server_equals_one_that_takes_every_step(
    seed, rate, sequences, pool, step_tokens, gating
):
    one = server(
        policy=SWITCHING, k=(0, 1, 3), sequences=sequences, per_sequence_s=3e-4, per_token_s=1e-7,
        prompt_s=1e-5, pool_tokens=float(pool), block=8, ahead=4, step_tokens=step_tokens,
    )  # fmt: skip
    trace = requests(40, rate, seed)
    jumping, log = served(one, trace, gating)
    steps = stepped(one, trace, gating)
    assert jumping.done_s == pytest.approx([s.done_s for s in steps.all], rel=1e-9)
    assert jumping.preempted == steps.preempted
    assert sum(entry.tokens + entry.first for entry in log) == sum(trace.osl)
    assert jumping.held_bytes == 0
    assert max(entry.after_bytes for entry in log) <= one.room.pool_bytes


def test_tokens_in_are_tokens_out_and_no_cache_is_kept():
    one = replica("3")
    trace = requests(400, 30.0, isl=(10, 2000), osl=(1, 500))
    jumping, log = served(one, trace)
    assert sum(entry.tokens + entry.first for entry in log) == sum(trace.osl)
    assert sum(entry.first for entry in log) == 400
    assert sum(entry.prompt for entry in log) == sum(trace.isl)
    assert jumping.held_bytes == 0.0


def test_what_is_preempted_reads_its_prompt_and_its_tokens_again():
    one = server(sequences=8, pool_tokens=900.0, prompt_s=1e-5)
    trace = requests(30, 50.0)
    jumping, log = served(one, trace)
    assert jumping.preempted > 0
    assert sum(entry.prompt for entry in log) > sum(trace.isl)
    assert sum(entry.tokens + entry.first for entry in log) == sum(trace.osl)
    assert len(jumping.gaps) > 0


def test_what_no_pool_holds_is_refused_and_the_others_are_served():
    one = server(sequences=4, pool_tokens=500.0)
    trace = Trace(arrival_s=[0.0, 0.1, 0.2], isl=[100, 400, 100], osl=[50, 101, 50])
    jumping, _ = served(one, trace)
    assert jumping.refused == [1]
    assert np.isnan(jumping.done_s[1])
    assert not np.isnan(jumping.done_s[2])


def test_a_fixed_k_of_no_drafts_is_a_server_without_any():
    """k = 0 takes one token a round, whatever would be accepted."""
    trace = requests(100, 8.0)
    plain, log = served(replica("none"), trace)
    other, _ = served(replace(replica("none"), acceptance=Alpha(0.1)), trace)
    assert plain.done_s == other.done_s
    assert sum(entry.chunks for entry in log) == sum(trace.osl) - len(trace)


def test_prefix_hits_shorten_prompts():
    trace = requests(100, 8.0, hits=True)
    _, cached = served(replica("3"), trace)
    _, whole = served(replica("3"), replace(trace, hit=()))
    read = sum(isl - min(hit, isl - 1) for isl, hit in zip(trace.isl, trace.hit, strict=True))
    assert sum(entry.prompt for entry in cached) == read
    assert sum(entry.prompt for entry in whole) == sum(trace.isl)


def test_hysteresis_changes_k_less_often_and_dwelling_keeps_it():
    one = server(policy=SWITCHING, k=(0, 1, 3), sequences=16, per_sequence_s=3e-4)
    trace = requests(600, 12.0)

    def changes(gating: Gating) -> list[float]:
        _, log = served(one, trace, gating)
        decode = [entry for entry in log if entry.batch]
        pairs = itertools.pairwise(decode)
        return [after.start_s for before, after in pairs if before.k != after.k]

    loose, tight, slow = (
        changes(Gating()),
        changes(Gating(sequences=2)),
        changes(Gating(dwell_s=1.0)),
    )
    assert len(loose) > 2 * len(tight) > 0
    assert min(np.diff(slow)) >= 1.0 - 1e-9
    assert len(slow) > 3


def test_a_queue_shuts_drafts_off():
    one = server(k=(0, 3), sequences=4, per_sequence_s=1e-3, prompt_s=1e-5)
    _, log = served(one, requests(300, 12.0), Gating(by="queue", queue=2))
    for entry in log:
        if entry.batch and not entry.prompt:
            assert entry.k == (0 if entry.waiting > 2 else 3)
    assert {entry.k for entry in log if entry.batch} == {0, 3}


def test_the_tax_is_of_plain_steps_on_a_server_that_could_speculate():
    plain = server(policy=Policy("gated", (0,), (1,)), k=(0, 3), sequences=1)
    taxed = server(policy=Policy("gated", (0, 3), (9, 10), tax=0.25), k=(0, 3), sequences=1)
    trace = Trace(arrival_s=[0.0], isl=[10], osl=[101])
    (free, _), (dear, _) = served(plain, trace), served(taxed, trace)
    assert dear.done_s[0] == pytest.approx(1.25 * free.done_s[0])


def test_gaps_beyond_a_limit_are_counted_for_each_request():
    one = server(sequences=8, pool_tokens=1500.0, per_sequence_s=2e-4, prompt_s=1e-5)
    trace = requests(60, 30.0)
    jumping, _ = served(one, trace, gaps_s=(0.0021, 0.003))
    steps = stepped(one, trace)
    assert jumping.preempted > 0
    all_gaps = sum(len(one.gaps) for one in steps.all)
    for over, limit in zip(jumping.over, (0.0021, 0.003), strict=True):
        assert over == [sum(gap > limit for gap in one.gaps) for one in steps.all]
        assert 0 < sum(over) < all_gaps
    assert sum(jumping.over[1]) < sum(jumping.over[0])
