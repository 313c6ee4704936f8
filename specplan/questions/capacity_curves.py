"""Pictures of a capacity plan over the traffic: what tokens cost on as many replicas as it needs,
and how long they take on the replicas of the plan.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from specplan.domain.picture import Bar, Bars, Curve, Panel, Picture, Piece, Plot, Rule
from specplan.questions.capacity_row import Row, percentile_name
from specplan.questions.capacity_size import Asked, Desk
from specplan.questions.cost import MILLION, SECONDS_PER_HOUR

MOST = 6  # curves of a picture; more of them nobody tells apart
SIGNS = "abcdef"
LOWEST, HIGHEST = 0.1, 2.0  # of the traffic, over which costs are drawn
POINTS = 65
USUAL = 95.0  # the percentile that is drawn where none is promised
TALL = 0.6


def drawn(asked: Asked) -> tuple[tuple[str, float], ...]:
    """The latencies that are drawn: tokens and first tokens at the percentiles promised."""
    found = []
    for metric in ("tpot", "ttft"):
        limit = asked.limit(metric)
        found.append((metric, limit.percentile if limit else USUAL))
    return tuple(found)


def points_of(
    desk: Desk, dispersion: float, asked: Asked
) -> dict[str, tuple[tuple[float, float], ...]]:
    """Each latency that is drawn by the requests per second of a replica, at all rates that it was
    asked about.
    """
    states = sorted(
        (state.rate_per_s, state)
        for (_, spread, role), state in desk.states.items()
        if spread == dispersion and role == "both"
    )
    return {
        percentile_name(one): tuple(
            (rate, state.law(one[0]).percentile(one[1])) for rate, state in states
        )
        for one in drawn(asked)
    }


def charts(rows: Sequence[Row], asked: Asked, names: Mapping[int, str]) -> Picture:
    """A picture of costs (of GPUs, where no price is known) above those of latencies; `names` are
    the words for each row by its place.
    """
    shown = [row for row in rows if row.pools == "shared"][:MOST]
    priced = all(row.usd_per_gpu_hour is not None for row in shown)
    spent = Plot(
        x_label="requests/s",
        y_label="USD per million output tokens" if priced else "GPUs",
        y_scale="linear",
        tall=TALL,
        rules=(Rule("asked", "x", asked.traffic.rate_per_s),),
        curves=tuple(
            Curve(names[row.rank or 0], tuple(_spent(row, asked, priced=priced)), sign)
            for sign, row in zip(SIGNS, shown, strict=False)
        ),
    )
    latencies = [_latencies(shown, one, asked, names) for one in drawn(asked)]
    told = [panel for panel in latencies if panel.curves]
    return Picture(panels=(spent, *told, *_causes(shown, names)), shared=True)


def _causes(rows: Sequence[Row], names: Mapping[int, str]) -> Iterator[Panel]:
    """Where the GPUs of each plan go; what takes some off is a bar of its own, for none is below
    zero.
    """
    bars = []
    for row in rows:
        if row.parts is None:
            continue
        pairs = [(name, gpus) for name, gpus in row.parts.pairs() if gpus]
        name = names[row.rank or 0]
        for word, sign in (("", 1.0), (", less", -1.0)):
            some = [(part, sign * gpus) for part, gpus in pairs if sign * gpus > 0]
            if some:
                pieces = tuple(Piece(part, gpus, f"{gpus:.3g}") for part, gpus in some)
                sum_of = sum(gpus for _, gpus in some)
                text = f"{sum_of:.3g}" if sign > 0 else f"-{sum_of:.3g}"
                bars.append(Bar(f"{name}{word}", pieces, text))
    if bars:
        yield Bars(title="GPUs by cause", label="GPUs", bars=tuple(bars))


def _spent(row: Row, asked: Asked, *, priced: bool) -> Iterator[tuple[float, float]]:
    """What the traffic costs at other rates, on whole replicas as full as promises allow."""
    lengths, kept = asked.traffic.lengths, (row.largest_per_s or 0.0) * (1 - asked.margin)
    tokens = float(np.dot(lengths.osl, lengths.weight))
    for rate in asked.traffic.rate_per_s * np.geomspace(LOWEST, HIGHEST, POINTS):
        gpus = float(np.ceil(rate / kept - 1e-9)) * (row.gpus_per_replica or 1)
        usd = (row.usd_per_gpu_hour or 0.0) / SECONDS_PER_HOUR * gpus / (rate * tokens) * MILLION
        yield float(rate), usd if priced else gpus


def _latencies(
    rows: Sequence[Row], one: tuple[str, float], asked: Asked, names: Mapping[int, str]
) -> Plot:
    """One latency against the traffic, on the replicas of the plan; with TPOT, the traffic beyond
    which a plan's drafts no longer pay.
    """
    name, curves = percentile_name(one), []
    for sign, row in zip(SIGNS, rows, strict=False):
        replicas = row.replicas or 1
        points = tuple(
            (rate * replicas, value) for rate, value in row.by_rate.get(name, ()) if value > 0
        )
        if points:
            curves.append(Curve("", points, sign))
    metric, percentile = one
    limit, rules = asked.limit(metric), [Rule("asked", "x", asked.traffic.rate_per_s)]
    if limit is not None:
        rules.append(Rule("promised", "y", limit.limit_s))
    if metric == "tpot":
        rules += _pays(rows, names)
    return Plot(
        x_label="requests/s",
        y_label=f"{metric.upper()} p{percentile:g} on the GPUs of the plan, s",
        y_scale="linear",
        tall=TALL,
        curves=tuple(curves),
        rules=tuple(rules),
    )


def _pays(rows: Sequence[Row], names: Mapping[int, str]) -> Iterator[Rule]:
    """The last load at which mean TPOT gains, on all replicas of a plan."""
    for row in rows:
        if row.lambda_star_per_s:
            at = row.lambda_star_per_s * (row.replicas or 1)
            yield Rule(f"{names[row.rank or 0]}: pays below", "x", at)
