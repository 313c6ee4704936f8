"""Two-sample tests: is the distribution of one engine's outputs the other's?

Four tests are of what comes next (`specplan.physics.twosample.places`): at the beginning, after a
prefix that outputs share, after a token or two wherever they stand. Three are of one figure of an
output (`figures`), summed over prompts with its sign. One asks whether a single prompt stands out.
All are permutation tests on the same labellings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from specplan.physics.twosample.figures import FIGURES, Difference, difference, scores
from specplan.physics.twosample.labels import labellings
from specplan.physics.twosample.places import Cells, Form, Reach, Shift, compared, reach
from specplan.physics.twosample.pools import (
    Floats,
    Next,
    Pool,
    after_prefix,
    after_token,
    after_two,
    first,
    strata,
)

PLACES: Mapping[str, Callable[[Pool], Next]] = {
    "first token": first,
    "token after a prefix": after_prefix,
    "token after a token": after_token,
    "token after two": after_two,
}
ONE_PROMPT = "one prompt"
TESTS = (*PLACES, *FIGURES, ONE_PROMPT)

_ROWS = 1 << 22  # entries of labels that are held at once
_ROUNDING = 1e-9

Pair = tuple[Sequence[ArrayLike], Sequence[ArrayLike]]
"""The outputs of the plain and of the other engine to one prompt, each whole numbers from 0."""


def nothing(_done: int) -> None:
    """Told of progress, does nothing."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """How far one prompt stands out: in standard deviations, and how often chance does as much."""

    deviation: float
    p_value: float


@dataclass(slots=True)
class Found:
    """Statistics (1 + B,) by test, as labelled and in B random labellings, and what measures them.

    `reach` and `shift` are by test of what comes next, `difference` by test of a figure.
    """

    statistics: dict[str, Floats]
    reach: dict[str, Reach] = field(default_factory=lambda: dict.fromkeys(PLACES, Reach()))
    shift: dict[str, Shift] = field(default_factory=lambda: dict.fromkeys(PLACES, Shift()))
    difference: dict[str, Difference] = field(
        default_factory=lambda: dict.fromkeys(FIGURES, Difference())
    )
    prompts: list[Prompt] = field(default_factory=list)


def compare(
    prompts: Sequence[Pair],
    permutations: int,
    rng: Generator,
    *,
    done: Callable[[int], None] = nothing,
) -> Found:
    """All statistics of all prompts; `done` is told of each prompt.

    A prompt has at least one output of either engine. Memory is that of the largest prompt.
    """
    rows = permutations + 1
    found = Found({test: np.zeros(rows) for test in TESTS})
    largest = np.full(rows, -np.inf)
    for plain, spec in prompts:
        here = _prompt(plain, spec, rows, rng, found)
        for test, statistic in here.items():
            found.statistics[test] += statistic
        stands_out = _standing_out(here)
        largest = np.maximum(largest, stands_out)
        as_much = stands_out >= stands_out[0] - _ROUNDING
        found.prompts.append(Prompt(float(stands_out[0]), float(np.mean(as_much))))
        done(1)
    found.statistics = {
        test: np.abs(statistic) if test in FIGURES else statistic
        for test, statistic in found.statistics.items()
    } | {ONE_PROMPT: largest}
    return found


def _prompt(
    plain: Sequence[ArrayLike], spec: Sequence[ArrayLike], rows: int, rng: Generator, found: Found
) -> dict[str, Floats]:
    """The statistics of one prompt (rows,), signed; its measures are added to what was found."""
    here = {test: np.zeros(rows) for test in (*PLACES, *FIGURES)}
    for pool in strata(plain, spec):
        events = {test: next_of(pool) for test, next_of in PLACES.items()}
        forms = {test: _form(pool, test, of, found) for test, of in events.items()}
        ranked = _ranked(pool, events["token after a token"], found)
        for part, labels in _labels(pool, rows, rng):
            z = labels - pool.times * (pool.n / pool.size)
            for test, form in forms.items():
                here[test][part] += form.at(z)
            for test, score in ranked.items():
                here[test][part] += z @ score
    return here


def _form(pool: Pool, test: str, after: Next, found: Found) -> Form:
    cells = Cells.of(pool, after)
    form, shift = compared(pool, cells)
    found.reach[test] = found.reach[test].plus(reach(pool, cells))
    found.shift[test] = found.shift[test].plus(shift)
    return form


def _ranked(pool: Pool, after: Next, found: Found) -> dict[str, Floats]:
    ranked = {}
    for test, figure_of in FIGURES.items():
        figure = figure_of(pool, after)
        found.difference[test] = found.difference[test].plus(difference(pool, figure))
        ranked[test] = scores(pool, figure)
    return ranked


def _labels(pool: Pool, rows: int, rng: Generator) -> Iterator[tuple[slice, Floats]]:
    """Labels (rows, U) some rows at a time: first as they are, then at random."""
    width = max(_ROWS // pool.size, 1)
    yield slice(0, 1), pool.by_plain[np.newaxis].astype(np.float64)
    for start in range(1, rows, width):
        end = min(start + width, rows)
        yield slice(start, end), labellings(pool, end - start, rng)


def _standing_out(here: Mapping[str, Floats]) -> Floats:
    """How far a prompt stands out in all its tests together (1 + B,), its variance 1."""
    together = np.zeros(len(next(iter(here.values()))))
    for test, statistic in here.items():
        together += _standard(statistic**2 if test in FIGURES else statistic)
    return _standard(together)


def _standard(statistic: Floats) -> Floats:
    """Centred, its variance 1; all 0 where no labelling makes a difference."""
    spread = float(statistic.std())
    if spread <= _ROUNDING * float(np.abs(statistic).max()):
        return np.zeros_like(statistic)
    standard: Floats = (statistic - statistic.mean()) / spread
    return standard
