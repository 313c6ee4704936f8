"""What a page for people is made of, before it is known how it will be drawn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

Style = Literal["", "title", "basis", "head", "dim", "best", "loss", "misfit"]


@dataclass(frozen=True, slots=True)
class Cell:
    """The text of a cell, the mark after it, and a word for how it looks."""

    text: str
    mark: str = ""
    style: Style = ""


@dataclass(frozen=True, slots=True)
class Head:
    """A column: its heading, the side it is aligned to, and the spaces before it."""

    text: str
    left: bool = False
    gap: int = 2


@dataclass(frozen=True, slots=True)
class Row:
    """The cells of a row, and the mark before the first of them."""

    cells: tuple[Cell, ...]
    mark: str = ""


@dataclass(frozen=True, slots=True)
class Grid:
    """Rows under headings; `lead` keeps a character free at the left for the rows' marks. With
    `repeated` columns at the left, what is too wide for a page may go on in blocks that repeat
    them.
    """

    heads: tuple[Head, ...]
    rows: Iterable[Row]
    title: str = ""
    lead: bool = False
    repeated: int = 0


@dataclass(frozen=True, slots=True)
class Pairs:
    """Labels and what they stand for."""

    pairs: tuple[tuple[str, str], ...]

    def together(self) -> Iterator[tuple[str, list[str]]]:
        """Each label with its values: those without a label go on with the one before."""
        found: list[tuple[str, list[str]]] = []
        for label, value in self.pairs:
            if found and not label:
                found[-1][1].append(value)
            else:
                found.append((label, [value]))
        yield from found


@dataclass(frozen=True, slots=True)
class Prose:
    """Sentences, one a line; with `wrap`, those that do not fit go on in the next. `drawn` is a
    picture made of characters.
    """

    lines: tuple[str, ...]
    style: Style = ""
    wrap: bool = False
    drawn: bool = False


Element = Grid | Pairs | Prose
