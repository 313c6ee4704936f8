"""The picture of a gate: best k over the batch, above the speedup that it brings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specplan.domain.picture import Curve, Picture, Plot, Rule
from specplan.questions.pictures import PARITY, SPEEDUP
from specplan.questions.sweep_picture import LABELS

if TYPE_CHECKING:
    from specplan.questions.gate import Gate


def drawn(value: Gate) -> Picture:
    """The ranges of a schedule as steps, and the speedup at both ends of each; for a gate
    that has ranges.
    """
    ends = [(float(batch), r) for r in value.ranges for batch in (r.first_batch, r.last_batch)]
    k = tuple((batch, float(r.k)) for batch, r in ends)
    speedup = tuple(
        (float(batch), figure)
        for r in value.ranges
        for batch, figure in ((r.first_batch, r.speedup_first), (r.last_batch, r.speedup_last))
    )
    rules = (Rule("memory ends", "x", float(value.largest_batch)),) if value.largest_batch else ()
    return Picture(
        panels=(
            Plot(
                x_label=LABELS["batch"],
                y_label=LABELS["k"],
                curves=(Curve("best k", k, "k"),),
                rules=rules,
                y_scale="linear",
            ),
            Plot(
                x_label=LABELS["batch"],
                y_label=SPEEDUP,
                curves=(Curve("at the best k, ends of ranges", speedup, "s"),),
                rules=(PARITY, *rules),
                y_scale="linear",
            ),
        ),
        shared=True,
    )
