"""The pictures of a best k: its candidates, and the best of many workloads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from specplan.domain.answer import Basis, Scalar, Table
from specplan.domain.picture import Band, Bar, Bars, Cells, Curve, Mark, Picture, Piece, Plot
from specplan.questions.common import times
from specplan.questions.pictures import CELLS, PARITY, SPEEDUP, left_out, thinned
from specplan.questions.sweep_picture import LABELS
from specplan.units import people

Row = Mapping[str, Scalar]
MOST = 9  # rounds drawn
PLACES = 4  # maps
SAID = {"throughput": "tokens/s over plain decoding", "flops_per_token": "FLOP/token over plain"}


def candidates(table: Table, basis: Basis, scored: str) -> Picture:
    """What the objective goes by at each k, and what rounds are made of."""
    rows = list(table.records())
    points = tuple((_number(row, "k"), _number(row, scored)) for row in rows)
    band = basis.bands.get("speedup") if scored == "speedup" else None
    marks = [
        Mark(
            "*" if row["best"] else "+",
            "best k" if row["best"] else "within 1 %",
            _number(row, "k"),
            _number(row, scored),
        )
        for row in rows
        if row["best"] or row["within_1_percent"]
    ]
    choice = Plot(
        x_label=LABELS["k"],
        y_label=SPEEDUP if scored == "speedup" else SAID[scored],
        curves=(Curve("predicted", points, "o"),),
        bands=()
        if band is None
        else (
            Band(
                "9 of 10 within",
                tuple((x, y * (1 + band[0]), y * (1 + band[1])) for x, y in points),
            ),
        ),
        marks=tuple(marks),
        rules=(PARITY if scored == "speedup" else replace(PARITY, name="plain decoding"),),
        x_scale="linear",
        y_scale="linear",
    )
    return Picture(panels=(choice, _rounds(rows)))


def _rounds(rows: Sequence[Row]) -> Bars:
    """What a round is made of, k by k; those near the best where there are many."""
    near = [row for row in rows if row["near"]] if len(rows) > MOST else list(rows)
    bars = []
    for row in near:
        own = "verification" if row["k"] else "plain step"
        parts = {"drafting": _number(row, "draft_s"), own: _number(row, "verify_s")}
        pieces = tuple(Piece(n, s, people(s, "s")) for n, s in parts.items() if s > 0)
        tpot = f"{people(_number(row, 'tpot_s'), 's')} a token"
        bars.append(Bar(f"k = {row['k']}", pieces, tpot))
    said = [*left_out("k", near, rows)]
    return Bars(title=", ".join(("a round", *said)), label="time, s", bars=tuple(bars))


def workloads(table: Table, places: Sequence[str]) -> Picture:
    """Maps of the best k of many workloads by batch and what else varies, a map for each place."""
    rows = list(table.records())
    y = next((n for n in ("acceptance", "context") if _several(rows, n)), "acceptance")
    apart = [n for n in (*places, "acceptance", "context") if n != y and _several(rows, n)]
    groups: dict[tuple[Scalar, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in dict.fromkeys(apart)), []).append(row)
    kept = thinned(list(groups), PLACES)
    said = [*left_out("maps", kept, list(groups))]
    panels = []
    for key in kept:
        mine = groups[key]
        named = [f"{n} {v}" for n, v in zip(dict.fromkeys(apart), key, strict=True)]
        panels.append(_map(mine, y, (*named, *said)))
    return Picture(panels=tuple(panels), columns=1 if len(panels) == 1 else 2)


def _map(rows: Sequence[Row], y: str, said: Sequence[str]) -> Cells:
    at = {(row["batch"], row[y]): row for row in rows}
    all_x = list(dict.fromkeys(row["batch"] for row in rows))
    all_y = list(dict.fromkeys(row[y] for row in rows))
    x, down = thinned(all_x, CELLS), thinned(all_y, CELLS)
    head = [*said, *left_out("batches", x, all_x), *left_out(f"{y}s", down, all_y)]
    if not all(row["fits"] for row in rows):
        head.append("~ does not fit")
    return Cells(
        title=", ".join(("best k and its speedup", *head)),
        x_label=LABELS["batch"],
        y_label=LABELS["context"] if y == "context" else "acceptance",
        label=SPEEDUP,
        x=tuple(f"{one:,}" for one in x),
        y=tuple(f"{one:,}" if y == "context" else str(one) for one in down),
        values=tuple(tuple(_number(at[b, a], "speedup") for b in x) for a in down),
        texts=tuple(tuple(_cell(at[b, a]) for b in x) for a in down),
        middle=1.0,
    )


def _cell(row: Row) -> str:
    return f"{row['k']} {times(_number(row, 'speedup'))}{'' if row['fits'] else ' ~'}"


def _several(rows: Sequence[Row], name: str) -> bool:
    return len({row[name] for row in rows}) > 1


def _number(row: Row, name: str) -> float:
    return float(row[name] or 0)
