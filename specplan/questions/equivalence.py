"""Is the distribution of a speculative engine's outputs the plain engine's?"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from specplan.domain.answer import Answer, Basis
from specplan.domain.outputs import Outputs
from specplan.errors import Refused, UsageError
from specplan.physics.divergence import Divergence
from specplan.physics.trials import check_seed
from specplan.physics.twosample.compare import TESTS, Found, compare, nothing
from specplan.physics.twosample.judge import Tested, judged
from specplan.physics.twosample.labels import log_labellings
from specplan.physics.twosample.opinion import Opinion, second_opinion
from specplan.questions.equivalence_asked import LEVEL, SENSITIVITY, Asked, Joined, join
from specplan.questions.equivalence_greedy import greedy, greedy_table, greedy_view, verdict_on
from specplan.questions.equivalence_view import sampled_table, sampled_view
from specplan.units import significant

ROOM = 20  # labellings drawn for each that the level would need if there were one test
MOST_PERMUTATIONS = 1_000_000
LEAST_LEVEL, LARGEST_LEVEL = 1e-5, 0.5
CERTAIN = 0.9  # power from which on seeing nothing means that there is nothing to see


def equivalence(
    plain: Outputs,
    spec: Outputs,
    *,
    level: float = LEVEL,
    sensitivity: float = SENSITIVITY,
    permutations: int | None = None,
    seed: int = 0,
    opinion: bool = False,
    done: Callable[[int], None] = nothing,
) -> Answer:
    """The outputs of two engines, held against each other prompt by prompt.

    `level` in [1e-5, 0.5] is the probability of seeing a difference where there is none,
    `sensitivity` in [0, 1] the mean TV that is asked about, `permutations` by default 20 / level,
    up to a million. Where every prompt has one output in each file, however often, decoding was
    greedy. With `opinion` SciPy's own tests stand beside ours. `done` is told of each prompt. Exit
    1 when the distributions differ.
    """
    if not LEAST_LEVEL <= level <= LARGEST_LEVEL:
        expected = f"{significant(LEAST_LEVEL, 1)} to {LARGEST_LEVEL:g}"
        raise UsageError(f"level is {level:g}", expected=expected)
    if not 0 <= sensitivity <= 1:
        raise UsageError(f"sensitivity is {sensitivity:g}", expected="a TV from 0 to 1")
    check_seed(seed)
    joined = join(plain, spec)
    said = Asked(plain, spec, joined, level, sensitivity, seed)
    if joined.deterministic:
        if opinion:
            raise UsageError("a second opinion is of sampled outputs, and these are greedy")
        return _greedy(said)
    rows = _permutations(permutations, level)
    _check_room(joined, level)
    found = compare(joined.pairs, rows, np.random.default_rng(seed), done=done)
    second = second_opinion(joined.pairs) if opinion else None
    return _sampled(said, found, rows, second)


def _permutations(asked: int | None, level: float) -> int:
    """How many labellings to draw; refuses fewer than could show anything."""
    if asked is None:
        return min(math.ceil(ROOM / level) - 1, MOST_PERMUTATIONS)
    fewest = math.ceil(len(TESTS) / level) - 1
    if not fewest <= asked <= MOST_PERMUTATIONS:
        raise UsageError(
            f"{asked:,} permutations at level {level:g}",
            expected=f"{fewest:,} to {MOST_PERMUTATIONS:,}: fewer cannot show a difference",
        )
    return asked


def _check_room(joined: Joined, level: float) -> None:
    """Refuses outputs so few that no labelling of them is unlikely enough."""
    sizes = [(len(plain), len(spec)) for plain, spec in joined.pairs]
    if log_labellings(sizes) < math.log(len(TESTS) / level):
        plain, spec = (sum(arm) for arm in zip(*sizes, strict=True))
        raise Refused(
            f"{plain} and {spec} outputs to {len(sizes)} prompt{'s' * (len(sizes) > 1)} cannot "
            "show a difference",
            expected=f"p-values down to {level / len(TESTS):.2g}",
            hint="give more outputs to each prompt",
        )


def _sampled(asked: Asked, found: Found, rows: int, second: Opinion | None) -> Answer:
    result = judged(found, asked.level, asked.sensitivity)
    differing = result.differing(asked.level)
    best = min(result.tests, key=_blindness)
    certain = best.power is not None and best.power >= CERTAIN
    value = asked.value(
        verdict="differs" if differing else "same" if certain else "unsure",
        decoding="sampled",
        permutations=rows,
        differing=differing,
        power=best.power,
        smallest_tv=best.smallest_tv,
        sees_best=best.test if best.power is not None else None,
        tv=best.effect,
        tv_low=best.effect_low,
        tv_high=best.effect_high,
        second_opinion=second,
    )
    return asked.answer(
        value,
        sampled_table(result, found.prompts, asked.joined.names, value),
        sampled_view(value, result, asked.caption),
        Basis(
            kind="exact",
            says=f"permutation tests, level {asked.level:g}",
            source="Phipson and Smyth 2010; Holm 1979",
        ),
    )


def _blindness(tested: Tested) -> tuple[float, float]:
    """The shift that a test needs, above 1 where none is enough; then what it misses."""
    power = -1.0 if tested.power is None else tested.power
    return tested.smallest_tv or 2.0, -power


def _greedy(asked: Asked) -> Answer:
    pairs = ((plain[0], spec[0]) for plain, spec in asked.joined.pairs)
    found = Divergence.of(pairs)
    told = greedy(found, asked.sensitivity)
    value = asked.value(
        verdict=verdict_on(found, asked.level, asked.sensitivity), decoding="greedy", greedy=told
    )
    basis = Basis(kind="exact", says="token by token", source="Clopper and Pearson 1934")
    return asked.answer(value, greedy_table(found), greedy_view(value, told, asked.caption), basis)
