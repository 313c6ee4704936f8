"""The body of `memory`: what the server is told, beside the scenario."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from specplan.errors import UsageError, Where

if TYPE_CHECKING:
    from specplan.cli.options import Load, What
    from specplan.cli.server import Server
    from specplan.domain.accounting import Limits
    from specplan.domain.answer import Answer
    from specplan.domain.scenario import Input

MOST = 10_000_000  # sequences, or tokens of a pass


def sized(plan: str | None, what: What, load: Load, server: Server) -> Answer:
    """The answer of `memory`."""
    from specplan.cli.options import typed
    from specplan.cli.plans import catalogue_of, plan_of
    from specplan.cli.scenario import build
    from specplan.questions.bills import arms_of_engine
    from specplan.questions.memory import memory as question

    scenario = build(
        typed(what, load),
        catalogue=catalogue_of(what),
        plan=plan_of(plan),
        needs=("target", "draft", "hardware"),
    )
    counted = any(arms_of_engine(setup, 0) for setup in scenario.setups)
    if load.k and not scenario.acceptance and not counted:
        raise UsageError("-k needs an acceptance: the speedup depends on both", hint="add -a 0.7")
    limits, inputs = told_of(server)
    scenario = replace(scenario, inputs={**scenario.inputs, **inputs})
    return question(scenario, limits)


def told_of(server: Server) -> tuple[Limits, dict[str, Input]]:
    """What a server was told, within reason, and as inputs of an answer."""
    from specplan.domain.accounting import Limits
    from specplan.domain.scenario import Input

    told = {name: value for name, value in asdict(server).items() if value is not None}
    for name, value in told.items():
        if name != "memory_fraction" and not 1 <= value <= MOST:
            where = Where(f"--{name.replace('_', '-')}")
            few = "too few" if value < 1 else "too many"
            raise UsageError(f"{value} is {few}", where=where, expected=f"1 to {MOST:,}")
    return Limits(**told), {name: Input(value=v, origin="flag") for name, v in told.items()}
