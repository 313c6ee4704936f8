"""A server simulated step by step, an object for each sequence: what the jumping loop must equal.

It asks `Pace` for every step and a room for every sequence, and takes draws as the loop does: at
each join the rounds of one request.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from specplan.domain.traffic import Trace
from specplan.serving.draws import Streams
from specplan.serving.entries import Gating
from specplan.serving.replica import Replica


@dataclass
class Sequence:
    """One request."""

    number: int
    arrival_s: float
    isl: int
    osl: int
    hit: int
    kind: int
    made: int = 0
    left: int = 0
    done: int = 0
    tokens: list[int] = field(default_factory=list)
    first_s: float = float("nan")
    done_s: float = float("nan")
    gaps: list[float] = field(default_factory=list)
    last_s: float = float("nan")

    @property
    def context(self) -> int:
        return self.isl + self.made


class Steps:
    """Run it once; then look at `all`, `steps` and `preempted`."""

    def __init__(self, replica: Replica, trace: Trace, streams: Streams, gating: Gating) -> None:
        self.replica, self.streams, self.gating = replica, streams, gating
        kinds = streams.kinds(trace.isl, trace.osl)
        hits = trace.hit or [0] * len(trace)
        rows = zip(trace.arrival_s, trace.isl, trace.osl, hits, kinds, strict=True)
        self.all = [Sequence(i, *row) for i, row in enumerate(rows)]
        self.steps: list[tuple[float, float, int, int, int]] = []
        self.preempted = 0
        self.peak = 0.0
        self.running: list[Sequence] = []
        self.prompts: deque[Sequence] = deque()
        self.waiting: deque[Sequence] = deque()
        self.k, self.range, self.changed = replica.policy.k[0], 0, -float("inf")
        self.now = 0.0

    def held(self, one: Sequence) -> float:
        return float(self.replica.room.bytes_of(one.context))

    def used(self) -> float:
        return sum(map(self.held, [*self.running, *self.prompts]))

    def join(self, one: Sequence) -> None:
        made, _, at, rounds = self.streams.of(self.k, one.kind).take(one.osl - one.made)
        one.tokens = [made[i + 1] - made[i] for i in range(at, at + rounds)][::-1]

    def run(self) -> None:
        coming = deque(self.all)
        while coming or self.waiting or self.prompts or self.running:
            while coming and coming[0].arrival_s <= self.now:
                self.waiting.append(coming.popleft())
            if not (self.waiting or self.prompts or self.running):
                self.now = coming[0].arrival_s
                continue
            blocked = self.make_room()
            self.gate()
            tokens, seen = self.chunks(blocked=blocked)
            self.step(tokens, seen)

    def make_room(self) -> bool:
        blocked = False
        while self.used() > self.replica.room.pool_bytes:
            blocked = True
            self.preempted += 1
            self.waiting.appendleft((self.prompts or self.running).pop())
        return blocked

    def gate(self) -> None:
        policy, gating = self.replica.policy, self.gating
        if not self.running:
            return
        batch = len(self.running)
        low = policy.ends[self.range - 1] + 1 if self.range else 1
        last = self.range == len(policy.k) - 1
        high = float("inf") if last else policy.ends[self.range]
        wanted = policy.k[self.range]
        if gating.by == "queue" and len(self.waiting) > gating.queue:
            wanted = 0
        elif not low - gating.sequences <= batch <= high + gating.sequences:
            self.range = next(
                (i for i, end in enumerate(policy.ends) if batch <= end), len(policy.k) - 1
            )
            wanted = policy.k[self.range]
        if wanted != self.k and self.now >= self.changed + gating.dwell_s:
            self.k, self.changed = wanted, self.now
            for one in self.running:
                self.join(one)

    def chunks(self, *, blocked: bool) -> tuple[int, float]:
        room, pace = self.replica.room, self.replica.pace
        width = dict(zip(pace.k, pace.width.tolist(), strict=True))
        most = min(room.sequences, pace.most)
        budget = int(room.step_tokens - len(self.running) * width[self.k])
        tokens, seen = 0, 0.0
        for one in self.prompts:
            part = max(min(one.left, budget), 0)
            seen += part * (one.done + part / 2)
            one.left, one.done = one.left - part, one.done + part
            tokens, budget = tokens + part, budget - part
        while self.waiting and budget > 0 and not blocked:
            one = self.waiting[0]
            full = len(self.running) + len(self.prompts) >= most
            if full or self.used() + self.held(one) > room.pool_bytes:
                break
            self.prompts.append(self.waiting.popleft())
            one.done = min(one.hit, one.context - 1)
            one.left = one.context - one.done
            part = min(one.left, budget)
            seen += part * (one.done + part / 2)
            one.left, one.done = one.left - part, one.done + part
            tokens, budget = tokens + part, budget - part
        return tokens, seen / tokens if tokens else 0.0

    def step(self, tokens: int, seen: float) -> None:
        pace, policy = self.replica.pace, self.replica.policy
        batch = len(self.running)
        width = dict(zip(pace.k, pace.width.tolist(), strict=True))[self.k]
        time_s = 0.0
        if batch:
            context = sum(one.context for one in self.running) / batch
            time_s = float(pace.at(self.k, batch, context))
            if self.k == 0 and policy.drafts:
                time_s *= 1 + policy.tax
        if tokens:
            time_s += float(pace.prompt_s(batch * width, tokens, seen))
        self.steps.append((self.now, time_s, batch, self.k, len(self.waiting)))
        self.now += time_s
        for one in self.running:
            one.made += one.tokens.pop()
            one.gaps.append(self.now - one.last_s)
            one.last_s = self.now
        for one in [one for one in self.running if one.made >= one.osl]:
            one.done_s = self.now
            self.running.remove(one)
        while self.prompts and self.prompts[0].left == 0:
            one = self.prompts.popleft()
            if one.made:
                one.gaps.append(self.now - one.last_s)
            else:
                one.first_s = self.now
            one.made, one.last_s = one.made + 1, self.now
            if one.made >= one.osl:
                one.done_s = self.now
            else:
                self.join(one)
                self.running.append(one)
