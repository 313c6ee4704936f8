"""Size for traffic: capacity, simulate."""

from __future__ import annotations

import typer

from specplan.cli.capacity import EXAMPLES as SIZING
from specplan.cli.capacity import capacity
from specplan.cli.help import Command
from specplan.cli.options import command
from specplan.cli.simulate import EXAMPLES as SIMULATING
from specplan.cli.simulate import simulate

__all__ = ["capacity", "register", "simulate"]  # what `register` finds

EXAMPLES = {"capacity": SIZING, "simulate": SIMULATING}


def register(app: typer.Typer, name: str, panel: str) -> None:
    """Adds one of this file's commands."""
    function = command(globals()[name])
    app.command(name, cls=Command, rich_help_panel=panel, epilog=EXAMPLES[name])(function)
