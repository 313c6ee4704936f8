"""Traffic replayed through a simulated server: what its requests wait for."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from specplan.domain.accounting import Limits
from specplan.domain.answer import Answer, table_of
from specplan.domain.scenario import Scenario, Setup
from specplan.domain.slo import Slo
from specplan.domain.traffic import Traffic
from specplan.errors import Refused, Unfit, UsageError, Where
from specplan.questions import simulate_view
from specplan.questions.bills import NO_LIMITS
from specplan.questions.common import basis_of, one_setup, refuse_mix
from specplan.questions.replicas import (
    Shape,
    fixed_replica,
    gated_replica,
    plain_replica,
    shape_of,
)
from specplan.questions.simulate_picture import drawn
from specplan.questions.simulate_value import ASIDE, COLUMNS, records, value_of
from specplan.questions.simulated import Simulated
from specplan.questions.weigh import lengths
from specplan.serving.entries import Gating
from specplan.serving.lock_step import Static
from specplan.serving.outcome import Outcomes
from specplan.serving.replica import Replica
from specplan.serving.replications import Job, replicate
from specplan.serving.simulation import NO_SLO, WARM_UP, nothing

REQUESTS = 10_000  # of traffic that is drawn, where nobody says how many
MOST_REQUESTS = 5_000_000
MOST_RUNS = 1_000
MOST_WORKERS = 256
QUEUE_LEFT = 0.05  # of the requests, waiting when the last one comes: the server does not keep up


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What is simulated and how often. `k` is a draft length, 0 for none, or None for the k of each
    batch (`candidates`); `seconds` or `requests` of traffic that is drawn, the first requests of a
    trace.
    """

    k: int | None
    candidates: tuple[int, ...] = ()
    seconds: float | None = None
    requests: int | None = None
    seed: int = 0
    replications: int = 1
    workers: int = 1
    gating: Gating = Gating()  # noqa: RUF009 - frozen
    gate_tax: float = 0.0
    static: Static | None = None


def simulate(
    scenario: Scenario,
    traffic: Traffic,
    options: Options,
    *,
    slo: Slo = NO_SLO,
    limits: Limits = NO_LIMITS,
    told: Callable[[int], None] = nothing,
) -> Answer:
    """What requests wait for on one replica of a setup, and what the server does meanwhile.

    Replications differ by their draws; intervals are Student's over them. `told` of requests that
    have come. It is the answer no where a limit of the SLO does not hold on average. A
    KeyboardInterrupt that leaves nothing to show says why.
    """
    setup = _asked(scenario, options)
    shape = _shape(traffic)
    replica = _replica(scenario, setup, shape, options, limits)
    job = Job(
        replica=replica,
        traffic=traffic,
        seconds=_seconds(traffic, options),
        requests=options.requests if options.seconds or options.requests else _usual(traffic),
        seed=options.seed,
        gating=options.gating,
        static=options.static,
        slo=slo,
    )
    found = replicate(job, options.replications, options.workers, told)
    if not found.runs:
        raise KeyboardInterrupt(_too_early(traffic, options))
    if not found.count("requests"):
        raise Refused(_nothing(found), hint="more requests, or a longer --duration")
    value = value_of(found, replica, slo, options.seed, traffic)
    return Answer(
        command="simulate",
        value=value,
        table=table_of(COLUMNS, list(records(found)), ASIDE),
        view=replace(
            simulate_view.page(value, found, setup, scenario, traffic, options.static),
            picture=lambda: drawn(value, found, slo),
        ),
        basis=basis_of(replace(scenario, context=(shape.context,))),
        inputs=scenario.inputs,
        notes=(*scenario.notes, *traffic.notes, *_notes(value, found, traffic, options)),
        ok=value.meets_slo is not False,
    )


def _asked(scenario: Scenario, options: Options) -> Setup:
    """The setup, where the question makes sense."""
    refuse_mix(scenario, "simulate")
    setup = one_setup(scenario, "simulate")
    if setup.engine.kind == "bound":
        raise UsageError(
            f"{setup.engine.name} is a bound: no server steps that fast",
            where=Where("--engine"),
            expected="an engine, such as vllm",
        )
    if len(scenario.acceptance) > 1:
        raise UsageError("simulate is about one acceptance", where=Where("--acceptance"))
    if options.k and setup.draft.max_k == 0:
        raise UsageError(f"nothing drafts k = {options.k}", where=Where("-k"), hint="name one: -d")
    for name, value, least, most in (
        ("requests", options.requests, 1, MOST_REQUESTS),
        ("replications", options.replications, 1, MOST_RUNS),
        ("workers", options.workers, 1, MOST_WORKERS),
    ):
        if value is not None and not least <= value <= most:
            what = f"{value:,} is out of range"
            raise UsageError(what, where=Where(f"--{name}"), expected=f"{least:,} to {most:,}")
    if not 0 <= options.gate_tax <= 1:
        what = f"{options.gate_tax:g} is out of range"
        raise UsageError(what, where=Where("--gate-tax"), expected="0 to 1")
    return setup


def _seconds(traffic: Traffic, options: Options) -> float:
    """How long requests are drawn, at most: those beyond the number that is asked for are cut."""
    if traffic.trace is not None:
        if options.seconds:
            raise UsageError(
                "a trace says itself how long it is",
                where=Where("--duration"),
                hint="--window takes a part of it, --requests its first requests",
            )
        return 0.0
    if options.seconds:
        expected = traffic.rate_per_s * options.seconds
        if expected > MOST_REQUESTS:
            what = f"{expected:,.0f} requests are too many"
            raise UsageError(what, where=Where("--duration"), expected=f"at most {MOST_REQUESTS:,}")
        return options.seconds
    return 1.2 * (options.requests or REQUESTS) / traffic.rate_per_s


def _usual(traffic: Traffic) -> int | None:
    return REQUESTS if traffic.trace is None else None


def _shape(traffic: Traffic) -> Shape:
    """Of its lengths; the longest is one that comes, which the means of a trace hide."""
    shape, trace = shape_of(traffic.lengths), traffic.trace
    if trace is None or not len(trace):
        return Shape(shape.context, math.ceil(shape.longest))
    longest = max(isl + osl for isl, osl in zip(trace.isl, trace.osl, strict=True))
    return Shape(shape.context, float(longest))


def _replica(
    scenario: Scenario, setup: Setup, shape: Shape, options: Options, limits: Limits
) -> Replica:
    """The server that is simulated."""
    plain = setup.draft.max_k == 0 or options.k == 0
    if not plain and not scenario.acceptance:
        raise UsageError("how likely is a draft token accepted?", where=Where("--acceptance"))
    if plain:
        acceptance = scenario.acceptance[0] if scenario.acceptance else simulate_view.NEVER
        found = plain_replica(setup, acceptance, shape, limits)
    elif options.k is None:
        candidates = lengths(setup, options.candidates or scenario.candidates)
        found = gated_replica(
            setup, scenario.acceptance[0], shape, candidates, limits, tax=options.gate_tax
        )
    else:
        found = fixed_replica(setup, scenario.acceptance[0], shape, options.k, limits)
        found = replace(found, policy=replace(found.policy, tax=options.gate_tax))
    if not found.room.fits(1):
        raise Unfit(
            "no sequence fits beside the weights",
            hint="a larger card, more --tp, or a smaller dtype",
        )
    return found


def _too_early(traffic: Traffic, options: Options) -> str:
    """Why an interruption leaves nothing to show."""
    if min(options.replications, options.workers) > 1:
        return f"interrupted before one of {options.replications:,} replications was done"
    if traffic.trace is not None:
        return "interrupted before a request was done"
    return f"interrupted in the first {WARM_UP:.0%} of the time, of which nothing is counted"


def _nothing(found: Outcomes) -> str:
    refused = found.count("refused")
    if refused:
        return f"none of {refused:,} requests fits into the cache"
    return "no request came after the warm-up"


def _notes(value: Simulated, found: Outcomes, traffic: Traffic, options: Options) -> Iterator[str]:
    """What was cut, what was refused, and how sure this is."""
    if found.interrupted:
        done = f"{value.replications} of {found.asked} replications"
        words = f"{value.done:,} requests" if found.asked == 1 else done
        yield f"interrupted: these figures are of the {words} that were done"
    if traffic.trace is None:
        yield (
            f"requests of the first {WARM_UP:.0%} of the time warm the server up and are not "
            "counted; those still running when the last one comes are served to their end"
        )
    elif options.replications > 1:
        yield "a trace comes as it was recorded: replications differ in what is accepted alone"
    if found.asked == 1:
        yield "one run has no intervals: --replications 10"
    if value.refused:
        yield f"{value.refused:,} requests are longer than the cache: refused, and not counted"
    if value.left > max(QUEUE_LEFT * value.requests, 10):
        yield (
            f"{value.left:,} requests waited when the last one came: the server does not keep up, "
            "and longer runs wait longer"
        )
