"""`accuracy` for Python: rows that ship, or files of rows, against what the cards predict."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from specplan.catalogue.ledger import packaged_rows, placed_rows
from specplan.catalogue.store import Catalogue
from specplan.cli.bench import Workbench
from specplan.cli.scenario import load
from specplan.domain.answer import Answer
from specplan.domain.measurement import Measurement
from specplan.domain.scenario import Input
from specplan.errors import UnknownName
from specplan.questions.accuracy import accuracy as question


def accuracy(
    *paths: str | Path,
    kind: str | None = None,
    worst: int | None = None,
    catalogue: Catalogue | None = None,
) -> Answer:
    """How far predictions lie from measurements, as `specplan accuracy` answers it.

    `paths` are CSV files in the layout of measurements/; without one, the rows that ship. `kind`
    is gemm, attention, experts, step, tpot or round; `worst` asks for that many rows one by one.
    `catalogue` is what `load` returns.
    """
    files = [Path(path) for path in paths]
    bench = Workbench(catalogue or load())
    rows = named_rows(files, bench, kind) if files else packaged_rows()
    given = {f"measurements_{n}": file_input(path) for n, path in enumerate(files, start=1)}
    return question(rows, bench, kind=kind, worst=worst, inputs=given)


def named_rows(files: Sequence[Path], bench: Workbench, kind: str | None) -> list[Measurement]:
    """The rows of files, cards by their own names; refused where no row (of that kind) names cards
    that there are.
    """
    rows: list[Measurement] = []
    errors: list[UnknownName] = []
    known = False
    for one in (placed for path in files for placed in placed_rows(path)):
        row, error = bench.named(one.row)
        rows.append(row)
        if error is None:
            known |= kind in {None, row.kind}
        elif kind in {None, row.kind} and not errors:
            column, found = error
            where = one.document.where((column,))
            more = {"expected": found.expected, "hint": found.hint}
            errors.append(UnknownName(found.what, where=where, **more))
    if errors and not known:
        raise errors[0]
    return rows


def file_input(path: Path) -> Input:
    """A file of rows as what an answer rests on."""
    return Input(value=str(path), origin=str(path), sha256=sha256(path.read_bytes()).hexdigest())
