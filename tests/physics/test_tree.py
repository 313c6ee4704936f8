"""Expected tokens and best trees: by hand, by brute force, by simulation, and as published."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator

import numpy as np
import pytest
from numpy.random import default_rng
from trees import SEQUOIA, deep, forests, numbered, walked, yields

from specplan.domain.tree import ByRank, Tree, by_rank
from specplan.errors import UsageError
from specplan.physics.tokens import expected_tokens
from specplan.physics.tree import best_trees, reached, tree_tokens
from specplan.physics.tree_round import TreeTiming


def test_by_hand():
    # 0 -> 1, 2; 1 -> 3, 4; shares .6, .2 and one level below .5, .1
    tree = Tree.of((-1, 0, 0, 1, 1))
    ranks = by_rank(".6,.2;.5,.1")
    assert reached(tree, ranks) == pytest.approx([1, 0.6, 0.2, 0.3, 0.06], rel=1e-15)
    assert tree_tokens(tree, ranks) == pytest.approx(2.16, rel=1e-15)
    assert tree_tokens(tree, by_rank(".6,.2")) == pytest.approx(1 + 0.6 + 0.2 + 0.36 + 0.12)


def test_a_rank_may_be_missing():
    assert tree_tokens(Tree((-1, 0), (0, 3)), by_rank(".6,.2,.1")) == pytest.approx(1.1)
    assert tree_tokens(Tree((-1, 0), (0, 4)), by_rank(".6,.2,.1")) == 1


@pytest.mark.parametrize("alpha", [0, 0.3, 0.8, 1])
@pytest.mark.parametrize("k", [0, 1, 7])
def test_a_chain_is_the_case_of_one_rank(alpha, k):
    tokens = tree_tokens(Tree.chain(k), by_rank([alpha]))
    assert tokens == pytest.approx(float(expected_tokens(alpha, k)), rel=1e-14)


@pytest.mark.parametrize("parents", [(-1, 0, 0, 1, 1, 4, 4), (-1, 0, 1, 2), (-1, 0, 0, 0, 2, 2)])
def test_rounds_played_out(parents):
    ranks = by_rank(".55,.2,.1;.5,.3;.7,.05,.05")
    tree, rng = Tree.of(parents), default_rng(7)
    rounds = [walked(tree, ranks, rng) for _ in range(40_000)]
    error = statistics.stdev(rounds) / math.sqrt(len(rounds))
    assert abs(statistics.fmean(rounds) - tree_tokens(tree, ranks)) < 4 * error


# As the repository of Sequoia has it, with its vector and at most 10 levels, the root included.
PUBLISHED = {2: 1.6342, 8: 2.7322, 16: 3.1303, 32: 3.5007, 64: 3.8523, 128: 4.1921}


def test_the_published_vector():
    best = best_trees(SEQUOIA, 128, 9)
    assert {m: round(float(best.tokens[9, m - 1]), 4) for m in PUBLISHED} == PUBLISHED
    for m in PUBLISHED:
        tree = best.tree(m, 9)
        assert (tree.nodes, tree.depth <= 9) == (m, True)
        assert tree_tokens(tree, SEQUOIA) == pytest.approx(best.tokens[9, m - 1], rel=1e-12)


def test_the_published_choice_charges_the_root_a_draft_pass():
    verify_s = dict(zip((1, 2, 4, 8, 16, 32), (10, 10, 10, 12, 14, 18), strict=True))
    best = best_trees(SEQUOIA, 32, 9)
    points = [(m, levels) for m in verify_s for levels in range(1, 10)]
    trees = [best.tree(*point) for point in points]
    tokens = [tree_tokens(tree, SEQUOIA) for tree in trees]
    timing = TreeTiming(
        plain_s=10,
        draft_s=np.asarray([0.3 * tree.depth for tree in trees]),
        verify_s=np.asarray([verify_s[m] for m, _ in points], np.float64),
        pass_s=0.3,
    )
    chosen = timing.fastest(tokens, root_drafts=True)
    m, levels = points[chosen]
    assert (m, levels + 1) == (4, 4)  # the root is the first of its levels
    assert tokens[chosen] == pytest.approx(2.29143, abs=5e-6)
    speedup = timing.speedup(tokens, root_drafts=True)[chosen]
    assert speedup == pytest.approx(2.04592, abs=5e-6)
    assert 10 / speedup == pytest.approx(4.88777, abs=5e-6)
    # A round has a pass fewer: (3 x 0.3 + 10) / 2.29143 a token.
    assert timing.fastest(tokens) == chosen
    assert timing.speedup(tokens)[chosen] == pytest.approx(2.29143 * 10 / 10.9, rel=1e-5)


def cases(count: int) -> Iterator[ByRank]:
    """Acceptance of up to three levels: shares that need not fall, and may be 0."""
    rng = default_rng(3)
    for _ in range(count):
        rows = []
        for _ in range(rng.integers(1, 4)):
            weights = [rng.random() * (rng.random() > 0.2) for _ in range(rng.integers(1, 6))]
            total = max(sum(weights), 1e-9) / rng.uniform(0.2, 1)
            rows.append(tuple(weight / total for weight in weights))
        yield ByRank(tuple(rows))


@pytest.mark.parametrize("ranks", [*cases(12), SEQUOIA, by_rank("0"), by_rank("1"), by_rank("0,1")])
def test_every_tree_up_to_8_nodes(ranks):
    """No tree of at most m nodes and d levels yields more, and the best one is found."""
    found = [
        (n + 1, deep(forest), yields(forest, ranks)) for n in range(8) for forest in forests(n)
    ]
    assert len(found) == sum((1, 1, 2, 5, 14, 42, 132, 429))
    best = best_trees(ranks, 8, 7)
    for m in range(1, 9):
        for d in range(8):
            most = max(tokens for nodes, levels, tokens in found if nodes <= m and levels <= d)
            tree = best.tree(m, d)
            assert best.tokens[d, m - 1] == pytest.approx(most, rel=1e-12)
            assert tree_tokens(tree, ranks) == pytest.approx(most, rel=1e-11)
            assert tree.nodes <= m
            assert tree.depth <= d


def test_both_ways_to_write_a_tree_agree():
    for forest in forests(6):
        assert tree_tokens(numbered(forest), SEQUOIA) == pytest.approx(yields(forest, SEQUOIA))


@pytest.mark.parametrize("topk", [1, 2, 3])
def test_at_most_so_many_children(topk):
    ranks = by_rank(".4,.3,.2;.5,.2,.2")
    narrow = [forest for n in range(7) for forest in forests(n) if widest(forest) <= topk]
    best = best_trees(ranks, 7, 6, topk=topk)
    assert best.tokens[6, 6] == pytest.approx(max(yields(forest, ranks) for forest in narrow))
    assert all(len(below) <= topk for below in best.tree(7, 6).children)


def widest(children: tuple) -> int:
    return max([len(children), *map(widest, children)])


def test_nodes_that_add_nothing_are_left_out():
    assert best_trees(by_rank(".6,.2"), 40, 1).tree(40, 1) == Tree.of((-1, 0, 0))
    assert best_trees(by_rank("0,0"), 8, 4).tree(8, 4) == Tree.chain(0)
    assert best_trees(by_rank(".5,0,0"), 8, 2).tree(8, 2) == Tree.chain(2)


def test_a_share_behind_a_zero_takes_the_zero_along():
    best = best_trees(by_rank(".1,0,.6"), 4, 1)
    assert best.tokens[1].tolist() == pytest.approx([1, 1.1, 1.1, 1.7])
    assert best.tree(3, 1) == Tree.chain(1)
    assert best.tree(4, 1) == Tree.of((-1, 0, 0, 0))


def test_no_level_is_the_root_alone():
    best = best_trees(SEQUOIA, 5, 0)
    assert best.tokens.tolist() == [[1] * 5]
    assert best.tree(5, 0) == Tree.chain(0)


def test_where_shares_fall_the_best_products_are_the_best_tree():
    """Then every subset of the largest products is a tree, and so no other is better."""
    ranks = by_rank(".5,.2,.12,.05;.6,.2,.1,.05")
    products = sorted(paths(ranks, 8), reverse=True)
    best = best_trees(ranks, 100, 8)
    for m in (1, 10, 50, 100):
        assert best.tokens[8, m - 1] == pytest.approx(1 + sum(products[: m - 1]), rel=1e-12)


def paths(ranks: ByRank, levels: int) -> Iterator[float]:
    """The product of every path that could be among the first hundred."""
    level = [1.0]
    for depth in range(1, levels + 1):
        level = [product * share for product in level for share in ranks.row(depth)]
        level = sorted(level, reverse=True)[:100]
        yield from level


@pytest.mark.parametrize(
    ("nodes", "depth", "topk", "says"),
    [
        (0, 1, None, "nodes 0 is out of range; expected 1 to 256"),
        (257, 1, None, "nodes 257 is out of range"),
        (4, -1, None, "depth -1 is out of range; expected 0 to 64"),
        (4, 65, None, "depth 65 is out of range"),
        (4, 2, 0, "topk 0 is no width"),
    ],
)
def test_what_is_out_of_range(nodes, depth, topk, says):
    with pytest.raises(UsageError, match=says):
        best_trees(SEQUOIA, nodes, depth, topk=topk)
