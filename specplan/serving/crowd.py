"""How many sequences run: a queue whose speed depends on how many share it.

A request holds a place for tau(n) seconds if n run all along, so n sequences finish at a rate of
n / tau(n). With Poisson arrivals the law is pi(n) ~ prod lambda tau(i) / i; it depends on the mean
of what requests ask for alone (processor sharing is insensitive: Kelly 1979, Cohen 1979). Beyond
the largest batch requests wait for a place, and the rate stays as it is there.

Bursts make it vary more. So do prompts: nobody gets on while they are read, and who comes meanwhile
comes, to those who run, at once (a busy period of prompts). In groups of geometric size with mean b
the law follows from what crosses each level: pi(n + 1) mu(n + 1) = sum pi(j) (lambda / b) P(X > n -
j) (the M^X queue: Cooper 1981); its variance is b times that of Poisson arrivals.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from specplan.physics.tokens import FloatArray

_HUGE = 1e200
_NEVER = 1e-300  # of the time: no batch to speak of
_DEEP = 10.0  # as rare as this, beside the lower side, is a dip of the law that parts two batches


@dataclass(frozen=True, slots=True)
class Crowd:
    """The law (n,) of the sequences that run, 0 to the largest batch. `waits` is the share of
    arrivals that wait for a place, `spare_per_s` by how much places come free faster than requests
    arrive: a wait is 1 / spare on average where requests ask for exponential times.
    """

    law: FloatArray
    waits: float
    spare_per_s: float

    @property
    def mean(self) -> float:
        """Sequences that run on average."""
        return float(self.law @ np.arange(len(self.law)))


def crowd_of(rate_per_s: float, tau_s: FloatArray, group: float = 1.0) -> Crowd:
    """The crowd at a rate where n = 1..most sequences hold their places for tau_s (most,) seconds,
    in groups of `group` on average (1 or more). The rate must be below most / tau_s[-1].
    """
    most = len(tau_s)
    ends = (np.arange(1.0, most + 1) / tau_s).tolist()
    stays, groups = 1 - 1 / group, rate_per_s / group
    law, above = np.zeros(most + 1), groups
    law[0] = 1.0
    for n, end in enumerate(ends):  # `above`: how often a group crosses this level
        here = above / end
        law[n + 1] = here
        above = stays * above + groups * here
        if here > _HUGE:
            law[: n + 2] /= _HUGE
            above /= _HUGE
    law[-1] += above / ends[-1] / (1 - stays - groups / ends[-1])
    law /= law.sum()
    return Crowd(law, float(law[-1]), ends[-1] - rate_per_s)


def fixed_points(rate_per_s: float, tau_s: FloatArray, law: FloatArray) -> tuple[float, ...]:
    """Every batch n with n = lambda tau(n) (Little), ascending: with several, the first and every
    second one after it hold themselves, and what the batch was before decides between them. Dips of
    the law (most + 1,) that the batch crosses all the time part nothing and are left out.
    """
    over = np.append(rate_per_s * tau_s[0], rate_per_s * tau_s - np.arange(1.0, len(tau_s) + 1))
    places = np.flatnonzero((over[:-1] > 0) != (over[1:] > 0)).tolist()
    while len(places) > 2:
        high = law[np.asarray(places)].tolist()
        sides = [min(high[i - 1], high[i + 1]) for i in range(1, len(places) - 1, 2)]
        deep = [side / max(dip, _NEVER) for side, dip in zip(sides, high[1::2], strict=False)]
        least = int(np.argmin(deep))
        if deep[least] >= _DEEP:
            break
        dip = 2 * least + 1
        lower = dip - 1 if high[dip - 1] < high[dip + 1] else dip + 1
        places = [place for i, place in enumerate(places) if i not in {dip, lower}]
    steps = [(place, float(over[place]), float(over[place + 1])) for place in places]
    return tuple(place + a / (a - b) for place, a, b in steps)
