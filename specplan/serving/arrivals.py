"""When requests come: what a trace shows, parts of it, and arrivals that are drawn."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from specplan.domain.traffic import Trace
from specplan.domain.windows import Window
from specplan.errors import UsageError
from specplan.units import people

PEAK_S: Final = 60.0
BIN_S: Final = 1.0
MOST_DRAWN: Final = 20_000_000

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Tokens of a request. A percentile is the least value that so many do not exceed."""

    mean: float
    p50: float
    p95: float
    p99: float
    max: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """What a trace shows; None where it says nothing of it (no times, no prefixes, one moment), and
    for requests and gaps that are yet to be drawn.

    `peak_60s_per_s` is of the sixty seconds in which most requests come; `gap_cv` the coefficient
    of variation of the gaps between them; `dispersion` the variance over the mean of the arrivals
    in each second since the first, 1 for a Poisson process; `hit_share` of all prompt tokens.
    """

    requests: int | None
    span_s: float | None
    rate_per_s: float | None
    peak_60s_per_s: float | None
    gap_cv: float | None
    dispersion: float | None
    isl: Summary
    osl: Summary
    hit_share: float | None


def statistics(trace: Trace) -> Statistics:
    """The statistics of a trace with at least one request."""
    at, span_s = times(trace), trace.span_s
    moves = len(at) > 0 and span_s > 0
    isl = np.asarray(trace.isl)
    return Statistics(
        requests=len(trace),
        span_s=span_s if len(at) else None,
        rate_per_s=len(at) / span_s if moves else None,
        peak_60s_per_s=peak(at, PEAK_S)[1] / PEAK_S if moves else None,
        gap_cv=gap_cv(at) if moves else None,
        dispersion=dispersion(at, BIN_S, span_s) if moves else None,
        isl=summary(isl),
        osl=summary(np.asarray(trace.osl)),
        hit_share=float(np.sum(trace.hit) / isl.sum()) if len(trace.hit) else None,
    )


def times(trace: Trace) -> Floats:
    """Arrivals in seconds, shape (n,), or (0,) where the trace has lengths alone."""
    return np.asarray(trace.arrival_s, np.float64)


def summary(tokens: npt.NDArray[np.int64]) -> Summary:
    """Mean, percentiles and maximum of the tokens of recorded requests, shape (n,)."""
    p50, p95, p99 = np.percentile(tokens, (50, 95, 99), method="inverted_cdf").tolist()
    return Summary(mean=float(tokens.mean()), p50=p50, p95=p95, p99=p99, max=float(tokens.max()))


def summary_of_parts(tokens: Floats, weight: Floats) -> Summary:
    """The same of parts that stand for their means, (n,) each, weights adding up to 1: a percentile
    lies between two parts, in proportion to their middles; the maximum is the last part's mean.
    """
    values, of = np.unique(tokens, return_inverse=True)
    share = np.bincount(of, weight)
    middle = np.cumsum(share) - share / 2
    p50, p95, p99 = np.interp((0.5, 0.95, 0.99), middle, values).tolist()
    return Summary(mean=float(weight @ tokens), p50=p50, p95=p95, p99=p99, max=float(values[-1]))


def peak(at: Floats, length_s: float) -> tuple[float, int]:
    """The busiest time of so many seconds: when it begins, and how many requests it has.

    Windows are half open and begin at an arrival, as one of the busiest always does.
    """
    ends = np.searchsorted(at, at + length_s, side="left")
    counts = ends - np.arange(len(at))
    first = int(np.argmax(counts))
    return float(at[first]), int(counts[first])


def gap_cv(at: Floats) -> float | None:
    """Standard deviation over mean of the gaps between arrivals; None without two moments."""
    gaps = np.diff(at)
    mean = float(gaps.mean()) if len(gaps) else 0.0
    return float(gaps.std()) / mean if mean > 0 else None


def dispersion(at: Floats, bin_s: float, span_s: float = 0.0) -> float:
    """Variance over mean of the arrivals in bins of `bin_s` seconds that begin at 0, 1 for Poisson.

    It grows with the bin where the rate itself moves: ask for the time over which a queue forms.
    Of a service that is divided at random among R replicas, each sees 1 + (dispersion - 1) / R.
    """
    index = np.floor(at / bin_s).astype(np.int64)
    counts = np.unique(index, return_counts=True)[1].astype(np.float64)
    bins = max(int(index[-1]) + 1, round(span_s / bin_s))
    mean = len(at) / bins
    return float(np.square(counts).sum() / bins - mean * mean) / mean


def cut(trace: Trace, window: Window) -> Trace:
    """The part of a trace within a window, times since the window's beginning. A window that ends
    after the trace ends with it: nobody knows that nothing came then. Hits stay what they were, of
    a cache that earlier requests had filled.
    """
    at, span_s = _timed(trace, "a window"), trace.span_s
    start_s, length_s = window.start_s, window.length_s
    if start_s is None:
        start_s = peak(at, length_s)[0] if length_s < span_s else 0.0
    elif start_s >= span_s:
        what = f"the trace ends after {people(span_s, 's')}"
        raise UsageError(what, expected="a window within it")
    to_the_end = start_s + length_s >= span_s
    first = int(np.searchsorted(at, start_s))
    last = len(at) if to_the_end else int(np.searchsorted(at, start_s + length_s))
    if first == last:
        raise UsageError("no request comes in the window", expected="one with requests")
    covers_s = span_s - start_s if to_the_end else length_s
    return _with(trace, at[first:last] - start_s, np.arange(first, last), covers_s=covers_s)


def compressed(trace: Trace, factor: float) -> Trace:
    """The same requests `factor` times as fast (above 0): gaps are divided, bursts stay."""
    at = _timed(trace, "--scale")
    return replace(trace, arrival_s=doubles(at / factor), covers_s=trace.covers_s / factor)


def thinned(trace: Trace, share: float, seed: int) -> Trace:
    """Each request kept with a probability (0..1], by the seed; what was covered stays the same."""
    rng = np.random.default_rng([seed, 1])
    kept = np.flatnonzero(rng.random(len(trace)) < share)
    if not len(kept):
        raise UsageError("thinning leaves no request", expected="a larger share")
    at = times(trace)
    return _with(trace, at[kept] if len(at) else at, kept, covers_s=trace.span_s)


def repeated(trace: Trace, count: int) -> Trace:
    """The trace `count` times, end to end; after the last request one mean gap is left where the
    trace does not say how long it covers.
    """
    at = _timed(trace, "--repeat")
    if count * len(trace) > MOST_DRAWN:
        what = f"{count * len(trace):,} requests are too many"
        raise UsageError(what, expected=f"at most {MOST_DRAWN:,}")
    period_s = trace.span_s
    if trace.covers_s <= at[-1]:
        period_s += float(at[-1]) / max(len(at) - 1, 1)
    arrival_s = (at + period_s * np.arange(count)[:, np.newaxis]).ravel()
    index = np.tile(np.arange(len(trace)), count)
    return _with(trace, arrival_s, index, covers_s=period_s * count)


def renewals(rate_per_s: float, spread: float, seconds: float, rng: np.random.Generator) -> Floats:
    """Arrivals within so many seconds at a rate, sorted: gaps are independent and of a gamma law
    whose squared coefficient of variation is `spread` (1 for Poisson, 0 for even gaps).

    The process is in its stationary state: the first gap is what is left of one that was met at
    random, which a longer one is more likely to be (Cox, Renewal Theory, 1962, ch. 2).
    """
    expected = rate_per_s * seconds
    if expected > MOST_DRAWN:
        what = f"{expected:,.0f} requests are too many to draw"
        raise UsageError(what, expected=f"at most {MOST_DRAWN:,}")
    mean_s = 1 / rate_per_s
    if spread <= 0:
        first_s = mean_s * rng.random()
        return np.arange(first_s, seconds, mean_s)
    shape, scale = 1 / spread, mean_s * spread
    at = np.array([rng.random() * rng.gamma(shape + 1, scale)])
    parts = [at]
    while at[-1] < seconds:
        missing = (seconds - at[-1]) / mean_s
        size = int(missing + 4 * np.sqrt(missing * max(spread, 1)) + 16)
        at = at[-1] + np.cumsum(rng.gamma(shape, scale, min(size, 1 << 20)))
        parts.append(at)
    drawn = np.concatenate(parts)
    return drawn[drawn < seconds]


def _timed(trace: Trace, what: str) -> Floats:
    if not len(trace.arrival_s):
        raise UsageError(f"the trace has lengths and no times, which {what} needs")
    return times(trace)


def _with(trace: Trace, at: Floats, index: Counts, *, covers_s: float) -> Trace:
    """Those rows of a trace, with other times."""
    return replace(
        trace,
        arrival_s=doubles(at),
        isl=longs(np.asarray(trace.isl)[index]),
        osl=longs(np.asarray(trace.osl)[index]),
        hit=longs(np.asarray(trace.hit)[index]) if len(trace.hit) else (),
        covers_s=covers_s,
    )


def doubles(values: Floats) -> Sequence[float]:
    """As a trace keeps them."""
    return array("d", np.ascontiguousarray(values, np.float64).tobytes())


def longs(values: npt.ArrayLike) -> Sequence[int]:
    """Whole numbers as a trace keeps them."""
    return array("q", np.ascontiguousarray(values, np.int64).tobytes())
