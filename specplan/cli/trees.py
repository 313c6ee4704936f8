"""best-tree: from options to its question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from specplan.cli.options import Load, What, typed
from specplan.cli.plans import catalogue_of, plan_of
from specplan.cli.scenario import build
from specplan.domain.answer import Answer
from specplan.domain.scenario import Input
from specplan.domain.tree import by_rank
from specplan.errors import UsageError, Where, placed
from specplan.physics.tree_shapes import shape_of
from specplan.questions.best_tree import best_tree
from specplan.units import parse_axis

NEEDS = ("target", "draft", "hardware", "ranks")


def answered(
    plan: str | None,
    what: What,
    load: Load,
    *,
    ranks: Sequence[str] | None,
    nodes: Sequence[str] | None,
    depth: int | None,
    topk: int | None,
    shape: str | None,
) -> Answer:
    """The answer of best-tree; a plan's acceptance and k are a chain's, and not used."""
    _refuse_chains(load)
    flags = typed(what, load) | ({"ranks": tuple(ranks)} if ranks else {})
    scenario = build(
        flags, catalogue=catalogue_of(what), plan=plan_of(plan, without=("k",)), needs=NEEDS
    )
    with placed(Where("--ranks")):
        by = by_rank(ranks or ())
    with placed(Where("--shape")):
        judged = None if shape is None else shape_of(shape, by)
    with placed(Where("--nodes")):
        budgets = [int(v) for text in nodes or () for v in parse_axis(text, whole=True)]
    typed_values = {"nodes": ",".join(nodes or ()), "depth": depth, "topk": topk, "shape": shape}
    more = {
        n: Input(value=v, origin="flag") for n, v in typed_values.items() if v not in {None, ""}
    }
    inputs = {n: given for n, given in scenario.inputs.items() if n not in {"acceptance", "k"}}
    more["ranks"] = Input(value=str(by), origin="flag")
    scenario = replace(scenario, acceptance=(), inputs={**inputs, **more})
    return best_tree(scenario, by, nodes=budgets, depth=depth, topk=topk, shape=judged)


def _refuse_chains(load: Load) -> None:
    """Refuses what describes a chain alone."""
    if load.acceptance:
        raise UsageError(
            "one alpha only knows chains: a tree needs the acceptance of each rank",
            where=Where("--acceptance"),
            expected="--ranks .63,.11,.06 in its place",
        )
    if load.k:
        raise UsageError(
            "chains of every length are compared",
            where=Where("--k"),
            hint="leave it out; --nodes and --depth bound the tree",
        )
