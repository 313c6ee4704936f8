"""Tokens that a round yields, and what acceptance a number of tokens implies.

Every function broadcasts: `alpha` in [0, 1] and `k` >= 0 may be arrays of any compatible shapes.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
EXACT_TOKENS = 4096  # of a request, up to where its rounds are counted one by one


def expected_tokens(alpha: npt.ArrayLike, k: npt.ArrayLike) -> FloatArray:
    """Tokens per target pass with k drafts, each accepted with probability alpha.

    E = (1 - alpha^(k+1)) / (1 - alpha) (Leviathan et al. 2023, eq. 1). The bonus token is
    included, so 1 <= E <= k + 1; alpha = 1 gives k + 1 and k = 0 exactly 1. The form used
    keeps full precision for alpha towards 0 and 1 and for any k.
    """
    a, n = np.broadcast_arrays(np.asarray(alpha, np.float64), np.asarray(k, np.float64) + 1)
    inner = (a > 0) & (a < 1)
    safe = np.where(inner, a, 0.5)
    tokens = -np.expm1(n * np.log(safe)) / (1 - safe)
    tokens = np.where(inner, tokens, np.where(a == 1, n, 1.0))
    return np.where(n == 1, 1.0, tokens)


def alpha_for_tokens(tokens: npt.ArrayLike, k: npt.ArrayLike) -> FloatArray:
    """The alpha at which a round of k drafts yields `tokens` on average (inverse of E).

    0 where one token is enough, 1 where all k + 1 are wanted; NaN never: where more than k + 1
    tokens are asked for the answer is +inf, meaning that even a perfect drafter does not reach
    them.
    """
    wanted, n = np.broadcast_arrays(np.asarray(tokens, np.float64), np.asarray(k, np.float64))
    low, high = np.zeros(wanted.shape), np.ones(wanted.shape)
    for _ in range(64):  # halving [0, 1] past the last bit of a float
        middle = 0.5 * (low + high)
        reached = expected_tokens(middle, n) >= wanted
        high, low = np.where(reached, middle, high), np.where(reached, low, middle)
    # The ends exactly, whatever a machine makes of the last bit of E.
    alpha = np.where(wanted <= 1, 0.0, np.where(wanted == n + 1, 1.0, high))
    return np.where(wanted > n + 1, np.inf, alpha)


def tokens_variance(alpha: npt.ArrayLike, k: npt.ArrayLike) -> FloatArray:
    """Variance of the tokens of one round at an alpha.

    `k` is a whole number here, the same for all; `alpha` may be an array.
    """
    a = np.asarray(alpha, np.float64)
    return round_variance(a[..., np.newaxis] ** np.arange(1.0, int(np.asarray(k)) + 1))


def _mean_and_square(survival: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """E[X] = 1 + sum S_i and E[X^2] = 1 + sum (2i + 1) S_i of the tokens X of one round."""
    s = np.asarray(survival, np.float64)
    i = np.arange(1, s.shape[-1] + 1, dtype=np.float64)
    return 1 + s.sum(axis=-1), 1 + ((2 * i + 1) * s).sum(axis=-1)


def round_variance(survival: npt.ArrayLike) -> FloatArray:
    """Variance of the tokens of one round; `survival` (..., k) never rises (theory: E[X^2] = 1 +
    sum (2i + 1) S_i, since X exceeds i with probability S_i).
    """
    mean, square = _mean_and_square(survival)
    variance: FloatArray = np.maximum(square - mean**2, 0.0)
    return variance


def rounds_to_finish(survival: npt.ArrayLike, tokens: int) -> float:
    """Rounds until at least `tokens` tokens are made, on average; `survival` (k,) never rises.

    N(m) = 1 + sum P(X = x) N(m - x), step by step as far as it matters, then 1 / E[X] a token.
    Its limit is (m + E[X^2] / (2 E[X]) - 1/2) / E[X], where m / E[X] alone counts too few: a last
    round makes tokens that nobody asked for.
    """
    return float(rounds_table(survival, max(tokens, 0))[-1])


def rounds_table(survival: npt.ArrayLike, tokens: int) -> FloatArray:
    """The same for 0, 1, ... `tokens` tokens, shape (tokens + 1,)."""
    kept = np.concatenate(([1.0], np.asarray(survival, np.float64), [0.0]))
    chances = kept[:-1] - kept[1:]  # of 1, 2, ... k + 1 tokens
    wide, near = len(chances), min(tokens, EXACT_TOKENS)
    rounds = np.zeros(near + wide)  # the first `wide` places are of what is done already
    for left in range(wide, near + wide):
        rounds[left] = 1 + chances @ rounds[left - wide : left][::-1]
    beyond = rounds[-1] + np.arange(1, tokens - near + 1) / kept.sum()
    return np.concatenate(([0.0], rounds[wide:], beyond))


def lockstep_tokens(survival: npt.ArrayLike, batch: npt.ArrayLike) -> FloatArray:
    """Tokens of the luckiest of `batch` sequences in a round, E[max] = 1 + sum (1 - (1 - S_i)^B):
    by so much a padded or static batch grows its cache. Continuous batching does not wait for it.

    `survival` (..., k) and `batch` (...) broadcast (BASS, arXiv 2404.15778, pads so).
    """
    s, b = np.asarray(survival, np.float64), np.asarray(batch, np.float64)
    none = (1 - s) ** b[..., np.newaxis]
    longest: FloatArray = 1 + (1 - none).sum(axis=-1)
    return longest
