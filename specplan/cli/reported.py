"""The body of `report`: a plan or flags to a scenario, and what only files can say of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from specplan import __version__
from specplan.catalogue.ledger import bands
from specplan.catalogue.store import Catalogue
from specplan.cli.again import PAGE, command_of, ending_of
from specplan.cli.capacity import Fleet, Gating
from specplan.cli.checked import check
from specplan.cli.demand import Demand
from specplan.cli.fleets import sized_for
from specplan.cli.homes import FOLLOW, at_home
from specplan.cli.options import Axes, Candidates, What, typed
from specplan.cli.planned import Given, PlanRead
from specplan.cli.plans import catalogue_of, plan_of
from specplan.cli.scenario import Folder, build, loaded, texts_of
from specplan.cli.server import Server
from specplan.cli.wanted import Wanted, said, wanted
from specplan.domain.answer import Answer
from specplan.domain.cards import AnyCard
from specplan.domain.scenario import Input, Scenario, Setup
from specplan.errors import SpecplanError, Where
from specplan.questions.replicas import shape_of
from specplan.questions.report import report as question
from specplan.questions.report_point import Judged
from specplan.questions.report_sources import Cited
from specplan.questions.report_traffic import Coming, holds, running


@dataclass(frozen=True, slots=True)
class _Told:
    """What was asked, whoever asked it."""

    flags: Mapping[str, Sequence[str]]
    path: str | None
    plan: PlanRead | None
    catalogue: Catalogue
    k_max: int | None
    demand: Demand
    usd_per_gpu_hour: float | None
    command: str


def report(
    plan: str | Path | None = None,
    *,
    catalogue: Catalogue | Folder | Iterable[Folder] | None = None,
    k_max: int | None = None,
    usd_per_gpu_hour: float | None = None,
    **options: Any,  # noqa: ANN401 - options of several groups, each checked by its own
) -> Answer:
    """Everything about one plan, as `specplan report` answers it: an answer with `parts` and an
    `explorer`.

    `plan` is a file; options are those of the command line with underscores and stand above it:
    target, draft, hardware, tp, engine, batch, context, acceptance, k; rate, isl, osl, trace, slo.
    """
    workload: dict[str, Any] = {n: options.pop(n) for n in FOLLOW if n in options}
    texts, (demand,) = at_home(options, Demand)
    texts |= texts_of({name: value for name, value in workload.items() if value is not None})
    folders = loaded(catalogue)
    named = [str(one.path) for one in folders.folders if one.layer == str(one.path)]
    given = str(plan) if plan else None
    return _reported(_told(given, texts, folders, named, k_max, demand, usd_per_gpu_hour))


def answered(
    plan: str | None,
    what: What,
    load: Axes,
    candidates: Candidates,
    demand: Demand,
    usd_per_gpu_hour: float | None,
    form: str,
) -> Answer:
    """The answer of the command, in a format."""
    return _reported(
        _told(
            plan,
            typed(what, load),
            catalogue_of(what),
            what.catalogue or (),
            candidates.k_max,
            demand,
            usd_per_gpu_hour,
            ending_of(form),
        )
    )


def _told(
    plan: str | None,
    flags: Mapping[str, Sequence[str]],
    catalogue: Catalogue,
    folders: Sequence[str],
    k_max: int | None,
    demand: Demand,
    usd_per_gpu_hour: float | None,
    ending: Sequence[str] = PAGE,
) -> _Told:
    """What was asked, with the command that asks it again."""
    words = [plan] if plan else []
    return _Told(
        flags=flags,
        path=plan,
        plan=plan_of(plan),
        catalogue=catalogue,
        k_max=k_max,
        demand=demand,
        usd_per_gpu_hour=usd_per_gpu_hour,
        command=command_of(words, flags, demand, k_max, usd_per_gpu_hour, folders, ending),
    )


def _reported(asked: _Told) -> Answer:
    found = _wanted(asked)
    sized = None if found is None else _capacity(asked, found)
    coming = Coming(found.traffic, found.slo, sized) if found and sized else None
    scenario = _scenario(asked, found, coming)
    plan = asked.plan.plan if asked.plan else None
    checked = None
    if asked.path and plan and plan.expect and not asked.flags:
        checked = check(asked.path, catalogue=asked.catalogue)

    def cited(judged: Judged) -> Cited:
        return Cited(
            cards=dict(_sources(asked, scenario, judged)),
            bands=bands().bands,
            inputs={**_planned(asked.plan), **scenario.inputs},
            command=asked.command,
            specplan=__version__,
        )

    about = (plan.about if plan else None) or ""
    return question(scenario, cited=cited, checked=checked, coming=coming, about=about)


def _wanted(asked: _Told) -> Wanted | None:
    """The traffic, where flags or the plan say that requests come."""
    spoken = said(asked.demand, asked.plan)
    return wanted(asked.demand, asked.plan) if {"rate", "trace"} & spoken.keys() else None


def _scenario(asked: _Told, found: Wanted | None, coming: Coming | None) -> Scenario:
    """The workload asked for; where nobody said a context or a batch, those of the traffic. A batch
    that one of several setups cannot hold is not what its servers would run.
    """
    flags = dict(asked.flags)
    if found is None:
        lengths = ((n, getattr(asked.demand, n)) for n in ("isl", "osl"))
        flags |= {n: (text,) for n, text in lengths if text is not None}
    told = {} if coming is None else _told_by(coming, asked.plan)

    def made(told: Mapping[str, Given]) -> Scenario:
        return build(
            flags,
            catalogue=asked.catalogue,
            plan=asked.plan,
            unused=("k",),
            k_max=asked.k_max,
            told=told,
        )

    scenario = made(told)
    if "batch" in told and "batch" not in flags and not holds(scenario):
        scenario = made({name: given for name, given in told.items() if name != "batch"})
    return replace(scenario, inputs={**scenario.inputs, **(found.inputs if found else {})})


def _told_by(coming: Coming, plan: PlanRead | None) -> dict[str, Given]:
    """What the traffic says of a workload that says nothing of it: the mean context of a sequence
    that decodes, and how many decode together on a server of the cheapest plan.
    """
    workload = plan.plan.workload if plan else None
    told = {}
    if workload is None or workload.context is None:
        context = f"{shape_of(coming.traffic.lengths).context:.0f}"
        told["context"] = Given((context,), "traffic", Where("--isl"))
    batch = running(coming.sized)
    if batch is not None and (workload is None or workload.batch is None):
        told["batch"] = Given((str(batch),), "traffic", Where("--rate"))
    return told


def _capacity(asked: _Told, found: Wanted) -> Answer | SpecplanError:
    """The GPUs for the traffic, or why nobody can say."""
    flags = {n: texts for n, texts in asked.flags.items() if n not in FOLLOW}
    fleet = Fleet(usd_per_gpu_hour=asked.usd_per_gpu_hour)
    try:
        return sized_for(
            flags,
            asked.plan,
            asked.catalogue,
            asked.k_max,
            Gating(),
            asked.demand,
            fleet,
            Server(),
            coming=found,
        )
    except SpecplanError as error:
        return error


def _planned(plan: PlanRead | None) -> dict[str, Input]:
    """The plan's file by its bytes."""
    if plan is None:
        return {}
    read = plan.document
    return {"plan": Input(value=read.name, origin="file", sha256=read.sha256)}


def _sources(asked: _Told, scenario: Scenario, judged: Judged) -> Iterator[tuple[str, AnyCard]]:
    """The cards of every setup, those of the point in detail first, and of curves."""
    for setup in (judged.at.setup, *scenario.setups):
        yield from ((card.name, card) for card in _cards(setup))
    for name, given in scenario.inputs.items():
        if name.startswith("acceptance") and given.sha256:
            with suppress(SpecplanError):
                card = asked.catalogue.curve(str(given.value).partition("/")[0]).card
                yield card.name, card


def _cards(setup: Setup) -> Iterator[AnyCard]:
    yield setup.target
    if setup.draft.model is not None and setup.draft.model is not setup.target:
        yield setup.draft.model
    yield setup.hardware
    yield setup.engine
