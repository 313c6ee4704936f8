"""Figures out of words and documents that nobody has checked: what is none is None, no error."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from specplan.domain.answer import Scalar

LARGEST: Final = 1e18
"""No count, rate or time of an engine is beyond."""
MAX_POSITIONS: Final = 1024
"""No engine drafts nearly so many tokens."""


def number(value: object) -> float | None:
    """A finite number; None for anything else, truth values too."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def count(value: object) -> float | None:
    """A number of at least zero, and of a size that engines print."""
    found = number(value)
    return found if found is not None and 0 <= found <= LARGEST else None


def counts(value: object) -> tuple[float, ...]:
    """A list of counts, or a mapping of the places 0, 1, ... to counts; empty for anything else."""
    if isinstance(value, Mapping):
        return _placed(value)
    if not isinstance(value, Sequence) or isinstance(value, str | bytes):
        return ()
    found = tuple(count(one) for one in value)
    return tuple(one for one in found if one is not None) if None not in found else ()


def whole(value: object) -> int | None:
    """A whole number of at least zero."""
    found = count(value)
    return int(found) if found is not None and found == int(found) else None


def mapping(value: object, *path: str) -> Mapping[str, object]:
    """The object at a path of keys; an empty one where there is none."""
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def ratio(above: float | None, below: float | None) -> float | None:
    """A quotient; None where either is missing or it has no value."""
    return above / below if above is not None and below else None


def written(word: str | None) -> float | None:
    """The number of at least zero that a word is."""
    try:
        return None if word is None else count(float(word))
    except ValueError:
        return None


def written_whole(word: str | None) -> int | None:
    """The whole number that a word is."""
    return whole(written(word))


def first(found: Mapping[str, object], *keys: str) -> float | None:
    """The first count that a mapping holds under one of the names."""
    return next((one for one in (count(found.get(key)) for key in keys) if one is not None), None)


def mappings(value: object) -> Iterator[Mapping[str, object]]:
    """The mappings in a list; of anything else, nothing."""
    if isinstance(value, list):
        yield from (one for one in value if isinstance(one, dict))


def scalar(value: object) -> Scalar:
    """A word, number or truth as it is; None for all else."""
    return value if isinstance(value, str | int | float | bool) else None


def positive(value: float | None) -> float | None:
    """A figure that is not zero, or None."""
    return value or None


def _placed(value: Mapping[object, object]) -> tuple[float, ...]:
    places = {str(key): count(one) for key, one in value.items()}
    if not all(key.isdecimal() and int(key) < MAX_POSITIONS for key in places if len(key) < 6):
        return ()
    if any(len(key) >= 6 for key in places) or None in places.values():
        return ()
    most = max((int(key) for key in places), default=-1)
    return tuple(places.get(str(place)) or 0.0 for place in range(most + 1))
