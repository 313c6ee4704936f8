"""The dials of a report: figures at every point of a small grid around the one it is about."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from specplan.domain.acceptance import Acceptance, Alpha
from specplan.domain.explorer import Dial, Explorer, Reading
from specplan.domain.forms import Form, number_text
from specplan.domain.scenario import Scenario
from specplan.physics.choose import best_index
from specplan.physics.round import Timing, bound_names, seen_by, time_rounds
from specplan.physics.survival import tokens_of
from specplan.questions.bills import bill_at, usual_k
from specplan.questions.report_point import worth
from specplan.questions.weigh import Point, lengths
from specplan.units import people

BEST = "best"
EVERY = ("context", "batch", "alpha", "k")
WORKLOAD, YIELD = EVERY[:3], ("context", "alpha", "k")
ALPHAS = (0.2, 0.3, 0.4, 0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9)
STRETCH = (0.25, 1.0, 2.0, 4.0)  # of the point's own context
MOST_BATCHES = 10  # powers of two; the longest of them is near the largest that fits
FEWEST_BATCHES = 3
MOST_PLACES = 12_000  # of all dials together: a page of them stays under 2 MB
DIGITS = 5  # of what is drawn

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Grid:
    """The places of the dials; `own` are those of the point itself, `k` without `best`. `named` is
    what each acceptance is called for short.
    """

    context: tuple[float, ...]
    batch: tuple[float, ...]
    acceptance: tuple[Acceptance, ...]
    named: tuple[str, ...]
    k: tuple[int, ...]
    own: tuple[int, int, int]


def grid_of(point: Point, scenario: Scenario, k: Sequence[int] = (), here: int = 1) -> Grid:
    """The grid around a point: contexts up to what the target was trained on, batches up to what
    fits, alphas from 0.2 to 0.9 with its own acceptance where the alpha lies that is worth as much
    at k = `here`, every candidate and the `k` given.
    """
    setup = point.setup
    trained = setup.target.trained_context or math.inf
    contexts = {
        float(c)
        for c in (round(point.context * s) for s in STRETCH)
        if c >= 1 and c + point.growth <= trained
    }
    context = tuple(sorted({*contexts, point.context}))
    bill = bill_at(setup, [point.end], usual_k(setup, scenario.k))
    largest = max(int(bill.largest[0]), int(bill.largest_plain[0]), 1)
    like = worth(point.acceptance, here, point.context)
    acceptance = _acceptances(point.acceptance, like)
    candidates = tuple(sorted({*range(scenario.k_max + 1), *scenario.candidates, *k}))
    others = len(context) * len(acceptance) * (len(candidates) + 1)
    batch = tuple(sorted({*_batches(largest, MOST_PLACES // others), point.batch}))
    return Grid(
        context=context,
        batch=batch,
        acceptance=acceptance,
        named=tuple(
            short(one, like) if one is point.acceptance else str(one) for one in acceptance
        ),
        k=lengths(setup, candidates),
        own=(
            context.index(point.context),
            batch.index(point.batch),
            acceptance.index(point.acceptance),
        ),
    )


def _batches(largest: int, room: int) -> list[float]:
    """Powers of two up to the largest, evenly fewer where longer drafts leave less room."""
    powers = [float(2**n) for n in range(largest.bit_length())]
    most = min(MOST_BATCHES, max(FEWEST_BATCHES, room))
    return powers[:: math.ceil(len(powers) / most)]


def _acceptances(own: Acceptance, like: float) -> tuple[Acceptance, ...]:
    """Alphas in order, one's own among them in place of its equal, or before its equal where it is
    none but worth as much as one: `like`.
    """
    pairs: list[tuple[float, Acceptance]] = [(value, Alpha(value)) for value in ALPHAS]
    if isinstance(own, Alpha):
        pairs = [(value, one) for value, one in pairs if value != like]
    return tuple(one for _, one in sorted([(like, own), *pairs], key=lambda pair: pair[0]))


def short(own: Acceptance, like: float) -> str:
    """What an acceptance is called where there is little room: no name of a file, no list."""
    return str(own) if isinstance(own, Alpha) else f"~{like:.2f}"


def explorer_of(point: Point, grid: Grid, judged: int | None) -> Explorer:
    """The dials with their readings; `judged` is the k that the plan fixes, the best where None."""
    at_k = 0 if judged is None else 1 + grid.k.index(judged)
    dials = (
        Dial("context", "context, tokens", _words(grid.context), grid.own[0]),
        Dial("batch", "batch, sequences", _words(grid.batch), grid.own[1]),
        Dial("alpha", "acceptance", grid.named, grid.own[2]),
        Dial("k", "draft tokens a round", (BEST, *map(str, grid.k)), at_k),
    )
    return Explorer(dials, tuple(_readings(point, grid)))


def _words(values: Sequence[float]) -> tuple[str, ...]:
    return tuple(people(value, "tokens") for value in values)


def _readings(point: Point, grid: Grid) -> Iterator[Reading]:
    found = _timed(point, grid)
    tokens, round_s = found.tokens[:, np.newaxis], found.round_s
    speedup = tokens * found.plain_s[..., np.newaxis, np.newaxis] / round_s
    best = best_index(speedup)
    most = np.take_along_axis(speedup, best[..., np.newaxis], axis=-1)[..., 0]
    tpot_s = round_s / tokens
    flow = np.asarray(grid.batch).reshape(1, -1, 1, 1) / tpot_s
    drafted: tuple[str, ...] = EVERY if point.setup.draft.adapts else ("context", "batch", "k")
    yield _reading("speedup", "speedup", "1", EVERY, speedup, "times")
    yield _reading("tpot_s", "TPOT", "s", EVERY, tpot_s, "seconds")
    yield _reading("tokens_per_s", "throughput, tok/s", "tokens/s", EVERY, flow, _flow)
    yield _reading("tokens_per_round", "tokens/round", "tokens", YIELD, found.tokens, "number")
    yield _reading("best_k", "best k", "tokens", WORKLOAD, np.asarray(grid.k)[best], "count")
    yield _reading("best_speedup", "speedup of the best k", "1", WORKLOAD, most, "times")
    yield _reading("plain_step_s", "plain step", "s", WORKLOAD[:2], found.plain_s, "seconds")
    yield _reading("draft_s", "drafting", "s", drafted, found.draft_s, "seconds")
    yield _reading("verify_s", "verification", "s", drafted, found.verify_s, "seconds")
    yield _reading("round_s", "round", "s", drafted, round_s, "seconds")
    yield _fits(point, grid)
    words = [text for row in _rows(found.bound_by) for text in ("", *row)]
    none = (None,) * len(words)
    yield Reading("bound_by", "verification is bound by", "", drafted, none, tuple(words))


@dataclass(frozen=True, slots=True)
class _Timed:
    """Plain steps (context, batch); seconds and bounds (context, batch, alpha, k), the axis alpha
    of length 1 where times do not depend on it, and tokens per round (context, alpha, k).
    """

    plain_s: Array
    draft_s: Array
    verify_s: Array
    bound_by: Array
    tokens: Array

    @property
    def round_s(self) -> Array:
        """Drafting and verification."""
        return self.draft_s + self.verify_s


def _timed(point: Point, grid: Grid) -> _Timed:
    """Rounds over the grid; a drafter of which verification carries what it finds is timed for
    each acceptance.
    """
    models = grid.acceptance if point.setup.draft.adapts else (point.acceptance,)
    timings = [
        [
            time_rounds(seen_by(point.setup, model, context), (context,), grid.batch, grid.k)
            for model in models
        ]
        for context in grid.context
    ]

    def laid(figure: Callable[[Timing], Array]) -> Array:
        """(context, batch, alpha, k) from what each timing has over (1, batch, k)."""
        return np.stack([np.stack([figure(one)[0] for one in some], 1) for some in timings])

    tokens = [[tokens_of(model, grid.k, c) for model in grid.acceptance] for c in grid.context]
    return _Timed(
        plain_s=laid(lambda one: one.plain_s)[:, :, 0, 0],
        draft_s=laid(lambda one: one.draft_s),
        verify_s=laid(lambda one: one.verify_s),
        bound_by=laid(lambda one: bound_names(one.verify)),
        tokens=np.asarray(tokens),
    )


def _flow(value: float) -> str:
    return f"{value:,.0f}"


def _rows(values: Array) -> list[list[Any]]:
    """The values along the last dial, for each place of the others."""
    rows: list[list[Any]] = values.reshape(-1, values.shape[-1]).tolist()
    return rows


def _reading(
    name: str,
    title: str,
    unit: str,
    over: tuple[str, ...],
    values: Array,
    form: Form | Callable[[float], str],
) -> Reading:
    """A figure; over k it has nothing at the place `best`, which the reader looks up."""
    shown: list[float | None] = []
    texts: list[str] = []
    for row in _rows(values):
        if over[-1] == "k":
            shown.append(None)
            texts.append("")
        shown += [float(f"{value:.{DIGITS}g}") for value in row]
        texts += [form(v) if callable(form) else number_text(v, form) for v in row]
    return Reading(name, title, unit, over, tuple(shown), tuple(texts))


def _fits(point: Point, grid: Grid) -> Reading:
    """Whether a batch fits at the end of its sequences, with the drafter where k > 0."""
    ends = [context + point.growth for context in grid.context]
    bill = bill_at(point.setup, ends, usual_k(point.setup))
    room = np.where(
        np.asarray(grid.k) > 0,
        np.asarray(bill.largest).reshape(-1, 1),
        np.asarray(bill.largest_plain).reshape(-1, 1),
    )
    fits = np.asarray(grid.batch).reshape(1, -1, 1) <= room[:, np.newaxis]
    return _reading("fits", "fits in memory", "", ("context", "batch", "k"), fits, "flag")
