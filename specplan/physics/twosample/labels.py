"""Permutation tests: labels drawn anew within each prompt, and p-values that are never too small.

If both engines have one distribution, which output of a prompt came from which is a matter of
chance: every way to hand out the labels is equally likely, whatever the distribution is and however
few the outputs. With B labellings drawn, (1 + those that show as much) / (1 + B) is at most x with
probability at most x (Phipson and Smyth 2010, doi 10.2202/1544-6115.1585).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from specplan.physics.twosample.pools import Floats, Pool

_TIES = 1e-9  # statistics closer than this, of the largest, are the same
_FEW_REPEATS = 4  # outputs for each distinct one, up to which they are labelled one by one


def labellings(pool: Pool, rows: int, rng: Generator) -> Floats:
    """How many of each distinct output the plain engine gets (rows, U), in random labellings."""
    if pool.size > _FEW_REPEATS * pool.distinct:
        drawn = rng.multivariate_hypergeometric(pool.times, pool.n, size=rows, method="marginals")
        return drawn.astype(np.float64)
    chosen = _chosen(rows, pool.size, pool.n, rng)
    if pool.size == pool.distinct:
        return chosen.astype(np.float64)
    starts = np.cumsum(pool.times) - pool.times
    counted: Floats = np.add.reduceat(chosen, starts, axis=1, dtype=np.float64)
    return counted


def _chosen(rows: int, size: int, n: int, rng: Generator) -> NDArray[np.bool_]:
    """Rows (rows, size) with n true in each, all choices equally likely: the n smallest of random
    numbers, drawn again where two are alike at the border.
    """
    chosen = np.empty((rows, size), dtype=np.bool_)
    again = np.arange(rows)
    while len(again):
        drawn = rng.integers(0, 1 << 32, (len(again), size), dtype=np.uint32)
        chosen[again] = drawn <= np.partition(drawn, n - 1, axis=1)[:, n - 1 : n]
        again = again[np.count_nonzero(chosen[again], axis=1) != n]
    return chosen


def log_labellings(pools: Iterable[tuple[int, int]]) -> float:
    """Logarithm of the number of labellings of prompts with (n, m) outputs."""
    return sum(math.lgamma(n + m + 1) - math.lgamma(n + 1) - math.lgamma(m + 1) for n, m in pools)


def p_value(statistics: Floats) -> float | None:
    """Of the first of the statistics (1 + B,), which is as labelled, among all; large ones count.

    None where no labelling makes a difference.
    """
    largest = float(np.abs(statistics).max())
    if np.ptp(statistics) <= _TIES * largest:
        return None
    return float(np.mean(statistics >= statistics[0] - _TIES * largest))


def critical(statistics: Floats, level: float) -> float:
    """What a statistic must exceed for a p-value of at most `level`, by the drawn ones (1 + B,)."""
    drawn = np.sort(statistics[1:])[::-1]
    allowed = math.floor(level * len(statistics) * (1 + _TIES)) - 1
    return float(drawn[min(max(allowed, 0), len(drawn) - 1)])


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """P-values by name, adjusted for their number: to reject where the result is at most x errs in
    any of them with probability at most x, however they depend on each other (Holm 1979).
    """
    adjusted: dict[str, float] = {}
    largest = 0.0
    for passed, (name, p) in enumerate(sorted(p_values.items(), key=lambda item: item[1])):
        largest = max(largest, min(1.0, (len(p_values) - passed) * p))
        adjusted[name] = largest
    return adjusted
