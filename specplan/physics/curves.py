"""Curves of acceptance through measured points: survival by isotonic regression, and decay.

`tau` are acceptance lengths, bonus token included, at draft lengths `k` that rise: two arrays of
shape (N,), 1 <= tau <= k + 1. Survival S_i is the share of rounds that keep position i.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from specplan.physics.tokens import FloatArray, alpha_for_tokens

_ROUNDS, _GRID = 14, 33  # of the search for a decay: each narrows the window to a quarter
_RATIOS = 1.25  # the largest ratio of neighbouring rates that a fit may find


class DecayFit(NamedTuple):
    """p_i = min(1, first ratio^(i-1)) nearest to measured lengths, and its error in tokens."""

    first: float
    ratio: float
    rmse: float


def survival_from_lengths(k: npt.ArrayLike, tau: npt.ArrayLike) -> FloatArray:
    """Survival S_1..S_k[-1], never rising and within [0, 1], nearest to measured lengths.

    Between two measured k the gain tau(k2) - tau(k1) = S_(k1+1) + ... + S_k2; the gains are made
    non-increasing by isotonic regression (pool adjacent violators), each weighted by its positions,
    for measured lengths have noise and no later position is kept more often. Positions between two
    measured k share one conditional rate, as one length has always been inverted, if that stays
    above what the next gain says; else what they have beyond that does.
    """
    ends = np.asarray(k, np.int64)
    gains = np.diff(np.asarray(tau, np.float64), prepend=1.0)
    steps = np.diff(ends, prepend=0)
    means = np.clip(isotonic(gains / steps, steps), 0.0, 1.0)
    survival: list[float] = []
    kept = 1.0
    following = [*means.tolist()[1:], 0.0]
    for mean, positions, least in zip(means.tolist(), steps.tolist(), following, strict=True):
        part = _shared_rate(mean, kept, positions)
        if part[-1] < least:
            beyond = _shared_rate(mean - least, kept - least, positions)
            part = [least + share for share in beyond]
        survival += part
        kept = part[-1]
    return np.minimum.accumulate(np.clip(survival, 0.0, 1.0))


def _shared_rate(mean: float, kept: float, positions: int) -> list[float]:
    """Survivals of `positions` after `kept` that average to `mean`, with one rate between them."""
    if kept <= 0 or positions == 1:
        return [mean] * positions
    rate = float(alpha_for_tokens(1 + min(mean * positions / kept, positions), positions))
    return [kept * rate**i for i in range(1, positions + 1)]


def isotonic(values: npt.ArrayLike, weights: npt.ArrayLike) -> FloatArray:
    """The non-increasing sequence (N,) nearest to `values` in weighted least squares: neighbours
    that rise are pooled to their mean until none does.
    """
    pools: list[tuple[float, float, int]] = []
    pairs = np.broadcast_arrays(np.asarray(values, np.float64), np.asarray(weights, np.float64))
    for value, weight in zip(*(array.tolist() for array in pairs), strict=True):
        pools.append((value, weight, 1))
        while len(pools) > 1 and pools[-1][0] > pools[-2][0]:
            (v2, w2, n2), (v1, w1, n1) = pools.pop(), pools.pop()
            pools.append(((v1 * w1 + v2 * w2) / (w1 + w2), w1 + w2, n1 + n2))
    levels = np.asarray([pool[0] for pool in pools], np.float64)
    return np.repeat(levels, [pool[2] for pool in pools])


def decay_survival(first: npt.ArrayLike, ratio: npt.ArrayLike, k: int) -> FloatArray:
    """S_1..S_k of p_i = min(1, first ratio^(i-1)) (theory: S_i = first^i ratio^(i(i-1)/2) while
    no rate reaches 1); shape (..., k).
    """
    a, r = np.broadcast_arrays(np.asarray(first, np.float64), np.asarray(ratio, np.float64))
    rates = np.minimum(a[..., np.newaxis] * r[..., np.newaxis] ** np.arange(k), 1.0)
    survival: FloatArray = np.multiply.accumulate(rates, axis=-1)
    return survival


def fit_decay(k: npt.ArrayLike, tau: npt.ArrayLike) -> DecayFit:
    """The decay with the least squared error of its lengths at k; one point alone has ratio 1.

    A grid that closes in: two numbers, no derivative, and the same answer everywhere.
    """
    ends = np.asarray(k, np.int64)
    wanted = np.asarray(tau, np.float64)
    if len(ends) == 1:
        return DecayFit(float(alpha_for_tokens(wanted[0], ends[0])), 1.0, 0.0)
    low, high = np.array([0.0, 0.0]), np.array([1.0, _RATIOS])
    best, error = low, np.inf
    for _ in range(_ROUNDS):
        a, r = (np.linspace(low[j], high[j], _GRID) for j in (0, 1))
        survival = decay_survival(a[:, np.newaxis], r, int(ends[-1]))
        lengths = 1 + np.cumsum(survival, axis=-1)[..., ends - 1]
        errors = ((lengths - wanted) ** 2).mean(axis=-1)
        place = np.unravel_index(int(np.argmin(errors)), errors.shape)
        best, error = np.array([a[place[0]], r[place[1]]]), float(errors[place])
        reach = (high - low) / 8
        low = np.maximum(best - reach, 0.0)
        high = np.minimum(best + reach, (1.0, _RATIOS))
    return DecayFit(float(best[0]), float(best[1]), float(np.sqrt(error)))
