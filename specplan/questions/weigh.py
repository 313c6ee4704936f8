"""One workload weighed at every candidate k: what best-k, gate, memory and check choose from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from specplan.domain.acceptance import Acceptance
from specplan.domain.scenario import Setup
from specplan.physics.choose import best_index
from specplan.physics.drafting import draft_params, drafted
from specplan.physics.memory import Bill
from specplan.physics.round import Timing, seen_by, time_rounds
from specplan.physics.survival import tokens_of
from specplan.physics.tokens import FloatArray
from specplan.questions.bills import bill_at, usual_k


class Objective(StrEnum):
    """What the best k is best for."""

    LATENCY = "latency"
    THROUGHPUT = "throughput"
    COST = "cost"


@dataclass(frozen=True, slots=True)
class Point:
    """One workload on one setup; memory is for `context` + `growth` tokens a sequence."""

    setup: Setup
    context: float
    batch: float
    acceptance: Acceptance
    growth: float = 0.0

    @property
    def end(self) -> float:
        """Tokens of a finished sequence."""
        end = self.context + self.growth
        return int(end) if float(end).is_integer() else end


@dataclass(frozen=True, slots=True)
class Rounds:
    """Rounds of every candidate at one point, its drafter as this acceptance finds it. Arrays have
    shape (K,), seconds and ratios to plain decoding.
    """

    point: Point
    k: tuple[int, ...]
    tokens: FloatArray
    timing: Timing

    @property
    def gain(self) -> FloatArray:
        """Plain step over round."""
        gain: FloatArray = self.timing.gain[0, 0]
        return gain

    @property
    def tpot_s(self) -> FloatArray:
        """Seconds per output token."""
        tpot_s: FloatArray = self.timing.round_s[0, 0] / self.tokens
        return tpot_s

    @property
    def speedup(self) -> FloatArray:
        """Tokens per second over those of plain decoding."""
        return self.tokens * self.gain


@dataclass(frozen=True, slots=True)
class Weighed(Rounds):
    """The same with what they cost beside time.

    `throughput` compares tokens per second with each arm at the largest batch that fits it, 0 where
    none does; `flops_per_token` is the arithmetic of a token over that of plain decoding, the ratio
    of costs once both arms are compute-bound (Leviathan et al. 2023, theorem 3.11).
    """

    bill: Bill
    throughput: FloatArray
    flops_per_token: FloatArray

    def score(self, objective: Objective) -> FloatArray:
        """What the objective maximises; plain decoding scores 1 where it fits."""
        if objective is Objective.THROUGHPUT:
            return self.throughput
        return self.speedup if objective is Objective.LATENCY else 1 / self.flops_per_token

    def best(self, objective: Objective = Objective.LATENCY) -> int:
        """Index of the best candidate; ties go to the smaller k."""
        return int(best_index(self.score(objective)))


def lengths(setup: Setup, k: tuple[int, ...]) -> tuple[int, ...]:
    """The draft lengths that this drafter can propose; plain decoding where it can propose none."""
    allowed = setup.draft.max_k
    return k if allowed is None else tuple(n for n in k if n <= allowed) or (0,)


def rounds_at(point: Point, candidates: tuple[int, ...]) -> Rounds:
    """Rounds of the candidates at a point."""
    setup = seen_by(point.setup, point.acceptance, point.context)
    k = lengths(setup, candidates)
    timing = time_rounds(setup, (point.context,), (point.batch,), k)
    tokens = tokens_of(point.acceptance, k, point.context)
    return Rounds(replace(point, setup=setup), k, tokens, timing)


def weigh(point: Point, candidates: tuple[int, ...], asked: tuple[int, ...] = ()) -> Weighed:
    """The candidates at a point, its drafter as this acceptance finds it; memory is counted for
    the largest k `asked`.
    """
    rounds = rounds_at(point, candidates)
    point, k, tokens = rounds.point, rounds.k, rounds.tokens
    bill = bill_at(point.setup, point.end, usual_k(point.setup, asked))
    return Weighed(
        point=point,
        k=k,
        tokens=tokens,
        timing=rounds.timing,
        bill=bill,
        throughput=_throughput(point, k, tokens, bill),
        flops_per_token=_flops_per_token(point.setup, k, tokens),
    )


def _throughput(point: Point, k: tuple[int, ...], tokens: FloatArray, bill: Bill) -> FloatArray:
    """Tokens per second over those of plain decoding, each arm at its own largest batch."""
    plain, drafted = float(bill.largest_plain), float(bill.largest)
    if plain < 1:
        return np.zeros(len(k))
    plain_s = time_rounds(point.setup, (point.context,), (plain,), (0,)).plain_s[0, 0, 0]
    if drafted < 1:
        return np.where(np.asarray(k) == 0, 1.0, 0.0)
    round_s = time_rounds(point.setup, (point.context,), (drafted,), k).round_s[0, 0]
    gains = drafted * tokens / round_s / (plain / plain_s)
    return np.where(np.asarray(k) == 0, 1.0, gains)


def _flops_per_token(setup: Setup, k: tuple[int, ...], tokens: FloatArray) -> FloatArray:
    """(d + v + 1) / E with d the arithmetic of a round's draft passes, v that of the draft tokens
    verified, in plain target tokens (Leviathan et al. 2023, theorem 3.11, where d = k c and v = k);
    an unnamed drafter is taken to cost as much arithmetic as time.
    """
    passes = np.asarray([setup.draft.passes(n) for n in k], np.float64)
    drafting = (
        passes * setup.draft.ratio + draft_params(setup.draft, k) / setup.target.active_params
    )
    factor: FloatArray = (drafting + drafted(setup.draft, setup.engine, k) + 1) / tokens
    return factor
