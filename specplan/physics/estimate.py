"""Acceptance from counts, and what an uncertain acceptance means for a choice of k."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from specplan.domain.acceptance import Alpha
from specplan.errors import UsageError
from specplan.physics.tokens import (
    FloatArray,
    alpha_for_tokens,
    expected_tokens,
    tokens_variance,
)

NODES = 2001  # equally likely values that stand for a distribution of alpha
INTERVAL = 0.9  # central probability of the intervals given


def alpha_from_counts(accepted: float, drafted: float, k: int) -> Alpha:
    """Alpha and its standard error from an engine's counters, when every draft was k tokens long.

    drafted / k rounds each accepted (accepted / drafted) k tokens on average, which fixes alpha
    through E - 1; the error is that of the mean over independent rounds (delta method). The
    engines' acceptance rate, accepted / drafted, is not alpha: positions after a rejection count
    as drafted and were never tried.
    """
    if not (math.isfinite(accepted) and math.isfinite(drafted) and 0 <= accepted <= drafted):
        raise UsageError(
            f"{accepted:g} accepted of {drafted:g} drafted cannot be",
            expected="0 <= accepted <= drafted",
        )
    if k < 1 or drafted < k:
        raise UsageError(
            f"{drafted:g} drafted tokens are no round of k = {k}",
            expected="drafted >= k >= 1; give the k in use with -k",
        )
    rounds = drafted / k
    alpha = float(alpha_for_tokens(1 + accepted / rounds, k))
    # The error is that of one more token kept and one more rejected among those that were tried:
    # it stays above zero when everything, or nothing, was accepted.
    tried = rounds * float(expected_tokens(alpha, k - 1))
    near = (alpha * tried + 1) / (tried + 2)
    step = 1e-6
    low, high = max(near - step, 0.0), min(near + step, 1.0)
    slope = float(expected_tokens(high, k) - expected_tokens(low, k)) / (high - low)
    return Alpha(alpha, min(math.sqrt(float(tokens_variance(near, k)) / rounds) / slope, 0.5))


def alpha_quantiles(acceptance: Alpha, shares: npt.ArrayLike) -> FloatArray:
    """Values that alpha stays below with the given probabilities: a normal law cut to [0, 1]."""
    wanted = np.asarray(shares, np.float64)
    if acceptance.sd == 0:
        return np.full(wanted.shape, acceptance.alpha)
    law = NormalDist(acceptance.alpha, acceptance.sd)
    low, high = law.cdf(0.0), law.cdf(1.0)
    inside = np.clip(low + (high - low) * wanted, 1e-15, 1 - 1e-15)
    values = [law.inv_cdf(share) for share in inside.ravel().tolist()]
    quantiles: FloatArray = np.clip(np.reshape(values, wanted.shape), 0.0, 1.0)
    return quantiles


def alpha_nodes(acceptance: Alpha) -> FloatArray:
    """Equally likely alphas: the middles of NODES slices of the law."""
    if acceptance.sd == 0:
        return np.array([acceptance.alpha])
    return alpha_quantiles(acceptance, (np.arange(NODES) + 0.5) / NODES)


def below(acceptance: Alpha, threshold: float) -> float:
    """Probability that alpha lies below a threshold, under the same law."""
    if acceptance.sd == 0 or not 0 < threshold <= 1:
        return float(acceptance.alpha < threshold) if threshold > 0 else 0.0
    law = NormalDist(acceptance.alpha, acceptance.sd)
    low, high = law.cdf(0.0), law.cdf(1.0)
    return (law.cdf(threshold) - low) / (high - low)


@dataclass(frozen=True, slots=True)
class Uncertain:
    """What an uncertain alpha does to a choice among candidates.

    `low` and `high` bound the speedup with INTERVAL's probability; regrets are averages over NODES
    equally likely alphas.
    """

    low: float
    high: float
    loss_probability: float
    least_regret_k: int
    least_regret: float
    regret: float


def under_uncertainty(
    acceptance: Alpha, gain: FloatArray, k: npt.NDArray[np.float64], chosen: int
) -> Uncertain:
    """Interval and loss of candidate k[chosen], and the k that regrets least.

    `gain` is plain step over round per candidate, shape (K,). Regret is the speedup forgone
    against the best candidate at each alpha, averaged.
    """
    speedups = expected_tokens(alpha_nodes(acceptance)[:, np.newaxis], k) * gain
    regret = (speedups.max(axis=1, keepdims=True) - speedups).mean(axis=0)
    tail = (1 - INTERVAL) / 2
    ends = alpha_quantiles(acceptance, (tail, 1 - tail))  # speedup rises with alpha
    low, high = expected_tokens(ends, k[chosen]) * gain[chosen]
    break_even = float(alpha_for_tokens(1 / gain[chosen], k[chosen]))
    least = int(np.argmin(regret))
    return Uncertain(
        low=float(low),
        high=float(high),
        loss_probability=below(acceptance, break_even),
        least_regret_k=int(k[least]),
        least_regret=float(regret[least]),
        regret=float(regret[chosen]),
    )


def rule_k(a: npt.ArrayLike, b: npt.ArrayLike, alpha: FloatArray) -> FloatArray:
    """round(a (1 - alpha)^-b), for alpha < 1."""
    guess: FloatArray = np.rint(a * np.maximum(1 - alpha, 1e-9) ** -np.asarray(b))
    return guess


def rule_misses(guess: FloatArray, best: FloatArray, longest: int) -> FloatArray:
    """Tokens between a guess and the best k. Where the longest k tried was best, the true best may
    be any above it, and so may the guess.
    """
    known = np.where(best == longest, np.minimum(guess, longest), guess)
    return np.abs(known - best)


def fit_rule(alpha: FloatArray, best: FloatArray, score: FloatArray) -> tuple[float, float, float]:
    """The rule of thumb k = round(a (1 - alpha)^-b) closest to the best k: (a, b, worst loss).

    `best` (A,) are the best candidates' k, `score` (A, K) the speedup of k = 0..K-1. Among all a, b
    on a fine grid: off by at most one token at the worst alpha, or as few as can be; then least
    speedup lost there, then fewest tokens off in all, then the middle of equals.
    """
    a, b = np.arange(0.02, 4.001, 0.02), np.arange(0.1, 3.201, 0.01)
    points, longest = np.arange(alpha.size), score.shape[1] - 1
    forgone = 1 - score / score.max(axis=1, keepdims=True)
    found = []
    for one in a:
        guess = rule_k(one, b[:, np.newaxis], alpha)
        off = rule_misses(guess, best, longest)
        loss = forgone[points, np.minimum(guess, longest).astype(np.intp)]
        found.append((off.max(axis=1), off.sum(axis=1), loss.max(axis=1)))
    worst, total, loss = (np.concatenate(part) for part in zip(*found, strict=True))
    rank = np.stack((np.maximum(worst, 1), loss.round(12), total))
    first = np.lexsort(rank[::-1])[0]
    ties = np.flatnonzero((rank == rank[:, first : first + 1]).all(axis=0))
    middle = ties[len(ties) // 2]
    return float(a[middle // b.size]), float(b[middle % b.size]), float(loss[middle])
