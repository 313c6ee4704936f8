"""What a capacity plan takes for granted, what it leaves out, and at whose prices it costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from specplan.domain.contest import undrafted
from specplan.domain.scenario import Scenario
from specplan.questions.bills import bill_of, fitting_tp
from specplan.questions.capacity_row import Row
from specplan.questions.capacity_size import Asked
from specplan.questions.common import percent
from specplan.questions.compare_judge import place_of
from specplan.questions.cost import STATED

BURSTY = 1.5  # dispersion at a replica from which high percentiles are only rough
CROWDED = 0.6  # of the pool on average: beyond it, it is full at times


def notes(rows: Sequence[Row], asked: Asked, bin_s: float) -> Iterator[str]:
    """What was taken for granted, and where a server has two ways to settle."""
    if not asked.slo.limits:
        yield "nothing is promised: these GPUs keep up, however long requests wait; see --slo"
    if not asked.margin:
        yield "no head-room: replicas run at the largest rate that keeps the promises; see --margin"
    if asked.gate_tax == 0 and any(_switches(row) for row in rows):
        yield (
            "a gate that is off is taken to cost nothing; vllm issue 49548 measured 6.6 to 21.6 %: "
            "see --gate-tax"
        )
    yield from _beyond(rows)
    for row in rows:
        if row.fixed_points:
            yield (
                f"{row.draft} {row.policy} on {row.tp}x {row.hardware} can settle at batches of "
                f"{row.fixed_points}: it stays at the one that it comes from (hysteresis)"
            )
    if any(row.transfer_s for row in rows):
        yield "caches go between pools over the card's link: between nodes they take longer"
    elif any(row.pools == "apart" for row in rows):
        yield "no link is known: what caches take between pools is not counted"
    yield from _prices(rows)
    if any(row.wh_per_million_output_tokens for row in rows):
        yield "energy has every GPU at its TDP all the time: an upper bound, without the host"
    if any(row.gpu_hours is not None for row in rows):
        yield (
            f"GPUs over time: replicas that come and go with bins of {bin_s:g} s at no cost, which "
            "no server does (llm-d issue 1499)"
        )


def peaks(rows: Sequence[Row], asked: Asked, bin_s: float) -> Iterator[str]:
    """That a plan for the mean of a trace is none for its busiest time, where that takes more."""
    for row in rows:
        if row.gpus is not None and (row.peak_gpus or 0) > row.gpus:
            rate = asked.traffic.rate_per_s
            yield (
                f"GPUs are those of {rate:.3g} requests/s, the mean: the busiest {bin_s:g} s take "
                f"{row.peak_gpus:,}, not {row.gpus:,}, and break promises made of them; "
                f'--window "peak {bin_s:g} s" plans for those'
            )
            return


def _beyond(rows: Sequence[Row]) -> Iterator[str]:
    """What the laws of a steady server leave out: arrivals that are burstier than they follow
    closely, and sequences that give way where the pool is full.
    """
    bursts = max((row.dispersion or 0.0 for row in rows), default=0.0)
    if bursts >= BURSTY:
        yield (
            f"arrivals come in bursts (dispersion {bursts:.3g} at a replica): high percentiles are "
            "rough, those of TPOT mostly too low; simulate replays them"
        )
    held = max((row.kv_share or 0.0 for row in rows), default=0.0)
    if held >= CROWDED:
        yield (
            f"a pool is {percent(held, 0)} full on average: that sequences are preempted and read "
            "again where it is full is not in these figures; simulate has it"
        )


def _prices(rows: Sequence[Row]) -> Iterator[str]:
    """At whose prices costs are, where nobody stated one, and who has none."""
    found = {
        row.hardware: f"{row.hardware} {row.usd_per_gpu_hour:g} USD/h ({row.price})"
        for row in rows
        if row.usd_per_gpu_hour is not None and row.price != STATED
    }
    if found:
        yield f"a GPU at its card's lowest price: {', '.join(found.values())}"
    for name in dict.fromkeys(row.hardware for row in rows if row.gpus and not row.price):
        yield f"no price of {name} is known, hence no cost; see --usd-per-gpu-hour"


def wider(scenario: Scenario) -> Iterator[str]:
    """On how many GPUs the longest request would fit, where no plan holds it."""
    longest = scenario.context[0] + scenario.growth
    for setup in {place_of(setup): setup for setup in scenario.setups}.values():
        plain = undrafted(setup)
        bill = bill_of(plain, longest)
        tp = fitting_tp(plain, longest, 1) if bill.shortfall_bytes else None
        if tp:
            yield f"{setup.target.name} would fit on {setup.hardware.name} with --tp {tp}"


def _switches(row: Row) -> bool:
    """Whether a gated one decodes plainly at some load."""
    return row.policy == "gated" and row.schedule is not None and row.schedule.endswith(", 0")
