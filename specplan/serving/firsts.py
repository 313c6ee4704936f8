"""How long a prompt takes from its arrival to its first token, from the chain of steps."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from specplan.physics.tokens import FloatArray
from specplan.serving.chain import Chain
from specplan.serving.law import Law, binned

_MOMENTS = 5  # of a step at which a prompt may arrive
_SLIGHT = 1e-5  # of all requests: not followed
_RARE = 5e-4  # of all requests: not told apart


def first_of(chain: Chain) -> tuple[Law, float]:
    """The law of the time to the first token, and the mean grains that wait after it.

    An arrival meets a step in proportion to its length and at any moment of it; its prompt is
    through with the next step, or after as many full ones as lie before it.
    """
    stay, arrivals = chain.found_in(), chain.arrivals
    share, met_s = _met(chain, stay)
    whole = arrivals.mark * arrivals.mates**2  # a prompt with all of its burst
    together = arrivals.within(met_s, chain.states, whole)
    last_s = chain.times()
    if chain.alone:
        last_s[0] = chain.step_s[min(1, chain.full)]
    beyond = np.maximum(np.arange(chain.states) - chain.full, 0)
    late = _late_share(chain, stay)
    ways = _Ways()
    for moment in (np.arange(_MOMENTS) + 0.5) / _MOMENTS:  # of the step that was met
        here, left_s = share / _MOMENTS, (1 - moment) * met_s
        if late > _RARE:
            own = arrivals.mark * arrivals.mates
            queued = arrivals.within(moment * met_s, chain.states, own)
            _add_late(ways, chain, queued, here, left_s)
            _add_behind(ways, chain, stay, moment)
            here = here * queued[:, : chain.full + 1].sum(axis=1)
        after = np.minimum(together @ beyond, _mates(chain) + _arrive(chain, left_s))
        weight = here[:, np.newaxis] * together
        ways.add(
            left_s[:, np.newaxis] + last_s,
            weight,
            float((weight @ _arrive(chain, last_s)).sum() + here @ after),
        )
    return ways.law(), ways.behind


@dataclass
class _Ways:
    """Ways that it may go: their times and shares, and by share what they leave behind."""

    time_s: list[FloatArray] = field(default_factory=list)
    share: list[FloatArray] = field(default_factory=list)
    left: float = 0.0

    def add(self, time_s: FloatArray, share: FloatArray, left: float) -> None:
        """Adds some, of any shape, that leave so many grains in all, each times its share."""
        self.time_s.append(time_s.ravel())
        self.share.append(share.ravel())
        self.left += left

    def law(self) -> Law:
        """The law of their times."""
        return binned(np.concatenate(self.time_s), np.concatenate(self.share))

    @property
    def behind(self) -> float:
        """Grains that are left on average."""
        return self.left / sum(float(part.sum()) for part in self.share)


def _arrive(chain: Chain, seconds: FloatArray) -> FloatArray:
    """Grains that arrive in some time, on average."""
    prompts = chain.arrivals.prompts
    found: FloatArray = prompts.rate_per_s * prompts.mean / chain.arrivals.grain * seconds
    return found


def _mates(chain: Chain) -> float:
    """Grains of the same burst that come after a prompt, on average."""
    prompts = chain.arrivals.prompts
    return (prompts.burst - 1) * prompts.mean / chain.arrivals.grain


def _met(chain: Chain, stay: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Steps within the budget that an arrival may meet: shares and seconds (R,), those of two
    neighbouring states together.
    """
    seconds = chain.step_s.copy()
    if chain.alone:
        seconds[0] = 0.0
    pair = (np.arange(chain.full + 1) + 1) // 2
    share = np.bincount(pair, stay[: chain.full + 1])
    mean_s = np.bincount(pair, stay[: chain.full + 1] * seconds) / np.maximum(share, 1e-300)
    some = share > _SLIGHT
    return share[some].astype(np.float64), mean_s[some].astype(np.float64)


def _late_share(chain: Chain, stay: FloatArray) -> float:
    """About the share of prompts that more than the next step lies before."""
    full, arrivals = chain.full, chain.arrivals
    if chain.states - 1 <= full:
        return 0.0
    mean_s = np.asarray([float(stay[1 : full + 1] @ chain.step_s[1:]) / 2])
    ends = arrivals.within(mean_s, chain.states, arrivals.mark * arrivals.mates)[0]
    return float(stay[full + 1 :].sum() + ends[full + 1 :].sum())


def _read(chain: Chain, at: FloatArray, waited_s: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Seconds from the end of the step met to the end of the one that reads the grain `at`, and the
    grains behind it then, `waited_s` of that step having been left.
    """
    full, full_s = chain.full, float(chain.step_s[-1])
    before = np.maximum(np.ceil(at / full) - 1, 0)
    own = at - before * full
    since = _mates(chain) + _arrive(chain, waited_s + before * full_s)
    last_s = np.interp(np.minimum(own + since, full), np.arange(full + 1), chain.step_s)
    behind = np.maximum(own + since - full, 0) + _arrive(chain, last_s)
    return before * full_s + last_s, behind


def _add_late(
    ways: _Ways, chain: Chain, queued: FloatArray, here: FloatArray, left_s: FloatArray
) -> None:
    """Prompts that met a step within the budget and end beyond that of the next one."""
    place = np.arange(chain.full + 1.0, chain.states)
    spent_s, behind = _read(chain, place, left_s[:, np.newaxis])
    share = here[:, np.newaxis] * queued[:, chain.full + 1 :]
    ways.add(left_s[:, np.newaxis] + spent_s, share, float((share * behind).sum()))


def _add_behind(ways: _Ways, chain: Chain, stay: FloatArray, moment: float) -> None:
    """Prompts that met a full step, which leaves some of what it found."""
    full, full_s, arrivals = chain.full, float(chain.step_s[-1]), chain.arrivals
    above = np.arange(full + 1.0, chain.states)
    own = arrivals.mark * arrivals.mates
    ends = arrivals.within(np.asarray([moment * full_s]), chain.states, own)[0]
    at = np.arange(float(chain.states)) + (above - full)[:, np.newaxis]
    share = stay[full + 1 :, np.newaxis] / _MOMENTS * ends
    left_s = (1 - moment) * full_s
    spent_s, behind = _read(chain, at, np.full(1, left_s))
    ways.add(left_s + spent_s, share, float((share * behind).sum()))
