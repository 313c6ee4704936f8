"""What one k for all batches loses, where batches change: the same tokens, made in more time.

Every policy is held against the same work: so many tokens at each batch. Its speedup over all of it
is plain time over its own time, a harmonic mean. Batches are taken as they are: that a slower
server of open traffic also fills up is not in these figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from specplan.domain.acceptance import Acceptance
from specplan.domain.histogram import GATED, Histogram, Weighed
from specplan.domain.scenario import Setup
from specplan.physics.choose import scan_batches
from specplan.physics.round import seen_by, time_rounds
from specplan.physics.schedule import HYSTERESIS, Range, Schedule
from specplan.physics.survival import survival, tokens_of
from specplan.physics.tokens import FloatArray

_TOGETHER = 512  # batches that are weighed at once
_STEPS = 64  # of the iteration for known acceptance; a handful is enough


@dataclass(frozen=True, slots=True)
class Policies:
    """Every k at each batch (B,): `speedup` (B, K) over plain steps of `plain_s` (B,), that of the
    schedule, `gated` (B,), and the most that `known` acceptance would allow (B,). `shares` (B,) are
    of the time that plain decoding would spend at each batch.
    """

    k: tuple[int, ...]
    batch: FloatArray
    plain_s: FloatArray
    speedup: FloatArray
    gated: FloatArray
    known: FloatArray
    shares: FloatArray
    ranges: tuple[Range, ...]

    @property
    def best(self) -> FloatArray:
        """Speedup of the best k of each batch, shape (B,)."""
        best: FloatArray = self.speedup.max(axis=1)
        return best

    @property
    def plain_tokens_per_s(self) -> float:
        """Of a server that never speculates, over all batches."""
        return float(self.shares @ (self.batch / self.plain_s))

    def over(self, speedup: FloatArray) -> float:
        """Speedup over all batches of a policy with these at each (B,)."""
        return float(speedup_over(self.shares, speedup))


def policies(
    setup: Setup,
    acceptance: Acceptance,
    context: float,
    k: tuple[int, ...],
    over: Histogram,
    limit: int,
    *,
    hysteresis: float = HYSTERESIS,
    tax: float = 0.0,
) -> Policies:
    """What one server would make under each policy, at batches of 1..limit with a weight above 0 at
    least; k ascending, 0 and the recorded one among them. `context` is in tokens.
    """
    seen = seen_by(setup, acceptance, context)
    tokens = tokens_of(acceptance, k, context)
    found = gated_ranges(seen, context, k, tokens, limit, hysteresis=hysteresis, tax=tax)
    batch, weight = np.asarray(over.batch, np.float64), np.asarray(over.weight, np.float64)
    plain_s, round_s = _rounds(seen, context, batch, k)
    speedup = tokens * plain_s[:, np.newaxis] / round_s
    ends = [r.last_batch for r in found]
    chosen = np.asarray([k.index(r.k) for r in found])
    at = chosen[np.minimum(np.searchsorted(ends, batch), len(ends) - 1)]
    gated = taxed(speedup, k, tax)[np.arange(len(batch)), at]
    other, made = gated, tokens[at]
    if over.recorded != GATED:
        i = k.index(over.recorded)
        other, made = speedup[:, i], np.full(len(batch), tokens[i])
    kept = survival(acceptance, k[-1], context)
    sizes = range(0, len(batch), _TOGETHER)
    known = np.concatenate([foreknown(kept, k, round_s[i : i + _TOGETHER]) for i in sizes])
    return Policies(
        k=k,
        batch=batch,
        plain_s=plain_s,
        speedup=speedup,
        gated=gated,
        known=np.maximum(known * plain_s, speedup.max(axis=1)),
        shares=plain_shares(weight, over.of, batch, plain_s, other, made),
        ranges=found,
    )


def _rounds(
    setup: Setup, context: float, batch: FloatArray, k: tuple[int, ...]
) -> tuple[FloatArray, FloatArray]:
    """Plain steps (B,) and rounds (B, K)."""
    parts = []
    for first in range(0, len(batch), _TOGETHER):
        timing = time_rounds(setup, (context,), batch[first : first + _TOGETHER].tolist(), k)
        shape = timing.plain_s.shape[1], len(k)
        parts.append((timing.plain_s[0, :, 0], np.broadcast_to(timing.round_s[0], shape)))
    plain_s, round_s = zip(*parts, strict=True)
    return np.concatenate(plain_s), np.concatenate(round_s)


def plain_shares(
    weight: FloatArray,
    of: Weighed,
    batch: FloatArray,
    plain_s: FloatArray,
    speedup: FloatArray,
    tokens: FloatArray,
) -> FloatArray:
    """The share of its time that a server without speculation would spend at each batch on the
    tokens that another one made there, shape (B,), of sum 1.

    All arrays (B,): `weight` in shares of the other's time, of its rounds or of its tokens; plain
    steps take `plain_s` at `batch` (1 or more); the other had this `speedup` over them and made
    so many `tokens` a round and sequence. B `tokens` of a round are `tokens` plain steps.
    """
    steps = {
        "time": weight * speedup,
        "rounds": weight * tokens * plain_s,
        "tokens": weight / batch * plain_s,
    }[of]
    shares: FloatArray = steps / steps.sum()
    return shares


def speedup_over(shares: FloatArray, speedup: FloatArray) -> FloatArray:
    """Speedup over all batches of a policy, or of K of them: `shares` (B,) of plain time, `speedup`
    (B,) or (B, K) above 0 at each batch.
    """
    found: FloatArray = 1 / (shares @ (1 / speedup))
    return found


def taxed(speedup: FloatArray, k: Sequence[int], tax: float) -> FloatArray:
    """Speedups (B, K) on a server that could speculate: its plain steps are `tax` longer than those
    of one that never does (vllm-project/vllm issue 49548 measured 0.066 to 0.216).
    """
    slower: FloatArray = speedup / (1 + tax * (np.asarray(k) == 0))
    return slower


def gated_ranges(
    setup: Setup,
    context: float,
    k: Sequence[int],
    tokens: FloatArray,
    limit: int,
    *,
    hysteresis: float,
    tax: float,
) -> tuple[Range, ...]:
    """K by batch over 1..limit as `physics.schedule` has it; `tokens` (K,) are those of a round."""
    schedule = Schedule(k, hysteresis)
    for batch, gain in scan_batches(setup, context, k, limit):
        schedule.see(batch, taxed(tokens * gain, k, tax))
    return schedule.finished()


def foreknown(survival: FloatArray, k: Sequence[int], round_s: FloatArray) -> FloatArray:
    """Tokens per second and sequence, shape (B,), that no choice of one k for all sequences of a
    round exceeds, even if it knew before each round how many drafts would be kept.

    `survival` (K_max,) are S_1.. up to the longest of `k` (K,), `round_s` (B, K) the rounds. Were
    there one sequence, the best such choice would take the k of largest min(k, A) + 1 - rate x
    round_s for its A kept drafts, with `rate` what it comes to in the long run (renewal reward;
    Dinkelbach 1967 for the ratio): that is the value. With more, the sum over sequences of the
    largest term is no less than the largest sum, so that it bounds them too. A mixture of requests
    is taken at the shares that its rounds have at the longest k.
    """
    kept = np.arange(len(survival) + 1.0)
    ends = np.concatenate(([1.0], survival, [0.0]))
    share = ends[:-1] - ends[1:]
    made = np.minimum.outer(kept, np.asarray(k, np.float64)) + 1
    rows = np.arange(len(kept))
    rate: FloatArray = np.zeros(len(round_s))
    for _ in range(_STEPS):
        best = np.argmax(made - (rate[:, np.newaxis] * round_s)[:, np.newaxis], axis=2)
        tokens = made[rows, best] @ share
        time_s = np.take_along_axis(round_s, best, axis=1) @ share
        better = tokens / time_s
        if np.all(better <= rate * (1 + 1e-12)):
            break
        rate = np.maximum(rate, better)
    return rate
