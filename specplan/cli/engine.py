"""Your engine: what it counts, and what it is to be told."""

from __future__ import annotations

import typer

from specplan.cli.acceptance_command import EXAMPLES as ACCEPTANCE
from specplan.cli.acceptance_command import acceptance
from specplan.cli.calibrate import EXAMPLES as CALIBRATE
from specplan.cli.calibrate import calibrate
from specplan.cli.diagnose import EXAMPLES as DIAGNOSE
from specplan.cli.diagnose import diagnose
from specplan.cli.emit import EXAMPLES as EMIT
from specplan.cli.emit import emit
from specplan.cli.help import Command
from specplan.cli.options import command

__all__ = ["acceptance", "calibrate", "diagnose", "emit", "register"]  # what `register` finds

EXAMPLES: dict[str, str] = {
    "acceptance": ACCEPTANCE,
    "diagnose": DIAGNOSE,
    "calibrate": CALIBRATE,
    "emit": EMIT,
}


def register(app: typer.Typer, name: str, panel: str) -> None:
    """Adds one of this file's commands."""
    function = command(globals()[name])
    app.command(name, cls=Command, rich_help_panel=panel, epilog=EXAMPLES[name])(function)
