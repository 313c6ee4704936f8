"""The picture of the best k of workloads that differ along one axis, or in nothing that has one: a
map of them would be one row.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

from specplan.domain.picture import Bar, Bars, Curve, Picture, Piece, Plot, Rule, Scale
from specplan.questions.common import times
from specplan.questions.pictures import (
    BEYOND,
    CURVES,
    LABELS,
    PARITY,
    SIGNS,
    SPEEDUP,
    Row,
    by_axis,
    fitting,
    grouped,
    left_out,
    number,
    scale_of,
    thinned,
)

BARS = 20
LOW = 0.5  # of the panel of k


def lines(rows: Sequence[Row], x: str, apart: Sequence[str]) -> Picture:
    """Speedup at the best k, above that k, along `x`; a line for each value of those `apart`."""
    groups = grouped(rows, apart)
    kept, note = by_axis(list(groups), apart, "lines", CURVES)
    told = [
        (" ".join(map(str, key)) or "at the best k", sign, _along(groups[key], x))
        for sign, key in zip(SIGNS, kept, strict=False)
    ]
    speedups = [
        curve
        for name, sign, some in told
        for curve in fitting(
            name, sign, [(at, number(row, "speedup"), bool(row["fits"])) for at, row in some]
        )
    ]
    words = [note] if note else []
    if any(curve.style == "dashed" for curve in speedups):
        words.append(BEYOND)
    scale: Scale = "linear"
    if x != "alpha":
        scale = scale_of([at for *_, some in told for at, _ in some])
    best = [Curve("", tuple(_stairs(some, scale)), sign) for _, sign, some in told]
    both = ((SPEEDUP, speedups, (PARITY,), 1.0), ("best k", best, (), LOW))
    return Picture(
        panels=tuple(
            Plot(
                title=", ".join(words) if curves is speedups else "",
                x_label=LABELS[x],
                y_label=label,
                curves=tuple(curves),
                rules=rules,
                x_scale=scale,
                y_scale="linear",
                tall=tall,
            )
            for label, curves, rules, tall in both
        ),
        shared=True,
    )


def _along(rows: Sequence[Row], x: str) -> list[tuple[float, Row]]:
    return sorted(((number(row, x), row) for row in rows), key=lambda pair: pair[0])


def _stairs(some: Sequence[tuple[float, Row]], scale: Scale) -> Iterator[tuple[float, float]]:
    """A k is whole: it stands for its surroundings, up to halfway to the next workload."""
    first, row = some[0]
    yield first, number(row, "k")
    for (x0, before), (x1, after) in pairwise(some):
        middle = math.sqrt(x0 * x1) if scale == "log" else (x0 + x1) / 2
        yield from ((middle, number(row, "k")) for row in (before, after))
    last, row = some[-1]
    yield last, number(row, "k")


def bars(rows: Sequence[Row], apart: Sequence[str]) -> Picture:
    """The speedup of each workload at its best k, named by what is `apart`."""
    kept = thinned(rows, BARS)
    said = [*left_out("workloads", kept, rows)]
    found = tuple(
        Bar(
            " ".join(str(row[name]) for name in apart),
            (Piece(SPEEDUP, number(row, "speedup"), times(number(row, "speedup"))),),
            f"k = {row['k']}" + ("" if row["fits"] else ", does not fit"),
        )
        for row in kept
    )
    rule = Rule("plain decoding", "x", 1.0)
    title = ", ".join(("at the best k", *said))
    return Picture(panels=(Bars(title=title, label=SPEEDUP, bars=found, rules=(rule,)),))
