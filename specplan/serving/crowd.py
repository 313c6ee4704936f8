"""How many sequences run: a queue whose speed depends on how many share it.

A request holds a place for tau(n) seconds if n run all along, so n sequences finish at a rate of
n / tau(n). With Poisson arrivals the law is pi(n) ~ prod lambda tau(i) / i; it depends on the mean
of what requests ask for alone (processor sharing is insensitive: Kelly 1979, Cohen 1979). Beyond
the largest batch requests wait for a place, and the rate stays as it is there.

Bursts widen it: of arrivals with a variance of Z times their mean in what they find (Hayward), the
rate at n is that of a Pascal stream, lambda (1/Z + (1 - 1/Z) n / N) (Delbrouck 1981).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from specplan.physics.tokens import FloatArray

_ROUNDS = 12  # of the fixed point of a Pascal stream


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


def crowd_of(rate_per_s: float, tau_s: FloatArray, peaked: float = 1.0) -> Crowd:
    """The crowd at a rate where n = 1..most sequences hold their places for tau_s (most,) seconds;
    `peaked` is Z. The rate must be below most / tau_s[-1].
    """
    most = len(tau_s)
    count = np.arange(1.0, most + 1)
    load = rate_per_s * tau_s[-1] / most
    comes = np.full(most, rate_per_s)
    law = _law(comes * tau_s / count, load)
    if peaked > 1:
        for _ in range(_ROUNDS):
            mean = max(float(law @ np.arange(most + 1)), 1e-9)
            grows = 1 / peaked + (1 - 1 / peaked) * np.arange(most) / mean
            comes = rate_per_s * np.minimum(grows, 1 + 4 * (peaked - 1))
            law = _law(comes * tau_s / count, load)
    return Crowd(law, float(law[-1]), most / tau_s[-1] - rate_per_s)


def _law(ratios: FloatArray, load: float) -> FloatArray:
    """The law of 0..most, where the last place stands for all that wait too."""
    with np.errstate(divide="ignore"):
        logs = np.concatenate(([0.0], np.cumsum(np.log(ratios))))
    logs[-1] -= np.log1p(-load)
    weights = np.exp(logs - logs.max())
    law: FloatArray = weights / weights.sum()
    return law


def fixed_points(rate_per_s: float, tau_s: FloatArray) -> tuple[float, ...]:
    """Every batch n with n = lambda tau(n) (Little), ascending: with several, the first and every
    second one after it hold themselves, and what the batch was before decides between them.
    """
    count = np.arange(0.0, len(tau_s) + 1)
    over = np.concatenate(([rate_per_s * tau_s[0]], rate_per_s * tau_s - count[1:]))
    crosses = np.flatnonzero((over[:-1] > 0) != (over[1:] > 0))
    found = []
    for low in crosses.tolist():
        a, b = float(over[low]), float(over[low + 1])
        found.append(float(count[low]) + a / (a - b))
    return tuple(found)
