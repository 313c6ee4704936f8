"""Size for traffic: capacity."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Annotated, ClassVar

import typer

from specplan.cli import complete
from specplan.cli.demand import Demand
from specplan.cli.gate_options import GateTax, Worth
from specplan.cli.options import Candidates, Out, PlanFile, Texts, Usd, What
from specplan.cli.server import Server
from specplan.cli.values import duration, number

EXAMPLES = """\
specplan capacity chat.yaml
specplan capacity chat.yaml --slo ttft_p99=1s,tpot_p95=15ms --explain
specplan capacity chat.yaml --trace azure.csv --window "peak 60 s" -f chart"""


@dataclass(frozen=True, kw_only=True)
class Drafting:
    """What is drafted, what is kept, and when a gate closes."""

    title: ClassVar[str] = "Speculation (AXIS: 4 or 1,16 or 1:8)"

    acceptance: Annotated[
        Texts,
        typer.Option(
            "-a",
            "--acceptance",
            "--alpha",
            metavar="AXIS",
            help="Acceptance of a draft token: alphas, KIND:FIGURES, a curve, or a log.",
            autocompletion=complete.acceptances,
        ),
    ] = None
    k: Annotated[
        Texts,
        typer.Option(
            "-k",
            "--k",
            metavar="AXIS",
            help="Draft tokens per round: a plan for each, and the gate takes of all; the best if "
            "absent.",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Gating:
    """What a gate costs, and when it moves."""

    title: ClassVar[str] = Drafting.title

    gate_tax: GateTax = None
    hysteresis: Worth = None


@dataclass(frozen=True, kw_only=True)
class Lengths(Candidates):
    """Which draft lengths a best k is chosen from."""

    title: ClassVar[str] = Drafting.title


@dataclass(frozen=True, kw_only=True)
class Fleet:
    """How replicas are counted, and what they cost."""

    title: ClassVar[str] = "GPUs"

    usd_per_gpu_hour: Usd = None

    margin: Annotated[
        float | None,
        typer.Option(
            "--margin",
            metavar="SHARE",
            help="Head-room: of a replica's largest rate that stays unused; 0.",
            parser=number("--margin"),
        ),
    ] = None
    pools: Annotated[
        bool, typer.Option("--pools", help="Also with prefill and decode in pools apart.")
    ] = False
    bins: Annotated[
        float | None,
        typer.Option(
            "--bins",
            metavar="TIME",
            help="Of a trace, for GPUs that follow the load; 60s.",
            parser=duration("--bins"),
        ),
    ] = None
    explain: Annotated[bool, typer.Option("--explain", help="Where the GPUs go, by cause.")] = False


def capacity(
    plan: PlanFile = None,
    *,
    what: What,
    drafting: Drafting,
    candidates: Lengths,
    gating: Gating,
    demand: Demand,
    fleet: Fleet,
    server: Server,
    out: Out,
) -> int:
    """GPUs and cost for a traffic and SLO: none, fixed k, gated.

    Each candidate without speculation, with one k, and with k by the number of running sequences.
    Exit 1 where none keeps the promises.
    """
    from specplan.cli.threads import one_thread

    one_thread()
    from specplan.cli.fleets import planned
    from specplan.cli.show import show

    with _watching(out) as told:
        answer = planned(plan, what, drafting, candidates, gating, demand, fleet, server, told)
    return show(answer, out)


@contextmanager
def _watching(out: Out) -> Iterator[Callable[[int, int], None]]:
    """Who is told of rows: a bar on a terminal's stderr, since each may take seconds."""
    from specplan.cli.progress import counting
    from specplan.cli.show import coloured

    with ExitStack() as stack:
        bar: list[Callable[[int], None]] = []

        def told(done: int, of: int) -> None:
            if not bar:
                bar.append(
                    stack.enter_context(counting(of, colour=coloured(out.color, terminal=True)))
                )
            if done:
                bar[0](1)

        watched = sys.stderr.isatty() and not out.quiet
        yield told if watched else lambda _done, _of: None
