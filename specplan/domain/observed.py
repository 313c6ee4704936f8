"""What was seen of a deployment, from a capture, from what it told, or from flags.

Absent is None: a rule that needs a figure that nobody gave is silent. Every length and rate is
defined as in `specplan.domain.capture`; the bonus token is counted in tau.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from specplan.domain.matched import Both, Load, alike

LOOKUPS = frozenset({"ngram", "suffix", "lookahead"})
"""Ways to draft that find text again and have no model that could be broken."""


class Tier(NamedTuple):
    """Batches first..last of a schedule by load, and the draft length that they run."""

    first: int
    last: int
    k: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How fast one run was: tokens a second of all sequences together, and seconds between tokens
    (TPOT), between the chunks of a stream (ITL), and to the first token.
    """

    tokens_per_s: float | None = None
    tpot_s: float | None = None
    itl_s: float | None = None
    ttft_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What was accepted: tokens a round and their 95 % interval, `per_position` shares of rounds
    that keep each, how many rounds they are worth, and alpha where that was counted by itself; `k`
    is the draft length at which all that was seen.
    """

    tau: float
    k: int | None = None
    low: float | None = None
    high: float | None = None
    per_position: tuple[float, ...] = ()
    rounds: float | None = None
    alpha: float | None = None
    said: str = ""

    def at(self, k: int) -> float | None:
        """Tokens a round of drafts cut to k, where positions were counted: 1 + their rates up to
        it; None where they were not.
        """
        if self.k == k:
            return self.tau
        rates = self.per_position
        return 1 + sum(rates[:k]) if len(rates) >= k else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """One deployment as it ran. `way` is how it drafts, as -d says it ("" where nobody said);
    `topk` above 1 makes a tree of `draft_tokens` verified tokens, the root counted; `graphs` are
    rows or sequences, as the engine counts them, `graph_rows` the rows where that is known;
    `speedup` is one that was measured, where its two runs are not given. `before` is what an
    earlier capture kept, `planned` what the plan expects. `loads` and `plain_loads` are those of
    each run, `both` those that both had: if there are any, batch and paces are means of them.
    `prompts_per_s` are tokens of prompts that were read meanwhile.
    """

    engine: str
    version: str | None = None
    way: str = ""
    k: int | None = None
    kept: Kept | None = None
    before: Kept | None = None
    planned: Kept | None = None
    batch: float | None = None
    batch_low: float | None = None
    batch_high: float | None = None
    loads: tuple[Load, ...] = ()
    plain_batch: float | None = None
    plain_loads: tuple[Load, ...] = ()
    both: tuple[Both, ...] = ()
    waiting: float | None = None
    prompts_per_s: float | None = None
    context: float | None = None
    spec: Pace = field(default_factory=Pace)
    plain: Pace = field(default_factory=Pace)
    plain_eager: bool = False
    speedup: float | None = None
    topk: int | None = None
    draft_tokens: int | None = None
    max_batch: int | None = None
    graphs: int | None = None
    graph_rows: int | None = None
    schedule: tuple[Tier, ...] = ()
    dataset: str = ""
    same_prompt: bool = False
    tp: int | None = None
    draft_tp: int | None = None
    trained: float | None = None
    n_predict: int | None = None
    traps: tuple[str, ...] = ()
    contradictions: tuple[str, ...] = ()

    @property
    def tree(self) -> bool:
        """Whether several tokens are verified for one position."""
        return self.topk is not None and self.topk > 1

    @property
    def verified(self) -> int | None:
        """Tokens that a round verifies for a sequence, the known one included."""
        if self.tree and self.draft_tokens:
            return self.draft_tokens
        return None if self.k is None else self.k + 1

    @property
    def rate(self) -> float | None:
        """Tokens a second of all sequences with speculation."""
        return _rate(self.spec, self.batch)

    @property
    def plain_rate(self) -> float | None:
        """The same without."""
        return _rate(self.plain, self.plain_batch or self.batch)

    @property
    def elsewhere(self) -> bool:
        """Whether the run without was at no load of the one with, as far as both say theirs."""
        if self.both or not self.plain_batch or not self.batch:
            return False
        return bool(self.loads and self.plain_loads) or not alike(self.batch, self.plain_batch)

    @property
    def apart(self) -> bool:
        """Whether both were timed, at loads of which none is common."""
        timed = (self.spec.tokens_per_s or self.spec.tpot_s) and self.plain_rate
        return bool(timed) and self.elsewhere and self.speedup is None

    @property
    def lone(self) -> tuple[float, ...]:
        """The batches that only one of the two runs had, where they had others in common."""
        if not self.both:
            return ()
        shared = {batch for one in self.both for batch in (one.batch, one.plain_batch)}
        return tuple(
            sorted(
                load.batch
                for load in (*self.loads, *self.plain_loads)
                if load.batch not in shared and load.tokens_per_s
            )
        )

    @property
    def measured(self) -> float | None:
        """The measured speedup: told, or of the two runs; of runs at other loads that of a
        token's time, if both state it, and none of their tokens a second.
        """
        if self.speedup is not None:
            return self.speedup
        spec, plain = self.spec, self.plain
        apart = self.apart
        if spec.tokens_per_s and plain.tokens_per_s and not apart:
            return spec.tokens_per_s / plain.tokens_per_s
        if spec.tpot_s and plain.tpot_s:
            return plain.tpot_s / spec.tpot_s
        if self.rate and self.plain_rate and not apart:
            return self.rate / self.plain_rate
        return None

    @property
    def round_cost(self) -> float | None:
        """A round in plain steps, as measured: tau over speedup."""
        if self.kept is None or not self.measured:
            return None
        return self.kept.tau / self.measured

    @property
    def round_s(self) -> float | None:
        """A round as measured, waiting and prefill between rounds included: tau B / rate; of the
        time between tokens where nothing else is known, tau TPOT.
        """
        if self.kept is None:
            return None
        if self.batch and self.rate:
            return self.kept.tau * self.batch / self.rate
        return self.kept.tau * self.spec.tpot_s if self.spec.tpot_s else None

    @property
    def plain_step_s(self) -> float | None:
        """A plain step as measured at this load: B / rate."""
        batch = self.plain_batch or self.batch
        if self.elsewhere:
            return None
        return batch / self.plain_rate if batch and self.plain_rate else self.plain.tpot_s


def _rate(pace: Pace, batch: float | None) -> float | None:
    """Tokens a second, from the time between tokens where nothing else says it."""
    if pace.tokens_per_s is not None or not pace.tpot_s or batch is None:
        return pace.tokens_per_s
    return batch / pace.tpot_s
