"""Works timed in turn until the time is over, and what their repeats say."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

LEAST_ROUNDS, MOST_ROUNDS = 5, 1000
SAMPLE_S = 1e-3  # calls are timed together until they last so long, far above a clock's grain
MOST_CALLS = 10_000

Call = Callable[[], object]
Watch = Callable[[float, str], None]


@dataclass(frozen=True, slots=True)
class Work:
    """One call and what it is, in words for whoever waits."""

    says: str
    call: Call


@dataclass(frozen=True, slots=True)
class Timing:
    """Median seconds of a call, and the range of the middle half of its repeats over that."""

    median_s: float
    spread: float
    repeats: int


def in_turn(
    works: Sequence[Work],
    timed: Callable[[Call, int], float],
    seconds: float,
    *,
    clock: Callable[[], float],
    start: float,
    watch: Watch,
) -> list[Timing]:
    """A timing for each work. `timed` gives the seconds that so many calls take together.

    Rounds of all works, so that what disturbs the machine for a while disturbs them alike; as many
    as fit into `seconds` from `start`, but no fewer than five. `watch` hears the seconds gone and
    what is next.
    """
    calls = []
    for work in works:
        watch(clock() - start, f"warming up: {work.says}")
        calls.append(_calls(work.call, timed))
    seen: list[list[float]] = [[] for _ in works]
    longest = 0.0
    for number in range(MOST_ROUNDS):
        began = clock()
        if number >= LEAST_ROUNDS and began - start + longest > seconds:
            break
        for work, count, times in zip(works, calls, seen, strict=True):
            watch(clock() - start, work.says)
            times.append(timed(work.call, count) / count)
        longest = max(longest, clock() - began)
    return [timing(times) for times in seen]


def timing(times: Sequence[float]) -> Timing:
    """What at least two repeats say."""
    low, median, high = statistics.quantiles(times, n=4, method="inclusive")
    return Timing(median, (high - low) / median, len(times))


def _calls(call: Call, timed: Callable[[Call, int], float]) -> int:
    """How many calls last long enough to be timed, after one that only warms up."""
    timed(call, 1)
    count = 1
    while count < MOST_CALLS:
        taken = timed(call, count)
        if taken >= SAMPLE_S:
            break
        grown = math.ceil(count * SAMPLE_S / taken) if taken > 0 else MOST_CALLS
        count = min(max(2 * count, grown), MOST_CALLS)
    return count
