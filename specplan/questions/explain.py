"""One point taken apart: where the time of a plain step and of a round goes, and why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from specplan.domain.answer import Answer, Column, Scalar, table_of
from specplan.domain.scenario import Scenario, Setup
from specplan.errors import UsageError
from specplan.physics.prefill import prefill
from specplan.physics.round import (
    Timed,
    Timing,
    bound_names,
    ideal_rounds,
    seen_by,
    time_rounds,
)
from specplan.physics.steps import EXCHANGE, Share, Step, arithmetic
from specplan.physics.survival import tokens_of
from specplan.physics.tokens import FloatArray
from specplan.questions.beyond import paid_alone
from specplan.questions.bills import bill_at, cap_notes, usual_k
from specplan.questions.common import basis_of, one_setup, refuse_mix
from specplan.questions.explain_picture import drawn
from specplan.questions.explain_view import Explained, PassFigures, draft_names, explained
from specplan.questions.weigh import Point, weigh

COLUMNS = (
    Column(
        "pass",
        "",
        "pass",
        "text",
        "plain, draft keys, first draft (once a round), draft (each), draft tokens, verify",
    ),
    Column("term", "", "term", "text", "kernels of one purpose, all layers"),
    Column("time_s", "s", "time", "seconds"),
    Column("share", "1", "share", "percent", "of the pass"),
    Column("flops", "FLOP", "FLOP", "number", "on one GPU"),
    Column("traffic_bytes", "B", "bytes", "bytes", "to and from the memory of one GPU"),
    Column("intensity", "FLOP/B", "FLOP/B", "number", "arithmetic intensity"),
    Column("launches", "1", "launches", "count", "kernels started"),
    Column("bound_by", "", "bound by", "text", "memory, compute, latency or network"),
)


def explain(scenario: Scenario) -> Answer:
    """The parts of one point; the scenario names one setup, batch, context and acceptance, and one
    k, or none to have the best of its candidates explained.
    """
    refuse_mix(scenario, "explain")
    setup = one_setup(scenario, "explain")
    axes = {
        "batch": scenario.batch,
        "context": scenario.context,
        "acceptance": scenario.acceptance,
        "k": scenario.k or (0,),
    }
    for name, axis in axes.items():
        if len(axis) != 1:
            raise UsageError(
                f"explain is about one point, not {len(axis)} of {name}", hint=f"give one {name}"
            )
    if not scenario.k:
        scenario = replace(scenario, k=(_best(scenario, setup),))
    longest = setup.draft.max_k
    if longest is not None and scenario.k[0] > longest:
        what = f"draft {setup.draft.label} cannot propose k = {scenario.k[0]}"
        raise UsageError(what, expected=f"at most {longest}", hint=f"write -k {longest}")
    setup = seen_by(setup, scenario.acceptance[0], scenario.context[0])
    timing = time_rounds(setup, scenario.context, scenario.batch, scenario.k)
    ideal = ideal_rounds(setup, scenario.context, scenario.batch, scenario.k)
    value = _value(scenario, setup, timing, ideal)
    table = table_of(COLUMNS, list(_rows(setup, timing)))
    return Answer(
        command="explain",
        value=value,
        table=table,
        view=replace(explained(scenario, setup, value), picture=lambda: drawn(setup, value, table)),
        basis=basis_of(scenario),
        inputs=scenario.inputs,
        notes=(*scenario.notes, *_misfit(scenario, setup)),
    )


def _best(scenario: Scenario, setup: Setup) -> int:
    """The draft length of the highest speedup."""
    (batch,), (context,), (acceptance,) = scenario.batch, scenario.context, scenario.acceptance
    weighed = weigh(Point(setup, context, batch, acceptance, scenario.growth), scenario.candidates)
    return weighed.k[weighed.best()]


def _misfit(scenario: Scenario, setup: Setup) -> Iterator[str]:
    """A note where the batch does not fit, with the drafter unless it drafts nothing, or waits."""
    (batch,), (context,), (k,) = scenario.batch, scenario.context, scenario.k
    yield from cap_notes((setup,), batch, scenario.k)
    bill = bill_at(setup, context + scenario.growth, usual_k(setup, scenario.k))
    largest = int(bill.largest if k else bill.largest_plain)
    if batch > largest:
        end = f"memory ends at {largest:,}" if largest else "no sequence fits"
        yield f"batch {batch:,.0f} does not fit: {end}"


def _value(scenario: Scenario, setup: Setup, timing: Timing, ideal: Timing) -> Explained:
    (k,), (acceptance,) = scenario.k, scenario.acceptance
    (context,) = scenario.context
    tokens = float(tokens_of(acceptance, (k,), context)[0])
    plain = _figures(setup, timing.plain, ideal.plain)
    verify = _figures(setup, timing.verify, ideal.verify)
    pairs = zip(timing.drafts, ideal.drafts, strict=True)
    drafts = tuple(_figures(setup, timed, at_best) for timed, at_best in pairs)
    round_s = float(timing.round_s.item())
    ideal_round_s = float(ideal.round_s.item())
    return Explained(
        k=k,
        tokens_per_round=tokens,
        speedup=tokens * float(timing.gain.item()),
        ideal_speedup=tokens * float(ideal.gain.item()),
        plain=plain,
        verify=verify,
        drafts=drafts,
        draft_passes=draft_names(timing.does),
        passes=setup.draft.passes(k),
        draft_s=float(timing.draft_s.item()),
        prefill=prefill(setup, max(scenario.context[0] - scenario.growth, 1.0)),
        round_s=round_s,
        waits_s=round_s - ideal_round_s,
        ridge=setup.hardware.ridge(setup.hardware.compute_dtype(setup.dtype)),
        longer=tuple(_longer(timing)),
        paid_alone=paid_alone(timing),
    )


def _longer(timing: Timing) -> Iterator[tuple[str, float]]:
    """What each term takes more in verification than in a plain step (less: below 0), the terms
    that differ most first, in seconds.
    """
    plain, verify = timing.plain, timing.verify
    if not isinstance(plain, Step) or not isinstance(verify, Step):
        return
    more = {share.name: _one(share.time_s) for share in verify.shares}
    for share in plain.shares:
        more[share.name] = more.get(share.name, 0.0) - _one(share.time_s)
    yield from sorted(((n, s) for n, s in more.items() if s), key=lambda pair: -abs(pair[1]))


def _figures(setup: Setup, timed: Timed, ideal: Timed) -> PassFigures:
    time_s = float(timed.time_s.item())
    return PassFigures(
        time_s=time_s,
        ideal_s=float(ideal.time_s.item()),
        mbu=float(timed.traffic_bytes.item()) / setup.hardware.bandwidth / time_s,
        mfu=float(timed.compute_s.item()) / time_s,
        flops_per_s=float(timed.flops.item()) / time_s,
        intensity=float(timed.intensity.item()),
        bound_by=str(bound_names(timed).item()),
    )


def _rows(setup: Setup, timing: Timing) -> Iterator[dict[str, Scalar]]:
    """Term by term; the ideal roofline knows no terms."""
    drafts = dict(zip(draft_names(timing.does), timing.drafts, strict=True))
    passes = {"plain": timing.plain, **drafts, "verify": timing.verify}
    for name, timed in passes.items():
        whole = float(timed.time_s.item())
        shares = timed.shares if isinstance(timed, Step) else (_whole(timed),)
        for share in (one for one in shares if _one(one.time_s) > 0):
            yield _row(setup, name, share, whole) | {"launches": round(share.launches)}


def _whole(timed: Timed) -> Share:
    """The ideal roofline's pass as its only term."""
    figures = (timed.time_s, timed.flops, timed.traffic_bytes, timed.compute_s)
    return Share("whole pass", *figures, 1.0)


def _row(setup: Setup, name: str, share: Share, whole_s: float) -> dict[str, Scalar]:
    time_s, flops, moved = _one(share.time_s), _one(share.flops), _one(share.traffic_bytes)
    compute_s, memory_s = _one(share.compute_s), moved / setup.hardware.bandwidth
    return {
        "pass": name,
        "term": share.name,
        "time_s": time_s,
        "share": time_s / whole_s,
        "flops": flops,
        "traffic_bytes": moved,
        "intensity": flops / moved if moved else None,
        "bound_by": _binding(share.name, time_s, compute_s, memory_s),
    }


def _binding(term: str, time_s: float, compute_s: float, memory_s: float) -> str:
    """What takes a term's time: traffic where it is half of it at full rate."""
    if term == EXCHANGE:
        return "network"
    if arithmetic(compute_s, memory_s, time_s):
        return "compute"
    return "memory" if memory_s >= max(compute_s, time_s / 2) else "latency"


def _one(array: FloatArray) -> float:
    return float(np.asarray(array).item())
