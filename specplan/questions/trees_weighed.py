"""Trees and chains weighed at one setup, context and batch: what best-tree says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from specplan.domain.scenario import Serving
from specplan.domain.tree import ByRank, Tree
from specplan.physics.round import LONGEST
from specplan.physics.tokens import FloatArray
from specplan.physics.tree import best_trees, tree_tokens
from specplan.physics.tree_round import TreeTiming
from specplan.physics.tree_shapes import Shape, chain
from specplan.questions.bills import MemoryBill


@dataclass(frozen=True, slots=True)
class Weighed:
    """One tree or chain and its round. `nodes` are verified, and `depth` counts levels, both with
    the root. `reference_speedup` charges the root a draft pass, as the search published with
    Sequoia does; a round has one pass a level, for the root is known.
    """

    label: str
    nodes: int
    depth: int
    draft_passes: int
    widest_pass: int
    tokens_per_round: float
    draft_s: float
    verify_s: float
    round_s: float
    tpot_s: float
    speedup: float
    reference_speedup: float
    verify_bound_by: str


@dataclass(frozen=True, slots=True)
class BestTree:
    """One workload: the best tree, or the shape asked about, and what else could be drafted.

    `parents` and `child_ranks` are the tree's nodes, `pass_tokens` the tokens of a sequence in each
    of its draft passes. A lead is its speedup over the other's, less 1.
    """

    target: str
    draft: str
    hardware: str
    tp: int
    serving: Serving
    batch: float
    context: float
    ranks: tuple[tuple[float, ...], ...]
    plain_tpot_s: float
    choice: Weighed
    parents: tuple[int, ...]
    child_ranks: tuple[int, ...]
    pass_tokens: tuple[int, ...]
    is_chain: bool
    asked_about: str | None
    best_tree: Weighed
    equal_nodes_tree: Weighed | None
    equal_nodes_chain: Weighed | None
    best_chain: Weighed
    lead_over_best_chain: float
    lead_over_equal_nodes_chain: float | None
    measured_pairs: int
    measured_chain_wins: int
    memory: MemoryBill
    fitting_tp: int | None
    fits: bool


@dataclass(frozen=True, slots=True)
class BestTrees:
    """What the rows of several workloads have in common."""

    workloads: int
    all_fit: bool
    ranks: tuple[tuple[float, ...], ...]
    measured_pairs: int
    measured_chain_wins: int


@dataclass(frozen=True, slots=True)
class Grove:
    """Every shape of a question once, the first without a draft, with the tokens of its round, and
    where they stand: for each budget of nodes the best tree of each depth, chains by their drafts,
    the shape asked about.
    """

    shapes: tuple[Shape, ...]
    tokens: FloatArray
    trees: dict[int, tuple[int, ...]]
    chains: dict[int, int]
    given: int | None


def grove(
    ranks: ByRank,
    budgets: Sequence[int],
    depth: int,
    *,
    topk: int | None = None,
    given: Shape | None = None,
    longest: int | None = None,
) -> Grove:
    """The shapes, without levels the root alone; chains are as long as `depth`, and as any budget
    or shape is wide, but no longer than the drafter's `longest`.
    """
    best = best_trees(ranks, max(budgets), depth, topk=topk)
    number: dict[Shape, int] = {}

    def numbered(shape: Shape) -> int:
        return number.setdefault(shape, len(number))

    nothing = numbered(Shape.of(Tree.chain(0), "tree"))

    trees = {}
    for budget in budgets:
        deepest = min(depth, budget - 1)
        levels = range(min(1, deepest), deepest + 1)
        alike = [numbered(Shape.of(best.tree(budget, each), "tree")) for each in levels]
        if deepest or budget == 1:
            trees[budget] = tuple(dict.fromkeys(alike))
    most = LONGEST if longest is None else min(longest, LONGEST)
    drafts = {*range(depth + 1), *(budget - 1 for budget in budgets)}
    if given:
        drafts.add(given.tree.nodes - 1)
    chains = {k: numbered(chain(k)) if k else nothing for k in sorted(drafts) if k <= most}
    judged = numbered(given) if given else None
    tokens = np.asarray([tree_tokens(shape.tree, ranks) for shape in number], np.float64)
    return Grove(tuple(number), tokens, trees, chains, judged)


@dataclass(frozen=True, slots=True)
class Found:
    """One workload's shapes, weighed: the best tree of each budget and its number, chains by
    drafts, and the shape asked about.
    """

    trees: dict[int, tuple[int, Weighed]]
    chains: dict[int, Weighed]
    best_budget: int
    best_chain: Weighed
    shape: tuple[int, Weighed] | None

    @property
    def chosen(self) -> tuple[int, Weighed]:
        """The shape asked about, or the best tree."""
        return self.shape or self.trees[self.best_budget]


def found_in(all_of: Grove, timing: TreeTiming) -> Found:
    """The best of each kind at one point, where all shapes take so long."""
    speedup = timing.speedup(all_of.tokens)
    with_root = timing.speedup(all_of.tokens, root_drafts=True)

    def weighed(number: int) -> Weighed:
        shape = all_of.shapes[number]
        passes = timing.passes[number]
        round_s, tokens = float(timing.round_s[number]), float(all_of.tokens[number])
        return Weighed(
            label=shape.label,
            nodes=shape.tree.nodes,
            depth=shape.tree.depth + 1,
            draft_passes=passes,
            widest_pass=max(shape.widths[:passes], default=0),
            tokens_per_round=tokens,
            draft_s=float(timing.draft_s[number]),
            verify_s=float(timing.verify_s[number]),
            round_s=round_s,
            tpot_s=round_s / tokens,
            speedup=float(speedup[number]),
            reference_speedup=float(with_root[number]),
            verify_bound_by=timing.bound_by[number],
        )

    best = {m: timing.fastest(all_of.tokens, alike) for m, alike in all_of.trees.items()}
    winner = timing.fastest(all_of.tokens, list(best.values()))
    drafting = [number for k, number in all_of.chains.items() if k]
    given = all_of.given
    return Found(
        trees={m: (number, weighed(number)) for m, number in best.items()},
        chains={k: weighed(number) for k, number in all_of.chains.items()},
        best_budget=next(m for m, number in best.items() if number == winner),
        best_chain=weighed(timing.fastest(all_of.tokens, drafting or [all_of.chains[0]])),
        shape=None if given is None else (given, weighed(given)),
    )
