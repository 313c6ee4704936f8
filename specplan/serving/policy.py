"""When a server speculates: never, always with one k, or by how many sequences run."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from specplan.physics.schedule import HYSTERESIS, Schedule
from specplan.physics.tokens import FloatArray
from specplan.serving.pace import Pace


@dataclass(frozen=True, slots=True)
class Policy:
    """`k[i]` drafts a round at batches up to `ends[i]`, the last one at every larger batch too.

    `tax` is the share by which a plain step is longer on a server that could speculate than on one
    that never does (vllm-project/vllm issue 49548 measured 0.066 at 2 sequences and 0.216 at 189).
    """

    name: str
    k: tuple[int, ...]
    ends: tuple[int, ...]
    tax: float = 0.0

    @property
    def drafts(self) -> bool:
        """Whether a drafter is loaded at all."""
        return any(self.k)

    @property
    def lengths(self) -> tuple[int, ...]:
        """The k that it may use, ascending, each once."""
        return tuple(sorted(set(self.k)))

    def k_at(self, batch: float) -> int:
        """The k of a batch (1 or more)."""
        return self.k[min(bisect_left(self.ends, batch), len(self.k) - 1)]

    def table(self, most: int) -> tuple[int, ...]:
        """The k of batches 1..most."""
        return tuple(self.k_at(batch) for batch in range(1, most + 1))


def fixed(k: int) -> Policy:
    """One k at every batch; 0 is a server without speculation."""
    return Policy(f"k={k}" if k else "none", (k,), (1,))


def gated(
    pace: Pace,
    tokens: FloatArray,
    context: float,
    *,
    tax: float = 0.0,
    hysteresis: float = HYSTERESIS,
) -> Policy:
    """The k of each batch that makes the most tokens a second at `context`, in runs of batches (see
    `physics.schedule`); `tokens` (K,) are those of a round of each k of the pace.
    """
    batch = np.arange(1.0, pace.most + 1)
    round_s = round_times(pace, batch, context, tax)
    schedule = Schedule(pace.k, hysteresis)
    schedule.see(batch, tokens * (round_s[:, :1] / round_s))
    ranges = schedule.finished()
    return Policy("gated", tuple(r.k for r in ranges), tuple(r.last_batch for r in ranges), tax=tax)


def round_times(pace: Pace, batch: FloatArray, context: float, tax: float = 0.0) -> FloatArray:
    """Seconds of rounds of each k at batches (B,), shape (B, K), plain ones `tax` longer."""
    times = np.stack([pace.at(k, batch, context) for k in pace.k], axis=1)
    times[:, [n == 0 for n in pace.k]] *= 1 + tax
    return times


def every_k(policies: Iterable[Policy]) -> tuple[int, ...]:
    """The k that any of them may use, ascending, 0 included."""
    return tuple(sorted({0, *(k for policy in policies for k in policy.k)}))
