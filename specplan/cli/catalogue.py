"""Catalogue: hardware, models, engines and curves (each list, show), schema."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from specplan.cli import complete
from specplan.cli.help import Command, Sections
from specplan.cli.importing import IMPORT_EXAMPLES, models_import
from specplan.cli.narrowed import CurveFilters, HardwareFilters, ModelFilters
from specplan.cli.options import Folders, Out, command
from specplan.cli.probing import PROBE_EXAMPLES, hardware_probe
from specplan.errors import SpecplanError, UsageError
from specplan.visible import visible

if TYPE_CHECKING:
    from specplan.catalogue.store import Catalogue, Loaded
    from specplan.domain.answer import Answer
    from specplan.domain.curve import Curve, Series
    from specplan.questions.cards import Card, Filed

Accelerators = Annotated[
    list[str],
    typer.Argument(
        metavar="NAME", help="Names, aliases or files.", autocompletion=complete.hardware
    ),
]
Models = Annotated[
    list[str],
    typer.Argument(metavar="NAME", help="Names, aliases or files.", autocompletion=complete.models),
]
EngineName = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        help="Name, alias or file; vllm@0.10 for that release alone.",
        autocompletion=complete.engines,
    ),
]
Curves = Annotated[
    list[str],
    typer.Argument(
        metavar="NAME",
        help="Names, aliases or files; with /SERIES for one curve of a card.",
        autocompletion=complete.curves,
    ),
]
SCHEMA_KINDS = ("hardware", "model", "engine", "curve", "measurements", "plan")
EXAMPLES = {
    "hardware list": """\
specplan hardware list
specplan hardware list --vendor nvidia,amd --supports fp8 --min-memory 80GB
specplan hardware list --sort bandwidth""",
    "hardware show": "specplan hardware show h100\nspecplan hardware show h100 h200 b200",
    "hardware probe": PROBE_EXAMPLES,
    "models list": """\
specplan models list
specplan models list --kind moe --max-params 120B --sort params
specplan models list --for llama-3.1-8b""",
    "models show": "specplan models show llama-3-8b\nspecplan models show llama-3-8b qwen3-8b",
    "models import": IMPORT_EXAMPLES,
    "engines list": "specplan engines list",
    "engines show": "specplan engines show vllm\nspecplan engines show vllm@0.10",
    "curves list": """\
specplan curves list
specplan curves list --kind eagle3 --task gsm8k,mt-bench --sort tokens
specplan curves list --for llama-3.1-8b""",
    "curves show": """\
specplan curves show mtp-deepseek-v4-pro
specplan curves show eagle3-kimi-k2.5 eagle3-minimax-m3/coding-thinking""",
    "schema": "specplan schema plan\nspecplan schema hardware -o hardware.schema.json",
}


class Listing(Command):
    """A command that lists cards; whoever names one wants to see it."""

    allow_extra_args = True

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401
        """Takes options alone."""
        names: list[str] = super().parse_args(ctx, args)
        if names and not ctx.resilient_parsing:
            shown = " ".join(visible(name, 60) for name in names[:3])
            kind = ctx.command_path.rpartition(" ")[0]
            raise UsageError("list takes no names", hint=f"write {kind} show {shown}")
        return names


def register(app: typer.Typer, name: str, panel: str) -> None:
    """Adds one of this file's commands, or a group of them."""
    if name == "schema":
        epilog = EXAMPLES[name]
        app.command(name, cls=Command, rich_help_panel=panel, epilog=epilog)(command(schema))
        return
    about, verbs = GROUPS[name]
    group = typer.Typer(cls=Sections, rich_markup_mode=None, help=about)
    group.callback(invoke_without_command=True)(_asks_for_verb)
    for verb, function in verbs.items():
        epilog = EXAMPLES[f"{name} {verb}"]
        cls = Listing if verb == "list" else Command
        group.command(verb, cls=cls, epilog=epilog)(command(function))
    app.add_typer(group, name=name, rich_help_panel=panel)


def _asks_for_verb(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        what = f"{context.info_name}: list them, or show some?"
        raise UsageError(what, hint=f"write specplan {context.info_name} list")


def hardware_list(*, which: HardwareFilters, folders: Folders, out: Out) -> int:
    """Every accelerator, or some: memory, bandwidth, rates and ridge point.

    Cards that cannot be read are named on stderr; the rest is listed, and the exit code is 2.
    """
    from specplan.cli.listed import hardware, listed
    from specplan.questions.hardware_list import list_hardware

    asked = which.asked()
    found, broken = listed(hardware(), folders.catalogue or ())
    return _listed(list_hardware(found, asked), broken, out)


def hardware_show(names: Accelerators, *, folders: Folders, out: Out) -> int:
    """One accelerator with its sources, or several side by side."""
    from specplan.cli.show import show
    from specplan.questions.showing import show_hardware

    catalogue = _opened(folders)
    return show(show_hardware(_once(_filed(catalogue.hardware(name)) for name in names)), out)


def models_list(*, which: ModelFilters, folders: Folders, out: Out) -> int:
    """Every model, or some: kind, parameters, cache per token, context and window.

    Cards that cannot be read are named on stderr; the rest is listed, and the exit code is 2.
    """
    from specplan.cli.listed import listed, models
    from specplan.questions.models_list import list_models

    asked = which.asked(folders.catalogue or ())
    found, broken = listed(models(), folders.catalogue or ())
    return _listed(list_models(found, asked), broken, out)


def models_show(names: Models, *, folders: Folders, out: Out) -> int:
    """One model with its derived counts and sources, or several side by side."""
    from specplan.cli.show import show
    from specplan.questions.showing import show_models

    catalogue = _opened(folders)
    return show(show_models(_once(_filed(catalogue.model(name)) for name in names)), out)


def engines_list(*, folders: Folders, out: Out) -> int:
    """Every engine: what its figures are, versions, and where its kernels were measured.

    Cards that cannot be read are named on stderr; the rest is listed, and the exit code is 2.
    """
    from specplan.cli.listed import engines, listed
    from specplan.questions.engines_list import list_engines

    found, broken = listed(engines(), folders.catalogue or ())
    return _listed(list_engines(found), broken, out)


def engines_show(name: EngineName, *, folders: Folders, out: Out) -> int:
    """One engine: habits by version, constants by accelerator and dtype, sources."""
    from specplan.cli.naming import versioned
    from specplan.cli.show import show
    from specplan.questions.engines import show_engine

    engine, version = versioned(name)
    return show(show_engine(_filed(_opened(folders).engine(engine)), version), out)


def curves_list(*, which: CurveFilters, folders: Folders, out: Out) -> int:
    """Every acceptance curve, or some: tokens per round by draft length, as measured.

    Cards that cannot be read are named on stderr; the rest is listed, and the exit code is 2.
    """
    from specplan.cli.listed import curves, listed
    from specplan.questions.curves_list import list_curves

    asked = which.asked(folders.catalogue or ())
    found, broken = listed(curves(), folders.catalogue or ())
    return _listed(list_curves(found, asked), broken, out)


def curves_show(names: Curves, *, folders: Folders, out: Out) -> int:
    """Acceptance curves with their rates, fits, sample and sources."""
    from specplan.cli.curves import series_of
    from specplan.cli.show import show
    from specplan.questions.curves import show_curves

    catalogue = _opened(folders)
    asked: dict[str, tuple[Filed[Curve], tuple[Series, ...]]] = {}
    for name in names:
        loaded, series = series_of(name, catalogue)
        filed, before = asked.get(loaded.card.name, (_filed(loaded), ()))
        more = tuple(one for one in series if one not in before)
        asked[loaded.card.name] = filed, (*before, *more)
    return show(show_curves([*asked.values()]), out)


GROUPS: dict[str, tuple[str, dict[str, Callable[..., int]]]] = {
    "hardware": (
        "Accelerators: list, show, probe.",
        {"list": hardware_list, "show": hardware_show, "probe": hardware_probe},
    ),
    "models": (
        "Models and drafters: list, show, import.",
        {"list": models_list, "show": models_show, "import": models_import},
    ),
    "engines": ("Serving engines: list, show.", {"list": engines_list, "show": engines_show}),
    "curves": (
        "Acceptance curves by drafter and task: list, show.",
        {"list": curves_list, "show": curves_show},
    ),
}


def schema(
    kind: Annotated[
        str,
        typer.Argument(
            metavar="KIND",
            help="plan, model, hardware, engine, curve, measurements or held-out.",
            autocompletion=complete.among(*SCHEMA_KINDS),
        ),
    ],
    output: Annotated[
        str | None, typer.Option("-o", "--output", metavar="FILE", help="File to write.")
    ] = None,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,  # noqa: ARG001
) -> int:
    """JSON Schema of a kind of file, such as plan, model or engine."""
    from specplan.catalogue.json_schema import schema_text
    from specplan.cli.show import show
    from specplan.domain.answer import Answer, Basis, Lines, Table, View

    lines = Lines(tuple(schema_text(kind).splitlines()))
    answer = Answer(
        command="schema",
        value=None,
        table=Table(),
        view=View(title="", sections=(lines,)),
        basis=Basis(kind="exact", says=""),
    )
    return show(answer, Out(format="plain", output=output))


def _listed(answer: Answer, broken: Sequence[SpecplanError], out: Out) -> int:
    """Shows a list of cards, then says which could not be read: as in check, that is bad input."""
    from specplan.cli.show import show
    from specplan.cli.streams import say

    code = show(answer, out)
    for error in broken:
        say(str(error))
    return SpecplanError.exit_code if broken else code


def _opened(folders: Folders) -> Catalogue:
    from specplan.cli.scenario import load

    return load(*(folders.catalogue or ()))


def _filed(loaded: Loaded[Card]) -> Filed[Card]:
    from specplan.questions.cards import Filed

    return Filed(loaded.card, loaded.origin, loaded.hides.layer if loaded.hides else "")


def _once(filed: Iterable[Filed[Card]]) -> list[Filed[Card]]:
    """The cards in the order they were named, each once under whichever names."""
    return list({f.card.name: f for f in filed}.values())
