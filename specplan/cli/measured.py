"""Files of measured rows that stand beside an answer."""

from __future__ import annotations

from pathlib import Path

from specplan.catalogue.store import Catalogue
from specplan.cli.bench import Workbench
from specplan.cli.scored import file_input, named_rows
from specplan.domain.measurement import Measurement
from specplan.domain.scenario import Input


def measured_rows(
    path: Path | None, catalogue: Catalogue
) -> tuple[tuple[Measurement, ...], dict[str, Input]]:
    """The rounds of a file with cards by their own names, and the file as an input of the answer;
    nothing without a file. Refused where no round names cards that there are.
    """
    if path is None:
        return (), {}
    rows = named_rows([path], Workbench(catalogue), "round")
    return tuple(rows), {"measured": file_input(path)}
