"""How far apart two engines are in what comes next, over all places of a prompt at once.

At a place g the outputs are counted by what comes next, v: n_gv within one output, c_gv in all of
them. For labels z of the outputs (m/N on those of the plain engine, -n/N on the others),

    S = sum over g, v of w_gv (z . F_gv)^2,   F_gv = n_gv - n_g c_gv / c_g,   w_gv = c_gv^(-2/3)

without the terms of an output with itself. The power of 2/3 finds the least visible shift of a
given total variation distance (TV) with the fewest outputs (Valiant and Valiant 2014, ECCC
TR13-111, who test against a known distribution so). What only one output has is, at its place, one
thing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from specplan.physics.twosample.pools import Floats, Ints, Next, Pool, Table

WEIGHT = 2 / 3
FOLDS = 5

_BLOCK = 1 << 16  # entries of a matrix that is held at once: what a core's cache holds
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """What comes next, place by place, at those that enough outputs reach.

    `cells` and `places` count within outputs; `place` (C,) is the place of a cell, `count` (C,)
    its number in all outputs, `reached` (G,) that of each place. Cells that a single output has
    are together one, and none if there is but one. `events` is the number of everything that came
    next, wherever.
    """

    cells: Table
    places: Table
    place: Ints
    count: Floats
    reached: Floats
    events: float

    @classmethod
    def of(cls, pool: Pool, found: Next) -> Self:
        """Counted from what came next in each distinct output."""
        table, distinct = found.cells, pool.distinct
        places = table.moved(found.place, distinct)
        reached = places.outputs(pool) >= pool.fewest
        # Behind the other cells of a place stands one for all that a single output has.
        behind = len(found.place)
        order = np.where(table.outputs(pool) == 1, behind, np.arange(behind))
        merged, to = np.unique(found.place * (behind + 1) + order, return_inverse=True)
        cells, place = table.moved(to, distinct), merged // (behind + 1)
        used = reached[place] & (cells.outputs(pool) > 1)
        cells, places = cells.only(used), places.only(reached)
        return cls(
            cells=cells,
            places=places,
            place=(np.cumsum(reached) - 1)[place[used]],
            count=cells.total(pool),
            reached=places.total(pool),
            events=float(table.total(pool).sum()),
        )

    def blocks(self, distinct: int) -> Iterator[tuple[Floats, Floats]]:
        """F (U, cells) and w (cells,), some cells at a time."""
        width = max(_BLOCK // distinct, 1)
        for start in range(0, len(self.count), width):
            end = min(start + width, len(self.count))
            place = self.place[start:end]
            low, high = int(place[0]), int(place[-1]) + 1
            share = self.count[start:end] / self.reached[place]
            features = self.cells.dense(start, end, distinct)
            features -= self.places.dense(low, high, distinct)[:, place - low] * share
            yield features, self.count[start:end] ** -WEIGHT


class Reach(NamedTuple):
    """What decides how small a shift S shows, summed over places and prompts.

    A shift of mean TV d moves S by at least 4 d^2 compared^2 / spread, and the part of it that
    varies with the shift has the variance (4 d compared / spread)^2 noise. `compared` counts what
    came next at the places, less one each; `events` what came next anywhere.
    """

    compared: float = 0.0
    spread: float = 0.0
    noise: float = 0.0
    events: float = 0.0

    def plus(self, other: Reach) -> Reach:
        """Of both."""
        return Reach(*(a + b for a, b in zip(self, other, strict=True)))


def reach(pool: Pool, cells: Cells) -> Reach:
    """Of the places of one prompt.

    Of all shifts of that TV the least visible has |p - q| in proportion to 1/w in a place, half of
    it upwards: by Cauchy's inequality the sum of w (p - q)^2 is then 4 TV^2 over that of 1/w, and
    no other shift has less. An output is not held against itself, so a cell that few have tells
    less: w counts by the share of its pairs that are of two outputs.
    """
    share = pool.n * pool.m / pool.size**2
    table, count = cells.cells, cells.count
    within = pool.times[table.output] * table.times.astype(np.float64) ** 2
    pairs = 1 - np.bincount(table.column, weights=within) / count**2
    return Reach(
        compared=float((cells.reached - 1).sum()),
        spread=float((count**WEIGHT / pairs).sum()) / share**2,
        noise=float((count / pairs**2).sum()) / share,
        events=cells.events,
    )


class Shift(NamedTuple):
    """TV summed over what was compared, the sum of its weights, and the variance of the first."""

    tv: float = 0.0
    compared: float = 0.0
    variance: float = 0.0

    def plus(self, other: Shift) -> Shift:
        """Of both."""
        return Shift(*(a + b for a, b in zip(self, other, strict=True)))


@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """S as a function of the labels: through a matrix (U, U) or through features (U, cells).

    What an output makes with itself is `own` (U,) for the sum of its squared labels, which is
    (1 - 2n/N) times that of its labels, and `constant` over all outputs.
    """

    gram: Floats | None
    features: Floats
    own: Floats
    constant: float

    def at(self, z: Floats) -> Floats:
        """S for each row of z (rows, U), the sum of the labels of each distinct output."""
        if self.gram is None:
            together = ((z @ self.features) ** 2).sum(axis=1)
        else:
            together = np.einsum("ij,ij->i", z @ self.gram, z)
        found: Floats = together - z @ self.own - self.constant
        return found


def compared(pool: Pool, cells: Cells) -> tuple[Form, Shift]:
    """S for any labels, and the TV that the labels as they are show.

    TV is found by splitting: which way each cell leans is read off four fifths of the outputs, how
    far in the last fifth. Without a shift its mean is exactly 0; with one it is never above the
    truth on average, and below it where outputs are too few to tell which way.
    """
    many = len(cells.count) > pool.distinct
    gram = np.zeros((pool.distinct, pool.distinct))
    parts: list[Floats] = []
    split = _Split(pool)
    for features, weight in cells.blocks(pool.distinct):
        split.see(features)
        weighed = features * np.sqrt(weight)
        if many:
            gram += weighed @ weighed.T
        else:
            parts.append(weighed)
    features = np.concatenate(parts, axis=1) if parts else np.zeros((pool.distinct, 0))
    squares = np.diagonal(gram) if many else (features**2).sum(axis=1)
    share = pool.n / pool.size
    form = Form(
        gram=gram if many else None,
        features=features,
        own=squares * (1 - 2 * share),
        constant=share * (1 - share) * float(pool.times @ squares),
    )
    return form, split.shift(cells)


class _Split:
    """Outputs split into `FOLDS`; the scores of each, by the lean of all the others."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.folds = min(FOLDS, pool.n, pool.m)
        self.of_plain, self.of_spec = (np.arange(arm) % self.folds for arm in (pool.n, pool.m))
        leaning = [self._others(fold) for fold in range(self.folds)] if self.folds > 1 else []
        self.leaning = np.array(leaning).reshape(-1, pool.distinct)
        self.scores = np.zeros((self.folds, pool.distinct))

    def _others(self, fold: int) -> Floats:
        """Labels of the outputs outside a fold (U,)."""
        pool = self.pool
        arms = pool.plain[self.of_plain != fold], pool.spec[self.of_spec != fold]
        plain, spec = (np.bincount(arm, minlength=pool.distinct) / len(arm) for arm in arms)
        return plain - spec

    def see(self, features: Floats) -> None:
        """Takes in cells (U, cells)."""
        if self.folds > 1:
            lean = self.leaning @ features
            self.scores += np.where(np.abs(lean) > _ROUNDING, np.sign(lean), 0.0) @ features.T

    def shift(self, cells: Cells) -> Shift:
        """Of all cells seen. Each pair of outputs tells twice, so its variance counts twice."""
        if self.folds < 2:
            return Shift()
        pool, places = self.pool, cells.places
        plain = self.scores[self.of_plain, pool.plain]
        spec = self.scores[self.of_spec, pool.spec]
        variance = plain.var(ddof=1) / pool.n + spec.var(ddof=1) / pool.m
        by_plain = np.bincount(places.column, weights=pool.by_plain[places.output] * places.times)
        both = by_plain * (cells.reached - by_plain) / (pool.n * pool.m) / cells.reached
        return Shift(
            tv=pool.size * 0.5 * float(plain.mean() - spec.mean()),
            compared=pool.size**2 * float(both.sum()),
            variance=pool.size**2 * 0.5 * float(variance),
        )
