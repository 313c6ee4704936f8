"""Times at any point of a fitted form: measured ones stay, those between are led through them.

Where a point was measured its own time stands (the geometric mean of several), whether or not the
fit could use it: a cliff of the engine looks no different from a slip of the clock. Elsewhere the
form gives the shape, and what it misses of the measured times is carried over by
`specplan.physics.kriging`, from the context that is nearest. A time that the fit could not use is
carried too where no pass that does less takes longer and none that does more is shorter: kernels
step so where rows begin another tile, while most slips of the clock stick out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from specplan.physics.kriging import Carried, Places
from specplan.physics.leastsq import Fit, slopes_of
from specplan.physics.step_form import Points
from specplan.physics.tokens import FloatArray

MEASURED, BETWEEN, BEYOND = "measured", "between", "beyond"
SLACK_SIGMAS = 2.0  # that passes of more rows may seem faster

Flags = npt.NDArray[np.bool_]
Seconds = Callable[[FloatArray, Points], FloatArray]


@dataclass(frozen=True, slots=True)
class Estimate:
    """Seconds (Q,), one standard error of each as a share of it, and how each came about."""

    time_s: FloatArray
    spread: FloatArray
    how: tuple[str, ...]


@dataclass(frozen=True)
class Fitted:
    """A form fitted to measured points."""

    seconds: Seconds
    found: Fit
    points: Points
    measured: FloatArray

    def form_s(self, points: Points) -> FloatArray:
        """The form alone, (Q,)."""
        return self.seconds(self.found.values, points)

    def at(self, points: Points) -> Estimate:
        """Estimates at points (Q,)."""
        base = self.form_s(points)
        slopes = slopes_of(self.found.unknowns, lambda v: self.seconds(v, points), self.found.x)
        logs, doubt = self._carried(points)
        spread, how = np.hypot(self.found.spread(slopes), doubt), []
        for place, key in enumerate(_keys(points)):
            own = self._own.get(key)
            if own is not None:
                logs[place], spread[place] = own, self.found.noise
            how.append(MEASURED if own is not None else self._known(*key))
        return Estimate(base * np.exp(logs), spread, tuple(how))

    @cached_property
    def _own(self) -> dict[tuple[float, ...], float]:
        """What was measured at each place, as a logarithm over the form: of those kept if any."""
        kept: dict[tuple[float, ...], list[float]] = {}
        others: dict[tuple[float, ...], list[float]] = {}
        off, used = self.found.residual.tolist(), self.found.kept.tolist()
        for key, one, stays in zip(_keys(self.points), off, used, strict=True):
            (kept if stays else others).setdefault(key, []).append(one)
        return {key: float(np.mean(found)) for key, found in (others | kept).items()}

    @cached_property
    def cliffs(self) -> Flags:
        """Which figures (P,) the fit left out and yet lie between those kept of the same context:
        their passes, drafting taken off by the form, take no less than any of at most as many
        sequences and rows, and no more than any of at least as many, each within the noise.
        """
        points, kept = self.points, self.found.kept
        alone = replace(points, k=np.zeros_like(points.k))
        pass_s = self.measured - self.form_s(points) + self.form_s(alone)
        rows, slack = points.batch * points.width, 1 + SLACK_SIGMAS * self.found.noise
        found = np.zeros_like(kept)
        for at in np.flatnonzero(~kept).tolist():
            alike = kept & (points.context == points.context[at])
            less = alike & (points.batch <= points.batch[at]) & (rows <= rows[at])
            more = alike & (points.batch >= points.batch[at]) & (rows >= rows[at])
            if less.any() and more.any():
                above = pass_s[less].max() <= pass_s[at] * slack
                found[at] = above and pass_s[at] <= pass_s[more].min() * slack
        return found

    @cached_property
    def _surfaces(self) -> dict[float, Carried]:
        """What carries over at each context where figures tell."""
        found = {}
        carried = self.found.kept | self.cliffs
        for context in np.unique(self.points.context[carried]).tolist():
            here = np.flatnonzero(carried & (self.points.context == context))
            places = _places(self.points).some(here)
            found[context] = Carried.of(places, self.found.residual[here])
        return found

    def _carried(self, points: Points) -> tuple[FloatArray, FloatArray]:
        """What the form misses at points, and how uncertain that is."""
        logs, doubt = np.zeros(len(points.k)), np.zeros(len(points.k))
        known, places = np.asarray(list(self._surfaces), np.float64), _places(points)
        for context in np.unique(points.context).tolist():
            near = float(known[np.argmin(np.abs(np.log1p(known) - np.log1p(context)))])
            here = np.flatnonzero(points.context == context)
            logs[here], doubt[here] = self._surfaces[near].at(places.some(here))
        return logs, doubt

    def _known(self, batch: float, context: float, width: float, k: float) -> str:
        """Whether a place that was not measured lies within those that were."""
        alike = self.found.kept & ((self.points.k > 0) == (k > 0))
        axes = ((self.points.batch, batch), (self.points.context, context))
        along = (self.points.k, k) if k else (self.points.width, width)
        within = all(
            alike.any() and axis[alike].min() <= value <= axis[alike].max()
            for axis, value in (*axes, along)
        )
        return BETWEEN if within else BEYOND


def _keys(points: Points) -> list[tuple[float, ...]]:
    axes = (points.batch, points.context, points.width, points.k)
    return list(zip(*(axis.tolist() for axis in axes), strict=True))


def _places(points: Points) -> Places:
    return Places(points.batch, points.width, points.k > 0)
