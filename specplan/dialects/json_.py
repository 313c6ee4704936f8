"""JSON of others, read leniently: what is no number becomes None, and nothing is trusted."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from specplan.errors import InputError
from specplan.opening import place

MAX_DEPTH: Final = 100

_SPACE = re.compile(r"\s*")


class NoJsonError(Exception):
    """Not JSON, or JSON beyond reason; `at` is where, in characters."""

    def __init__(self, says: str, at: int = 0) -> None:
        super().__init__(says)
        self.says = says
        self.at = at


def _finite(text: str) -> float | None:
    value = float(text)
    return value if math.isfinite(value) else None


_DECODER: Final = json.JSONDecoder(parse_float=_finite, parse_constant=lambda _: None, strict=False)


def parsed(text: str) -> object:
    """The one document in a text; NaN, infinities and numbers beyond floats are None."""
    value, end = decoded(text, _after_space(text, 0))
    if text[end:].strip():
        raise NoJsonError("extra data", end)
    return value


def decoded(text: str, at: int) -> tuple[object, int]:
    """The document that starts at a character, and where it ends."""
    try:
        value, end = _DECODER.raw_decode(text, at)
    except json.JSONDecodeError as error:
        raise NoJsonError(f"{error.msg[:1].lower()}{error.msg[1:]}", error.pos) from error
    except RecursionError as error:
        raise NoJsonError("nested too deeply", at) from error
    except ValueError as error:  # more digits than Python converts
        raise NoJsonError("a number of too many digits", at) from error
    opened = text.count("[", at, end) + text.count("{", at, end)
    if opened > MAX_DEPTH and _depth(value) > MAX_DEPTH:
        raise NoJsonError("nested too deeply", at)
    return value, end


def series(text: str, path: Path) -> Iterator[tuple[object, int, int]]:
    """Documents one after another, each with the line it starts at and the character it ends
    before. What follows the last, if it is none, is left; an error if there is none at all.
    """
    at, line = 0, 1
    while True:
        start = _after_space(text, at)
        line += text.count("\n", at, start)
        if start >= len(text):
            return
        try:
            value, end = decoded(text, start)
        except NoJsonError as error:
            if at:
                return
            where = place(path, text.count("\n", 0, error.at) + 1, _column(text, error.at))
            raise InputError(f"not JSON: {error.says}", where=where) from error
        yield value, line, end
        line += text.count("\n", start, end)
        at = end


def _column(text: str, at: int) -> int:
    return at - text.rfind("\n", 0, at)


def _depth(value: object) -> int:
    depth, level = 0, [value]
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            return depth
        below: list[object] = []
        for each in level:
            if isinstance(each, dict):
                below.extend(one for one in each.values() if isinstance(one, dict | list))
            elif isinstance(each, list):
                below.extend(one for one in each if isinstance(one, dict | list))
        level = below
    return depth


def _after_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at
