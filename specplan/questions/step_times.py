"""Measured figures as step times: what a file holds, divided by the tokens that a round yields."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from specplan.domain.acceptance import Acceptance
from specplan.domain.runs import SPEEDUP, STEP, TPOT, Run
from specplan.errors import InputError, Where
from specplan.physics.step_form import Points
from specplan.physics.survival import tokens_of
from specplan.physics.tokens import FloatArray

FEWEST = 3
ALIKE = 1.1  # times another context: one and the same
MOST = 500  # figures, beyond which repeats are folded: a fit takes as long as they are many


@dataclass(frozen=True, slots=True)
class StepTimes:
    """Where steps were measured and how long each took, (P,), in which cells; `known` is whether a
    context is, and `assumed` what had to be taken from elsewhere, in sentences.
    """

    points: Points
    time_s: FloatArray
    where: tuple[Where, ...]
    known: bool
    assumed: tuple[str, ...]


def step_times(
    rows: Sequence[Run], acceptance: Acceptance | None, context: float | None
) -> StepTimes:
    """The figures in seconds of a step or a whole round. Rows without a context get `context`.

    A rate or a time per token becomes a time by the tokens of a round: those of the row, else of
    `acceptance`; refused where neither says. A speedup needs a plain step beside it. Of more than
    MOST figures, those of one place are folded into their median.
    """
    if len(rows) < FEWEST:
        what = f"{len(rows)} step time{'' if len(rows) == 1 else 's'}"
        raise InputError(what, where=rows[0].where, expected=f"{FEWEST} or more")
    contexts = _alike(_contexts(rows, context))
    plain = {
        (run.batch, at): run.value * (run.tau or 1.0)
        for run, at in zip(rows, contexts, strict=True)
        if run.what in {STEP, TPOT} and run.k == 0 and run.width == 1
    }
    times = [_seconds(run, at, acceptance, plain) for run, at in zip(rows, contexts, strict=True)]
    points = Points(
        batch=np.asarray([run.batch for run in rows], np.float64),
        context=np.asarray([at or 0.0 for at in contexts], np.float64),
        width=np.asarray([run.width for run in rows], np.float64),
        k=np.asarray([run.k for run in rows], np.float64),
    )
    converted = any(run.what != STEP and run.k and run.tau is None for run in rows)
    assumed = (
        f"tokens per round of rows without tau are those of acceptance {acceptance}"
        if converted
        else "",
    )
    every = StepTimes(
        points,
        np.asarray(times, np.float64),
        where=tuple(run.where for run in rows),
        known=contexts[0] is not None,
        assumed=tuple(filter(None, assumed)),
    )
    return every if len(rows) <= MOST else _folded(every)


def _folded(times: StepTimes) -> StepTimes:
    """One figure for each place, the median of its logarithms."""
    axes = (times.points.batch, times.points.context, times.points.width, times.points.k)
    places, first, group = np.unique(np.stack(axes), axis=1, return_index=True, return_inverse=True)
    order = np.argsort(group.reshape(-1), kind="stable")
    ends = np.cumsum(np.bincount(group.reshape(-1)))[:-1]
    logs = [np.median(one) for one in np.split(np.log(times.time_s[order]), ends)]
    said = f"{len(order):,} figures lie at {len(logs):,} places: the median of each is fitted"
    return replace(
        times,
        points=Points(*places),
        time_s=np.exp(logs),
        where=tuple(times.where[at] for at in first),
        assumed=(*times.assumed, *((said,) if len(logs) < len(order) else ())),
    )


def _contexts(rows: Sequence[Run], context: float | None) -> list[float | None]:
    """The context of each row; of all or of none."""
    found = [run.context if run.context is not None else context for run in rows]
    blank = next((run for run, at in zip(rows, found, strict=True) if at is None), None)
    if blank is not None and any(at is not None for at in found):
        hint = "fill it, or give -c for the rows without"
        raise InputError("a row without context beside rows with", where=blank.where, hint=hint)
    return found


def _alike(contexts: Sequence[float | None]) -> list[float | None]:
    """The same, those within ALIKE of one another as their median: a mean that a server saw, which
    differs a little from run to run, is one context.
    """
    groups: list[list[float]] = []
    for one in sorted(context for context in contexts if context is not None):
        if groups and one <= ALIKE * groups[-1][0]:
            groups[-1].append(one)
        else:
            groups.append([one])
    middle = {one: float(np.median(group)) for group in groups for one in group}
    return [middle.get(one) if one is not None else None for one in contexts]


def _seconds(
    run: Run,
    context: float | None,
    acceptance: Acceptance | None,
    plain: dict[tuple[float, float | None], float],
) -> float:
    """One figure as seconds of a step or a round."""
    if run.what == STEP:
        return run.value
    tokens = run.tau
    if tokens is None:
        tokens = 1.0 if run.k == 0 else _tokens(run, context, acceptance)
    if run.what == TPOT:
        return run.value * tokens
    if run.what != SPEEDUP:
        return tokens * run.batch / run.value
    if (run.batch, context) not in plain:
        raise InputError(
            f"a speedup at batch {run.batch:g} and no plain step there",
            where=run.where,
            expected="a row of kind step at the same batch and context",
        )
    return tokens * plain[run.batch, context] / run.value


def _tokens(run: Run, context: float | None, acceptance: Acceptance | None) -> float:
    if acceptance is None:
        raise InputError(
            f"tokens per round of k = {run.k} are not known, and without them no time follows",
            where=run.where,
            expected="a column tau, or step_s",
            hint="or say -a, such as unconditional:.8,.6,.5",
        )
    return float(tokens_of(acceptance, (run.k,), context or 0.0)[0])
