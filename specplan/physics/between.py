"""Times at any point of a fitted form: measured ones stay, those between are led through them.

Where a point was measured, its own time stands (the geometric mean of several). Between two
measured draft lengths of a batch the form gives the shape, shifted so as to meet what was measured
at both ends; beyond the last it keeps that shift. Shifts as small as timing noise are taken as
noise: a share s^2 / (s^2 + JITTER^2) of them is applied, s the standard deviation of all. Batches
that were not measured lie between the shifts of their neighbours, on a logarithmic axis.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from specplan.physics.leastsq import Fit, slopes_of
from specplan.physics.step_form import Points
from specplan.physics.tokens import FloatArray

JITTER = 0.01  # repeats of a step's time differ by about so much
MEASURED, BETWEEN, BEYOND = "measured", "between", "beyond"

Flags = npt.NDArray[np.bool_]
Seconds = Callable[[FloatArray, Points], FloatArray]


@dataclass(frozen=True, slots=True)
class Estimate:
    """Seconds (Q,), one standard error of each as a share of it, and how each came about."""

    time_s: FloatArray
    spread: FloatArray
    how: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Fitted:
    """A form fitted to measured points."""

    seconds: Seconds
    found: Fit
    points: Points
    measured: FloatArray

    @property
    def shift(self) -> float:
        """The share of a shift that is applied where nothing was measured."""
        off = self.found.residual[self.found.kept]
        square = float(np.mean(off**2))
        return square / (square + JITTER**2)

    def form_s(self, points: Points) -> FloatArray:
        """The form alone, (Q,)."""
        return self.seconds(self.found.values, points)

    def at(self, points: Points) -> Estimate:
        """Estimates at points (Q,)."""
        base = self.form_s(points)
        slopes = slopes_of(self.found.unknowns, lambda v: self.seconds(v, points), self.found.x)
        spread = self.found.spread(slopes)
        logs, how = np.zeros(len(base)), []
        for place in range(len(base)):
            one = tuple(
                float(a[place]) for a in (points.batch, points.context, points.width, points.k)
            )
            logs[place], said = self._shifted(*one)
            how.append(said)
        stays = np.asarray([said == MEASURED for said in how], np.bool_)
        return Estimate(base * np.exp(logs), np.where(stays, self.found.noise, spread), tuple(how))

    def _shifted(self, batch: float, context: float, width: float, k: float) -> tuple[float, str]:
        """The logarithm of time over form at one point, and how it is known."""
        alike = self._alike(context, drafts=k > 0)
        batches = np.unique(self.points.batch[alike])
        along, wanted = (self.points.k, k) if k else (self.points.width, width)
        if not batches.size:
            return 0.0, BEYOND
        inside = batches[0] <= batch <= batches[-1]
        if batch in batches:
            return self._along(alike & (self.points.batch == batch), along, wanted)
        near = [b for b in (batches[batches < batch][-1:], batches[batches > batch][:1]) if b.size]
        shifts = [self._along(alike & (self.points.batch == b[0]), along, wanted)[0] for b in near]
        logs = [float(np.log(b[0])) for b in near]
        found = float(np.interp(np.log(batch), logs, shifts))
        return self.shift * found, BETWEEN if inside else BEYOND

    def _alike(self, context: float, *, drafts: bool) -> Flags:
        """The figures kept of plain passes or of rounds, at the nearest context."""
        alike: Flags = self.found.kept & ((self.points.k > 0) == drafts)
        if not alike.any():
            return alike
        far = np.abs(np.log1p(self.points.context) - np.log1p(context))
        nearest: Flags = alike & (far <= far[alike].min() + 1e-12)
        return nearest

    def _along(
        self,
        here: Flags,
        along: FloatArray,
        wanted: float,
    ) -> tuple[float, str]:
        """The shift at a length between measured ones of one batch."""
        lengths = np.unique(along[here])
        shifts = [float(self.found.residual[here & (along == one)].mean()) for one in lengths]
        if wanted in lengths:
            return shifts[int(np.searchsorted(lengths, wanted))], MEASURED
        found = self.shift * float(np.interp(wanted, lengths, shifts))
        return found, BETWEEN if lengths[0] < wanted < lengths[-1] else BEYOND
