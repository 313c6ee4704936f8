"""The body of `report`: a plan or flags to a scenario, and what only files can say of it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from specplan import __version__
from specplan.catalogue.ledger import bands
from specplan.catalogue.store import Catalogue
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


@dataclass(frozen=True, slots=True)
class _Told:
    """What was asked, whoever asked it."""

    flags: Mapping[str, Sequence[str]]
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
) -> Answer:
    """The answer of the command."""
    return _reported(
        _told(
            plan,
            typed(what, load),
            catalogue_of(what),
            what.catalogue or (),
            candidates.k_max,
            demand,
            usd_per_gpu_hour,
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
) -> _Told:
    """What was asked, with the command that asks it again."""
    words = [plan] if plan else []
    return _Told(
        flags=flags,
        plan=plan_of(plan),
        catalogue=catalogue,
        k_max=k_max,
        demand=demand,
        usd_per_gpu_hour=usd_per_gpu_hour,
        command=command_of(words, flags, demand, k_max, usd_per_gpu_hour, folders),
    )


def command_of(
    words: Sequence[str],
    flags: Mapping[str, Sequence[str]],
    demand: Demand,
    k_max: int | None,
    usd_per_gpu_hour: float | None,
    folders: Sequence[str] = (),
) -> str:
    """The command line that gives this report, quoted for a shell."""
    told: list[tuple[str, str]] = [(n, text) for n, texts in flags.items() for text in texts]
    told += [(n, _plain(n, value)) for n, value in asdict(demand).items() if value is not None]
    told += [("k_max", str(k_max))] if k_max is not None else []
    if usd_per_gpu_hour is not None:
        told.append(("usd_per_gpu_hour", repr(usd_per_gpu_hour)))
    told += [("catalogue", folder) for folder in folders]
    options = [word for n, text in told for word in (f"--{n.replace('_', '-')}", text)]
    return shlex.join(["specplan", "report", *words, *options, "-o", "report.html"])


def _plain(name: str, value: object) -> str:
    return f"{value}/s" if name == "rate" else str(value)


def _reported(asked: _Told) -> Answer:
    found = _coming(asked)
    scenario = _scenario(asked, found)
    checked = None
    if asked.plan is not None and asked.plan.plan.expect and not asked.flags:
        checked = check(Path(asked.plan.document.name), catalogue=asked.catalogue)

    def cited(judged: Judged) -> Cited:
        return Cited(
            cards=dict(_sources(asked, scenario, judged)),
            bands=bands().bands,
            inputs={**_planned(asked.plan), **scenario.inputs},
            command=asked.command,
            specplan=__version__,
        )

    sized = None if found is None else partial(_capacity, asked, found)
    return question(scenario, cited=cited, checked=checked, sized=sized)


def _coming(asked: _Told) -> Wanted | None:
    """The traffic, where flags or the plan say that requests come."""
    spoken = said(asked.demand, asked.plan)
    return wanted(asked.demand, asked.plan) if {"rate", "trace"} & spoken.keys() else None


def _scenario(asked: _Told, found: Wanted | None) -> Scenario:
    """The workload asked for; where nobody said a context, that of the traffic's sequences."""
    flags = dict(asked.flags)
    if found is None:
        lengths = ((n, getattr(asked.demand, n)) for n in ("isl", "osl"))
        flags |= {n: (text,) for n, text in lengths if text is not None}
    told = {}
    workload = asked.plan.plan.workload if asked.plan else None
    if found is not None and (workload is None or workload.context is None):
        shape = shape_of(found.traffic.lengths)
        told["context"] = Given((f"{shape.context:.0f}",), "traffic", Where("--isl"))
    scenario = build(
        flags,
        catalogue=asked.catalogue,
        plan=asked.plan,
        unused=("k",),
        k_max=asked.k_max,
        told=told,
    )
    return replace(scenario, inputs={**scenario.inputs, **(found.inputs if found else {})})


def _capacity(asked: _Told, found: Wanted) -> Answer:
    """The GPUs for the traffic."""
    return sized_for(
        {n: texts for n, texts in asked.flags.items() if n not in FOLLOW},
        asked.plan,
        asked.catalogue,
        asked.k_max,
        Gating(),
        asked.demand,
        Fleet(usd_per_gpu_hour=asked.usd_per_gpu_hour),
        Server(),
        coming=found,
    )


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
