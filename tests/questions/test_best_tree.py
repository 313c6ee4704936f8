"""Best trees by hand: a draft pass costs a tenth of a plain step while memory binds."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
import worlds

import specplan
from specplan.domain.tree import Tree, by_rank
from specplan.domain.weightless import RatioDrafter, lookahead
from specplan.errors import Refused, UsageError
from specplan.questions.best_tree import LARGEST_BUDGET, best_tree
from specplan.questions.tree_drawing import drawn

TENTH = replace(worlds.FREE, ratio=0.1)
RANKS = by_rank(".6,.2,.1")
# Of 4 nodes: 3 children 1.9 / 1.1; two levels 1 + .6 + .36 + .2 over 1.2; three 2.176 / 1.3.
FOUR, CHAIN = 2.16 / 1.2, 2.176 / 1.3


def asked(*cases, ranks=RANKS, axes=None, **options):
    scene = worlds.scenario(*(cases or (TENTH,)), **(axes or {}))
    return best_tree(replace(scene, acceptance=()), ranks, **options)


def said(answer) -> str:
    lines = [line for s in answer.view.sections for line in getattr(s, "lines", ())]
    pairs = [f"{a}: {b}" for s in answer.view.sections for a, b in getattr(s, "pairs", ())]
    return "\n".join((answer.view.title, *lines, *pairs))


def test_one_budget_by_hand():
    answer = asked(nodes=[4])
    value, choice = answer.value, answer.value.choice
    assert (choice.nodes, choice.depth, choice.draft_passes, choice.widest_pass) == (4, 3, 2, 1)
    expected = {
        "tokens_per_round": 2.16,
        "draft_s": 0.42e-3,
        "verify_s": 2.1e-3,
        "round_s": 2.52e-3,
        "tpot_s": 2.52e-3 / 2.16,
        "speedup": FOUR,
        "reference_speedup": 2.16 / 1.3,  # three passes: one for the root
    }
    assert {n: getattr(choice, n) for n in expected} == pytest.approx(expected, rel=1e-12)
    assert value.parents == (-1, 0, 0, 1)
    assert (value.child_ranks, value.pass_tokens) == ((0, 1, 2, 1), (1, 1))
    assert value.plain_tpot_s == pytest.approx(2.1e-3)
    assert value.equal_nodes_chain.speedup == pytest.approx(CHAIN, rel=1e-12)
    assert (value.best_chain.depth, value.best_chain.speedup) == (4, pytest.approx(CHAIN))
    assert value.lead_over_best_chain == pytest.approx(FOUR / CHAIN - 1)
    assert value.lead_over_equal_nodes_chain == value.lead_over_best_chain
    assert (value.measured_chain_wins, value.measured_pairs) == (152, 176)
    assert (value.is_chain, value.asked_about, value.fits, answer.ok) == (False, None, True, True)
    assert answer.view.title == "Tree of 4, 3 deep: 1.80x"


def test_the_rows_are_the_budgets_and_the_chains():
    rows = list(asked(nodes=[4, 2]).table.records())
    assert [(r["kind"], r["budget"], r["nodes"], r["depth"], r["best"]) for r in rows] == [
        ("tree", 1, 1, 1, False),
        ("tree", 2, 2, 2, False),
        ("tree", 4, 4, 3, True),
        ("chain", None, 4, 4, False),
    ]
    assert [row["speedup"] for row in rows] == pytest.approx([1, 1.6 / 1.1, FOUR, CHAIN])
    assert [row["chain_speedup"] for row in rows] == pytest.approx([1, 1.6 / 1.1, CHAIN, CHAIN])
    assert {row["best_chain_k"] for row in rows} == {3}
    assert all(row["shown"] and row["fits"] for row in rows)


def test_every_budget_is_tried_and_the_best_is_chosen():
    answer = asked()
    trees = [row for row in answer.table.records() if row["kind"] == "tree"]
    assert [row["budget"] for row in trees] == list(range(1, LARGEST_BUDGET + 1))
    fastest = max(trees, key=lambda row: row["speedup"])
    assert answer.value.choice.speedup == fastest["speedup"]
    assert answer.value.choice.nodes == fastest["nodes"]
    # Verification is free until 100 tokens: with more nodes the tree is wider, and no slower.
    assert fastest["nodes"] > 60
    shown = [row["budget"] for row in trees if row["shown"]]
    assert {2, 4, 8, 16, 32} < set(shown)


def test_a_wide_batch_wants_a_small_tree():
    axes = {"batch": (1.0, 25.0, 90.0), "context": (1.0,)}
    rows = [row for row in asked(axes=axes).table.records() if row["best"]]
    nodes = [row["nodes"] for row in rows]
    assert nodes == sorted(nodes, reverse=True)
    assert nodes[0] > 60
    assert nodes[1] == 4  # verification computes from 100 tokens on: 25 x 4
    assert nodes[2] == 1


def test_several_workloads_have_a_row_each():
    answer = asked(TENTH, worlds.PAIR, axes={"batch": (1.0, 8.0)}, nodes=[4])
    best = [row for row in answer.table.records() if row["best"]]
    assert [(row["draft"], row["batch"]) for row in best] == [
        *(("ratio:0.1", 1), ("ratio:0.1", 8), ("drafter", 1), ("drafter", 8))
    ]
    assert (answer.value.workloads, answer.value.all_fit, answer.ok) == (4, True, True)
    (rows, told) = answer.view.sections
    assert rows.columns[:2] == ("draft", "batch")
    assert "won 152" in told.lines[0]


def test_levels_may_differ():
    # A second level that keeps half as often: .6 + .3 + .2 + .06 below the root.
    answer = asked(ranks=by_rank(".6,.2;.3"), nodes=[4], depth=3)
    assert answer.value.choice.tokens_per_round == pytest.approx(1 + 0.6 + 0.2 + 0.18)
    assert answer.value.ranks == ((0.6, 0.2), (0.3,))


@pytest.mark.parametrize(("option", "depth", "wide"), [({"depth": 2}, 1, 3), ({"topk": 1}, 3, 1)])
def test_limits_hold(option, depth, wide):
    value = asked(nodes=[4], **option).value
    tree = Tree(value.parents, value.child_ranks)
    assert tree.depth == depth
    assert max(map(len, tree.children)) == wide
    assert value.is_chain == ("topk" in option)


def test_a_tree_that_is_a_chain_says_so():
    answer = asked(ranks=by_rank([0.9]), nodes=[3])
    assert answer.value.is_chain
    assert answer.view.title == "A chain of k = 2: 2.26x"
    assert "A chain is faster: draft k=" in said(answer)
    longest = asked(ranks=by_rank([0.6]))
    assert longest.view.title == "A chain of k = 3: 1.67x"
    assert "A chain does as well: draft k=3 in a row" in said(longest)


def test_a_lead_on_paper_is_told_with_what_was_measured():
    text = said(asked(nodes=[4]))
    assert "On paper the tree leads by 7.5 %. Of 176 measured pairs" in text
    assert (
        "the chain won 152 (SpecBundle, 6 and 8 tokens, batch 1 and 8): measure k=3 first" in text
    )
    assert "draft: 2 passes of one token a sequence" in text
    assert "depth l, l - 1 passes; with l, as Sequoia's search has it: 1.66x" in text
    assert "best chain: k=3: 1.67x; the tree is 7.5 % faster" in text
    assert "same width" not in text  # it is the best chain


def test_the_drawing_is_the_tree():
    answer = asked(nodes=[4])
    (picture,) = (s for s in answer.view.sections if getattr(s, "drawn", False))
    assert picture.lines == ("o--1--1", "`--2")


def test_nothing_pays():
    slow = asked(replace(worlds.FREE, ratio=2.0))
    assert (slow.value.choice.nodes, slow.value.choice.speedup) == (1, 1)
    assert slow.view.title == "Plain decoding is best"
    assert "decode without drafts" in said(slow)
    assert slow.value.best_chain.speedup < 1
    rows = [row for row in slow.table.records() if row["kind"] == "tree"]
    assert all((row["nodes"] == 1) == (row["budget"] == 1) for row in rows)
    assert slow.ok  # it is an answer


def test_only_a_chain_pays():
    axes = {"batch": (60.0,), "context": (1.0,)}
    answer = asked(ranks=by_rank(".9,.02,.02"), nodes=[64], axes=axes)
    assert answer.value.choice.nodes == 1
    assert answer.value.best_chain.speedup > 1
    assert answer.view.title == "No tree pays"
    assert "No tree, but a chain pays: draft k=" in said(answer)


def test_nothing_drafts():
    answer = asked(worlds.PLAIN)
    assert answer.view.title == "Plain decoding is best"
    assert "best chain: none: nothing drafts" in said(answer)
    with pytest.raises(UsageError, match="draft none cannot propose 5 levels; expected at most 0"):
        asked(worlds.PLAIN, shape="eagle:5,4,8")


def test_a_shape_is_judged():
    answer = asked(shape="eagle:2,2,5")
    value, choice = answer.value, answer.value.choice
    # Two steps of top 2: .6 .2 .36 .12 .12 .04; the four largest are .6 .36 .2 .12.
    assert value.asked_about == choice.label == "eagle:2,2,5"
    assert choice.tokens_per_round == pytest.approx(2.28)
    assert (choice.draft_passes, choice.widest_pass, value.pass_tokens) == (2, 2, (1, 2))
    assert choice.speedup == pytest.approx(2.28 / 1.2)
    assert value.equal_nodes_tree.nodes == 5
    assert value.equal_nodes_tree.speedup >= choice.speedup
    assert value.best_tree.speedup > value.equal_nodes_tree.speedup
    assert answer.view.title == "eagle:2,2,5: 1.90x"
    (row,) = (row for row in answer.table.records() if row["best"])
    assert (row["kind"], row["budget"], row["nodes"]) == ("shape", None, 5)
    assert "this shape is" in said(answer)


def test_a_shape_that_loses_says_so():
    axes = {"batch": (60.0,), "context": (1.0,)}
    answer = asked(shape="eagle:3,4,32", axes=axes, ranks=by_rank([0.1]))
    assert answer.value.choice.speedup < 1
    assert "Neither this tree nor a chain pays here" in said(answer)


def test_ranks_that_are_not_known_are_said():
    few = asked(shape="eagle:2,3,8", ranks=by_rank(".6,.2"))
    told = "ranks beyond the 2 given are taken as never kept"
    assert told in few.basis.assumed
    assert told not in asked(nodes=[4], ranks=by_rank([0.6, 0.2, 0.1, 0.05])).basis.assumed
    assert any("averages" in sentence for sentence in few.basis.assumed)
    assert any("its mask is free" in sentence for sentence in few.basis.assumed)


def test_a_ratio_prices_no_width():
    told = "a draft pass costs its ratio whatever tokens of a sequence it runs"
    assert told in asked(shape="eagle:2,2,5").basis.assumed
    assert told not in asked(nodes=[4]).basis.assumed  # no pass of it is wide
    assert told not in asked(worlds.PAIR, shape="eagle:2,2,5").basis.assumed


def test_who_has_guesses_of_its_own_verified_drafts_no_tree():
    scene = worlds.scenario(TENTH)
    guessing = replace(scene, setups=(replace(scene.setups[0], draft=lookahead("")),))
    with pytest.raises(Refused, match="draft lookahead has tokens of its own verified"):
        best_tree(guessing, RANKS)


def test_a_band_is_of_chains():
    scene = worlds.scenario(TENTH)
    banded = replace(scene, setups=(replace(scene.setups[0], band=0.1),), acceptance=())
    assert "the band is of measured rounds, and most of those drafted chains" in (
        best_tree(banded, RANKS, nodes=[4]).basis.assumed
    )


def test_what_does_not_fit_is_the_answer_no():
    answer = asked(worlds.PAIR, axes={"batch": (65.0,)})
    assert (answer.value.memory.largest_batch, answer.value.fits, answer.ok) == (61, False, False)
    assert said(answer).splitlines()[1].startswith("Does not fit: batch 65 at 1,000 tokens; 61 seq")
    grown = asked(worlds.PAIR, axes={"batch": (50.0,), "growth": 500.0})
    assert not grown.ok
    # Without a draft there is room for 70.
    still = asked(worlds.PAIR, axes={"batch": (65.0,)}, ranks=by_rank([0.01]))
    assert still.value.choice.nodes == 1
    assert still.ok
    assert all(row["fits"] == (row["nodes"] == 1) for row in still.table.records())


@dataclass(frozen=True, slots=True)
class Short(RatioDrafter):
    """Heads for three tokens, all of them in one pass."""

    @property
    def max_k(self) -> int:
        return 3

    def passes(self, k: int) -> int:
        return min(k, 1)


def test_heads_reach_as_far_as_they_are_many():
    scene = worlds.scenario(TENTH)
    heads = replace(scene, setups=(replace(scene.setups[0], draft=Short(0.1)),), acceptance=())
    value = best_tree(heads, RANKS).value
    assert (value.choice.depth, value.choice.draft_passes, value.pass_tokens) == (4, 1, (1,))
    assert value.choice.draft_s == pytest.approx(0.21e-3)
    assert value.best_chain.depth == 4
    assert value.equal_nodes_chain is None  # so many heads there are not
    for option in ({"depth": 5}, {"shape": "chain:4"}):
        with pytest.raises(UsageError, match="cannot propose 4 levels; expected at most 3"):
            best_tree(heads, RANKS, **option)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"nodes": [0]}, "nodes 0 is out of range; expected 1 to 256"),
        ({"nodes": [4, 300]}, "nodes 300 is out of range"),
        ({"nodes": [2.5]}, "nodes 2.5 is out of range"),
        ({"depth": 1}, "depth 1 is out of range; expected 2 to 65"),
        ({"topk": 0}, "topk 0 is out of range; expected 1 to 256"),
        ({"ranks": [0.7, 0.6]}, "add up to 1.3"),
        ({"shape": "eagl:1"}, "did you mean 'eagle'"),
    ],
)
def test_what_is_no_question(options, says):
    with pytest.raises(specplan.SpecplanError, match=says):
        asked(**options)


def test_too_many_workloads():
    with pytest.raises(UsageError, match="1,001 workloads are more than one answer holds"):
        asked(axes={"batch": tuple(map(float, range(1, 1002)))})


def test_a_mix_is_no_point():
    mixed = specplan.scenario(
        target="llama-3-8b", draft="free", hardware="h100", mix=["3,alpha=0.8"]
    )
    with pytest.raises(UsageError, match="best-tree takes no mix"):
        specplan.best_tree(mixed, ".6,.2")


def test_from_python_no_acceptance_is_needed():
    scene = specplan.scenario(
        target="llama-3-8b",
        draft="llama-3.2-1b",
        hardware="h100",
        batch=8,
        needs=("target", "draft", "hardware"),
    )
    one = specplan.best_tree(scene, [0.6, 0.2], nodes=range(2, 9), depth=5).value
    two = specplan.best_tree(scene, ".6,.2", nodes=[2, 3, 4, 5, 6, 7, 8], depth=5).value
    assert one == two
    assert one.choice.speedup > one.best_chain.speedup


def test_drawings():
    assert drawn(Tree.chain(0)) == ("o",)
    assert drawn(Tree.chain(3)) == ("o--1--1--1",)
    assert drawn(Tree.of((-1, 0, 0, 0))) == ("o--1:3",)
    tree = Tree.of((-1, 0, 0, 0, 0, 1, 1, 3, 6, 6))
    assert drawn(tree) == (
        "o--1--1",
        "|  `--2--1:2",
        "+--2",
        "+--3--1",
        "`--4",
    )
    gap = Tree((-1, 0, 0, 0, 0), (0, 1, 2, 4, 12))
    assert drawn(gap) == ("o--1:2", "+--4", "`--12")
