"""Size for traffic: simulate."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, ClassVar

import typer

from specplan.cli import complete
from specplan.cli.demand import Demand
from specplan.cli.gate_options import GateTax
from specplan.cli.options import Candidates, Out, PlanFile, Texts, What
from specplan.cli.server import Server
from specplan.cli.streams import say
from specplan.cli.values import duration, whole

LONG_REQUESTS = 20_000  # from here on, a second or more, a terminal gets a progress bar
INTERRUPTED = 130
EXAMPLES = """\
specplan simulate -t qwen3-8b -g l4 -e vllm -k 0 --rate 1/s --isl 1k --osl 99
specplan simulate chat.yaml -k gate --hysteresis 4 --requests 2000
specplan simulate chat.yaml --trace azure.csv --slo ttft_p99=1s -f chart"""


@dataclass(frozen=True, kw_only=True)
class Drafts:
    """What is drafted and kept."""

    title: ClassVar[str] = "Speculation"

    acceptance: Annotated[
        Texts,
        typer.Option(
            "-a",
            "--acceptance",
            "--alpha",
            metavar="ALPHA",
            help="Acceptance of a draft token: an alpha, KIND:FIGURES, a curve, or a log.",
            autocompletion=complete.acceptances,
        ),
    ] = None
    k: Annotated[
        str | None,
        typer.Option(
            "-k",
            "--k",
            metavar="K",
            help="Draft tokens per round, none, or gate: k by batch.",
            autocompletion=complete.among(*complete.SIMULATED_K),
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Gate:
    """When what is drafted changes."""

    title: ClassVar[str] = Drafts.title

    gate_by: Annotated[
        str | None,
        typer.Option(
            "--gate-by",
            metavar="WHAT",
            help="batch, or queue:N: no drafts while more than N requests wait.",
            autocompletion=complete.among(*complete.GATES),
        ),
    ] = None
    gate_tax: GateTax = None
    hysteresis: Annotated[
        str | None,
        typer.Option(
            "--hysteresis",
            metavar="N,TIME",
            help="Sequences beyond a range, or time since the last change, before k changes: "
            "4, 2s or 4,2s.",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Longest(Candidates):
    """Which draft lengths a gate chooses from."""

    title: ClassVar[str] = Drafts.title


@dataclass(frozen=True, kw_only=True)
class Runs:
    """How much is simulated."""

    title: ClassVar[str] = "Simulation"

    duration: Annotated[
        str | None,
        typer.Option("--duration", metavar="TIME", help="Of traffic that is drawn: 600s, 1h."),
    ] = None
    requests: Annotated[
        int | None,
        typer.Option(
            "--requests",
            metavar="N",
            help="So many requests; 10,000, or all of a trace.",
            parser=whole("--requests"),
        ),
    ] = None
    replications: Annotated[
        int,
        typer.Option(
            "--replications",
            metavar="R",
            help="Runs, for 95 % intervals.",
            parser=whole("--replications"),
        ),
    ] = 1
    workers: Annotated[
        int,
        typer.Option(
            "--workers", metavar="N", help="Processes that share them.", parser=whole("--workers")
        ),
    ] = 1
    static: Annotated[
        int | None,
        typer.Option(
            "--static",
            metavar="N",
            help="Static batches of N: all stay until the last is done.",
            parser=whole("--static"),
        ),
    ] = None
    static_wait: Annotated[
        float | None,
        typer.Option(
            "--static-wait",
            metavar="TIME",
            help="After which fewer begin; 1s.",
            parser=duration("--static-wait"),
        ),
    ] = None


def simulate(
    plan: PlanFile = None,
    *,
    what: What,
    drafts: Drafts,
    candidates: Longest,
    gate: Gate,
    demand: Demand,
    runs: Runs,
    server: Server,
    out: Out,
) -> int:
    """Replay traffic through a simulated engine.

    A server takes requests as they come, batches them continuously and speculates as it is told;
    what it drafts is kept by chance. Ctrl-C shows what is done by then.
    """
    from specplan.cli.show import show
    from specplan.cli.simulating import answered, planned

    asked = planned(plan, what, drafts, gate, candidates, demand, runs, server)
    try:
        with _watching(asked.requests, out) as told:
            answer = answered(asked, told)
    except KeyboardInterrupt as early:
        if str(early):
            say(str(early))
        raise
    code = show(answer, out)
    return INTERRUPTED if getattr(answer.value, "interrupted", False) else code


@contextmanager
def _watching(requests: int, out: Out) -> Iterator[Callable[[int], None]]:
    """Who is told of progress: a bar on a terminal's stderr where there are many requests."""
    from specplan.cli.progress import counting
    from specplan.cli.show import coloured

    if requests < LONG_REQUESTS or out.quiet or not sys.stderr.isatty():
        yield lambda _done: None
        return
    with counting(requests, colour=coloured(out.color, terminal=True)) as advance:
        yield advance
