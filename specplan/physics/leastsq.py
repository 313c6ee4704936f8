"""Robust least squares with priors: constants that explain times, and which of them the times tell.

Each unknown is counted in spreads of its prior, x = (value - prior) / spread, or of logarithms for
those that scale. What is least is sum rho((ln predicted - ln measured)^2 / noise^2) + rho(x^2),
rho(z) = 2 (sqrt(1 + z) - 1): squares near 0 and absolute values beyond, so that a few wrong
figures do not lead the others away (soft L1; Triggs et al. 2000, as SciPy has it).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from specplan.errors import Refused
from specplan.physics.tokens import FloatArray

LEAST_NOISE = 0.01  # repeats of a step differ by so much, and no form is nearer than that
FIRST_NOISE = 0.05
MARGIN = 1e-6  # of a spread: how far inside its bounds a search begins
LEAST_ALONE = 0.02  # of a figure's residual that is not its own doing, by leverage
DIFFERENCE = 1e-5  # of a spread: the step of numerical derivatives
OUTLIER_SIGMAS, OUTLIER_SHARE = 5.0, 0.2
MOST_LEFT_OUT = 6  # one figure of so many may be called wrong
MOST_REFITTED = 60  # figures: of more, what a fit without one says follows from its leverage
SUSPECTS = 10  # of so many figures: those that are refitted without, the farthest first

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
    found = search.refitted(search.fitted(kept))
    for _ in range(len(measured) // MOST_LEFT_OUT):
        wrong = search.wrong(found)
        if wrong is None:
            break
        kept = kept.copy()
        kept[wrong] = False
        found = search.refitted(search.fitted(kept))
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
        found = Fit(self.unknowns, x, off, kept, noise, slopes, off)
        own = np.einsum("qi,ij,qj->q", slopes, found.covariance, slopes) / noise**2
        return replace(found, left_out=np.where(kept, off / np.maximum(1 - own, LEAST_ALONE), off))

    def refitted(self, found: Fit) -> Fit:
        """The same with fits that did leave each figure out, where there are few enough."""
        if len(self.logs) > MOST_REFITTED:
            return found
        every = range(len(self.logs))
        left_out = np.asarray([self._left_out(found, place) for place in every], np.float64)
        return replace(found, left_out=left_out)

    def wrong(self, found: Fit) -> int | None:
        """The figure that the others contradict most, if they do. A wrong one at the edge bends the
        fit, and makes its neighbour look wrong: so each suspect is left out to see.
        """
        off = np.abs(np.where(found.kept, found.left_out, 0.0))
        few = len(off) <= MOST_REFITTED
        worst, at = OUTLIER_SIGMAS, None
        for place in np.argsort(-off)[: len(off) if few else SUSPECTS].tolist():
            far = off[place] if few else abs(self._left_out(found, place))
            if far > OUTLIER_SHARE and far / self._doubt(found, place) > worst:
                worst, at = far / self._doubt(found, place), place
        return at

    def _doubt(self, found: Fit, place: int) -> float:
        """One standard error of a figure as the others predict it, noise included."""
        others = found.kept.copy()
        others[place] = False
        told = _information(found.slopes[others], found.noise) + np.eye(len(found.x))
        own = found.slopes[place]
        return float(np.sqrt(own @ np.linalg.solve(told, own) + found.noise**2))

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

    def _left_out(self, found: Fit, place: int) -> float:
        """The residual of one figure from a fit that has not met it."""
        if not found.kept[place]:
            return float(found.residual[place])
        others = found.kept.copy()
        others[place] = False
        return float(self._off(self._least(found.x, others, found.noise))[place])

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
