"""The batch histogram of --over: CSV with names over its columns, or JSON.

    batch,share          batch,count           {"1": 0.2, "64": 0.8}
    1,0.2                1,200                 an answer of specplan simulate -f json
    64,0.8               64,800

`share` is of time, `count` of rounds; `share_of_time`, `share_of_rounds`, `share_of_tokens` and
`time_s` say it in their names.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, is_dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Final, Literal

from specplan.catalogue.lines import MAX_BYTES, cells, lines, row_cells, starts
from specplan.catalogue.read import read_bytes
from specplan.domain.answer import Answer
from specplan.domain.histogram import GATED, Histogram, Weighed
from specplan.errors import InputError, Where
from specplan.importers.json_ import parse_json
from specplan.opening import place
from specplan.units import parse_number
from specplan.visible import visible

WEIGHTS: Final[Mapping[str, tuple[Weighed, bool]]] = {
    "share_of_time": ("time", True),
    "time_share": ("time", True),
    "share": ("time", True),
    "time_s": ("time", False),
    "share_of_rounds": ("rounds", True),
    "round_share": ("rounds", True),
    "count": ("rounds", False),
    "share_of_tokens": ("tokens", True),
}
"""Columns of weights, the first of which that is there is taken: what they are of, and whether they
are shares of the whole."""
OF_SERVER: Final = ("target", "draft", "hardware", "tp", "engine", "acceptance")
FORM: Final = "batch and share (of time), or batch and count (of rounds)"
LARGEST: Final = 1_000_000_000  # sequences
HEAVIEST: Final = 1e18
OFF: Final = 0.01  # that rounded shares may add up to beside 1
_SHOWN: Final = 60

Recorded = int | Literal["gate"]


@dataclass(slots=True)
class _Read:
    """What has been read so far: the weight of each batch and where it stood."""

    shares: bool
    of: Weighed
    found: dict[int, float] = field(default_factory=dict)
    seen: dict[int, Where] = field(default_factory=dict)

    def take(self, batch: float, weight: float, where: Where, at: Where) -> None:
        """One batch at `where`, its weight at `at`."""
        if not (batch.is_integer() and 0 <= batch <= LARGEST):
            what = f"batch {batch:g} is no number of sequences"
            raise InputError(what, where=where, expected="a whole number, 0 or more")
        if not 0 <= weight <= HEAVIEST:
            raise InputError(f"weight {weight:g}", where=at, expected="0 to 1e18")
        if batch in self.seen:
            first = self.seen[int(batch)]
            before = f"; first on line {first.line}" if first.line else ""
            raise InputError(f"batch {batch:g} stands twice{before}", where=where, hint="add up")
        self.seen[int(batch)] = where
        self.found[int(batch)] = weight

    def histogram(self, head: Where, recorded: Recorded, digest: str | None) -> Histogram:
        """All of it; refused where it weighs nothing, or where shares add up to something else."""
        total = math.fsum(self.found.values())
        if not total:
            raise InputError("no batch has a weight above 0", where=head, expected=FORM)
        if self.shares and abs(total - 1) > OFF:
            hint = "20 % is 0.2" if abs(total - 100) <= 100 * OFF else "counts go under `count`"
            what = f"the shares add up to {total:.4g}"
            raise InputError(what, where=head, expected="1", hint=hint)
        batches = sorted(self.found)
        return Histogram(
            batch=tuple(batches),
            weight=tuple(self.found[batch] for batch in batches),
            of=self.of,
            recorded=recorded,
            source=head.name,
            sha256=digest,
        )


def read_over(path: Path, recorded: Recorded | None = None) -> Histogram:
    """The histogram in a file of at most 8 MB, of a server that ran as `recorded`: where nothing
    says so, without speculation.
    """
    raw = read_bytes(path, str(path), "a batch histogram", MAX_BYTES)
    digest = sha256(raw).hexdigest()
    if raw.lstrip()[:1] in {b"{", b"["}:
        return _json(parse_json(raw, path), place(path), recorded, digest)
    return _csv(raw, place(path), recorded, digest)


def over_of(given: Mapping[int, float], recorded: Recorded = 0) -> Histogram:
    """The histogram of Python callers: shares of time, or whole counts of rounds, by batch."""
    return _mapping(given, Where("over"), recorded, None)


def over_of_answer(given: Answer, recorded: Recorded | None = None) -> Histogram:
    """The batches of an answer of `simulate`."""
    value = asdict(given.value) if is_dataclass(given.value) else {}  # type: ignore[arg-type]
    rows = value.get("batch")
    if given.command != "simulate" or not isinstance(rows, list | tuple):
        what = f"an answer of {given.command} holds no batches"
        raise InputError(what, where=Where("over"), expected="one of simulate")
    ran = recorded if recorded is not None else _ran(value)
    return _rows(list(rows), Where("over"), ran, None)


def _csv(raw: bytes, name: Where, recorded: Recorded | None, digest: str) -> Histogram:
    text = lines(raw, name.name)
    header, head = next(text, ("", name))
    if not header:
        raise InputError("is empty", where=name, expected=FORM)
    columns = [column.lower() for column in cells(header, head)]
    weight = _weight(columns, head)
    read = _Read(shares=WEIGHTS[weight][1], of=WEIGHTS[weight][0])
    for line, at in text:
        said = dict(zip(columns, row_cells(line, columns, at), strict=True))
        begins = dict(zip(columns, starts(line), strict=True))
        where = {name: Where(at.name, at.line, begins[name]) for name in ("batch", weight)}
        numbers = {name: _number(said[name], name, where[name]) for name in where}
        read.take(numbers["batch"], numbers[weight], where["batch"], where[weight])
    return read.histogram(head, recorded or 0, digest)


def _weight(columns: Sequence[str], head: Where) -> str:
    """The column of weights."""
    weights = [name for name in WEIGHTS if name in columns]
    if "batch" not in columns or not weights:
        missing = "batch" if "batch" not in columns else "share"
        raise InputError(f"no column '{missing}'", where=head, expected=FORM)
    for name in ("batch", weights[0]):
        if columns.count(name) > 1:
            raise InputError(f"column '{name}' twice", where=head, hint="keep one")
    return weights[0]


def _number(cell: str, name: str, where: Where) -> float:
    if not cell:
        raise InputError(f"{name} is blank", where=where, expected="a number")
    try:
        return parse_number(cell)
    except InputError as error:
        what = f"{name}: {error.what}"
        raise InputError(what, where=where, expected=error.expected, hint=error.hint) from None


def _json(
    data: Mapping[str, object], name: Where, recorded: Recorded | None, digest: str
) -> Histogram:
    """A plain object of batches, or the rows that an answer of simulate carries."""
    answer = data.get("answer")
    inner = answer if isinstance(answer, dict) else data
    rows = inner.get("batch_histogram", inner.get("batch"))
    if rows is None and answer is None:
        return _mapping(data, name, recorded or 0, digest)
    if not isinstance(rows, list):
        said = visible(str(data.get("schema", "an answer")), _SHOWN)
        what = f"{said} holds no batches"
        raise InputError(what, where=name, expected="an answer of specplan simulate")
    found = _rows(rows, name, recorded if recorded is not None else _ran(inner), digest)
    return replace(found, server=_server(data.get("inputs")))


def _server(inputs: object) -> dict[str, str]:
    """What ran, as the inputs of an answer have it."""
    said = inputs if isinstance(inputs, dict) else {}
    pairs = ((name, said.get(name)) for name in OF_SERVER)
    return {
        name: str(one["value"])[:_SHOWN]
        for name, one in pairs
        if isinstance(one, dict) and isinstance(one.get("value"), str)
    }


def _ran(answer: Mapping[str, object]) -> Recorded:
    """What a simulated server did, as its answer says: none, k=3, or by load."""
    policy = str(answer.get("policy", "none"))
    k = policy.removeprefix("k=")
    if k != policy and k.isdecimal():
        return int(k)
    return 0 if policy == "none" else GATED


def _rows(rows: Sequence[object], name: Where, recorded: Recorded, digest: str | None) -> Histogram:
    records = [row for row in rows if isinstance(row, dict)]
    if len(records) != len(rows) or not rows:
        what = "the batches are no list of rows"
        raise InputError(what, where=name, expected='{"batch": 8, "share_of_time": 0.2}')
    weight = _weight(sorted(set.intersection(*map(set, records))), name)
    of, shares = WEIGHTS[weight]
    read = _Read(shares=shares, of=of)
    for i, record in enumerate(records):
        batch = _plain(record["batch"], f"batch {i}", name)
        share = _plain(record[weight], f"{weight} of batch {i}", name)
        read.take(batch, share, name, name)
    return read.histogram(name, recorded, digest)


def _plain(value: object, key: str, name: Where) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        said = visible(str(getattr(value, "token", value)), _SHOWN)
        raise InputError(f"{key} is {said}", where=name, expected="a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise InputError(f"{key} is {visible(str(value), _SHOWN)}", where=name, expected="a number")
    return number


def _mapping(
    data: Mapping[str, object] | Mapping[int, float],
    name: Where,
    recorded: Recorded,
    digest: str | None,
) -> Histogram:
    """Weights by batch: shares of time where they add up to 1, counts of rounds where all are
    whole numbers.
    """
    pairs = [
        (_key(key, name), _plain(value, f"'{key}'"[:_SHOWN], name)) for key, value in _items(data)
    ]
    total = sum(weight for _, weight in pairs)
    counts = abs(total - 1) > OFF and all(weight.is_integer() for _, weight in pairs)
    read = _Read(shares=not counts, of="rounds" if counts else "time")
    for batch, weight in pairs:
        read.take(batch, weight, name, name)
    return read.histogram(name, recorded, digest)


def _items(data: Mapping[str, object] | Mapping[int, float]) -> Iterable[tuple[object, object]]:
    return data.items()


def _key(key: object, name: Where) -> float:
    text = str(key)
    try:
        return parse_number(text)
    except InputError:
        what = f"'{visible(text, _SHOWN)}' is no batch"
        raise InputError(what, where=name, expected='such as {"1": 0.2, "64": 0.8}') from None
