"""An answer: a typed value, a table that may be long, and what people should see of them.

Renderers know these shapes and no command; questions make these shapes and never print.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from specplan.domain.explorer import Explorer
from specplan.domain.forms import Form
from specplan.domain.picture import Picture
from specplan.domain.scenario import Input

Scalar = str | int | float | bool | None
Chunk = Mapping[str, Sequence[Scalar]]  # equally long columns by name, a few thousand rows


class Verbatim(str):
    """Text that somebody runs or loads: JSON carries it as it is, with its line feeds."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its name for machines, SI unit, heading and form for people, and meaning."""

    name: str
    unit: str
    title: str
    form: Form
    meaning: str = ""


def no_chunks() -> Iterator[Chunk]:
    """A table without rows."""
    return iter(())


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows in order, made chunk by chunk when asked, so that a million never sit in memory.

    Chunks hold the columns, and `aside` of them what only people read: it repeats the columns in
    other words.
    """

    columns: tuple[Column, ...] = ()
    aside: tuple[Column, ...] = ()
    rows: int = 0
    chunks: Callable[[], Iterator[Chunk]] = no_chunks

    def column(self, name: str) -> Column:
        """The column of that name."""
        return next(column for column in (*self.columns, *self.aside) if column.name == name)

    def records(self) -> Iterator[dict[str, Scalar]]:
        """Row by row."""
        names = tuple(column.name for column in self.columns)
        for chunk in self.chunks():
            for values in zip(*(chunk[name] for name in names), strict=True):
                yield dict(zip(names, values, strict=True))


def table_of(
    columns: tuple[Column, ...],
    records: Sequence[Mapping[str, Scalar]],
    aside: tuple[Column, ...] = (),
) -> Table:
    """A short table from its rows."""
    by_name = {c.name: [record[c.name] for record in records] for c in (*columns, *aside)}
    return Table(columns=columns, aside=aside, rows=len(records), chunks=lambda: iter((by_name,)))


def table_from(
    columns: tuple[Column, ...], values: Sequence[object], aside: tuple[Column, ...] = ()
) -> Table:
    """A short table of objects whose attributes are called as the columns are."""
    names = [column.name for column in (*columns, *aside)]
    return table_of(columns, [{n: getattr(value, n) for n in names} for value in values], aside)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pivot:
    """Show `cell` with `across` along the top and `down` along the side, one block for each
    distinct value of `blocks`; `turn` names the column whose first value other than `memory`
    gives the row's last heading. Marks for the best and for a loss follow the cell; `best` names
    the column whose value the row calls best, if not that of its best cell; `misfit` names a flag
    column that marks the row head where it is false."""

    across: str
    down: tuple[str, ...]
    blocks: tuple[str, ...]
    cell: str
    turn: str
    misfit: str
    best: str = ""


@dataclass(frozen=True, slots=True)
class Facts:
    """Labelled lines."""

    pairs: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Lines:
    """Plain sentences, one a line; with `wrap`, text that may go on in the next line. `drawn` is a
    picture made of characters, which stand where they stand.
    """

    lines: tuple[str, ...]
    wrap: bool = False
    drawn: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Some columns of the table; `where` names a flag column that keeps a row for people, and
    `mark` a flag column that puts `*` after the value of the column `marked`. `losing` are columns
    whose values get `!`, each with the flag column that says where.

    What is wider than a page goes on in further blocks of columns, the first `heads` of which stand
    in each; without heads it stays as wide as it is.
    """

    columns: tuple[str, ...]
    where: str = ""
    mark: str = ""
    marked: str = ""
    losing: tuple[tuple[str, str], ...] = ()
    heads: int = 0


Section = Pivot | Facts | Lines | Rows


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What people see: a title with the basis at its right, a caption, sections, closing lines;
    `picture` draws the answer, where it has a picture; it is made when it is asked for.
    """

    title: str
    caption: tuple[str, ...] = ()
    sections: tuple[Section, ...] = ()
    picture: Callable[[], Picture] | None = None


Kind = Literal["bound", "estimate", "calibrated", "exact"]
SEPARATOR = "; "  # between what several engines say in one basis


@dataclass(frozen=True, slots=True, kw_only=True)
class Basis:
    """What kind of figures these are and how far to trust them. `says` holds the words of each
    engine asked about; a band is the widest of theirs.
    """

    kind: Kind
    says: str
    source: str = ""
    bands: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    assumed: tuple[str, ...] = ()
    extrapolated: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """An answer within an answer: its name for machines and links, its heading, a sentence on what
    it shows.
    """

    name: str
    title: str
    about: str
    answer: Answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """`value` is a dataclass of scalars; `ok` false is the answer no (exit 1). A report is made of
    `parts`, and `explorer` is what its reader can turn.
    """

    command: str
    value: object
    table: Table
    view: View
    basis: Basis
    inputs: Mapping[str, Input] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    ok: bool = True
    parts: tuple[Part, ...] = ()
    explorer: Explorer | None = None
