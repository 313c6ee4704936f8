"""Pictures of a capacity plan over the traffic: the GPUs that it needs, what tokens cost on them,
and how long they take on the replicas of the plan.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from specplan.domain.picture import Bar, Bars, Curve, Mark, Panel, Picture, Piece, Plot, Rule
from specplan.questions.capacity_parts import Parts
from specplan.questions.capacity_row import Row, percentile_name
from specplan.questions.capacity_size import MOST_REPLICAS, NEARLY, Asked, Desk, at_one_of
from specplan.questions.pictures import thinned

MOST = 6  # curves of a picture; more of them nobody tells apart
SIGNS = "abcdef"
LOWEST, HIGHEST = 0.1, 2.0  # of the traffic, over which costs are drawn
STAIRS = 64  # of a line
POINTS = 128  # of a line of costs, about
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
    """A picture of GPUs and, where prices are known, of costs above those of latencies; `names` are
    the words for each row by its place.
    """
    shown = [row for row in rows if row.pools == "shared"][:MOST]
    spent = [replace(_over(shown, asked, "GPUs", _gpus, names), marks=_planned(shown, asked))]
    if all(row.usd_per_million_output_tokens is not None for row in shown):
        spent.append(_over(shown, asked, "USD per million output tokens", _usd, {}))
    latencies = [_latencies(shown, one, asked, names) for one in drawn(asked)]
    told = [panel for panel in latencies if panel.curves]
    return Picture(panels=(*spent, *told, *_causes(shown, names)), shared=True)


def _planned(rows: Sequence[Row], asked: Asked) -> tuple[Mark, ...]:
    """The GPUs of the plans, each number once."""
    rate = asked.traffic.rate_per_s
    gpus = dict.fromkeys(row.gpus for row in rows if row.gpus)
    return tuple(Mark("*", f"{number:,} planned", rate, number) for number in gpus)


def _over(
    rows: Sequence[Row],
    asked: Asked,
    label: str,
    curve: Callable[[Row, Asked], Iterator[tuple[float, float]]],
    names: Mapping[int, str],
) -> Plot:
    """A line for each plan over the traffic, named where `names` has it."""
    return Plot(
        x_label="requests/s",
        y_label=label,
        y_scale="linear",
        tall=TALL,
        rules=(Rule("asked", "x", asked.traffic.rate_per_s),),
        curves=tuple(
            Curve(names.get(row.rank or 0, ""), tuple(curve(row, asked)), sign)
            for sign, row in zip(SIGNS, rows, strict=False)
        ),
    )


def _causes(rows: Sequence[Row], names: Mapping[int, str]) -> Iterator[Panel]:
    """Where the GPUs of each plan go. What takes some off is the end of a second bar, after what
    remains of the first: the GPUs of the plan.
    """
    bars: list[Bar] = []
    for row in rows:
        if row.parts is not None:
            bars += _bars(names[row.rank or 0], row.parts)
    if bars:
        yield Bars(title="GPUs by cause", label="GPUs", bars=tuple(bars))


def _bars(name: str, parts: Parts) -> Iterator[Bar]:
    """What is needed and, where a cause saves some, what remains of it."""
    needed = [(cause, gpus) for cause, gpus in parts.pairs() if gpus > 0]
    saved = [(f"saved by {cause}", -gpus) for cause, gpus in parts.pairs() if gpus < 0]
    total = f"{parts.total:.3g}"
    whole = f"{total} GPU" if total == "1" else f"{total} GPUs"
    before = f"{sum(gpus for _, gpus in needed):.3g} before savings"
    yield Bar(name, _pieces(needed), before if saved else whole)
    if saved:
        remains = ("what remains", parts.total)
        yield Bar(f"{name}, savings taken off", _pieces([remains, *saved]), whole)


def _pieces(causes: Sequence[tuple[str, float]]) -> tuple[Piece, ...]:
    return tuple(Piece(cause, gpus, f"{gpus:.3g}") for cause, gpus in causes)


def stairs(row: Row, asked: Asked) -> Iterator[tuple[float, float, int]]:
    """From which rate to which the traffic needs so many replicas, each as full as promises allow:
    at the rate asked those of the plan. Of a long flight some stairs.

    Between dispersions that the plan came by, what a replica is given is taken to be straight.
    """
    traffic, (spreads, kept) = asked.traffic, zip(*row.kept_by_dispersion, strict=True)

    def carried(replicas: int) -> float:
        if not replicas:
            return 0.0
        each = np.interp(at_one_of(traffic.dispersion, replicas), spreads, kept)
        return replicas * float(each) * (1 + NEARLY)

    lowest, highest = (share * traffic.rate_per_s for share in (LOWEST, HIGHEST))
    every = range(1, 2 * MOST_REPLICAS)
    first, last = (every[bisect_left(every, rate, key=carried)] for rate in (lowest, highest))
    for replicas in thinned(range(first, last + 1), STAIRS):
        start, end = carried(replicas - 1), carried(replicas)
        yield max(start, lowest), min(end, highest), replicas


def _gpus(row: Row, asked: Asked) -> Iterator[tuple[float, float]]:
    for start, end, replicas in stairs(row, asked):
        gpus = float(replicas * (row.gpus_per_replica or 1))
        yield from ((start, gpus), (end, gpus))


def _usd(row: Row, asked: Asked) -> Iterator[tuple[float, float]]:
    """The plan's cost as its GPUs and the tokens among which they are shared change."""
    found = list(stairs(row, asked))
    whole = (row.usd_per_million_output_tokens or 0.0) * asked.traffic.rate_per_s
    for start, end, replicas in found:
        for rate in np.geomspace(start, end, max(POINTS // len(found), 2)):
            yield float(rate), whole * replicas / (row.replicas or 1) / float(rate)


def _latencies(
    rows: Sequence[Row], one: tuple[str, float], asked: Asked, names: Mapping[int, str]
) -> Plot:
    """One latency against the traffic, on the replicas of the plan; with TPOT, the traffic beyond
    which a plan's drafts no longer pay. Its axis is logarithmic: where the queues of one plan only
    grow, it takes many times what the others take.
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
