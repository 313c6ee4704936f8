"""What follows from a measured curve: tokens at every draft length, rates, and how well fits do."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from specplan.domain.curve import Series
from specplan.physics.curves import DecayFit, fit_decay
from specplan.physics.survival import survival, tokens_of
from specplan.physics.tokens import FloatArray, expected_tokens

_ROUNDS, _GRID = 12, 65  # of the search for an alpha: each narrows the window to a sixteenth


@dataclass(frozen=True, slots=True)
class AlphaFit:
    """The single alpha nearest to measured lengths, and its error in tokens."""

    alpha: float
    rmse: float


@dataclass(frozen=True, slots=True)
class CurveFigures:
    """Tokens per round and conditional rates of draft lengths 1, 2, ...; rates end where nobody
    measured, and are None where nothing is kept before. `off` is how far at most the survival form
    lies from a measured length, in tokens. A burst, measured at no length, has no fits.
    """

    tokens: tuple[float, ...]
    rates: tuple[float | None, ...]
    off: float | None
    decay: DecayFit | None
    alpha: AlphaFit | None


def figures_of(series: Series, longest: int) -> CurveFigures:
    """The figures of a series up to a draft length."""
    model, measured = series.acceptance, series.measured
    k = list(range(1, longest + 1))
    last = min(max(measured, default=longest), longest)
    rates = _rates(survival(model, last))
    tokens = tuple(tokens_of(model, k).tolist())
    if not measured:
        return CurveFigures(tokens, rates, None, None, None)
    ends, tau = list(measured), list(measured.values())
    kept = 1 + np.cumsum(survival(model, ends[-1]))
    off = round(float(np.abs(kept[np.asarray(ends) - 1] - np.asarray(tau)).max()), 9)
    return CurveFigures(tokens, rates, off, fit_decay(ends, tau), fit_alpha(ends, tau))


def fit_alpha(k: list[int], tau: list[float]) -> AlphaFit:
    """The alpha with the least squared error of its lengths E(alpha, k) at k."""
    ends, wanted = np.asarray(k, np.float64), np.asarray(tau)
    low, high, best, error = 0.0, 1.0, 0.0, np.inf
    for _ in range(_ROUNDS):
        alphas = np.linspace(low, high, _GRID)
        errors = ((expected_tokens(alphas[:, np.newaxis], ends) - wanted) ** 2).mean(axis=-1)
        place = int(np.argmin(errors))
        best, error = float(alphas[place]), float(errors[place])
        reach = (high - low) / 32
        low, high = max(best - reach, 0.0), min(best + reach, 1.0)
    return AlphaFit(best, float(np.sqrt(error)))


def _rates(kept: FloatArray) -> tuple[float | None, ...]:
    """S_i / S_(i-1), None once nothing is kept."""
    before = [1.0, *kept.tolist()]
    pairs = zip(before, kept.tolist(), strict=False)
    return tuple(after / first if first > 0 else None for first, after in pairs)
