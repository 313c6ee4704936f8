"""What comes in and what is promised: options of the commands that size for traffic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from os import PathLike, fspath
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, get_type_hints

import typer

from specplan.cli import complete
from specplan.cli.values import number, per_second, share, whole
from specplan.errors import unknown

Option = str | float | PathLike[str] | Mapping[str, str | float] | None

if TYPE_CHECKING:
    from specplan.cli.planned import PlanRead
    from specplan.domain.slo import Slo
    from specplan.domain.traffic import Traffic


@dataclass(frozen=True, kw_only=True)
class Demand:
    """Requests and how long they are, by flags or as recorded."""

    title: ClassVar[str] = "Traffic (LAW: 4000, lognormal:1200,0.9, uniform:100,200, exponential:5)"

    rate: Annotated[
        float | None,
        typer.Option(
            "--rate",
            metavar="R/s",
            help="Requests per second: 50/s. A trace is then replayed at that rate.",
            parser=per_second("--rate"),
        ),
    ] = None
    isl: Annotated[
        str | None,
        typer.Option("--isl", metavar="LAW", help="Prompt tokens: a law, or a file of one."),
    ] = None
    osl: Annotated[
        str | None,
        typer.Option("--osl", metavar="LAW", help="Output tokens: a law, or a file of one."),
    ] = None
    lengths: Annotated[
        str | None,
        typer.Option(
            "--lengths",
            metavar="FILE",
            help="Distribution of prompt and output together; FILE,0.7 says the prompt's share.",
        ),
    ] = None
    trace: Annotated[
        str | None,
        typer.Option(
            "--trace",
            metavar="FILE",
            help="Recorded requests: Azure, BurstGPT, Mooncake, Vidur, ServeGen, or any table; "
            "azure-conv-2023 and azure-code-2023 are at hand.",
            autocompletion=complete.recorded,
        ),
    ] = None
    columns: Annotated[
        str | None,
        typer.Option(
            "--columns", metavar="MAP", help="Columns of a table: arrival=ts/ms,isl=in,osl=out."
        ),
    ] = None
    window: Annotated[
        str | None,
        typer.Option(
            "--window", metavar="PART", help="Part of the trace: peak 10 min, peak minute, 0:600."
        ),
    ] = None
    scale: Annotated[
        float | None,
        typer.Option(
            "--scale",
            metavar="X",
            help="The trace so many times as fast.",
            parser=number("--scale"),
        ),
    ] = None
    thin: Annotated[
        float | None,
        typer.Option(
            "--thin",
            metavar="SHARE",
            help="Share of the trace's requests that is kept.",
            parser=share("--thin"),
        ),
    ] = None
    repeat: Annotated[
        int | None,
        typer.Option(
            "--repeat",
            metavar="N",
            help="The trace N times, end to end.",
            parser=whole("--repeat"),
        ),
    ] = None
    prefix_hit: Annotated[
        float | None,
        typer.Option(
            "--prefix-hit",
            metavar="SHARE",
            help="Of each prompt, found in a prefix cache; a trace's own hashes if absent.",
            parser=number("--prefix-hit"),
        ),
    ] = None
    cv: Annotated[
        float | None,
        typer.Option(
            "--cv",
            metavar="X",
            help="Burstiness of --rate: variation of the gaps; 1 is Poisson.",
            parser=number("--cv"),
        ),
    ] = None
    slo: Annotated[
        str | None,
        typer.Option(
            "--slo",
            metavar="LIMITS",
            help="ttft_p99=2s,tpot_p95=30ms (also itl, e2e), or a preset of MLPerf.",
            autocompletion=complete.attribute("specplan.domain.slo_presets", "PRESETS"),
        ),
    ] = None
    seed: Annotated[
        int | None,
        typer.Option(
            "--seed",
            metavar="N",
            help="Of whatever is drawn; 0 if absent.",
            parser=whole("--seed"),
        ),
    ] = None


def traffic_of(demand: Demand, plan: PlanRead | None) -> Traffic:
    """The traffic that flags and a plan describe; flags stand above the plan."""
    from specplan.cli.wanted import wanted

    return wanted(demand, plan).traffic


def promised(demand: Demand, plan: PlanRead | None) -> Slo:
    """The limits that flags or a plan name; none where nobody does."""
    from specplan.cli.wanted import promised_in, said

    return promised_in(said(demand, plan))


def demand_of(options: Mapping[str, Option]) -> Demand:
    """The options of Python callers, by the names of the command line with underscores: texts of
    its grammar or numbers (a rate then is per second), paths, and for limits and columns mappings.
    """
    from specplan.domain.plan import PairsText

    names = [field.name for field in fields(Demand)]
    hints = get_type_hints(Demand, include_extras=True)
    found: dict[str, Any] = {}
    for name, value in options.items():
        if name not in names:
            raise unknown("option", name, names)
        if value is None:
            continue
        if isinstance(value, Mapping):
            text = PairsText().said(dict(value))
        else:
            text = fspath(value) if isinstance(value, PathLike) else str(value)
        if name == "rate" and not isinstance(value, str):
            text += "/s"
        parser = hints[name].__metadata__[0].parser
        found[name] = parser(text) if parser else text
    return Demand(**found)
