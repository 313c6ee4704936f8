"""How far chance alone moves what a simulation counts.

`FALSE_ALARM` is the probability, per check, that a correct rule exceeds its limit; the checks of
a run add theirs (union bound). `tv_margin` and `mean_limit` are concentration inequalities: they
hold at any number of trials. Pearson's statistic follows chi-square only in the limit, so its
cells are pooled to `MIN_EXPECTED`; the worst case left, two cells with the smaller at that
expectation, has a true rate of 2.9e-6 (binomial tails, computed), many even cells the stated one.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

FALSE_ALARM = 1e-6
MIN_EXPECTED = 100.0

_EPSILON = 2.0**-53
_TINY = 1e-300


def tv_distance(p: NDArray[np.float64], q: NDArray[np.float64]) -> float:
    """Total variation distance in [0, 1] of two distributions (V,)."""
    return min(0.5 * float(np.abs(p - q).sum()), 1.0)


def mean_tv(p: NDArray[np.float64], trials: int) -> float:
    """Expected TV distance of p (V,) and the histogram of `trials` draws from it, exactly.

    De Moivre: E|X - np| = 2 m (1 - p) P(X = m), X binomial(n, p), m = floor(np) + 1. Relative
    error below 1e-5, which the logarithm of n! leaves at 1e9 trials.
    """
    inner = p[(p > 0) & (p < 1)]
    m = np.minimum(np.floor(trials * inner) + 1, trials)
    distinct, place = np.unique(m, return_inverse=True)
    ways = math.lgamma(trials + 1) - np.array(
        [math.lgamma(one + 1) + math.lgamma(trials - one + 1) for one in distinct.tolist()]
    )
    log_mass = ways[place] + m * np.log(inner) + (trials - m + 1) * np.log1p(-inner)
    return float((m * np.exp(log_mass)).sum()) / trials


def tv_margin(trials: int) -> float:
    """How far TV exceeds its mean with probability at most `FALSE_ALARM`.

    McDiarmid: one draw moves TV by at most 1/n, so P(TV - mean >= t) <= exp(-2 n t^2).
    """
    return math.sqrt(-math.log(FALSE_ALARM) / (2 * trials))


def mean_limit(variance: float, reach: float, trials: int) -> float:
    """How far a mean of `trials` draws strays with probability at most `FALSE_ALARM`.

    Bernstein, for draws within `reach` of their mean: P(|error| >= t) <= 2 exp(-n t^2 / (2 (v +
    reach t / 3))). About 5.4 standard errors; 0 for draws without variance.
    """
    if variance == 0:
        return 0.0
    level = math.log(2 / FALSE_ALARM) / trials
    skew = reach * level / 3
    return skew + math.sqrt(skew**2 + 2 * variance * level)


def pearson(observed: NDArray[np.int64], expected: NDArray[np.float64]) -> tuple[float, int]:
    """Pearson's statistic and its degrees of freedom for counts (cells,) of a known total.

    Cells expected below `MIN_EXPECTED` are pooled, and a pool that stays below it joins the
    smallest of the others. Cells expected at 0 are left out: a count there is no matter of chance.
    """
    small = expected < MIN_EXPECTED
    want, have = expected[~small], observed[~small].astype(np.float64)
    pool_want = float(expected[small].sum())
    pool_have = float(observed[small & (expected > 0)].sum())
    if pool_want >= MIN_EXPECTED or not len(want):
        want, have = np.append(want, pool_want), np.append(have, pool_have)
    else:
        smallest = want.argmin()
        want[smallest] += pool_want
        have[smallest] += pool_have
    return float(((have - want) ** 2 / want).sum()), len(want) - 1


def chi_square_tail(statistic: float, degrees_of_freedom: float) -> float:
    """P(chi-square >= statistic), relative error below 1e-9 up to 65,535 degrees of freedom
    (whole or not).

    The regularised upper incomplete gamma function Q(df/2, statistic/2), as one minus the power
    series of P below its mean and as Lentz's continued fraction above.
    """
    a, x = degrees_of_freedom / 2, statistic / 2
    if x <= 0 or a == 0:
        return 1.0
    scale = math.exp(a * math.log(x) - x - math.lgamma(a))
    return 1 - scale * _lower_series(a, x) if x < a + 1 else scale * _upper_fraction(a, x)


def _lower_series(a: float, x: float) -> float:
    term = total = 1 / a
    n = a
    while term > total * _EPSILON:
        n += 1
        term *= x / n
        total += term
    return total


def _upper_fraction(a: float, x: float) -> float:
    b = x + 1 - a
    c, d = 1 / _TINY, 1 / b
    value, step, n = d, 0.0, 0
    while abs(step - 1) > 4 * _EPSILON:
        n += 1
        b += 2
        an = n * (a - n)
        d = 1 / (an * d + b or _TINY)
        c = b + an / c or _TINY
        step = c * d
        value *= step
    return value
