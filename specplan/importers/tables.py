"""Tables of probabilities or logits that an engine has dumped, as JSON.

    {"kind": "logits", "target": [[...], ...], "draft": [[...], ...],
     "prompt": [ids], "history": [ids], "drafted": [ids]}

A row for each position of a drafted path, an entry for each token; one row may stand alone. The ids
are what penalties see: of the prompt, of the output before the round, of the drafts in order.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from specplan.errors import InputError, unknown
from specplan.importers.json_ import MAX_BYTES, Bare, parse_json
from specplan.opening import opened, place
from specplan.visible import visible

KEYS: Final = ("kind", "target", "draft", "prompt", "history", "drafted")
KINDS: Final = ("logits", "probabilities")
WANTED: Final = "tables of probabilities or logits"
MAX_POSITIONS: Final = 64
MAX_TOKENS: Final = 1_000_000
_LARGEST: Final = 1e300
_SHOWN: Final = 40

Row = list[float]


@dataclass(frozen=True, slots=True, eq=False)
class DumpedTables:
    """What a file holds, every number finite or a logit of -inf; shapes are not compared here."""

    kind: Literal["logits", "probabilities"]
    target: list[Row]
    draft: list[Row]
    prompt: tuple[int, ...]
    history: tuple[int, ...]
    drafted: tuple[int, ...]
    sha256: str

    @property
    def logits(self) -> bool:
        """Whether the rows are logits."""
        return self.kind == "logits"


def read_tables(path: Path) -> DumpedTables:
    """The tables in a JSON file of at most 64 MB."""
    with opened(path, WANTED) as (file, size):
        if size > MAX_BYTES:
            what = f"{size} bytes are too many for {WANTED}"
            raise InputError(what, where=place(path), expected=f"at most {MAX_BYTES}")
        raw = file.read(MAX_BYTES)
    data = parse_json(raw, path)
    for key in data:
        if key not in KEYS:
            raise unknown("key", visible(key, _SHOWN), KEYS, where=place(path))
    kind = data.get("kind")
    if kind not in KINDS:
        said = f"kind is {visible(str(kind), _SHOWN)}" if "kind" in data else "there is no kind"
        raise InputError(said, where=place(path), expected=" or ".join(KINDS))
    return DumpedTables(
        kind=kind,
        target=_rows(data, "target", path, logits=kind == "logits"),
        draft=_rows(data, "draft", path, logits=kind == "logits"),
        prompt=_ids(data, "prompt", path),
        history=_ids(data, "history", path),
        drafted=_ids(data, "drafted", path),
        sha256=hashlib.sha256(raw).hexdigest(),
    )


def _rows(data: dict[str, object], name: str, path: Path, *, logits: bool) -> list[Row]:
    found = data.get(name)
    if not isinstance(found, list) or not found:
        raise InputError(f"{name} is no list of rows", where=place(path), expected=WANTED)
    rows = found if isinstance(found[0], list) else [found]
    if len(rows) > MAX_POSITIONS:
        what = f"{name} has {len(rows)} positions"
        raise InputError(what, where=place(path), expected=f"at most {MAX_POSITIONS}")
    read = [_row(row, f"{name}[{i}]", path, logits=logits) for i, row in enumerate(rows)]
    for i, row in enumerate(read):
        if len(row) != len(read[0]):
            what = f"{name}[{i}] has {len(row)} values"
            raise InputError(what, where=place(path), expected=f"{len(read[0])}, as {name}[0]")
    return read


def _row(row: object, name: str, path: Path, *, logits: bool) -> Row:
    if not isinstance(row, list) or not row:
        raise InputError(f"{name} is no list of numbers", where=place(path), expected=WANTED)
    values = [_number(each, logits=logits) for each in row]
    if None in values:
        wrong = values.index(None)
        what = f"{name}[{wrong}] is {visible(_said(row[wrong]), _SHOWN)}"
        raise InputError(what, where=place(path), expected="a finite number")
    return values  # type: ignore[return-value]


def _number(value: object, *, logits: bool) -> float | None:
    """None for what is no number; a token that is ruled out has the logit -Infinity."""
    if isinstance(value, Bare):
        return -math.inf if logits and value.token == "-Infinity" else None  # noqa: S105
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > _LARGEST:
        return None
    return float(value)


def _said(value: object) -> str:
    return value.token if isinstance(value, Bare) else str(value)


def _ids(data: dict[str, object], name: str, path: Path) -> tuple[int, ...]:
    found = data.get(name, [])
    if not isinstance(found, list) or len(found) > MAX_TOKENS:
        expected = f"at most {MAX_TOKENS:,} token ids"
        raise InputError(f"{name} is no list of tokens", where=place(path), expected=expected)
    for index, each in enumerate(found):
        if isinstance(each, bool) or not isinstance(each, int) or not 0 <= each < MAX_TOKENS:
            what = f"{name}[{index}] is {visible(_said(each), _SHOWN)}"
            raise InputError(what, where=place(path), expected="a token id")
    return tuple(found)
