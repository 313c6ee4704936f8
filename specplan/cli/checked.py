"""`check` for Python: the same files, the same rules, an Answer instead of an exit code."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from specplan.catalogue.store import Catalogue
from specplan.cli.checking import checking
from specplan.cli.locks import compare
from specplan.cli.scenario import load
from specplan.domain.answer import Answer
from specplan.questions.check import check as question


def check(
    *paths: str | Path,
    strict: bool = False,
    catalogue: Catalogue | None = None,
    today: date | None = None,
) -> Answer:
    """Whether the plans and cards at the paths still hold, as `specplan check` answers it.

    `ok` is false when something fails or cannot be read; rows are every outcome. A lock beside the
    plans is compared. `catalogue` is what `load` returns. Prices age and dates are yet to come only
    beside a given `today`: else the answer is the same on every day.
    """
    found = checking([Path(path) for path in paths], catalogue or load(), today)
    compare(found)
    return question(found.seen, strict=strict)
