"""The best k at each batch of calibrated steps, and what every candidate gives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from specplan.errors import UsageError, Where
from specplan.physics.between import MEASURED, Fitted
from specplan.physics.choose import best_index
from specplan.physics.step_form import Points
from specplan.physics.survival import tokens_of
from specplan.questions import calibrate_view as view
from specplan.questions.calibrated import Asked, Chosen
from specplan.questions.step_times import StepTimes

MOST_ASKED = 10_000  # points of a best k


def candidates(fitted: Fitted, asked: Asked) -> tuple[int, ...]:
    """The draft lengths that a best k is chosen from; plain decoding is always one."""
    longest = int(fitted.points.k.max())
    if not longest and any(asked.k):
        raise UsageError(
            "no round was measured, and without one no draft length can be weighed",
            where=Where("-k"),
            expected="rows of k of 1 or more",
        )
    return tuple(sorted({0, *asked.k})) if asked.k else tuple(range(longest + 1))


def choices_of(fitted: Fitted, times: StepTimes, asked: Asked) -> Iterator[Chosen]:
    """The best k at each batch and context."""
    k = candidates(fitted, asked)
    places = list(_places(fitted, times, asked))
    if len(places) * len(k) > MOST_ASKED:
        raise UsageError(f"more than {MOST_ASKED:,} points", hint="ask for fewer batches")
    for context, batch in places:
        yield _chosen(fitted, asked, batch, context, k)


def _places(fitted: Fitted, times: StepTimes, asked: Asked) -> Iterator[tuple[float | None, float]]:
    """Contexts and batches of a best k: those asked for, else as they were measured together."""
    points = fitted.points
    measured = set(zip(points.context.tolist(), points.batch.tolist(), strict=True))
    batches = asked.batch or tuple(np.unique(points.batch).tolist())
    known = np.unique(points.context).tolist() if times.known else [None]
    for context in known if asked.context is None else [asked.context]:
        for batch in batches:
            if asked.batch or asked.context is not None or (context or 0.0, batch) in measured:
                yield context, batch


def points_at(batch: float, context: float | None, k: Sequence[int]) -> Points:
    """Plain step and rounds of each k at one batch and context."""
    lengths = np.asarray(k, np.float64)
    ones = np.ones_like(lengths)
    return Points(batch * ones, (context or 0.0) * ones, lengths + 1, lengths)


def _chosen(
    fitted: Fitted, asked: Asked, batch: float, context: float | None, k: Sequence[int]
) -> Chosen:
    assert asked.acceptance is not None  # noqa: S101 - nobody asks without
    here = fitted.at(points_at(batch, context, k))
    rate = tokens_of(asked.acceptance, k, context or 0.0) / here.time_s
    best = int(best_index(rate))
    others = np.delete(np.arange(len(k)), best)
    second = int(others[np.argmax(rate[others])]) if others.size else None
    margin = None if second is None else float(1 - rate[second] / rate[best])
    doubt = 0.0 if second is None else float(np.hypot(here.spread[best], here.spread[second]))
    return Chosen(
        batch=batch,
        context=context,
        k=k[best],
        tokens_per_s=float(batch * rate[best]),
        tpot_s=float(1 / rate[best]),
        speedup=float(rate[best] / rate[0]),
        next_k=None if second is None else k[second],
        margin=margin,
        spread=float(here.spread[best]),
        how=here.how[best],
        unsure=margin is not None and margin < doubt,
    )


def best_k(choices: Sequence[Chosen]) -> dict[str, int]:
    """Draft lengths by batch; by batch@context where a batch has several contexts."""
    several = len({choice.batch for choice in choices}) < len(choices)
    return {
        f"{c.batch:g}@{c.context:g}" if several and c.context is not None else f"{c.batch:g}": c.k
        for c in choices
    }


def rows_of(
    fitted: Fitted, times: StepTimes, asked: Asked, choices: Sequence[Chosen]
) -> Iterator[view.Row]:
    """Every figure with what the fit says of it, then every candidate that was not measured."""
    points, found = fitted.points, fitted.found
    best = {(c.batch, c.context or 0.0): c.k for c in choices}
    seen = set()
    estimate, form_s = fitted.at(points), fitted.form_s(points)
    for i, measured_s in enumerate(times.time_s.tolist()):
        place = tuple(float(a[i]) for a in (points.batch, points.context, points.width, points.k))
        seen.add((place[0], place[1], place[3]))
        row = view.row(place, known=times.known, how=MEASURED if found.kept[i] else "left out")
        row |= {"measured_s": measured_s, "form_s": float(form_s[i])}
        row |= {"residual": float(found.residual[i]), "left_out": float(found.left_out[i])}
        row |= view.outcome(float(estimate.time_s[i]), float(estimate.spread[i]))
        row |= _rated(asked, place, float(estimate.time_s[i]), best)
        yield row
    for choice in choices:
        k = candidates(fitted, asked)
        here = fitted.at(points_at(choice.batch, choice.context, k))
        form_s = fitted.form_s(points_at(choice.batch, choice.context, k))
        for i, length in enumerate(k):
            place = (choice.batch, choice.context or 0.0, length + 1.0, float(length))
            if (place[0], place[1], place[3]) in seen:
                continue
            row = view.row(place, known=times.known, how=here.how[i])
            row |= {"form_s": float(form_s[i])}
            row |= view.outcome(float(here.time_s[i]), float(here.spread[i]))
            yield row | _rated(asked, place, float(here.time_s[i]), best)


def _rated(
    asked: Asked,
    place: tuple[float, ...],
    time_s: float,
    best: Mapping[tuple[float, float], int],
) -> view.Row:
    """Tokens per round and per second, where an acceptance says and it is a step or a round."""
    batch, context, width, k = place
    if asked.acceptance is None or (k == 0 and width > 1):
        return {}
    tokens = float(tokens_of(asked.acceptance, (int(k),), context)[0])
    return {
        "tokens_per_round": tokens,
        "tokens_per_s": batch * tokens / time_s,
        "best": best.get((batch, context)) == int(k),
    }
