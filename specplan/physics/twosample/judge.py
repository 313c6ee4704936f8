"""What the statistics of two engines' outputs come to: p-values, effects, what would have shown.

Holm's adjustment covers all tests that could be made, so that one distribution is taken for two
with probability at most the level, however many outputs there are and whatever they look like.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from specplan.errors import Refused
from specplan.physics.twosample.compare import ONE_PROMPT, PLACES, Found
from specplan.physics.twosample.figures import FIGURES
from specplan.physics.twosample.labels import critical, holm, p_value
from specplan.physics.twosample.power import largest_tv, power, smallest_tv

POWER = 0.9  # with which the smallest TV is seen
UNSEEN = 0.975  # of a shift above the upper bound: with the lower bound, a 95 % interval
QUANTILE = 1.959964  # of a normal law, at that probability

_UNITS = {"length": "tokens", "repetition": "share", "surprise": "nats"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tested:
    """One test. `adjusted_p` is what to hold against the level; both are None where no outcome
    could have shown anything.

    `deviation` is in standard deviations of chance. The effect is a TV, never above the truth on
    average, or the other engine's mean less the plain one's; its bounds are those of a 95 %
    interval. A shift of mean TV `smallest_tv` shows with probability `POWER`, one of the TV asked
    about with `power`. `covers` is the share of what came next that was compared.
    """

    test: str
    deviation: float | None = None
    p_value: float | None = None
    adjusted_p: float | None = None
    effect: float | None = None
    effect_low: float | None = None
    effect_high: float | None = None
    effect_of: str = ""
    smallest_tv: float | None = None
    power: float | None = None
    covers: float | None = None


@dataclass(frozen=True, slots=True)
class Judged:
    """All tests, and of each prompt the p-value of its standing out so far, adjusted for all
    prompts and tests.
    """

    tests: tuple[Tested, ...]
    prompts: tuple[float, ...]

    def differing(self, level: float) -> tuple[str, ...]:
        """The tests that say so at this level."""
        return tuple(
            tested.test
            for tested in self.tests
            if tested.adjusted_p is not None and tested.adjusted_p <= level
        )


def judged(found: Found, level: float, tv: float) -> Judged:
    """The tests at a level, and their power against a mean shift of `tv`.

    Refused where no test can be made: outputs of which chance decides nothing.
    """
    p_values = {test: p_value(statistic) for test, statistic in found.statistics.items()}
    made = {test: p for test, p in p_values.items() if p is not None}
    if not made:
        raise Refused(
            "the outputs leave nothing to test: all of one length, and too few to one prompt",
            hint="give more outputs to each prompt",
        )
    adjusted = holm(made)
    tests = tuple(
        _tested(found, test, made.get(test), adjusted.get(test), level / len(made), tv)
        for test in found.statistics
    )
    largest = np.sort(found.statistics[ONE_PROMPT][1:])
    deviations = np.array([prompt.deviation for prompt in found.prompts])
    as_much = len(largest) - np.searchsorted(largest, deviations - 1e-9)
    alone = np.minimum(len(made) * (1 + as_much) / (1 + len(largest)), 1.0)
    return Judged(tests, tuple(alone.tolist()))


def _tested(
    found: Found, test: str, p: float | None, adjusted: float | None, level: float, tv: float
) -> Tested:
    statistic = found.statistics[test]
    if p is None:
        return Tested(test=test)
    spread = float(statistic.std())
    deviation = (float(statistic[0]) - float(statistic.mean())) / spread
    if test in PLACES:
        return _of_places(found, test, deviation, p, adjusted, level, tv)
    if test not in FIGURES:
        return Tested(test=test, deviation=deviation, p_value=p, adjusted_p=adjusted)
    total = found.difference[test]
    mean = total.difference / total.weight
    reach = QUANTILE * math.sqrt(total.variance) / total.weight
    return Tested(
        test=test,
        deviation=deviation,
        p_value=p,
        adjusted_p=adjusted,
        effect=mean,
        effect_low=mean - reach,
        effect_high=mean + reach,
        effect_of=_UNITS[test],
    )


def _of_places(
    found: Found,
    test: str,
    deviation: float,
    p: float,
    adjusted: float | None,
    level: float,
    tv: float,
) -> Tested:
    statistic, reach, shift = found.statistics[test], found.reach[test], found.shift[test]
    threshold = critical(statistic, level)
    high = largest_tv(statistic, reach, UNSEEN)
    effect = low = None
    if shift.compared:
        effect = shift.tv / shift.compared
        low = max(effect - QUANTILE * math.sqrt(shift.variance) / shift.compared, 0.0)
        high = max(high, effect)
    return Tested(
        test=test,
        deviation=deviation,
        p_value=p,
        adjusted_p=adjusted,
        effect=effect,
        effect_low=low,
        effect_high=high,
        effect_of="TV",
        smallest_tv=smallest_tv(statistic, reach, threshold, POWER),
        power=power(statistic, reach, tv, threshold),
        covers=reach.compared / reach.events,
    )
