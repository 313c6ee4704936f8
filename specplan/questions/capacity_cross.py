"""Up to which load speculation pays: where the mean TPOT with it crosses that without."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from specplan.errors import Refused
from specplan.questions.capacity_size import Desk

LOADS = 6  # between nothing and the load at which one of the two becomes unstable
HALVINGS = 4
NOTHING = 1e-6  # relative gain that is none
LOWEST, HIGHEST = 0.05, 0.98  # shares of it


@dataclass(frozen=True, slots=True, kw_only=True)
class Stops:
    """Requests per second and replica at which mean TPOTs cross, in turn; `first_pays` below the
    first of them. `sustains` is the largest stable rate with speculation over that without.
    """

    at_per_s: tuple[float, ...]
    first_pays: bool
    up_to_per_s: float
    sustains: float

    @property
    def last_pays(self) -> bool:
        """Whether it pays at the highest load."""
        return self.first_pays is (len(self.at_per_s) % 2 == 0)

    @property
    def lambda_star(self) -> float | None:
        """The load beyond which speculation does not pay; None where it always does, 0 where it
        never does.
        """
        if self.last_pays:
            return None if self.sustains >= 1 else self.up_to_per_s
        return self.at_per_s[-1] if self.at_per_s else 0.0


def loads_of(plain: Desk) -> list[float]:
    """Requests per second of a replica at which all that is compared with `plain` is looked at."""
    found: list[float] = (np.linspace(LOWEST, HIGHEST, LOADS) * plain.saturation()).tolist()
    return found


def stops_of(drafted: Desk, plain: Desk, dispersion: float) -> Stops | None:
    """Where the mean TPOT of the server with speculation crosses that of the one without, at equal
    loads per replica, up to the one at which the weaker of both falls behind. A load that only one
    of them carries is the other's loss: see `sustains`. None where they cannot be compared.
    """
    with_s, without_s = drafted.saturation(), plain.saturation()
    highest = min(with_s, without_s)

    def gain(rate: float) -> float:
        """Relative, below 0 where speculation is slower."""
        fast, slow = (desk.at(rate, dispersion).tpot.mean for desk in (drafted, plain))
        return 1 - fast / slow if slow else 0.0

    loads = [*(load for load in loads_of(plain) if load < HIGHEST * highest), HIGHEST * highest]
    gains: list[float] = []
    with suppress(Refused):  # arrivals in bursts may be too many a little sooner
        gains.extend(map(gain, loads))
    if not gains:
        return None
    return Stops(
        at_per_s=tuple(_crossings(loads[: len(gains)], gains, gain)),
        first_pays=gains[0] > NOTHING,
        up_to_per_s=highest,
        sustains=with_s / without_s,
    )


def _crossings(
    loads: Sequence[float], gains: Sequence[float], gain: Callable[[float], float]
) -> Iterator[float]:
    """Loads between two of the scan at which the sign changes: halved, and straight at last."""
    for (first, before), (last, after) in pairwise(zip(loads, gains, strict=True)):
        if (before > NOTHING) is (after > NOTHING):
            continue
        low, high = (first, before), (last, after)
        for _ in range(HALVINGS):
            middle = (low[0] + high[0]) / 2
            there = middle, gain(middle)
            if (there[1] > NOTHING) is (before > NOTHING):
                low = there
            else:
                high = there
        share = low[1] / (low[1] - high[1]) if low[1] != high[1] else 0.5
        yield low[0] + min(max(share, 0.0), 1.0) * (high[0] - low[0])
