"""Decide: sweep, best-k, gate, memory."""

from __future__ import annotations

from typing import Annotated

import typer

from specplan.cli.options import Candidates, Load, Out, PlanFile, What, command, typed

Mix = Annotated[
    list[str] | None,
    typer.Option("--mix", help="A workload of a traffic mix: 3,alpha=0.8,context=2k (repeatable)."),
]


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
    scenario = build(
        typed(what, load), catalogue=catalogue, plan=plan_of(plan), defaults=GOLDEN
    )
    return show(question(scenario), out)
