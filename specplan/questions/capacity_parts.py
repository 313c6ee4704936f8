"""Where the GPUs of a plan go: its causes switched on one after the other, in GPUs that add up.

The first ones are those of a server that always has the next request at hand: a batch of B in
which each request takes p seconds of prompts and N rounds of T(B) carries 1 / (p + N T / B)
requests a second, a token of it takes (B p + N T) / m (Little's law), and the promise about TPOT
says how large a B may be. Planners without a queue stop there; what waiting, bursts, head-room and
whole replicas add comes after.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np

from specplan.domain.traffic import Lengths
from specplan.physics.survival import rounds_up_to
from specplan.physics.tokens import FloatArray
from specplan.questions.capacity_size import Asked, Desk, Sized
from specplan.serving.replica import Replica

TOKENS = 1 << 16  # of an output up to which rounds are tabled; beyond they are proportional


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """GPUs by cause, in the order they are switched on; they add up to those of the plan.

    `prefill` and `decode` are plain decoding's at the batch that the promise allows, `memory` what
    it needs more because fewer sequences fit, `speculation` what a drafter changes (its own
    prompts, the room that it takes and its rounds; below 0 where it saves), `queue` the percentiles
    under Poisson arrivals, `bursts` what is burstier, `margin` the head-room, `whole` the rest of
    the last replica.
    """

    prefill: float
    decode: float
    memory: float
    speculation: float
    queue: float
    bursts: float
    margin: float
    whole: float

    @property
    def total(self) -> float:
        """GPUs of the plan."""
        return sum(value for _, value in self.pairs())

    def pairs(self) -> Iterator[tuple[str, float]]:
        """Causes and their GPUs."""
        for one in fields(self):
            yield one.name, getattr(self, one.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """The best batch of a server that is never without requests: seconds that one request takes of
    it in prompts and in rounds, and requests per second.
    """

    batch: int
    prompt_s: float
    decode_s: float
    keeps: bool

    @property
    def rate_per_s(self) -> float:
        """Requests that it finishes."""
        return 1 / (self.prompt_s + self.decode_s)


def closed_loop(
    replica: Replica, asked: Asked, *, most: int | None = None, k: int | None = None
) -> Loop | None:
    """The batch of up to `most` (by default as many as fit) with the highest rate whose mean TPOT
    keeps the promise, the one with the lowest TPOT where none `keeps` it; None where none fits. `k`
    is used at every batch in place of the policy's.
    """
    lengths, context = asked.traffic.lengths, asked.shape.context
    most = fitting(replica, context) if most is None else most
    if most < 1:
        return None
    batch = np.arange(1, min(replica.pace.most, most) + 1)
    drafts = np.asarray(replica.policy.table(len(batch)) if k is None else [k] * len(batch))
    prompt_s, decode_s = np.empty(len(batch)), np.empty(len(batch))
    for n in set(drafts.tolist()):
        here = drafts == n
        width = float(replica.pace.width[replica.pace.k.index(n)])
        taxed = 1 + (replica.policy.tax if n == 0 else 0.0)
        prompt_s[here] = _prompt_s(replica, lengths, batch[here] * width)
        times = taxed * replica.pace.at(n, batch[here], context)
        decode_s[here] = _rounds(replica, lengths, n, context) * times / batch[here]
    further = float(np.dot(lengths.weight, np.maximum(np.asarray(lengths.osl) - 1, 0)))
    each_s, limit = prompt_s + decode_s, asked.limit("tpot")
    keeps = batch * each_s <= (limit.limit_s * further if limit and further else np.inf)
    best = int(np.argmin(np.where(keeps, each_s, np.inf) if keeps.any() else batch * each_s))
    return Loop(
        batch=int(batch[best]),
        prompt_s=float(prompt_s[best]),
        decode_s=float(decode_s[best]),
        keeps=bool(keeps[best]),
    )


def fitting(replica: Replica, context: float) -> int:
    """Sequences of their average length that the pool holds, of those that may run at once."""
    each = float(replica.room.bytes_of(context))
    return int(min(replica.room.pool_bytes // each if each else np.inf, replica.room.sequences))


def _prompt_s(replica: Replica, lengths: Lengths, rows: FloatArray) -> FloatArray:
    """Seconds that the prompts of a mean request add to steps that verify `rows` rows, in chunks as
    long as the step leaves room for.
    """
    hit = np.asarray(lengths.hit, np.float64)
    new = np.maximum(np.asarray(lengths.isl, np.float64) - hit, 1.0)
    room = np.maximum(replica.room.step_tokens - rows, 1.0)[:, np.newaxis]
    chunk = np.minimum(new, room)
    added = replica.pace.prompt_s(rows[:, np.newaxis], chunk, hit + new / 2)
    found: FloatArray = (new / chunk * added) @ np.asarray(lengths.weight)
    return found


def _rounds(replica: Replica, lengths: Lengths, k: int, context: float) -> float:
    """Mean rounds of a request after its first token."""
    osl = np.maximum(np.rint(np.asarray(lengths.osl, np.float64)), 1).astype(np.int64)
    table = rounds_up_to(replica.acceptance, k, min(int(osl.max()), TOKENS), context)
    last = len(table)
    beyond = np.maximum(osl - last, 0) * table[-1] / last
    return float(np.dot(lengths.weight, table[np.minimum(osl, last) - 1] + beyond))


def parts_of(desk: Desk, alone: Desk, asked: Asked, found: Sized) -> Parts | None:
    """The GPUs of a plan by cause, `alone` being the server without speculation in its place; None
    where no sequence fits.
    """
    replica, plain, rate = desk.replica, alone.replica, asked.traffic.rate_per_s
    gpus = replica.gpus
    free = closed_loop(plain, asked, most=plain.pace.most)
    held, drafted = closed_loop(plain, asked), closed_loop(replica, asked)
    if free is None or held is None or drafted is None:
        return None
    smooth = desk.largest(asked.slo, 1.0).rate_per_s
    need = [
        rate * plain.gpus * free.prompt_s,
        rate * plain.gpus / free.rate_per_s,
        rate * plain.gpus / held.rate_per_s,
        rate * gpus / drafted.rate_per_s,
        rate * gpus / smooth,
        rate * gpus / found.largest_per_s,
        rate * gpus / (found.largest_per_s * (1 - asked.margin)),
        float(found.replicas * gpus),
    ]
    return Parts(
        **dict(zip((f.name for f in fields(Parts)), np.diff([0.0, *need]).tolist(), strict=True))
    )
