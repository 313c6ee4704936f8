"""--schedule: which k at which batch, as it was typed."""

from __future__ import annotations

import itertools
import json
import re
from typing import Final

from specplan.cli.grammar import LARGEST_K
from specplan.domain.observed import Tier
from specplan.errors import UsageError, Where
from specplan.visible import visible

_TIER: Final = re.compile(r"(\d{1,9})-(\d{1,9}):(\d{1,3})")
_TIERS: Final = re.compile(rf"\s*{_TIER.pattern}(?:\s*,\s*{_TIER.pattern})*\s*")


def tiers(text: str) -> tuple[Tier, ...]:
    """A schedule of k by batch: [[1,4,2],[5,512,0]], or 1-4:2,5-512:0.

    Raises UsageError for anything else, and for ranges that no engine takes.
    """
    if not text:
        return ()
    wrong = UsageError(
        f"'{visible(text, 60)}' is no schedule",
        where=Where("--schedule"),
        expected="[[1,4,2],[5,512,0]] or 1-4:2,5-512:0",
    )
    plain = _TIERS.fullmatch(text)
    try:
        rows = [map(int, row) for row in _TIER.findall(text)] if plain else json.loads(text)
        found = tuple(Tier(_whole(first), _whole(last), _whole(k)) for first, last, k in rows)
    except (ValueError, TypeError, RecursionError):
        raise wrong from None
    if any(not 1 <= tier.first <= tier.last or not 0 <= tier.k <= LARGEST_K for tier in found):
        raise wrong
    _in_order(found)
    return found


def _whole(value: object) -> int:
    if type(value) is not int:
        raise TypeError
    return value


def _in_order(found: tuple[Tier, ...]) -> None:
    """Refuses what no engine takes: a batch of two tiers, or none for batch 1."""
    where = Where("--schedule")
    if not found or found[0].first != 1:
        raise UsageError("batch 1 has no tier", where=where, expected="a first tier from 1 on")
    for before, after in itertools.pairwise(found):
        if after.first <= before.last:
            says = f"batch {after.first} is in two tiers, or out of order"
            raise UsageError(says, where=where, expected="ranges that rise and do not overlap")
