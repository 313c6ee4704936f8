"""How a simulation is told: what requests wait for, then what the server does."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from specplan.domain.acceptance import Alpha
from specplan.domain.answer import Facts, Rows, View
from specplan.domain.scenario import Scenario, Setup
from specplan.domain.traffic import Traffic
from specplan.questions.common import dtype_words, percent
from specplan.questions.simulated import Held, Simulated
from specplan.questions.traffic_view import duration, traffic_facts
from specplan.serving.lock_step import Static
from specplan.serving.outcome import Estimate, Outcomes
from specplan.units import people, significant

NEVER = Alpha(0.0)  # of a server without a drafter
SHOWN = ("measure", "mean", "mean_ci95", "p50", "p90", "p95", "p99", "p99_9")


def page(
    value: Simulated,
    found: Outcomes,
    setup: Setup,
    scenario: Scenario,
    traffic: Traffic,
    static: Static | None,
) -> View:
    """The page of an answer."""
    names = [name for name in SHOWN if found.asked > 1 or name != "mean_ci95"]
    return View(
        title=_verdict(value, found),
        caption=tuple(_caption(value, setup, scenario, static)),
        sections=(
            Rows(columns=tuple(names), where="is_time"),
            *([Facts(tuple(map(_limit, value.limits)))] if value.limits else []),
            Facts(tuple(_facts(value, found))),
            Facts(traffic_facts(traffic)),
        ),
    )


def _verdict(value: Simulated, found: Outcomes) -> str:
    if value.meets_slo is not None:
        unsure = any(one.unsure for one in value.limits)
        words = "The SLO holds" if value.meets_slo else "The SLO does not hold"
        return f"{words}{', within chance' if unsure else ''}"
    ttft, tpot = found.estimates("ttft"), found.estimates("tpot")
    words = f"TTFT p95 {people(ttft[3].value, 's')}"
    if math.isnan(tpot[0].value):  # requests of one token
        return words
    return f"{words}, TPOT {people(tpot[0].value, 's')} on average"


def _caption(
    value: Simulated, setup: Setup, scenario: Scenario, static: Static | None
) -> Iterator[str]:
    yield f"{setup.label}, {dtype_words(setup)}"
    words = [f"speculation {value.policy}" if value.policy != "none" else "no speculation"]
    if value.policy != "none":
        words.append(f"acceptance {scenario.acceptance[0]}")
    if static:
        words.append(f"static batches of {static.size}")
    runs = f"{value.replications:,} run{'s' if value.replications > 1 else ''}"
    words.append(f"{runs}, seed {value.seed}")
    yield ", ".join(words)


def _limit(one: Held) -> tuple[str, str]:
    if one.reached_s is None:
        return one.limit, "no request has one"
    words = people(one.reached_s, "s")
    if one.ci95_s is not None:
        words += f" +-{people(one.ci95_s, 's')}"
    sign = "within" if one.met else "beyond"
    words += f", {sign} {people(one.limit_s, 's')}"
    if one.share is not None:
        words += f"; {percent(one.share)} are within it"
    return one.limit, words


def _facts(value: Simulated, found: Outcomes) -> Iterator[tuple[str, str]]:
    """What the server did."""

    def told(name: str, show: Callable[[float], str] = significant) -> str:
        return _told(found.estimates(name)[0], show)

    words = f"{value.requests:,} counted in {duration(value.seconds)}: {told('requests_per_s')}/s"
    yield "served", words
    if value.good_share is not None:
        yield (
            "goodput",
            f"{told('goodput_per_s')}/s meet all limits, {percent(value.good_share)} of them",
        )
    words = f"{told('tokens_per_s', _whole)} tok/s"
    yield "output", f"{words}, {told('tokens_per_round')} a round" if value.k else words
    yield "batch", f"{told('batch_mean')} on average, busy {told('utilisation', percent)}"
    if value.k:
        shares = ", ".join(f"{of.k} {percent(of.time_share)}" for of in value.k)
        yield "k", f"{shares} of the time"
    yield (
        "cache",
        f"{told('kv_share', percent)} on average, {told('kv_peak', percent)} at most, "
        f"{value.preempted:,} preempted",
    )


def _told(one: Estimate, show: Callable[[float], str]) -> str:
    return show(one.value) + (f" +-{show(one.half)}" if one.half is not None else "")


def _whole(value: float) -> str:
    return f"{value:,.0f}"
