"""What a plan comes to at each of its points: the facts that its expectations are held against."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from specplan.domain.acceptance import Acceptance
from specplan.domain.scenario import Scenario, Setup
from specplan.errors import Refused
from specplan.physics.choose import BATCH_LIMIT, TIE, best_index, break_even_alpha, scan_batches
from specplan.physics.round import seen_by, time_rounds
from specplan.physics.survival import tokens_of
from specplan.physics.tokens import FloatArray, alpha_for_tokens
from specplan.questions.bills import bill_at, usual_k
from specplan.questions.mix import mixed_speedups
from specplan.questions.weigh import lengths
from specplan.rules.expected import Facts

POINT_LIMIT = 100_000

# What tells one setup from another, where a plan has several.
_TELLING: tuple[Callable[[Setup], str], ...] = (
    lambda setup: setup.target.name,
    lambda setup: setup.draft.label,
    lambda setup: setup.where,
    lambda setup: setup.serving.served_by,
    lambda setup: f"attention-dp {setup.attention_dp}",
    lambda setup: f"ep {setup.ep}",
    lambda setup: f"dtype {setup.dtype}",
    lambda setup: f"draft dtype {setup.draft_dtype}",
    lambda setup: f"KV {setup.kv_dtype}",
    lambda setup: f"draft tp {setup.draft_tp}",
)


def facts_of(scenario: Scenario, *, scan_to: int = 0) -> list[Facts]:
    """Every point: setups x contexts x batches x alphas (or parts of a mix), and each k given.

    Without a k the best one of each point is taken, or the one that is best for a mix.
    `break_even_batch` is looked for among the batches up to `scan_to` that fit.
    """
    axes = (scenario.context, scenario.batch, scenario.acceptance)
    workloads = len(scenario.parts) or math.prod(map(len, axes))
    count = max(len(scenario.k), 1) * len(scenario.setups) * workloads
    if count > POINT_LIMIT:
        raise Refused(f"the plan has {count:,} points", hint=f"at most {POINT_LIMIT:,} are checked")
    work = _work(scenario)
    apart = telling(scenario.setups)
    return [
        facts
        for setup in scenario.setups
        for chosen in _choices(_priced(setup, work, scenario), scenario.k)
        for facts in _facts(chosen, apart(setup), scan_to)
    ]


def telling(setups: Sequence[Setup]) -> Callable[[Setup], str]:
    """What tells each of these from the others, in words; "" for the only one."""
    varying = [told for told in _TELLING if len({told(setup) for setup in setups}) > 1]
    return lambda setup: ", ".join(told(setup) for told in varying)


@dataclass(frozen=True, slots=True)
class _Work:
    """The workloads of a plan, one a point: arrays (P,), and the shares of those of a mix."""

    context: FloatArray
    batch: FloatArray
    acceptance: tuple[Acceptance, ...]
    growth: float
    shares: FloatArray | None


def _work(scenario: Scenario) -> _Work:
    parts = scenario.parts
    points = [(part.context, part.batch, part.acceptance) for part in parts]
    if not parts:
        points = list(product(scenario.context, scenario.batch, scenario.acceptance))
    context, batch, acceptance = zip(*points, strict=True)
    weights = np.asarray([part.weight for part in parts])
    shares = weights / weights.sum() if parts else None
    sizes = (np.asarray(context, np.float64), np.asarray(batch, np.float64))
    return _Work(*sizes, acceptance, scenario.growth, shares)


@dataclass(frozen=True, slots=True)
class _Priced:
    """A setup's candidates at every point: arrays (P, K); `common` is the best k of a mix."""

    setup: Setup
    work: _Work
    k: tuple[int, ...]
    tokens: FloatArray
    gain: FloatArray
    speedup: FloatArray
    tpot_s: FloatArray
    common: int | None


def _priced(setup: Setup, work: _Work, scenario: Scenario) -> _Priced:
    """The setup over a grid of the workloads' contexts and batches, and from it their points."""
    candidates = lengths(setup, tuple(sorted({*range(scenario.k_max + 1), *scenario.k})))
    plain_s, round_s = _times(setup, work, candidates)
    pairs = zip(work.acceptance, work.context.tolist(), strict=True)
    tokens = np.stack([tokens_of(model, candidates, context) for model, context in pairs])
    gain, tpot_s = plain_s[:, np.newaxis] / round_s, round_s / tokens
    common = None
    if work.shares is not None:
        common = int(best_index(mixed_speedups(work.shares, plain_s, tpot_s)))
    return _Priced(setup, work, candidates, tokens, gain, tokens * gain, tpot_s, common)


def _times(setup: Setup, work: _Work, k: tuple[int, ...]) -> tuple[FloatArray, FloatArray]:
    """Plain steps (P,) and rounds (P, K) of every point; point by point for a drafter of which
    verification carries what it finds.
    """
    if setup.draft.adapts:
        found = []
        for model, context, batch in zip(work.acceptance, work.context, work.batch, strict=True):
            seen = seen_by(setup, model, float(context))
            found.append(time_rounds(seen, (float(context),), (float(batch),), k))
        plain_s = np.stack([timing.plain_s[0, 0, 0] for timing in found])
        return plain_s, np.stack([timing.round_s[0, 0] for timing in found])
    contexts, at_context = np.unique(work.context, return_inverse=True)
    batches, at_batch = np.unique(work.batch, return_inverse=True)
    timing = time_rounds(setup, contexts.tolist(), batches.tolist(), k)
    at = at_context, at_batch
    return timing.plain_s[(*at, 0)], timing.round_s[at]


@dataclass(frozen=True, slots=True)
class _Chosen:
    """One candidate for each point, by its index (P,); `asked` are those that a plan fixes."""

    priced: _Priced
    index: npt.NDArray[np.intp]
    asked: tuple[int, ...]

    @property
    def k(self) -> npt.NDArray[np.int64]:
        """The draft lengths."""
        return np.asarray(self.priced.k)[self.index]

    @property
    def drafting(self) -> bool:
        """Whether a drafter is loaded: not where a plan fixes k = 0."""
        return not self.asked or bool(self.k[0])


def _choices(priced: _Priced, asked: tuple[int, ...]) -> Iterator[_Chosen]:
    """The k that each point runs: those asked for one after the other, or the best."""
    points = len(priced.work.acceptance)
    if not asked:
        best = best_index(priced.speedup)
        common = priced.common
        yield _Chosen(priced, best if common is None else np.full(points, common), ())
    for k in asked:
        if k not in priced.k:
            label, longest = priced.setup.draft.label, priced.k[-1]
            raise Refused(f"draft {label} cannot propose k = {k}", hint=f"at most {longest}")
        yield _Chosen(priced, np.full(points, priced.k.index(k)), asked)


def _facts(chosen: _Chosen, telling: str, scan_to: int) -> Iterator[Facts]:
    """The facts of each point, the setup told from the plan's others by `telling`."""
    setup, work = chosen.priced.setup, chosen.priced.work
    alphas = len(set(work.acceptance)) > 1
    columns = _speed(chosen) | _memory(chosen)
    if scan_to:
        scanned = np.minimum(columns["largest_batch"], min(scan_to, BATCH_LIMIT))
        columns["break_even_batch"] = _first_losses(chosen, scanned)
    for values in zip(*(column.tolist() for column in columns.values()), strict=True):
        yield Facts(
            setup=telling,
            alphas=alphas,
            lengths=len(chosen.asked) > 1,
            target=setup.target.name,
            draft=setup.draft.label,
            hardware=setup.hardware.name,
            tp=setup.tp,
            bound=setup.engine.kind == "bound",
            **dict(zip(columns, values, strict=True)),
        )


def _speed(chosen: _Chosen) -> dict[str, npt.NDArray[Any]]:
    """What each point comes to at the chosen k and at the best: arrays (P,) by name."""
    priced, work, index = chosen.priced, chosen.priced.work, chosen.index
    rows, best = np.arange(len(index)), best_index(priced.speedup)
    speedup, best_speedup = priced.speedup[rows, index], priced.speedup[rows, best]
    tpot_s, best_tpot_s = priced.tpot_s[rows, index], priced.tpot_s[rows, best]
    regret = 1 - speedup / best_speedup
    return {
        "batch": work.batch.astype(np.int64),
        "context": work.context,
        "alpha": _alphas(chosen),
        "acceptance": np.asarray([str(model) for model in work.acceptance], object),
        "k": chosen.k,
        "speedup": speedup,
        "tpot_s": tpot_s,
        "tokens_per_s": work.batch / tpot_s,
        "best_k": np.asarray(priced.k)[best],
        "best_speedup": best_speedup,
        "best_tpot_s": best_tpot_s,
        "best_tokens_per_s": work.batch / best_tpot_s,
        "k_regret": np.where(regret > TIE, regret, 0.0),
        "break_even_alpha": break_even_alpha(1 / priced.gain[rows, index], chosen.k),
        "break_even_batch": np.full(len(rows), np.inf),
    }


def _memory(chosen: _Chosen) -> dict[str, npt.NDArray[Any]]:
    """Room at each point; `free_bytes` is negative just where the batch exceeds the largest."""
    work, drafting = chosen.priced.work, chosen.drafting
    setup = chosen.priced.setup
    bill = bill_at(setup, work.context + work.growth, usual_k(setup, chosen.asked))
    largest = bill.largest if drafting else bill.largest_plain
    free = bill.usable_bytes - bill.needed_bytes(work.batch, drafted=drafting)
    drafted = bill.draft_bytes + work.batch * bill.draft_sequence_bytes
    return {
        "largest_batch": largest.astype(np.int64),
        "free_bytes": np.where(
            work.batch <= largest, np.maximum(free, 0.0), np.minimum(free, -1.0)
        ),
        "draft_bytes": drafted if drafting else np.zeros(len(drafted)),
    }


def _first_losses(chosen: _Chosen, scanned: npt.NDArray[np.int64]) -> FloatArray:
    """The first batch at which the fixed k loses, or for a chosen one at which every k > 0 does.

    It does not depend on a point's own batch: each context and alpha is scanned once.
    """
    priced, work = chosen.priced, chosen.priced.work
    every = tuple(n for n in priced.k if n) or (0,)
    candidates = (int(chosen.k[0]),) if chosen.asked else every
    known: dict[tuple[float, Acceptance], float] = {}
    losses = []
    points = zip(work.context.tolist(), work.acceptance, scanned.tolist(), strict=True)
    for context, model, limit in points:
        if (context, model) not in known:
            setup = seen_by(priced.setup, model, context)
            known[context, model] = _first_loss(setup, context, model, candidates, limit)
        losses.append(known[context, model])
    return np.asarray(losses)


def _alphas(chosen: _Chosen) -> FloatArray:
    """The alpha of each point; of another acceptance that of as many tokens at the chosen k."""
    priced, rows = chosen.priced, np.arange(len(chosen.index))
    like = alpha_for_tokens(priced.tokens[rows, chosen.index], chosen.k)
    own = [model.iid for model in priced.work.acceptance]
    pairs = zip(own, like.tolist(), strict=True)
    return np.asarray([other if alpha is None else alpha for alpha, other in pairs])


def _first_loss(
    setup: Setup, context: float, model: Acceptance, candidates: tuple[int, ...], limit: int
) -> float:
    if limit < 1:
        return 0.0
    tokens = tokens_of(model, candidates, context)
    for batch, gain in scan_batches(setup, context, candidates, limit):
        losing = np.flatnonzero((tokens * gain).max(axis=1) < 1 - TIE)
        if losing.size:
            return float(batch[losing[0]])
    return math.inf
