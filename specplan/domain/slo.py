"""What a service promises: percentiles of latencies, each below a limit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Metric = Literal["ttft", "tpot", "itl", "e2e"]
METRICS: Final[tuple[Metric, ...]] = ("ttft", "tpot", "itl", "e2e")
"""Time to the first token; seconds per further token of a request; seconds between two tokens as
they reach the reader; time to the last token.
"""


@dataclass(frozen=True, slots=True)
class Limit:
    """One promise: `percentile` (0..100) of the requests (of the gaps, for itl) take at most
    `limit_s`.
    """

    metric: Metric
    percentile: float
    limit_s: float

    def __str__(self) -> str:
        return f"{self.metric}_p{self.percentile:g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Slo:
    """All that is promised; `name` and `cite` are of a preset."""

    limits: tuple[Limit, ...] = ()
    name: str = ""
    cite: str = ""
