"""What pictures of several questions share: axes, how many lines a panel takes, the rule at 1."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby, product
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

PLURALS = {"draft": "drafters", "hardware": "GPUs", "tp": "tp"}  # of axes; others take an s

T = TypeVar("T")
Row = Mapping[str, Scalar]
Key = tuple[Scalar, ...]


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


def by_axis(
    keys: Sequence[Key], names: Sequence[str], what: str, most: int
) -> tuple[tuple[Key, ...], str]:
    """At most so many of the keys, which have a value for each of `names`, and in words what is
    left out. Every axis is thinned by itself, its ends kept, and one with two values runs fastest:
    side by side in two columns, neighbours differ in that alone. Where keys are no grid of their
    axes they are thinned as they come.
    """
    axes = [tuple(dict.fromkeys(key[place] for key in keys)) for place in _own_axes(keys)]
    own = {tuple(key[place] for place in _own_axes(keys)): key for key in keys}
    if len(own) < len(keys) or len(own) < math.prod(map(len, axes)):
        flat = thinned(keys, most)
        return flat, "".join(left_out(what, flat, keys))
    kept = [thinned(axis, count) for axis, count in zip(axes, _counts(axes, most), strict=True)]
    order = sorted(range(len(kept)), key=lambda place: len(kept[place]) == 2)
    some = [dict(zip(order, key, strict=True)) for key in product(*(kept[n] for n in order))]
    found = tuple(own[tuple(key[n] for n in range(len(kept)))] for key in some)
    told = [
        words
        for place, mine, axis in zip(_own_axes(keys), kept, axes, strict=True)
        for words in left_out(PLURALS.get(names[place], f"{names[place]}s"), mine, axis)
    ]
    head = [what] if len(axes) == 1 else left_out(what, found, keys)
    return found, ": ".join((*head, ", ".join(told))) if told else ""


def _own_axes(keys: Sequence[Key]) -> list[int]:
    """Places of a key that vary by themselves: not a dtype that follows from the drafter."""
    own: list[int] = []
    for place in range(len(keys[0])):
        values = {key[place] for key in keys}
        follows = any(
            len({(key[other], key[place]) for key in keys}) == len({key[other] for key in keys})
            for other in own
        )
        if len(values) > 1 and not follows:
            own.append(place)
    return own


def _counts(axes: Sequence[Sequence[object]], most: int) -> list[int]:
    """How many values of each axis are drawn: as alike as there is room for the product."""
    counts = [1 for _ in axes]
    while True:
        room = [
            n
            for n, count in enumerate(counts)
            if count < len(axes[n]) and math.prod(counts) // count * (count + 1) <= most
        ]
        if not room:
            return counts
        counts[min(room, key=lambda n: counts[n])] += 1


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
