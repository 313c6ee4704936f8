"""What a replica does at each batch, whatever the rate: tabled once, asked at many rates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from specplan.domain.traffic import Lengths
from specplan.errors import Refused
from specplan.physics.tokens import FloatArray
from specplan.serving.chain import Prompts, StepTime
from specplan.serving.demands import Demands, Rounds, demands_of, every_rounds, pooled
from specplan.serving.replica import Replica

_WORTH = 0.1  # more rounds a second from the second half of the batch
Role = Literal["both", "prefill", "decode"]
"""What a replica does: both, or as one of two pools prompts alone, or what comes after them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A replica under lengths, for batches n = 1..most: `k` (most,) of a round, `plain_s` (most,)
    its seconds without prompts, `rounds` what a request takes of them at each k, `asked` (most,)
    on average. `full` says what a full server lacks: memory or sequences, where a batch twice as
    large would still do notably more, else it is stability that binds.
    """

    replica: Replica
    demands: Demands
    role: Role
    k: tuple[int, ...]
    plain_s: FloatArray
    rounds: dict[int, Rounds]
    asked: FloatArray
    full: str
    reads: Prompts | None

    @property
    def most(self) -> int:
        """The largest batch."""
        return len(self.k)

    @property
    def spread(self) -> float:
        """Squared coefficient of variation of the rounds that requests take in a full batch."""
        if not self.k:
            return 0.0
        rounds, weight = self.rounds[self.k[-1]], self.demands.weight
        square = float(weight @ (rounds.mean**2 + rounds.variance))
        return max(square / rounds.all**2 - 1, 0.0)

    @property
    def uneven(self) -> float:
        """Squared coefficient of variation of the prompts to read."""
        d = self.demands
        return float(d.new_weight @ d.new**2 / (d.new_weight @ d.new) ** 2 - 1)

    @property
    def lasting(self) -> float:
        """The integral of P(S > t)^2 over E[S], of the time S that requests stay: the part of
        a burst that meets itself; 1 where all stay equally long, 1/2 where exponentially.
        """
        after, weight = self.demands.after, self.demands.weight
        left = 1 - np.concatenate(([0.0], np.cumsum(weight)))[:-1]  # of those up to after[i]
        width = np.diff(np.concatenate(([0.0], after)))
        return float((np.clip(left, 0, 1) ** 2 @ width) / max(float(weight @ after), 1e-12))

    def late_s(self, share: FloatArray, late_s: FloatArray, spare_s: FloatArray) -> FloatArray:
        """The mean over requests of what `waited_s` says, at each batch."""
        found = np.zeros(len(share))
        for k, rounds in self.rounds.items():
            here = np.asarray([each == k for each in self.k])
            s, late, spare = (a[here, np.newaxis] for a in (share, late_s, spare_s))
            found[here] = waited_s(rounds.mean, s, late, spare) @ self.demands.weight
        return found

    def prompts(self, rate_per_s: float) -> Prompts | None:
        """What arrives to be read at a rate."""
        return None if self.reads is None else replace(self.reads, rate_per_s=rate_per_s)

    def budget(self, batch: int) -> float:
        """Prompt tokens that fit beside a batch."""
        room, pace = self.replica.room, self.replica.pace
        if not batch:
            return float(room.step_tokens)
        width = float(pace.width[pace.k.index(self.k[batch - 1])])
        return room.step_tokens - batch * width

    def step(self, batch: int) -> StepTime:
        """Seconds of steps over a batch by the prompt tokens in them."""
        pace = self.replica.pace
        rows = batch * float(pace.width[pace.k.index(self.k[batch - 1])]) if batch else 0.0
        plain = float(self.plain_s[batch - 1]) if batch else 0.0
        seen = self.demands.seen

        def seconds(tokens: FloatArray) -> FloatArray:
            return plain + np.maximum(pace.prompt_s(rows, tokens, seen), 0.0)

        return seconds


def waited_s(
    rounds: FloatArray, share: FloatArray, late_s: FloatArray, spare_s: FloatArray
) -> FloatArray:
    """Seconds that so many rounds after a prompt are longer for what came while it was read: the
    excess goes down by the `share` of prompts from round to round and comes to `late_s` in all, but
    in no round to more than `spare_s`; arrays broadcast.
    """
    seen = 1 - np.exp(np.log(np.maximum(share, 1e-12)) * rounds)
    found: FloatArray = np.minimum(late_s * seen, spare_s * rounds)
    return found


def _reads(replica: Replica, demands: Demands) -> Prompts:
    """Prompts in tokens as dear as the mean one: attention makes those of long prompts dearer."""
    pace, seen = replica.pace.target, demands.seen
    many = float(replica.room.step_tokens)
    wide = float(pace.beside_s(many / 2, many / 2, 0)) / (many / 2)
    own = float(pace.beside_s(0, 1, seen) - pace.beside_s(0, 1, 0))
    each = pace.beside_s(0, 1, demands.attended) - pace.beside_s(0, 1, 0)
    dear = (wide + each) / (wide + own) if wide + own > 0 else 1.0
    tokens, weight = pooled(demands.new * dear, demands.new_weight)
    return Prompts(tokens, weight, 0.0)


def server_of(replica: Replica, lengths: Lengths, role: Role = "both") -> Server:
    """The server of a replica under these lengths.

    A batch is as large as its sequences fit at their average, within the engine's own limit and
    the budget of a step.
    """
    demands = demands_of(replica, lengths)
    room, pace, policy = replica.room, replica.pace, replica.policy
    if role == "prefill" or not demands.output > 1:
        none = np.zeros(0)
        return Server(
            replica=replica,
            demands=demands,
            role="prefill",
            k=(),
            plain_s=none,
            rounds={},
            asked=none,
            full="stability",
            reads=_reads(replica, demands),
        )
    fits = int(room.pool_bytes // max(demands.bytes, 1.0))
    limit = min(room.sequences, pace.most)
    if not fits:
        raise Refused("the pool does not hold one sequence of this traffic")
    most = min(fits, limit)
    k = policy.table(most)
    width = {n: float(pace.width[pace.k.index(n)]) for n in set(k)}
    rounds = every_rounds(replica.acceptance, policy.lengths, demands)
    new = 0.0 if role == "decode" else float(demands.new @ demands.new_weight)
    # a batch that leaves less to prompts than refills it shrinks by itself
    while (
        k and len(k) * (width[k[-1]] + (len(k) > 1) * new / rounds[k[-1]].all) >= room.step_tokens
    ):
        k = k[:-1]
    if not k:
        raise Refused("a step does not carry the verification of one sequence")
    batch = np.arange(1.0, len(k) + 1)
    plain = np.zeros(len(k))
    for n in set(k):
        here = np.asarray([each == n for each in k])
        tax = 1 + policy.tax if n == 0 else 1.0
        plain[here] = tax * pace.at(n, batch[here], demands.context)
    asked = np.asarray([rounds[n].all for n in k])
    full = "memory" if fits < limit else "sequences"
    gain = 2 * float(plain[len(k) // 2 - 1] * asked[len(k) // 2 - 1] / (plain[-1] * asked[-1])) - 1
    return Server(
        replica=replica,
        demands=demands,
        role=role,
        k=k,
        plain_s=plain,
        rounds=rounds,
        asked=asked,
        full=full if gain > _WORTH else "stability",
        reads=None if role == "decode" else _reads(replica, demands),
    )
