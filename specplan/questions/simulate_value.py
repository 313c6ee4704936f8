"""From the runs of a simulation to its value and its table."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from specplan.domain.answer import Column, Scalar
from specplan.domain.slo import Slo
from specplan.domain.traffic import Traffic
from specplan.questions.simulated import Held, Histogram, OfBatch, OfK, Simulated, Strip
from specplan.serving.outcome import LAWS, PERCENTILES, Estimate, Outcomes
from specplan.serving.record import FINEST_S, RESOLUTION, Timeline
from specplan.serving.replica import Replica
from specplan.serving.simulation import WARM_UP

_PLACES = ("mean", *(f"p{p:g}".replace(".", "_") for p in PERCENTILES))
UNITS = {
    **dict.fromkeys(LAWS, "s"),
    **dict.fromkeys(("requests_per_s", "goodput_per_s", "tokens_per_s", "prompt_per_s"), "1/s"),
    "batch_mean": "sequences",
    "tokens_per_round": "tokens",
}
COLUMNS = (
    Column("measure", "", "measure", "text", "what is measured"),
    Column("unit", "", "unit", "text", "the unit of all figures of the row; 1 is a share"),
    *(
        column
        for place in _PLACES
        for column in (
            Column(
                place, "row's unit", place.replace("_", "."), "seconds", "over requests or gaps"
            ),
            Column(f"{place}_ci95", "row's unit", "+-", "seconds", "half of its 95 % interval"),
        )
    ),
)
ASIDE = (Column("is_time", "", "", "flag", "a law of times"),)


def value_of(found: Outcomes, replica: Replica, slo: Slo, seed: int, traffic: Traffic) -> Simulated:
    """All runs together."""
    shares, rounds = found.k_shares(), found.k_rounds()
    held = tuple(_held(found, slo))
    every = zip(found.law("batch_law").tolist(), found.law("batch_rounds").tolist(), strict=True)
    good = found.estimates("good")[0].value if slo.limits else None
    return Simulated(
        policy=replica.policy.name,
        gpus=replica.gpus,
        requests=found.count("requests"),
        done=found.count("done"),
        refused=found.count("refused"),
        preempted=found.count("preempted"),
        unfinished=found.count("unfinished"),
        left=found.count("left"),
        steps=found.count("steps"),
        tokens_asked=found.count("asked"),
        tokens_made=found.count("made"),
        seconds=sum(run.seconds for run in found.runs),
        replications=len(found.runs),
        replications_asked=found.asked,
        interrupted=found.interrupted,
        seed=seed,
        warm_up=0.0 if traffic.trace is not None else WARM_UP,
        meets_slo=all(one.met for one in held) if held else None,
        good_share=_known(good) if good is not None else None,
        limits=held,
        k=tuple(OfK(k, share.value, share.half, rounds[k].value) for k, share in shares.items()),
        batch=tuple(
            OfBatch(size, time, share) for size, (time, share) in enumerate(every) if time or share
        ),
        histograms={
            name: _histogram(found.histogram(name).tolist()) for name in LAWS if name != "itl"
        },
        timeline=_strip(found.runs[0].timeline),
    )


def _held(found: Outcomes, slo: Slo) -> Iterator[Held]:
    """Each limit, with what was reached."""
    for limit in slo.limits:
        share, reached = found.estimates(str(limit))
        yield Held(
            limit=str(limit),
            limit_s=limit.limit_s,
            reached_s=_known(reached.value),
            ci95_s=_known(reached.half),
            share=_known(share.value),
            met=math.isnan(reached.value) or reached.value <= limit.limit_s,
            unsure=reached.half is not None and abs(reached.value - limit.limit_s) <= reached.half,
        )


def _histogram(counts: list[float]) -> Histogram:
    """Without the empty bins before the first and after the last."""
    used = [i for i, count in enumerate(counts) if count]
    first, last = (used[0], used[-1]) if used else (0, -1)
    return Histogram(
        from_s=FINEST_S * (1 + RESOLUTION) ** first,
        ratio=1 + RESOLUTION,
        counts=tuple(int(count) for count in counts[first : last + 1]),
    )


def _strip(line: Timeline) -> Strip:
    return Strip(
        width_s=line.width_s,
        batch=tuple(line.batch.tolist()),
        waiting=tuple(line.waiting.tolist()),
        k=tuple(_known(k) for k in line.k.tolist()),
        kv_share=tuple(line.kv_share.tolist()),
    )


def records(found: Outcomes) -> Iterator[Mapping[str, Scalar]]:
    """The table: a law of times, a rate, a share of time at a k, a limit."""
    for name in found.names:
        yield _record(name, UNITS.get(name, "1"), found.estimates(name))
    for k, share in found.k_shares().items():
        yield _record(f"time at k={k}", "1", (share,))


def _record(name: str, unit: str, figures: tuple[Estimate, ...]) -> dict[str, Scalar]:
    record: dict[str, Scalar] = {"measure": name, "unit": unit, "is_time": name in LAWS}
    law = name in LAWS
    for i, place in enumerate(_PLACES):
        told = figures[i] if i < (len(figures) if law else 1) else None
        record[place] = _known(told.value) if told else None
        record[f"{place}_ci95"] = _known(told.half) if told else None
    return record


def _known(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else value
