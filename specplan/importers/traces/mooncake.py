"""Mooncake's traces: a line of JSON for each request, with the hashes of its prompt's blocks.

    {"timestamp": 27482, "input_length": 6955, "output_length": 52, "hash_ids": [46, 47, ...]}

A hash stands for a block of 512 tokens and all before it, so that equal hashes are equal prefixes
(kvcache-ai/Mooncake, FAST25-release/traces; timestamps in milliseconds).
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator
from itertools import chain
from typing import Final

from specplan.domain.lengths import MOST_TOKENS
from specplan.domain.traffic import Trace
from specplan.errors import InputError
from specplan.importers.traces.clock import Clock
from specplan.importers.traces.lines import Lines
from specplan.importers.traces.rows import Rows
from specplan.visible import visible

BLOCK: Final = 512
FORM: Final = "Mooncake"
MAX_HASHES: Final = 20_000_000
WANTED: Final = 'lines such as {"timestamp": 0, "input_length": 9, "output_length": 2}'

_KEYS: Final = ("timestamp", "input_length", "output_length")
_DENSE: Final = 2**28  # hashes below are kept as bits; published ones count up from 0
_MOST_SPARSE: Final = 2_000_000


def is_mooncake(found: object) -> bool:
    """Whether a line's object has the keys of this format."""
    return isinstance(found, dict) and all(key in found for key in _KEYS)


def read_mooncake(lines: Lines, first: str, rest: Iterator[str]) -> Trace:
    """The trace in lines of JSON."""
    rows = Rows(lines, FORM, hits=True)
    hashes, ends, clock = array("q"), array("q", [0]), Clock("ms")
    for line in chain((first,), rest):
        if not line.strip():
            continue
        found = parsed(line, lines)
        if not is_mooncake(found) or not isinstance(found, dict):
            raise InputError("is no request", where=lines.where(), expected=WANTED)
        arrival_s = clock(repr(_number(found, "timestamp", lines)))
        isl, osl = (_tokens(found, key, lines) for key in _KEYS[1:])
        if rows.take(arrival_s, isl, osl):
            _keep(found.get("hash_ids", []), hashes, lines)
            ends.append(len(hashes))
    trace = rows.trace()
    _fill_hits(rows, hashes, ends)
    return trace


def parsed(line: str, lines: Lines) -> object:
    """What one line of JSON says."""
    try:
        return json.loads(line)
    except json.JSONDecodeError as error:
        what = f"not JSON: {error.msg[:1].lower()}{error.msg[1:]}"
        raise InputError(what, where=lines.where(error.colno)) from error
    except RecursionError as error:
        raise InputError("is nested too deeply", where=lines.where()) from error
    except ValueError as error:  # more digits than Python converts
        raise InputError("a number of too many digits", where=lines.where()) from error


def _fill_hits(rows: Rows, hashes: array[int], ends: array[int]) -> None:
    """Of each prompt, the tokens of its leading blocks that earlier requests have brought."""
    seen = _Seen()
    for index, row in enumerate(rows.order or range(len(rows.isl))):
        chain_of = hashes[ends[row] : ends[row + 1]]
        known = next((n for n, each in enumerate(chain_of) if each not in seen), len(chain_of))
        rows.hit[index] = min(known * BLOCK, rows.isl[index])
        for each in chain_of[known:]:
            seen.add(each, rows.lines)


class _Seen:
    """A set of hashes in a bit each where they are small."""

    def __init__(self) -> None:
        self._bits = bytearray()
        self._others: set[int] = set()

    def __contains__(self, found: int) -> bool:
        if not 0 <= found < _DENSE:
            return found in self._others
        byte = found >> 3
        return byte < len(self._bits) and bool(self._bits[byte] >> (found & 7) & 1)

    def add(self, found: int, lines: Lines) -> None:
        """Adds one."""
        if not 0 <= found < _DENSE:
            self._others.add(found)
            if len(self._others) > _MOST_SPARSE:
                what = f"more than {_MOST_SPARSE:,} hashes above {_DENSE:,}"
                raise InputError(what, where=lines.where(), expected="hashes that count up from 0")
            return
        byte = found >> 3
        if byte >= len(self._bits):
            self._bits.extend(bytes(byte + 1 - len(self._bits)))
        self._bits[byte] |= 1 << (found & 7)


def _keep(found: object, hashes: array[int], lines: Lines) -> None:
    if not isinstance(found, list) or not all(type(each) is int for each in found):
        raise InputError("hash_ids is no list of whole numbers", where=lines.where())
    if len(hashes) + len(found) > MAX_HASHES:
        what = f"more than {MAX_HASHES:,} hashes"
        raise InputError(what, where=lines.where(), hint="cut it into parts")
    try:
        hashes.extend(found)
    except OverflowError as error:
        raise InputError("a hash beyond 64 bits", where=lines.where()) from error


def _number(found: dict[str, object], key: str, lines: Lines) -> float:
    value = found[key]
    bounded = isinstance(value, int | float) and not isinstance(value, bool)
    if not bounded or not abs(value) <= 1e14:  # type: ignore[arg-type]
        raise _wrong(key, value, lines, "milliseconds")
    return float(value)  # type: ignore[arg-type]


def _tokens(found: dict[str, object], key: str, lines: Lines) -> int:
    value = found[key]
    if type(value) is float and value.is_integer():
        value = int(value)
    if type(value) is not int or not 0 <= value <= MOST_TOKENS:
        raise _wrong(key, value, lines, "a whole number of tokens")
    return value


def _wrong(key: str, value: object, lines: Lines, expected: str) -> InputError:
    column = lines.text.find(f'"{key}"') + 1
    what = f"{key} is {visible(str(value)[:80], 40)}"
    return InputError(what, where=lines.where(max(column, 1)), expected=expected)
