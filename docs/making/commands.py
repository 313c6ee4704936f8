"""A page for each command, from its own --help."""

from __future__ import annotations

import os
from collections.abc import Iterator
from unittest.mock import patch

from typer import Context
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from specplan.cli.app import SECTIONS, app

from making.pages import block, plain, table

COLUMNS = "80"


def pages() -> dict[str, str]:
    """`reference/cli/COMMAND.md` of every command, and the list of them."""
    with patch.dict(os.environ, {"COLUMNS": COLUMNS, "TERMINAL_WIDTH": COLUMNS}):
        return dict(_pages())


def _pages() -> Iterator[tuple[str, str]]:
    root = get_command(app)
    context = root.context_class(root, info_name="specplan", **root.context_settings)
    yield "reference/cli/index.md", _index(root, context)
    for name in root.list_commands(context):
        yield f"reference/cli/{name}.md", _page(name, root.get_command(context, name), context)


def _index(root: TyperGroup, context: Context) -> str:
    parts = ["# Commands\n\nEach page is what `specplan COMMAND --help` prints.\n"]
    for section, (_, names) in SECTIONS.items():
        rows = (
            (f"[`{name}`]({name}.md)", plain(_short(root.get_command(context, name))))
            for name in names
        )
        parts.append(f"## {section}\n\n{table(('command', 'answers'), rows)}")
    parts.append(f"## The program\n\n{block(root.get_help(context))}")
    return "\n".join(parts)


def _short(command: TyperCommand) -> str:
    return command.get_short_help_str(200)


def _page(name: str, command: TyperCommand, parent: Context) -> str:
    context = command.context_class(command, info_name=name, parent=parent)
    parts = [f"# specplan {name}\n", block(command.get_help(context))]
    for verb in command.list_commands(context) if hasattr(command, "list_commands") else ():
        inner = command.get_command(context, verb)
        within = inner.context_class(inner, info_name=verb, parent=context)
        parts += [f"## specplan {name} {verb}\n", block(inner.get_help(within))]
    return "\n".join(parts)
