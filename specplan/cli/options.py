"""The options that commands share, each defined once, and how a command takes them.

A command is a function of a few of these dataclasses; `command` turns it into the flat function
that typer reads. Every axis stays text here: one grammar serves flags, plans and Python.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from copy import copy
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache, wraps
from typing import Annotated, Any, ClassVar, get_type_hints

import typer

from specplan.cli import complete
from specplan.cli.values import colour, format_name, number, one_dash, whole

Texts = list[str] | None

Catalogues = Annotated[
    Texts,
    typer.Option("--catalogue", metavar="DIR", help="One more folder of cards (repeatable)."),
]


@dataclass(frozen=True, kw_only=True)
class What:
    """What is planned."""

    title: ClassVar[str] = "What"

    target: Annotated[
        Texts,
        typer.Option(
            "-t",
            "--target",
            metavar="MODEL",
            help="Model that is sped up.",
            autocompletion=complete.models,
        ),
    ] = None
    draft: Annotated[
        Texts,
        typer.Option(
            "-d",
            "--draft",
            metavar="DRAFT",
            help="Drafter: a model, a kind (eagle3), ngram, suffix, lookahead, skip:0.4, "
            "ratio:0.05, free or none.",
            autocompletion=complete.drafts,
        ),
    ] = None
    hardware: Annotated[
        Texts,
        typer.Option(
            "-g",
            "--hardware",
            metavar="NAME",
            help="Accelerator.",
            autocompletion=complete.hardware,
        ),
    ] = None
    tp: Annotated[Texts, typer.Option("--tp", metavar="N", help="GPUs that share the target.")] = (
        None
    )
    tp_misspelt: Annotated[str | None, typer.Option("-tp", hidden=True, parser=one_dash)] = None
    draft_tp: Annotated[
        Texts,
        typer.Option("--draft-tp", metavar="N", help="GPUs that share the drafter; tp if absent."),
    ] = None
    engine: Annotated[
        Texts,
        typer.Option(
            "-e",
            "--engine",
            metavar="ENGINE",
            help="Whose times: roofline, vllm, sglang@0.5, ...",
            autocompletion=complete.engines,
        ),
    ] = None
    attention_dp: Annotated[
        Texts,
        typer.Option(
            "--attention-dp", metavar="N", help="Attention groups among the GPUs of tp (MoE)."
        ),
    ] = None
    ep: Annotated[
        Texts,
        typer.Option("--ep", metavar="N", help="Ways to divide the experts by number (MoE)."),
    ] = None
    dtype: Annotated[
        Texts,
        typer.Option(
            "--dtype",
            metavar="DTYPE",
            help="Storage of the target's weights; its card's if absent.",
            autocompletion=complete.attribute("specplan.domain.card", "Dtype"),
        ),
    ] = None
    draft_dtype: Annotated[
        Texts,
        typer.Option(
            "--draft-dtype",
            metavar="DTYPE",
            help="Storage of the drafter's weights.",
            autocompletion=complete.attribute("specplan.domain.card", "Dtype"),
        ),
    ] = None
    kv_dtype: Annotated[
        Texts,
        typer.Option(
            "--kv-dtype",
            metavar="DTYPE",
            help="Storage of the cache.",
            autocompletion=complete.attribute("specplan.domain.card", "Dtype"),
        ),
    ] = None
    catalogue: Catalogues = None


@dataclass(frozen=True, kw_only=True)
class Folders:
    """Where else cards lie."""

    title: ClassVar[str] = "Options"

    catalogue: Catalogues = None


@dataclass(frozen=True, kw_only=True)
class Axes:
    """The workload: axes such as 1,16 or 1:8 or 0.5:0.95:0.05 or 1:256:x2."""

    title: ClassVar[str] = "Workload (AXIS: 4 or 1,16 or 1:8 or 0.5:0.95:0.05 or 1:256:x2)"

    batch: Annotated[
        Texts,
        typer.Option("-b", "--batch", metavar="AXIS", help="Sequences decoded together."),
    ] = None
    context: Annotated[
        Texts,
        typer.Option(
            "-c", "--context", metavar="AXIS", help="Tokens behind each sequence; 8k is 8192."
        ),
    ] = None
    acceptance: Annotated[
        Texts,
        typer.Option(
            "-a",
            "--acceptance",
            "--alpha",
            metavar="AXIS",
            help="Acceptance of a draft token: alphas, 0.7+-0.05, KIND:FIGURES "
            "(conditional:.8,.7, unconditional:, decay:.82,.95, length:2.9@4, burst:.2@3.1, "
            "context:.8@2k,.6@32k, mixture:.8@0.7,.5@0.3), a curve, or a log of counters.",
            autocompletion=complete.acceptances,
        ),
    ] = None
    k: Annotated[
        Texts,
        typer.Option(
            "-k",
            "--k",
            metavar="AXIS",
            help="Draft tokens per round, or best; emit also: gate, k by batch.",
            autocompletion=complete.among(*complete.CHOSEN_K),
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Load(Axes):
    """The same with the other way to say the context; commands that take traffic have laws."""

    isl: Annotated[
        str | None,
        typer.Option("--isl", metavar="N", help="Prompt tokens; with --osl instead of --context."),
    ] = None
    osl: Annotated[str | None, typer.Option("--osl", metavar="N", help="Output tokens.")] = None


@dataclass(frozen=True, kw_only=True)
class Candidates:
    """Which draft lengths a best k is chosen from."""

    title: ClassVar[str] = Load.title

    k_max: Annotated[
        int | None,
        typer.Option("--k-max", metavar="N", help="Longest draft; 16.", parser=whole("--k-max")),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Out:
    """Where the answer goes and how it looks."""

    title: ClassVar[str] = "Output"

    format: Annotated[
        str,
        typer.Option(
            "-f",
            "--format",
            metavar="FORMAT",
            help="auto, table, plain, markdown, json, csv; of a picture chart, svg, png, pdf; "
            "for check github, junit, sarif.",
            parser=format_name,
            autocompletion=complete.attribute("specplan.render", "FORMATS", "auto"),
        ),
    ] = "auto"
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", metavar="FILE", help="Its suffix picks the format."),
    ] = None
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No notes on stderr.")] = False
    color: Annotated[
        str,
        typer.Option(
            "--color",
            metavar="WHEN",
            help="auto, always or never.",
            parser=colour,
            autocompletion=complete.among(*complete.COLOURS),
        ),
    ] = "auto"
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False


Usd = Annotated[
    float | None,
    typer.Option(
        "--usd-per-gpu-hour",
        metavar="USD",
        help="Price of one GPU; without it the card's lowest on demand.",
        parser=number("--usd-per-gpu-hour"),
    ),
]
PlanFile = Annotated[str | None, typer.Argument(metavar="PLAN", help="A plan; flags override it.")]


def command(function: Callable[..., int]) -> Callable[..., int]:
    """The command with one parameter per option, for typer to read."""
    signature = inspect.signature(function)
    hints = get_type_hints(function, include_extras=True)
    groups = {n: hints[n] for n in signature.parameters if is_dataclass(hints[n])}
    flat: dict[str, inspect.Parameter] = {}
    for name, parameter in signature.parameters.items():
        if name in groups:
            flat |= {p.name: p for p in _parameters(groups[name])}
        else:
            flat[name] = parameter.replace(
                annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY
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
    del called.__wrapped__
    return called


@cache  # resolving hints takes most of the time that this file takes
def _parameters(group: Any) -> tuple[inspect.Parameter, ...]:  # noqa: ANN401 - any of the above
    """One keyword for each field of a group of options, under the group's title on help pages."""
    hints = get_type_hints(group, include_extras=True)
    return tuple(
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
            annotation=_titled(hints[field.name], group.title),
        )
        for field in fields(group)
    )


def _titled(hint: Any, title: str) -> Any:  # noqa: ANN401 - a hint is no type to a type checker
    option = copy(hint.__metadata__[0])
    option.rich_help_panel = title
    return Annotated[hint.__origin__, option]


def typed(*groups: object) -> dict[str, tuple[str, ...]]:
    """The axis options that were typed, by name."""
    found: dict[str, tuple[str, ...]] = {}
    for group in groups:
        for field in fields(group):  # type: ignore[arg-type]
            value = getattr(group, field.name)
            if value is not None and field.name != "catalogue":
                found[field.name] = (value,) if isinstance(value, str) else tuple(value)
    return found
