"""Decide: compare."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import typer

from specplan.cli import complete
from specplan.cli.narrowed import Reverse
from specplan.cli.options import Candidates, Load, Out, PlanFile, Usd, What, typed
from specplan.cli.values import whole, word

EXAMPLES = """\
specplan compare -t llama-3.3-70b -g h100 --tp 4 -e vllm -b 32 -a 0.7
specplan compare -t qwen3-8b -g l40s -a 0.6 -a eagle3=0.75 -a ngram=burst:.3@4
specplan compare -t llama-3-8b -d llama-3.2-1b -g all -a 0.7 --sort cost --top 9"""


@dataclass(frozen=True, kw_only=True)
class Ranking:
    """In which order, and how many for people."""

    title: ClassVar[str] = "Order"

    sort: Annotated[
        str,
        typer.Option(
            "--sort",
            metavar="BY",
            help=f"{', '.join(complete.COMPARE_SORTS)}; the best first.",
            parser=word("order", complete.COMPARE_SORTS, "--sort"),
            autocompletion=complete.among(*complete.COMPARE_SORTS),
        ),
    ] = "speedup"
    reverse: Reverse = False
    top: Annotated[
        int | None,
        typer.Option(
            "--top",
            metavar="N",
            help="Rows that people see; 40. -f json and csv have all.",
            parser=whole("--top"),
        ),
    ] = None


def compare(
    plan: PlanFile = None,
    *,
    usd_per_gpu_hour: Usd = None,
    ranking: Ranking,
    what: What,
    load: Load,
    candidates: Candidates,
    out: Out,
) -> int:
    """Which drafter, GPU or tp: every candidate at its best k."""
    from specplan.cli.lineup import contest
    from specplan.cli.plans import catalogue_of, plan_of
    from specplan.cli.show import show
    from specplan.domain.scenario import Input
    from specplan.questions.compare import compare as question

    found = contest(
        typed(what, load),
        catalogue=catalogue_of(what),
        plan=plan_of(plan, without=("k",)),
        k_max=candidates.k_max,
    )
    more = {"sort": Input(value=ranking.sort, origin="flag")} if ranking.sort != "speedup" else {}
    if usd_per_gpu_hour is not None:
        more["usd_per_gpu_hour"] = Input(value=usd_per_gpu_hour, origin="flag")
    scenario = replace(found.scenario, inputs={**found.scenario.inputs, **more})
    answer = question(
        replace(found, scenario=scenario),
        sort=ranking.sort,
        reverse=ranking.reverse,
        top=ranking.top,
        usd_per_gpu_hour=usd_per_gpu_hour,
    )
    return show(answer, out)
