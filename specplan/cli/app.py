"""The program's commands by section. Importing this costs typer and nothing of ours."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any

import typer

from specplan.cli.help import Sections

EPILOG = """\
Exit: 0 answered, 1 the answer is no, 2 usage or bad input, 3 internal or cannot write,
130 Ctrl-C, 141 closed pipe. specplan COMMAND --help has examples."""
SECTIONS = {
    "Decide": (
        "specplan.cli.decide",
        ("sweep", "compare", "best-k", "best-tree", "gate", "memory", "explain"),
    ),
    "Size for traffic": ("specplan.cli.size", ("capacity", "simulate")),
    "Your engine": ("specplan.cli.engine", ("acceptance", "diagnose", "calibrate", "emit")),
    "Guard and share": ("specplan.cli.guard", ("init", "check", "report")),
    "Trust": ("specplan.cli.trust", ("exactness", "equivalence", "accuracy")),
    "Catalogue": ("specplan.cli.catalogue", ("hardware", "models", "engines", "curves", "schema")),
}


_ORDER = [name for _, names in SECTIONS.values() for name in names]


class Program(Sections):
    """The whole program; typer puts commands before groups of commands, the page does not."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401, ARG002
        """In the order of SECTIONS."""
        return sorted(self.commands, key=_ORDER.index)


app = typer.Typer(
    cls=Program,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=EPILOG,
)


def _print_version(asked: bool) -> None:
    if asked:
        from specplan import __version__

        typer.echo(f"specplan {__version__}")
        raise typer.Exit


@app.callback()
def top(
    version: Annotated[
        bool,
        typer.Option(
            "-V", "--version", help="Print the version.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Capacity planner and roofline calculator for speculative decoding."""


for _panel, (_module, _names) in SECTIONS.items():
    _home = import_module(_module)
    for _name in _names:
        _home.register(app, _name, _panel)
