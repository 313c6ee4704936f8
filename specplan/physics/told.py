"""Which constants a set of figures tells, and which only together: the rank of a least-squares fit.

Counted in spreads of the priors, a direction of curvature below 1 is one of which the figures say
less than was believed before. Constants on one such direction trade for each other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from specplan.physics.leastsq import Fit

SAYS_NOTHING = 1.0  # curvature of a direction below which the prior outweighs the figures
MOSTLY = 0.5  # of a constant's own axis within what is not told
TRADES = 0.2  # weight of two constants on common directions that are not told


@dataclass(frozen=True, slots=True)
class Told:
    """`rank` directions of all unknowns are told; `condition` is the largest curvature over the
    smallest, infinite where a direction changes nothing at all. `together` are groups of constants
    of which only a combination is told, `alone` those that the figures leave to their priors.
    """

    rank: int
    condition: float
    together: tuple[tuple[str, ...], ...]
    alone: tuple[str, ...]


def told(found: Fit) -> Told:
    """What the figures of a fit tell of its constants."""
    curvature, axes = np.linalg.eigh(found.information)
    blind = axes[:, curvature < SAYS_NOTHING]
    share = blind @ blind.T  # projects onto what is not told
    names = [unknown.name for unknown in found.unknowns]
    untold = [i for i in range(len(names)) if share[i, i] > TRADES]
    groups = _groups(untold, np.abs(share) > TRADES)
    least = max(float(curvature[0]), 0.0)
    return Told(
        rank=int((curvature >= SAYS_NOTHING).sum()),
        condition=float(curvature[-1]) / least if least > 0 else np.inf,
        together=tuple(tuple(names[i] for i in group) for group in groups if len(group) > 1),
        alone=tuple(
            names[group[0]]
            for group in groups
            if len(group) == 1 and share[group[0], group[0]] > MOSTLY
        ),
    )


def _groups(members: list[int], linked: npt.NDArray[np.bool_]) -> list[list[int]]:
    """Members joined by links, directly or through others, each group in order."""
    left, groups = list(members), []
    while left:
        group, grown = [left.pop(0)], True
        while grown:
            more = [j for j in left if any(linked[i, j] for i in group)]
            group, left, grown = [*group, *more], [j for j in left if j not in more], bool(more)
        groups.append(sorted(group))
    return groups
