"""From sums to figures with intervals."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from specplan.physics.counters.batches import Spread, spread
from specplan.physics.counters.pools import alpha_at
from specplan.physics.counters.students import quantile, score_interval
from specplan.physics.tokens import round_variance

if TYPE_CHECKING:
    from specplan.physics.counters.fold import Fold

COUNTED = "rejections counted"
FLOOR = 0.3  # of the half width that drafts alike would have: batches equal by luck claim no less
FEW = 30.0  # effective rounds below which an interval is only roughly what it says

Sums = npt.NDArray[np.float64]
_ROUNDS, _KEPT, _TRIED, _PLACED, _FIRST = range(5)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its central 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Bounded:
    """A figure, with its interval where anything tells how sure it is."""

    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Figures:
    """What the sums say; None where they do not."""

    tau: Bounded | None
    alpha: Bounded | None
    basis: str
    effective_rounds: float | None
    k: int | None
    positions: tuple[Estimate, ...]
    warnings: tuple[str, ...]


def figures_of(fold: Fold) -> Figures:
    """All figures of a fold."""
    sums = fold.batches.array()
    k = _longest(fold)
    rounds = float(sums[:, _ROUNDS].sum()) if len(sums) else 0.0
    if not rounds:
        return Figures(None, None, "", None, k, (), tuple(_without(fold)))
    longest = float(k or max(fold.pools.mixture, default=0))
    kept = float(sums[:, _KEPT].sum())
    width = max(longest, kept / rounds) if longest else math.inf
    tau, effect = _mean(sums[:, _KEPT], sums[:, _ROUNDS], width, _variance(fold, kept / rounds, k))
    shifted = Estimate(1 + tau.value, 1 + tau.low, 1 + tau.high)
    alpha, basis, alpha_effect = _alpha(fold, sums, shifted, effect)
    effective = float(rounds / max(alpha_effect if alpha else effect, 1.0))
    blind = len(sums) == 1 and not fold.drafts and fold.unweighed
    return Figures(
        tau=_bounded(shifted, blind=blind),
        alpha=_bounded(alpha, blind=blind),
        basis=basis,
        effective_rounds=None if blind else effective,
        k=k,
        positions=_positions(sums, fold.at_drafts),
        warnings=tuple(_blind() if blind else _said(fold, len(sums), effective)),
    )


def _bounded(found: Estimate | None, *, blind: bool) -> Bounded | None:
    """The figure, without its interval where that would rest on nothing."""
    if found is None:
        return None
    return Bounded(found.value, *((None, None) if blind else (found.low, found.high)))


def _longest(fold: Fold) -> int | None:
    """The longest draft: as it was said, else as it was counted."""
    if fold.k:
        return fold.k
    if fold.at:
        return len(fold.at)
    mean = fold.drafted / fold.drafts if fold.drafts else 0.0
    whole = round(mean)
    return whole if whole and abs(mean - whole) < 1e-6 * whole else None


def _variance(fold: Fold, mean: float, k: int | None) -> float:
    """Variance of the drafts that one round keeps: from its positions, else as if all are alike."""
    if fold.at_drafts:
        return float(round_variance(np.array(fold.at) / fold.at_drafts))
    lengths = fold.pools.mixture or ({k: 1.0} if k else {})
    if not lengths:
        return mean * (1 + mean)  # of drafts without end
    alpha = alpha_at(1 + mean, lengths)
    total = sum(lengths.values())
    square = sum(
        rounds
        / total
        * float(((2 * np.arange(1, n + 1) - 1) * alpha ** np.arange(1.0, n + 1)).sum())
        for n, rounds in lengths.items()
    )
    return max(square - mean**2, 0.0)


def _mean(over: Sums, under: Sums, width: float, variance: float) -> tuple[Estimate, float]:
    """The mean of a quantity in [0, width] per round, and its design effect, `variance` being that
    of one round if rounds were independent. Wilson's score interval; Student's where nobody knows
    the width, which is then without end.
    """
    total = float(under.sum())
    mean = float(over.sum()) / total
    effect, t = _effect(spread(over, under), variance / total)
    if math.isinf(width):
        reach = t * math.sqrt(effect * variance / total)
        return Estimate(mean, max(mean - reach, 0.0), mean + reach), effect
    share = min(mean / width, 1.0)
    inner = variance / width**2
    trials = total if inner <= 0 else share * (1 - share) / inner * total
    low, high = score_interval(share, trials / effect, t)
    return Estimate(mean, low * width, high * width), effect


def _effect(found: Spread | None, alike: float) -> tuple[float, float]:
    """The design effect, variance over that of independent trials alike, and the t to use."""
    if found is None:
        return 1.0, quantile(1e9)
    t = quantile(found.df)
    if alike <= 0:
        return 1.0, t
    least = (FLOOR * quantile(1e9) / t) ** 2
    return max(found.variance / alike, least), t


def _alpha(
    fold: Fold, sums: Sums, tau: Estimate, effect: float
) -> tuple[Estimate | None, str, float]:
    """Alpha, how it came about, and its design effect."""
    alpha = fold.pools.alpha()
    if alpha is None:
        return None, "", effect
    if fold.pools.counted:
        found, own = _mean(sums[:, _KEPT], sums[:, _TRIED], 1.0, alpha * (1 - alpha))
        return Estimate(alpha, found.low, found.high), COUNTED, own
    lengths = fold.pools.mixture
    middle = alpha_at(tau.value, lengths)
    low = max(alpha + alpha_at(tau.low, lengths) - middle, 0.0)
    high = min(alpha + alpha_at(tau.high, lengths) - middle, 1.0)
    bounds = fold.pools.bounds()
    if bounds is None:
        ks = ", ".join(map(str, sorted(lengths)))
        said = f"solved from tokens per round at k = {ks}, as if every position kept as often"
        return Estimate(alpha, min(low, alpha), max(high, alpha)), said, effect
    least, most = min(bounds[0], alpha), max(bounds[1], alpha)
    said = (
        "solved at the mean draft length; whatever the lengths were, "
        f"rejections leave {least:.3f} to {most:.3f}"
    )
    inside = Estimate(alpha, max(least - (alpha - low), 0.0), min(most + (high - alpha), 1.0))
    return inside, said, effect


def _positions(sums: Sums, drafts: float) -> tuple[Estimate, ...]:
    """Of every position, the share of all rounds that keep it."""
    if not drafts:
        return ()
    found = []
    for place in range(_FIRST, sums.shape[1]):
        share = float(sums[:, place].sum()) / drafts
        one, _ = _mean(sums[:, place], sums[:, _PLACED], 1.0, share * (1 - share))
        found.append(Estimate(min(share, 1.0), one.low, one.high))
    return tuple(found)


def _without(fold: Fold) -> Iterator[str]:
    """Why there are no figures per round."""
    if fold.bare:
        yield "the number of rounds is not printed: -k, the draft length in use, gives it"


def _blind() -> Iterator[str]:
    yield "one mean, of how many rounds nobody says: there is no interval"


def _said(fold: Fold, batches: int, effective: float) -> Iterator[str]:
    if batches == 1:
        yield "one figure for all: intervals hold for drafts alike, not for requests that differ"
    elif effective < FEW:
        yield f"few rounds ({effective:.0f} that are independent): intervals are rough"
    if fold.bare:
        yield "some counts lack the number of rounds: -k, the draft length in use, gives it"
