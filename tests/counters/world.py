"""A small world of speculative rounds whose truth is known, and the truth of it.

Requests come in waves and run in batches on one engine or several. In each step of an engine every
running request drafts (or does not), and the target keeps a prefix of the draft and adds a token
of its own. Times are seconds from the start of the world; lengths are in tokens.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from math import log
from random import Random

Law = Callable[[Random, int], Sequence[float]]
"""What a request's drafts survive: k conditional probabilities, drawn once for each request."""

Length = Callable[[Random, int], int]
"""How long a draft is in a step that allows k tokens: 0 to k."""

Schedule = Sequence[tuple[int, int, int]]
"""(first batch, last batch, k): how many tokens are drafted at that many running requests."""

PREFILL_S = 0.05  # the prompt's own pass, which makes the request's first token


@dataclass(frozen=True, slots=True)
class Round:
    """One request's share of one step of one engine.

    `agreed` counts drafts that the target would have kept each on its own, also behind a
    rejection: what vLLM V0 calls accepted. `drafted` may be 0: a plain step.
    """

    at: float
    engine: int
    step: int
    request: int
    drafted: int
    accepted: int
    agreed: int
    running: int

    @property
    def emitted(self) -> int:
        """Tokens of the step: the kept drafts and one of the target's own."""
        return self.accepted + 1


@dataclass(frozen=True, slots=True)
class Request:
    """A finished request: its first token at `first`, its last at `last`."""

    number: int
    engine: int
    first: float
    last: float
    prompt: int
    rounds: tuple[Round, ...]

    @property
    def tokens(self) -> int:
        """Tokens of the answer: the prompt's pass makes the first of them."""
        return 1 + sum(round_.emitted for round_ in self.rounds)


@dataclass(frozen=True, slots=True)
class World:
    """Rounds in the order of their times, and the requests they belong to."""

    k: int
    engines: int
    rounds: tuple[Round, ...]
    requests: tuple[Request, ...]
    seed: int
    end: float = field(default=0.0)

    def between(self, since: float = 0.0, until: float = float("inf")) -> Iterator[Round]:
        """Rounds with since < at <= until."""
        first = bisect_right(self.rounds, since, key=lambda one: one.at)
        last = bisect_right(self.rounds, until, key=lambda one: one.at)
        return iter(self.rounds[first:last])

    def steps(self, engine: int) -> Iterator[tuple[float, list[Round]]]:
        """(time, rounds) of each step of one engine, in order."""
        own = (one for one in self.rounds if one.engine == engine)
        for _, members in groupby(own, key=lambda one: one.step):
            rows = list(members)
            yield rows[0].at, rows


@dataclass(frozen=True, slots=True)
class Truth:
    """Sums over rounds. `drafts` leaves out plain steps, `steps` counts them."""

    k: int
    steps: int
    drafts: int
    drafted_tokens: int
    accepted_tokens: int
    rejections: int
    agreed_tokens: int
    accepted_at: tuple[int, ...]
    drafted_at: tuple[int, ...]
    tested_at: tuple[int, ...]

    @property
    def tokens_per_round(self) -> float:
        """Tokens of a round that drafted, the target's own included."""
        return 1 + self.accepted_tokens / self.drafts

    @property
    def tokens_per_step(self) -> float:
        """Tokens of any step of a request, plain ones included: never more than the above."""
        return 1 + self.accepted_tokens / self.steps

    @property
    def acceptance_rate(self) -> float:
        """Accepted over drafted tokens."""
        return self.accepted_tokens / self.drafted_tokens

    @property
    def per_position(self) -> tuple[float, ...]:
        """The share of rounds that kept drafts 1 to i: unconditional."""
        return tuple(count / self.drafts for count in self.accepted_at)

    @property
    def conditional(self) -> tuple[float, ...]:
        """The share kept at i of those that drafted there and kept all before; nan if none did."""
        return tuple(
            accepted / tested if tested else float("nan")
            for accepted, tested in zip(self.accepted_at, self.tested_at, strict=True)
        )

    @property
    def alpha(self) -> float:
        """accepted / (accepted + rejections): the likeliest alpha of drafts that are iid."""
        tested = self.accepted_tokens + self.rejections
        return self.accepted_tokens / tested if tested else float("nan")


def truth(
    world: World,
    *,
    since: float = 0.0,
    until: float = float("inf"),
    engine: int | None = None,
) -> Truth:
    """What the world's rounds in (since, until] add up to, of one engine or all."""
    rounds = [one for one in world.between(since, until) if engine in {None, one.engine}]
    drafts = [one for one in rounds if one.drafted]
    return Truth(
        k=world.k,
        steps=len(rounds),
        drafts=len(drafts),
        drafted_tokens=sum(one.drafted for one in drafts),
        accepted_tokens=sum(one.accepted for one in drafts),
        rejections=sum(one.accepted < one.drafted for one in drafts),
        agreed_tokens=sum(one.agreed for one in drafts),
        accepted_at=tuple(sum(one.accepted > at for one in drafts) for at in range(world.k)),
        drafted_at=tuple(sum(one.drafted > at for one in drafts) for at in range(world.k)),
        tested_at=tuple(
            sum(one.drafted > at and one.accepted >= at for one in drafts) for at in range(world.k)
        ),
    )


def interval_truths(world: World, interval_s: float = 10.0) -> list[Truth]:
    """The truth of each interval from the start in which anything drafted."""
    told = []
    begin = 0.0
    while begin < world.end:
        one = truth(world, since=begin, until=begin + interval_s)
        begin += interval_s
        if one.drafts:
            told.append(one)
    return told


def iid(alpha: float) -> Law:
    """Each draft survives with the same probability, whatever its place."""
    return lambda _, k: (alpha,) * k


def positions(survival: Sequence[float]) -> Law:
    """The i-th draft survives with the i-th probability if those before it did."""
    return lambda _, k: tuple(survival[:k])


def mixed(a: float = 7.0, b: float = 3.0) -> Law:
    """Each request has an alpha of its own, drawn from Beta(a, b)."""
    return lambda rng, k: (rng.betavariate(a, b),) * k


def full(_: Random, k: int) -> int:
    """Every draft is as long as it may be."""
    return k


def found(hit: float, going_on: float = 0.7) -> Length:
    """N-gram or suffix drafts: found with probability `hit`, each next token with `going_on`."""

    def length(rng: Random, k: int) -> int:
        if rng.random() >= hit:
            return 0
        return min(k, geometric(rng, 1 - going_on))

    return length


def geometric(rng: Random, stop: float) -> int:
    """1, 2, …: how many trials until one of probability `stop` comes true."""
    return 1 if stop >= 1 else 1 + int(log(1 - rng.random()) / log(1 - stop))


def simulate(
    law: Law,
    *,
    k: int = 4,
    requests: int = 16,
    tokens: int = 120,
    batch: int = 4,
    engines: int = 1,
    waves: int = 1,
    gap_s: float = 0.0,
    length: Length = full,
    schedule: Schedule | None = None,
    step_s: float = 0.02,
    row_s: float = 0.0005,
    prompt: int = 64,
    seed: int = 0,
) -> World:
    """A world of `requests` requests on each engine and wave, `batch` of them at a time.

    A request's answer has about `tokens` tokens (geometric around it, at least 2). A step takes
    step_s and row_s for each verified row; waves are `gap_s` apart, in which nothing runs.
    """
    rng = Random(seed)  # noqa: S311
    rounds: list[Round] = []
    finished: list[Request] = []
    clocks = [0.0] * engines
    stepped = [0] * engines
    for _ in range(waves):
        begin = max(clocks) + (gap_s if rounds else 0.0)
        for engine in range(engines):
            run = _Engine(rng, law, length, schedule, k, engine, step_s, row_s)
            run.clock, run.steps = begin, stepped[engine]
            run.wave(requests, tokens, batch, prompt, len(finished))
            rounds += run.rounds
            finished += run.finished
            clocks[engine], stepped[engine] = run.clock, run.steps
    rounds.sort(key=lambda one: (one.at, one.engine, one.step, one.request))
    return World(k, engines, tuple(rounds), tuple(finished), seed, end=max(clocks))


class _Engine:
    """One engine's clock while a wave runs."""

    def __init__(
        self,
        rng: Random,
        law: Law,
        length: Length,
        schedule: Schedule | None,
        k: int,
        engine: int,
        step_s: float,
        row_s: float,
    ) -> None:
        self.rng, self.law, self.length, self.schedule = rng, law, length, schedule
        self.k, self.engine, self.step_s, self.row_s = k, engine, step_s, row_s
        self.clock, self.steps = 0.0, 0
        self.rounds: list[Round] = []
        self.finished: list[Request] = []

    def wave(self, requests: int, tokens: int, batch: int, prompt: int, number: int) -> None:
        """Run `requests` requests, numbered from `number`, `batch` at a time."""
        waiting = [_Running(number + i, self.law(self.rng, self.k)) for i in range(requests)]
        for one in waiting:
            one.left = geometric(self.rng, 1 / max(tokens - 1, 1))
        running: list[_Running] = []
        while waiting or running:
            while waiting and len(running) < batch:
                self.clock += PREFILL_S
                running.append(waiting.pop(0))
                running[-1].first = self.clock
            self._step(running)
            for one in [one for one in running if one.left <= 0]:
                running.remove(one)
                self.finished.append(
                    Request(
                        one.number, self.engine, one.first, self.clock, prompt, tuple(one.rounds)
                    )
                )

    def _step(self, running: Sequence[_Running]) -> None:
        allowed = self._allowed(len(running))
        drafted = [self.length(self.rng, allowed) if allowed else 0 for _ in running]
        self.clock += self.step_s + self.row_s * (sum(drafted) + len(running))
        for one, size in zip(running, drafted, strict=True):
            kept = [self.rng.random() < one.survival[place] for place in range(size)]
            accepted = kept.index(False) if False in kept else size
            row = Round(
                at=self.clock,
                engine=self.engine,
                step=self.steps,
                request=one.number,
                drafted=size,
                accepted=accepted,
                agreed=sum(kept),
                running=len(running),
            )
            one.rounds.append(row)
            one.left -= row.emitted
            self.rounds.append(row)
        self.steps += 1

    def _allowed(self, batch: int) -> int:
        if self.schedule is None:
            return self.k
        last = self.k
        for first, final, tokens in self.schedule:
            if first <= batch:
                last = min(tokens, self.k)
            if first <= batch <= final:
                break
        return last


class _Running:
    """A request that is being answered."""

    def __init__(self, number: int, survival: Sequence[float]) -> None:
        self.number, self.survival = number, survival
        self.left, self.first = 0, 0.0
        self.rounds: list[Round] = []
