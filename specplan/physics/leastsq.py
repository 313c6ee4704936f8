"""Robust least squares with priors: constants that explain times, and which of them the times tell.

Each unknown is counted in spreads of its prior, x = (value - prior) / spread, or of logarithms for
those that scale. What is least is sum rho((ln predicted - ln measured)^2 / noise^2) + rho(x^2),
rho(z) = 2 (sqrt(1 + z) - 1): squares near 0 and absolute values beyond, so that a few wrong
figures do not lead the others away (soft L1; Triggs et al. 2000, as SciPy has it).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from specplan.errors import Refused
from specplan.physics.tokens import FloatArray

LEAST_NOISE = 0.01  # repeats of a step differ by so much, and no form is nearer than that
FIRST_NOISE = 0.05
MARGIN = 1e-6  # of a spread: how far inside its bounds a search begins
DIFFERENCE = 1e-5  # of a spread: the step of numerical derivatives
OUTLIER_SIGMAS, OUTLIER_SHARE = 5.0, 0.15
MOST_LEFT_OUT = 6  # one figure of so many may be called wrong

Predict = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True, slots=True)
class Unknown:
    """A constant to be found: what is believed of it, one standard deviation of that belief
    (relative where it `scales`), and its bounds.
    """

    name: str
    unit: str
    prior: float
    spread: float
    low: float
    high: float
    says: str
    scales: bool = False

    def x(self, value: float) -> float:
        """A value in spreads from the prior."""
        if self.scales:
            return float(np.log(value / self.prior) / self.spread)
        return (value - self.prior) / self.spread

    def value(self, x: float) -> float:
        """The value so many spreads from the prior."""
        if self.scales:
            return float(self.prior * np.exp(self.spread * x))
        return self.prior + self.spread * x

    def error(self, value: float, x_error: float) -> float:
        """A standard error of x as one of the value."""
        return x_error * self.spread * (value if self.scales else 1.0)


@dataclass(frozen=True, slots=True)
class Fit:
    """What was found: `x` (N,) and `values` (N,), `residual` (P,) = ln(measured / predicted), which
    figures were `kept`, the standard deviation of those (`noise`), what the figures alone tell
    (`information`, (N, N) in x), and `left_out` (P,): the residual of each figure from a fit that
    had not met it.
    """

    unknowns: tuple[Unknown, ...]
    x: FloatArray
    residual: FloatArray
    kept: npt.NDArray[np.bool_]
    noise: float
    slopes: FloatArray
    left_out: FloatArray

    @property
    def values(self) -> FloatArray:
        """The constants."""
        return values_of(self.unknowns, self.x)

    @property
    def information(self) -> FloatArray:
        """What the figures alone say, per spread of the prior: the curvature of their part."""
        found: FloatArray = _information(self.slopes[self.kept], self.noise)
        return found

    @property
    def covariance(self) -> FloatArray:
        """Of x, priors included."""
        return np.asarray(np.linalg.inv(self.information + np.eye(len(self.x))), np.float64)

    @property
    def errors(self) -> FloatArray:
        """Standard errors (N,) of the values."""
        spreads = np.sqrt(np.diag(self.covariance)).tolist()
        pairs = zip(self.unknowns, self.values.tolist(), spreads, strict=True)
        return np.asarray([u.error(value, spread) for u, value, spread in pairs], np.float64)

    def spread(self, slopes: FloatArray) -> FloatArray:
        """Relative standard errors (Q,) of predictions with these slopes (Q, N), noise included."""
        told = np.einsum("qi,ij,qj->q", slopes, self.covariance, slopes)
        found: FloatArray = np.sqrt(told + self.noise**2)
        return found


def values_of(unknowns: Sequence[Unknown], x: FloatArray) -> FloatArray:
    """The constants at x."""
    pairs = zip(unknowns, x, strict=True)
    return np.asarray([u.value(float(one)) for u, one in pairs], np.float64)


def fit(unknowns: Sequence[Unknown], predict: Predict, measured: FloatArray) -> Fit:
    """The constants that explain `measured` (P,), seconds above 0; `predict` takes values (N,) and
    gives seconds (P,).

    Figures that the others contradict, by OUTLIER_SIGMAS and OUTLIER_SHARE of their prediction, are
    left out one by one, the farthest first, one of MOST_LEFT_OUT at most. Refused without SciPy.
    """
    search = _Search(tuple(unknowns), predict, np.log(measured))
    kept = np.ones(len(measured), np.bool_)
    found = search.fitted(kept)
    for _ in range(len(measured) // MOST_LEFT_OUT):
        scores = search.scores(found)
        wrong = (scores > OUTLIER_SIGMAS) & (np.abs(found.left_out) > OUTLIER_SHARE) & kept
        if not wrong.any():
            break
        kept = kept.copy()
        kept[int(np.argmax(np.where(wrong, scores, 0.0)))] = False
        found = search.fitted(kept)
    return found


def slopes_of(unknowns: Sequence[Unknown], predict: Predict, x: FloatArray) -> FloatArray:
    """Slopes of ln(predicted) over x, (Q, N), by differences that stay within the bounds."""
    low, high = _bounds(unknowns)
    columns = []
    for place in range(len(x)):
        up, down = x.copy(), x.copy()
        up[place] = min(x[place] + DIFFERENCE, high[place])
        down[place] = max(x[place] - DIFFERENCE, low[place])
        change = np.log(predict(values_of(unknowns, up)))
        change = change - np.log(predict(values_of(unknowns, down)))
        columns.append(change / (up[place] - down[place]))
    return np.stack(columns, axis=1)


def _information(slopes: FloatArray, noise: float) -> FloatArray:
    found: FloatArray = slopes.T @ slopes / noise**2
    return found


def _bounds(unknowns: Sequence[Unknown]) -> tuple[FloatArray, FloatArray]:
    return np.asarray([u.x(u.low) for u in unknowns]), np.asarray([u.x(u.high) for u in unknowns])


@dataclass(frozen=True, slots=True)
class _Search:
    """One set of figures, whichever of them are kept."""

    unknowns: tuple[Unknown, ...]
    predict: Predict
    logs: FloatArray

    def fitted(self, kept: npt.NDArray[np.bool_]) -> Fit:
        """The fit to the figures kept, and what it says of each without it."""
        low, high = _bounds(self.unknowns)
        x = np.clip(np.zeros(len(low)), low, high)
        x, noise = self._least(x, kept, FIRST_NOISE), FIRST_NOISE
        for _ in range(2):
            middle = float(np.median(np.abs(self._off(x)[kept])))
            noise = float(np.clip(1.4826 * middle, LEAST_NOISE, FIRST_NOISE))
            x = self._least(x, kept, noise)
        off = self._off(x)
        slopes = slopes_of(self.unknowns, self.predict, x)
        noise = self._noise(off[kept], slopes[kept], noise)
        left_out = np.asarray([self._left_out(x, kept, noise, place) for place in range(len(off))])
        return Fit(self.unknowns, x, off, kept, noise, slopes, left_out)

    def scores(self, found: Fit) -> FloatArray:
        """How far each figure lies from what the others say, in standard deviations of both."""
        prior, all_scores = np.eye(len(found.x)), []
        for place in range(len(self.logs)):
            others = found.kept.copy()
            others[place] = False
            told = _information(found.slopes[others], found.noise) + prior
            own = found.slopes[place]
            spread = np.sqrt(own @ np.linalg.solve(told, own) + found.noise**2)
            all_scores.append(abs(found.left_out[place]) / spread)
        return np.asarray(all_scores)

    def _off(self, x: FloatArray) -> FloatArray:
        found: FloatArray = self.logs - np.log(self.predict(values_of(self.unknowns, x)))
        return found

    def _noise(self, off: FloatArray, slopes: FloatArray, noise: float) -> float:
        """Standard deviation of what is left, by the unknowns that the figures had to tell."""
        information = _information(slopes, noise)
        told = np.trace(np.linalg.solve(information + np.eye(len(information)), information))
        free = max(len(off) - float(told), 1.0)
        middle = 1.4826 * float(np.median(np.abs(off))) * np.sqrt(len(off) / free)
        return float(np.clip(middle, LEAST_NOISE, 10 * FIRST_NOISE))

    def _left_out(
        self, x: FloatArray, kept: npt.NDArray[np.bool_], noise: float, place: int
    ) -> float:
        """The residual of one figure where it is not met."""
        if not kept[place]:
            return float(self._off(x)[place])
        others = kept.copy()
        others[place] = False
        return float(self._off(self._least(x, others, noise))[place])

    def _least(self, start: FloatArray, kept: npt.NDArray[np.bool_], noise: float) -> FloatArray:
        low, high = _bounds(self.unknowns)
        inside = np.clip(start, low + MARGIN, high - MARGIN)

        def off(x: FloatArray) -> FloatArray:
            return np.concatenate((self._off(x)[kept] / noise, x))

        solve = _scipy().least_squares
        found: FloatArray = solve(off, inside, bounds=(low, high), loss="soft_l1", max_nfev=200).x
        return found


def _scipy() -> Any:  # noqa: ANN401
    try:
        return import_module("scipy.optimize")
    except ImportError:
        raise Refused(
            "least squares are SciPy's, which is not installed",
            hint="pip install 'specplan[stats]'",
        ) from None
