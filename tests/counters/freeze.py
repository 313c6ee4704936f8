"""Write tests/counters/fixtures and its index: `python -m counters.freeze` from tests/.

Fixtures that the simulator made carry its truth; those written by hand carry figures worked out
beside them. `test_fixtures.py` makes all of them anew and compares.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

from counters import made, written
from counters.fixture import COLUMNS, Fixture

FOLDER = Path(__file__).parent / "fixtures"


def fixtures() -> Iterator[Fixture]:
    """All of them, in the order of the index."""
    yield from made.fixtures()
    yield from written.fixtures()


def index() -> str:
    """The index as CSV."""
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for one in fixtures():
        writer.writerow(one.row())
    return out.getvalue()


def freeze() -> None:
    """Write every file, and remove those that nobody makes any longer."""
    FOLDER.mkdir(exist_ok=True)
    kept = {"index.csv", "README.md"}
    for one in fixtures():
        (FOLDER / one.file).write_bytes(one.content)
        kept.add(one.file)
    (FOLDER / "index.csv").write_text(index(), encoding="utf-8")
    for path in FOLDER.iterdir():
        if path.name not in kept:
            path.unlink()


if __name__ == "__main__":
    freeze()
