"""The program's commands by section. Importing this costs typer and nothing of ours."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

EPILOG = "Exit: 0 answered; 1 the answer is no; 2 usage or bad input; 3 internal; 130 Ctrl-C."
SECTIONS = {
    "Decide": ("specplan.cli.decide", ("sweep", "best-k", "gate", "memory")),
    "Trust": ("specplan.cli.trust", ("exactness",)),
    "Catalogue": ("specplan.cli.catalogue", ("hardware", "models", "schema")),
}


class Sections(TyperGroup):
    """Lists commands under their section's title, in the order they were added."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401
        """Writes one definition list for each section."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for name in self.list_commands(ctx):
            found = self.get_command(ctx, name)
            if found is not None and not found.hidden:
                panel = str(getattr(found, "rich_help_panel", None) or "Commands")
                sections.setdefault(panel, []).append((name, found.get_short_help_str(60)))
        for panel, rows in sections.items():
            with formatter.section(panel):
                formatter.write_dl(rows)

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401, ARG002
        """In the order of SECTIONS, not of the alphabet."""
        return list(self.commands)


app = typer.Typer(
    cls=Sections,
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
    version: Annotated[  # noqa: ARG001 - the callback acts on it
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
