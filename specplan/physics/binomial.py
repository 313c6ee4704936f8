"""Tails of the binomial distribution, and the interval of a share that they give."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

_HALVINGS = 60
_TERMS = 2000  # summed at least; beyond 40 standard deviations more they are below rounding


def at_least(hits: int, trials: int, probability: float) -> float:
    """P(X >= hits) of X binomial(trials, probability), relative error below 1e-6 to 1e9 trials."""
    if hits <= 0 or probability >= 1:
        return 1.0 if hits <= trials else 0.0
    if hits > trials or probability <= 0:
        return 0.0
    if hits > trials * probability:
        return _beyond(hits, trials, probability)
    return 1.0 - _beyond(trials - hits + 1, trials, 1 - probability)


def interval(hits: int, trials: int, error: float) -> tuple[float, float]:
    """Least and largest share that explain `hits`: each bound errs with probability at most
    `error` / 2 (Clopper and Pearson 1934).
    """
    low = _halved(lambda share: at_least(hits, trials, share) < error / 2)
    high = _halved(lambda share: at_least(hits + 1, trials, share) < 1 - error / 2)
    return (low if hits else 0.0), (high if hits < trials else 1.0)


def _beyond(hits: int, trials: int, probability: float) -> float:
    """The upper tail from above the mean on: the terms fall from the first."""
    spread = math.sqrt(trials * probability * (1 - probability))
    more = np.arange(hits, min(trials, hits + int(40 * spread) + _TERMS), dtype=np.float64)
    odds = probability / (1 - probability)
    terms = np.cumprod(np.append(1.0, (trials - more) / (more + 1) * odds))
    log_first = (
        math.lgamma(trials + 1)
        - math.lgamma(hits + 1)
        - math.lgamma(trials - hits + 1)
        + hits * math.log(probability)
        + (trials - hits) * math.log1p(-probability)
    )
    return min(math.exp(log_first) * float(terms.sum()), 1.0)


def _halved(below: Callable[[float], bool]) -> float:
    """Where `below` ends to hold, between 0 and 1."""
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if below(middle) else (low, middle)
    return 0.5 * (low + high)
