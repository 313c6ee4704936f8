"""What pictures of several questions share: axes, how many lines a panel takes, the rule at 1."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TypeVar

from specplan.domain.answer import Scalar
from specplan.domain.picture import Band, Cells, Curve, Rule, Scale

CURVES, PANELS, CELLS = 8, 8, 12  # of a picture, of a panel, on a side of a map; at most
PARITY = Rule("as fast as plain decoding", "y", 1.0)
SIGNS = "abcdefgh"
SPEEDUP = "speedup over plain decoding"
BEYOND = "dashed: does not fit"
LABELS = {
    "batch": "batch, sequences",
    "context": "context, tokens",
    "alpha": "acceptance of a draft token",
    "k": "k, draft tokens per round",
}

T = TypeVar("T")
Row = Mapping[str, Scalar]


def thinned(values: Sequence[T], most: int) -> tuple[T, ...]:
    """At most so many of the values, both ends among them, evenly spread."""
    if len(values) <= most:
        return tuple(values)
    if most == 1:
        return (values[0],)
    last = len(values) - 1
    return tuple(values[round(i * last / (most - 1))] for i in range(most))


def left_out(what: str, shown: Sequence[object], every: Sequence[object]) -> Iterator[str]:
    """That some are not drawn, in words; nothing where all are."""
    if len(shown) < len(every):
        yield f"{len(shown)} of {len(every):,} {what}"


def scale_of(values: Sequence[float]) -> Scale:
    """Logarithmic where all lie above zero."""
    return "log" if values and min(values) > 0 else "linear"


def fitting(name: str, sign: str, points: Sequence[tuple[float, float, bool]]) -> Iterator[Curve]:
    """A line through (x, y, whether it fits): dashed from the last that fits to where it does not.

    The first piece has the name; the others look like it by their sign.
    """
    pieces = [
        (fits, [(x, y) for x, y, _ in some]) for fits, some in groupby(points, lambda p: p[2])
    ]
    before: tuple[float, float] | None = None
    for fits, some in pieces:
        joined = some if before is None else [before, *some]
        named = name if before is None else ""
        yield Curve(named, tuple(joined), sign, style="line" if fits else "dashed")
        before = some[-1]


def likely(points: Sequence[tuple[float, float]], band: tuple[float, float]) -> Band:
    """How far what is predicted may be off, relatively, along a line."""
    low, high = band
    return Band("9 of 10 within", tuple((x, y * (1 + low), y * (1 + high)) for x, y in points))


def number(row: Row, name: str) -> float:
    """A figure of a row; 0 where it has none."""
    return float(row[name] or 0)


def values_of(rows: Sequence[Row], name: str) -> list[Scalar]:
    """The values of a column, each once, in order."""
    return list(dict.fromkeys(row[name] for row in rows))


def grouped(rows: Sequence[Row], names: Sequence[str]) -> dict[tuple[Scalar, ...], list[Row]]:
    """Rows by the values of some columns."""
    groups: dict[tuple[Scalar, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in names), []).append(row)
    return groups


def speedup_map(
    at: Mapping[tuple[Scalar, Scalar], Row],
    y: str,
    text: Callable[[Row], str],
    head: Sequence[str],
    last: Sequence[str] = (),
) -> Cells:
    """Speedups by batch and `y`, the row of each place in `at`. Its title are the words of `head`,
    what is left out, those of `last`, and that some do not fit.
    """
    all_x, all_y = (list(dict.fromkeys(key[n] for key in at)) for n in (0, 1))
    x, down = thinned(all_x, CELLS), thinned(all_y, CELLS)
    left = [*left_out("batches", x, all_x), *left_out(f"{y}s", down, all_y)]
    unfit = [] if all(row["fits"] for row in at.values()) else ["~ does not fit"]
    return Cells(
        title=", ".join((*head, *left, *last, *unfit)),
        x_label=LABELS["batch"],
        y_label=LABELS.get(y, y),
        label=SPEEDUP,
        x=tuple(f"{one:,}" for one in x),
        y=tuple(f"{one:,}" if y == "context" else str(one) for one in down),
        values=tuple(tuple(number(at[b, a], "speedup") for b in x) for a in down),
        texts=tuple(
            tuple(text(at[b, a]) + ("" if at[b, a]["fits"] else " ~") for b in x) for a in down
        ),
        middle=1.0,
    )
