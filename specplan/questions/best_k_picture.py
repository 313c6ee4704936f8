"""The pictures of a best k: its candidates, and the best of many workloads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from specplan.domain.answer import Basis, Table
from specplan.domain.picture import Bar, Bars, Cells, Curve, Mark, Picture, Piece, Plot
from specplan.questions.best_k_alpha import over_alpha
from specplan.questions.best_k_lines import bars, lines
from specplan.questions.common import times
from specplan.questions.measured import Point, points_over
from specplan.questions.pictures import (
    LABELS,
    PARITY,
    SPEEDUP,
    Row,
    by_axis,
    grouped,
    left_out,
    likely,
    number,
    speedup_map,
    values_of,
)
from specplan.questions.weigh import Objective, Weighed
from specplan.units import people

MOST = 9  # rounds drawn
PLACES = 4  # maps
SAID = {"throughput": "tokens/s over plain decoding", "flops_per_token": "FLOP/token over plain"}


def candidates(
    w: Weighed,
    goal: Objective,
    table: Table,
    basis: Basis,
    scored: str,
    measured: Sequence[Point] = (),
) -> Picture:
    """What the objective goes by at each k, with what was `measured`, and over the acceptance, and
    what rounds are made of.
    """
    rows = list(table.records())
    points = tuple((number(row, "k"), number(row, scored)) for row in rows)
    band = basis.bands.get("speedup") if scored == "speedup" else None
    label = SPEEDUP if scored == "speedup" else SAID[scored]
    parity = PARITY if scored == "speedup" else replace(PARITY, name="plain decoding")
    marks = [
        Mark(
            "*" if row["best"] else "+",
            "best k" if row["best"] else "within 1 %",
            number(row, "k"),
            number(row, scored),
        )
        for row in rows
        if row["best"] or row["within_1_percent"]
    ]
    choice = Plot(
        x_label=LABELS["k"],
        y_label=label,
        curves=(Curve("predicted", points, "o"), *points_over(measured, "k")),
        bands=() if band is None else (likely(points, band),),
        marks=tuple(marks),
        rules=(parity,),
        x_scale="linear",
        y_scale="linear",
    )
    return Picture(panels=(choice, *over_alpha(w, goal, label, parity, band), _rounds(rows)))


def _rounds(rows: Sequence[Row]) -> Bars:
    """What a round is made of, k by k; those near the best where there are many."""
    near = [row for row in rows if row["near"]] if len(rows) > MOST else list(rows)
    bars = []
    for row in near:
        own = "verification" if row["k"] else "plain step"
        parts = {"drafting": number(row, "draft_s"), own: number(row, "verify_s")}
        pieces = tuple(Piece(n, s, people(s, "s")) for n, s in parts.items() if s > 0)
        tpot = f"{people(number(row, 'tpot_s'), 's')} a token"
        bars.append(Bar(f"k = {row['k']}", pieces, tpot))
    said = [*left_out("k", near, rows)]
    return Bars(title=", ".join(("a round", *said)), label="time, s", bars=tuple(bars))


def workloads(table: Table, places: Sequence[str]) -> Picture:
    """Maps of the best k of many workloads by batch and what else varies, a map for each place;
    where nothing else varies lines, and bars along nothing that has an axis.
    """
    rows = list(table.records())
    varied = [name for name in ("batch", "acceptance", "context") if _several(rows, name)]
    telling = [name for name in dict.fromkeys(places) if _several(rows, name)]
    if len(varied) < 2:
        along = _axis(rows, varied)
        return lines(rows, along, telling) if along else bars(rows, (*telling, *varied))
    y = next((n for n in ("acceptance", "context") if _several(rows, n)), "acceptance")
    told = dict.fromkeys((*places, "acceptance", "context"))
    apart = [n for n in told if n != y and _several(rows, n)]
    groups = grouped(rows, apart)
    kept, note = by_axis(list(groups), apart, "maps", PLACES)
    panels = []
    for key in kept:
        mine = groups[key]
        named = [f"{n} {v}" for n, v in zip(apart, key, strict=True)]
        panels.append(_map(mine, y, named))
    return Picture(panels=tuple(panels), columns=1 if len(panels) == 1 else 2, note=note)


def _axis(rows: Sequence[Row], varied: Sequence[str]) -> str | None:
    """The numbers along which workloads differ in one thing; None where it has none."""
    if list(varied) == ["acceptance"]:
        return None if None in values_of(rows, "alpha") else "alpha"
    return next(iter(varied), None)


def _map(rows: Sequence[Row], y: str, said: Sequence[str]) -> Cells:
    at = {(row["batch"], row[y]): row for row in rows}
    return speedup_map(at, y, _cell, ("best k and its speedup", *said))


def _cell(row: Row) -> str:
    return f"{row['k']} {times(number(row, 'speedup'))}"


def _several(rows: Sequence[Row], name: str) -> bool:
    return len(values_of(rows, name)) > 1
