"""Which k a plan comes to: its own, the best one, or one for each range of batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from specplan.domain.deployment import OneK, Step, TreeShape
from specplan.domain.scenario import Scenario, Setup
from specplan.errors import UsageError
from specplan.physics.choose import BATCH_LIMIT, scan_batches
from specplan.physics.round import seen_by
from specplan.physics.schedule import Schedule
from specplan.physics.survival import tokens_of
from specplan.physics.tokens import FloatArray
from specplan.questions.bills import bill_at, usual_k
from specplan.questions.common import percent, times
from specplan.questions.facts import facts_of
from specplan.questions.init import common_k
from specplan.questions.weigh import lengths

GATED = "gate"


@dataclass(frozen=True, slots=True)
class Chosen:
    """What is to run: one k, or k by batch and the one k in its place; `said` if it was chosen."""

    k: int
    schedule: tuple[Step, ...] = ()
    instead: OneK | None = None
    batch: int = 1
    fits: bool = True
    said: tuple[str, ...] = ()


def chosen(scenario: Scenario, setup: Setup, shape: TreeShape | None, hysteresis: float) -> Chosen:
    """The plan's own k, the best one for all its workloads, or k by batch."""
    batch = int(max(scenario.batch))
    if shape is not None:
        return Chosen(k=shape.steps, batch=batch)
    if asked_plain(scenario, setup):
        return Chosen(k=0, batch=batch)
    if asks_gate(scenario):
        return _by_batch(scenario, setup, hysteresis)
    if len(scenario.k) == 1:
        return Chosen(k=scenario.k[0], batch=batch, fits=_fits(scenario, setup))
    k = common_k(scenario)
    points = facts_of(replace(scenario, k=(k,)))
    worst = max(points, key=lambda facts: facts.k_regret)
    said = f"k = {k} is the best"
    if len(points) > 1:
        said += f" one for all {len(points)} workloads, where it loses {percent(worst.k_regret)} at"
        said += f" most; {times(min(f.speedup for f in points))} at least"
    else:
        said += f": {times(points[0].speedup)} at batch {batch:,}"
    fits = all(facts.free_bytes >= 0 for facts in points)
    return Chosen(k=k, batch=batch, fits=fits, said=(said,))


def asked_plain(scenario: Scenario, setup: Setup) -> bool:
    """Whether nobody wanted to speculate."""
    return setup.draft.max_k == 0 or scenario.k == (0,)


def asks_gate(scenario: Scenario) -> bool:
    """Whether k is to follow the batch."""
    given = scenario.inputs.get("k")
    return given is not None and given.value == GATED


def _fits(scenario: Scenario, setup: Setup) -> bool:
    """Whether the largest batch fits beside the drafter at the longest context."""
    end = max(scenario.context) + scenario.growth
    bill = bill_at(setup, end, usual_k(setup, scenario.k))
    return max(scenario.batch) <= float(bill.largest)


def _by_batch(scenario: Scenario, setup: Setup, hysteresis: float) -> Chosen:
    """K by batch over all that fit, with no more changes than are worth the hysteresis."""
    if len(scenario.context) != 1 or len(scenario.acceptance) != 1:
        raise UsageError("k by batch is of one context and acceptance", hint="give one of each")
    context, acceptance = scenario.context[0], scenario.acceptance[0]
    seen = seen_by(setup, acceptance, context)
    bill = bill_at(seen, context + scenario.growth, usual_k(seen))  # as `gate` counts
    largest = min(int(bill.largest), BATCH_LIMIT)
    k = lengths(seen, scenario.candidates)
    if not largest:
        return Chosen(k=0, fits=False)
    tokens = tokens_of(acceptance, k, context)
    found = Schedule(k, hysteresis)
    for batch, gain in scan_batches(seen, context, k, largest):
        found.see(batch, tokens * gain)
    ranges = found.finished()
    steps = tuple(Step(r.first_batch, r.last_batch, r.k) for r in ranges)
    asked = scenario.inputs.get("batch")
    planned = int(max(scenario.batch)) if asked and asked.origin != "default" else largest
    if len(steps) == 1:
        said = (
            f"k = {steps[0].k} for every batch: it loses at most {percent(ranges[0].loss)} against "
        )
        said += "the best k of a batch"
        return Chosen(k=steps[0].k, batch=planned, said=(said,))
    one = found.single()
    return Chosen(
        k=max(step.k for step in steps),
        schedule=steps,
        instead=OneK(one.k, one.loss, one.batch),
        batch=planned,
    )


def losses_of(
    scenario: Scenario, setup: Setup, *schedules: Sequence[Step]
) -> list[tuple[float, int]]:
    """What each schedule loses at most against the best k of each batch, and where."""
    found = [(0.0, steps[0].first_batch) for steps in schedules]
    for batch, losses in _losses(scenario, setup, schedules):
        for i, loss in enumerate(losses):
            place = int(np.argmax(loss))
            if loss[place] > found[i][0]:
                found[i] = float(loss[place]), int(batch[place])
    return found


def worth_of(scenario: Scenario, setup: Setup, steps: Sequence[Step], k: int) -> tuple[float, int]:
    """What a schedule gains at most over one k for all, as a share of the speedup, and where."""
    whole = (Step(1, steps[-1].last_batch, k),)
    most = (0.0, 1)
    for batch, (own, one) in _losses(scenario, setup, (steps, whole)):
        gain = (1 - own) / (1 - one) - 1
        place = int(np.argmax(gain))
        most = max(most, (float(gain[place]), int(batch[place])), key=lambda found: found[0])
    return most


def _losses(
    scenario: Scenario, setup: Setup, schedules: Sequence[Sequence[Step]]
) -> Iterator[tuple[FloatArray, list[FloatArray]]]:
    """Batches (B,) in order, and what each schedule loses there (B,) against the best k of each."""
    context, acceptance = scenario.context[0], scenario.acceptance[0]
    seen = seen_by(setup, acceptance, context)
    k = lengths(seen, scenario.candidates)
    tokens = tokens_of(acceptance, k, context)
    last = max(steps[-1].last_batch for steps in schedules)
    for batch, gain in scan_batches(seen, context, k, last):
        speedup = tokens * gain
        lost = 1 - speedup / speedup.max(axis=1, keepdims=True)
        losses = []
        for steps in schedules:
            written = np.asarray([k.index(step.k) for step in steps])
            ends = [step.last_batch for step in steps]
            chosen = written[np.minimum(np.searchsorted(ends, batch), len(steps) - 1)]
            losses.append(lost[np.arange(len(batch)), chosen])
        yield batch, losses


def never_off(schedule: Sequence[Step]) -> tuple[Step, ...]:
    """With one draft token where there is none."""
    return tuple(replace(step, k=max(step.k, 1)) for step in schedule)


def joined(schedule: Sequence[Step]) -> tuple[Step, ...]:
    """With neighbours of one k as one."""
    found: list[Step] = []
    for step in schedule:
        first = found.pop().first_batch if found and found[-1].k == step.k else step.first_batch
        found.append(replace(step, first_batch=first))
    return tuple(found)
