"""The body of `capacity`: what is asked by flags, a plan or Python, and `specplan.capacity`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from specplan.catalogue.store import Catalogue
from specplan.cli.capacity import Drafting, Fleet, Gating
from specplan.cli.demand import Demand
from specplan.cli.homes import at_home
from specplan.cli.options import Candidates, What, typed
from specplan.cli.planned import Given, PlanRead
from specplan.cli.plans import catalogue_of, plan_of
from specplan.cli.scenario import Folder, build, loaded
from specplan.cli.server import Server
from specplan.cli.sized import told_of
from specplan.cli.wanted import Wanted, said, wanted
from specplan.domain.answer import Answer
from specplan.domain.engine import Engine
from specplan.domain.scenario import Input, Scenario
from specplan.domain.traffic import Trace
from specplan.errors import UsageError, Where
from specplan.physics.schedule import HYSTERESIS
from specplan.questions.capacity import BIN_S
from specplan.questions.capacity import capacity as question
from specplan.questions.replicas import shape_of

_NONE = "none"


def _nothing(_done: int, _all: int) -> None:
    """Told of progress, does nothing."""


def capacity(
    *,
    catalogue: Catalogue | Folder | Iterable[Folder] | None = None,
    k_max: int | None = None,
    **options: Any,  # noqa: ANN401 - options of several groups, each checked by its own
) -> Answer:
    """GPUs and cost of a traffic without, with fixed and with gated speculation, as `specplan
    capacity` answers it.

    Options are those of the command line with underscores: target, draft, hardware, tp, engine,
    acceptance, k, each a value or several; rate (requests a second, a number), isl, osl, trace,
    columns and slo (texts or mappings), window; margin, pools, bins (seconds), explain,
    usd_per_gpu_hour; gate_tax, hysteresis; max_num_seqs, max_batched_tokens, memory_fraction.
    """
    texts, (demand, fleet, server, gating) = at_home(options, Demand, Fleet, Server, Gating)
    return sized_for(texts, None, loaded(catalogue), k_max, gating, demand, fleet, server)


def planned(
    plan: str | None,
    what: What,
    drafting: Drafting,
    candidates: Candidates,
    gating: Gating,
    demand: Demand,
    fleet: Fleet,
    server: Server,
    told: Callable[[int, int], None] = _nothing,
) -> Answer:
    """The answer to a command line; `told` of rows as they are done, of about so many."""
    return sized_for(
        typed(what, drafting),
        plan_of(plan),
        catalogue_of(what),
        candidates.k_max,
        gating,
        demand,
        fleet,
        server,
        told,
    )


def sized_for(
    flags: Mapping[str, Sequence[str]],
    plan: PlanRead | None,
    catalogue: Catalogue,
    k_max: int | None,
    gating: Gating,
    demand: Demand,
    fleet: Fleet,
    server: Server,
    told: Callable[[int, int], None] = _nothing,
    *,
    coming: Wanted | None = None,
) -> Answer:
    """The answer to flags over a plan; `coming` is their traffic, if it has been read."""
    asked = coming or wanted(demand, plan)
    shape = shape_of(asked.traffic.lengths)
    scenario = build(
        flags,
        catalogue=catalogue,
        plan=plan,
        needs=_needed(flags, plan),
        unused=("k", "batch", "context"),
        k_max=k_max,
        told={"context": Given((f"{shape.context:.0f}",), "traffic", Where("--isl"))},
    )
    _refuse_bound(scenario, catalogue)
    limits, limited = told_of(server)
    usd = fleet.usd_per_gpu_hour
    price = asked.usd_per_gpu_hour if usd is None else usd
    more = _more(gating, fleet)
    typed_in = {name: Input(value=value, origin="flag") for name, value in more.items()}
    inputs = {**scenario.inputs, **asked.inputs, **limited, **typed_in}
    return question(
        replace(scenario, inputs=inputs),
        asked.traffic,
        asked.slo,
        limits=limits,
        margin=fleet.margin or 0.0,
        usd_per_gpu_hour=price,
        gate_tax=gating.gate_tax or 0.0,
        hysteresis=HYSTERESIS if gating.hysteresis is None else gating.hysteresis,
        pools=fleet.pools,
        bin_s=fleet.bins or BIN_S,
        over=_whole(demand, plan),
        explain=fleet.explain,
        told=told,
    )


def _whole(demand: Demand, plan: PlanRead | None) -> Trace | None:
    """The trace of which the traffic is a window; None where it is none, or a window that is
    replayed at a rate of its own.
    """
    spoken = said(demand, plan)
    if "window" not in spoken or "rate" in spoken:
        return None
    if plan is not None and plan.plan.traffic is not None:
        without = replace(plan.plan.traffic, window=None)
        plan = replace(plan, plan=replace(plan.plan, traffic=without))
    return wanted(replace(demand, window=None), plan).traffic.trace


def _needed(flags: Mapping[str, Sequence[str]], plan: PlanRead | None) -> tuple[str, ...]:
    """What somebody has to name; nothing is accepted where nothing drafts."""
    draft = tuple(flags.get("draft") or (plan.plan.draft if plan else None) or ())
    acceptance = () if draft == (_NONE,) else ("acceptance",)
    return ("target", "draft", "hardware", *acceptance)


def _refuse_bound(scenario: Scenario, catalogue: Catalogue) -> None:
    """Refuses engines that are bounds, naming those with kernels for the accelerators."""
    bound = next((s for s in scenario.setups if s.engine.kind == "bound"), None)
    if bound is None:
        return
    card = bound.hardware
    engines = [one.card for one in catalogue.every(Engine) if one.card.kind != "bound"]
    own = [engine.name for engine in engines if engine.on(card.name)]
    others = [engine.name for engine in engines if engine.name not in own]
    hint = (
        f"with kernels for {card.name}: {', '.join(own)}"
        if own
        else f"none has kernels for {card.name}; {', '.join(others)} take those of another GPU"
    )
    raise UsageError(
        f"{bound.engine.name} is a bound: GPUs would be too few",
        where=Where("--engine"),
        expected="an engine",
        hint=hint,
    )


def _more(gating: Gating, fleet: Fleet) -> dict[str, Any]:
    """What the answer rests on beside the scenario and the traffic."""
    said = {**asdict(gating), **asdict(fleet)}
    return {name: value for name, value in said.items() if value not in {None, False}}
