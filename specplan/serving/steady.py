"""A replica under steady traffic: what it answers at one rate, without simulating it.

Two queues meet. Prompts wait for the next step (`backlog`), which they make longer; sequences share
the steps by rounds (`crowd`), as many at once as run. The batch changes slowly beside the steps, so
steps are taken at each batch as if it stayed (`balance`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from specplan.domain.slo import Limit, Slo
from specplan.domain.traffic import Lengths
from specplan.errors import Refused, UsageError
from specplan.physics.tokens import FloatArray
from specplan.serving.balance import Balance, balance, full_load
from specplan.serving.crowd import fixed_points
from specplan.serving.latencies import Decode, end_to_end, first_token, gaps, per_token
from specplan.serving.law import Law, always
from specplan.serving.replica import Replica
from specplan.serving.server import Role, Server, server_of
from specplan.serving.stays import decode_of

_CLOSE = 1e-4  # of a saturation
_NEAR = 1e-3  # of a largest rate
_LEAST = 1e-3  # of the saturation, below which no rate is told from none
_SOUGHT = (0.999, 0.95, 0.88, 0.78, 0.66, 0.54, 0.42, 0.3, 0.2, 0.1, 0.05)  # of the saturation


@dataclass(frozen=True, slots=True, kw_only=True)
class Steady:
    """A replica at one rate. `batch_law` (n + 1,) are the shares of time with 0..n sequences
    decoding, `fixed_points` the batches that sustain themselves (see `crowd.fixed_points`), more
    than one where the server may stay at either. `utilisation` is the share that this load is of
    what a full replica does, `k_shares` the share of the time in rounds of each k, `waits` that of
    the requests that wait for a place, `kv_share` what the pool holds on average.

    `itl` is of all tokens after the first, those of one round at once (0 s but for the first of
    them), `itl_chunk` of rounds. A latency that a role does not have is 0.
    """

    rate_per_s: float
    stable: bool
    fixed_points: tuple[float, ...]
    batch_mean: float
    batch_most: int
    batch_law: FloatArray
    utilisation: float
    k_shares: dict[int, float]
    waits: float
    kv_share: float
    tokens_per_s: float
    ttft: Law
    tpot: Law
    itl: Law
    itl_chunk: Law
    e2e: Law

    def law(self, metric: str) -> Law:
        """The law of one metric of `domain.slo`."""
        laws = {"ttft": self.ttft, "tpot": self.tpot, "itl": self.itl, "e2e": self.e2e}
        return laws[metric]

    def meets(self, limit: Limit) -> bool:
        """Whether it keeps one promise."""
        return self.law(limit.metric).percentile(limit.percentile) <= limit.limit_s


@dataclass(frozen=True, slots=True)
class Largest:
    """The largest rate that keeps every promise, and what binds there: a limit's name
    (`ttft_p99`), `memory` or `sequences` where the batch is full, else `stability`. At a rate of 0
    no traffic at all keeps it.
    """

    rate_per_s: float
    bound_by: str


def steady(
    replica: Replica,
    lengths: Lengths,
    rate_per_s: float,
    dispersion: float = 1.0,
    role: Role = "both",
) -> Steady:
    """The steady state of a replica at a rate (requests a second, above 0) of these lengths.

    `dispersion` above 1 is of gaps that are independent (see `bursts`); below 1 it counts as 1.
    Refused where the server would fall behind.
    """
    return at_rate(server_of(replica, lengths, role), rate_per_s, dispersion)


def at_rate(server: Server, rate_per_s: float, dispersion: float = 1.0) -> Steady:
    """The same of a server that is asked at several rates."""
    if not rate_per_s > 0:
        raise UsageError(f"a rate of {rate_per_s:g} requests a second", expected="more than 0")
    found = balance(server, rate_per_s, dispersion)
    if found is None:
        raise Refused(
            f"{rate_per_s:g} requests a second are more than one server finishes",
            hint="give it its share of them; specplan capacity says how many servers it takes",
        )
    return _told(server, rate_per_s, found)


def saturation(replica: Replica, lengths: Lengths, role: Role = "both") -> float:
    """Requests a second from which a replica falls behind, however long they may wait."""
    return highest(server_of(replica, lengths, role))


def largest_rate(
    replica: Replica,
    lengths: Lengths,
    slo: Slo,
    dispersion: float = 1.0,
    role: Role = "both",
) -> Largest:
    """The largest rate at which a replica keeps every limit.

    Latencies rise with the rate but for a change of k; where they do not, the answer is the end of
    the last stretch of rates that keep the limits.
    """
    server = server_of(replica, lengths, role)
    return _searched(server, slo, dispersion, highest(server))


def _told(server: Server, rate_per_s: float, at: Balance) -> Steady:
    d, room = server.demands, server.replica.room
    law, most = at.crowd.law, server.most
    wait_s = (at.together + server.spread) / (2 * at.crowd.spare_per_s)
    firsts = [steps.first for steps in at.steps]
    first, first_variance = first_token(firsts, at.weights(law), at.crowd.waits, wait_s)
    mean_wait = at.crowd.waits * wait_s
    held = rate_per_s * (first.mean - mean_wait) * d.prompt_bytes
    decode = decode_of(server, at)
    itl, chunk = _gaps(server, at, decode) if most else (always(0.0), always(0.0))
    plain = float(server.plain_s[-1]) if most else 0.0
    return Steady(
        rate_per_s=rate_per_s,
        stable=True,
        fixed_points=fixed_points(rate_per_s, at.tau_s, law) if most else (0.0,),
        batch_mean=at.crowd.mean,
        batch_most=most,
        batch_law=law,
        utilisation=rate_per_s * float(server.asked[-1]) * plain / most + float(at.share[-1])
        if most
        else full_load(server, rate_per_s),
        k_shares=_k_shares(server, law),
        waits=at.crowd.waits,
        kv_share=min((at.crowd.mean * d.bytes * bool(most) + held) / room.pool_bytes, 1.0),
        tokens_per_s=rate_per_s * (1.0 if server.role == "prefill" else d.output),
        ttft=first,
        tpot=per_token(decode, d) if most else always(0.0),
        itl=itl,
        itl_chunk=chunk,
        e2e=end_to_end(first, first_variance, decode, d) if most else first,
    )


def _gaps(server: Server, at: Balance, decode: Decode) -> tuple[Law, Law]:
    """The gaps of tokens and of chunks: steps count by the sequences in them."""
    d, count = server.demands, np.arange(1.0, server.most + 1)
    running = at.crowd.law[1:] * count
    rounds = np.concatenate(([0.0], running / at.round_s))
    asked = float(running @ (server.asked / at.tau_s) / (running @ (1 / at.tau_s)))
    tokens = float(d.weight @ d.after)
    laws = [steps.length for steps in at.steps]
    mean_s = float(d.weight @ decode.mean_s) / tokens
    return gaps(laws, at.weights(rounds), min(asked / tokens, 1.0), mean_s)


def _k_shares(server: Server, law: FloatArray) -> dict[int, float]:
    """The share of the time with anything to decode that is spent at each k."""
    found: dict[int, float] = {}
    busy = float(law[1:].sum())
    for k, part in zip(server.k, law[1:].tolist(), strict=True):
        found[k] = found.get(k, 0.0) + part / busy
    return {k: found[k] for k in sorted(found)}


def highest(server: Server) -> float:
    """The rate at which a full server is busy all the time."""
    low, high = 0.0, 1.0
    while full_load(server, high) < 1:
        low, high = high, 4 * high
    while high - low > _CLOSE * high:
        middle = (low + high) / 2
        if full_load(server, middle) < 1:
            low = middle
        else:
            high = middle
    return low


def _searched(server: Server, slo: Slo, dispersion: float, top: float) -> Largest:
    def broken(rate_per_s: float) -> str:
        """What a rate breaks, or nothing."""
        found = balance(server, rate_per_s, dispersion)
        if found is None:
            return server.full
        told = _told(server, rate_per_s, found)
        return next((str(limit) for limit in slo.limits if not told.meets(limit)), "")

    if not slo.limits:
        return Largest(top, server.full)
    low, high, bound = 0.0, top, server.full
    for part in _SOUGHT:
        if not (why := broken(part * top)):
            low = part * top
            break
        high, bound = part * top, why
    while high - low > _NEAR * max(high, _LEAST * top):
        middle = (low + high) / 2
        if why := broken(middle):
            high, bound = middle, why
        else:
            low = middle
    return Largest(low if low > _LEAST * top else 0.0, bound)
