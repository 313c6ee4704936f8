"""Trees that engines draft, by hand and by their own counts; and what is none."""

from __future__ import annotations

import pytest
from trees import SEQUOIA

from specplan.cli.complete import SHAPES as OFFERED
from specplan.domain.tree import Tree, by_rank
from specplan.errors import SpecplanError
from specplan.physics.tree import best_trees, tree_tokens
from specplan.physics.tree_shapes import FORMS, SHAPES, Shape, chain, eagle, medusa, shape_of

RANKS = by_rank(".6,.2,.1")


def test_a_chain_is_one_tree_of_many():
    assert shape_of("chain:3", RANKS) == chain(3) == Shape("chain:3", Tree.chain(3), (1, 1, 1))


def test_eagle_by_hand():
    """Steps of top 2: products .6 .2, then .36 .12 .12 .04, of which .36 and the first .12 go on:
    .216 .072 .072 .024. The seven largest below the root are .6 .36 .216 .2 .12 .12 .072.
    """
    shape = eagle(3, 2, 8, RANKS)
    assert shape.widths == (1, 2, 2)
    assert shape.tree == Tree((-1, 0, 0, 1, 1, 2, 3, 3), (0, 1, 2, 1, 2, 1, 1, 2))
    tokens = 1 + 0.6 + 0.2 + 0.36 + 0.12 + 0.12 + 0.216 + 0.072
    assert tree_tokens(shape.tree, RANKS) == pytest.approx(tokens)


def test_eagle_runs_its_width_whatever_is_verified():
    shape = eagle(5, 4, 2, RANKS)
    assert shape.tree == Tree.chain(1)
    assert shape.widths == (1, 4, 4, 4, 4)


def test_eagle_drafts_no_more_than_all_of_its_candidates():
    shape = eagle(3, 2, 11, RANKS)  # 2 + 2 x 4 and the root
    assert (shape.tree.nodes, shape.tree.depth) == (11, 3)
    assert shape.tree.widths == (1, 2, 2)  # only two of each level went on
    assert max(map(len, shape.tree.children)) == 2


def test_eagle_keeps_parents_of_what_is_never_kept():
    assert eagle(4, 3, 20, by_rank(".9")).tree.nodes == 20


def test_eagle_is_never_better_than_the_best_tree():
    for topk, total in ((2, 8), (4, 16), (8, 60)):
        tokens = tree_tokens(eagle(8, topk, total, SEQUOIA).tree, SEQUOIA)
        best = best_trees(SEQUOIA, total, 8).tokens[8, total - 1]
        assert best * 0.97 < tokens <= best + 1e-12


def test_medusa_choices_count_from_0():
    shape = medusa([[1], [0, 1], [0], [0, 0], [0, 0, 0]])
    assert shape.tree == Tree((-1, 0, 0, 1, 1, 3), (0, 1, 2, 1, 2, 1))
    assert shape.widths == (1, 1, 1)
    assert shape.label == "medusa of 5 choices"
    assert shape == shape_of("medusa:0,1,0.0,0.1,0.0.0", RANKS)
    assert shape == shape_of("medusa:[[0], [1], [0, 0], [0, 1], [0, 0, 0]]", RANKS)


def test_medusa_may_skip_a_rank():
    tree = shape_of("medusa:0,2", RANKS).tree
    assert tree.ranks == (0, 1, 3)
    assert tree_tokens(tree, RANKS) == pytest.approx(1.7)


def test_sequoia_is_the_best_tree():
    shape = shape_of("sequoia:16,9", SEQUOIA)
    assert round(tree_tokens(shape.tree, SEQUOIA), 4) == 3.1303
    assert shape.widths == shape.tree.widths


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("eagl:1", "unknown shape 'eagl'; did you mean 'eagle'?"),
        ("", "unknown shape ''; expected one of chain, eagle, medusa, sequoia"),
        ("eagle", f"shape eagle has no figures; expected {FORMS['eagle']}"),
        ("eagle:", f"'' are not the figures of eagle; expected {FORMS['eagle']}"),
        ("eagle:5,4", "'5,4' are not the figures of eagle"),
        ("eagle:5,4,8.5", "'5,4,8.5' are not the figures of eagle"),
        ("eagle:5,4,1e400", "'5,4,1e400' are not the figures of eagle"),
        ("eagle:0,4,8", "0 is out of range; expected 1 to 64 there in eagle:STEPS"),
        ("eagle:5,99,8", "99 is out of range; expected 1 to 64"),
        ("eagle:5,4,257", "257 is out of range; expected 2 to 256"),
        ("eagle:2,2,8", "2 steps of top 2 draft 6 tokens, not 7; expected at most 7"),
        (
            "eagle:5,1,8",
            "5 steps of top 1 are a chain of 6 with the root, not 8; write eagle:5,1,6",
        ),
        ("chain:0", "0 is out of range; expected 1 to 64"),
        ("chain:1:3", "'1:3' are not the figures of chain"),
        ("sequoia:8", "'8' are not the figures of sequoia"),
        ("medusa:", "'' are no choices; expected medusa:PATH"),
        ("medusa:[]", "'[]' are no choices"),
        ("medusa:[[]]", "'[[]]' are no choices"),
        ("medusa:[1]", "'[1]' are no choices"),
        ("medusa:[[0", "'[[0' are no choices"),
        ("medusa:[[true]]", "'[[true]]' are no choices"),
        ("medusa:0,-1", "'0,-1' are no choices"),
        ("medusa:0,64", "'0,64' are no choices"),
        ("medusa:0.1", "choice 0.1 follows 0, which is none; add 0"),
        ("medusa:0,0", "choices are empty or said twice"),
    ],
)
def test_what_is_no_shape(text, says):
    with pytest.raises(SpecplanError) as error:
        shape_of(text, RANKS)
    assert str(error.value).startswith(says)


def test_deep_nesting_is_no_crash():
    with pytest.raises(SpecplanError):
        shape_of("medusa:" + "[" * 100_000, RANKS)
    with pytest.raises(SpecplanError):
        shape_of("medusa:" + ".".join(["0"] * 65), RANKS)


def test_the_shell_offers_every_shape():
    assert set(OFFERED) == set(SHAPES) == set(FORMS)
