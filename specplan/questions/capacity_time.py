"""GPUs over the bins of a trace if replicas came and went with the load: a bound on what scaling
with it saves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from specplan.domain.traffic import Trace
from specplan.questions.cost import SECONDS_PER_HOUR

SHORTEST_S = 1.0  # of a bin


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaled:
    """GPUs in the busiest bin, on average, and hours of GPUs over the trace."""

    peak_gpus: int
    mean_gpus: float
    gpu_hours: float


def scaled(trace: Trace, bin_s: float, kept_per_s: float, gpus: int) -> Scaled:
    """Replicas in each bin of `bin_s` seconds, ceil(arrivals per second over `kept_per_s`), with
    `gpus` each; what is started and stopped costs nothing and takes no time (llm-d issue 1499 calls
    it the perfect system). The last bin counts as far as the trace reaches.
    """
    arrivals = np.asarray(trace.arrival_s, np.float64)
    arrivals = arrivals - arrivals[0]
    span = max(float(arrivals[-1]), SHORTEST_S)
    last = max(math.ceil(span / bin_s), 1) - 1
    # only bins in which somebody comes are held: two dates may be centuries apart
    here, counts = np.unique(np.minimum(arrivals // bin_s, last), return_counts=True)
    long = np.where(here < last, bin_s, span - last * bin_s)
    replicas = np.ceil(counts / np.maximum(long, SHORTEST_S) / kept_per_s - 1e-9)
    return Scaled(
        peak_gpus=int(gpus * replicas.max()),
        mean_gpus=float(gpus * np.dot(replicas, long) / span),
        gpu_hours=float(gpus * np.dot(replicas, long) / SECONDS_PER_HOUR),
    )
