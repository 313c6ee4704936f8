"""The picture of a sweep: speedup over one axis, a line for each k, a panel for each of the rest;
and a map where batch and acceptance both vary.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from specplan.domain.answer import Scalar, Table
from specplan.domain.picture import Cells, Curve, Panel, Picture, Plot
from specplan.errors import UsageError
from specplan.questions.common import times
from specplan.questions.grids import SETUP_COLUMNS
from specplan.questions.measured import Point, points_over
from specplan.questions.pictures import (
    BEYOND,
    CURVES,
    LABELS,
    PANELS,
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
    speedup_map,
    thinned,
    values_of,
)
from specplan.units import people

ROWS = 200_000  # that one panel or another is picked from
MAPS = 2  # panels that are left to maps
FEW = 3  # values of an axis that make a map worth its room


def drawn(table: Table, measured: Sequence[Point] = ()) -> Picture:
    """The picture of a sweep's rows, with what was measured over the lines."""
    if table.rows > ROWS:
        raise UsageError(
            f"{table.rows:,} points are more than a picture shows",
            expected=f"at most {ROWS:,}",
            hint="take coarser steps",
        )
    rows = list(table.records())
    x, over = _axes(rows)
    telling = [c.name for c in SETUP_COLUMNS if len(values_of(rows, c.name)) > 1]
    apart = [*telling, *(n for n in ("context", "acceptance") if n not in {x, over})]
    if x == "alpha" or over == "alpha":
        apart.remove("acceptance")
    apart = [name for name in apart if len(values_of(rows, name)) > 1]
    groups = grouped(rows, apart)
    mapped, left = _mapped(rows, telling)
    kept, note = by_axis(list(groups), apart, "panels", PANELS - len(mapped))
    placed = _placed(groups, kept, measured)
    panels: list[Panel] = [
        _plot(groups[key], apart, key, (x, over), points_over(placed[key], x)) for key in kept
    ]
    panels += mapped
    return Picture(
        panels=tuple(panels),
        columns=1 if len(panels) == 1 else 2,
        note="; ".join(filter(None, (note, left))),
    )


def _axes(rows: Sequence[Row]) -> tuple[str, str]:
    """What runs along the axis, and what has a line for each value."""
    numbers = ["batch", "context"]
    if None not in values_of(rows, "alpha"):
        numbers.append("alpha")
    numbers.append("k")
    varied = [name for name in numbers if len(values_of(rows, name)) > 1]
    x = varied[0] if varied else "batch"
    return (x, "k") if x != "k" else ("k", "batch")


def _said(name: str, value: Scalar) -> str:
    """The value of an axis as a panel's title says it."""
    if name == "context":
        return f"context {people(float(value or 0), 'tokens')}"
    if name in {"acceptance", "tp", "k"}:
        return f"{name} {value}"
    return str(value)


def _plot(
    rows: Sequence[Row],
    names: Sequence[str],
    key: tuple[Scalar, ...],
    axes: tuple[str, str],
    measured: Sequence[Curve],
) -> Plot:
    x, over = axes
    lines = grouped(rows, (over,))
    if over == "k" and len(lines) > 1:
        lines.pop((0,), None)  # plain decoding is the rule
    kept = thinned(list(lines), CURVES)
    curves = [
        curve
        for sign, one in zip(SIGNS, kept, strict=False)
        for curve in fitting(_named(over, one[0]), sign, sorted(map(_pointed(x), lines[one])))
    ]
    head = [_said(name, value) for name, value in zip(names, key, strict=True)]
    head += [*left_out("lines", kept, list(lines))]
    if any(curve.style == "dashed" for curve in curves):
        head.append(BEYOND)
    values = [at for curve in curves for at, _ in curve.points]
    return Plot(
        title=", ".join(head),
        x_label=LABELS[x],
        y_label=SPEEDUP,
        curves=(*curves, *measured),
        rules=(PARITY,),
        x_scale="linear" if x in {"alpha", "k"} else scale_of(values),
        y_scale="linear",
    )


def _placed(
    groups: Mapping[tuple[Scalar, ...], Sequence[Row]],
    kept: Sequence[tuple[Scalar, ...]],
    measured: Sequence[Point],
) -> dict[tuple[Scalar, ...], list[Point]]:
    """Each measured point in the panel that predicts most nearly as many tokens per round as were
    counted at it; in all panels of its setup where nobody counted.
    """
    placed: dict[tuple[Scalar, ...], list[Point]] = {key: [] for key in kept}
    for point in measured:
        far = {key: off for key in kept if (off := _off(groups[key], point)) is not None}
        nearest = min(far, key=lambda key: far[key], default=None)
        for key in far if point.tokens_per_round is None or nearest is None else (nearest,):
            placed[key].append(point)
    return placed


def _off(rows: Sequence[Row], point: Point) -> float | None:
    """How far a panel's tokens per round are from those of a point; None for another setup."""
    own = [row for row in rows if row["k"] == point.k and _is_at(row, point)]
    if not own:
        return None
    if point.tokens_per_round is None:
        return 0.0
    return min(abs(float(row["tokens_per_round"] or 0) - point.tokens_per_round) for row in own)


def _is_at(row: Row, point: Point) -> bool:
    return all(row[name] == getattr(point, name) for name in ("target", "draft", "hardware", "tp"))


def _pointed(x: str) -> Callable[[Row], tuple[float, float, bool]]:
    return lambda row: (float(row[x] or 0), _speed(row), bool(row["fits"]))


def _named(over: str, value: Scalar) -> str:
    return f"k = {value}" if over == "k" else f"{over} {value:,}"


def _mapped(rows: Sequence[Row], telling: Sequence[str]) -> tuple[list[Cells], str]:
    """The best speedup by batch and acceptance, for as many places and contexts as have room, and
    what has none.
    """
    if min(len(values_of(rows, "batch")), len(values_of(rows, "acceptance"))) < FEW:
        return [], ""
    names = [*telling, *(["context"] if len(values_of(rows, "context")) > 1 else [])]
    groups = grouped(rows, names)
    kept, left = by_axis(list(groups), names, "maps", MAPS)
    return [_map(groups[key], names, key) for key in kept], left


def _map(rows: Sequence[Row], names: Sequence[str], key: tuple[Scalar, ...]) -> Cells:
    best: dict[tuple[Scalar, Scalar], Row] = {}
    for row in rows:
        at = row["batch"], row["acceptance"]
        if at not in best or _speed(row) > _speed(best[at]):
            best[at] = row
    named = [_said(name, value) for name, value in zip(names, key, strict=True)]
    every = values_of(list(best.values()), "k")
    if len(every) > 1:
        return speedup_map(best, "acceptance", _cell_with_k, ("best of the k asked", *named))
    head = f"k = {every[0]}" if len(values_of(rows, "k")) == 1 else f"k = {every[0]} is best in all"
    return speedup_map(best, "acceptance", _cell, (head, *named))


def _cell(row: Row) -> str:
    return times(_speed(row))


def _cell_with_k(row: Row) -> str:
    return f"{_cell(row)} k={row['k']}"


def _speed(row: Row) -> float:
    return number(row, "speedup")
