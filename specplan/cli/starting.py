"""init: from flags to a plan that holds, or why there is none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from os.path import relpath
from pathlib import Path

from specplan.catalogue.write import Entry
from specplan.cli.cases import Library
from specplan.cli.complete import CHOSEN_K
from specplan.cli.demand import Demand as Flags
from specplan.cli.options import Axes, What, typed
from specplan.cli.planned import Given
from specplan.cli.planning import Planning
from specplan.cli.plans import catalogue_of
from specplan.cli.scenario import build
from specplan.cli.wanted import Wanted, wanted
from specplan.domain.answer import Answer
from specplan.domain.lengths import is_law
from specplan.domain.scenario import Scenario
from specplan.errors import UsageError, Where
from specplan.opening import exists
from specplan.questions.demand import Demand, Sizes
from specplan.questions.init import (
    common_k,
    demanded,
    first_misfit,
    no_plan,
    points_in,
    unserved,
    written_plan,
)
from specplan.questions.replicas import shape_of

GATE = CHOSEN_K[1]


def started(path: Path, what: What, load: Axes, coming: Flags, output: str | None) -> Answer:
    """The plan for the file at `path`, which goes to `output`, as an answer."""
    flags, served = typed(what, load), _served(coming)
    if served is None:
        flags |= {n: (t,) for n in ("isl", "osl") if (t := getattr(coming, n)) is not None}
    library = Library(catalogue_of(what))
    scenario = _scenario(flags, served, library)
    if "k" not in flags:
        flags["k"] = (GATE if served else str(common_k(scenario)),)
        if served is None:
            scenario = replace(scenario, k=(int(flags["k"][0]),))
    points = points_in(scenario)
    misfit = first_misfit(points)
    if misfit is not None:
        return no_plan(misfit)
    planning = Planning(flags, scenario, points, library, path, what.catalogue or ())
    if served is not None:
        demand = Demand(traffic=served.traffic, slo=served.slo)
        facts = next(Sizes(_gated(scenario, flags), demand).facts())
        if facts.reason:
            return unserved(facts)
        lines = tuple(demanded(facts, promised=bool(served.slo.limits)))
        planning = replace(planning, traffic=tuple(_entries(coming, path)), demanded=lines)
    return written_plan(planning.text(), scenario, output)


def _served(coming: Flags) -> Wanted | None:
    """The traffic that flags describe, if they do."""
    if coming.rate is not None or coming.trace is not None:
        return wanted(coming, None)
    for field in fields(coming):
        if getattr(coming, field.name) is not None and field.name not in {"isl", "osl"}:
            where = Where(f"--{field.name.replace('_', '-')}")
            raise UsageError("is of traffic", where=where, hint="give --rate 5/s or --trace FILE")
    return None


def _scenario(
    flags: Mapping[str, Sequence[str]], served: Wanted | None, library: Library
) -> Scenario:
    """The scenario; at the context of its traffic, where no other was typed."""
    if served is None:
        return build(flags, catalogue=library)
    shape = shape_of(served.traffic.lengths)
    told = {"context": Given((f"{shape.context:.10g}",), "traffic", Where("--isl"))}
    scenario = build(flags, catalogue=library, told=told, unused=("k", "batch"))
    bound = next((s.engine.name for s in scenario.setups if s.engine.kind == "bound"), None)
    if bound:
        raise UsageError(
            f"{bound} is a bound, and traffic needs an engine",
            where=Where("--engine"),
            expected="one such as vllm",
        )
    if len(scenario.setups) > 1 or len(scenario.acceptance) > 1 or len(scenario.k) > 1:
        raise UsageError(
            "a plan with traffic starts from one setup, one acceptance and one k",
            hint="add candidates to the file",
        )
    growth = 0.0 if "context" in flags else shape.longest - shape.context
    return replace(scenario, growth=growth)


def _gated(scenario: Scenario, flags: Mapping[str, Sequence[str]]) -> Scenario:
    """With what the plan will say of k."""
    given = scenario.inputs.get("k")
    if given is None or tuple(flags["k"]) != (GATE,):
        return scenario
    inputs = {**scenario.inputs, "k": replace(given, value=GATE)}
    return replace(scenario, inputs=inputs)


def _entries(coming: Flags, path: Path) -> Iterator[Entry]:
    """The traffic as the plan has it, files named from its folder."""
    for field in fields(coming):
        value = getattr(coming, field.name)
        if value is None or field.name == "seed":
            continue
        if field.name == "rate":
            yield Entry("rate", f"{value:.10g}/s", "requests")
        elif field.name in {"trace", "lengths", "isl", "osl"}:
            yield Entry(field.name, _named(str(value), path.parent))
        else:
            yield Entry(field.name, str(value))


def _named(text: str, folder: Path) -> str:
    """A law as it is, a file by its way from the folder; what stands behind its comma stays."""
    name, comma, tail = text.rpartition(",")
    if is_law(text):
        return text
    if exists(Path(text)):
        return relpath(text, folder)
    return f"{relpath(name, folder)},{tail}" if comma and exists(Path(name)) else text
