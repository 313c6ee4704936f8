"""The picture of a comparison: what candidates are ordered by, in their order."""

from __future__ import annotations

from collections.abc import Sequence

from specplan.domain.picture import Bar, Bars, Picture, Piece, Rule
from specplan.questions.compare_entry import Entry, figure_of
from specplan.questions.pictures import SPEEDUP, left_out
from specplan.units import significant

MOST = 20
UNITS = {
    "speedup": SPEEDUP,
    "tpot": "time per output token, s",
    "throughput": "tokens/s per GPU at the largest batch",
    "cost": "USD per million output tokens",
    "memory": "drafter on a GPU, bytes",
    "tokens": "tokens per round",
}


def drawn(entries: Sequence[Entry], sort: str) -> Picture:
    """A bar for each candidate that has the figure, the first of them."""
    having = [(e, f) for e in entries if e.compared and (f := figure_of(e, sort)) is not None]
    kept = having[:MOST]
    bars = tuple(
        Bar(
            f"{one.draft} for {one.target} on {one.tp}x {one.hardware}, k={one.k}",
            (Piece(UNITS[sort], figure, significant(figure)),),
            "best" if one.best else "",
        )
        for one, figure in kept
    )
    rules = (Rule("plain decoding", "x", 1.0),) if sort == "speedup" else ()
    title = ", ".join(("candidates", *left_out("candidates", kept, having)))
    return Picture(panels=(Bars(title=title, label=UNITS[sort], bars=bars, rules=rules),))
