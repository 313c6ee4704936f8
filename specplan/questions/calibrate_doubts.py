"""What measured steps look like when a column does not hold what its name says."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from specplan.domain.runs import STEP, THROUGHPUT, TPOT, Runs
from specplan.errors import InputError
from specplan.questions.step_times import StepTimes
from specplan.units import people

LONG_S, SHORT_S = 1.0, 200e-6  # a plain step beyond these is more often a slip of units
LEAST_S = 20e-6  # no target's step starts and ends in less: a few launches alone take longer
SHORTER = 0.95  # of a plain step: a round that takes less drafts nothing, or is a time per token
MANY_MORE = 4.0  # times the sequences, and no more tokens per second: a rate of one sequence


def doubts(runs: Runs, times: StepTimes) -> Iterator[str]:
    """Sentences on figures that are possible, and are more often a slip."""
    yield from _units(times)
    what = {run.what for run in runs.rows}
    if what == {STEP}:
        yield from _per_token(times)
    if what == {THROUGHPUT}:
        yield from _per_sequence(runs)
    if runs.unread:
        many = len(runs.unread) > 1
        yield f"column{'s' if many else ''} {', '.join(runs.unread)}: not read"


def refuse_units(runs: Runs, times: StepTimes) -> None:
    """Refuses a shortest plain step of more than a second or of less than LEAST_S, of all steps
    where none is plain: its column is of another unit.
    """
    points = times.points
    plain = (points.k == 0) & (points.width == 1)
    only = np.flatnonzero(plain if plain.any() else np.ones_like(plain))
    at = int(only[np.argmin(times.time_s[only])])
    least = float(times.time_s[at])
    if LEAST_S <= least <= LONG_S:
        return
    what = {run.what for run in runs.rows}
    if THROUGHPUT in what:
        hint = "tokens_per_s is of all sequences together"
    else:
        name = "tpot" if TPOT in what else "step"
        hint = f"if the file holds milliseconds, its column is {name}_ms"
        if least < LEAST_S:
            hint = (
                f"a column {name}_us holds microseconds, {name}_ms milliseconds, {name}_s seconds"
            )
    raise InputError(
        f"the shortest {'plain ' if plain.any() else ''}step takes {people(least, 's')}",
        where=times.where[at],
        expected=f"{people(LEAST_S, 's')} to {people(LONG_S, 's')}",
        hint=f"{hint}; --force takes it as it is",
    )


def _units(times: StepTimes) -> Iterator[str]:
    least = float(times.time_s.min())
    if not SHORT_S <= least <= LONG_S:
        unit = "milliseconds" if least > LONG_S else "seconds"
        column = "step_ms" if least > LONG_S else "step_s"
        yield (
            f"the shortest step takes {people(least, 's')}: if the file holds {unit}, its column "
            f"is {column}"
        )


def _per_token(times: StepTimes) -> Iterator[str]:
    points = times.points
    for batch, context in sorted(set(zip(points.batch, points.context, strict=True))):
        here = (points.batch == batch) & (points.context == context)
        plain = times.time_s[here & (points.k == 0) & (points.width == 1)]
        rounds = times.time_s[here & (points.k > 0)]
        if plain.size and rounds.size and rounds.min() < SHORTER * np.median(plain):
            yield (
                f"a round at batch {batch:g} takes less than a plain step: a time per token stands "
                "in a column tpot_s"
            )
            return


def _per_sequence(runs: Runs) -> Iterator[str]:
    plain = sorted((run.batch, run.value) for run in runs.rows if run.k == 0)
    if len(plain) > 1 and plain[-1][0] >= MANY_MORE * plain[0][0] and plain[-1][1] <= plain[0][1]:
        yield (
            f"{plain[-1][0]:g} sequences make no more tokens per second than {plain[0][0]:g}: "
            "tokens_per_s is of all of them together"
        )
