"""The picture of one point: the roofline, a round beside plain steps, and where the time goes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from specplan.domain.answer import Scalar, Table
from specplan.domain.picture import Bar, Bars, Curve, Mark, Picture, Piece, Plot
from specplan.domain.scenario import Setup
from specplan.questions.common import times
from specplan.questions.explain_view import Explained
from specplan.units import people

TERMS = 5  # of a bar that have a name of their own, the largest
PIECES = 12  # passes drawn one by one; more of them are one piece


def sequence(value: Explained) -> Bars:
    """As many plain steps as a round makes tokens, end to end, above the passes of a round."""
    tokens, plain_s = value.tokens_per_round, value.plain.time_s
    whole_s = tokens * plain_s
    drafts = list(_drafts(value))
    verify = Piece("verification", value.verify.time_s, people(value.verify.time_s, "s"))
    return Bars(
        title=f"{tokens:.2f} tokens, either way: {times(value.speedup)}",
        label="time, s",
        bars=(
            Bar("plain decoding", tuple(_steps(tokens, plain_s)), people(whole_s, "s")),
            Bar(f"a round, k = {value.k}", (*drafts, verify), people(value.round_s, "s")),
        ),
    )


def _steps(tokens: float, plain_s: float) -> Iterator[Piece]:
    """Plain steps for these tokens; the last is the part of a step that the average needs."""
    whole, told = int(tokens), people(plain_s, "s")
    if whole > PIECES:
        yield Piece("plain step", tokens * plain_s, f"{tokens:.2f} of {told}")
        return
    for _ in range(whole):
        yield Piece("plain step", plain_s, told)
    rest = tokens - whole
    if rest > 1e-9:
        yield Piece("plain step", rest * plain_s, f"{rest:.2f} of one")


def _drafts(value: Explained) -> Iterator[Piece]:
    """The draft passes in their order; those that repeat end to end."""
    named = list(zip(value.draft_passes, value.drafts, strict=True))
    once_s = sum(figures.time_s for name, figures in named if name != "draft")
    repeated_s = value.draft_s - once_s
    for name, figures in named:
        if name != "draft":
            yield Piece(name, figures.time_s, people(figures.time_s, "s"))
            continue
        yield from _repeated(repeated_s, figures.time_s)
    if not named and value.draft_s > 0:
        yield from _repeated(value.draft_s, value.draft_s / max(value.passes, 1))


def _repeated(whole_s: float, each_s: float) -> Iterator[Piece]:
    count = round(whole_s / each_s) if each_s > 0 else 0
    if 0 < count <= PIECES and abs(whole_s - count * each_s) <= 1e-6 * whole_s:
        for _ in range(count):
            yield Piece("draft", each_s, people(each_s, "s"))
    elif whole_s > 0:
        yield Piece("draft", whole_s, f"{count} in {people(whole_s, 's')}")


def terms(table: Table) -> Bars:
    """Each pass by term, in the order of its rows."""
    rows = list(table.records())
    by_term: dict[str, float] = {}
    for row in rows:
        by_term[str(row["term"])] = by_term.get(str(row["term"]), 0.0) + _seconds(row)
    largest = sorted(by_term, key=lambda name: -by_term[name])
    own = set(largest if len(largest) <= TERMS + 1 else largest[:TERMS])
    bars = []
    for name in dict.fromkeys(str(row["pass"]) for row in rows):
        mine = [row for row in rows if row["pass"] == name]
        whole = people(sum(map(_seconds, mine)), "s")
        bars.append(Bar(f"{name} pass", tuple(_pieces(mine, own)), whole))
    return Bars(title="where the time of each pass goes", label="time, s", bars=tuple(bars))


def _pieces(rows: Sequence[Mapping[str, Scalar]], own: set[str]) -> Iterator[Piece]:
    """The terms with a name of their own, then all others together."""
    for row in (row for row in rows if row["term"] in own):
        yield Piece(str(row["term"]), _seconds(row), people(_seconds(row), "s"))
    others_s = sum(_seconds(row) for row in rows if row["term"] not in own)
    if others_s > 0:
        yield Piece("all other terms", others_s, people(others_s, "s"))


def _seconds(row: Mapping[str, Scalar]) -> float:
    return float(row["time_s"] or 0)


def drawn(setup: Setup, value: Explained, table: Table) -> Picture:
    """All panels, the roofline first."""
    return Picture(panels=(_roofline(setup, value), sequence(value), terms(table)))


def _roofline(setup: Setup, value: Explained) -> Plot:
    """The roof of the card, and every pass under it."""
    peak = setup.hardware.rates[setup.hardware.compute_dtype(setup.dtype)]
    low, high = 0.5, max(value.ridge * 8, value.verify.intensity * 2)
    slope = setup.hardware.bandwidth
    roof = ((low, slope * low), (value.ridge, peak), (high, peak))
    passes = [("P", "plain step", value.plain), ("V", "verification", value.verify)]
    signs = {"draft keys": "K", "first draft": "1", "draft": "D", "draft tokens": "T"}
    passes += [
        (signs[name], f"{name} pass", figures)
        for name, figures in zip(value.draft_passes, value.drafts, strict=True)
    ]
    return Plot(
        x_label="FLOP/B",
        y_label="FLOP/s",
        curves=(Curve(f"{setup.hardware.name} {setup.dtype}", roof),),
        marks=tuple(
            Mark(sign, name, figures.intensity, figures.flops_per_s)
            for sign, name, figures in passes
        ),
    )
