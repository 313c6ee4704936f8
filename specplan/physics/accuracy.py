"""How far predictions lie from what was measured, as shares of what was measured."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from specplan.physics.tokens import FloatArray

FEWEST = 10  # rows below which an error has no 90th percentile worth naming
LOSS, GAIN = 0.9, 1.1  # measured speedups below and above which speculation surely lost or won


@dataclass(frozen=True, slots=True)
class Errors:
    """Relative errors of n predictions: the median with its sign, median and 90th percentile
    without, and the shares within 10 and 20 %. Fewer than FEWEST have medians only, none nothing.
    """

    n: int
    signed: float | None = None
    median: float | None = None
    p90: float | None = None
    within_10: float | None = None
    within_20: float | None = None


@dataclass(frozen=True, slots=True)
class Slowdowns:
    """Of `losses` measured speedups below LOSS, `caught` were predicted at most 1; of `gains`
    above GAIN, `alarms` were predicted below 1. Calling everything faster scores 0 and 0.
    """

    losses: int
    caught: int
    gains: int
    alarms: int


def relative(predicted: FloatArray, measured: FloatArray) -> FloatArray:
    """(predicted - measured) / measured."""
    off: FloatArray = predicted / measured - 1
    return off


def summary(errors: FloatArray) -> Errors:
    """What relative errors (N,) come to."""
    n = len(errors)
    if n == 0:
        return Errors(0)
    size = np.abs(errors)
    signed, median = float(np.median(errors)), float(np.median(size))
    if n < FEWEST:
        return Errors(n, signed, median)
    return Errors(
        n,
        signed,
        median,
        float(np.percentile(size, 90)),
        float(np.mean(size <= 0.1)),
        float(np.mean(size <= 0.2)),
    )


def slowdowns(predicted: FloatArray, measured: FloatArray) -> Slowdowns:
    """Speedups (N,) that should have warned, and warnings that should not have been."""
    lost, won = measured < LOSS, measured > GAIN
    return Slowdowns(
        int(lost.sum()),
        int((lost & (predicted <= 1)).sum()),
        int(won.sum()),
        int((won & (predicted < 1)).sum()),
    )
