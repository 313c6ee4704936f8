"""The loop of a simulated server of static batches: who is in, stays in.

A batch begins when enough requests wait, or the first of them has waited long enough. Prompts and
caches are padded to the longest: in a round the caches of all grow by what the luckiest of those
that are not done keeps (`physics.tokens.lockstep_tokens`; BASS, arXiv 2404.15778, pads so). Rows of
those that are done are computed until the last one is. Tokens reach their readers as they are made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from specplan.domain.traffic import Trace
from specplan.serving.draws import Streams
from specplan.serving.entries import Entry, Gating
from specplan.serving.event_loop import TOLD
from specplan.serving.replica import Replica
from specplan.serving.requests import Requests


@dataclass(frozen=True, slots=True)
class Static:
    """Batches of `size` requests, or of fewer once the first of them has waited for `wait_s`."""

    size: int
    wait_s: float = 1.0


class StaticServer(Requests):
    """One replica of static batches: `run` goes through all requests."""

    def __init__(
        self,
        replica: Replica,
        requests: Trace,
        streams: Streams,
        log: Callable[[Entry], None],
        gating: Gating,
        static: Static,
        gaps_s: Sequence[float] = (),
    ) -> None:
        super().__init__(replica, requests, streams, log, gating, gaps_s)
        self.static, self.most = static, min(static.size, self.most)
        self.held_bytes = 0.0
        self._now, self._next = 0.0, 0

    def run(self, told: Callable[[int], None]) -> None:
        """Until every request is done; `told` of requests as they are taken in."""
        heard = 0
        while group := self._gather():
            self._serve(group)
            if self._next - heard >= TOLD:
                told(self._next - heard)
                heard = self._next
        told(self._next - heard)

    def _gather(self) -> list[int]:
        """The next batch, at the time when it begins; empty when all have been served."""
        arrival, static = self.arrival, self.static
        while self._next < len(arrival) and not self._fits([self._next]):
            self.refused.append(self._next)
            self._next += 1
        if self._next == len(arrival):
            return []
        full = min(self._next + self.most, len(arrival)) - 1
        begins_s = min(arrival[full], arrival[self._next] + static.wait_s)
        self._now = max(self._now, begins_s)
        group = [self._next]
        while len(group) < self.most:
            rid = group[-1] + 1
            late = rid == len(arrival) or arrival[rid] > self._now
            if late or not self._fits([*group, rid]):
                break
            group.append(rid)
        self._next = group[-1] + 1
        return group

    def _fits(self, group: list[int]) -> bool:
        """Whether caches of the longest prompt and the longest output of them lie in the pool."""
        longest = max(self.isl[i] for i in group) + max(self.osl[i] for i in group)
        return len(group) * self._held(longest) <= self.room.pool_bytes

    def _held(self, tokens: int) -> float:
        return float(self.room.bytes_of(tokens))

    def _waiting(self) -> int:
        """Requests that have come and are in no batch."""
        i = self._next
        while i < len(self.arrival) and self.arrival[i] <= self._now:
            i += 1
        return i - self._next

    def _serve(self, group: list[int]) -> None:
        """One batch from its prompts to its last token."""
        waiting = self._waiting()
        k = self.policy.k_at(len(group))
        if self.gating.by == "queue" and waiting > self.gating.queue:
            k = 0
        prompt = max(self.isl[i] for i in group)
        self._read(group, prompt, k, waiting)
        live = [i for i in group if self.osl[i] > 1]
        kept = self._drawn(live, k)
        grown, held = prompt + 1, len(group) * self._held(prompt + 1)
        for row in kept:
            active = row > 0
            time_s = self.clock.round_s(k, len(group), grown)
            grown += int(row.max())
            before, held = held, len(group) * self._held(grown)
            chunks, tokens = int(active.sum()), int(row.sum())
            self.log(
                Entry(
                    self._now, time_s, 1, len(group), k, chunks, tokens, 0, 0, waiting, before, held
                )
            )  # fmt: skip
            self._now += time_s
            for i in np.flatnonzero(active).tolist():
                self.done_s[live[i]] = self._now
                for over, gap_s in zip(self.over, self.gaps_s, strict=True):
                    over[live[i]] += time_s > gap_s

    def _drawn(self, live: list[int], k: int) -> npt.NDArray[np.int64]:
        """Tokens of each round of each sequence (rounds, n), 0 where it is done. What nobody asked
        for is left out.
        """
        found = []
        for i in live:
            made, _, at, rounds = self.streams.of(k, self.kind[i]).take(self.osl[i] - 1)
            sums = np.minimum(np.asarray(made[at : at + rounds + 1]) - made[at], self.osl[i] - 1)
            found.append(np.diff(sums))
        most = max(map(len, found), default=0)
        table = np.zeros((most, len(live)), np.int64)
        for column, tokens in enumerate(found):
            table[: len(tokens), column] = tokens
        return table

    def _read(self, group: list[int], prompt: int, k: int, waiting: int) -> None:
        """The padded prompts, in steps of as many tokens as one carries."""
        new = max(self.isl[i] - min(self.hit[i], self.isl[i] - 1) for i in group)
        left = len(group) * new
        held = len(group) * self._held(prompt)
        while left:
            part = int(min(left, self.room.step_tokens))
            left -= part
            time_s = self.clock.prompt_s(0, part, prompt - new / 2)
            first = 0 if left else len(group)
            self.log(Entry(self._now, time_s, 0, 0, k, 0, 0, first, part, waiting, held, held))
            self._now += time_s
        for i in group:
            self.first_s[i] = self._now
            if self.osl[i] == 1:
                self.done_s[i] = self._now
