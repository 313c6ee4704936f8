"""What a plan says of its traffic, for rules about it; what cannot be sized is refused where it
stands.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from specplan.cli.demand import Demand as Flags
from specplan.cli.planned import PlanRead, mixes, planned_traffic
from specplan.cli.wanted import Wanted, wanted
from specplan.domain.scenario import Scenario
from specplan.errors import InputError, SpecplanError, Where
from specplan.questions.demand import Demand
from specplan.questions.expectations import Expectation
from specplan.questions.replicas import shape_of
from specplan.rules.demanded import BY_DEMAND

EXAMPLE = "traffic: {rate: 50/s, isl: 4000, osl: 500}"
FOLLOWS = ("batch", "context")  # from traffic
FILES = ("trace", "isl", "osl", "lengths")


@dataclass(frozen=True, slots=True)
class Served:
    """The traffic of a plan, hashes of the files that it comes from, and the places of these."""

    demand: Demand | None = None
    files: Mapping[str, str] = field(default_factory=dict)
    places: Mapping[str, Where] = field(default_factory=dict)


def served(read: PlanRead) -> Served:
    """The traffic that the plan describes; an error stands where the plan says it."""
    if read.plan.traffic is None:
        return Served()
    head = read.document.where(("traffic",), key=True)
    found = _wanted(read, head)
    spoken = planned_traffic(read)
    given = {key: one for key, one in found.inputs.items() if key in FILES and one.sha256}
    return Served(
        demand=Demand(
            traffic=found.traffic, slo=found.slo, usd_per_gpu_hour=found.usd_per_gpu_hour
        ),
        files={str(one.value): str(one.sha256) for one in given.values()},
        places={
            "traffic": head,
            **{str(one.value): spoken[key].where for key, one in given.items()},
        },
    )


def _wanted(read: PlanRead, head: Where) -> Wanted:
    """What the plan wants; an error that knows no line of it stands at `traffic`."""
    try:
        return wanted(Flags(), read)
    except SpecplanError as error:
        if error.where is None or not error.where.line:
            error.where = head
        raise


def sized_for(scenario: Scenario, read: PlanRead, found: Served) -> Scenario:
    """The scenario at the context of the traffic, where the plan says no other one."""
    load = read.plan.workload
    if found.demand is None or mixes(read):
        return scenario
    if load and (load.context is not None or load.isl is not None):
        return scenario
    shape = shape_of(found.demand.traffic.lengths)
    return replace(scenario, context=(shape.context,), growth=shape.longest - shape.context)


def refuse_unsized(
    expectations: Iterable[Expectation], scenario: Scenario, read: PlanRead, found: Served
) -> None:
    """Refuses an expectation about traffic that this plan cannot be held to."""
    asked = [one for one in expectations if one.key in BY_DEMAND]
    for one in asked:
        if found.demand is None:
            raise InputError(f"{one.key} needs traffic", where=one.where, hint=f"add {EXAMPLE}")
        if one.key == "meets_slo" and not found.demand.slo.limits:
            raise InputError(
                "meets_slo needs promises",
                where=one.where,
                hint="add slo: {ttft_p99: 2 s, tpot_p95: 30 ms} to traffic",
            )
        bound = next((s.engine.name for s in scenario.setups if s.engine.kind == "bound"), None)
        if bound:
            raise InputError(
                f"{one.key} needs an engine: {bound} is a bound, so GPUs would be too few",
                where=one.where,
                hint="add engine: vllm",
            )
        if mixes(read):
            what = f"{one.key} is about one acceptance, not a mix of workloads"
            raise InputError(what, where=one.where, hint="give the mix's acceptance")
        for key in FOLLOWS:
            if key in one.at:
                raise InputError(
                    f"{one.key} is about all of the traffic, which decides the {key}",
                    where=one.at[key].where,
                    hint=f"leave {key} out of `at`",
                )
