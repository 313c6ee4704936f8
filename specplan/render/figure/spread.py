"""Words in a row, moved apart where they would stand on one another."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

ROUNDS = 200


def spread(wanted: Sequence[tuple[float, float]], low: float, high: float) -> list[float]:
    """Middles of words of (middle, width) in order, as near to those wanted as there is room
    between `low` and `high`.
    """
    places = [middle for middle, _ in wanted]
    halves = [width / 2 for _, width in wanted]
    for _ in range(ROUNDS):
        for n, half in enumerate(halves):
            places[n] = max(min(places[n], high - half), low + half)
        moved = 0.0
        for one, other in pairwise(range(len(places))):
            overlap = halves[one] + halves[other] - (places[other] - places[one])
            if overlap > 1e-6:
                places[one] -= overlap / 2
                places[other] += overlap / 2
                moved = max(moved, overlap)
        if moved < 0.01:
            break
    return places
