"""The tree of all paths: its numbering, what penalties see on it, and its joint law."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from specplan.domain.sampling import Sampling, parse_sampling
from specplan.physics.paths import (
    Mismatch,
    Tree,
    conditionals,
    first_node,
    last_tokens,
    level,
    parents,
    path_counts,
)
from specplan.physics.rounds import REFERENCE_DRAFT_MARKOV, REFERENCE_TARGET_MARKOV
from specplan.physics.sampling import sampled
from specplan.physics.verify import Bug

TARGET, DRAFT = np.array(REFERENCE_TARGET_MARKOV), np.array(REFERENCE_DRAFT_MARKOV)
HEAVY = parse_sampling("temperature=0.8,repetition-penalty=1.3,frequency-penalty=0.6,top-p=0.95")


def nodes(size, depth):
    """Every path in order: by length, then by its tokens."""
    for length in range(depth + 1):
        yield from itertools.product(range(size), repeat=length)


@pytest.mark.parametrize(("size", "depth"), [(1, 4), (2, 5), (3, 3), (5, 2), (4, 0)])
def test_nodes_are_numbered_by_their_paths(size, depth):
    paths = list(nodes(size, depth))
    assert first_node(size, depth + 1) == len(paths)
    number = {path: index for index, path in enumerate(paths)}
    last, up = last_tokens(size, depth), parents(np.arange(len(paths)), size)
    for path, index in number.items():
        assert last[index] == (path[-1] if path else 0)
        assert up[index] == number[path[:-1]]
        if path:
            assert index == number[path[:-1]] * size + 1 + path[-1]
    for at in range(depth + 1):
        assert [paths[i] for i in range(len(paths))[level(size, at)]] == [
            path for path in paths if len(path) == at
        ]


@pytest.mark.parametrize("unseen", [0, 1, 2, 5])
def test_what_penalties_see(unseen):
    counts = path_counts(3, 4, unseen)
    for row, path in zip(counts, nodes(3, 4), strict=True):
        seen = path[: max(len(path) - unseen, 0)]
        assert row.tolist() == [seen.count(token) for token in range(3)]


def test_conditionals_are_those_of_each_path_alone():
    rows = conditionals(TARGET, 3, HEAVY)
    for row, path in zip(rows, nodes(4, 3), strict=True):
        logits = np.log(TARGET[[path[-1] if path else 0]])
        seen = np.array([[path.count(token) for token in range(4)]])
        np.testing.assert_allclose(row, sampled(logits, HEAVY, seen)[0], atol=1e-15)


def test_without_penalties_only_the_last_token_counts():
    s = parse_sampling("temperature=0.5,top-k=3")
    rows, chain = conditionals(TARGET, 3, s), sampled(np.log(TARGET), s)
    np.testing.assert_array_equal(rows, chain[last_tokens(4, 3)])
    np.testing.assert_array_equal(conditionals(TARGET, 2, Sampling()), TARGET[last_tokens(4, 2)])


def test_the_joint_of_penalised_sampling_path_by_path():
    tree = Tree.of(TARGET, DRAFT, 2, sampling=HEAVY)
    joint = []
    for path in itertools.product(range(4), repeat=3):
        mass = 1.0
        for at, token in enumerate(path):
            logits = np.log(TARGET[[path[at - 1] if at else 0]])
            seen = np.array([[path[:at].count(t) for t in range(4)]])
            mass *= sampled(logits, HEAVY, seen)[0][token]
        joint.append(mass)
    np.testing.assert_allclose(tree.joint, joint, atol=1e-15)
    assert math.fsum(joint) == pytest.approx(1)


def test_the_drafter_has_the_targets_settings_unless_it_has_its_own():
    cold = parse_sampling("temperature=0.5")
    alike = Tree.of(TARGET, DRAFT, 1, sampling=cold)
    np.testing.assert_array_equal(alike.drawn, conditionals(DRAFT, 1, cold))
    own = Tree.of(TARGET, DRAFT, 1, sampling=cold, draft_sampling=Sampling())
    np.testing.assert_array_equal(own.drawn, conditionals(DRAFT, 1, Sampling()))
    np.testing.assert_array_equal(own.asked, alike.asked)


def test_what_each_mistake_changes():
    right = Tree.of(TARGET, DRAFT, 2, sampling=HEAVY)
    raw_p, raw_q = (conditionals(side, 2, Sampling()) for side in (TARGET, DRAFT))
    for plant in (*Bug, *Mismatch):
        tree = Tree.of(TARGET, DRAFT, 2, sampling=HEAVY, plant=plant)
        np.testing.assert_array_equal(tree.asked, right.asked)
        changed = {
            name
            for name in ("drawn", "judged_p", "judged_q", "bonus")
            if not np.array_equal(getattr(tree, name), getattr(right, name))
        }
        assert (
            changed
            == {
                Bug.RESAMPLE_FROM_TARGET: set(),
                Bug.INVERTED_RATIO: set(),
                Bug.ONE_SIDED_TEMPERATURE: {"drawn"},
                Bug.BONUS_FROM_DRAFT: {"bonus"},
                Bug.STALE_DRAFT: {
                    "judged_p",
                    "judged_q",
                },  # the same p for each count of kept drafts
                Mismatch.RAW_TARGET: {"judged_p"},
                Mismatch.RAW_DRAFT: {"judged_q"},
                Mismatch.STALE_PENALTIES: {"judged_p", "judged_q", "bonus"},
            }[plant]
        )
    np.testing.assert_array_equal(
        Tree.of(TARGET, DRAFT, 2, sampling=HEAVY, plant=Mismatch.RAW_TARGET).judged_p[0], raw_p
    )
    np.testing.assert_array_equal(
        Tree.of(TARGET, DRAFT, 2, sampling=HEAVY, plant=Mismatch.RAW_DRAFT).judged_q[0], raw_q
    )


def test_penalties_that_miss_the_drafts_of_their_round():
    tree = Tree.of(TARGET, DRAFT, 2, sampling=HEAVY, plant=Mismatch.STALE_PENALTIES)
    paths = list(nodes(4, 2))
    for kept in range(3):
        p, q = tree.judged(kept, slice(None))
        for row, path in zip(p, paths, strict=True):
            seen = path[: max(len(path) - kept, 0)]
            counts = np.array([[seen.count(t) for t in range(4)]])
            logits = np.log(TARGET[[path[-1] if path else 0]])
            np.testing.assert_allclose(row, sampled(logits, HEAVY, counts)[0], atol=1e-15)
        np.testing.assert_array_equal(q, tree.drawn)
    np.testing.assert_array_equal(tree.bonus, tree.judged(2, slice(None))[0])
