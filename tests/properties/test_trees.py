"""What must hold of trees whatever their shape and shares."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import default_rng
from trees import acceptance, parents, relabelled

from specplan.domain.tree import ByRank, Tree
from specplan.physics.tree import best_trees, reached, tree_tokens
from specplan.physics.tree_shapes import eagle
from specplan.questions.tree_drawing import drawn

NODES, DEPTH = 24, 6
ROUNDING = 1e-9
SEEDS = st.integers(0, 2**31)


@given(parents=parents(), ranks=acceptance())
def test_tokens_lie_between_one_and_one_a_level(parents, ranks):
    tree = Tree.of(parents)
    assert 1 <= tree_tokens(tree, ranks) <= 1 + tree.depth + ROUNDING
    chance = reached(tree, ranks)
    for node, below in enumerate(tree.children):
        assert sum(chance[list(below)]) <= chance[node] + ROUNDING


@given(parents=parents(), ranks=acceptance(), seed=SEEDS)
def test_the_order_of_nodes_says_nothing(parents, ranks, seed):
    tree = Tree.of(parents)
    other = relabelled(tree, default_rng(seed))
    assert abs(tree_tokens(tree, ranks) - tree_tokens(other, ranks)) < ROUNDING
    assert (other.nodes, other.depth, other.widths) == (tree.nodes, tree.depth, tree.widths)
    assert drawn(other) == drawn(tree)


@given(parents=parents(), ranks=acceptance())
def test_a_further_node_never_takes_tokens_away(parents, ranks):
    whole, fewer = Tree.of(parents), Tree.of(parents[:-1] or (-1,))
    assert tree_tokens(fewer, ranks) <= tree_tokens(whole, ranks) + ROUNDING


@given(ranks=acceptance(), topk=st.none() | st.integers(1, 4))
def test_more_nodes_and_more_levels_are_never_worse(ranks, topk):
    tokens = best_trees(ranks, NODES, DEPTH, topk=topk).tokens
    assert tokens.shape == (DEPTH + 1, NODES)
    assert (np.diff(tokens, axis=0) >= -ROUNDING).all()
    assert (np.diff(tokens, axis=1) >= -ROUNDING).all()
    for depth, row in enumerate(tokens):
        assert (row >= 1).all()
        assert (row <= 1 + depth + ROUNDING).all()


@given(ranks=acceptance(), nodes=st.integers(1, NODES), depth=st.integers(0, DEPTH))
def test_the_best_tree_yields_what_is_said(ranks, nodes, depth):
    best = best_trees(ranks, NODES, DEPTH)
    tree = best.tree(nodes, depth)
    assert abs(tree_tokens(tree, ranks) - best.tokens[depth, nodes - 1]) < ROUNDING
    assert tree.nodes <= nodes
    assert tree.depth <= depth
    for below in tree.children:  # whoever drafts the third choice has the first two
        assert [tree.ranks[child] for child in below] == [*range(1, len(below) + 1)]


@given(ranks=acceptance(), k=st.integers(0, DEPTH))
def test_no_chain_is_better_than_the_best_tree_of_its_size(ranks, k):
    best = best_trees(ranks, NODES, DEPTH).tokens[DEPTH, k]
    assert best >= tree_tokens(Tree.chain(k), ranks) - ROUNDING


@given(parents=parents(NODES), ranks=acceptance())
def test_no_tree_is_better_than_the_best_of_its_size(parents, ranks):
    tree = Tree.of(parents)
    best = best_trees(ranks, tree.nodes, tree.depth).tokens[tree.depth, tree.nodes - 1]
    assert best >= tree_tokens(tree, ranks) - ROUNDING


@given(ranks=acceptance(2), most=st.integers(1, 16))
def test_wider_is_never_worse(ranks, most):
    tokens = [best_trees(ranks, most, 4, topk=topk).tokens[4, most - 1] for topk in (1, 2, 3, None)]
    assert all(wider >= narrower - ROUNDING for narrower, wider in pairwise(tokens))


@given(ranks=acceptance(1))
def test_levels_alike_are_one_level(ranks):
    apart = ByRank(ranks.levels * 3)
    one, many = best_trees(ranks, NODES, DEPTH), best_trees(apart, NODES, DEPTH)
    np.testing.assert_allclose(one.tokens, many.tokens, rtol=1e-12)
    assert one.tree(NODES, DEPTH) == many.tree(NODES, DEPTH)


@given(
    ranks=acceptance(), steps=st.integers(1, 5), topk=st.integers(2, 4), total=st.integers(2, 24)
)
def test_an_eagle_tree_is_a_tree_of_its_engine(ranks, steps, topk, total):
    most = topk + (steps - 1) * topk**2
    shape = eagle(steps, topk, min(total, most + 1), ranks)
    assert shape.tree.nodes == min(total, most + 1)
    assert shape.tree.depth <= steps == len(shape.widths)
    assert all(rank <= topk for rank in shape.tree.ranks)


@given(parents=parents(40))
def test_a_drawing_has_every_path(parents):
    tree = Tree.of(parents)
    lines = drawn(tree)
    assert all(line.isascii() and line == line.rstrip() for line in lines)
    assert len(lines) <= max(1, sum(not below for below in tree.children))
    assert lines[0].startswith("o")
    assert nodes_of(lines) == tree.nodes


def nodes_of(lines: tuple[str, ...]) -> int:
    """The nodes that a drawing shows, ranges counted out."""
    labels = " ".join(lines).replace("-", " ").translate(str.maketrans("|+`", "   ")).split()
    spans = [label.partition(":")[::2] for label in labels]
    return sum(int(last) - int(first) + 1 if last else 1 for first, last in spans)
