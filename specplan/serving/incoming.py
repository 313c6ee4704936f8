"""Traffic made of what is known: a trace, or a rate and lengths; and a trace drawn of traffic."""

from __future__ import annotations

import numpy as np

from specplan.domain.traffic import Lengths, Trace, Traffic
from specplan.errors import Refused
from specplan.serving.arrivals import (
    BIN_S,
    Statistics,
    dispersion,
    doubles,
    longs,
    renewals,
    statistics,
    summary_of_parts,
    times,
)
from specplan.serving.lengths import draw_lengths, recorded


def replayed(trace: Trace, notes: tuple[str, ...] = ()) -> Traffic:
    """The traffic that a trace records. Its dispersion is that of one-second bins."""
    at, span_s = times(trace), trace.span_s
    if not len(at) or span_s <= 0:
        raise Refused(
            "all requests of the trace come at once: it has no rate",
            hint="arrivals are drawn at --rate where --columns isl=NAME,osl=NAME names none",
        )
    return Traffic(
        rate_per_s=len(at) / span_s,
        lengths=recorded(trace),
        dispersion=dispersion(at, BIN_S, span_s),
        trace=trace,
        source=trace.source,
        notes=notes,
    )


def steady(
    rate_per_s: float,
    lengths: Lengths,
    *,
    cv: float = 1.0,
    source: str = "",
    notes: tuple[str, ...] = (),
) -> Traffic:
    """Requests at one rate with independent gaps whose coefficient of variation is `cv`; counts
    over long times then have the dispersion cv squared (Cox, Renewal Theory, 1962, ch. 4).
    """
    return Traffic(
        rate_per_s=rate_per_s, lengths=lengths, dispersion=cv * cv, source=source, notes=notes
    )


def drawn(traffic: Traffic, seconds: float, seed: int) -> Trace:
    """Requests of so many seconds: the trace itself where there is one, or else arrivals and
    lengths by the seed, the same each time. There may be none.
    """
    if traffic.trace is not None:
        return traffic.trace
    rng = np.random.default_rng([seed, 3])
    at = renewals(traffic.rate_per_s, traffic.dispersion, seconds, rng)
    isl, osl, hit = draw_lengths(traffic.lengths, len(at), rng)
    return Trace(
        arrival_s=doubles(at),
        isl=longs(isl),
        osl=longs(osl),
        hit=longs(hit) if any(traffic.lengths.hit) else (),
        form="drawn",
        source=traffic.source,
        covers_s=seconds,
    )


def traffic_statistics(traffic: Traffic) -> Statistics:
    """What is known of traffic: of its trace, or else of its rate and its lengths."""
    if traffic.trace is not None:
        return statistics(traffic.trace)
    isl, osl, hit, weight = (
        np.asarray(values, np.float64)
        for values in (
            *(traffic.lengths.isl, traffic.lengths.osl),
            *(traffic.lengths.hit, traffic.lengths.weight),
        )
    )
    share = float(weight @ hit / (weight @ isl))
    return Statistics(
        requests=None,
        span_s=None,
        rate_per_s=traffic.rate_per_s,
        peak_60s_per_s=None,
        gap_cv=None,
        dispersion=traffic.dispersion,
        isl=summary_of_parts(isl, weight),
        osl=summary_of_parts(osl, weight),
        hit_share=share or None,
    )
