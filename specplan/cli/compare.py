"""Decide: compare."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import typer

from specplan.cli import complete
from specplan.cli.narrowed import Reverse
from specplan.cli.options import Candidates, Load, Out, PlanFile, Texts, Usd, What, typed
from specplan.cli.values import whole, word

EXAMPLES = """\
specplan compare -t llama-3.3-70b -g h100 --tp 4 -e vllm -b 32 -a 0.7
specplan compare -t qwen3-8b -g l40s -a 0.6 -a eagle3=0.75 -a ngram=burst:.3@4
specplan compare -t llama-3-8b -d ngram -g all -a burst:.3@4 --sort cost"""


@dataclass(frozen=True, kw_only=True)
class Whom(What):
    """What is compared."""

    draft: Annotated[
        Texts,
        typer.Option(
            "-d",
            "--draft",
            metavar="DRAFT",
            help="Drafters: models, kinds (eagle3), ngram, suffix, lookahead, skip:0.4, "
            "ratio:0.05, free; all that fit the target if absent, or all.",
            autocompletion=complete.drafts_or_all,
        ),
    ] = None
    hardware: Annotated[
        Texts,
        typer.Option(
            "-g",
            "--hardware",
            metavar="NAME",
            help="Accelerators, or all of the catalogue.",
            autocompletion=complete.hardware_or_all,
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class At(Load):
    """The one workload."""

    title: ClassVar[str] = "Workload"

    acceptance: Annotated[
        Texts,
        typer.Option(
            "-a",
            "--acceptance",
            "--alpha",
            metavar="ALPHAS",
            help="Acceptance of a draft token, for all drafters or of one by its name or kind "
            "(repeatable): 0.7, eagle3=0.75, ngram=burst:.2@3.1; any KIND:FIGURES "
            "(conditional:.8,.7, decay:.82,.95, length:2.9@4, ...) or a curve.",
            autocompletion=complete.acceptances,
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Lengths(Candidates):
    """Which draft lengths a best k is chosen from."""

    title: ClassVar[str] = At.title


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
            help="Rows that people see; 20. -f json and csv have all.",
            parser=whole("--top"),
        ),
    ] = None


def compare(
    plan: PlanFile = None,
    *,
    usd_per_gpu_hour: Usd = None,
    ranking: Ranking,
    what: Whom,
    load: At,
    candidates: Lengths,
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
