"""Decide: sweep, compare, best-k, best-tree, gate, memory, explain."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from specplan.cli import complete
from specplan.cli.compare import EXAMPLES as COMPARING
from specplan.cli.compare import compare
from specplan.cli.demand import Demand
from specplan.cli.gate_options import GateTax, Worth
from specplan.cli.help import Command
from specplan.cli.options import Axes, Candidates, Load, Out, PlanFile, Usd, What, command, typed
from specplan.cli.server import Server
from specplan.cli.values import number, whole

Mix = Annotated[
    list[str] | None,
    typer.Option(
        "--mix",
        metavar="PART",
        help="A workload of a traffic mix: 3,alpha=0.8,context=2k (repeatable).",
    ),
]
Objective = Annotated[
    str,
    typer.Option(
        "--objective",
        metavar="GOAL",
        help="latency, throughput or cost.",
        autocompletion=complete.among(*complete.OBJECTIVES),
    ),
]
Need = Annotated[
    float | None,
    typer.Option(
        "--need",
        metavar="X",
        help="Wanted speedup: what must the drafter reach?",
        parser=number("--need"),
    ),
]
Accepted = Annotated[
    int | None,
    typer.Option(
        "--accepted",
        metavar="N",
        help="Accepted tokens counted at -k; with --drafted, in place of -a.",
        parser=whole("--accepted"),
    ),
]
Drafted = Annotated[
    int | None,
    typer.Option(
        "--drafted", metavar="N", help="Drafted tokens counted.", parser=whole("--drafted")
    ),
]
Ranks = Annotated[
    list[str] | None,
    typer.Option(
        "--ranks",
        metavar="P,P,...",
        help="How often the first, second, ... child of a node is kept; after a semicolon, or "
        "repeated, those of the next level.",
    ),
]
Nodes = Annotated[
    list[str] | None,
    typer.Option(
        "--nodes", metavar="AXIS", help="Tokens verified a sequence, the root included; 1:64."
    ),
]
Depth = Annotated[
    int | None,
    typer.Option(
        "--depth",
        metavar="N",
        help="Most levels, the root's included; 17.",
        parser=whole("--depth"),
    ),
]
Topk = Annotated[
    int | None,
    typer.Option("--topk", metavar="N", help="Most children of a node.", parser=whole("--topk")),
]
ShapeText = Annotated[
    str | None,
    typer.Option(
        "--shape",
        metavar="SHAPE",
        help="A tree to judge: eagle:5,4,8 (steps, topk, total), medusa:0,0.0,1, chain:4 or "
        "sequoia:32,8.",
        autocompletion=complete.among(*(f"{shape}:" for shape in complete.SHAPES)),
    ),
]
Over = Annotated[
    str | None,
    typer.Option(
        "--over",
        metavar="FILE",
        help="What one k for all batches loses over a batch histogram: CSV of batch and share (of "
        "time) or count (of rounds), JSON of the same, or an answer of simulate.",
    ),
]
MeasuredFile = Annotated[
    Path | None,
    typer.Option(
        "--measured",
        metavar="FILE",
        help="Measured rounds as points over the lines of a picture: CSV, as accuracy takes it.",
    ),
]
RecordedAt = Annotated[
    str | None,
    typer.Option(
        "--recorded",
        metavar="K",
        help="With --over: the k of the server that had these batches, or gate; 0.",
        autocompletion=complete.among("0", complete.CHOSEN_K[1]),
    ),
]

# What --need asks of a drafter that nobody named: at the very least.
ANY_DRAFTER = {"draft": "free", "acceptance": "1"}
EXAMPLES = {
    "sweep": """\
specplan sweep
specplan sweep -t llama-3.3-70b -d llama-3.2-1b -g h100,h200 --tp 4 -b 1:64:x4
specplan sweep -b 1:256:x2 -a 0.5:0.95:0.05 -k 1:16 -o sweep.csv""",
    "compare": COMPARING,
    "best-k": """\
specplan best-k -t llama-3-8b -d llama-3.2-1b -g h100 -b 16 -c 8k -a 0.7
specplan best-k -t llama-3-8b -d ratio:0.05 -g h100 -a 0.5:0.95:0.05
specplan best-k -t llama-3-8b -g h100 -b 16 --need 1.5""",
    "best-tree": """\
specplan best-tree -t llama-3-8b -d ratio:.05 -g h100 --ranks .63,.11,.06
specplan best-tree -t llama-3-8b -d free -g h100 --ranks .6,.1 -b 1:64:x2
specplan best-tree -t llama-3-8b -d free -g l4 --ranks .6 --shape eagle:5,4,8""",
    "gate": """\
specplan gate -t llama-3-8b -d llama-3.2-1b -g h100 -a 0.8
specplan gate -t llama-3-8b -d free -g h100 -a 0.5 -c 256 -k 1,2,4,8
specplan gate -t llama-3.1-8b -d eagle3 -g h100 -a 0.7 -k 3 --over batches.csv""",
    "memory": """\
specplan memory -t llama-3-8b -d llama-3.2-1b -g h100
specplan memory -t llama-3-8b -d llama-3.2-1b -g h100 -a 0.8 -k 4 -c 8k
specplan memory -t llama-3.1-8b -d eagle3 -g h100 -e vllm -c 8k -k 3""",
    "explain": """\
specplan explain -t llama-3-8b -d llama-3.2-1b -g h100 -a 0.8 -k 4 -e vllm
specplan explain -t llama-3-8b -d free -g h100 -a 0.8 -k 4 -e vllm -f chart""",
}


def register(app: typer.Typer, name: str, panel: str) -> None:
    """Adds one of this file's commands."""
    function = command({**globals(), "compare": compare}[name.replace("-", "_")])
    app.command(name, cls=Command, rich_help_panel=panel, epilog=EXAMPLES[name])(function)


def sweep(
    plan: PlanFile = None, *, measured: MeasuredFile = None, what: What, load: Load, out: Out
) -> int:
    """Speedup over batch, context, acceptance and k."""
    from specplan.cli.measured import measured_rows
    from specplan.cli.plans import catalogue_of, plan_of
    from specplan.cli.scenario import GOLDEN, build
    from specplan.cli.show import show
    from specplan.questions.sweep import sweep as question

    catalogue = catalogue_of(what)
    scenario = build(typed(what, load), catalogue=catalogue, plan=plan_of(plan), defaults=GOLDEN)
    if not scenario.k:
        scenario = replace(scenario, k=scenario.candidates[1:])
    rows, used = measured_rows(measured, catalogue)
    scenario = replace(scenario, inputs={**scenario.inputs, **used})
    return show(question(scenario, measured=rows), out)


def best_k(
    plan: PlanFile = None,
    *,
    mix: Mix = None,
    objective: Objective = "latency",
    need: Need = None,
    usd_per_gpu_hour: Usd = None,
    measured: MeasuredFile = None,
    accepted: Accepted = None,
    drafted: Drafted = None,
    what: What,
    load: Load,
    candidates: Candidates,
    out: Out,
) -> int:
    """Which k, by what margin, and how wrong may my acceptance be?"""
    from specplan.cli.counters import counted
    from specplan.cli.measured import measured_rows
    from specplan.cli.planned import mixes
    from specplan.cli.plans import catalogue_of, plan_of
    from specplan.cli.scenario import build
    from specplan.cli.show import show
    from specplan.domain.scenario import Input
    from specplan.questions.best_k import best_k as question

    read = plan_of(plan, without=("k",))
    asked = counted(typed(what, load), accepted, drafted, mixed=bool(mix or mixes(read)))
    catalogue = catalogue_of(what)
    scenario = build(
        asked.flags,
        catalogue=catalogue,
        plan=read,
        defaults=ANY_DRAFTER if need is not None else None,
        k_max=candidates.k_max,
        mix=mix or (),
    )
    more = {"objective": Input(value=objective, origin="flag")} if objective != "latency" else {}
    if need is not None:
        more["need"] = Input(value=need, origin="flag")
    if usd_per_gpu_hour is not None:
        more["usd_per_gpu_hour"] = Input(value=usd_per_gpu_hour, origin="flag")
    found, used = measured_rows(measured, catalogue)
    inputs = {**scenario.inputs, **asked.inputs, **more, **used}
    notes = (*scenario.notes, *asked.notes)
    scenario = replace(scenario, inputs=inputs, notes=notes)
    answer = question(
        scenario,
        objective=objective,
        need=need,
        usd_per_gpu_hour=usd_per_gpu_hour,
        measured=found,
    )
    return show(answer, out)


def best_tree(
    plan: PlanFile = None,
    *,
    ranks: Ranks = None,
    nodes: Nodes = None,
    depth: Depth = None,
    topk: Topk = None,
    shape: ShapeText = None,
    what: What,
    load: Load,
    out: Out,
) -> int:
    """Which tree for a node budget, and does a chain beat it?"""
    from specplan.cli import trees
    from specplan.cli.show import show

    return show(
        trees.answered(
            plan, what, load, ranks=ranks, nodes=nodes, depth=depth, topk=topk, shape=shape
        ),
        out,
    )


def gate(
    plan: PlanFile = None,
    *,
    over: Over = None,
    recorded: RecordedAt = None,
    gate_tax: GateTax = None,
    hysteresis: Worth = None,
    measured: MeasuredFile = None,
    what: What,
    load: Axes,
    candidates: Candidates,
    demand: Demand,
    out: Out,
) -> int:
    """Which k at which batch; up to which load does it pay?"""
    from specplan.cli.threads import one_thread

    one_thread()
    from specplan.cli.gated import OverAsked, answered
    from specplan.cli.show import show

    asked = OverAsked(over, recorded, gate_tax, hysteresis)
    return show(answered(plan, what, load, candidates, demand, asked, measured), out)


def memory(plan: PlanFile = None, *, what: What, load: Load, server: Server, out: Out) -> int:
    """What the drafter costs in memory and sequences."""
    from specplan.cli.show import show
    from specplan.cli.sized import sized

    return show(sized(plan, what, load, server), out)


def explain(plan: PlanFile = None, *, what: What, load: Load, out: Out) -> int:
    """One point taken apart: where the time goes, and why."""
    from specplan.cli.plans import catalogue_of, plan_of
    from specplan.cli.scenario import build
    from specplan.cli.show import show
    from specplan.questions.explain import explain as question

    scenario = build(typed(what, load), catalogue=catalogue_of(what), plan=plan_of(plan))
    return show(question(scenario), out)
