"""The loop of a simulated server that batches continuously.

A day of traffic is millions of steps. Between two events (a request that may start, one that ends,
a chunk of a prompt, another k, a pool that is full) all that changes from one step to the next are
the contexts, and what they will be is known: draws are made ahead. So the loop goes from event to
event: running sums of the draws tell how far every context grows in r rounds, and with that the
time of the rounds together, exactly as one by one. An event costs a look at each running sequence;
an object for each step and sequence, or a library of processes, would cost that at every step.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Sequence
from heapq import heapify, heappop, heappush

import numpy as np

from specplan.domain.traffic import Trace
from specplan.serving.draws import Streams
from specplan.serving.entries import Entry, Gating
from specplan.serving.replica import Replica
from specplan.serving.requests import Requests

TOLD = 1000  # requests that start between two words of progress


Running = tuple[list[int], list[int], int, int]
"""Of a sequence: tokens made before each draw and their sums; what to add to the server's round for
the place in them, and to the tokens there for its context."""


class Server(Requests):
    """One replica that batches continuously: `run` goes through all requests."""

    def __init__(
        self,
        replica: Replica,
        requests: Trace,
        streams: Streams,
        log: Callable[[Entry], None],
        gating: Gating,
        gaps_s: Sequence[float] = (),
    ) -> None:
        super().__init__(replica, requests, streams, log, gating, gaps_s)
        room = replica.room
        self.pool, self.ahead, self.block = room.pool_bytes, room.ahead, room.block
        self.step_tokens = room.step_tokens
        longest = max(map(int.__add__, self.isl, self.osl), default=0) + max(self.policy.k) + 1
        blocks = np.arange(-(-(longest + room.ahead) // room.block) + 2)
        self.held: list[float] = room.bytes_of(blocks * room.block - room.ahead).tolist()
        self._clear()

    def _clear(self) -> None:
        self._made, self._last = [0] * len(self.isl), [float("nan")] * len(self.isl)
        self._now, self._round, self._next = 0.0, 0, 0
        self._waiting: deque[int] = deque()
        self._prompts: deque[list[int]] = deque()
        self._running: dict[int, Running] = {}
        self._ends: list[tuple[int, int]] = []
        self._context = self._offset = 0
        self._bytes = self._prompt_bytes = 0.0
        self._range = 0
        self._gated = len(self.policy.k) > 1 or self.gating.by == "queue"
        self._changed, self._blocked = -float("inf"), False
        self._over = [0] * len(self.gaps_s)
        self._wanted_at = float("inf")
        self.k = self.policy.k[0]

    def run(self, told: Callable[[int], None]) -> None:
        """Until every request is done; `told` of requests as they come."""
        arrival, total = self.arrival, len(self.arrival)
        waiting, prompts = self._waiting, self._prompts
        while self._running or prompts or waiting or self._next < total:
            if self._next < total and arrival[self._next] <= self._now:
                self._arrive(told)
            if not (self._running or prompts or waiting):
                if self._next < total:
                    self._now = max(arrival[self._next], self._now)
                continue
            self._blocked = self._bytes + self._prompt_bytes > self.pool
            if self._blocked:
                self._make_room()
            if self._gated and self._running:
                self._gate()
            prompt, attended = self._chunks() if prompts or waiting else (0, 0.0)
            self._go_on(prompt, attended)
        told(total % TOLD)

    @property
    def held_bytes(self) -> float:
        """Bytes of caches that are held now."""
        return self._bytes + self._prompt_bytes

    def _arrive(self, told: Callable[[int], None]) -> None:
        """Takes in what has come by now; what no pool of this size holds is refused."""
        arrival, now, i = self.arrival, self._now, self._next
        while i < len(arrival) and arrival[i] <= now:
            if self._held(self.isl[i] + self.osl[i]) > self.pool:
                self.refused.append(i)
            else:
                self._waiting.append(i)
            i += 1
            if i % TOLD == 0:
                told(TOLD)
        self._next = i

    def _held(self, tokens: int) -> float:
        """Bytes of a sequence of so many tokens, those ahead included."""
        return self.held[-(-(tokens + self.ahead) // self.block)]

    def _make_room(self) -> None:
        """Takes back the blocks of those that came last, until the others can go on; their tokens
        are a prompt then, at the head of the queue.
        """
        while self._bytes + self._prompt_bytes > self.pool:
            self.preempted += 1
            if self._prompts:
                rid = self._prompts.pop()[0]
                self._prompt_bytes -= self._held(self.isl[rid] + self._made[rid])
            else:
                rid = next(reversed(self._running))
                context = self._drop(rid)
                self._made[rid] = context - self.isl[rid]
                self._last[rid] = self._now
                self._since(rid, 1)
                self._ends = [end for end in self._ends if end[1] != rid]
                heapify(self._ends)
            self._waiting.appendleft(rid)

    def _drop(self, rid: int) -> int:
        """Takes a sequence out of the batch; its context, draws beyond its last token included."""
        made, _, shift, offset = self._running.pop(rid)
        context = made[shift + self._round] + offset
        self._context -= context
        self._offset -= offset
        self._bytes -= self._held(context)
        return context

    def _join(self, rid: int) -> None:
        """Puts a sequence with tokens to make into the batch."""
        have = self.isl[rid] + self._made[rid]
        stream = self.streams.of(self.k, self.kind[rid])
        made, summed, at, rounds = stream.take(self.osl[rid] - self._made[rid])
        offset = have - made[at]
        self._running[rid] = (made, summed, at - self._round, offset)
        heappush(self._ends, (self._round + rounds, rid))
        self._context += have
        self._offset += offset
        self._bytes += self._held(have)

    def _gate(self) -> None:
        """The k of the next rounds."""
        wanted, gating = self._wanted(), self.gating
        self._wanted_at = float("inf")
        if wanted == self.k:
            return
        if self._now < self._changed + gating.dwell_s:
            self._wanted_at = self._changed + gating.dwell_s
            return
        self._changed, self.k = self._now, wanted
        before, self._running, self._ends = self._running, {}, []
        self._context = self._offset = 0
        self._bytes = 0.0
        for rid, (made, _, shift, offset) in before.items():
            self._made[rid] = made[shift + self._round] + offset - self.isl[rid]
            self._join(rid)

    def _wanted(self) -> int:
        """What the policy says; its range is left only beyond the hysteresis."""
        policy, gating, batch = self.policy, self.gating, len(self._running)
        if gating.by == "queue" and len(self._waiting) > gating.queue:
            return 0
        here, ends, slack = self._range, policy.ends, gating.sequences
        first = ends[here - 1] + 1 if here else 1
        beyond = here < len(policy.k) - 1 and batch > ends[here] + slack
        if beyond or batch < first - slack:
            self._range = min(bisect_right(ends, batch - 1), len(policy.k) - 1)
        return policy.k[self._range]

    def _chunks(self) -> tuple[int, float]:
        """Prompt tokens of the next step, first come first served, and how many each attends to."""
        budget = int(self.step_tokens - len(self._running) * self.clock.width[self.k])
        prompts, waiting = self._prompts, self._waiting
        tokens, seen = 0, 0.0
        for one in prompts:
            if budget <= 0:
                break
            tokens, seen, budget = _chunk(one, tokens, seen, budget)
        if self._blocked:
            return tokens, seen / tokens if tokens else 0.0
        while budget > 0 and waiting and len(self._running) + len(prompts) < self.most:
            rid = waiting[0]
            have = self.isl[rid] + self._made[rid]
            asked = self._held(have)
            if self._bytes + self._prompt_bytes + asked > self.pool:
                break
            waiting.popleft()
            self._prompt_bytes += asked
            known = min(self.hit[rid], have - 1)
            prompts.append([rid, have - known, known])
            tokens, seen, budget = _chunk(prompts[-1], tokens, seen, budget)
        return tokens, seen / tokens if tokens else 0.0

    def _go_on(self, prompt: int, attended: float) -> None:
        """One step with prompt tokens, or rounds up to the next event; and what ends with it."""
        start, before = self._now, self._bytes + self._prompt_bytes
        batch, k, context = len(self._running), self.k, self._context
        if prompt:
            rounds = 1 if batch else 0
            time_s = self.clock.prompt_s(batch * self.clock.width[k], prompt, attended)
            if batch:
                time_s += self.clock.round_s(k, batch, context / batch)
                self._context, _, self._bytes = self._sums(1)
        else:
            rounds, time_s = self._jump()
        self._now += time_s
        self._round += rounds
        after = min(self._bytes + self._prompt_bytes, self.pool)  # what is over is never given
        for i, gap_s in enumerate(self.gaps_s):
            self._over[i] += rounds if time_s > rounds * gap_s else 0
        tokens = self._context - context
        if self._ends and self._ends[0][0] == self._round:
            tokens -= self._finish()
        first = self._firsts() if prompt else 0
        self.log(
            Entry(
                start, time_s, rounds, batch, k, rounds * batch, tokens, first, prompt,
                len(self._waiting), before, after,
            )
        )  # fmt: skip

    def _jump(self) -> tuple[int, float]:
        """Rounds without an event, at least one, and their time; sums are of their end."""
        batch, ends = len(self._running), self.clock.ends
        context = self._context / batch
        part = bisect_right(ends, context)
        start_s, slope_s = self.clock.lines[self.k][batch - 1][part]
        one_s = start_s + slope_s * context
        rounds = self._ends[0][0] - self._round
        gap_s = self._until() - self._now
        if gap_s < rounds * one_s:
            rounds = max(int(gap_s / one_s) + 1, 1)
        room = self.pool - self._prompt_bytes
        while True:
            total, grown, held = self._sums(rounds)
            if rounds > 1 and (total > ends[part] * batch or held > room):
                rounds //= 2
                continue
            time_s = rounds * start_s + slope_s * (grown + rounds * self._offset) / batch
            if rounds > 1 and time_s - gap_s >= one_s:
                rounds -= 1
                continue
            self._context, self._bytes = total, held
            return rounds, time_s

    def _until(self) -> float:
        """When something from outside may change what runs."""
        queue = self.gating.by == "queue"
        may_start = not self._waiting and len(self._running) + len(self._prompts) < self.most
        if self._next < len(self.isl) and (queue or may_start):
            return min(self.arrival[self._next], self._wanted_at)
        return self._wanted_at

    def _sums(self, rounds: int) -> tuple[int, int, float]:
        """After so many rounds: all contexts together, what they were before each of the rounds
        without the offsets, summed, and the bytes.
        """
        now, end = self._round, self._round + rounds
        ahead, block, bytes_of = self.ahead, self.block, self.held
        total = grown = 0
        held = 0.0
        for made, summed, shift, offset in self._running.values():
            place = shift + end
            context = made[place] + offset
            total += context
            grown += summed[place] - summed[shift + now]
            held += bytes_of[-(-(context + ahead) // block)]
        return total, grown, held

    def _finish(self) -> int:
        """Ends those that have all of their tokens; how many nobody asked for were made."""
        ends, spare = self._ends, 0
        while ends and ends[0][0] == self._round:
            rid = heappop(ends)[1]
            spare += self._drop(rid) - self.isl[rid] - self.osl[rid]
            self.done_s[rid] = self._now
            self._since(rid, 1)
        return spare

    def _firsts(self) -> int:
        """Prompts that are through have a token, and decode from now on; how many they are."""
        prompts, count = self._prompts, 0
        while prompts and prompts[0][1] == 0:
            rid = prompts.popleft()[0]
            self._prompt_bytes -= self._held(self.isl[rid] + self._made[rid])
            count += 1
            if self._made[rid]:
                gap_s = self._now - self._last[rid]
                self.gaps.append((self._now, gap_s))
                for over, limit_s in zip(self.over, self.gaps_s, strict=True):
                    over[rid] += gap_s > limit_s
            else:
                self.first_s[rid] = self._now
            self._made[rid] += 1
            if self._made[rid] == self.osl[rid]:
                self.done_s[rid] = self._now
            else:
                self._since(rid, -1)
                self._join(rid)
        return count

    def _since(self, rid: int, sign: int) -> None:
        """Counts the long gaps of a sequence: up to its end, less those up to its beginning."""
        for over, count in zip(self.over, self._over, strict=True):
            over[rid] += sign * count


def _chunk(one: list[int], tokens: int, seen: float, budget: int) -> tuple[int, float, int]:
    """The next chunk of a prompt (request, tokens left, tokens done) on top of others in a step."""
    part = min(one[1], budget)
    seen += part * (one[2] + part / 2)
    one[1] -= part
    one[2] += part
    return tokens + part, seen, budget - part
