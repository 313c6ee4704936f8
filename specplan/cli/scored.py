"""`accuracy` for Python: rows that ship, or files of rows, against what the cards predict."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from specplan.catalogue.ledger import packaged_rows, read_rows
from specplan.catalogue.store import Catalogue
from specplan.cli.bench import Workbench
from specplan.cli.scenario import load
from specplan.domain.answer import Answer
from specplan.domain.scenario import Input
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
    rows = [row for path in files for row in read_rows(path)] if files else packaged_rows()
    given = {f"measurements_{n}": _file(path) for n, path in enumerate(files, start=1)}
    return question(rows, Workbench(catalogue or load()), kind=kind, worst=worst, inputs=given)


def _file(path: Path) -> Input:
    """A file of rows as what an answer rests on."""
    return Input(value=str(path), origin=str(path), sha256=sha256(path.read_bytes()).hexdigest())
