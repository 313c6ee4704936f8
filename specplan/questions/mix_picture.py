"""The picture of one k for several workloads: what each k does to the mix and to each of them."""

from __future__ import annotations

from collections.abc import Sequence

from specplan.domain.picture import Curve, Mark, Picture, Plot
from specplan.physics.choose import best_index
from specplan.physics.tokens import FloatArray
from specplan.questions.common import percent
from specplan.questions.pictures import CURVES, LABELS, PARITY, SIGNS, SPEEDUP, left_out
from specplan.questions.weigh import Weighed


def drawn(mixed: FloatArray, shares: FloatArray, weighed: Sequence[Weighed]) -> Picture:
    """Speedups over k of the mix, shape (K,), and of its workloads, the best of each marked; of
    many workloads those of the largest shares.
    """
    every = sorted(zip(shares.tolist(), weighed, strict=True), key=lambda pair: -pair[0])
    kept, k = every[: CURVES - 1], weighed[0].k
    told = [("the mix", mixed), *((_called(share, w), w.speedup) for share, w in kept)]
    plot = Plot(
        title=", ".join(left_out("workloads", kept, every)),
        x_label=LABELS["k"],
        y_label=SPEEDUP,
        curves=tuple(
            Curve(name, tuple(zip(map(float, k), values.tolist(), strict=True)), sign)
            for sign, (name, values) in zip(SIGNS, told, strict=False)
        ),
        marks=tuple(_mark(n, k, values) for n, (_, values) in enumerate(told)),
        rules=(PARITY,),
        x_scale="linear",
        y_scale="linear",
    )
    return Picture(panels=(plot,))


def _called(share: float, w: Weighed) -> str:
    """A workload by its share of the output tokens and what it is."""
    point = w.point
    return (
        f"{percent(share)}: batch {point.batch:,.0f}, context {point.context:,.0f}, "
        f"acceptance {point.acceptance}"
    )


def _mark(number: int, k: Sequence[int], speedups: FloatArray) -> Mark:
    """The best k of a line: the common one of the mix, which comes first, or a workload's own."""
    best = int(best_index(speedups))
    sign, words = ("+", "own best k") if number else ("*", "best k for all")
    return Mark(sign, words, float(k[best]), float(speedups[best]))
