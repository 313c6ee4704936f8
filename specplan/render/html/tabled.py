"""The figures of a picture as tables, for a page whose script does not run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from specplan.domain.picture import Bars, Cells, Curve, Picture, Plot
from specplan.render.amounts import is_speedup, said
from specplan.render.cells import shown
from specplan.render.drawable import drawable
from specplan.units import significant

DIGITS = 4
MOST = 500  # rows of a table
LONG = 16  # rows of a table that stands open
Values = dict[str, Any]
Rows = Sequence[Sequence[str]]


def tables(picture: Picture) -> Iterator[Values]:
    """What is not drawn, a table for each panel and, where a plot has them, one for its marks
    and rules.
    """
    if picture.note:
        yield {"kind": "prose", "lines": [shown(picture.note)], "drawn": False}
    for panel in drawable(picture).panels:
        match panel:
            case Plot():
                yield from _plot(panel)
            case Bars():
                yield _bars(panel)
            case Cells():
                head = f"{panel.y_label} (down), {panel.x_label} (across)"
                rows = [(y, *texts) for y, texts in zip(panel.y, panel.texts, strict=True)]
                yield _table(panel.title, (head, *panel.x), rows)


def _plot(panel: Plot) -> Iterator[Values]:
    """Everything over x side by side, then the single points and lines by their names."""
    columns: dict[str, list[tuple[float, float]]] = {}
    for name, curve in _named(panel.curves):
        columns.setdefault(name or panel.y_label, []).extend(curve.points)
    for band in panel.bands:
        columns[f"{band.name}, low"] = [(x, low) for x, low, _ in band.points]
        columns[f"{band.name}, high"] = [(x, high) for x, _, high in band.points]
    title = ": ".join(filter(None, (panel.title, panel.y_label)))
    at = {name: _by_x(points, panel.y_label) for name, points in columns.items()}
    every = sorted({x for column in at.values() for x in column})
    if every:
        rows = [
            (_told(x, panel.x_label), *(column.get(x, "") for column in at.values())) for x in every
        ]
        yield _table(title, (panel.x_label, *columns), rows)
    single = [(m.name, _told(m.x, panel.x_label), _told(m.y, panel.y_label)) for m in panel.marks]
    single += [(r.name, _told(r.at, panel.x_label), "") for r in panel.rules if r.axis == "x"]
    single += [(r.name, "", _told(r.at, panel.y_label)) for r in panel.rules if r.axis == "y"]
    if single:
        yield _table(title, ("", panel.x_label, panel.y_label), single)


def _named(curves: Iterable[Curve]) -> Iterator[tuple[str, Curve]]:
    """Each curve with its name; a piece without one has that of the piece with its sign."""
    names: dict[str, str] = {}
    for curve in curves:
        name = curve.name or names.get(curve.sign, "")
        names[curve.sign] = name
        yield name, curve


def _by_x(points: Iterable[tuple[float, float]], label: str) -> dict[float, str]:
    """What stands at each x; where a line steps, both values."""
    found: dict[float, dict[str, None]] = {}
    for x, y in points:
        found.setdefault(x, {})[_told(y, label)] = None
    return {x: ", ".join(texts) for x, texts in found.items()}


def _bars(panel: Bars) -> Values:
    names = list(dict.fromkeys(piece.name for bar in panel.bars for piece in bar.pieces))
    rows = []
    for bar in panel.bars:
        texts: dict[str, list[str]] = {}
        for piece in bar.pieces:
            texts.setdefault(piece.name, []).append(piece.text)
        rows.append((bar.name, bar.text, *(", ".join(texts.get(name, ())) for name in names)))
    rows += [(rule.name, _told(rule.at, panel.label), *("" for _ in names)) for rule in panel.rules]
    return _table(panel.title, (panel.label, "", *names), rows)


def _table(title: str, heads: Sequence[str], rows: Rows) -> Values:
    """As the template takes a grid: names at the left, figures at the right."""
    if len(rows) > MOST:
        title = f"{title}, the first {MOST} of {len(rows):,} rows"
    return {
        "kind": "grid",
        "title": shown(title),
        "heads": [{"text": shown(text), "left": not n} for n, text in enumerate(heads)],
        "rows": [
            {
                "cells": [
                    {"text": shown(text), "look": "" if n else "left"} for n, text in enumerate(row)
                ]
            }
            for row in islice(rows, MOST)
        ],
        "long": len(rows) > LONG,
    }


def _told(value: float, label: str) -> str:
    if is_speedup(label):
        return said(value, label)
    text = significant(value, DIGITS)
    return text.rstrip("0").removesuffix(".") if "." in text and "e" not in text else text
