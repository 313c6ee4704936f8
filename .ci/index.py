"""What packaged cards say, by the hash of their bytes, so that a listing parses none of them.

python .ci/index.py            rewrites index.json of hardware/, models/, engines/ and curves/
python .ci/index.py --check    exits 1 and names those that are out of date

Before that a card without one is given its first line, which tells editors the schema.
"""

from __future__ import annotations

import sys
from pathlib import Path

from specplan.catalogue.index import FILE, index_text
from specplan.catalogue.store import Catalogue
from specplan.cli.listed import Card, Kind, curves, engines, hardware, models

ROOT = Path(__file__).resolve().parents[1]
SCHEMAS = {"hardware": "hardware", "models": "model", "engines": "engine", "curves": "curve"}
MODELINE = "# yaml-language-server: $schema=../schemas/{}.schema.json\n"


def first_lines() -> None:
    """Gives each card without one the line that tells editors its schema."""
    for folder, schema in SCHEMAS.items():
        line = MODELINE.format(schema)
        for path in sorted((ROOT / folder).glob("*.yaml")):
            text = path.read_text(encoding="utf-8")
            if not text.startswith(line):
                path.write_text(line + text, encoding="utf-8")
                sys.stdout.write(f"{folder}/{path.name} given its first line\n")


def fresh(kind: Kind[Card]) -> str:
    """The index of the packaged cards of a kind as they are now; broken ones are left out."""
    cards = Catalogue().every(kind.cls)
    return index_text((loaded.origin.sha256, kind.known(loaded.card)) for loaded in cards)


def main(*, check: bool) -> int:
    """Writes what has changed, or only names it."""
    stale = 0
    if not check:
        first_lines()
    for kind in (hardware(), models(), engines(), curves()):
        path, text = ROOT / kind.folder / FILE, fresh(kind)
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            continue
        stale += 1
        sys.stdout.write(f"{kind.folder}/{FILE}{' is out of date' if check else ' written'}\n")
        if not check:
            path.write_text(text, encoding="utf-8")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main(check="--check" in sys.argv[1:]))
