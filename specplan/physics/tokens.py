"""Tokens that a round yields, and what acceptance a number of tokens implies.

Every function broadcasts: `alpha` in [0, 1] and `k` >= 0 may be arrays of any compatible shapes.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]


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

    0 where one token is enough; NaN never: where more than k + 1 tokens are asked for the answer
    is +inf, meaning that even a perfect drafter does not reach them.
    """
    wanted, n = np.broadcast_arrays(np.asarray(tokens, np.float64), np.asarray(k, np.float64))
    low, high = np.zeros(wanted.shape), np.ones(wanted.shape)
    for _ in range(64):  # halving [0, 1] past the last bit of a float
        middle = 0.5 * (low + high)
        reached = expected_tokens(middle, n) >= wanted
        high, low = np.where(reached, middle, high), np.where(reached, low, middle)
    alpha = np.where(wanted <= 1, 0.0, high)
    return np.where(wanted > n + 1, np.inf, alpha)


def tokens_variance(alpha: npt.ArrayLike, k: npt.ArrayLike) -> FloatArray:
    """Variance of the tokens of one round, from E[X^2] = 1 + sum (2i + 1) alpha^i, i = 1..k.

    `k` is a whole number here, the same for all; `alpha` may be an array.
    """
    a = np.asarray(alpha, np.float64)
    i = np.arange(1, int(np.asarray(k)) + 1, dtype=np.float64)
    survival = a[..., np.newaxis] ** i
    mean = 1 + survival.sum(axis=-1)
    square = 1 + ((2 * i + 1) * survival).sum(axis=-1)
    variance: FloatArray = np.maximum(square - mean**2, 0.0)
    return variance
