"""The picture of a simulation: what share of the requests waits how long, beside what was promised;
then what the server does over time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from specplan.domain.picture import Curve, Mark, Picture, Plot, Rule
from specplan.domain.slo import METRICS, Slo
from specplan.questions.common import percent
from specplan.questions.simulated import Held, Histogram, Simulated, Strip
from specplan.serving.outcome import Outcomes
from specplan.units import people

POINTS = 64  # of a strip
EDGES = 160  # of a distribution, about
TALL, LOW = 0.6, 0.4  # of a distribution and of a strip
TITLES = {
    "ttft": "time to the first token",
    "tpot": "time per further token",
    "itl": "time between two tokens",
    "e2e": "time to the last token",
}


def drawn(value: Simulated, found: Outcomes, slo: Slo) -> Picture:
    """Distributions of latencies, then strips over time, two side by side where there is room."""
    return Picture(
        panels=(*_distributions(value, found, slo), *_strips(value.timeline)),
        columns=2,
        shared=True,
    )


def _distributions(value: Simulated, found: Outcomes, slo: Slo) -> Iterator[Plot]:
    """Each latency that was counted: the share at or under it, each promise, whether it is met."""
    limits = list(zip(slo.limits, value.limits, strict=True))
    for metric in METRICS:
        gaps = metric == "itl"
        histogram = value.histograms["itl_chunk" if gaps else metric]
        if not histogram.counts:
            continue  # requests of one token have no time per further token
        at_once = found.count("at_once") if gaps else 0
        mine = [(limit.percentile, held) for limit, held in limits if limit.metric == metric]
        yield Plot(
            title=TITLES[metric] + _together(at_once, histogram),
            x_label=f"{metric.upper()}, s",
            y_label=f"{'gaps' if gaps else 'requests'} at or under it, %",
            curves=(Curve("", tuple(cumulative(histogram, at_once))),),
            marks=tuple(_mark(p, held) for p, held in mine if held.reached_s),
            rules=tuple(_promise(p, held) for p, held in mine),
            y_scale="linear",
            tall=TALL,
        )


def _together(at_once: int, histogram: Histogram) -> str:
    """What no logarithmic axis shows: gaps of no time."""
    share = at_once / (at_once + sum(histogram.counts))
    return f"; {percent(share)} at once" if at_once else ""


def _promise(percentile: float, held: Held) -> Rule:
    """A limit; what is reached in no time has no mark, and is told here."""
    met = "" if held.reached_s else ", met"
    words = f"p{percentile:g} promised: {people(held.limit_s, 's')}{met}"
    return Rule(words, "x", held.limit_s)


def _mark(percentile: float, held: Held) -> Mark:
    """What was reached at a promised percentile, and whether that keeps the promise."""
    words = f"p{percentile:g} is {'met' if held.met else 'missed'}"
    chance = ", within chance" if held.unsure else ""
    return Mark("+" if held.met else "x", f"{words}{chance}", held.reached_s or 0.0, percentile)


def cumulative(histogram: Histogram, at_once: int = 0) -> Iterator[tuple[float, float]]:
    """Seconds and the percentage at or under them, at edges of bins; so many more took no time."""
    below = np.cumsum([at_once, *histogram.counts])
    last = len(histogram.counts)
    for edge in sorted({*range(0, last, max(last // EDGES, 1)), last}):
        share = 100.0 * float(below[edge]) / float(below[-1])
        yield histogram.from_s * histogram.ratio**edge, share


def _strips(line: Strip) -> Iterator[Plot]:
    """Batch, queue, k and cache over time."""
    long = line.width_s * len(line.batch)
    unit, size = next(
        (pair for pair in (("h", 3600.0), ("min", 60.0)) if long >= 2 * pair[1]), ("s", 1.0)
    )
    strips: tuple[tuple[str, Sequence[float | None]], ...] = (
        ("sequences that decode", line.batch),
        ("requests that wait", line.waiting),
        ("k, drafts a round", line.k),
        ("% of the cache in use", [100 * share for share in line.kv_share]),
    )
    for label, values in strips:
        yield Plot(
            x_label=f"time, {unit}",
            y_label=label,
            curves=(Curve("", strip_points(values, line.width_s / size), fill=True),),
            x_scale="linear",
            y_scale="linear",
            tall=LOW,
        )


def strip_points(values: Sequence[float | None], width: float) -> tuple[tuple[float, float], ...]:
    """Averages of neighbours, where there are more than a picture shows; flat at both ends."""
    size = max(len(values) // POINTS, 1)
    points = []
    for first in range(0, len(values), size):
        some = [value for value in values[first : first + size] if value is not None]
        if some:
            middle = (first + min(first + size, len(values))) / 2  # the last group may be short
            points.append((width * middle, sum(some) / len(some)))
    if not points:
        return ((0.0, 0.0), (width, 0.0))
    return ((0.0, points[0][1]), *points, (width * len(values), points[-1][1]))
