"""Options of Python callers: each read as the group is that has it on the command line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, get_type_hints

from specplan.cli.demand import Demand, demand_of
from specplan.cli.scenario import OPTIONS, texts_of
from specplan.errors import unknown

FOLLOW = ("batch", "context")
"""Of a scenario, what follows from the traffic and is no option beside one."""


def at_home(
    options: Mapping[str, Any],  # of several groups, each of which checks its own
    *groups: type[Any],
) -> tuple[dict[str, tuple[str, ...]], list[Any]]:
    """The scenario's options in the grammar of the command line, and one of each of `groups`.

    Names are those of the command line with underscores; None is as if nothing were said. A value
    may be a text of the command line's grammar. Raises UnknownName for a name that nobody has.
    """
    homes = {field.name: group for group in groups for field in fields(group)}
    known = [*homes, *(name for name in OPTIONS if name not in FOLLOW), "alpha"]
    parts: dict[type[Any], dict[str, Any]] = {group: {} for group in groups}
    rest: dict[str, Any] = {}
    for name, value in options.items():
        if name not in known:
            raise unknown("option", name, known)
        if value is not None:
            (parts[homes[name]] if name in homes else rest)[name] = value
    made = [demand_of(parts[g]) if g is Demand else _made(g, parts[g]) for g in groups]
    return texts_of(rest), made


def _made(group: type[Any], said: Mapping[str, Any]) -> Any:  # noqa: ANN401 - one of the group
    """A group of options; texts are read as they are on the command line."""
    hints = get_type_hints(group, include_extras=True)
    parsers = {name: hints[name].__metadata__[0].parser for name in said}
    return group(
        **{
            name: parsers[name](value) if isinstance(value, str) and parsers[name] else value
            for name, value in said.items()
        }
    )
