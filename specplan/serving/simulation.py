"""A replica simulated under traffic: what its requests wait for, and what it has in hand meanwhile.

`simulate` is one run; `specplan.serving.replications` makes several and says how sure they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from specplan.domain.slo import Limit, Slo
from specplan.domain.traffic import Trace
from specplan.physics.tokens import FloatArray
from specplan.serving.draws import Streams
from specplan.serving.entries import Gating
from specplan.serving.event_loop import Server
from specplan.serving.lock_step import Static, StaticServer
from specplan.serving.record import FINEST_S, FOLDED, RESOLUTION, Record, Timeline
from specplan.serving.replica import Replica

WARM_UP = 0.1  # of the time in which requests come, before which nothing is counted
NO_SLO = Slo()


@dataclass(frozen=True, slots=True)
class Sample:
    """Every value, ascending (n,)."""

    values: FloatArray

    @property
    def mean(self) -> float:
        """NaN where there is none."""
        return float(self.values.mean()) if len(self.values) else float("nan")

    def percentile(self, p: float) -> float:
        """The least value that p (0..100) percent do not exceed; NaN where there is none."""
        if not len(self.values):
            return float("nan")
        place = int(np.ceil(p / 100 * len(self.values) - 1e-9))
        return float(self.values[max(place - 1, 0)])

    def at_most(self, limit: float) -> float:
        """The share that does not exceed a limit."""
        if not len(self.values):
            return float("nan")
        return float(np.searchsorted(self.values, limit, side="right") / len(self.values))


@dataclass(frozen=True, slots=True)
class Gaps:
    """Seconds between tokens as they reach the reader: `zero` of them with the token before, and
    `counts` (bins) after it, each bin wider by `resolution` than the one before, from `finest_s`.
    """

    counts: FloatArray
    zero: float
    mean: float
    finest_s: float = FINEST_S
    resolution: float = RESOLUTION

    def percentile(self, p: float) -> float:
        """As of a sample, to half of the resolution; NaN where there is no gap."""
        total = self.zero + float(self.counts.sum())
        if not total:
            return float("nan")
        wanted = p / 100 * total - self.zero - 1e-9 * total
        if wanted <= 0:
            return 0.0
        place = int(np.searchsorted(np.cumsum(self.counts), wanted))
        return float(self.finest_s * (1 + self.resolution) ** (place + 0.5))

    def at_most(self, limit: float) -> float:
        """The share that does not exceed a limit."""
        total = self.zero + float(self.counts.sum())
        if not total:
            return float("nan")
        place = np.log(max(limit, self.finest_s) / self.finest_s) / np.log1p(self.resolution)
        return (self.zero + float(self.counts[: int(place) + 1].sum())) / total


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What was counted from `from_s` to `to_s`: requests that came then, and steps that began.

    `itl` is of tokens: those of one round reach the reader together, all but the first after no
    time; `itl_chunk` is of rounds. `batch_law` and `batch_rounds` are shares of time and of rounds
    by sequences that decode (0.. up to the most that may run), `k_shares` of the time of rounds and
    `k_rounds` of rounds. `left` waited when the last request came. `interrupted` runs were stopped,
    and have what was done by then; otherwise `made` tokens are those `asked` for by requests that
    are done, and `held_bytes`, what is held in the end, is 0.
    """

    from_s: float
    to_s: float
    requests: int
    done: int
    refused: int
    preempted: int
    unfinished: int
    left: int
    interrupted: bool
    made: int
    asked: int
    held_bytes: float
    steps: int
    ttft: Sample
    tpot: Sample
    e2e: Sample
    itl: Gaps
    itl_chunk: Gaps
    good: float | None
    requests_per_s: float
    tokens_per_s: float
    prompt_per_s: float
    goodput_per_s: float | None
    batch_mean: float
    batch_law: FloatArray
    batch_rounds: FloatArray
    utilisation: float
    k_shares: dict[int, float]
    k_rounds: dict[int, float]
    tokens_per_round: float
    kv_share: float
    kv_peak: float
    timeline: Timeline


def nothing(_done: int) -> None:
    """Told of progress, does nothing."""


def simulate(
    replica: Replica,
    arrivals: Trace,
    *,
    seed: int | np.random.SeedSequence = 0,
    gating: Gating = Gating(),  # noqa: B008 - frozen
    static: Static | None = None,
    slo: Slo = NO_SLO,
    warm_up: float = WARM_UP,
    told: Callable[[int], None] = nothing,
) -> Run:
    """One run of a replica through all arrivals, until the last of them is done.

    Requests that come in the first `warm_up` share of the time (0 for a replay that is to be
    whole) are served and not counted, nor are the steps until then; steps after the last arrival
    are counted only where there is no warm-up. Acceptance is drawn by `seed`. Ctrl-C ends it
    early: the run then has what was done by then. With `static`, batches stay as they begin.
    """
    seeds = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
    span_s = arrivals.span_s
    record = Record(
        pool=replica.room.pool_bytes,
        most=replica.pace.most,
        span_s=span_s,
        from_s=warm_up * span_s,
        to_s=span_s if warm_up else float("inf"),
    )
    gaps_s = [limit.limit_s for limit in slo.limits if limit.metric == "itl"]
    streams = Streams(replica.acceptance, seeds)
    log = record.entries.append
    server = (
        StaticServer(replica, arrivals, streams, log, gating, static, gaps_s)
        if static
        else Server(replica, arrivals, streams, log, gating, gaps_s)
    )

    def heard(done: int) -> None:
        record.fold(least=FOLDED)
        told(done)

    interrupted = False
    try:
        server.run(heard)
    except KeyboardInterrupt:
        interrupted = True
    record.fold()
    return run_of(server, record, slo, interrupted=interrupted)


def run_of(
    server: Server | StaticServer, record: Record, slo: Slo, *, interrupted: bool = False
) -> Run:
    """The measures of what a server did."""
    first, done, came = _times(server)
    osl = np.asarray(server.osl, np.int64)
    to_s, last_s = min(record.to_s, record.end_s), min(record.span_s, record.end_s)
    finished = ~np.isnan(done)
    counted = finished & (came >= record.from_s)
    window_s = max(to_s - record.from_s, 1e-9)
    ttft, e2e = (first - came)[counted], (done - came)[counted]
    further = np.maximum(osl - 1, 1)[counted]
    tpot = (done - first)[counted] / further
    over = [np.asarray(of, np.float64)[counted] / further for of in server.over]
    good = _good(slo, {"ttft": ttft, "tpot": tpot, "e2e": e2e}, over)
    resumed = np.asarray([gap for at, gap in server.gaps if record.from_s <= at < record.to_s])
    record.count(resumed, np.ones(len(resumed)))
    chunks, tokens = float(record.gaps.sum()), record.tokens + len(resumed)
    decode_s = sum(record.k_s.values())
    idle = np.zeros(len(record.batch_s))
    idle[0] = max(window_s - record.busy_s, 0.0)
    return Run(
        from_s=record.from_s,
        to_s=to_s,
        requests=int(counted.sum()),
        done=int(finished.sum()),
        refused=len(server.refused),
        preempted=server.preempted,
        unfinished=len(osl) - int(finished.sum()) - len(server.refused),
        left=int(((came <= last_s) & ~(first <= last_s)).sum()) - len(server.refused),
        interrupted=interrupted,
        made=record.made,
        asked=int(osl[finished].sum()),
        held_bytes=server.held_bytes,
        steps=record.steps,
        ttft=Sample(np.sort(ttft)),
        tpot=Sample(np.sort(tpot[osl[counted] > 1])),
        e2e=Sample(np.sort(e2e)),
        itl=Gaps(record.gaps, tokens - chunks, _mean(record.gap_s, tokens)),
        itl_chunk=Gaps(record.gaps, 0.0, _mean(record.gap_s, chunks)),
        good=None if good is None else float(good.mean()) if len(good) else float("nan"),
        requests_per_s=float(((done > record.from_s) & (done <= to_s)).sum()) / window_s,
        tokens_per_s=(record.tokens + record.first) / window_s,
        prompt_per_s=record.prompt / window_s,
        goodput_per_s=None if good is None else float(good.sum()) / window_s,
        batch_mean=float(record.batch_s @ np.arange(len(record.batch_s))) / window_s,
        batch_law=(record.batch_s + idle) / max(record.busy_s, window_s),
        batch_rounds=record.batch_rounds / max(record.rounds, 1),
        utilisation=min(record.busy_s / window_s, 1.0),
        k_shares={k: s / decode_s for k, s in sorted(record.k_s.items())},
        k_rounds={k: n / record.rounds for k, n in sorted(record.k_rounds.items())},
        tokens_per_round=_mean(record.tokens, chunks - len(resumed)),
        kv_share=record.kv_s / window_s / record.pool,
        kv_peak=record.peak / record.pool,
        timeline=record.timeline(),
    )


def _times(server: Server | StaticServer) -> tuple[FloatArray, FloatArray, FloatArray]:
    """When each request had its first and its last token, NaN before, and when it came."""
    first, done = np.asarray(server.first_s, np.float64), np.asarray(server.done_s, np.float64)
    return first, done, np.asarray(server.arrival, np.float64)


def _mean(total: float, count: float) -> float:
    """NaN where there is nothing."""
    return total / count if count else float("nan")


def _good(slo: Slo, of: Mapping[str, FloatArray], over: Sequence[FloatArray]) -> FloatArray | None:
    """Which requests (n,) meet all limits; None without any. A limit on gaps is met by a request of
    which no more gaps exceed it, `over` of all, than its percentile leaves.
    """
    if not slo.limits:
        return None
    met, gaps = np.ones(len(of["ttft"]), np.bool_), iter(over)
    for limit in slo.limits:
        if limit.metric == "itl":
            met &= next(gaps) <= 1 - limit.percentile / 100 + 1e-12
        else:
            met &= of[limit.metric] <= limit.limit_s
    return met.astype(np.float64)


def attained(run: Run, limit: Limit) -> float:
    """The share of the requests (of the gaps, for itl) within a limit."""
    law: Sample | Gaps = getattr(run, limit.metric)
    return law.at_most(limit.limit_s)
