"""The picture of a regret: what each fixed k makes and loses, and the batches that it is over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from specplan.domain.picture import Curve, Mark, Picture, Plot, Rule
from specplan.questions.pictures import LABELS, SPEEDUP

if TYPE_CHECKING:
    from specplan.domain.histogram import Histogram
    from specplan.questions.regret import FixedLoss, Regret

TALL = 0.7
LOSS = "share of tokens/s lost, 1"


def drawn(value: Regret, fixed: Sequence[FixedLoss], over: Histogram) -> Picture:
    """Speedup and losses by k, and the histogram as it was given; for one of which some counts."""
    return Picture(panels=(_speedups(value, fixed), _losses(value, fixed), _batches(value, over)))


def _speedups(value: Regret, fixed: Sequence[FixedLoss]) -> Plot:
    """Each k at all batches, against the schedule and what the best of each batch makes."""
    told = (
        ("gated", value.gated_speedup),
        ("best k of each batch", value.oracle_speedup),
        ("foreknown, at most", value.foreknown_speedup),
    )
    best = next(one for one in fixed if one.best)
    return Plot(
        x_label=LABELS["k"],
        y_label=SPEEDUP,
        curves=(Curve("one k at every batch", _by_k(fixed, "speedup"), "k"),),
        marks=(Mark("*", "best single k", float(best.k), best.speedup),),
        rules=tuple(Rule(name, "y", at) for name, at in told if at is not None),
        x_scale="linear",
        y_scale="linear",
        tall=TALL,
    )


def _losses(value: Regret, fixed: Sequence[FixedLoss]) -> Plot:
    """What each k loses, and which of them was asked about."""
    asked = () if value.k is None else (Rule(f"k = {value.k}", "x", float(value.k)),)
    return Plot(
        x_label=LABELS["k"],
        y_label=LOSS,
        curves=(
            Curve("against gating", _by_k(fixed, "loss"), "g"),
            Curve("against the best k of each batch", _by_k(fixed, "oracle_loss"), "b"),
            Curve("at its worst batch", _by_k(fixed, "worst_loss"), "w"),
        ),
        rules=(Rule("nothing lost", "y", 0.0), *asked),
        x_scale="linear",
        y_scale="linear",
        tall=TALL,
    )


def _by_k(fixed: Sequence[FixedLoss], name: str) -> tuple[tuple[float, float], ...]:
    return tuple((float(one.k), float(getattr(one, name))) for one in fixed)


def _batches(value: Regret, over: Histogram) -> Plot:
    """The share of each batch, in all of the histogram; what lies beyond memory is not counted."""
    whole = sum(over.weight)
    ends = float(value.largest_batch)
    reached = max(over.batch) >= ends
    shares = zip(over.batch, over.weight, strict=True)
    return Plot(
        x_label=LABELS["batch"],
        y_label=f"share of {value.weighed_by}, 1",
        curves=(
            Curve(
                "",
                tuple((float(batch), weight / whole) for batch, weight in shares),
                style="points",
            ),
        ),
        rules=(Rule("largest that fits", "x", ends),) if reached else (),
        x_scale="linear",
        y_scale="linear",
        tall=TALL,
    )
