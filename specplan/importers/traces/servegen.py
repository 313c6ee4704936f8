"""ServeGen's clients: how often each asks, and how long its requests are, window by window.

Beside `NAME-trace.csv` (no header: window_start, rate, cv, Gamma|Weibull|, shape, scale; windows of
600 s) lies `NAME-dataset.json`: {window: {"input_tokens": "{60: 0.2, ...}", ...}}, whose values are
Python dictionaries written as text (alibaba/ServeGen, data/). They are matched against the form of
such a dictionary, numbers alone, before `ast.literal_eval` sees them; nothing is ever evaluated.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Final

from specplan.domain.clients import AskingWindow, Client, Clients, LengthsWindow, Renewals
from specplan.domain.lengths import MOST_TOKENS
from specplan.errors import InputError, Where
from specplan.importers.json_ import read_json
from specplan.importers.traces.lines import Lines
from specplan.opening import exists, is_folder, place
from specplan.visible import visible

FORM: Final = "ServeGen"
TRACE: Final = "-trace.csv"
DATASET: Final = "-dataset.json"
WINDOW_S: Final = 600.0
MAX_WINDOWS: Final = 100_000
MAX_CLIENTS: Final = 2_000
MAX_DICTIONARY: Final = 4 * 2**20
MAX_ENTRIES: Final = 200_000

_FIELDS: Final = 6
_LAWS: Final[dict[str, Renewals]] = {"gamma": "gamma", "weibull": "weibull", "": "poisson"}
_MOST_RATE: Final = 1e6
_SHAPES: Final = (1e-3, 1e4)
_ENTRY = r"[0-9]{1,12}(?:\.[0-9]{1,30})?"
_SHARE = r"[0-9]{1,12}(?:\.[0-9]{1,30})?(?:[eE][-+]?[0-9]{1,3})?"
_DICTIONARY: Final = re.compile(
    rf"\{{\s*+(?:{_ENTRY}\s*+:\s*+{_SHARE}\s*+(?:,\s*+|(?=\}})))*+\}}", re.ASCII
)


def is_window(line: str) -> bool:
    """Whether a line looks like a window of a client."""
    parts = [part.strip() for part in line.split(",")]
    if len(parts) != _FIELDS or parts[3].lower() not in _LAWS:
        return False
    try:
        return all(math.isfinite(float(parts[i])) for i in (0, 1, 2, 4, 5))
    except ValueError:
        return False


def files_of(path: Path) -> tuple[Path, ...]:
    """What is read beside a path that names a client, or in a folder of clients."""
    if not is_folder(path):
        return (_beside(path),) if exists(_beside(path)) else ()
    try:
        found = sorted(each for each in path.iterdir() if each.name.endswith((TRACE, DATASET)))
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InputError(f"cannot be read: {reason}", where=place(path)) from error
    return tuple(found)


def _beside(path: Path) -> Path:
    """The lengths of the client whose windows are in a file."""
    name = path.name.removesuffix(".gz").removesuffix(TRACE)
    return path.with_name(name + DATASET)


def read_folder(folder: Path) -> Clients:
    """All clients whose two files lie in a folder."""
    paths = [path for path in files_of(folder) if path.name.endswith(TRACE)]
    if not 0 < len(paths) <= MAX_CLIENTS:
        what = f"{len(paths):,} files that end in {TRACE}"
        raise InputError(what, where=place(folder), expected=f"1 to {MAX_CLIENTS:,} of them")
    read = [read_client(Lines(path)) for path in paths]
    return Clients(
        clients=tuple(client for one in read for client in one.clients),
        covers_s=max(one.covers_s for one in read),
        form=FORM,
        source=str(place(folder)),
    )


def read_client(lines: Lines, first: str = "", rest: Iterator[str] | None = None) -> Clients:
    """One client, from the lines of its windows and the file of lengths beside it."""
    windows, covers_s = _windows(lines, chain((first,) if first else (), rest or lines))
    beside = _beside(lines.path)
    if not exists(beside):
        hint = f"{place(beside)} belongs to it"
        raise InputError("has no lengths beside it", where=place(lines.path), hint=hint)
    lengths = _lengths(beside)
    if not windows:
        raise InputError("no window has a request", where=place(lines.path))
    client = Client(
        name=visible(beside.name.removesuffix(DATASET), 60), windows=windows, lengths=lengths
    )
    source = str(place(lines.path))
    return Clients(clients=(client,), covers_s=covers_s, form=FORM, source=source)


def _windows(lines: Lines, every: Iterator[str]) -> tuple[tuple[AskingWindow, ...], float]:
    """The windows in which it asks at all, and the end of the last window."""
    found: list[AskingWindow] = []
    count, last_s = 0, -WINDOW_S
    for line in every:  # no field of it is quoted
        if not line.strip():
            continue
        window = _window(line, lines)
        if window.start_s < last_s + WINDOW_S:
            what = f"the window at {window.start_s:g} s begins before the last one ends"
            raise InputError(what, where=lines.where())
        last_s, count = window.start_s, count + 1
        if count > MAX_WINDOWS:
            raise InputError(f"more than {MAX_WINDOWS:,} windows", where=lines.where())
        if window.rate_per_s > 0:
            found.append(window)
    return tuple(found), last_s + WINDOW_S


def _window(line: str, lines: Lines) -> AskingWindow:
    if not is_window(line):
        expected = "start,rate,cv,Gamma or Weibull or nothing,shape,scale"
        what = f"'{visible(line[:80], 60)}' is no window"
        raise InputError(what, where=lines.where(), expected=expected)
    row = line.split(",")
    start_s, rate, shape = float(row[0]), float(row[1]), float(row[4])
    law = _LAWS[row[3].strip().lower()]
    if not 0 <= start_s <= 1e9 or not 0 <= rate <= _MOST_RATE:
        what = f"{rate:g} requests a second from {start_s:g} s on"
        raise InputError(what, where=lines.where(), expected=f"0 to {_MOST_RATE:,.0f}")
    if law != "poisson" and rate and not _SHAPES[0] <= shape <= _SHAPES[1]:
        expected = f"{_SHAPES[0]:g} to {_SHAPES[1]:g}"
        raise InputError(f"a shape of {shape:g}", where=lines.where(), expected=expected)
    return AskingWindow(
        start_s=start_s,
        length_s=WINDOW_S,
        rate_per_s=rate,
        law=law,
        shape=1.0 if law == "poisson" else shape,
    )


def _lengths(path: Path) -> tuple[LengthsWindow, ...]:
    data = read_json(path, "the lengths of a client").data
    found = []
    for key, fields in data.items():
        if not re.fullmatch(r"[0-9]{1,10}", key, re.ASCII) or not isinstance(fields, dict):
            what = f"key '{visible(key, 40)}' is no window"
            raise InputError(what, where=place(path), expected="seconds, and a mapping")
        isl, isl_share = _field(fields, "input_tokens", key, path)
        osl, osl_share = _field(fields, "output_tokens", key, path)
        if isl and osl:
            start_s = float(key)
            window = LengthsWindow(
                start_s=start_s, isl=isl, isl_share=isl_share, osl=osl, osl_share=osl_share
            )
            found.append(window)
    if not found:
        raise InputError("no window has lengths", where=place(path))
    return tuple(sorted(found, key=lambda window: window.start_s))


def _field(
    fields: dict[str, object], name: str, key: str, path: Path
) -> tuple[tuple[int, ...], tuple[float, ...]]:
    where = Where(f"{place(path)}: {visible(key, 20)}.{name}")
    text = fields.get(name)
    if not isinstance(text, str):
        raise InputError("is no text", where=where, expected='such as "{60: 0.5, 61: 0.5}"')
    pairs = [
        (tokens, share) for tokens, share in dictionary(text, where).items() if tokens and share
    ]
    total = math.fsum(share for _, share in pairs)
    return tuple(tokens for tokens, _ in pairs), tuple(share / total for _, share in pairs)


def dictionary(text: str, where: Where) -> dict[int, float]:
    """A dictionary of tokens and shares that is written as Python would, or an error; shares are
    not negative, and nothing but numbers may stand in it.
    """
    if len(text) > MAX_DICTIONARY or text.count(":") > MAX_ENTRIES:
        raise InputError("is too long", where=where, expected=f"{MAX_ENTRIES:,} entries at most")
    if not _DICTIONARY.fullmatch(text):
        what = f"'{visible(text[:80], 40)}' is no dictionary of numbers"
        raise InputError(what, where=where, expected="{tokens: share, ...}")
    try:
        found = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError) as error:
        raise InputError("cannot be read", where=where, expected="{tokens: share, ...}") from error
    for tokens, share in found.items():
        if not 0 <= tokens <= MOST_TOKENS or not 0 <= share <= 1 or int(tokens) != tokens:
            what = f"{tokens}: {share:g} is no length and its share"
            raise InputError(what, where=where, expected="{tokens: share, ...}")
    return {int(tokens): float(share) for tokens, share in found.items()}
