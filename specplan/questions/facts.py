"""What a plan comes to at each of its points: the facts that its expectations are held against."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from specplan.domain.scenario import Part, Scenario, Setup
from specplan.errors import Refused
from specplan.physics.choose import BATCH_LIMIT, TIE, best_index, break_even_alpha, scan_batches
from specplan.physics.memory import Bill
from specplan.physics.tokens import expected_tokens
from specplan.questions.mix import mixed_speedups
from specplan.questions.weigh import Point, Weighed, weigh
from specplan.rules.expected import Facts

POINT_LIMIT = 100_000

Chosen = tuple[Weighed, int, bool]  # a point, the k of the plan there, whether a drafter is loaded

# What tells one setup from another, where a plan has several.
_TELLING: tuple[Callable[[Setup], str], ...] = (
    lambda setup: setup.target.name,
    lambda setup: setup.draft.label,
    lambda setup: setup.where,
    lambda setup: f"dtype {setup.dtype}",
    lambda setup: f"draft dtype {setup.draft_dtype}",
    lambda setup: f"KV {setup.kv_dtype}",
    lambda setup: f"draft tp {setup.draft_tp}",
)


def facts_of(scenario: Scenario, *, loads: bool) -> list[Facts]:
    """Every point: setups x contexts x batches x alphas (or parts of a mix), and each k given.

    Without a k the best one of each point is taken, or the one that is best for a mix. `loads`
    asks for `break_even_batch`, which scans batches; without it that is +inf.
    """
    count = max(len(scenario.k), 1) * len(scenario.setups)
    count *= len(scenario.parts) or (
        len(scenario.batch) * len(scenario.context) * len(scenario.acceptance)
    )
    if count > POINT_LIMIT:
        raise Refused(f"the plan has {count:,} points", hint=f"at most {POINT_LIMIT:,} are checked")
    words = _Words.of(scenario)
    scan = _Loads(scenario) if loads else None
    return [
        _facts(w, k, words, drafting=drafting, load=scan.first_loss(w, k) if scan else math.inf)
        for w, k, drafting in _points(scenario)
    ]


def _points(scenario: Scenario) -> Iterator[Chosen]:
    candidates = tuple(sorted({*range(scenario.k_max + 1), *scenario.k}))
    for setup in scenario.setups:
        if scenario.parts:
            weighed = [weigh(_point(setup, part, scenario), candidates) for part in scenario.parts]
            common = _common(weighed, scenario.parts)
        else:
            axes = product(scenario.context, scenario.batch, scenario.acceptance)
            points = (Point(setup, c, b, a, scenario.growth) for c, b, a in axes)
            weighed, common = [weigh(point, candidates) for point in points], None
        for w in weighed:
            if not scenario.k:
                yield w, w.k[w.best() if common is None else common], True
            for k in scenario.k:
                yield w, _possible(k, w), k > 0


def _point(setup: Setup, part: Part, scenario: Scenario) -> Point:
    return Point(setup, part.context, part.batch, part.acceptance, scenario.growth)


def _common(weighed: Sequence[Weighed], parts: Sequence[Part]) -> int:
    weights = np.asarray([part.weight for part in parts])
    return int(best_index(mixed_speedups(weighed, weights / weights.sum())))


def _possible(k: int, w: Weighed) -> int:
    if k not in w.k:
        label = w.point.setup.draft.label
        raise Refused(f"draft {label} cannot propose k = {k}", hint=f"its longest is {w.k[-1]}")
    return k


def _facts(w: Weighed, k: int, words: _Words, *, drafting: bool, load: float) -> Facts:
    point, setup = w.point, w.point.setup
    chosen, best = w.k.index(k), w.best()
    tpot_s, best_tpot_s = float(w.tpot_s[chosen]), float(w.tpot_s[best])
    regret = float(1 - w.speedup[chosen] / w.speedup[best])
    largest = w.bill.largest if drafting else w.bill.largest_plain
    drafted = w.bill.draft_bytes + point.batch * float(w.bill.draft_sequence_bytes)
    return Facts(
        point=words.point(point, k),
        setting=words.setting(point, k),
        target=setup.target.name,
        draft=setup.draft.label,
        hardware=setup.hardware.name,
        tp=setup.tp,
        batch=int(point.batch),
        context=point.context,
        alpha=point.acceptance.alpha,
        k=k,
        speedup=float(w.speedup[chosen]),
        tpot_s=tpot_s,
        tokens_per_s=point.batch / tpot_s,
        best_k=w.k[best],
        best_speedup=float(w.speedup[best]),
        best_tpot_s=best_tpot_s,
        best_tokens_per_s=point.batch / best_tpot_s,
        k_regret=regret if regret > TIE else 0.0,
        break_even_alpha=float(break_even_alpha(1 / w.gain[chosen], k)),
        break_even_batch=load,
        largest_batch=int(largest),
        free_bytes=_free_bytes(w.bill, point.batch, drafting=drafting),
        draft_bytes=drafted if drafting else 0.0,
        bound=setup.engine.kind == "bound",
    )


def _free_bytes(bill: Bill, batch: float, *, drafting: bool) -> float:
    """Usable bytes less those needed; its sign agrees with the largest batch to the last bit."""
    free = bill.usable_bytes - float(bill.needed_bytes(batch, drafted=drafting))
    fits = batch <= (bill.largest if drafting else bill.largest_plain)
    return max(free, 0.0) if fits else min(free, -1.0)


@dataclass(slots=True)
class _Loads:
    """First batches that lose, each scanned once: they do not depend on a point's own batch."""

    scenario: Scenario
    known: dict[tuple[int, float, float, tuple[int, ...]], float] = field(default_factory=dict)

    def first_loss(self, w: Weighed, k: int) -> float:
        """The first batch at which k loses; for a k that was chosen, at which every k > 0 does."""
        lengths = (k,) if self.scenario.k else tuple(n for n in w.k if n) or (0,)
        point = w.point
        key = (id(point.setup), point.context, point.acceptance.alpha, lengths)
        if key not in self.known:
            drafting = self.scenario.k != (0,)
            limit = int(w.bill.largest if drafting else w.bill.largest_plain)
            self.known[key] = _first_loss(point, lengths, min(limit, BATCH_LIMIT))
        return self.known[key]


def _first_loss(point: Point, lengths: tuple[int, ...], limit: int) -> float:
    if limit < 1:
        return 0.0
    tokens = expected_tokens(point.acceptance.alpha, np.asarray(lengths, np.float64))
    for batch, gain in scan_batches(point.setup, point.context, lengths, limit):
        losing = np.flatnonzero((tokens * gain).max(axis=1) < 1 - TIE)
        if losing.size:
            return float(batch[losing[0]])
    return math.inf


@dataclass(frozen=True, slots=True)
class _Words:
    """Names a point by what tells it from the plan's other points, batch and context."""

    telling: tuple[Callable[[Setup], str], ...]
    alphas: bool
    lengths: bool

    @classmethod
    def of(cls, scenario: Scenario) -> _Words:
        """What varies in a scenario."""
        parts = [part.acceptance for part in scenario.parts]
        return cls(
            telling=tuple(t for t in _TELLING if len({t(s) for s in scenario.setups}) > 1),
            alphas=len(set(parts or scenario.acceptance)) > 1,
            lengths=len(scenario.k) > 1,
        )

    def point(self, point: Point, k: int) -> str:
        """Everything that tells the point."""
        return self._joined(point, k, f"batch {point.batch:.0f}")

    def setting(self, point: Point, k: int) -> str:
        """The same without the batch."""
        return self._joined(point, k)

    def _joined(self, point: Point, k: int, *batch: str) -> str:
        words = [telling(point.setup) for telling in self.telling]
        words += [*batch, f"context {point.context:.10g}"]
        if self.alphas:
            words.append(f"alpha {point.acceptance.alpha:g}")
        return ", ".join([*words, f"k {k}"] if self.lengths else words)
