"""Acceptance from counts, and what an uncertain acceptance means for a choice of k."""

from __future__ import annotations

import math
from collections.abc import Sequence
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

    `low` and `high` bound the speedup with INTERVAL's probability at least, and hold the one at
    alpha itself; regrets are averages over NODES
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
    # A law cut at 0 or 1 leaves its own centre in a tail; the speedup at alpha belongs to the rest.
    ends = np.array([min(ends[0], acceptance.alpha), max(ends[1], acceptance.alpha)])
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


@dataclass(frozen=True, slots=True)
class RuleOfThumb:
    """k = round(a (1 - alpha)^-b - c), and never beyond the longest k that was tried."""

    a: float
    b: float
    c: float
    longest: int

    def k(self, alpha: FloatArray) -> FloatArray:
        """The rule's k at each alpha < 1."""
        return _thumb_k(self.power(alpha), self.c, self.longest)

    def power(self, alpha: FloatArray) -> FloatArray:
        """The formula before its shift, for alpha < 1."""
        power: FloatArray = self.a * (1 - alpha) ** -self.b
        return power

    def is_capped(self, alpha: FloatArray) -> bool:
        """Whether the longest k cuts the formula somewhere on these alphas."""
        return bool((np.rint(self.power(alpha) - self.c) > self.longest).any())


@dataclass(frozen=True, slots=True)
class RuleFit:
    """A rule of thumb and its worst over the alphas that it was fitted to.

    `misses` tokens between the rule's k and the best k, `loss` the share of speedup forgone.
    """

    rule: RuleOfThumb
    misses: int
    loss: float


def fit_rule(alpha: FloatArray, score: FloatArray) -> RuleFit:
    """The rule of thumb closest to the best k; `score` (A, K) is the speedup of k = 0..K-1.

    The two constants of k = round(a (1 - alpha)^-b) where they keep within one token and
    ENOUGH_LOSS, else the third as well: at low alpha the best k falls faster than any power.
    """
    few = slice(None, None, -(-alpha.size // _MOST_FITTED))  # a fine axis says nothing more
    plain = _judged(_closest(alpha[few], score[few], _FINE, (0.0,)), alpha, score)
    if plain.misses <= 1 and plain.loss <= ENOUGH_LOSS:
        return plain
    shifted = _judged(_closest(alpha[few], score[few], _COARSE, _SHIFTS), alpha, score)
    return min(plain, shifted, key=lambda fit: (max(fit.misses, 1), fit.loss))


def _judged(rule: RuleOfThumb, alpha: FloatArray, score: FloatArray) -> RuleFit:
    """The rule beside its worst over all alphas."""
    guess = rule.k(alpha).astype(np.intp)
    forgone = 1 - score[np.arange(alpha.size), guess] / score.max(axis=1)
    misses = np.abs(guess - score.argmax(axis=1)).max()
    return RuleFit(rule, int(misses), float(forgone.max()))


ENOUGH_LOSS = 0.005  # the share of speedup that a rule of two constants may forgo
_FINE = (np.arange(0.02, 4.001, 0.02), np.arange(0.1, 3.201, 0.01))
_SHIFTS = tuple(np.arange(0.25, 4.01, 0.25).tolist())
_MOST_FITTED = 100
_COARSE = (np.arange(0.06, 6.001, 0.06), np.arange(0.1, 2.201, 0.02))


def _closest(
    alpha: FloatArray,
    score: FloatArray,
    grid: tuple[FloatArray, FloatArray],
    shifts: Sequence[float],
) -> RuleOfThumb:
    """The rule among all a, b of the grid and all shifts: off by at most one token at the worst
    alpha, or as few as can be; then least speedup lost there, then fewest tokens off in all, then
    the middle of equals.
    """
    a, b = grid
    points, longest = np.arange(alpha.size), score.shape[1] - 1
    best = score.argmax(axis=1)
    forgone = 1 - score / score.max(axis=1, keepdims=True)
    bends = (1 - alpha) ** -b[:, np.newaxis]
    found = []
    for shift in shifts:
        for one in a:
            guess = _thumb_k(one * bends, shift, longest)
            off = np.abs(guess - best)
            loss = forgone[points, guess.astype(np.intp)]
            found.append((off.max(axis=1), off.sum(axis=1), loss.max(axis=1)))
    worst, total, loss = (np.concatenate(part) for part in zip(*found, strict=True))
    rank = np.stack((np.maximum(worst, 1), loss.round(12), total))
    first = np.lexsort(rank[::-1])[0]
    ties = np.flatnonzero((rank == rank[:, first : first + 1]).all(axis=0))
    middle = ties[len(ties) // 2]
    outer, bend = divmod(int(middle), b.size)
    shift, scale = divmod(outer, a.size)
    return RuleOfThumb(float(a[scale]), float(b[bend]), shifts[shift], longest)


def _thumb_k(power: FloatArray, shift: float, longest: int) -> FloatArray:
    k: FloatArray = np.clip(np.rint(power - shift), 0, longest)
    return k
