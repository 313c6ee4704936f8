"""Step times of an engine from CSV: columns of their own, or rows of measurements.

A file of step times has the columns batch, k (or width, for passes of the target alone), context
where it is known, tau where it was counted, and one of step_s, tpot_s and tokens_per_s; times also
in _ms or _us. Columns stand in any order; others are not read, which is said. A file with a column
`kind` is one of measurements: its rows of kind step, tpot and round are taken, the others skipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from specplan.catalogue.explain import SHOWN
from specplan.catalogue.ledger import Placed, placed_rows
from specplan.catalogue.lines import MAX_BYTES, cells, lines, row_cells, starts
from specplan.catalogue.read import read_bytes
from specplan.catalogue.run_columns import COLUMNS, NEEDED, VALUES, columns_of
from specplan.domain.fitted import Ran
from specplan.domain.measurement import Measurement
from specplan.domain.runs import SPEEDUP, STEP, THROUGHPUT, TPOT, Run, Runs
from specplan.errors import InputError, Where
from specplan.units import parse_number
from specplan.visible import visible

BOUNDS: Final = {
    "batch": (1.0, 1e6),
    "context": (0.0, 1e8),
    "k": (0.0, 64.0),
    "width": (1.0, 1e4),
    "tau": (1.0, 65.0),
}
WHOLE: Final = ("k", "width")
SHORTEST_S, LONGEST_S = 1e-6, 1e4
UNIT: Final = re.compile(r"[0-9.eE+-]+ ?[a-zA-Zµ]+")  # a number, and its unit behind it
STATED: Final = ("engine", "gpu", "gpus", "target", "draft")


def read_runs(paths: Sequence[Path]) -> Runs:
    """All step times in these files, in order; each at most 8 MB. Refused where files contradict
    each other about what ran.
    """
    rows: list[Run] = []
    unread: dict[str, None] = {}
    stated: dict[str, tuple[object, Where]] = {}
    skipped = doubtful = 0
    for path in paths:
        if not _measurements(path):
            more, others = _plain(path)
            rows, unread = rows + more, unread | dict.fromkeys(others)
            continue
        placed = list(placed_rows(path))
        used = [one for one in placed if one.row.kind in {"step", "tpot", "round"}]
        skipped += len(placed) - len(used)
        doubtful += sum(one.row.doubtful for one in used)
        rows += [_run(one) for one in used if not one.row.doubtful]
        _agree(used, stated)
    if not rows:
        name = visible(str(paths[0]))
        what = "no step times" if not doubtful else "none but doubtful step times"
        raise InputError(what, where=Where(name), expected=f"rows of {NEEDED}")
    said = {name: value for name, (value, _) in stated.items()}
    engine = said.pop("engine", None)
    ran = Ran(**said)  # type: ignore[arg-type]
    return Runs(
        rows=tuple(rows),
        engine=str(engine) if engine else None,
        ran=ran,
        skipped=skipped,
        doubtful=doubtful,
        unread=tuple(unread),
    )


def _text(path: Path) -> Iterator[tuple[str, Where]]:
    shown = visible(str(path))
    return lines(read_bytes(path, str(path), "a CSV file", MAX_BYTES), shown)


def _measurements(path: Path) -> bool:
    """Whether the header is that of measurements."""
    header, where = next(_text(path), ("", Where(visible(str(path)), 1, 1)))
    return bool(header) and "kind" in cells(header, where)


def _agree(placed: Iterable[Placed], stated: dict[str, tuple[object, Where]]) -> None:
    """Takes in what rows say of the engine that ran; one card is fitted to one setup."""
    for one in placed:
        for name in STATED:
            value = getattr(one.row, name)
            where = one.document.where((name,))
            if value is not None and stated.setdefault(name, (value, where))[0] != value:
                before = visible(str(stated[name][0]), SHOWN)
                raise InputError(
                    f"{name} {visible(str(value), SHOWN)} beside {before}",
                    where=where,
                    expected="rows of one setup",
                    hint="give each setup a file of its own",
                )


def _run(one: Placed) -> Run:
    """A row of measurements as a run."""
    row: Measurement = one.row
    context = float(row.context) if row.context is not None else None
    if row.kind == "tpot" and row.isl and row.osl:
        context = row.isl + row.osl / 2
    what = {"step": STEP, "tpot": TPOT, "round": SPEEDUP}[row.kind]
    k = row.k or 0
    return Run(
        batch=float(row.batch or 1),
        context=context,
        k=k,
        width=row.tokens or k + 1,
        value=row.value,
        what=what,
        tau=row.tau,
        where=one.document.where(("value",)),
    )


def _plain(path: Path) -> tuple[list[Run], list[str]]:
    """The rows of a file of step times, and its columns that nobody reads."""
    text = _text(path)
    header, where = next(text, ("", Where(visible(str(path)), 1, 1)))
    columns = columns_of(header, where)
    value = next(column for column in columns if column in VALUES)
    rows = []
    for line, at in text:
        found = row_cells(line, columns, at)
        begins = dict(zip(columns, starts(line), strict=True))
        said = dict(zip(columns, found, strict=True))
        rows.append(_Row(said, begins, at).run(value))
    return rows, [visible(column, SHOWN) for column in columns if column not in COLUMNS]


@dataclass(frozen=True, slots=True)
class _Row:
    """One line: its cells and where they begin."""

    said: Mapping[str, str]
    begins: Mapping[str, int]
    line: Where

    def run(self, value: str) -> Run:
        """The line as a run."""
        batch = self._number("batch")
        if batch is None:
            raise InputError("batch is blank", where=self._where("batch"), expected="sequences")
        k, width = self._number("k"), self._number("width")
        if k is None and width is None:
            column = "k" if "k" in self.said else "width"
            hint = "0 is a plain step" if column == "k" else "1 is a plain step"
            raise InputError(f"{column} is blank", where=self._where(column), hint=hint)
        drafts = int(k or 0)
        wide = int(width or drafts + 1)
        if wide < drafts + 1:
            what = f"width {wide} of k = {drafts}"
            raise InputError(what, where=self._where("width"), expected=f"at least {drafts + 1}")
        what, factor = VALUES[value]
        return Run(
            batch=batch,
            context=self._number("context"),
            k=drafts,
            width=wide,
            value=self._value(value, factor),
            what=what,
            tau=self._tau(drafts),
            where=self._where(value),
        )

    def _where(self, column: str) -> Where:
        return Where(self.line.name, self.line.line, self.begins[column])

    def _number(self, column: str) -> float | None:
        cell = self.said.get(column, "")
        if not cell:
            return None
        number = self._parsed(column, cell)
        low, high = BOUNDS[column]
        if not low <= number <= high:
            what = f"{column} {number:g} is out of range"
            raise InputError(what, where=self._where(column), expected=f"{low:g} to {high:g}")
        if column in WHOLE and not number.is_integer():
            what = f"{column} {number:g} is a fraction"
            raise InputError(what, where=self._where(column), expected="a whole number")
        return number

    def _parsed(self, column: str, cell: str) -> float:
        try:
            return parse_number(cell)
        except InputError as error:
            unit = column in VALUES and bool(UNIT.fullmatch(cell))
            hint = "the unit stands in the column's name: step_ms" if unit else error.hint
            what = f"{column}: {error.what}"
            where = self._where(column)
            raise InputError(what, where=where, expected=error.expected, hint=hint) from None

    def _value(self, column: str, factor: float) -> float:
        cell, where = self.said[column], self._where(column)
        if not cell:
            raise InputError(f"{column} is blank", where=where, expected="what was measured")
        value = factor * self._parsed(column, cell)
        low, high = (SHORTEST_S, LONGEST_S) if VALUES[column][0] != THROUGHPUT else (1e-4, 1e9)
        if not low <= value <= high:
            what = f"{column} {visible(cell, SHOWN)} is implausible"
            unit = "tokens/s" if VALUES[column][0] == THROUGHPUT else "s"
            slip = "another unit? step_ms holds milliseconds" if unit == "s" and value > 0 else ""
            raise InputError(what, where=where, expected=f"{low:g} to {high:g} {unit}", hint=slip)
        return value

    def _tau(self, k: int) -> float | None:
        tau = self._number("tau")
        if tau is not None and tau > k + 1:
            what = f"tau {tau:g} after {k} drafts"
            raise InputError(what, where=self._where("tau"), expected=f"at most {k + 1}, k + 1")
        return tau
