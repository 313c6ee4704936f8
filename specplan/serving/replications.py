"""Runs of a simulation, one after the other or in processes: the same runs either way."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from multiprocessing import get_context, parent_process
from threading import Thread
from typing import TYPE_CHECKING, Any

import numpy as np

from specplan.domain.slo import Slo
from specplan.domain.traffic import Trace, Traffic
from specplan.errors import Refused
from specplan.serving.entries import Gating
from specplan.serving.incoming import drawn
from specplan.serving.lock_step import Static
from specplan.serving.outcome import Outcome, Outcomes, outcome_of
from specplan.serving.replica import Replica
from specplan.serving.simulation import NO_SLO, WARM_UP, nothing, simulate

if TYPE_CHECKING:
    from multiprocessing.synchronize import Event

BY_BATCH = Gating()
_stop: Event | None = None  # of a worker: set when nobody waits for its run any more


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What is simulated: a replica under so many seconds of traffic, or under its first `requests`.

    A trace is the same in every run, which then differ by what is accepted alone, and is counted
    whole; of traffic that is drawn the first tenth warms up.
    """

    replica: Replica
    traffic: Traffic
    seconds: float
    requests: int | None = None
    seed: int = 0
    gating: Gating = BY_BATCH
    static: Static | None = None
    slo: Slo = NO_SLO

    def arrivals(self, number: int) -> Trace:
        """The requests of one run."""
        trace = drawn(self.traffic, self.seconds, self._seed(number, 0))
        if not self.requests:
            return trace
        seconds = self.seconds
        while len(trace) < self.requests and self.traffic.trace is None:
            seconds *= 2
            trace = drawn(self.traffic, seconds, self._seed(number, 0))
        return _first(trace, self.requests)

    def run(self, number: int, told: Callable[[int], None] = nothing) -> Outcome:
        """One run, by its number alone."""
        arrivals = self.arrivals(number)
        if not len(arrivals):
            raise Refused("no request comes in that time", hint="ask for a longer --duration")
        run = simulate(
            self.replica,
            arrivals,
            seed=np.random.SeedSequence(self._seed(number, 1)),
            gating=self.gating,
            static=self.static,
            slo=self.slo,
            warm_up=0.0 if self.traffic.trace is not None else WARM_UP,
            told=told,
        )
        return outcome_of(run, self.slo)

    def _seed(self, number: int, what: int) -> int:
        seeds = np.random.SeedSequence(self.seed, spawn_key=(number, what))
        return int(seeds.generate_state(1, np.uint64)[0])


def _first(trace: Trace, requests: int) -> Trace:
    """The first requests of a trace, which then ends with the last of them."""
    return replace(
        trace,
        arrival_s=trace.arrival_s[:requests],
        isl=trace.isl[:requests],
        osl=trace.osl[:requests],
        hit=trace.hit[:requests],
        covers_s=trace.covers_s if len(trace) <= requests else 0.0,
    )


def replicate(
    job: Job, replications: int, workers: int = 1, told: Callable[[int], None] = nothing
) -> Outcomes:
    """So many runs, in so many processes; `told` of requests that have come.

    Ctrl-C ends it: what is finished stays, and of a run that is the first what it has by then.
    """
    if workers == 1 or replications == 1:
        return _in_turn(job, replications, told)
    return _beside(job, replications, min(workers, replications), told)


def _in_turn(job: Job, replications: int, told: Callable[[int], None]) -> Outcomes:
    runs: list[Outcome] = []
    interrupted = False
    try:
        while len(runs) < replications and not interrupted:
            run = job.run(len(runs), told)
            interrupted = run.interrupted
            if not interrupted or (not runs and run.counts["requests"]):
                runs.append(run)
    except KeyboardInterrupt:
        interrupted = True
    return Outcomes(tuple(runs), replications, interrupted)


def _beside(job: Job, replications: int, workers: int, told: Callable[[int], None]) -> Outcomes:
    """In processes that are started afresh, whatever the platform."""
    context = get_context("spawn")
    stop = context.Event()
    found: dict[int, Outcome] = {}
    interrupted = False
    pool = ProcessPoolExecutor(workers, context, _begin, (stop,))
    futures: dict[Future[Outcome], int] = {}
    try:
        futures = {pool.submit(_work, job, number): number for number in range(replications)}
        for future in as_completed(futures):
            found[futures[future]] = future.result()
            told(found[futures[future]].counts["done"])
    except KeyboardInterrupt:
        interrupted = True
    finally:
        stop.set()
        pool.shutdown(wait=True, cancel_futures=True)
    for future, number in futures.items():
        if future.done() and not future.cancelled() and not future.exception():
            found[number] = future.result()
    runs = tuple(found[n] for n in sorted(found) if not found[n].interrupted)
    return Outcomes(runs, replications, interrupted)


def _begin(stop: Any) -> None:  # noqa: ANN401 - an event of another process
    """Of a worker: Ctrl-C reaches all processes of a terminal, and is the first one's to heed."""
    global _stop  # noqa: PLW0603 - what a worker is given as it begins
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _stop = stop
    Thread(target=_follow, daemon=True).start()


def _follow() -> None:
    """Of a worker: ends with the process that asked, however that one does."""
    asking = parent_process()
    if asking is not None:
        asking.join()
        os._exit(1)


def _work(job: Job, number: int) -> Outcome:
    """One run, in a worker."""

    def told(_done: int) -> None:
        if _stop is not None and _stop.is_set():
            raise KeyboardInterrupt

    return job.run(number, told)
