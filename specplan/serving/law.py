"""How a latency is spread: its mean, its percentiles, and the share that keeps a limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import erf, sqrt
from typing import Final

import numpy as np
import numpy.typing as npt

from specplan.physics.tokens import FloatArray

_REACH: Final = 6.0  # standard deviations that the normal table covers
_GRID: Final = 2048  # places of a law that is worked out on a grid
_LONG: Final = 12.0  # means of an exponential time that it covers
_BINS: Final = 400
_FAINT: Final = 1e-7  # of the largest weight: where a law ends
_PLACES: Final = np.linspace(-_REACH, _REACH, 1201)
_NORMAL: Final = np.asarray([0.5 * (1 + erf(place / sqrt(2))) for place in _PLACES.tolist()])


@dataclass(frozen=True, slots=True)
class Law:
    """The share (P,) of the requests, or of the gaps, that take at most `at_s` (P,) seconds, both
    ascending, the last share 1; straight lines lie between.
    """

    at_s: FloatArray
    share: FloatArray
    mean: float

    def percentile(self, p: float) -> float:
        """Seconds that `p` (0..100) per cent take at most."""
        place = int(np.searchsorted(self.share, p / 100 - 1e-12))
        if place == 0 or place == len(self.share):
            return float(self.at_s[min(place, len(self.share) - 1)])
        low, high = self.share[place - 1], self.share[place]
        part = (p / 100 - low) / (high - low)
        return float(self.at_s[place - 1] + part * (self.at_s[place] - self.at_s[place - 1]))

    def at_most(self, t: float) -> float:
        """The share that takes at most `t` seconds."""
        if t < self.at_s[0]:
            return 0.0
        return float(np.interp(t, self.at_s, self.share))


def always(value: float) -> Law:
    """One value for everybody."""
    return Law(np.asarray([value]), np.ones(1), value)


def law_of(at_s: FloatArray, weight: FloatArray, mean: float | None = None) -> Law:
    """The law of values (P,) with weights (P,) that need not add up to 1."""
    order = np.argsort(at_s, kind="stable")
    at, share = at_s[order], np.cumsum(weight[order])
    own = float((at_s * weight).sum() / share[-1]) if mean is None else mean
    return Law(at, share / share[-1], own)


def normal(z: npt.ArrayLike) -> FloatArray:
    """The normal distribution function, to 1e-5."""
    found: FloatArray = np.interp(np.asarray(z, np.float64), _PLACES, _NORMAL, left=0.0, right=1.0)
    return found


def lognormals(
    mean: FloatArray, variance: FloatArray, weight: FloatArray, points: int = 256
) -> Law:
    """The mixture of lognormal laws of these means and variances (all (L,)): times are positive,
    and a few of them long. A variance of 0 is a step.
    """
    inside = np.log1p(variance / mean**2)
    spread = np.sqrt(np.maximum(inside, 1e-8))
    centre = np.log(mean) - inside / 2
    low, high = float((centre - 4 * spread).min()), float((centre + 4.5 * spread).max())
    at = np.linspace(low, high, points)
    share = (weight / weight.sum()) @ normal((at - centre[:, np.newaxis]) / spread[:, np.newaxis])
    return Law(np.exp(at), share / share[-1], float(weight @ mean / weight.sum()))


def mixture(laws: Sequence[Law], weight: FloatArray) -> Law:
    """The law of a request that is of each of these with the weights (not all 0)."""
    part = weight / weight.sum()
    used = [(law, share) for law, share in zip(laws, part.tolist(), strict=True) if share > 0]
    if len(used) == 1:
        return used[0][0]
    at = np.unique(np.concatenate([law.at_s for law, _ in used]))
    whole = np.zeros(len(at))
    for law, share in used:
        whole += share * np.interp(at, law.at_s, law.share, left=0.0)
    return Law(at, np.minimum(whole, 1.0), sum(share * law.mean for law, share in used))


def delayed(law: Law, by_s: float) -> Law:
    """The law of as much more as an exponential time of mean `by_s`, on a grid."""
    top = float(law.at_s[-1]) + _LONG * by_s
    grain = top / _GRID
    middle = np.interp((np.arange(_GRID) + 0.5) * grain, law.at_s, law.share, left=0.0)
    forgets = float(np.exp(-grain / by_s))
    kept = (1 - forgets) * np.power(forgets, np.arange(float(_GRID)))
    share = np.convolve(middle, kept)[:_GRID]
    whole = np.concatenate((np.zeros(1), share / share[-1]))
    return Law(grain * np.arange(_GRID + 1.0), whole, law.mean + by_s)


def binned(at: FloatArray, share: FloatArray) -> Law:
    """The law of many values, in bins."""
    top = float(at[share > _FAINT * share.max()].max())
    if not top:  # prompts that cost nothing, on a server that stands still
        return always(0.0)
    place = np.minimum((at * (_BINS / top)).astype(np.int64), _BINS - 1)
    held = np.bincount(place, share, minlength=_BINS)
    mean = float((at * share).sum() / share.sum())
    edges = np.linspace(0.0, top, _BINS + 1)
    return Law(edges, np.concatenate(([0.0], np.cumsum(held))) / held.sum(), mean)
