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
    late = _late_share(chain, stay)
    ways = _Ways()
    for moment in (np.arange(_MOMENTS) + 0.5) / _MOMENTS:  # of the step that was met
        here = share / _MOMENTS
        if late > _RARE:
            own = arrivals.mark * arrivals.mates
            queued = arrivals.within(moment * met_s, chain.states, own)
            _add_late(ways, chain, queued, here, (1 - moment) * met_s)
            _add_behind(ways, chain, stay, moment)
            here = here * queued[:, : chain.full + 1].sum(axis=1)
        ways.add((1 - moment) * met_s[:, np.newaxis] + last_s, here[:, np.newaxis] * together)
    end = together.T @ (share / share.sum())
    behind = float(end @ _arrive(chain, last_s)) + _left(chain, end, float(share @ met_s) / 2)
    return binned(np.concatenate(ways.time_s), np.concatenate(ways.share)), behind


def _arrive(chain: Chain, seconds: FloatArray) -> FloatArray:
    """Grains that arrive in some time, on average."""
    prompts = chain.arrivals.prompts
    found: FloatArray = prompts.rate_per_s * prompts.mean / chain.arrivals.grain * seconds
    return found


def _left(chain: Chain, end: FloatArray, after_s: float) -> float:
    """Grains that the step which ends a prompt leaves: of what is beyond the budget (the law of all
    is `end`), no more than came after the prompt, in the same burst or in `after_s`.
    """
    beyond = float(end @ np.maximum(np.arange(chain.states) - chain.full, 0))
    prompts = chain.arrivals.prompts
    mates = (prompts.burst - 1) * prompts.mean / chain.arrivals.grain
    return min(beyond, mates + float(_arrive(chain, np.asarray(after_s))))


@dataclass
class _Ways:
    """Ways that it may go: their times and shares."""

    time_s: list[FloatArray] = field(default_factory=list)
    share: list[FloatArray] = field(default_factory=list)

    def add(self, time_s: FloatArray, share: FloatArray) -> None:
        """Adds some, of any shape."""
        self.time_s.append(time_s.ravel())
        self.share.append(share.ravel())


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


def _spent_s(chain: Chain, at: FloatArray) -> FloatArray:
    """Seconds from the end of the step met to the end of the one that reads the grain `at`."""
    full, full_s = chain.full, float(chain.step_s[-1])
    meanwhile = _arrive(chain, chain.step_s[-1:])
    before = np.maximum(np.ceil(at / full) - 1, 0)
    rest = np.minimum(at - before * full + np.where(before > 0, meanwhile, 0.0), full)
    found: FloatArray = before * full_s + np.interp(rest, np.arange(full + 1), chain.step_s)
    return found


def _add_late(
    ways: _Ways, chain: Chain, queued: FloatArray, here: FloatArray, left_s: FloatArray
) -> None:
    """Prompts that met a step within the budget and end beyond that of the next one."""
    place = np.arange(float(chain.states))
    beyond = place > chain.full
    ways.add(
        left_s[:, np.newaxis] + _spent_s(chain, place[beyond]),
        here[:, np.newaxis] * queued[:, beyond],
    )


def _add_behind(ways: _Ways, chain: Chain, stay: FloatArray, moment: float) -> None:
    """Prompts that met a full step, which leaves some of what it found."""
    full, full_s, arrivals = chain.full, float(chain.step_s[-1]), chain.arrivals
    above = np.arange(full + 1.0, chain.states)
    own = arrivals.mark * arrivals.mates
    ends = arrivals.within(np.asarray([moment * full_s]), chain.states, own)[0]
    at = np.arange(float(chain.states)) + (above - full)[:, np.newaxis]
    share = stay[full + 1 :, np.newaxis] / _MOMENTS
    ways.add((1 - moment) * full_s + _spent_s(chain, at), share * ends)
