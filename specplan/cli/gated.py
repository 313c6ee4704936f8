"""gate: the schedule, or, over a histogram of batches, what one k in its place loses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from os import PathLike
from pathlib import Path
from typing import Literal, NamedTuple

from specplan.cli.demand import Demand
from specplan.cli.measured import measured_rows
from specplan.cli.options import Axes, Candidates, What, typed
from specplan.cli.over import Recorded, over_of, over_of_answer, read_over
from specplan.cli.planned import Given
from specplan.cli.plans import catalogue_of, plan_of
from specplan.cli.scenario import build
from specplan.cli.wanted import wanted
from specplan.domain.answer import Answer
from specplan.domain.histogram import GATED, Histogram
from specplan.domain.measurement import Measurement
from specplan.domain.scenario import Scenario
from specplan.domain.traffic import Traffic
from specplan.errors import UsageError, Where
from specplan.physics.schedule import HYSTERESIS
from specplan.questions.batches import batches_under
from specplan.questions.gate import gate as question
from specplan.questions.regret import regret
from specplan.questions.replicas import shape_of
from specplan.visible import visible

UNUSED = "gate goes through every batch that fits; --batch is not used"
ALONE = ("--recorded", "--gate-tax", "--hysteresis")


def gate(
    scenario: Scenario,
    *,
    over: str | PathLike[str] | Mapping[int, float] | Answer | Histogram | None = None,
    traffic: Traffic | None = None,
    recorded: int | Literal["gate"] | None = None,
    tax: float = 0.0,
    hysteresis: float = HYSTERESIS,
    measured: Sequence[Measurement] = (),
) -> Answer:
    """Which k at which batch, as `specplan gate` answers it; with `over`, what one k for all
    batches loses over a histogram: a file, an answer of simulate, or weights by batch (shares of
    time, or counts of rounds); with `traffic`, over the batches that it comes to on one server.

    `recorded` is the k of the server that had these batches, or "gate"; 0, without speculation, if
    nothing says so. A scenario of one k asks about that k, several are the candidates. `tax` is the
    share by which a plain step is longer where a drafter is loaded, `hysteresis` what another k has
    to gain over a doubling of the batch. `measured` are rows whose rounds stand as points in the
    picture of the schedule.
    """
    if traffic is not None:
        found = batches_under(scenario, traffic, tax=tax, hysteresis=hysteresis)
        notes = (*scenario.notes, *traffic.notes)
        scenario = replace(scenario, notes=notes)
    elif over is None:
        return question(scenario, measured=measured)
    elif isinstance(over, Histogram):
        found = over if recorded is None else replace(over, recorded=recorded)
    elif isinstance(over, Answer):
        found = over_of_answer(over, recorded)
    elif isinstance(over, Mapping):
        found = over_of(over, recorded or 0)
    else:
        found = read_over(Path(over), recorded)
    return regret(scenario, found, tax=tax, hysteresis=hysteresis)


class OverAsked(NamedTuple):
    """The options that are about a histogram; None where they were not typed."""

    over: str | None = None
    recorded: str | None = None
    tax: float | None = None
    hysteresis: float | None = None


def answered(
    plan: str | None,
    what: What,
    load: Axes,
    candidates: Candidates,
    demand: Demand,
    asked: OverAsked,
    measured: Path | None = None,
) -> Answer:
    """The answer of the command."""
    read = plan_of(plan)
    coming = asked.over is None and _comes(demand)
    _refuse(asked, demand, coming=coming)
    if measured and (asked.over is not None or coming):
        what_not = "stands beside a schedule"
        raise UsageError(what_not, where=Where("--measured"), hint="leave out --over and --rate")
    catalogue, flags = catalogue_of(what), typed(what, load)
    if not coming:
        flags |= {n: (t,) for n in ("isl", "osl") if (t := getattr(demand, n)) is not None}
    found = wanted(demand, read) if coming else None
    shape = shape_of(found.traffic.lengths) if found else None
    over = asked.over is not None or coming
    cleared = replace(read, plan=replace(read.plan, k=None)) if read and not over else read
    context = Given((f"{shape.context:.0f}",), "traffic", Where("--isl")) if shape else None
    scenario = build(
        flags,
        catalogue=catalogue,
        plan=cleared,
        unused=("k", "batch"),
        k_max=candidates.k_max,
        told={"context": context} if context else {},
    )
    if load.batch:
        scenario = replace(scenario, notes=(*scenario.notes, UNUSED))
    if shape and found:
        growth = scenario.growth if "context" in flags else shape.longest - shape.context
        inputs = {**scenario.inputs, **found.inputs}
        scenario = replace(scenario, growth=growth, inputs=inputs)
    rows, used = measured_rows(measured, catalogue)
    scenario = replace(scenario, inputs={**scenario.inputs, **used})
    return gate(
        scenario,
        over=asked.over,
        traffic=found.traffic if found else None,
        recorded=_recorded(asked.recorded),
        tax=asked.tax or 0.0,
        hysteresis=HYSTERESIS if asked.hysteresis is None else asked.hysteresis,
        measured=rows,
    )


def _comes(demand: Demand) -> bool:
    """Whether flags say how many requests come."""
    return demand.rate is not None or demand.trace is not None


def _refuse(asked: OverAsked, demand: Demand, *, coming: bool) -> None:
    """Refuses options that nothing here is about."""
    for option, value in zip(ALONE, asked[1:], strict=True):
        if asked.over is None and value is not None and not (coming and option != ALONE[0]):
            hint = "give --over FILE" if option == ALONE[0] else "give --over FILE, or --rate"
            raise UsageError("is about a histogram of batches", where=Where(option), hint=hint)
    if demand.slo is not None:
        what = "gate keeps no promises"
        raise UsageError(what, where=Where("--slo"), hint="specplan capacity does")
    for field in fields(demand):
        given = getattr(demand, field.name) is not None
        if given and not coming and field.name not in {"isl", "osl"}:
            where = Where(f"--{field.name.replace('_', '-')}")
            if asked.over is not None:
                what = "the batches of --over are those of their own traffic"
                raise UsageError(what, where=where, hint="give one of them")
            raise UsageError("is of traffic", where=where, hint="give --rate 5/s or --trace FILE")


def _recorded(text: str | None) -> Recorded | None:
    if text is None:
        return None
    if text == GATED:
        return GATED
    if not text.isdecimal() or len(text) > 2:
        what = f"'{visible(text, 60)}' is no k"
        raise UsageError(what, where=Where("--recorded"), expected=f"such as 0 or 3, or {GATED}")
    return int(text)
