"""When a server speculates."""

from __future__ import annotations

import numpy as np
import pytest
from serving.replicas import replica

from specplan.physics.survival import tokens_of
from specplan.serving.policy import Policy, every_k, fixed, gated, round_times


def test_the_last_k_goes_on():
    policy = Policy("gated", (5, 2, 0), (4, 32, 64))
    assert [policy.k_at(b) for b in (1, 4, 5, 32, 33, 64, 9999)] == [5, 5, 2, 2, 0, 0, 0]
    assert policy.table(6) == (5, 5, 5, 5, 2, 2)
    assert policy.lengths == (0, 2, 5)


def test_a_server_without_speculation_loads_no_drafter():
    assert not fixed(0).drafts
    assert fixed(0).name == "none"
    assert fixed(3).drafts


def test_a_gate_loses_little_against_the_best_k_of_each_batch():
    one = replica("gate")
    batch = np.arange(1.0, one.pace.most + 1)
    k = one.pace.k
    speed = tokens_of(one.acceptance, k) / round_times(one.pace, batch, 1300.0)
    chosen = [k.index(n) for n in one.policy.table(one.pace.most)]
    share = speed[np.arange(len(batch)), chosen] / speed.max(axis=1)
    assert share.min() > 0.95
    assert share.mean() > 0.99


@pytest.mark.parametrize("tax", [0.0, 0.2])
def test_a_tax_makes_plain_steps_longer_and_no_others(tax):
    pace = replica("gate").pace
    free, taxed = (round_times(pace, np.arange(1.0, 9), 1000.0, t) for t in (0.0, tax))
    assert taxed[:, 0] == pytest.approx(free[:, 0] * (1 + tax))
    assert (taxed[:, 1:] == free[:, 1:]).all()


def test_the_dearer_off_is_the_longer_it_speculates():
    one = replica("gate", alpha=0.25)
    tokens = tokens_of(one.acceptance, one.pace.k)
    cheap, dear = (gated(one.pace, tokens, 1300.0, tax=tax) for tax in (0.0, 0.5))
    off = [sum(k == 0 for k in policy.table(one.pace.most)) for policy in (cheap, dear)]
    assert off[0] > off[1]


def test_every_k_that_any_policy_uses():
    assert every_k((fixed(3), Policy("gated", (5, 1), (8, 64)))) == (0, 1, 3, 5)
