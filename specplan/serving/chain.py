"""Prompts that wait for the next step, as a Markov chain over the starts of steps.

With Poisson bursts the tokens that wait obey q' = q - min(q, C) + what arrives in X(q) seconds, a
compound Poisson sum: a queue served in bulk (Bailey 1954), whose service depends on how many are
served. Tokens are counted in grains; sums are worked out by Fourier transforms.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from specplan.physics.tokens import FloatArray

ComplexArray = npt.NDArray[np.complex128]

STATES = 144  # of a chain, about
MOST_STATES = 600
_STEPS, _AT_ONCE = 400, 20  # tried before a chain is solved at once: a solver may wait for threads
_STILL = 1e-10

StepTime = Callable[[FloatArray], FloatArray]
"""Seconds of a step with so many prompt tokens; with 0 of them, those of a plain round."""


@dataclass(frozen=True, slots=True)
class Prompts:
    """Prompt tokens (P,) by weight (P,) that arrive at `rate_per_s`, in bursts of geometric size
    with mean `burst`.
    """

    tokens: FloatArray
    weight: FloatArray
    rate_per_s: float
    burst: float = 1.0

    @property
    def mean(self) -> float:
        """Tokens of a prompt."""
        return float(self.weight @ self.tokens)

    @property
    def square(self) -> float:
        """Mean square of the tokens of a prompt."""
        return float(self.weight @ self.tokens**2)


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Prompts in grains of `grain` tokens: `mark` (F,) is the transform of one of them."""

    prompts: Prompts
    grain: float
    mark: ComplexArray

    @property
    def mates(self) -> ComplexArray:
        """The transform of those of its burst before it; as many come after it."""
        found: ComplexArray = 1 / (self.prompts.burst - (self.prompts.burst - 1) * self.mark)
        return found

    def within(self, seconds: FloatArray, states: int, own: ComplexArray | float) -> FloatArray:
        """The laws (R, states) of the grains that arrive in each of `seconds` (R,), on top of what
        has the transform `own`; what lies beyond the states counts as the last.
        """
        rate = self.prompts.rate_per_s / self.prompts.burst
        powers = rate * seconds[:, np.newaxis] * (self.mark * self.mates - 1)
        laws = np.fft.irfft(own * np.exp(powers))
        kept = np.maximum(laws[:, :states], 0.0)
        kept[:, -1] += np.maximum(1 - kept.sum(axis=1), 0.0)
        found: FloatArray = kept / kept.sum(axis=1, keepdims=True)
        return found


@dataclass(frozen=True, slots=True)
class Chain:
    """The stationary chain: `weight` (M,) of the states 0, 1, ... grains of tokens at starts of
    steps, `step_s` (J + 1,) of steps with 0..J grains, where J is the budget. `alone`: nothing
    decodes, and at 0 the server waits for somebody.
    """

    weight: FloatArray
    step_s: FloatArray
    arrivals: Arrivals
    alone: bool

    @property
    def full(self) -> int:
        """Grains of a full step."""
        return len(self.step_s) - 1

    @property
    def states(self) -> int:
        """States of the chain."""
        return len(self.weight)

    def times(self) -> FloatArray:
        """Seconds of a step from each state."""
        return self.step_s[np.minimum(np.arange(self.states), self.full)]

    def runs(self) -> FloatArray:
        """Of all steps, those from each state."""
        runs = self.weight.copy()
        if self.alone:
            runs[0] = 0.0
        return _whole(runs)

    def found_in(self) -> FloatArray:
        """Of all time, that in steps from each state (or, alone, waiting)."""
        stay = self.weight * self.times()
        if self.alone:
            stay[0] = self.weight[0] * self.arrivals.prompts.burst
            stay[0] /= self.arrivals.prompts.rate_per_s
        return _whole(stay)


def chain_of(prompts: Prompts, budget: float, step: StepTime, *, alone: bool) -> Chain | None:
    """The chain of steps with up to `budget` tokens; None where more arrives than they carry."""
    grid = _grid(prompts, budget, step)
    if grid is None:
        return None
    grain, full, states = grid
    step_s = step(grain * np.arange(full + 1.0))
    size = 1 << int(np.ceil(np.log2(2 * states)))
    mark = np.fft.rfft(_spread(prompts, grain, size), size)
    arrivals = Arrivals(prompts, grain, mark)
    rows = arrivals.within(step_s, states, 1.0)
    move = np.zeros((states, states))
    move[: full + 1] = rows
    for state in range(full + 1, states):
        left = state - full
        move[state, left:] = rows[full, : states - left]
        move[state, -1] += 1 - move[state].sum()
    if alone:
        move[0] = arrivals.within(np.zeros(1), states, mark * arrivals.mates)[0]
        move[0, 1] += move[0, 0]  # whoever comes is served, however short
        move[0, 0] = 0.0
    return Chain(_stationary(move), step_s, arrivals, alone)


def _grid(prompts: Prompts, budget: float, step: StepTime) -> tuple[float, int, int] | None:
    """Tokens of a grain, grains of the budget (or of the grid where no more wait), states."""
    plain, whole = step(np.asarray([0.0, budget])).tolist()
    per_s = prompts.rate_per_s * prompts.mean
    if per_s * whole >= budget:
        return None
    peaked = 2 * prompts.burst - 1
    spread = prompts.rate_per_s * prompts.square * peaked  # variance of tokens a second
    longest = float(prompts.tokens.max())
    cost = (whole - plain) / budget
    usual = plain / (1 - per_s * cost) + prompts.mean * cost
    span = per_s * usual + 6 * np.sqrt(spread * usual) + 1.5 * longest
    if span <= budget:
        return span / STATES, STATES, STATES + 1
    behind = spread * whole / (2 * (budget - per_s * whole))  # mean backlog in heavy traffic
    span = max(span, budget + 7 * behind + longest)
    full = max(round(budget * STATES / span), 4)
    return budget / full, full, min(int(np.ceil(span * full / budget)) + 1, MOST_STATES)


def _spread(prompts: Prompts, grain: float, size: int) -> FloatArray:
    """The law of a prompt in grains: between two, its weight is shared so that the mean stays."""
    place = np.minimum(prompts.tokens / grain, size // 2 - 1.0)
    low = np.floor(place + 1e-9).astype(np.int64)
    part = np.maximum(place - low, 0.0)
    law = np.zeros(size)
    np.add.at(law, low, prompts.weight * (1 - part))
    np.add.at(law, low + 1, prompts.weight * part)
    return law


def _stationary(move: FloatArray) -> FloatArray:
    """The law that one more step leaves as it is: by steps where few are enough, else solved."""
    law = np.full(len(move), 1 / len(move))
    for _ in range(_STEPS // _AT_ONCE):
        before = law
        for _ in range(_AT_ONCE):
            law = law @ move
        if float(np.abs(law - before).sum()) < _STILL:
            return _whole(law)
    system = move.T - np.eye(len(move))
    system[-1] = 1.0
    wanted = np.zeros(len(move))
    wanted[-1] = 1.0
    return _whole(np.maximum(np.linalg.solve(system, wanted), 0.0))


def _whole(law: FloatArray) -> FloatArray:
    """Scaled to add up to 1."""
    found: FloatArray = law / law.sum()
    return found
