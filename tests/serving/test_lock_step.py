"""Static batches."""

from __future__ import annotations

import numpy as np
import pytest
from serving.plain_servers import requests, server
from serving.replicas import replica

from specplan.domain.acceptance import Alpha
from specplan.domain.traffic import Trace
from specplan.physics.survival import survival
from specplan.physics.tokens import lockstep_tokens
from specplan.serving.draws import Streams
from specplan.serving.entries import Entry, Gating
from specplan.serving.lock_step import Static, StaticServer


def served(one, trace, static, gating=None):
    log: list[Entry] = []
    streams = Streams(one.acceptance, np.random.SeedSequence(3))
    found = StaticServer(one, trace, streams, log.append, gating or Gating(), static)
    found.run(lambda _: None)
    return found, log


def at_once(count, isl=100, osl=400):
    return Trace(arrival_s=[0.0] * count, isl=[isl] * count, osl=[osl] * count)


@pytest.mark.parametrize("batch", [1, 4, 16])
def test_caches_grow_by_what_the_luckiest_keeps(batch):
    """E[max] = 1 + sum (1 - (1 - S_i)^B): while all are under way, 60 batches."""
    one = server(k=(0, 3), sequences=16)
    _, log = served(one, at_once(60 * batch), Static(batch))
    whole = [entry for entry in log if entry.chunks == batch]
    grown = np.array([(entry.after_bytes - entry.before_bytes) / batch for entry in whole])
    expected = float(lockstep_tokens(survival(Alpha(0.7), 3), batch))
    error = grown.std() / len(grown) ** 0.5
    assert grown.mean() == pytest.approx(expected, abs=4 * error)
    assert error < 0.01 * expected


def test_who_is_in_stays_in_and_nobody_joins():
    one = server(k=(0, 3), sequences=16, prompt_s=1e-5)
    trace = requests(200, 30.0)
    found, log = served(one, trace, Static(8))
    assert {entry.batch for entry in log if entry.rounds} == {8}
    assert sum(entry.tokens + entry.first for entry in log) == sum(trace.osl)
    for first in range(0, 200, 8):
        group = slice(first, first + 8)
        begun = set(found.first_s[group])
        assert len(begun) == 1
        if first:
            assert begun.pop() >= max(found.done_s[first - 8 : first])


def test_prompts_and_caches_are_padded_to_the_longest():
    one = server(sequences=4, per_token_s=1e-5)
    trace = Trace(arrival_s=[0.0, 0.0], isl=[10, 1000], osl=[3, 3])
    alone = Trace(arrival_s=[0.0, 0.0], isl=[1000, 1000], osl=[3, 3])
    mixed, log = served(one, trace, Static(2))
    padded, _ = served(one, alone, Static(2))
    assert mixed.done_s == padded.done_s
    assert sum(entry.prompt for entry in log) == 2000


def test_a_batch_begins_when_it_is_full_or_its_first_has_waited():
    one = server(sequences=4)
    trace = Trace(arrival_s=[0.0, 0.3, 5.0, 9.0, 9.1], isl=[1] * 5, osl=[1] * 5)
    found, _ = served(one, trace, Static(2, wait_s=1.0))
    assert found.first_s == pytest.approx([0.3, 0.3, 6.0, 9.1, 9.1])
    patient, _ = served(one, trace, Static(3, wait_s=100.0))
    assert patient.first_s == pytest.approx([5.0, 5.0, 5.0, 9.1, 9.1])


def test_a_pool_makes_batches_smaller_and_refuses_what_never_fits():
    one = server(sequences=8, pool_tokens=1000.0)
    trace = Trace(arrival_s=[0.0] * 5, isl=[300] * 4 + [990], osl=[20] * 5)
    found, log = served(one, trace, Static(4))
    assert found.refused == [4]
    assert {entry.batch for entry in log if entry.rounds} == {3, 1}
    assert max(entry.after_bytes for entry in log) <= 1000.0


def test_a_real_server():
    found, log = served(replica("3"), requests(60, 10.0), Static(8))
    assert not np.isnan(found.done_s).any()
    assert sum(entry.time_s for entry in log) <= max(found.done_s)


def test_a_queue_shuts_drafts_off():
    one = server(k=(0, 3), sequences=4)
    _, log = served(one, at_once(12, osl=20), Static(4), Gating(by="queue", queue=4))
    assert [entry.k for entry in log if entry.rounds == 0] == [0, 3, 3]
