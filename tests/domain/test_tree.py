"""Trees and acceptance by rank: what they say of themselves, and what is none."""

from __future__ import annotations

import pytest

from specplan.domain.tree import ByRank, Tree, by_rank
from specplan.errors import UsageError

# 0 -> 1, 2, 3; 1 -> 4, 5; 4 -> 6
TREE = Tree.of((-1, 0, 0, 0, 1, 1, 4))


def test_what_a_tree_says_of_itself():
    assert TREE.ranks == (0, 1, 2, 3, 1, 2, 1)
    assert TREE.depths == (0, 1, 1, 1, 2, 2, 3)
    assert (TREE.nodes, TREE.depth) == (7, 3)
    assert TREE.widths == (1, 1, 1)  # of levels 0, 1 and 2 one node each has children
    assert TREE.children == ((1, 2, 3), (4, 5), (), (), (6,), (), ())
    assert not TREE.is_chain


def test_a_wide_tree_runs_every_node_with_children():
    assert Tree.of((-1, 0, 0, 1, 1, 2, 3)).widths == (1, 2, 1)


@pytest.mark.parametrize("k", [0, 1, 5])
def test_a_chain_has_k_and_the_root(k):
    chain = Tree.chain(k)
    assert (chain.nodes, chain.depth, chain.widths) == (k + 1, k, (1,) * k)
    assert chain == Tree.of(range(-1, k))
    assert chain.is_chain


def test_second_choices_in_a_row_are_no_chain():
    assert not Tree((-1, 0, 1), (0, 2, 1)).is_chain


def test_children_stand_in_the_order_of_ranks():
    assert Tree((-1, 0, 0), (0, 3, 1)).children[0] == (2, 1)


@pytest.mark.parametrize(
    ("parents", "ranks", "says"),
    [
        ((), (), "a parent and a rank for each node"),
        ((-1, 0), (0,), "a parent and a rank for each node"),
        ((0,), (0,), "node 0 is the root"),
        ((-1,), (1,), "node 0 is the root"),
        ((-1, 1), (0, 1), "node 1 follows node 1"),
        ((-1, 2, 0), (0, 1, 1), "node 1 follows node 2"),
        ((-1, -1), (0, 1), "node 1 follows node -1"),
        ((-1, 0), (0, 0), "node 1 has rank 0"),
        ((-1, 0, 0), (0, 1, 1), "the same rank"),
    ],
)
def test_what_is_no_tree(parents, ranks, says):
    with pytest.raises(UsageError, match=says):
        Tree(parents, ranks)


@pytest.mark.parametrize("parents", [(-1, 5), (-1, -2)])
def test_parents_are_nodes(parents):
    with pytest.raises(UsageError, match="is no node; expected 0 to 1"):
        Tree.of(parents)


def test_the_last_level_goes_on():
    ranks = by_rank(".6,.2;.5")
    assert ranks.levels == ((0.6, 0.2), (0.5,))
    assert [ranks.row(level) for level in (1, 2, 9)] == [(0.6, 0.2), (0.5,), (0.5,)]
    assert [ranks.rate(1, 2), ranks.rate(1, 3), ranks.rate(7, 2)] == [0.2, 0, 0]
    assert str(ranks) == "0.6,0.2;0.5"


@pytest.mark.parametrize(
    "given",
    [
        ".6,.2;.5",
        [".6,.2", ".5"],
        [".6,.2;.5"],
        [[0.6, 0.2], [0.5]],
        ((0.6, 0.2), (0.5,)),
        ByRank(((0.6, 0.2), (0.5,))),
    ],
)
def test_ways_to_write_ranks(given):
    assert by_rank(given) == ByRank(((0.6, 0.2), (0.5,)))


def test_numbers_are_one_level():
    assert by_rank([0.6, 0.2]) == by_rank(" .6 , .2 ") == ByRank(((0.6, 0.2),))


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ((), "no ranks are given"),
        ("", "'' is no list of ranks"),
        (".6;", "'' is no list of ranks"),
        ([[]], "no ranks are given"),
        ("x", "'x' is no list of ranks; expected shares such as"),
        ("inf", "'inf' is no list of ranks"),
        ("60,20", "a rank's share is 60; expected a probability, 0..1; 60 % is 0.6"),
        ("-.1", "a rank's share is -0.1"),
        ([float("nan")], "a rank's share is nan"),
        (".7,.6", "the ranks add up to 1.3; .* are no ranks"),
        (".5;.7,.6", "the ranks of level 2 add up to 1.3"),
        ([".5", 0.1], "lists and numbers at once"),
        ([0.001] * 257, "more ranks than any tree uses"),
        ([[0.1]] * 65, "more ranks than any tree uses"),
    ],
)
def test_what_are_no_ranks(given, says):
    with pytest.raises(UsageError, match=says):
        by_rank(given)


def test_shares_that_were_rounded_may_add_up_to_a_little_more():
    assert by_rank([0.5, 0.3, 0.2000004]).levels[0][2] == 0.2000004
