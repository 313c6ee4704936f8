"""The best k for the acceptance of each capture, and what one k for all of them costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from specplan.domain.acceptance import Acceptance
from specplan.domain.scenario import Scenario
from specplan.errors import UsageError
from specplan.physics.choose import best_index
from specplan.physics.survival import tokens_of
from specplan.physics.tokens import FloatArray
from specplan.questions.common import one_setup, percent, times
from specplan.questions.weigh import Point, rounds_at


@dataclass(frozen=True, slots=True)
class OwnK:
    """The best k for one capture, the speedup there, and what the shared k loses against it;
    `measured` is the longest draft that the capture counted, where the best is longer.
    """

    k: int
    speedup: float
    shared_speedup: float
    loss: float
    measured: int | None = None


@dataclass(frozen=True, slots=True)
class SharedK:
    """At one batch and context (None where only a cost ratio was given): the k of least time per
    token averaged over the captures, and each capture's own.
    """

    batch: float | None
    context: float | None
    basis: str
    shared: int
    captures: tuple[OwnK, ...]


def shared_k(scenario: Scenario, models: Sequence[Acceptance]) -> SharedK:
    """By the engine of a scenario of one setup, one batch and one context."""
    setup = one_setup(scenario, "best k of captures")
    if len(scenario.batch) != 1 or len(scenario.context) != 1:
        raise UsageError("best k of captures is at one batch and context", hint="give one of each")
    (batch,), (context,) = scenario.batch, scenario.context
    points = [Point(setup, context, batch, model, scenario.growth) for model in models]
    each = [rounds_at(point, scenario.candidates) for point in points]
    if len({rounds.k for rounds in each}) != 1:
        raise AssertionError("one drafter proposes the same lengths whatever is kept")
    speedups = np.stack([rounds.speedup for rounds in each])
    says = f"{setup.label}, {setup.engine.says}"
    return _shared(each[0].k, speedups, models, (batch, context), says)


def shared_k_by_ratio(ratio: float, longest: int, models: Sequence[Acceptance]) -> SharedK:
    """By the cost ratio alone: k drafts cost k `ratio` target steps, and verification one
    (Leviathan et al. 2023, theorem 3.8).
    """
    k = tuple(range(longest + 1))
    cost = 1 + ratio * np.asarray(k, np.float64)
    speedups = np.stack([tokens_of(model, k) / cost for model in models])
    says = f"draft costs {ratio:g} of a step, verifying one step"
    return _shared(k, speedups, models, (None, None), says)


def _shared(
    k: tuple[int, ...],
    speedups: FloatArray,
    models: Sequence[Acceptance],
    at: tuple[float | None, float | None],
    basis: str,
) -> SharedK:
    """`speedups` (captures, K); as many tokens of each capture, so that times average."""
    common = int(best_index(1 / (1 / speedups).mean(axis=0)))
    own = []
    for row, model in zip(speedups, models, strict=True):
        best = int(best_index(row))
        loss = 1 - float(row[common] / row[best])
        known = model.measured if model.measured and k[best] > model.measured else None
        own.append(OwnK(k[best], float(row[best]), float(row[common]), max(loss, 0.0), known))
    return SharedK(*at, basis, k[common], tuple(own))


def best_lines(best: SharedK) -> tuple[str, ...]:
    """What people read of it."""
    return (" ".join(_said(best)),)


def _said(best: SharedK) -> Iterator[str]:
    where = (
        "" if best.batch is None else f" at batch {best.batch:,.0f}, context {best.context:,.0f}"
    )
    names = ("A", "B") if len(best.captures) > 1 else ("",)
    each = [
        f"{name + ': ' if name else ''}k = {own.k} ({times(own.speedup)})"
        for name, own in zip(names, best.captures, strict=True)
    ]
    yield f"Best k{where}: {', '.join(each)}."
    if len(best.captures) > 1:
        if len({own.k for own in best.captures}) == 1:
            yield "One k for both costs nothing."
        else:
            costs = [
                f"{name} {percent(own.loss)}"
                for name, own in zip(names, best.captures, strict=True)
            ]
            yield f"One k for both, k = {best.shared}, costs {' and '.join(costs)}."
    for name, own in zip(names, best.captures, strict=True):
        if own.measured:
            of = f" of {name}" if name else ""
            yield f"The k = {own.k}{of} is extrapolated: drafts of {own.measured} were counted."
    yield f"({best.basis})"
