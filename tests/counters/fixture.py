"""A fixture: a file of one format and the figures that a reader should find in it."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from counters.world import Truth

COLUMNS = (
    "file",
    "format",
    "engine",
    "versions",
    "drafts",
    "drafted_tokens",
    "accepted_tokens",
    "tokens_per_round",
    "acceptance_rate",
    "k",
    "per_position",
    "batch",
    "drafts_within",
    "within",
    "positions_within",
    "traps",
    "contradiction",
    "how",
)


@dataclass(frozen=True, slots=True)
class Fixture:
    """One file. A figure that is None cannot be won back from it.

    Rates are fractions, lengths count the bonus token, positions are unconditional. `within` are
    absolute tolerances: of drafts, of lengths and rates, of positions; 0 asks for the exact figure
    (up to floating point). `traps` are those that a reader must name, it may name more.
    `contradiction` is a short id of the identity that the file breaks. A file with a format of
    "" is of no format: reading it alone is an error.
    """

    file: str
    format: str
    engine: str
    versions: str
    content: bytes
    how: str
    drafts: int | None = None
    drafted_tokens: int | None = None
    accepted_tokens: int | None = None
    tokens_per_round: float | None = None
    acceptance_rate: float | None = None
    k: int | None = None
    per_position: tuple[float, ...] | None = None
    batch: str = ""
    drafts_within: float = 0.0
    within: float = 0.0
    positions_within: float = 0.0
    traps: tuple[str, ...] = ()
    contradiction: str = ""

    def row(self) -> dict[str, str]:
        """Its line of the index."""
        cells = {column: _cell(getattr(self, column)) for column in COLUMNS}
        for name in ("drafts_within", "within", "positions_within"):
            cells[name] = f"{getattr(self, name):g}"
        return cells


FIGURES = (
    "drafts",
    "drafted_tokens",
    "accepted_tokens",
    "tokens_per_round",
    "acceptance_rate",
    "k",
    "per_position",
)


def figures(told: Truth, *, without: tuple[str, ...] = ()) -> dict[str, object]:
    """The figures of a truth as a fixture's, but for some that its format loses."""
    return {name: getattr(told, name) for name in FIGURES if name not in without}


def read_index(folder: Path) -> Iterator[dict[str, str]]:
    """The rows of an index."""
    with (folder / "index.csv").open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, tuple):
        return " ".join(_cell(one) for one in value)
    return f"{value:.9g}" if isinstance(value, float) else str(value)
