"""Write tests/counters/fixtures and its index: `python -m counters.freeze` from tests/.

Fixtures that the simulator made carry its truth; those written by hand carry figures worked out
beside them. `test_fixtures.py` makes all of them anew and compares.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from pathlib import Path

from counters import contrary, made, made_sglang, made_vllm, pairs, written
from counters.fixture import COLUMNS, Fixture

FOLDER = Path(__file__).parent / "fixtures"
KEPT = ("README.md", ".gitattributes")  # written by hand


def fixtures() -> Iterator[Fixture]:
    """All of them, in the order of the index."""
    yield from made_vllm.fixtures()
    yield from made_sglang.fixtures()
    yield from made.fixtures()
    yield from written.fixtures()
    yield from contrary.fixtures()


def index(of: Iterable[Fixture]) -> str:
    """An index as CSV."""
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for one in of:
        writer.writerow(one.row())
    return out.getvalue()


def indexes() -> dict[str, str]:
    """The index of files, and that of pairs of scrapes."""
    return {"index.csv": index(fixtures()), "pairs.csv": index(pairs.pairs())}


def freeze() -> None:
    """Write every file, and remove those that nobody makes any longer."""
    FOLDER.mkdir(exist_ok=True)
    kept = {*indexes(), *KEPT}
    for one in fixtures():
        (FOLDER / one.file).write_bytes(one.content)
        kept.add(one.file)
    for name, text in indexes().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    for path in FOLDER.iterdir():
        if path.name not in kept:
            path.unlink()


if __name__ == "__main__":
    freeze()
