"""The options that commands share, each defined once, and how a command takes them.

A command is a function of a few of these dataclasses; `command` turns it into the flat function
that typer reads. Every axis stays text here: one grammar serves flags, plans and Python.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from functools import wraps
from typing import Annotated, Any, get_type_hints

import typer

Texts = list[str] | None


@dataclass(frozen=True, kw_only=True)
class What:
    """What is planned."""

    target: Annotated[Texts, typer.Option("-t", "--target", help="Model that is sped up.")] = None
    draft: Annotated[
        Texts,
        typer.Option("-d", "--draft", help="Drafter: a model, ratio:0.05, free or none."),
    ] = None
    hardware: Annotated[Texts, typer.Option("-g", "--hardware", help="Accelerator.")] = None
    tp: Annotated[Texts, typer.Option("--tp", help="GPUs that share the target.")] = None
    draft_tp: Annotated[
        Texts, typer.Option("--draft-tp", help="GPUs that share the drafter; as tp if absent.")
    ] = None
    engine: Annotated[
        Texts, typer.Option("-e", "--engine", help="Whose habits price a pass: roofline.")
    ] = None
    dtype: Annotated[
        Texts, typer.Option("--dtype", help="Storage of the target's weights; its card's if absent.")
    ] = None
    draft_dtype: Annotated[
        Texts, typer.Option("--draft-dtype", help="Storage of the drafter's weights.")
    ] = None
    kv_dtype: Annotated[Texts, typer.Option("--kv-dtype", help="Storage of the cache.")] = None
    catalogue: Annotated[
        Texts, typer.Option("--catalogue", help="One more folder of cards (repeatable).")
    ] = None


@dataclass(frozen=True, kw_only=True)
class Load:
    """The workload: axes such as 1,16 or 1:8 or 0.5:0.95:0.05 or 1:256:x2."""

    batch: Annotated[
        Texts, typer.Option("-b", "--batch", help="Sequences decoded together.")
    ] = None
    context: Annotated[
        Texts, typer.Option("-c", "--context", help="Tokens behind each sequence; 8k is 8192.")
    ] = None
    acceptance: Annotated[
        Texts,
        typer.Option(
            "-a", "--acceptance", "--alpha", help="Acceptance of a draft token: 0.7, 0.7+-0.05."
        ),
    ] = None
    k: Annotated[Texts, typer.Option("-k", "--k", help="Draft tokens per round, or best.")] = None
    isl: Annotated[
        str | None, typer.Option("--isl", help="Prompt tokens; with --osl instead of --context.")
    ] = None
    osl: Annotated[str | None, typer.Option("--osl", help="Output tokens.")] = None


@dataclass(frozen=True, kw_only=True)
class Candidates:
    """Which draft lengths a best k is chosen from."""

    k_max: Annotated[int, typer.Option("--k-max", min=1, max=64, help="Longest draft.")] = 16


@dataclass(frozen=True, kw_only=True)
class Out:
    """Where the answer goes and how it looks."""

    format: Annotated[
        str, typer.Option("-f", "--format", help="auto, table, plain, markdown, json, csv, ...")
    ] = "auto"
    output: Annotated[
        str | None, typer.Option("-o", "--output", help="File; its suffix picks the format.")
    ] = None
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No notes on stderr.")] = False
    color: Annotated[str, typer.Option("--color", help="auto, always, never.")] = "auto"
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False


PlanFile = Annotated[
    str | None, typer.Argument(metavar="[PLAN]", help="A plan; flags override it.")
]


def command(function: Callable[..., int]) -> Callable[..., int]:
    """The command with one parameter per option, for typer to read."""
    signature = inspect.signature(function)
    hints = get_type_hints(function, include_extras=True)
    groups = {n: hints[n] for n in signature.parameters if hasattr(hints[n], "__dataclass_fields__")}
    flat: dict[str, inspect.Parameter] = {}
    for name, parameter in signature.parameters.items():
        if name not in groups:
            flat[name] = parameter.replace(
                annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY
            )
            continue
        field_hints = get_type_hints(groups[name], include_extras=True)
        for field in fields(groups[name]):
            default = inspect.Parameter.empty if field.default is MISSING else field.default
            flat[field.name] = inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=default,
                annotation=field_hints[field.name],
            )

    @wraps(function)
    def called(**given: Any) -> int:  # noqa: ANN401 - typer hands over what it parsed
        built = {
            name: group(**{f.name: given.pop(f.name) for f in fields(group)})
            for name, group in groups.items()
        }
        return function(**built, **given)

    called.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=list(flat.values()), return_annotation=int
    )
    called.__annotations__ = {n: p.annotation for n, p in flat.items()} | {"return": int}
    del called.__wrapped__  # type: ignore[attr-defined]
    return called


def typed(*groups: object) -> dict[str, tuple[str, ...]]:
    """The axis options that were typed, by name."""
    found: dict[str, tuple[str, ...]] = {}
    for group in groups:
        for field in fields(group):  # type: ignore[arg-type]
            value = getattr(group, field.name)
            if value and field.name != "catalogue":
                found[field.name] = (value,) if isinstance(value, str) else tuple(value)
    return found
