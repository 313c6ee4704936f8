"""Plain decoding against speculation where memory limits the batch: who fills it with what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from specplan.domain.scenario import Scenario, Serving, Setup
from specplan.physics.choose import best_index
from specplan.physics.round import seen_by, time_points
from specplan.physics.survival import tokens_table
from specplan.physics.tokens import FloatArray
from specplan.questions.weigh import lengths

if TYPE_CHECKING:
    from specplan.questions.bills import MemoryBill

_CELLS = 1 << 18  # speedups that are held together


@dataclass(frozen=True, slots=True)
class Arms:
    """Speedup at the largest batch of both arms, and with each arm at its own largest."""

    hardware: str
    serving: Serving
    context: float
    largest_batch_plain: int
    alpha: float | None
    acceptance: str
    k: int
    at_equal_batch: float
    at_own_largest: float


def arms_of(scenario: Scenario, setup: Setup, bills: Sequence[MemoryBill]) -> Iterator[Arms]:
    """The arms at each of the scenario's contexts whose bill lets a sequence fit, at each
    acceptance and draft length. They run at the average context, in the batches of the bill.

    Without a k of its own a scenario is compared at the best for the drafter's largest batch.
    """
    pairs = zip(scenario.context, bills, strict=True)
    fitting = [(context, bill) for context, bill in pairs if bill.largest_batch]
    if not scenario.acceptance:
        return
    if not setup.draft.adapts:
        yield from _together(scenario, setup, fitting)
        return
    for context, bill in fitting:  # one by one, with the drafter as each finds it
        for model in scenario.acceptance:
            alone = replace(scenario, context=(context,), acceptance=(model,))
            yield from _together(alone, seen_by(setup, model, context), [(context, bill)])


def _together(
    scenario: Scenario, setup: Setup, fitting: Sequence[tuple[float, MemoryBill]]
) -> Iterator[Arms]:
    step = max(1, _CELLS // (len(scenario.acceptance) * len(scenario.candidates)))
    for start in range(0, len(fitting), step):
        contexts, some = zip(*fitting[start : start + step], strict=True)
        compared = _compared(scenario, setup, np.asarray(contexts, np.float64), some)
        for bill, *per_bill in zip(some, *(array.tolist() for array in compared), strict=True):
            for acceptance, *per_k in zip(scenario.acceptance, *per_bill, strict=True):
                for k, equal, own in zip(*per_k, strict=True):
                    yield Arms(
                        hardware=bill.hardware,
                        serving=setup.serving,
                        context=bill.context,
                        largest_batch_plain=bill.largest_batch_plain,
                        alpha=acceptance.iid,
                        acceptance=str(acceptance),
                        k=int(k),
                        at_equal_batch=equal,
                        at_own_largest=own,
                    )


def _compared(
    scenario: Scenario, setup: Setup, context: FloatArray, bills: Sequence[MemoryBill]
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """k, the speedup at equal batch and that at each arm's own: arrays (context, acceptance, k)."""
    plain, drafted = np.asarray(
        [(bill.largest_batch_plain, bill.largest_batch) for bill in bills], np.float64
    ).T
    asked = tuple(k for k in lengths(setup, scenario.k) if k in scenario.k)
    k = asked if scenario.k else lengths(setup, scenario.candidates)
    table = tokens_table(scenario.acceptance, k, context.tolist())
    tokens = np.broadcast_to(table, (len(context), *table.shape[1:]))
    equal, apart = time_points(setup, context, plain, k), time_points(setup, context, drafted, k)
    # k = 0 drafts nothing: plain decoding, without the drafter.
    drafts = np.asarray(k) > 0
    own = np.where(drafts, drafted[:, np.newaxis, np.newaxis], plain[:, np.newaxis, np.newaxis])
    own_round_s = np.where(drafts, apart.round_s, equal.round_s)
    plain_rate = plain[:, np.newaxis, np.newaxis] / equal.plain_s
    found = (
        np.broadcast_to(np.asarray(k, np.float64), tokens.shape),
        tokens * equal.plain_s / equal.round_s,
        own * tokens / own_round_s / plain_rate,
    )
    if scenario.k:
        return found
    best = best_index(tokens * apart.gain)[..., np.newaxis]
    k_, at_equal, at_own = (np.take_along_axis(array, best, axis=-1) for array in found)
    return k_, at_equal, at_own
