"""A table with one axis across: the grid of cells, or above 2,000 cells the map of best values.

The table is read once, in its own order; what is kept is one cell of text a place, shared between
places that read the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby

from specplan.domain.answer import Column, Pivot, Scalar, Table
from specplan.render.cells import cell_text, rows, shown
from specplan.render.grid import Cell, Element, Grid, Head, Prose, Row, Style

MAX_CELLS = 2_000
ACROSS = 8
TIE = 1e-9
NOT_BOUND_YET = "memory"
LEGEND = {
    "*": "best of the row",
    "!": "loses to plain decoding",
    "#": "does not fit in memory",
}

Key = tuple[Scalar, ...]
Heads = tuple[Head, ...]
BLANK = Cell("")
_cell = lru_cache(maxsize=4096)(Cell)


@dataclass(frozen=True, slots=True)
class _Run:
    """What the table holds at one place: the values across, what the row calls best if it says so,
    and whether all of them fit.
    """

    block: Key
    down: Key
    across: Key
    values: Key
    turns: Key
    best: Scalar
    fits: bool


@dataclass(slots=True)
class _Line:
    """One row of the sheet: its cells by place across, and its closing cells."""

    cells: list[Cell] = field(default_factory=list)
    closing: tuple[Cell, ...] = ()
    fits: bool = True

    def put(self, place: int, cell: Cell) -> None:
        self.cells.extend([BLANK] * (place + 1 - len(self.cells)))
        self.cells[place] = cell


@dataclass(frozen=True, slots=True)
class _Sheet:
    """Lines by block and by what stands at their left; places across by their value."""

    block_columns: tuple[Column, ...]
    down_columns: tuple[Column, ...]
    closing: Heads = ()
    across: dict[Scalar, int] = field(default_factory=dict)
    blocks: dict[Key, dict[Key, _Line]] = field(default_factory=dict)

    def line(self, block: Key, down: Key) -> _Line:
        return self.blocks.setdefault(block, {}).setdefault(down, _Line())

    def put(self, line: _Line, across: Scalar, cell: Cell) -> None:
        line.put(self.across.setdefault(across, len(self.across)), cell)


def pivot(section: Pivot, table: Table) -> Iterator[Element]:
    """The section as grids of at most eight columns, and the legend of the marks they use."""
    if table.rows > MAX_CELLS and section.down:
        yield from _map(section, table)
    else:
        sheet = _full(section, table)
        names = [_across_text(table.column(section.across), value) for value in sheet.across]
        yield from _grids(sheet, names)
        yield from _legend(sheet)


def _runs(section: Pivot, table: Table) -> Iterator[_Run]:
    blocks, keys = len(section.blocks), len(section.blocks) + len(section.down)
    turn = (section.turn,) if section.turn else ()
    best = (section.best,) if section.best else ()
    misfit = (section.misfit,) if section.misfit else ()
    names = (*section.blocks, *section.down, section.across, section.cell, *turn, *best, *misfit)
    for key, group in groupby(rows(table, names), key=lambda row: row[:keys]):
        columns = list(zip(*(row[keys:] for row in group), strict=True))
        yield _Run(
            block=key[:blocks],
            down=key[blocks:],
            across=columns[0],
            values=columns[1],
            turns=columns[2] if turn else (),
            best=columns[2 + len(turn)][0] if best else None,
            fits=not misfit or False not in columns[-1],
        )


def _full(section: Pivot, table: Table) -> _Sheet:
    """Every cell, with the best value of each row and where its bound changes."""
    column, across = table.column(section.cell), table.column(section.across)
    closing = [Head("best", left=True)]
    if section.turn:
        closing.append(Head(shown(table.column(section.turn).title), left=True, gap=3))
    sheet = _Sheet(_columns(table, section.blocks), _columns(table, section.down), tuple(closing))
    for run in _runs(section, table):
        line = sheet.line(run.block, run.down)
        best = _best(run)
        for number, (value, place) in enumerate(zip(run.values, run.across, strict=True)):
            cell = _marked(value, column, best=number == best, fits=run.fits)
            sheet.put(line, place, cell)
        style: Style = "" if run.fits else "misfit"
        named = run.across[best] if run.best is None else run.best
        ends = [_across_text(across, named)]
        ends += [_turn(run, across)] if section.turn else []
        line.closing = tuple(Cell(text, style=style) for text in ends)
        line.fits = run.fits
    return sheet


def _map(section: Pivot, table: Table) -> Iterator[Element]:
    """The best value of each run, the last `down` axis across, and how to get all rows."""
    column, across = table.column(section.cell), table.column(section.across)
    down = _columns(table, section.down)
    sheet = _Sheet(_columns(table, section.blocks), down[:-1])
    for run in _runs(section, table):
        line = sheet.line(run.block, run.down[:-1])
        best = _best(run)
        figure = _marked(run.values[best], column, best=False, fits=run.fits)
        text = f"{cell_text(run.across[best], across.form)} {figure.text}"
        sheet.put(line, run.down[-1], _cell(text, figure.mark, figure.style))
        line.fits = line.fits and run.fits
    last = down[-1]
    what = f"best {shown(across.title)} and its {shown(column.title)}"
    if _varied(sheet) or len(sheet.across) == 1:
        heads = [cell_text(value, last.form) for value in sheet.across]
        yield Prose((f"{what}; {shown(last.title)} across",))
    else:
        sheet, heads = _turned(sheet, last), ["best"]
        yield Prose((f"{what}; {shown(last.title)} down",))
    yield from _grids(sheet, heads)
    yield from _legend(sheet)
    yield Prose((f"a map of {table.rows:,} cells; all of them: -f csv, or -o rows.csv",), "dim")


def _turned(sheet: _Sheet, last: Column) -> _Sheet:
    """A sheet of one line a block with its places across put below each other."""
    turned = _Sheet(sheet.block_columns, (*sheet.down_columns, last))
    for block, lines in sheet.blocks.items():
        for down, line in lines.items():
            for value, cell in zip(sheet.across, line.cells, strict=False):
                below = turned.line(block, (*down, value))
                turned.put(below, None, cell)
                below.fits = line.fits
    return turned


def _best(run: _Run) -> int:
    """The place of the largest value; of equals the smallest across."""
    figures = [_figure(value) for value in run.values]
    top = max(figures)
    ties = [n for n, value in enumerate(figures) if math.isclose(value, top, rel_tol=TIE)]
    return min(ties, key=lambda n: _figure(run.across[n]))


def _figure(value: Scalar) -> float:
    return float(value) if isinstance(value, int | float) else -math.inf


def _marked(value: Scalar, column: Column, *, best: bool, fits: bool) -> Cell:
    text = cell_text(value, column.form)
    if column.form == "times" and isinstance(value, int | float) and round(value, 2) < 1:
        return _cell(text, "!", "loss")
    if best:
        return _cell(text, "*", "best")
    return _cell(text, "", "" if fits else "misfit")


def _turn(run: _Run, across: Column) -> str:
    """What binds along the row: one word, or from which place across it is another."""
    binds = [cell_text(value, "text") for value in run.turns]
    turned = next((n for n, bound in enumerate(binds) if bound != NOT_BOUND_YET), 0)
    place = cell_text(run.across[turned], across.form)
    return f"{shown(across.title)}>={place} {binds[turned]}" if turned else binds[0]


def _across_text(column: Column, value: Scalar) -> str:
    return f"{shown(column.title)}={cell_text(value, column.form)}"


def _columns(table: Table, names: tuple[str, ...]) -> tuple[Column, ...]:
    return tuple(table.column(name) for name in names)


def _varied(sheet: _Sheet) -> list[int]:
    """Which of the `down` columns take more than one value."""
    keys = {key for lines in sheet.blocks.values() for key in lines}
    return [n for n, values in enumerate(zip(*keys, strict=True)) if len(set(values)) > 1]


def _grids(sheet: _Sheet, names: list[str]) -> Iterator[Grid]:
    """Each block's lines, eight places across at a time; the closing columns come with the last."""
    varied = _varied(sheet)
    sides = [sheet.down_columns[n] for n in varied]
    left = tuple(_side_head(column, first=n == 0) for n, column in enumerate(sides))
    titled = [n for n, values in enumerate(zip(*sheet.blocks, strict=True)) if len(set(values)) > 1]
    marked = any(not line.fits for lines in sheet.blocks.values() for line in lines.values())
    for block, lines in sheet.blocks.items():
        title = ", ".join(_named(sheet.block_columns[n], block[n]) for n in titled)
        for start in range(0, len(names), ACROSS):
            places = slice(start, start + ACROSS)
            closing = sheet.closing if start + ACROSS >= len(names) else ()
            yield Grid(
                heads=_heads(left, names[places], closing, marked=marked),
                rows=tuple(
                    Row(
                        (
                            *_side(line, [down[n] for n in varied], sides),
                            *_places(line, places, len(names)),
                            *(line.closing if closing else ()),
                        ),
                        mark="" if line.fits else "#",
                    )
                    for down, line in lines.items()
                ),
                title=title if start == 0 else "",
                lead=True,
            )


def _named(column: Column, value: Scalar) -> str:
    return f"{shown(column.title)} {cell_text(value, column.form)}"


def _heads(left: Heads, names: list[str], closing: Heads, *, marked: bool) -> Heads:
    """The headings; a mark before the row stands off from a first cell that is no head of it."""
    first = 2 if left else int(marked)
    middle = (Head(name, gap=2 if n else first) for n, name in enumerate(names))
    return (*left, *middle, *closing)


def _side_head(column: Column, *, first: bool) -> Head:
    return Head(shown(column.title), left=column.form == "text", gap=0 if first else 1)


def _side(line: _Line, values: list[Scalar], columns: list[Column]) -> Iterator[Cell]:
    style: Style = "" if line.fits else "misfit"
    for value, column in zip(values, columns, strict=True):
        yield Cell(cell_text(value, column.form), style=style)


def _places(line: _Line, places: slice, count: int) -> list[Cell]:
    missing = [BLANK] * (count - len(line.cells))
    return [*line.cells, *missing][places]


def _legend(sheet: _Sheet) -> Iterator[Prose]:
    """The meaning of the marks in use, in one line."""
    every = [line for lines in sheet.blocks.values() for line in lines.values()]
    used = {cell.mark for line in every for cell in line.cells}
    used |= {"#"} if any(not line.fits for line in every) else set()
    if marks := [f"{mark} {meaning}" for mark, meaning in LEGEND.items() if mark in used]:
        yield Prose(("   ".join(marks),), "dim")
