"""Which tree of drafts for a budget of verified tokens, and does a chain beat it?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from specplan.domain.answer import Answer, Basis, Scalar, table_of
from specplan.domain.scenario import Scenario, Setup
from specplan.domain.tree import DEEPEST, MOST_NODES, ByRank, Tree, by_rank
from specplan.errors import Refused, UsageError
from specplan.physics.tree_round import TreeDrafts, time_trees
from specplan.physics.tree_shapes import Shape, shape_of
from specplan.questions import best_tree_view as view
from specplan.questions.best_tree_rows import COLUMNS, rows
from specplan.questions.beyond import beyond_tokens
from specplan.questions.bills import bill_of, fitting_tp
from specplan.questions.common import basis_of, refuse_mix
from specplan.questions.servings import SERVED_BY
from specplan.questions.trees_weighed import (
    BestTree,
    BestTrees,
    Found,
    Grove,
    found_in,
    grove,
)

LARGEST_BUDGET = 64  # nodes up to which every budget is tried where none is given
DEEPEST_TRIED = 16  # levels below the root where no depth is given: the chains of best-k
MOST_WORKLOADS = 1_000

# Pairs of a top-k tree and a chain that verified as many tokens (6 or 8 a sequence, at batch 1 and
# 8), and those in which the chain was faster: EAGLE-3 heads under SGLang on H200, from the raw data
# of SpecForge's SpecBundle dashboard (github.com/sgl-project/SpecForge; no licence stated).
MEASURED_PAIRS, CHAIN_WON = 176, 152


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of every workload."""

    ranks: ByRank
    budgets: tuple[int, ...]
    listed: bool
    depth: int | None
    topk: int | None
    shape: Shape | None

    def grove(self, setup: Setup) -> Grove:
        """The candidates that a setup's drafter can propose."""
        longest = setup.draft.max_k
        if not setup.draft.adapts and setup.draft.verified(1) > 1:
            raise Refused(
                f"draft {setup.draft.label} has tokens of its own verified, and drafts no tree",
                hint="name another drafter",
            )
        depth = DEEPEST_TRIED if self.depth is None else self.depth - 1
        if longest is not None:
            wanted = max((self.depth or 1) - 1, len(self.shape.widths) if self.shape else 0)
            if wanted > longest:
                what = f"draft {setup.draft.label} cannot propose {wanted} levels"
                raise UsageError(what, expected=f"at most {longest}")
            depth = min(depth, longest)
        return grove(
            self.ranks, self.budgets, depth, topk=self.topk, given=self.shape, longest=longest
        )


def best_tree(
    scenario: Scenario,
    ranks: ByRank | str | Iterable[str] | Iterable[float],
    *,
    nodes: Sequence[int] = (),
    depth: int | None = None,
    topk: int | None = None,
    shape: Shape | str | None = None,
) -> Answer:
    """The fastest tree for each budget of `nodes`, the best budget, and what chains do instead.

    `ranks` say how often the first, second, ... child of a node is kept, by level if that differs
    (`specplan.domain.tree.by_rank`); the scenario's own acceptance is not used. A budget counts the
    root, at most 256; where none is given, all up to 64 are tried. To draft nothing is always
    tried. `depth` counts levels, the root's included, 2 to 65 (17 if absent); `topk` is the most
    children of a node. `shape` is a tree to judge, such as "eagle:5,4,8"
    (`physics.tree_shapes.SHAPES`).

    A tree of depth l costs l - 1 draft passes: the root is the token already known. The search
    published with Sequoia charges l; `reference_speedup` is by its count.
    """
    refuse_mix(scenario, "best-tree")
    asked = _asked(by_rank(ranks), nodes, depth, topk, shape)
    workloads = len(scenario.setups) * len(scenario.context) * len(scenario.batch)
    if workloads > MOST_WORKLOADS:
        raise UsageError(
            f"{workloads:,} workloads are more than one answer holds",
            expected=f"at most {MOST_WORKLOADS:,}",
        )
    groves = {setup.draft.max_k: asked.grove(setup) for setup in scenario.setups}
    values: list[BestTree] = []
    records: list[dict[str, Scalar]] = []
    for setup in scenario.setups:
        candidates = groves[setup.draft.max_k]
        drafts = TreeDrafts.of(setup.draft, candidates.shapes)
        timings = time_trees(setup, scenario.context, scenario.batch, drafts)
        points = product(scenario.context, scenario.batch)
        for (context, batch), timing in zip(points, timings, strict=True):
            found = found_in(candidates, timing)
            shape = candidates.shapes[found.chosen[0]]
            values.append(_value(asked, found, shape, setup, context, batch, scenario.growth))
            records += rows(found, setup, values[-1], asked.budgets if asked.listed else ())
    all_fit = all(value.fits for value in values)
    several = BestTrees(len(values), all_fit, asked.ranks.levels, MEASURED_PAIRS, CHAIN_WON)
    return Answer(
        command="best-tree",
        value=values[0] if len(values) == 1 else several,
        table=table_of(COLUMNS, records, (SERVED_BY,)),
        view=view.one(values[0], scenario) if len(values) == 1 else view.many(several, scenario),
        basis=_basis(scenario, asked, values),
        inputs=scenario.inputs,
        notes=(*scenario.notes, *beyond_tokens(scenario)),
        ok=all_fit,
    )


def _asked(
    ranks: ByRank,
    nodes: Sequence[int],
    depth: int | None,
    topk: int | None,
    shape: Shape | str | None,
) -> Asked:
    """The question, its figures within their limits."""
    limits = [("nodes", budget, 1, MOST_NODES) for budget in nodes]
    limits += [("depth", depth, 2, DEEPEST + 1)] if depth is not None else []
    limits += [("topk", topk, 1, MOST_NODES)] if topk is not None else []
    for name, value, low, high in limits:
        if value not in range(low, high + 1):
            raise UsageError(f"{name} {value} is out of range", expected=f"{low} to {high}")
    judged = shape_of(shape, ranks) if isinstance(shape, str) else shape
    budgets = {1, *(nodes or range(1, LARGEST_BUDGET + 1))}
    if judged:
        budgets.add(judged.tree.nodes)
    return Asked(ranks, tuple(sorted(budgets)), bool(nodes), depth, topk, judged)


def _value(
    asked: Asked,
    found: Found,
    shape: Shape,
    setup: Setup,
    context: float,
    batch: float,
    growth: float,
) -> BestTree:
    chosen, tree = found.chosen[1], shape.tree
    end = context + growth
    bill = bill_of(setup, end, batch, (tree.nodes - 1,) if tree.nodes > 1 else ())
    fits = batch <= (bill.largest_batch if tree.nodes > 1 else bill.largest_batch_plain)
    alike = found.chains.get(tree.nodes - 1) if tree.nodes > 1 else None
    return BestTree(
        target=setup.target.name,
        draft=setup.draft.label,
        hardware=setup.hardware.name,
        tp=setup.tp,
        serving=setup.serving,
        batch=batch,
        context=context,
        ranks=asked.ranks.levels,
        plain_tpot_s=found.trees[1][1].tpot_s,
        choice=chosen,
        parents=tree.parents,
        child_ranks=tree.ranks,
        pass_tokens=shape.widths[: chosen.draft_passes],
        is_chain=tree.is_chain,
        asked_about=asked.shape.label if asked.shape else None,
        best_tree=found.trees[found.best_budget][1],
        equal_nodes_tree=found.trees[tree.nodes][1] if asked.shape else None,
        equal_nodes_chain=alike,
        best_chain=found.best_chain,
        lead_over_best_chain=chosen.speedup / found.best_chain.speedup - 1,
        lead_over_equal_nodes_chain=chosen.speedup / alike.speedup - 1 if alike else None,
        measured_pairs=MEASURED_PAIRS,
        measured_chain_wins=CHAIN_WON,
        memory=bill,
        fitting_tp=None if fits else fitting_tp(setup, end, batch),
        fits=fits,
    )


def _basis(scenario: Scenario, asked: Asked, values: Sequence[BestTree]) -> Basis:
    """The engine's own, and what trees rest on besides."""
    basis = basis_of(scenario)
    assumed = [
        "shares by rank are averages: the same after every parent of a level, in every round",
        "a tree's passes cost what a chain's of as many tokens do: its mask is free, and the cache "
        "of a sequence is read once",
    ]
    if any(s.draft.ratio for s in scenario.setups) and any(
        v.choice.widest_pass > 1 for v in values
    ):
        assumed.append("a draft pass costs its ratio whatever tokens of a sequence it runs")
    if basis.bands:
        assumed.append("the band is of measured rounds, and most of those drafted chains")
    short = {level for value in values for level in _exhausted(asked.ranks, value)}
    if short:
        fewest = min(len(asked.ranks.row(level)) for level in short)
        assumed.append(f"ranks beyond the {fewest} given are taken as never kept")
    return replace(basis, assumed=(*basis.assumed, *assumed))


def _exhausted(ranks: ByRank, value: BestTree) -> Iterator[int]:
    """Levels of a tree with a node of the last rank that is known, or of one that is not."""
    tree = Tree(value.parents, value.child_ranks)
    for node in range(1, tree.nodes):
        level = tree.depths[node]
        if tree.ranks[node] >= len(ranks.row(level)):
            yield level
