"""The picture of a comparison: what candidates are ordered by, in their order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from specplan.domain.picture import Bar, Bars, Picture, Piece, Rule
from specplan.questions.common import times
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
    """A bar for each candidate that has the figure, the first of them; beside a speedup, where 9 of
    10 of its like lay, if that was measured.
    """
    having = [(e, f) for e in entries if e.compared and (f := figure_of(e, sort)) is not None]
    kept = having[:MOST]
    bars = tuple(
        Bar(
            _named(one, [e for e, _ in kept]),
            (Piece(UNITS[sort], figure, _text(figure, sort)),),
            ", ".join(_beside(one, figure, sort)),
        )
        for one, figure in kept
    )
    rules = (Rule("plain decoding", "x", 1.0),) if sort == "speedup" else ()
    banded = any(word for one, figure in kept for word in _likely(one, figure, sort))
    title = next(left_out("candidates", kept, having), "candidates")
    title += "; at a bar, where 9 of 10 of its like lie" if banded else ""
    return Picture(panels=(Bars(title=title, label=UNITS[sort], bars=bars, rules=rules),))


def _named(one: Entry, others: Sequence[Entry]) -> str:
    """Drafter and k, with the target and the GPUs where candidates differ in them."""
    target = f" for {one.target}" if len({e.target for e in others}) > 1 else ""
    place = f" on {one.tp}x {one.hardware}" if len({(e.tp, e.hardware) for e in others}) > 1 else ""
    return f"{one.draft}{target}{place}, k={one.k}"


def _text(figure: float, sort: str) -> str:
    return times(figure) if sort == "speedup" else significant(figure)


def _beside(one: Entry, figure: float, sort: str) -> Iterator[str]:
    if one.best:
        yield "best"
    yield from _likely(one, figure, sort)


def _likely(one: Entry, figure: float, sort: str) -> Iterator[str]:
    """Between which figures 9 of 10 of its like lay: bands are of speedups."""
    if sort == "speedup" and one.band and one.k:
        low, high = (significant(figure * (1 + way * one.band)) for way in (-1, 1))
        yield f"{low} to {high}"
