"""Two runs at one load: what each saw at batches that both had."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

LIKE = 1.15  # of one batch over another, up to which they are one load


class Load(NamedTuple):
    """What was seen around one batch: tokens a round, tokens a second, None where unknown, and
    the rounds that it is a mean of.
    """

    batch: float
    tau: float
    tokens_per_s: float | None
    rounds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Both:
    """Tokens a second around one batch with speculation, and without; `share` of the rounds with
    speculation at batches that both runs had.
    """

    batch: float
    plain_batch: float
    tokens_per_s: float
    plain_tokens_per_s: float
    speedup: float
    share: float


def alike(batch: float, other: float) -> bool:
    """Whether two batches are one load."""
    low, high = sorted((batch, other))
    return high <= LIKE * low


def nearest(loads: Iterable[Load], batch: float) -> Load | None:
    """The load of that batch; None if none is near."""
    near = [load for load in loads if load.tokens_per_s and alike(load.batch, batch)]
    return min(near, key=lambda load: abs(load.batch - batch), default=None)


def matched(loads: Sequence[Load], plain: Sequence[Load]) -> tuple[Both, ...]:
    """The loads that both runs had, in the order of those with speculation."""
    pairs = [(load, nearest(plain, load.batch)) for load in loads if load.tokens_per_s]
    found = [(load, other) for load, other in pairs if other is not None]
    rounds = sum(load.rounds for load, _ in found)
    return tuple(
        Both(
            batch=load.batch,
            plain_batch=other.batch,
            tokens_per_s=load.tokens_per_s or 0.0,
            plain_tokens_per_s=other.tokens_per_s or 0.0,
            speedup=(load.tokens_per_s or 0.0) / (other.tokens_per_s or 1.0),
            share=load.rounds / rounds if rounds else 1 / len(found),
        )
        for load, other in found
    )


def mean(both: Sequence[Both], name: str) -> float:
    """The mean of a field over the loads of both runs, the same weights for either."""
    return sum(one.share * float(getattr(one, name)) for one in both)
