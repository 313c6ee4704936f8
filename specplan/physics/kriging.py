"""What a form misses of measured times, carried to where nobody measured: kriging.

A residual, the logarithm of measured over fitted, is taken as the sum of two smooth surfaces and of
timing noise. One lies over the rows of a pass: batches of 8 with 7 drafts and of 16 with 3 put 64
rows through the same kernels, and share their tiles. The other lies over batch and width, plain
steps apart from rounds, whose drafting they do not share. Correlations are Matern 3/2 of the
distance on logarithmic axes; sizes and lengths are those under which the residuals are likeliest.

Source: Rasmussen and Williams, Gaussian Processes for Machine Learning (2006), equations 2.25,
2.26 (mean and variance), 4.17 (Matern), 5.8 (likelihood).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt

from specplan.physics.tokens import FloatArray

JITTER = 0.01  # repeats of a step's time differ by about so much
MOST = 80  # residuals that are carried: of more, some at even steps of rows
SHARES = (0.0, 0.3, 0.6, 0.9)  # of the variance that rows explain
ROWS = (0.3, 0.6, 1.0)  # e-folds of rows
ELSEWHERE = ((0.35, 4.0), (1.0, 4.0), (0.35, 1.5))  # e-folds of batch, and of width
SCALES = (0.5, 1.0, 2.0, 4.0)  # of the mean square of the residuals

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Places:
    """Where residuals lie, arrays (P,): sequences, tokens of each in a pass, and whether it is a
    round.
    """

    batch: FloatArray
    width: FloatArray
    drafts: Flags

    def some(self, which: npt.NDArray[np.intp]) -> Places:
        """Those at these indices."""
        return Places(self.batch[which], self.width[which], self.drafts[which])


@dataclass(frozen=True, slots=True)
class Surface:
    """How residuals vary together: their `variance`, the share of it that `rows` explain, and how
    far each axis reaches, in e-folds.
    """

    variance: float
    share: float
    rows: float
    batch: float
    width: float

    def covariance(self, far: _Far) -> FloatArray:
        """(Q, P) between places so far apart."""
        alike = self.share * _matern(far.rows / self.rows)
        apart = _matern(far.batch / self.batch) * _matern(far.width / self.width)
        found: FloatArray = self.variance * (alike + (1 - self.share) * apart * far.same)
        return found


@dataclass(frozen=True, slots=True)
class Carried:
    """Residuals at places (P,): the surface under which they are likeliest, the inverse of their
    covariance (P, P), and that times the residuals (P,).
    """

    places: Places
    surface: Surface
    inverse: FloatArray
    weight: FloatArray

    @classmethod
    def of(cls, places: Places, residual: FloatArray) -> Carried:
        """The likeliest surface; of more than MOST residuals, some at even steps carry all."""
        order = np.argsort(places.batch * places.width, kind="stable")
        kept = order[np.linspace(0, len(order) - 1, min(len(order), MOST)).astype(np.intp)]
        known, some = places.some(kept), residual[kept]
        far = _Far.between(known, known)
        best = max(_surfaces(some), key=lambda surface: _likelihood(surface, far, some))
        inverse = np.asarray(np.linalg.inv(_noisy(best, far)), np.float64)
        return cls(known, best, inverse, inverse @ some)

    def at(self, asked: Places) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation of the residual at places (Q,)."""
        across = self.surface.covariance(_Far.between(asked, self.places))
        told = np.einsum("qp,qp->q", across @ self.inverse, across)
        return across @ self.weight, np.sqrt(np.maximum(self.surface.variance - told, 0.0))


@dataclass(frozen=True, slots=True)
class _Far:
    """How far places (Q,) are from others (P,), each (Q, P): e-folds of rows, batch and width, and
    whether both are rounds or neither.
    """

    rows: FloatArray
    batch: FloatArray
    width: FloatArray
    same: Flags

    @classmethod
    def between(cls, asked: Places, known: Places) -> _Far:
        batch, width = _apart(asked.batch, known.batch), _apart(asked.width, known.width)
        same = asked.drafts[:, np.newaxis] == known.drafts
        return cls(np.abs(batch + width), np.abs(batch), np.abs(width), same)


def _apart(asked: FloatArray, known: FloatArray) -> FloatArray:
    found: FloatArray = np.log(asked)[:, np.newaxis] - np.log(known)
    return found


def _matern(far: FloatArray) -> FloatArray:
    found: FloatArray = (1 + np.sqrt(3) * far) * np.exp(-np.sqrt(3) * far)
    return found


def _surfaces(residual: FloatArray) -> Iterator[Surface]:
    """The surfaces that are weighed, in an order that settles ties."""
    square = max(float(np.mean(residual**2)), np.finfo(np.float64).tiny)
    for share, rows, (batch, width), scale in product(SHARES, ROWS, ELSEWHERE, SCALES):
        yield Surface(scale * square, share, rows, batch, width)


def _noisy(surface: Surface, far: _Far) -> FloatArray:
    """The covariance of residuals so far apart, timing noise included."""
    return surface.covariance(far) + JITTER**2 * np.eye(len(far.rows))


def _likelihood(surface: Surface, far: _Far, residual: FloatArray) -> float:
    """Logarithm of the likelihood of residuals, but for a constant."""
    root = np.linalg.cholesky(_noisy(surface, far))
    white = np.linalg.solve(root, residual)
    return float(-0.5 * white @ white - np.log(np.diag(root)).sum())
