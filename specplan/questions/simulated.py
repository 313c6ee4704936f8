"""What a simulation found, as scripts read it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Held:
    """One limit: the percentile that was `reached_s`, half of its 95 % interval, and the `share`
    of the requests (of the gaps, for itl) within the limit. `unsure` where the interval holds it.
    """

    limit: str
    limit_s: float
    reached_s: float | None
    ci95_s: float | None
    share: float | None
    met: bool
    unsure: bool


@dataclass(frozen=True, slots=True)
class OfK:
    """Shares of the time of rounds, with half of its 95 % interval, and of the rounds at one k."""

    k: int
    time_share: float
    ci95: float | None
    round_share: float


@dataclass(frozen=True, slots=True)
class OfBatch:
    """Shares of the time and of the rounds with so many sequences that decode."""

    batch: int
    time_share: float
    round_share: float


@dataclass(frozen=True, slots=True)
class Histogram:
    """Counts in bins that begin at `from_s`, each ending at `ratio` times its beginning."""

    from_s: float
    ratio: float
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Strip:
    """Averages over stretches of `width_s` seconds of the first run; k is None where nothing
    decodes, and `kv_share` is of the pool.
    """

    width_s: float
    batch: tuple[float, ...]
    waiting: tuple[float, ...]
    k: tuple[float | None, ...]
    kv_share: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulated:
    """All runs together. `requests` are those counted; `left` waited when the last one came, and
    `unfinished` were under way when a run was interrupted. `tokens_asked` are those of `done`
    requests: unless a run was interrupted, `tokens_made` are as many. `good_share` of the requests
    meets every limit.
    """

    policy: str
    gpus: int
    requests: int
    done: int
    refused: int
    preempted: int
    unfinished: int
    left: int
    steps: int
    tokens_asked: int
    tokens_made: int
    seconds: float
    replications: int
    replications_asked: int
    interrupted: bool
    seed: int
    warm_up: float
    meets_slo: bool | None
    good_share: float | None
    limits: tuple[Held, ...]
    k: tuple[OfK, ...]
    batch: tuple[OfBatch, ...]
    histograms: Mapping[str, Histogram]
    timeline: Strip
