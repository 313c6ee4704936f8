"""Continuous batching as a plain loop over steps: a slow oracle for what is worked out."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from specplan.physics.survival import survival
from specplan.serving.replica import Replica

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Seen:
    """What requests saw (those that came while it was warm), and the mean batch."""

    ttft: Floats
    tpot: Floats
    batch: float


def served(replica: Replica, at_s: Floats, isl: Floats, osl: Floats, seed: int) -> Seen:
    """Requests that arrive at `at_s` with these lengths: every step decodes all who run and reads
    what waits of prompts, first come first served, up to the budget; the pool is never short.
    """
    rng = np.random.default_rng(seed)
    pace, budget = replica.pace, replica.room.step_tokens
    keeps = {k: survival(replica.acceptance, k) for k in replica.policy.lengths}
    left = osl - 1
    first, last = np.zeros(len(at_s)), np.zeros(len(at_s))
    run: npt.NDArray[np.int64] = np.zeros(0, np.int64)
    context = isl + 1.0
    reading: deque[list[float]] = deque()  # request, tokens read
    now, come, area, begun = 0.0, 0, 0.0, 0.0
    while come < len(at_s) or reading or len(run):
        if not reading and not len(run):
            now = max(now, at_s[come])
        while come < len(at_s) and at_s[come] <= now:
            reading.append([come, 0.0])
            come += 1
        k = replica.policy.k_at(len(run)) if len(run) else 0
        rows = len(run) * float(pace.width[pace.k.index(k)])
        room, read, seen, ended = budget - rows, 0.0, 0.0, []
        for item in reading:
            some = min(isl[int(item[0])] - item[1], room)
            if some <= 0:
                break
            read, seen, room = read + some, seen + some * (item[1] + some / 2), room - some
            item[1] += some
        while reading and reading[0][1] >= isl[int(reading[0][0])]:
            ended.append(int(reading.popleft()[0]))
        step_s = float(pace.at(k, len(run), context[run].mean())) if len(run) else 0.0
        if read:
            step_s += max(float(pace.prompt_s(rows, read, seen / read)), 0.0)
        now, area = now + step_s, area + len(run) * step_s
        if len(run):
            kept = 1 + (rng.random(len(run))[:, np.newaxis] < keeps[k]).sum(axis=1)
            left[run] -= kept
            context[run] += kept
            last[run[left[run] <= 0]] = now
            run = run[left[run] > 0]
        for request in ended:
            first[request] = last[request] = now
        run = np.concatenate((run, [n for n in ended if left[n] > 0])).astype(np.int64)
    warm = slice(len(at_s) // 20, None)
    tokens = (osl - 1)[warm]
    tpot = (last - first)[warm][tokens > 0] / tokens[tokens > 0]
    return Seen((first - at_s)[warm], tpot, area / (now - begun))
