"""How many sequences run: a queue whose speed depends on how many share it.

A request holds a place for tau(n) seconds if n run all along, so n sequences finish at a rate of
n / tau(n). With Poisson arrivals the law is pi(n) ~ prod lambda tau(i) / i; it depends on the mean
of what requests ask for alone (processor sharing is insensitive: Kelly 1979, Cohen 1979). Beyond
the largest batch requests wait for a place, and the rate stays as it is there.

Bursts, and prompts that hold everybody up as they come in, make it vary more. The law of a
diffusion with the same drift and Z times the noise is the power 1 / Z of each factor, whatever the
speeds (Kobayashi 1974); its level follows from the requests that end being those that come.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from specplan.physics.tokens import FloatArray

_HALVINGS = 60  # of the level
_LEVEL = 8.0  # as far as it is looked for, for each unit of noise
_DEEP = float(np.log(10))  # a dip of the law that parts two batches: a tenth of the lower side


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


def crowd_of(rate_per_s: float, tau_s: FloatArray, noise: FloatArray) -> Crowd:
    """The crowd at a rate where n = 1..most sequences hold their places for tau_s (most,) seconds;
    `noise` (most,) is Z at each, 1 for Poisson. The rate must be below most / tau_s[-1].
    """
    most = len(tau_s)
    ends = np.arange(1.0, most + 1) / tau_s
    load = rate_per_s / float(ends[-1])
    tail = 1 / -np.expm1(np.log(load) / noise[-1])
    law = _law(np.log(rate_per_s / ends) / noise, tail)
    if noise.max() > 1:
        high = _LEVEL * float(noise.max())
        low = -high
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            law = _law((np.log(rate_per_s / ends) + middle) / noise, tail)
            if float(law[1:] @ ends) > rate_per_s:
                high = middle
            else:
                low = middle
    return Crowd(law, float(law[-1]), float(ends[-1]) - rate_per_s)


def _law(factors: FloatArray, tail: float) -> FloatArray:
    """The law of 0..most from the logarithms of its factors; the last place counts `tail` times,
    for all that wait too.
    """
    logs = np.concatenate(([0.0], np.cumsum(factors)))
    logs[-1] += np.log(tail)
    weights = np.exp(logs - logs.max())
    law: FloatArray = weights / weights.sum()
    return law


def fixed_points(rate_per_s: float, tau_s: FloatArray, noise: FloatArray) -> tuple[float, ...]:
    """Every batch n with n = lambda tau(n) (Little), ascending: with several, the first and every
    second one after it hold themselves, and what the batch was before decides between them. Dips
    that the batch crosses all the time part nothing and are left out.
    """
    count = np.arange(1.0, len(tau_s) + 1)
    over = np.concatenate(([rate_per_s * tau_s[0]], rate_per_s * tau_s - count))
    height = np.concatenate(([0.0], np.cumsum(np.log(rate_per_s * tau_s / count) / noise)))
    places = np.flatnonzero((over[:-1] > 0) != (over[1:] > 0)).tolist()
    while len(places) > 2:
        high = height[np.asarray(places)]
        deep = [min(high[i - 1], high[i + 1]) - high[i] for i in range(1, len(places) - 1, 2)]
        least = int(np.argmin(deep))
        if deep[least] >= _DEEP:
            break
        dip = 2 * least + 1
        lower = dip - 1 if high[dip - 1] < high[dip + 1] else dip + 1
        places = [place for i, place in enumerate(places) if i not in {dip, lower}]
    steps = [(place, float(over[place]), float(over[place + 1])) for place in places]
    return tuple(place + a / (a - b) for place, a, b in steps)
