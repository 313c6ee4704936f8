"""What a plan is like at its load, and what its tokens cost: cells of a row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from specplan.domain.scenario import Setup
from specplan.domain.traffic import Lengths
from specplan.questions.capacity_row import asked_percentiles, percentile_name
from specplan.questions.capacity_size import Asked, Sized
from specplan.questions.cost import MILLION, SECONDS_PER_HOUR, price_of
from specplan.serving.policy import Policy
from specplan.serving.replica import Replica
from specplan.serving.steady import Steady

APART = 1.1  # the largest over the smallest of fixed points that anybody would notice
SHOWN = 0.005  # of the rounds' time: a k below this share is not told


def figures(server: Replica, found: Sized, asked: Asked) -> dict[str, Any]:
    """Replicas and their state at the load that each of them takes."""
    at, rate = found.at, asked.traffic.rate_per_s
    gpus = found.replicas * server.gpus
    kept = found.largest_per_s * (1 - asked.margin)
    tokens_per_s = rate * mean(asked.traffic.lengths, "osl")
    return {
        "schedule": schedule_words(server.policy),
        "largest_per_s": found.largest_per_s,
        "bound_by": found.bound_by,
        "saturation_per_s": found.saturation_per_s,
        "replicas": found.replicas,
        "gpus_per_replica": server.gpus,
        "gpus": gpus,
        "gpus_exact": server.gpus * rate / kept,
        "rate_per_replica_per_s": found.rate_per_s,
        "dispersion": found.dispersion,
        "utilisation": at.utilisation,
        "batch_mean": at.batch_mean,
        "kv_share": at.kv_share,
        "latency_s": latencies(at, asked),
        "tokens_per_s": tokens_per_s,
        "tokens_per_s_per_gpu": tokens_per_s / gpus,
        "fixed_points": fixed_words(at),
        **k_cells(at.k_shares),
    }


def costs(
    setup: Setup, gpus: float, full_gpus: float, asked: Asked, usd: float | None
) -> dict[str, Any]:
    """What tokens cost on `gpus`, and on the `full_gpus` (a fraction) that would carry the traffic
    with every replica as full as it can be: price per hour x GPUs / (3600 x rate x tokens), for
    output tokens alone and for those of the prompts too.
    """
    lengths, rate = asked.traffic.lengths, asked.traffic.rate_per_s
    out = mean(lengths, "osl")
    every = out + mean(lengths, "isl")
    tdp, price = setup.hardware.tdp, price_of(setup.hardware, usd)
    found: dict[str, Any] = {}
    if tdp is not None:
        hours = 1 / SECONDS_PER_HOUR
        found["wh_per_million_output_tokens"] = MILLION * hours * tdp * gpus / (rate * out)
    if price is not None:
        per_s = price[0] / SECONDS_PER_HOUR
        found |= {
            "usd_per_gpu_hour": price[0],
            "price": price[1],
            "usd_per_hour": price[0] * gpus,
            "usd_per_million_output_tokens": MILLION * per_s * gpus / (rate * out),
            "usd_per_million_tokens": MILLION * per_s * gpus / (rate * every),
            "usd_per_million_output_tokens_saturated": MILLION * per_s * full_gpus / (rate * out),
            "usd_per_million_tokens_saturated": MILLION * per_s * full_gpus / (rate * every),
        }
    return found


def mean(lengths: Lengths, name: str) -> float:
    """Mean tokens of a request: isl, osl or hit."""
    return float(np.dot(getattr(lengths, name), lengths.weight))


def latencies(at: Steady, asked: Asked) -> dict[str, float]:
    """Every percentile that is told."""
    return {
        percentile_name((metric, p)): float(getattr(at, metric).percentile(p))
        for metric, p in asked_percentiles(asked.slo)
    }


def k_cells(shares: Mapping[int, float]) -> dict[str, Any]:
    """The k in use, by the rounds' time: in words the largest shares first."""
    order = sorted(shares.items(), key=lambda pair: -pair[1])
    told = [f"{k}: {100 * share:.0f} %" for k, share in order if share >= SHOWN]
    return {
        "k_shares": ", ".join(told) or None,
        "k_mean": sum(k * share for k, share in shares.items()),
    }


def schedule_words(policy: Policy) -> str | None:
    """A gated policy: "5 to 32, 3 to 64, 0"; none for a single k."""
    if len(policy.k) < 2:
        return None
    *ends, last = zip(policy.k, policy.ends, strict=True)
    return ", ".join([*(f"{k} to {end}" for k, end in ends), str(last[0])])


def fixed_words(at: Steady) -> str | None:
    """Batches that a replica can settle at, where it has several that differ."""
    points = at.fixed_points
    apart = len(points) > 1 and max(points) > APART * min(points)
    return ", ".join(f"{point:.3g}" for point in points) if apart else None
