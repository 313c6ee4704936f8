"""Student's t, and the interval of a share with it."""

from __future__ import annotations

import math
from statistics import NormalDist

CERTAIN = 0.95  # central probability of every interval of a capture

_HALVINGS = 80
_FEW = (0.0, 0.0513, 0.3554, 0.8177)
"""Means at which 0, 1, 2, 3 or more events of a rare kind happen with probability 0.05."""
_NORMAL = 1e5  # degrees of freedom from which on t is normal to all digits that matter


def quantile(df: float, share: float = CERTAIN) -> float:
    """The t that a Student variable of `df` >= 1 degrees of freedom stays within, either side, with
    probability `share`; relative error below 1e-9.
    """
    if df >= _NORMAL:
        return NormalDist().inv_cdf((1 + share) / 2)
    low, high = 0.0, 1.0
    while within(high, df) < share:
        high *= 2
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if within(middle, df) < share else (low, middle)
    return 0.5 * (low + high)


def within(t: float, df: float) -> float:
    """P(|T| <= t) of whole `df`: the finite sums of Abramowitz and Stegun 26.7.3 and 26.7.4."""
    n = max(round(df), 1)
    if n >= _NORMAL:
        return 2 * NormalDist().cdf(t) - 1
    theta = math.atan2(t, math.sqrt(n))
    cos2, sin = math.cos(theta) ** 2, math.sin(theta)
    term = 1.0 if n % 2 == 0 else math.cos(theta)
    total, first = 0.0, 2 if n % 2 == 0 else 3
    if n > 1:
        total = term
        for i in range(first, n - 1, 2):
            term *= cos2 * (i - 1) / i
            total += term
    return sin * total if n % 2 == 0 else 2 / math.pi * (theta + sin * total)


def score_interval(share: float, trials: float, t: float) -> tuple[float, float]:
    """Least and largest probability that explain a share of that many independent trials, `t`
    standard errors apart (Wilson 1927): inside [0, 1], and no point at 0 or 1. Three events or
    fewer of a kind, which Wilson's takes for too many, reach down to Poisson's (Brown, Cai and
    DasGupta 2001, 4.1.1).
    """
    if trials <= 0:
        return 0.0, 1.0
    widening = t * t / trials
    middle = (share + widening / 2) / (1 + widening)
    half = math.sqrt(share * (1 - share) * widening + widening * widening / 4) / (1 + widening)
    least, rest = _least(share * trials), _least((1 - share) * trials)
    low = min(max(middle - half, 0.0), least / trials)
    high = max(min(middle + half, 1.0), 1 - rest / trials)
    return low, high


def _least(events: float) -> float:
    """The least mean that so many events do not rule out, where they are few; else no bound."""
    below = int(events)
    if below >= len(_FEW) - 1:
        return _FEW[-1] if events == below == len(_FEW) - 1 else math.inf
    return _FEW[below] + (events - below) * (_FEW[below + 1] - _FEW[below])
