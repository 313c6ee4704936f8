"""How traffic is told: how often requests come, how unevenly, and how long they are."""

from __future__ import annotations

from specplan.domain.slo import Slo
from specplan.domain.traffic import Traffic
from specplan.questions.common import percent
from specplan.serving.arrivals import Statistics, Summary
from specplan.serving.incoming import traffic_statistics
from specplan.units import people, significant


def traffic_facts(traffic: Traffic) -> tuple[tuple[str, str], ...]:
    """Labelled lines, each at most 64 characters beside its label."""
    found = traffic_statistics(traffic)
    recorded = found.requests is not None
    pairs = [
        ("requests", _requests(found)),
        ("arrivals", _arrivals(found)),
        ("prompt tokens", _tokens(found.isl, recorded=recorded)),
        ("output tokens", _tokens(found.osl, recorded=recorded)),
    ]
    if found.hit_share:
        pairs.append(("prefix", f"{percent(found.hit_share)} of prompt tokens are in a cache"))
    return tuple(pairs)


def traffic_words(traffic: Traffic) -> str:
    """The same in a line: requests a second, and their mean lengths."""
    lengths = traffic.lengths
    isl, osl, hit = (
        sum(x * w for x, w in zip(values, lengths.weight, strict=True))
        for values in (lengths.isl, lengths.osl, lengths.hit)
    )
    words = f"{traffic.rate_per_s:.4g} requests/s of {isl:,.0f} + {osl:,.0f} tokens"
    if hit:
        words += f", {hit:,.0f} of them cached"
    if abs(traffic.dispersion - 1) > 0.005:
        words += f", dispersion {traffic.dispersion:.3g}"
    return words


def promise_words(slo: Slo) -> str:
    """What is promised: each percentile with its limit; "" where nothing is."""
    limits = ", ".join(f"{one} {people(one.limit_s, 's')}" for one in slo.limits)
    return f"{slo.name}: {limits}" if slo.name and limits else limits


def _requests(found: Statistics) -> str:
    rate = f"{significant(found.rate_per_s or 0.0)}/s"
    if not found.requests or found.span_s is None:
        return rate
    words = f"{found.requests:,} in {duration(found.span_s)}: {rate}"
    if found.peak_60s_per_s is None or found.span_s <= 60:
        return words
    return f"{words}, {significant(found.peak_60s_per_s)}/s in the busiest minute"


def _arrivals(found: Statistics) -> str:
    if found.requests is None:
        cv = (found.dispersion or 0.0) ** 0.5
        return "Poisson" if cv == 1 else f"independent, gap CV {_ratio(cv)} (Poisson 1)"
    words = []
    if found.gap_cv is not None:
        words.append(f"gap CV {_ratio(found.gap_cv)}")
    if found.dispersion is not None:
        words.append(f"variance over mean by second {_ratio(found.dispersion)}")
    return f"{', '.join(words)} (Poisson 1)" if words else "all at once"


def _ratio(value: float) -> str:
    return f"{value:.2f}" if value < 10 else significant(value)


def _tokens(found: Summary, *, recorded: bool) -> str:
    if found.p50 == found.p99 == found.max:
        return _count(found.mean)
    words = (
        f"mean {_count(found.mean)}, p50 {_count(found.p50)}, "
        f"p95 {_count(found.p95)}, p99 {_count(found.p99)}"
    )
    return f"{words}, max {_count(found.max)}" if recorded else words


def _count(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 or value == int(value) else significant(value)


def duration(seconds: float) -> str:
    """Seconds in the unit that people count such a time in."""
    for unit, size in (("d", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * size:
            return f"{significant(seconds / size)} {unit}"
    return people(seconds, "s")
