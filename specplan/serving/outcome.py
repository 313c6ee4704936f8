"""What runs of a simulation come to: measures with intervals, histograms, verdicts on limits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from specplan.domain.slo import METRICS, Slo
from specplan.physics.counters.students import quantile
from specplan.physics.tokens import FloatArray
from specplan.serving.record import FINEST_S, RESOLUTION, Timeline
from specplan.serving.simulation import Gaps, Run, Sample, attained

PERCENTILES = (50.0, 90.0, 95.0, 99.0, 99.9)
LAWS = (*METRICS, "itl_chunk")
RATES = (
    *("requests_per_s", "goodput_per_s", "tokens_per_s", "prompt_per_s"),
    *("batch_mean", "utilisation", "tokens_per_round", "kv_share", "kv_peak"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one run leaves. `figures` has the mean and the percentiles of each law, one figure of
    each rate, the share of the time of rounds at each k (`k=3`), and of each limit the share that
    it holds for; NaN where nothing tells. Of `counts`, `at_once` are tokens that reach the reader
    with the one before.
    """

    figures: dict[str, tuple[float, ...]]
    counts: dict[str, int]
    interrupted: bool
    seconds: float
    batch_law: FloatArray
    batch_rounds: FloatArray
    k_shares: dict[int, float]
    k_rounds: dict[int, float]
    histograms: dict[str, FloatArray]
    timeline: Timeline


def outcome_of(run: Run, slo: Slo) -> Outcome:
    """What a run leaves, without its samples."""
    laws: dict[str, Sample | Gaps] = {name: getattr(run, name) for name in LAWS}
    figures = {
        name: (law.mean, *(law.percentile(p) for p in PERCENTILES)) for name, law in laws.items()
    }
    for name in RATES:
        value = getattr(run, name)
        if value is not None:
            figures[name] = (value,)
    for limit in slo.limits:
        figures[str(limit)] = (
            attained(run, limit),
            getattr(run, limit.metric).percentile(limit.percentile),
        )
    if run.good is not None:
        figures["good"] = (run.good,)
    counted = (
        "requests",
        "done",
        "refused",
        "preempted",
        "unfinished",
        "left",
        "made",
        "asked",
        "steps",
    )
    return Outcome(
        figures=figures,
        counts={name: int(getattr(run, name)) for name in counted} | {"at_once": int(run.itl.zero)},
        interrupted=run.interrupted,
        seconds=run.to_s - run.from_s,
        batch_law=run.batch_law,
        batch_rounds=run.batch_rounds,
        k_shares=run.k_shares,
        k_rounds=run.k_rounds,
        histograms={name: _histogram(law) for name, law in laws.items() if name != "itl"},
        timeline=run.timeline,
    )


def _histogram(law: Sample | Gaps) -> FloatArray:
    """Counts in bins, each wider than the one before by RESOLUTION, from FINEST_S on."""
    if isinstance(law, Gaps):
        return law.counts
    place = np.log(np.maximum(law.values, FINEST_S) / FINEST_S) / np.log1p(RESOLUTION)
    return np.bincount(place.astype(np.int64)).astype(np.float64)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over runs, and half of its 95 % interval: None of one run alone."""

    value: float
    half: float | None = None


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Those of several runs, in the order of their numbers."""

    runs: tuple[Outcome, ...]
    asked: int
    interrupted: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Of all figures."""
        return tuple(dict.fromkeys(name for run in self.runs for name in run.figures))

    def estimates(self, name: str) -> tuple[Estimate, ...]:
        """Each of the figures of that name, over the runs that have it: Student's t."""
        rows = [run.figures[name] for run in self.runs if name in run.figures]
        return tuple(_estimate(column) for column in zip(*rows, strict=True))

    def count(self, name: str) -> int:
        """Summed over the runs."""
        return sum(run.counts[name] for run in self.runs)

    def k_shares(self) -> dict[int, Estimate]:
        """Of the time of rounds at each k."""
        return _by_k([run.k_shares for run in self.runs])

    def k_rounds(self) -> dict[int, Estimate]:
        """Of the rounds at each k."""
        return _by_k([run.k_rounds for run in self.runs])

    def law(self, name: str) -> FloatArray:
        """`batch_law` or `batch_rounds`, averaged over the runs."""
        mean: FloatArray = np.mean([getattr(run, name) for run in self.runs], axis=0)
        return mean

    def histogram(self, name: str) -> FloatArray:
        """Counts of all runs."""
        return _added(run.histograms[name] for run in self.runs)


def _by_k(shares: Sequence[dict[int, float]]) -> dict[int, Estimate]:
    every = sorted({k for run in shares for k in run})
    return {k: _estimate([run.get(k, 0.0) for run in shares]) for k in every}


def _estimate(values: Sequence[float]) -> Estimate:
    known = np.asarray([value for value in values if not np.isnan(value)])
    if not len(known):
        return Estimate(float("nan"))
    mean = float(known.mean())
    if len(known) < 2:
        return Estimate(mean)
    error = float(known.std(ddof=1)) / len(known) ** 0.5
    return Estimate(mean, quantile(len(known) - 1.0) * error)


def _added(parts: Iterable[FloatArray]) -> FloatArray:
    rows = list(parts)
    total = np.zeros(max(map(len, rows), default=0))
    for row in rows:
        total[: len(row)] += row
    return total
