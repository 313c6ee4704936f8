"""Your engine: what it counts, and what it is to be told."""

from __future__ import annotations

import typer

from specplan.cli.emit import EXAMPLES as EMIT
from specplan.cli.emit import emit
from specplan.cli.help import Command
from specplan.cli.options import command

__all__ = ["emit", "register"]  # what `register` finds

EXAMPLES: dict[str, str] = {"emit": EMIT}


def register(app: typer.Typer, name: str, panel: str) -> None:
    """Adds one of this file's commands."""
    function = command(globals()[name])
    app.command(name, cls=Command, rich_help_panel=panel, epilog=EXAMPLES[name])(function)
