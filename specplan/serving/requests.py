"""What every simulated server knows of its requests, and what it notes of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from specplan.domain.traffic import Trace
from specplan.serving.clock import Clock
from specplan.serving.draws import Streams
from specplan.serving.entries import Entry, Gating, whole
from specplan.serving.replica import Replica


class Requests:
    """One replica and the requests that come to it, in order of arrival.

    `first_s` and `done_s` are when each request had its first and its last token, NaN before;
    `over` how many of its gaps were longer, for each of the times `gaps_s`. At most `most`
    sequences decode together: as many as run at once, and as a step has room to verify.
    """

    def __init__(
        self,
        replica: Replica,
        requests: Trace,
        streams: Streams,
        log: Callable[[Entry], None],
        gating: Gating,
        gaps_s: Sequence[float] = (),
    ) -> None:
        room, policy = replica.room, replica.policy
        self.clock, self.room, self.policy = Clock(replica.pace, policy), room, policy
        self.gating, self.streams, self.log, self.gaps_s = gating, streams, log, gaps_s
        widest = max(self.clock.width[k] for k in policy.lengths)
        self.most = min(room.sequences, replica.pace.most, max(int(room.step_tokens // widest), 1))
        self.arrival: list[float] = np.asarray(requests.arrival_s, np.float64).tolist()
        self.isl, self.osl = whole(requests.isl, 1), whole(requests.osl, 1)
        self.hit = whole(requests.hit, 0) or [0] * len(self.isl)
        self.kind = streams.kinds(self.isl, self.osl)
        nan, count = float("nan"), len(self.isl)
        self.first_s, self.done_s = [nan] * count, [nan] * count
        self.over = [[0] * count for _ in gaps_s]
        self.gaps: list[tuple[float, float]] = []
        self.refused: list[int] = []
        self.preempted = 0
