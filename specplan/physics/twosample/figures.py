"""One figure of each output, compared between engines: a small difference, alike in every prompt,
adds up where the tests of what comes next see too little in each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from specplan.physics.twosample.pools import Floats, Next, Pool

_ROUNDING = 1e-9


class Figure(NamedTuple):
    """A figure of each distinct output (U,), told for each `per` of something that outputs have on
    average; whether the test takes its ranks.
    """

    values: Floats
    per: float = 1.0
    ranked: bool = True


def length(pool: Pool, after: Next) -> Figure:  # noqa: ARG001 - one signature for all
    """Tokens of each output."""
    return Figure(pool.lengths.astype(np.float64))


def repetition(pool: Pool, after: Next) -> Figure:
    """Share of the pairs of neighbours in each output that stand in it before already."""
    different = np.bincount(after.cells.output, minlength=pool.distinct)
    return Figure(1 - different / np.maximum(pool.lengths, 1))


def surprise(pool: Pool, after: Next) -> Figure:
    """How much rarer than usual what follows each token of an output is: the sum of -log P less its
    mean after that token, P by the counts of all outputs; in nats a token.

    What a wrong temperature, top-p or top-k changes first.
    """
    table, count = after.cells, after.cells.total(pool)
    reached = np.bincount(after.place, weights=count)
    nats = np.log(reached[after.place] / count)
    usual = np.bincount(after.place, weights=count * nats) / reached
    rarer = table.times * (nats - usual[after.place])[table.column]
    summed = np.bincount(table.output, rarer, minlength=pool.distinct).astype(np.float64)
    tokens = float(pool.times @ pool.lengths) / pool.size
    return Figure(summed, per=max(tokens, 1.0), ranked=False)


FIGURES: Mapping[str, Callable[[Pool, Next], Figure]] = {
    "length": length,
    "repetition": repetition,
    "surprise": surprise,
}
"""By the name of their test; each takes what came next after each token."""


class Difference(NamedTuple):
    """Means of the other engine less those of the plain one, weighed and summed over prompts; the
    sum of the weights; the variance of the first.
    """

    difference: float = 0.0
    weight: float = 0.0
    variance: float = 0.0

    def plus(self, other: Difference) -> Difference:
        """Of both."""
        return Difference(*(a + b for a, b in zip(self, other, strict=True)))


def difference(pool: Pool, figure: Figure) -> Difference:
    """Of a figure in one prompt, weighed by nm/N and by what it is told for."""
    plain, spec = figure.values[pool.plain], figure.values[pool.spec]
    outputs = pool.n * pool.m / pool.size
    variance = sum(float(arm.var(ddof=1)) / len(arm) for arm in (plain, spec) if len(arm) > 1)
    return Difference(
        difference=outputs * float(spec.mean() - plain.mean()),
        weight=outputs * figure.per,
        variance=outputs**2 * variance,
    )


def scores(pool: Pool, figure: Figure) -> Floats:
    """A figure (U,), or its ranks, over all outputs centred and of variance 1; 0 if none differ."""
    score = figure.values
    if figure.ranked:
        _, value = np.unique(score, return_inverse=True)
        times = np.bincount(value, weights=pool.times)
        score = (np.cumsum(times) - times / 2)[value]
    score = score - pool.times @ score / pool.size
    spread = float(np.sqrt(pool.times @ score**2 / pool.size))
    return score / spread if spread > _ROUNDING else np.zeros_like(score)
