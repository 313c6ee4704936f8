"""An answer as the template and the script of the page take it: plain values, visible text."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from typing import Any

from specplan.domain.answer import Answer, Part
from specplan.domain.explorer import Dial, Explorer
from specplan.domain.picture import Picture
from specplan.render.amounts import WHOLE
from specplan.render.cells import shown
from specplan.render.footer import footer
from specplan.render.grid import Grid, Pairs, Prose, Row
from specplan.render.html.tabled import LONG, tables
from specplan.render.json_ import jsonable, version
from specplan.render.layout import elements
from specplan.render.palette import GAIN, LOSS, MIDDLE
from specplan.render.pictured import pictured

MOST = 2_000  # rows of a page: who wants more wants a file of rows
Values = dict[str, Any]


def content(answer: Answer) -> Values:
    """What the template is filled with."""
    return {
        "version": version(),
        "command": answer.command,
        "title": shown(answer.view.title) or shown(answer.command),
        "says": shown(answer.basis.says),
        "caption": [shown(line) for line in answer.view.caption],
        "elements": list(_elements(answer)),
        "tables": _tables(answer),
        "dials": [_dial(dial) for dial in answer.explorer.dials] if answer.explorer else [],
        "parts": [_part(part, answer.notes) for part in answer.parts],
        "footer": list(footer(answer)),
        "notes": [shown(note) for note in answer.notes],
        "data": _data(answer),
    }


def _part(part: Part, said: Collection[str]) -> Values:
    """A section; what the whole page notes is not noted again."""
    answer = part.answer
    return {
        "id": f"part-{part.name}",
        "title": shown(part.title),
        "about": shown(part.about),
        "headline": shown(answer.view.title),
        "tables": _tables(answer),
        "elements": list(_elements(answer)),
        "notes": [shown(note) for note in answer.notes if note not in said],
    }


def _tables(answer: Answer) -> list[Values] | None:
    """The figures of the answer's picture; None where it has no picture."""
    return None if answer.view.picture is None else list(tables(answer.view.picture()))


def _dial(dial: Dial) -> Values:
    return {
        "name": dial.name,
        "title": shown(dial.title),
        "last": len(dial.places) - 1,
        "at": dial.at,
    }


def _elements(answer: Answer) -> Iterator[Values]:
    """What stands on the page of an answer, in order; of a table beyond MOST rows the first."""
    left = MOST
    for element in elements(answer):
        if not isinstance(element, Grid):
            yield _others(element)
        elif left:
            rows = [{"cells": list(_cells(row, element))} for row in islice(element.rows, left)]
            left -= len(rows)
            yield {
                "kind": "grid",
                "title": shown(element.title),
                "heads": [{"text": head.text, "left": head.left} for head in element.heads],
                "rows": rows,
                "long": len(rows) > LONG,
            }
            if not left:
                words = f"The first {MOST:,} rows; -f csv and -f json have all of them."
                yield {"kind": "prose", "lines": [words], "drawn": False}


def _others(element: Pairs | Prose) -> Values:
    if isinstance(element, Pairs):
        return {"kind": "pairs", "pairs": list(element.together())}
    return {"kind": "prose", "lines": element.lines, "drawn": element.drawn}


def _cells(row: Row, grid: Grid) -> Iterator[Mapping[str, str]]:
    for number, (cell, head) in enumerate(zip(row.cells, grid.heads, strict=True)):
        before = f"{row.mark} " if row.mark and not number else ""
        look = " ".join(filter(None, (cell.style, "left" if head.left else "")))
        yield {"text": before + cell.text + cell.mark, "look": look}


def _data(answer: Answer) -> Values:
    """What the script draws from."""
    drawn = {f"part-{part.name}": part.answer for part in answer.parts} | {"answer": answer}
    return {
        "pictures": {
            name: _picture(pictured(one)) for name, one in drawn.items() if one.view.picture
        },
        "explorer": _explorer(answer.explorer) if answer.explorer else None,
        "counted": sorted(WHOLE),
        "map": {"loss": LOSS, "middle": MIDDLE, "gain": GAIN},
    }


def _picture(picture: Picture) -> Values:
    return {
        "columns": picture.columns,
        "shared": picture.shared,
        "note": shown(picture.note),
        "panels": [
            {"kind": type(panel).__name__.lower(), **_object(panel)} for panel in picture.panels
        ],
    }


def _explorer(explorer: Explorer) -> Values:
    return {
        "dials": [_object(dial) for dial in explorer.dials],
        "readings": [_object(reading) for reading in explorer.readings],
    }


def _object(value: object) -> Values:
    found = jsonable(value)
    return found if isinstance(found, dict) else {}
