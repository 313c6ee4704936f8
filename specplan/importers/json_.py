"""The JSON reader: strict, bounded, and exact about where a file goes wrong.

Some published configs hold bare `Infinity` or `NaN`. Such a token becomes a `Bare`, which is no
number, so that a file is refused only if the value is one that somebody reads.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from specplan.errors import InputError
from specplan.opening import opened, place
from specplan.visible import visible

MAX_BYTES: Final = 64 * 2**20
"""Configs with long lists of unquantised modules reach 3 MB."""
MAX_DEPTH: Final = 64
_SHOWN: Final = 60

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"\s*:?|[{}]', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Bare:
    """A token in a number's place that JSON does not know: NaN, Infinity, or 1e999."""

    token: str


@dataclass(frozen=True, slots=True)
class Document:
    """A JSON object; `bare` names the places of values that are no numbers."""

    data: dict[str, object]
    sha256: str
    bare: tuple[str, ...]


class _DuplicateError(Exception):
    """A key stands twice in one object."""


def read_json(path: Path, wanted: str) -> Document:
    """The object in a file of at most 64 MB."""
    with opened(path, wanted) as (file, size):
        if size > MAX_BYTES:
            what = f"{size} bytes are too many for {wanted}"
            raise InputError(what, where=place(path), expected=f"at most {MAX_BYTES}")
        raw = file.read(MAX_BYTES)
    data = parse_json(raw, path)
    return Document(data, hashlib.sha256(raw).hexdigest(), tuple(_bare(data, path)))


def parse_json(raw: bytes, path: Path) -> dict[str, object]:
    """The object in UTF-8 bytes; the path is for messages."""
    text = _decoded(raw, path)
    try:
        found = json.loads(
            text, object_pairs_hook=_object, parse_constant=Bare, parse_float=_number
        )
    except _DuplicateError as error:
        key, start = _twice(text)
        where = place(path, *_at(text, start))
        raise InputError(f"duplicate key '{visible(key, _SHOWN)}'", where=where) from error
    except json.JSONDecodeError as error:
        where = place(path, error.lineno, error.colno)
        raise InputError(
            f"not JSON: {error.msg[:1].lower()}{error.msg[1:]}", where=where
        ) from error
    except RecursionError as error:
        raise _deep(path) from error
    except ValueError as error:
        raise InputError("a number of too many digits", where=place(path)) from error
    if not isinstance(found, dict):
        kind = "a list" if isinstance(found, list) else "a single value"
        what = f"{kind} at the top"
        raise InputError(what, where=place(path, 1, 1), expected="a JSON object")
    return found


def _decoded(raw: bytes, path: Path) -> str:
    if not raw.strip():
        raise InputError("is empty", where=place(path), expected="a JSON object")
    if raw.startswith(b"\xef\xbb\xbf"):
        what, hint = "starts with a byte order mark", "save it as UTF-8 without one"
        raise InputError(what, where=place(path), hint=hint)
    if b"\0" in raw[:4]:  # nothing in JSON starts so, and every UTF-16 or UTF-32 object does
        raise InputError("is not UTF-8 text", where=place(path), expected="JSON in UTF-8")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode("utf-8")
        where = place(path, *_at(before, len(before)))
        raise InputError("is not UTF-8 text", where=where, expected="JSON in UTF-8") from error


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    entries = dict(pairs)
    if len(entries) != len(pairs):
        raise _DuplicateError
    return entries


def _number(text: str) -> float | Bare:
    value = float(text)
    return value if math.isfinite(value) else Bare(text)


def _twice(text: str) -> tuple[str, int]:
    """The first key that stands twice in its object, and where it does so again."""
    open_objects: list[set[str]] = []
    for match in _TOKEN.finditer(text):
        piece = match.group()
        if piece == "{":
            open_objects.append(set())
        elif piece == "}":
            open_objects.pop()
        elif piece.endswith(":"):
            key = str(json.loads(piece[:-1]))
            if key in open_objects[-1]:
                return key, match.start()
            open_objects[-1].add(key)
    raise AssertionError("no key stands twice")  # the parser has seen one


def _at(text: str, offset: int) -> tuple[int, int]:
    """Line and column of an offset, both from 1."""
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


def _deep(path: Path) -> InputError:
    return InputError("is nested too deeply", where=place(path), expected=f"{MAX_DEPTH} levels")


def _bare(data: dict[str, object], path: Path) -> Iterator[str]:
    """The places of tokens that are no numbers; refuses what is nested beyond reason."""
    waiting: list[tuple[str, object, int]] = [("", data, 0)]
    while waiting:
        name, value, depth = waiting.pop()
        if depth > MAX_DEPTH:
            raise _deep(path)
        if isinstance(value, dict):
            items = [(f"{name}.{key}" if name else key, each) for key, each in value.items()]
        elif isinstance(value, list):
            items = [(f"{name}[{index}]", each) for index, each in enumerate(value)]
        else:
            if isinstance(value, Bare):
                yield f"{visible(name, _SHOWN)} is {visible(value.token, _SHOWN)}"
            continue
        waiting.extend((key, each, depth + 1) for key, each in reversed(items))
