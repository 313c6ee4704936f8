"""Block verification: its law, what it gains over token by token, and the rule itself run."""

from __future__ import annotations

import functools
import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specplan.domain.sampling import parse_sampling
from specplan.domain.verification import TOKEN, parse_verification
from specplan.physics.block import BlockRule, block_law
from specplan.physics.chance import FALSE_ALARM, chi_square_tail, pearson
from specplan.physics.draws import draw_each
from specplan.physics.passes import tokens_per_pass
from specplan.physics.paths import Mismatch, Tree
from specplan.physics.rounds import (
    REFERENCE_DRAFT_MARKOV,
    REFERENCE_TARGET_MARKOV,
    random_chains,
    rounds,
    rounds_law,
)
from specplan.physics.verify import Bug

TRIALS = 100_000
BLOCK = parse_verification("block")
TARGET, DRAFT = np.array(REFERENCE_TARGET_MARKOV), np.array(REFERENCE_DRAFT_MARKOV)
ASKED = parse_sampling("temperature=0.7,top-p=0.97,frequency-penalty=0.4,presence-penalty=0.2")


def rng(seed=0):
    return np.random.default_rng(seed)


def weights(target, draft, path):
    """w(0) ... w(k) of drafts after token 0, from algorithm 2 of the paper."""
    found = [1.0]
    for before, token in itertools.pairwise((0, *path)):
        found.append(min(1.0, found[-1] * target[before][token] / draft[before][token]))
    return found


def chance(target, draft, weight, last):
    """h(i) from w(i) and the last token kept."""
    mass = math.fsum(
        max(weight * p - q, 0.0) for p, q in zip(target[last], draft[last], strict=True)
    )
    return mass / (mass + 1 - weight) if mass + 1 - weight > 0 else 1.0


def survival(target, draft, k):
    """P(at least i kept) from the h(i), over every block of drafts."""
    found = np.zeros(k)
    for path in itertools.product(range(len(target)), repeat=k):
        drawn = math.prod(draft[a][b] for a, b in itertools.pairwise((0, *path)))
        w = weights(target, draft, path)
        h = [chance(target, draft, w[i], path[i - 1]) for i in range(1, k)] + [w[k]]
        none = 1.0
        for i in reversed(range(k)):
            none *= 1 - h[i]
            found[i] += drawn * (1 - none)
    return found


# Sun et al. 2024, section 2: p = (1/3, 2/3), q = (2/3, 1/3), two drafts. Token by token keeps 10/9
# of them on average and block verification 11/9; knowing whole blocks, 12/9 could be kept.
def test_the_papers_own_example():
    p = np.array([[1 / 3, 2 / 3]] * 2)
    tree = Tree.of(p, p[:, ::-1], 2)
    assert rounds_law(tree, TOKEN).survival.sum() == pytest.approx(10 / 9, rel=1e-12)
    assert rounds_law(tree, BLOCK).survival.sum() == pytest.approx(11 / 9, rel=1e-12)


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_survival_is_the_mean_of_the_weights_and_what_the_chances_give(k):
    law = block_law(Tree.of(TARGET, DRAFT, k))
    np.testing.assert_allclose(law.survival, survival(TARGET, DRAFT, k), rtol=1e-12)
    mean = np.zeros(k)
    for path in itertools.product(range(4), repeat=k):
        drawn = math.prod(DRAFT[a][b] for a, b in itertools.pairwise((0, *path)))
        mean += drawn * np.array(weights(TARGET, DRAFT, path)[1:])
    np.testing.assert_allclose(law.survival, mean, rtol=1e-12)


@given(vocabulary=st.integers(1, 4), k=st.integers(1, 4), seed=st.integers(0, 10**6))
@settings(max_examples=60)
def test_the_joint_is_plain_sampling_and_no_fewer_tokens_are_kept(vocabulary, k, seed):
    target, draft = random_chains(vocabulary, seed)
    tree = Tree.of(target, draft, k)
    block, token = rounds_law(tree, BLOCK), rounds_law(tree, TOKEN)
    np.testing.assert_allclose(block.joint, tree.joint, atol=1e-13)
    np.testing.assert_allclose(token.joint, tree.joint, atol=1e-13)
    assert (block.survival >= token.survival - 1e-12).all()
    assert block.survival[0] == pytest.approx(token.survival[0])  # one draft: the same rule


def test_exact_with_settings_on_either_side():
    for own in (None, "none", "greedy", "temperature=1.5,top-k=2"):
        drafted = parse_sampling(own) if own else None
        tree = Tree.of(TARGET, DRAFT, 3, sampling=ASKED, draft_sampling=drafted)
        np.testing.assert_allclose(rounds_law(tree, BLOCK).joint, tree.joint, atol=1e-14)


def test_chains_with_zeros():
    target = np.array([[0.0, 0.5, 0.5], [1.0, 0.0, 0.0], [0.2, 0.0, 0.8]])
    draft = np.array([[0.4, 0.6, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    tree = Tree.of(target, draft, 3)
    np.testing.assert_allclose(block_law(tree).joint, tree.joint, atol=1e-15)
    assert rounds(target, draft, 3, TRIALS, rng(), verification=BLOCK).passed


def test_a_drafter_that_is_the_target_keeps_everything():
    law = block_law(Tree.of(TARGET, TARGET, 5))
    assert law.survival.tolist() == pytest.approx([1.0] * 5, abs=1e-15)
    # Nearly the target: no rounding is taken for a reason to stop.
    near = TARGET + 1e-14 * rng().normal(size=TARGET.shape)
    law = block_law(Tree.of(TARGET, near / near.sum(axis=1, keepdims=True), 5))
    assert (law.survival > 1 - 1e-12).all()


@pytest.mark.parametrize("sampling", [None, ASKED])
@pytest.mark.parametrize("seed", range(5))
def test_the_rule_run_is_plain_sampling(sampling, seed):
    found = rounds(TARGET, DRAFT, 3, TRIALS, rng(seed), verification=BLOCK, sampling=sampling)
    assert found.passed
    assert found.distance < 1e-13
    assert found.tokens > found.token_by_token


@pytest.mark.parametrize("k", [1, 2, 4, 8])
@pytest.mark.parametrize("alpha", [0.3, 0.7, 0.9])
def test_tokens_per_pass_are_the_laws_within_four_standard_errors(alpha, k):
    found = tokens_per_pass(alpha, k, TRIALS, rng(k), verification=BLOCK)
    assert abs(found.mean - found.expected) <= 4 * found.standard_error
    assert found.passed
    alone = tokens_per_pass(alpha, k, TRIALS, rng(k))
    assert found.expected >= alone.expected - 1e-12
    if k > 1:
        assert found.expected > alone.expected + 0.01
        assert found.mean > alone.mean


@pytest.mark.parametrize("k", [2, 3, 5])
def test_kept_drafts_of_a_chain_within_four_standard_errors(k):
    law = block_law(Tree.of(TARGET, DRAFT, k))
    rule = BlockRule.of(Tree.of(TARGET, DRAFT, k), None)
    kept, _, _ = rule.round(np.zeros(TRIALS, dtype=np.intp), k, rng(k))
    for drafts, expected in enumerate(law.survival, start=1):
        share = np.count_nonzero(kept >= drafts) / TRIALS
        assert abs(share - expected) <= 4 * math.sqrt(expected * (1 - expected) / TRIALS)


@pytest.mark.parametrize("bug", [None, *Bug, *Mismatch])
def test_the_rule_run_follows_the_law_of_its_bug(bug):
    tree = Tree.of(TARGET, DRAFT, 3, sampling=ASKED, plant=bug)
    own = bug if isinstance(bug, Bug) else None
    law = block_law(tree, own)
    outcomes = BlockRule.of(tree, own).generate(TRIALS, rng(4))
    expected = TRIALS * np.where(law.joint > 1e-15, law.joint, 0.0)
    statistic, df = pearson(np.bincount(outcomes, minlength=256), expected)
    assert df > 20
    assert chi_square_tail(statistic, df) > FALSE_ALARM
    if bug is not None:
        assert 0.5 * np.abs(law.joint - tree.joint).sum() > 0.01


@pytest.mark.parametrize("bug", [*Bug, *Mismatch])
def test_every_bug_is_caught_for_every_seed(bug):
    run = functools.partial(rounds, TARGET, DRAFT, 3, TRIALS, verification=BLOCK, sampling=ASKED)
    assert not any(run(rng=rng(seed), bug=bug).passed for seed in range(2))


def test_rows_of_weights_are_drawn_from():
    class Top:
        def random(self, n):
            return np.full(n, np.nextafter(1.0, 0.0))

    class Bottom:
        def random(self, n):
            return np.zeros(n)

    weights = np.array([[0.0, 0.2, 0.0, 0.3, 0.0], [1e-300, 0.0, 0.0, 0.0, 0.0]])
    assert draw_each(weights, Top()).tolist() == [3, 0]
    assert draw_each(weights, Bottom()).tolist() == [1, 0]
    drawn = draw_each(np.repeat(weights[:1], TRIALS, axis=0), rng())
    assert np.mean(drawn == 1) == pytest.approx(0.4, abs=4 * math.sqrt(0.24 / TRIALS))
