"""What comes in: requests, how long they are, and when they arrive.

A trace is what was recorded; a traffic is what a plan is made for. Both keep plain sequences (such
as array.array), which numpy reads without a copy: the domain itself needs no arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """Recorded requests in order of arrival: seconds since the first one (of a window that was cut
    out, since its beginning), prompt tokens, output tokens, and of the prompt those that a prefix
    cache of any size would have held. All sequences are equally long; `hit` is empty where the
    format has no prefixes, and `arrival_s` where it has lengths alone.

    `covers_s` is how long was recorded, where that is more than up to the last arrival (0 where
    nobody says). `dropped` says what was left out of the file, in sentences.
    """

    arrival_s: Sequence[float]
    isl: Sequence[int]
    osl: Sequence[int]
    hit: Sequence[int] = ()
    form: str = ""
    source: str = ""
    dropped: tuple[str, ...] = ()
    covers_s: float = 0.0

    def __len__(self) -> int:
        return len(self.isl)

    @property
    def span_s(self) -> float:
        """Seconds from the first arrival to the last, or what was recorded if that is longer."""
        return max(self.arrival_s[-1] if len(self.arrival_s) else 0.0, self.covers_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lengths:
    """Requests by length: prompt tokens, output tokens, and prompt tokens found in a prefix cache,
    with the share of the requests that are so (weights that add up to 1).
    """

    isl: Sequence[float]
    osl: Sequence[float]
    hit: Sequence[float]
    weight: Sequence[float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """Requests per second, how long they are, and how they come.

    `dispersion` is the variance of arrivals in a window over their mean, 1 for Poisson: the
    squared coefficient of variation of gaps that are independent. With a `trace` the arrivals are
    its own, and `lengths` are those of its rows.
    """

    rate_per_s: float
    lengths: Lengths
    dispersion: float = 1.0
    trace: Trace | None = None
    source: str = ""
    notes: tuple[str, ...] = ()
