"""Decide: sweep, best-k, gate, memory."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from specplan.cli.options import Candidates, Load, Out, PlanFile, What, command, typed

Mix = Annotated[
    list[str] | None,
    typer.Option("--mix", help="A workload of a traffic mix: 3,alpha=0.8,context=2k (repeatable)."),
]


# What --need asks of a drafter that nobody named: at the very least.
ANY_DRAFTER = {"draft": "free", "acceptance": "1"}


def register(app: typer.Typer, name: str, panel: str) -> None:
    """Adds one of this file's commands."""
    function = globals()[name.replace("-", "_")]
    app.command(name, rich_help_panel=panel)(command(function))


def sweep(plan: PlanFile = None, *, what: What, load: Load, out: Out) -> int:
    """Speedup over batch, context, acceptance and k."""
    from specplan.cli.scenario import GOLDEN, build
    from specplan.cli.plans import catalogue_of, plan_of
    from specplan.cli.show import show
    from specplan.questions.sweep import sweep as question

    catalogue = catalogue_of(what)
    scenario = build(typed(what, load), catalogue=catalogue, plan=plan_of(plan), defaults=GOLDEN)
    if not scenario.k:
        scenario = replace(scenario, k=scenario.candidates[1:])
    return show(question(scenario), out)


def best_k(
    plan: PlanFile = None,
    mix: Mix = None,
    objective: Annotated[
        str, typer.Option("--objective", help="latency, throughput or cost.")
    ] = "latency",
    need: Annotated[
        float | None, typer.Option("--need", help="Wanted speedup: what must the drafter reach?")
    ] = None,
    accepted: Annotated[
        int | None, typer.Option("--accepted", help="Accepted tokens counted at -k; with --drafted.")
    ] = None,
    drafted: Annotated[int | None, typer.Option("--drafted", help="Drafted tokens counted.")] = None,
    *,
    what: What,
    load: Load,
    candidates: Candidates,
    out: Out,
) -> int:
    """Which k, by what margin, and how wrong may my acceptance be?"""
    from specplan.cli.counters import counted
    from specplan.cli.plans import catalogue_of, plan_of
    from specplan.cli.scenario import build
    from specplan.cli.show import show
    from specplan.questions.best_k import best_k as question

    scenario = build(
        counted(typed(what, load), accepted, drafted),
        catalogue=catalogue_of(what),
        plan=plan_of(plan, without=("k",)),
        defaults=ANY_DRAFTER if need else None,
        k_max=candidates.k_max,
        mix=mix or (),
    )
    return show(question(scenario, objective=objective, need=need), out)


def gate(
    plan: PlanFile = None, *, what: What, load: Load, candidates: Candidates, out: Out
) -> int:
    """Which k at which batch; up to which load does it pay?"""
    from specplan.cli.plans import catalogue_of, plan_of
    from specplan.cli.scenario import build
    from specplan.cli.show import show
    from specplan.questions.gate import gate as question

    scenario = build(
        typed(what, load),
        catalogue=catalogue_of(what),
        plan=plan_of(plan, without=("k",)),
        unused=("k", "batch"),
        k_max=candidates.k_max,
    )
    return show(question(scenario), out)


def memory(plan: PlanFile = None, *, what: What, load: Load, out: Out) -> int:
    """What the drafter costs in memory and sequences."""
    from specplan.cli.plans import catalogue_of, plan_of
    from specplan.cli.scenario import build
    from specplan.cli.show import show
    from specplan.questions.memory import memory as question

    scenario = build(
        typed(what, load),
        catalogue=catalogue_of(what),
        plan=plan_of(plan),
        needs=("target", "draft", "hardware"),
    )
    return show(question(scenario), out)
