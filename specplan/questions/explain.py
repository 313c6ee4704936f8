"""One point taken apart: where the time of a plain step and of a round goes, and why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from specplan.domain.answer import (
    Answer,
    Chart,
    Column,
    Curve,
    Facts,
    Lines,
    Mark,
    Rows,
    Scalar,
    View,
    table_of,
)
from specplan.domain.scenario import Scenario, Setup
from specplan.errors import UsageError
from specplan.physics.round import Timed, Timing, bound_names, ideal_rounds, time_rounds
from specplan.physics.steps import Share, Step
from specplan.physics.tokens import FloatArray, expected_tokens
from specplan.questions.beyond import paid_alone
from specplan.questions.common import basis_of, dtype_words, one_setup, percent, refuse_mix, times
from specplan.units import people

COLUMNS = (
    Column("pass", "", "pass", "text", "plain step, one draft pass, or verification"),
    Column("term", "", "term", "text", "kernels of one purpose, all layers"),
    Column("time_s", "s", "time", "seconds"),
    Column("share", "1", "share", "percent", "of the pass"),
    Column("flops", "FLOP", "FLOP", "number", "on one GPU"),
    Column("traffic_bytes", "B", "bytes", "bytes", "to and from the memory of one GPU"),
    Column("intensity", "FLOP/B", "FLOP/B", "number", "arithmetic intensity"),
    Column("launches", "1", "launches", "count", "kernels started"),
    Column("bound_by", "", "bound by", "text", "memory, compute, latency or network"),
)
SHOWN = ("pass", "term", "time_s", "share", "traffic_bytes", "intensity", "bound_by")


@dataclass(frozen=True, slots=True)
class PassFigures:
    """One pass as a whole: seconds here and in the ideal roofline; MBU and MFU of its GPU."""

    time_s: float
    ideal_s: float
    mbu: float
    mfu: float
    intensity: float
    bound_by: str


@dataclass(frozen=True, slots=True)
class Explained:
    """A round of k drafts beside a plain step. `waits_s` is what neither traffic nor arithmetic
    at the card's own rates accounts for; `paid_alone` is what a plain step pays and verification
    does not, where that takes the speedup above the tokens of a round.
    """

    k: int
    tokens_per_round: float
    speedup: float
    ideal_speedup: float
    plain: PassFigures
    verify: PassFigures
    draft: PassFigures | None
    passes: int
    draft_s: float
    round_s: float
    waits_s: float
    ridge: float
    paid_alone: str | None


def explain(scenario: Scenario) -> Answer:
    """The parts of one point; the scenario names one setup, batch, context, acceptance and k."""
    refuse_mix(scenario, "explain")
    setup = one_setup(scenario, "explain")
    axes = (scenario.batch, scenario.context, scenario.acceptance, scenario.k)
    if any(len(axis) != 1 for axis in axes):
        raise UsageError(
            "explain is about one point", hint="give one batch, context, acceptance and k"
        )
    timing = time_rounds(setup, scenario.context, scenario.batch, scenario.k)
    ideal = ideal_rounds(setup, scenario.context, scenario.batch, scenario.k)
    value = _value(scenario, setup, timing, ideal)
    return Answer(
        command="explain",
        value=value,
        table=table_of(COLUMNS, list(_rows(setup, timing))),
        view=_view(scenario, setup, value),
        basis=basis_of(scenario),
        inputs=scenario.inputs,
        notes=scenario.notes,
    )


def _value(scenario: Scenario, setup: Setup, timing: Timing, ideal: Timing) -> Explained:
    (k,), (acceptance,) = scenario.k, scenario.acceptance
    tokens = float(expected_tokens(acceptance.alpha, k))
    plain = _figures(setup, timing.plain, ideal.plain)
    verify = _figures(setup, timing.verify, ideal.verify)
    draft = None
    if timing.draft is not None and ideal.draft is not None:
        draft = _figures(setup, timing.draft, ideal.draft)
    round_s = float(timing.round_s.item())
    ideal_round_s = float(ideal.round_s.item())
    return Explained(
        k=k,
        tokens_per_round=tokens,
        speedup=tokens * float(timing.gain.item()),
        ideal_speedup=tokens * float(ideal.gain.item()),
        plain=plain,
        verify=verify,
        draft=draft,
        passes=setup.draft.passes(k),
        draft_s=float(timing.draft_s.item()),
        round_s=round_s,
        waits_s=round_s - ideal_round_s,
        ridge=setup.hardware.ridge(setup.hardware.compute_dtype(setup.dtype)),
        paid_alone=paid_alone(timing),
    )


def _figures(setup: Setup, timed: Timed, ideal: Timed) -> PassFigures:
    time_s = float(timed.time_s.item())
    peak = setup.hardware.rates[setup.hardware.compute_dtype(setup.dtype)]
    return PassFigures(
        time_s=time_s,
        ideal_s=float(ideal.time_s.item()),
        mbu=float(timed.traffic_bytes.item()) / setup.hardware.bandwidth / time_s,
        mfu=float(timed.flops.item()) / peak / time_s,
        intensity=float(timed.intensity.item()),
        bound_by=str(bound_names(timed).item()),
    )


def _rows(setup: Setup, timing: Timing) -> Iterator[dict[str, Scalar]]:
    """Term by term; the ideal roofline knows no terms."""
    passes = {"plain": timing.plain, "draft": timing.draft, "verify": timing.verify}
    for name, timed in passes.items():
        if timed is None:
            continue
        whole = float(timed.time_s.item())
        shares = timed.shares if isinstance(timed, Step) else (_whole(timed),)
        for share in (one for one in shares if _one(one.time_s) > 0):
            yield _row(setup, name, share, whole) | {"launches": round(share.launches)}


def _whole(timed: Timed) -> Share:
    """The ideal roofline's pass as its only term."""
    return Share("whole pass", timed.time_s, timed.flops, timed.traffic_bytes, 1.0)


def _row(setup: Setup, name: str, share: Share, whole_s: float) -> dict[str, Scalar]:
    peak = setup.hardware.rates[setup.hardware.compute_dtype(setup.dtype)]
    time_s, flops, moved = _one(share.time_s), _one(share.flops), _one(share.traffic_bytes)
    return {
        "pass": name,
        "term": share.name,
        "time_s": time_s,
        "share": time_s / whole_s,
        "flops": flops,
        "traffic_bytes": moved,
        "intensity": flops / moved if moved else None,
        "bound_by": _binding(share.name, time_s, flops / peak, moved / setup.hardware.bandwidth),
    }


def _binding(term: str, time_s: float, compute_s: float, memory_s: float) -> str:
    """What the larger part of a term's time goes to."""
    if term == "allreduce":
        return "network"
    if max(compute_s, memory_s) < time_s / 2:
        return "latency"
    return "compute" if compute_s > memory_s else "memory"


def _one(array: FloatArray) -> float:
    return float(np.asarray(array).item())


def _view(scenario: Scenario, setup: Setup, value: Explained) -> View:
    (batch,), (context,), (acceptance,) = scenario.batch, scenario.context, scenario.acceptance
    return View(
        title=f"{times(value.speedup)} at k = {value.k}, taken apart",
        caption=(
            f"{setup.label}, {dtype_words(setup)}",
            f"batch {batch:,.0f}, context {people(context, 'tokens')}, acceptance {acceptance}",
        ),
        sections=(
            Rows(columns=SHOWN),
            Facts(tuple(_facts(value))),
            Lines(tuple(_difference(value)), wrap=True),
        ),
        chart=_chart(setup, value),
    )


def _facts(value: Explained) -> Iterator[tuple[str, str]]:
    passes = {"plain step": value.plain, "verification": value.verify}
    if value.draft:
        passes["draft pass"] = value.draft
    for name, figures in passes.items():
        yield (
            name,
            f"{people(figures.time_s, 's')} (ideal {people(figures.ideal_s, 's')}), "
            f"MBU {percent(figures.mbu)}, MFU {percent(figures.mfu)}, {figures.bound_by}",
        )
    yield (
        "round",
        f"{value.passes} draft passes {people(value.draft_s, 's')} + verification "
        f"{people(value.verify.time_s, 's')} = {people(value.round_s, 's')}, "
        f"{value.round_s / value.plain.time_s:.2f} plain steps for "
        f"{value.tokens_per_round:.2f} tokens",
    )
    yield "ridge point", f"{value.ridge:,.0f} FLOP/B; verification {value.verify.intensity:,.0f}"


def _difference(value: Explained) -> Iterator[str]:
    """What lies between the ideal roofline and this engine; a speedup above the tokens of a round
    with its cause.
    """
    if value.paid_alone:
        yield (
            f"{times(value.speedup)} is above the {value.tokens_per_round:.2f} tokens of a round: "
            f"a plain step alone pays {value.paid_alone}."
        )
    if value.ideal_speedup == value.speedup:
        return
    plain, verify = value.plain, value.verify
    yield (
        f"The ideal roofline says {times(value.ideal_speedup)}: beyond it a plain step waits "
        f"{people(plain.time_s - plain.ideal_s, 's')}, verification "
        f"{people(verify.time_s - verify.ideal_s, 's')} and drafting "
        f"{people(max(value.draft_s - _ideal_draft_s(value), 0.0), 's')}."
    )


def _ideal_draft_s(value: Explained) -> float:
    """Draft passes in the ideal roofline."""
    return value.round_s - value.waits_s - value.verify.ideal_s


def _chart(setup: Setup, value: Explained) -> Chart:
    """The roof of the card, and every pass under it."""
    peak = setup.hardware.rates[setup.hardware.compute_dtype(setup.dtype)]
    low, high = 0.5, max(value.ridge * 8, value.verify.intensity * 2)
    slope = setup.hardware.bandwidth
    roof = ((low, slope * low), (value.ridge, peak), (high, peak))
    passes = [("P", "plain step", value.plain), ("V", "verification", value.verify)]
    if value.draft:
        passes.append(("D", "draft pass", value.draft))
    return Chart(
        x_label="FLOP/B",
        y_label="FLOP/s",
        curves=(Curve(f"{setup.hardware.name} {setup.dtype}", roof),),
        marks=tuple(
            Mark(sign, name, figures.intensity, figures.mfu * peak)
            for sign, name, figures in passes
        ),
    )
