"""Trust: exactness, equivalence, accuracy."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from specplan.cli import complete
from specplan.cli.equivalence import EXAMPLES as EQUIVALENCE
from specplan.cli.equivalence import equivalence
from specplan.cli.exactness import EXAMPLES as EXACTNESS
from specplan.cli.exactness import exactness
from specplan.cli.help import Command
from specplan.cli.options import Folders, Out, command
from specplan.cli.values import whole

__all__ = ["accuracy", "equivalence", "exactness", "register"]  # what `register` finds

Files = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="FILE...", help="CSV files of rows of your own; those that ship if absent."
    ),
]
Kind = Annotated[
    str | None,
    typer.Option(
        "--kind",
        metavar="KIND",
        help="Rows of this kind alone: " + ", ".join(complete.MEASURED) + ".",
        autocompletion=complete.among(*complete.MEASURED),
    ),
]
Worst = Annotated[
    int | None,
    typer.Option(
        "--worst",
        metavar="N",
        help="The N rows farthest from their prediction.",
        parser=whole("--worst"),
    ),
]
EXAMPLES = {
    "exactness": EXACTNESS,
    "equivalence": EQUIVALENCE,
    "accuracy": """\
specplan accuracy --kind round
specplan accuracy --worst 20""",
}


def register(app: typer.Typer, name: str, panel: str) -> None:
    """Adds one of this file's commands."""
    function = command(globals()[name])
    app.command(name, cls=Command, rich_help_panel=panel, epilog=EXAMPLES[name])(function)


def accuracy(
    files: Files = None,
    *,
    kind: Kind = None,
    worst: Worst = None,
    folders: Folders,
    out: Out,
) -> int:
    """How far are predictions from measurements?"""
    from specplan.cli.scenario import load
    from specplan.cli.scored import accuracy as scored
    from specplan.cli.show import show

    catalogue = load(*(folders.catalogue or ()))
    return show(scored(*(files or ()), kind=kind, worst=worst, catalogue=catalogue), out)
