"""Cumulative distributions of lengths: JSON or two columns.

    [[64, 0.008], [128, 0.028], ..., [65536, 1.0]]   or   {"cdf": [...], "source": ..., ...}

as vllm-project/semantic-router keeps them (src/fleet-sim), or a table `tokens,share` with or
without a header. Between two points lengths are spread evenly; below the first they begin at 1.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from specplan.domain.lengths import MOST_TOKENS, Tabled
from specplan.errors import InputError, Where
from specplan.importers.traces.lines import Lines
from specplan.importers.traces.tabular import DELIMITERS
from specplan.opening import place
from specplan.visible import visible

MAX_POINTS: Final = 100_000
MAX_TEXT: Final = 16 * 2**20
WANTED: Final = "[[tokens, share], ...] that rise, the last share 1"
NEAR_ONE: Final = 1e-6


def read_cdf(path: Path) -> Tabled:
    """The distribution in a file."""
    lines = Lines(path)
    text, size = [], 0
    for line in lines:
        text.append(line)
        size += len(line) + 1
        if size > MAX_TEXT:
            raise InputError("is too long", where=place(path), expected=WANTED)
    whole = "\n".join(text)
    if not whole.strip():
        raise InputError("is empty", where=place(path), expected=WANTED)
    in_json = whole.lstrip()[0] in "[{"
    pairs = _pairs_of(_json(whole, path), path) if in_json else _table(text, path)
    return _checked(pairs, path)


def _json(text: str, path: Path) -> object:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        what = f"not JSON: {error.msg[:1].lower()}{error.msg[1:]}"
        raise InputError(what, where=place(path, error.lineno, error.colno)) from error
    except RecursionError as error:
        raise InputError("is nested too deeply", where=place(path), expected=WANTED) from error
    except ValueError as error:  # more digits than Python converts
        raise InputError("a number of too many digits", where=place(path)) from error


Pairs = list[tuple[float, float, Where]]


def _pairs_of(found: object, path: Path) -> Pairs:
    rows = found.get("cdf") if isinstance(found, dict) else found
    if not isinstance(rows, list) or not 0 < len(rows) <= MAX_POINTS:
        raise InputError("holds no list of points", where=place(path), expected=WANTED)
    pairs = []
    for index, row in enumerate(rows):
        numbers = isinstance(row, list) and all(
            # compared before they become floats, as an integer may have any number of digits
            type(each) in {int, float} and -MOST_TOKENS <= each <= MOST_TOKENS
            for each in row
        )
        if not numbers or len(row) != 2:
            what = f"point {index + 1} is {visible(str(row)[:80], 40)}"
            raise InputError(what, where=place(path), expected=WANTED)
        tokens, share = map(float, row)
        pairs.append((tokens, share, Where(f"{place(path)}: point {index + 1}")))
    return pairs


def _table(text: list[str], path: Path) -> Pairs:
    pairs: Pairs = []
    first = next(line for line in text if line.strip())
    delimiter = max(DELIMITERS, key=first.count)
    for number, line in enumerate(text, 1):
        row = line.strip().split(delimiter)
        if row == [""]:
            continue
        where = place(path, number, 1)
        try:
            tokens, share = map(float, row)
        except ValueError:
            if not pairs and line is first:  # names of columns
                continue
            what = f"'{visible(line.strip(), 40)}' is no point"
            raise InputError(what, where=where, expected="tokens,share") from None
        pairs.append((tokens, share, where))
        if len(pairs) > MAX_POINTS:
            what = f"more than {MAX_POINTS:,} points"
            raise InputError(what, where=where, expected=WANTED)
    return pairs


def _checked(pairs: Pairs, path: Path) -> Tabled:
    tokens, shares = 0.0, 0.0
    for value, share, where in pairs:
        if not 1 <= value <= MOST_TOKENS:
            what, expected = f"{value:g} tokens", f"1 to {MOST_TOKENS:,}"
            raise InputError(what, where=where, expected=expected)
        if not 0 <= share <= 1:
            hint = f"percent? write {share / 100:g}" if 1 < share <= 100 else ""
            raise InputError(f"a share of {share:g}", where=where, expected="0 to 1", hint=hint)
        if value <= tokens or share < shares:
            raise InputError("the distribution falls", where=where, expected=WANTED)
        tokens, shares = value, share
    if not pairs or abs(shares - 1) > NEAR_ONE:
        what = f"the shares end at {shares:g}" if pairs else "holds no points"
        raise InputError(what, where=place(path), expected=WANTED)
    kept = tuple(share for _, share, _ in pairs)
    return Tabled(tuple(value for value, _, _ in pairs), (*kept[:-1], 1.0), source=str(place(path)))
