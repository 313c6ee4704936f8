"""The options that narrow and order a listing, and what they ask for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from specplan.cli import complete
from specplan.cli.options import Texts
from specplan.cli.values import Years, parameters, quantity, tokens, word, years
from specplan.errors import Where, placed

if TYPE_CHECKING:
    from specplan.questions.cards import Row
    from specplan.questions.curves_list import CurvesAsked
    from specplan.questions.hardware_list import HardwareAsked
    from specplan.questions.models_asked import ModelsAsked

Reverse = Annotated[bool, typer.Option("--reverse", help="The other way round.")]


@dataclass(frozen=True, kw_only=True)
class HardwareFilters:
    """Which accelerators, and in which order."""

    title: ClassVar[str] = "Which"

    vendor: Annotated[
        Texts,
        typer.Option(
            "--vendor",
            metavar="NAME",
            help="Of one of these: nvidia,amd.",
            autocompletion=complete.column("hardware", "vendor"),
        ),
    ] = None
    supports: Annotated[
        Texts,
        typer.Option(
            "--supports",
            metavar="DTYPE",
            help="With a dense rate of each: fp8,fp4.",
            autocompletion=complete.attribute("specplan.domain.card", "Dtype"),
        ),
    ] = None
    min_memory: Annotated[
        float | None,
        typer.Option(
            "--min-memory",
            metavar="BYTES",
            help="Capacity: 80GB or 80GiB.",
            parser=quantity("--min-memory", "B", 1e9, 1e13),
        ),
    ] = None
    min_bandwidth: Annotated[
        float | None,
        typer.Option(
            "--min-bandwidth",
            metavar="BYTES/S",
            help="Of its memory: 3TB/s.",
            parser=quantity("--min-bandwidth", "B/s", 1e9, 1e14),
        ),
    ] = None
    status: Annotated[
        Texts,
        typer.Option(
            "--status",
            metavar="STATUS",
            help="available or announced.",
            autocompletion=complete.among(*complete.STATUSES),
        ),
    ] = None
    year: Annotated[
        Years | None,
        typer.Option(
            "--year", metavar="YEARS", help="2023, 2023: or 2020:2023.", parser=years("--year")
        ),
    ] = None
    sort: Annotated[
        str,
        typer.Option(
            "--sort",
            metavar="BY",
            help=f"{', '.join(complete.HARDWARE_SORTS)}; largest first, lowest price first.",
            parser=word("order", complete.HARDWARE_SORTS, "--sort"),
            autocompletion=complete.among(*complete.HARDWARE_SORTS),
        ),
    ] = "vendor"
    reverse: Reverse = False

    def asked(self) -> HardwareAsked:
        """The same for the question."""
        from specplan.cli import grammar
        from specplan.questions.hardware_list import HardwareAsked

        launched = self.year or Years()
        with placed(Where("--supports")):
            supports = grammar.dtypes([text.lower() for text in self.supports or ()])
        return HardwareAsked(
            vendors=_names(self.vendor, "--vendor"),
            supports=supports,
            memory=self.min_memory,
            bandwidth=self.min_bandwidth,
            status=_names(self.status, "--status"),
            since=launched.since,
            until=launched.until,
            sort=self.sort,
            reverse=self.reverse,
        )


@dataclass(frozen=True, kw_only=True)
class ModelFilters:
    """Which models, and in which order."""

    title: ClassVar[str] = "Which"

    kind: Annotated[
        Texts,
        typer.Option(
            "--kind",
            metavar="KIND",
            help=f"One of these: {', '.join(complete.KINDS)}.",
            autocompletion=complete.among(*complete.KINDS),
        ),
    ] = None
    family: Annotated[
        Texts,
        typer.Option(
            "--family",
            metavar="NAME",
            help="Family, or what it begins with: llama-3, qwen.",
            autocompletion=complete.column("models", "family"),
        ),
    ] = None
    min_params: Annotated[
        float | None,
        typer.Option(
            "--min-params",
            metavar="N",
            help="Stored parameters: 70B, 8e9.",
            parser=parameters("--min-params"),
        ),
    ] = None
    max_params: Annotated[
        float | None,
        typer.Option(
            "--max-params",
            metavar="N",
            help="The same, at most.",
            parser=parameters("--max-params"),
        ),
    ] = None
    min_context: Annotated[
        float | None,
        typer.Option(
            "--min-context",
            metavar="TOKENS",
            help="Trained for: 128k.",
            parser=tokens("--min-context"),
        ),
    ] = None
    target: Annotated[
        str | None,
        typer.Option(
            "--for",
            metavar="TARGET",
            help="Drafters trained for it, and small models that could.",
            autocompletion=complete.models,
        ),
    ] = None
    sort: Annotated[
        str,
        typer.Option(
            "--sort",
            metavar="BY",
            help=f"{', '.join(complete.MODEL_SORTS)}; largest first.",
            parser=word("order", complete.MODEL_SORTS, "--sort"),
            autocompletion=complete.among(*complete.MODEL_SORTS),
        ),
    ] = "name"
    reverse: Reverse = False

    def asked(self, folders: Sequence[str]) -> ModelsAsked:
        """The same for the question; a target is looked up under any of its names."""
        from specplan.questions.models_asked import ModelsAsked

        called, row = _target(self.target, folders) if self.target is not None else ((), None)
        return ModelsAsked(
            kinds=_names(self.kind, "--kind"),
            families=_names(self.family, "--family"),
            least_params=self.min_params,
            most_params=self.max_params,
            context=self.min_context,
            target=called,
            target_row=row,
            sort=self.sort,
            reverse=self.reverse,
        )


@dataclass(frozen=True, kw_only=True)
class CurveFilters:
    """Which acceptance curves, and in which order."""

    title: ClassVar[str] = "Which"

    kind: Annotated[
        Texts,
        typer.Option(
            "--kind",
            metavar="KIND",
            help=f"Of one of these drafters: {', '.join(complete.CURVE_KINDS)}.",
            autocompletion=complete.among(*complete.CURVE_KINDS),
        ),
    ] = None
    task: Annotated[
        Texts,
        typer.Option(
            "--task",
            metavar="NAME",
            help="Of one of these tasks: gsm8k,mt-bench.",
            autocompletion=complete.column("curves", "task"),
        ),
    ] = None
    target: Annotated[
        str | None,
        typer.Option(
            "--for",
            metavar="TARGET",
            help="Measured with it.",
            autocompletion=complete.models,
        ),
    ] = None
    sort: Annotated[
        str,
        typer.Option(
            "--sort",
            metavar="BY",
            help=f"{', '.join(complete.CURVE_SORTS)}; largest first.",
            parser=word("order", complete.CURVE_SORTS, "--sort"),
            autocompletion=complete.among(*complete.CURVE_SORTS),
        ),
    ] = "name"
    reverse: Reverse = False

    def asked(self, folders: Sequence[str]) -> CurvesAsked:
        """The same for the question; a target is looked up under any of its names."""
        from specplan.questions.curves_list import CurvesAsked

        return CurvesAsked(
            kinds=_names(self.kind, "--kind"),
            tasks=_names(self.task, "--task"),
            target=_target(self.target, folders)[0] if self.target is not None else (),
            sort=self.sort,
            reverse=self.reverse,
        )


def _names(texts: Texts, option: str) -> tuple[str, ...]:
    from specplan.cli import grammar

    with placed(Where(option)):
        return grammar.names(texts) if texts else ()


def _target(name: str, folders: Sequence[str]) -> tuple[tuple[str, ...], Row]:
    """The name of a model's card and its other names, and its figures."""
    from specplan.cli.scenario import load
    from specplan.questions.models_list import model_row

    card = load(*folders).model(name, Where("--for")).card
    return (card.name, *card.aliases), model_row(card)
