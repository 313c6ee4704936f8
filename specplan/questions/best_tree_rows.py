"""The table of best-tree: the best tree of each budget, and what else could be drafted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from specplan.domain.answer import Column, Scalar
from specplan.domain.scenario import Setup
from specplan.questions.grids import SETUP_COLUMNS, WORKLOAD_COLUMNS, setup_cells
from specplan.questions.trees_weighed import BestTree, Found, Weighed

COLUMNS = (
    *SETUP_COLUMNS,
    *(column for column in WORKLOAD_COLUMNS if column.name in {"batch", "context"}),
    Column("kind", "", "", "text", "tree, chain or shape"),
    Column("budget", "tokens", "budget", "count", "nodes a tree may have; absent for the others"),
    Column("nodes", "tokens", "nodes", "count", "verified of a sequence, the root included"),
    Column("depth", "tokens", "depth", "count", "levels, the root's included: a draft pass less"),
    Column("draft_passes", "1", "passes", "count", "one a level; fewer for heads"),
    Column("widest_pass", "tokens", "widest", "count", "tokens of a sequence in a draft pass"),
    Column("tokens_per_round", "tokens", "tok/round", "number", "bonus token included"),
    Column("draft_s", "s", "draft", "seconds", "all draft passes of a round"),
    Column("verify_s", "s", "verify", "seconds", "the target's pass over every node"),
    Column("round_s", "s", "round", "seconds", "draft and verify"),
    Column("tpot_s", "s", "TPOT", "seconds", "time per output token"),
    Column("speedup", "1", "speedup", "times", "tokens per second over plain decoding"),
    Column("reference_speedup", "1", "with root", "times", "were the root charged a draft pass"),
    Column("chain_speedup", "1", "chain", "times", "of the chain that verifies as many tokens"),
    Column("best_chain_k", "tokens", "best chain", "count", "drafts of the fastest chain"),
    Column("best_chain_speedup", "1", "at", "times", "of the fastest chain"),
    Column("verify_bound_by", "", "verify by", "text", "ceiling of verification"),
    Column("fits", "", "fits", "flag", "whether the batch fits, with the drafter if it drafts"),
    Column("best", "", "best", "flag", "the best tree, or the shape asked about"),
    Column("shown", "", "shown", "flag", "what people see of one workload"),
)


def rows(
    found: Found, setup: Setup, value: BestTree, budgets: tuple[int, ...]
) -> Iterator[dict[str, Scalar]]:
    """Trees by budget, then the chains to compare with, then the shape asked about; of the trees
    people see those of the `budgets` listed, if any.
    """
    chains = {found.best_chain.depth: found.best_chain}
    if value.equal_nodes_chain:
        chains.setdefault(value.equal_nodes_chain.depth, value.equal_nodes_chain)
    shown = set(budgets) if budgets else _shown(found)
    listed: list[tuple[str, int | None, Weighed, bool]] = []
    listed += [("tree", m, one, m in shown) for m, (_, one) in found.trees.items()]
    listed += [("chain", None, one, True) for one in chains.values()]
    if found.shape:
        listed.append(("shape", None, found.shape[1], True))
    drafted, plain = value.memory.largest_batch, value.memory.largest_batch_plain
    cells = {name: column[0] for name, column in setup_cells(setup, 1).items()}
    for kind, budget, one, seen in listed:
        alike = found.chains.get(one.nodes - 1)
        figures = asdict(one)
        del figures["label"]
        yield {
            **cells,
            "batch": int(value.batch),
            "context": value.context,
            "kind": kind,
            "budget": budget,
            **figures,
            "chain_speedup": alike.speedup if alike else None,
            "best_chain_k": found.best_chain.depth - 1,
            "best_chain_speedup": found.best_chain.speedup,
            "fits": value.batch <= (drafted if one.nodes > 1 else plain),
            "best": one is value.choice,
            "shown": seen,
        }


def _shown(found: Found) -> set[int]:
    """Budgets that people see: that of the shape asked about, or else powers of two, the best and
    its neighbours, a tree that several of them lead to once.
    """
    best = found.best_budget
    if found.shape:
        return {best, found.shape[1].nodes}
    near = {best - 1, best, best + 1} | {m for m in found.trees if m > 1 and not m & (m - 1)}
    first: dict[int, int] = {}
    for budget in (best, *sorted(near & found.trees.keys())):
        first.setdefault(found.trees[budget][0], budget)
    return set(first.values())
