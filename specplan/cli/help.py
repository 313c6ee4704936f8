"""Help pages in plain text: commands by section, options by what they are about, examples."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand, TyperGroup

from specplan.errors import UsageError, did_you_mean

WIDEST_OPTION = 34  # columns of `-a, --acceptance, --alpha AXIS`, before its help starts
INSTEAD = {
    "plot": "write specplan sweep",
    "validate": "write specplan check PLAN",
    "bestk": "write specplan best-k",
}
"""What to write instead of a command that people try and that is none."""


class Command(TyperCommand):
    """A command whose epilog is its examples, one a line."""

    def format_options(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401
        """Writes arguments, then options under the titles of their groups."""
        _write_options(self, ctx, formatter)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401, ARG002
        """Writes the examples as they are typed."""
        if self.epilog:
            with formatter.section("Examples"):
                formatter.write("".join(f"  {line}\n" for line in self.epilog.splitlines()))


class Sections(TyperGroup):
    """Commands under their section's title, in the order they were added."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401, ARG002
        """In the order of the sections, not of the alphabet."""
        return list(self.commands)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:  # noqa: ANN401
        """The command named first in `args`; a name that is none is an error of ours."""
        name = args[0]
        if name in self.commands or name.startswith("-") or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        if name == "help":
            hint = f"write {' '.join((ctx.command_path, *args[1:], '--help'))}"
        else:
            guess = INSTEAD.get(name) or did_you_mean(name, self.commands)
            hint = guess or f"{ctx.command_path} --help lists all"
        raise UsageError(f"unknown command '{name[:60]}'", hint=hint)

    def format_options(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401
        """Writes the commands, then the options."""
        self.format_commands(ctx, formatter)
        _write_options(self, ctx, formatter)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401
        """Writes one definition list for each section, all aligned."""
        sections: dict[str, list[tuple[str, str]]] = {}
        width = max(map(len, self.commands), default=0)
        for name in self.list_commands(ctx):
            found = self.get_command(ctx, name)
            if found is not None and not found.hidden:
                panel = str(getattr(found, "rich_help_panel", None) or "Commands")
                short = found.get_short_help_str(formatter.width)
                sections.setdefault(panel, []).append((name.ljust(width), short))
        for panel, rows in sections.items():
            with formatter.section(panel):
                formatter.write_dl(rows)


def _write_options(command: Any, ctx: Any, formatter: Any) -> None:  # noqa: ANN401
    groups: dict[str, list[tuple[str, str]]] = {}
    title = "Options"
    for parameter in command.get_params(ctx):
        record = parameter.get_help_record(ctx)
        if record is None:
            continue
        name, text = record
        if parameter.param_type_name == "argument":
            title, name = "Arguments", name.partition(" <")[0]  # typer adds the type
        elif parameter.name != "help":  # which ends the last group
            title = str(getattr(parameter, "rich_help_panel", None) or "Options")
        groups.setdefault(title, []).append((name, text))
    for heading, rows in groups.items():
        with formatter.section(heading):
            formatter.write_dl(rows, col_max=WIDEST_OPTION)
