"""Prompts that wait for the next step: a queue served in bulk.

Continuous batching runs at every step all the prompt tokens that wait, up to the budget of the step
(Yu et al. 2022, Orca; Agrawal et al. 2024, Sarathi-Serve, for chunks). A step that carries much is
long, and more arrives meanwhile. With Poisson bursts the tokens that wait at the starts of steps
are a Markov chain: q' = q - min(q, C) + what arrives in X(q) seconds, a compound Poisson sum
(M/G/1 with bulk service, Bailey 1954). Its law gives how long steps are and how long a prompt
takes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from specplan.physics.tokens import FloatArray
from specplan.serving.law import Law, law_of

ComplexArray = npt.NDArray[np.complex128]
STATES = 144  # of a chain, about
MOST_STATES = 600
_MOMENTS = 5  # of a step at which a prompt may arrive
_BINS = 400  # of a law of times
_SLIGHT = 1e-5  # of all requests: not followed
_RARE = 5e-4  # of all requests: not told apart
_STEPS, _AT_ONCE = 400, 20  # tried before a chain is solved at once: a solver may wait for threads
_STILL = 1e-10


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
class Steps:
    """Steps at one batch. `mean_s` and `variance` are of all steps, `own_s` the mean of those that
    end a prompt, `length` the law of a step, `first` that of the time from arrival to first token.
    """

    mean_s: float
    variance: float
    own_s: float
    length: Law
    first: Law


StepTime = Callable[[FloatArray], FloatArray]
"""Seconds of a step with so many prompt tokens; with 0 of them, those of a plain round."""


def steps_of(prompts: Prompts, budget: float, step: StepTime, *, alone: bool) -> Steps | None:
    """Steps with up to `budget` prompt tokens each; None where more arrives than they carry.

    `alone`: nothing decodes, and the server waits where no prompt does.
    """
    chain = _chain(prompts, budget, step, alone=alone)
    if chain is None:
        return None
    weight, x = chain.weight, chain.times()
    runs = weight.copy()
    if alone:
        runs[0] = 0.0
    runs /= runs.sum()
    mean = float(runs @ x)
    first, own = chain.first(alone=alone)
    return Steps(
        mean_s=mean,
        variance=float(runs @ (x - mean) ** 2),
        own_s=own,
        length=law_of(x, runs),
        first=first,
    )


@dataclass(frozen=True, slots=True)
class _Chain:
    """The stationary chain: `weight` (M,) of the states 0, 1, ... grains of tokens at starts of
    steps, `x` (J + 1,) seconds of a step with 0..J grains, where J is the budget; `mark` (F,) the
    transform of one prompt, `prompts` what arrives, a `grain` of so many tokens.
    """

    weight: FloatArray
    x: FloatArray
    mark: ComplexArray
    prompts: Prompts
    grain: float

    def times(self) -> FloatArray:
        """Seconds of a step from each state."""
        return self.x[np.minimum(np.arange(len(self.weight)), len(self.x) - 1)]

    def first(self, *, alone: bool) -> tuple[Law, float]:
        """The law of the time to the first token, and the mean of the step that ends a prompt.

        An arrival meets a step in proportion to its length and at any moment of it; its prompt is
        through with the next step, or after as many full ones as lie before it.
        """
        full, x_of = len(self.x) - 1, self.times()
        stay = self.weight * x_of
        bursts = self.prompts.rate_per_s / self.prompts.burst
        if alone:
            stay[0] = self.weight[0] / bursts
        stay = stay / stay.sum()
        rows = np.flatnonzero(stay[: full + 1] > _SLIGHT)
        states = len(self.weight)
        mates = 1 / (self.prompts.burst - (self.prompts.burst - 1) * self.mark)
        own = self.mark * mates**2  # with all of its burst
        waits = self.x.copy()
        if alone:
            waits[0] = 0.0
        together = _laws(own, self.mark, self.prompts, waits[rows], states)
        ahead = 1.0 - (np.arange(_MOMENTS) + 0.5) / _MOMENTS
        late = self._late_share(stay, waits)
        last_s = self.x[np.minimum(np.arange(states), full)]
        if alone:
            last_s[0] = self.x[min(1, full)]
        times: list[FloatArray] = []
        shares: list[FloatArray] = []
        for moment in ahead:  # of the step still to come
            left = moment * waits[rows]
            here = stay[rows] / _MOMENTS
            if late > _RARE:
                queued = _laws(
                    self.mark * mates, self.mark, self.prompts, (1 - moment) * waits[rows], states
                )
                at_once = queued[:, : full + 1].sum(axis=1)
                self._late(times, shares, queued, left, here, moment, stay, waits)
                here = here * at_once
            times.append((left[:, np.newaxis] + last_s).ravel())
            shares.append((here[:, np.newaxis] * together).ravel())
        end = together.T @ (stay[rows] / stay[rows].sum())
        return _binned(np.concatenate(times), np.concatenate(shares)), float(end @ last_s)

    def _late_share(self, stay: FloatArray, waits: FloatArray) -> float:
        """About the share of prompts that more than the next step lies before."""
        full = len(self.x) - 1
        if len(stay) - 1 <= full:
            return 0.0
        mean_s = float(stay[: full + 1] @ waits) / 2
        ends = _laws(self.mark, self.mark, self.prompts, np.asarray([mean_s]), len(stay))[0]
        return float(stay[full + 1 :].sum() + ends[full + 1 :].sum())

    def _late(
        self,
        times: list[FloatArray],
        shares: list[FloatArray],
        queued: FloatArray,
        left: FloatArray,
        here: FloatArray,
        moment: float,
        stay: FloatArray,
        waits: FloatArray,
    ) -> None:
        """Adds prompts that full steps lie before: after steps below the budget, and after others,
        which leave some of what they found.
        """
        full = len(self.x) - 1
        place = np.arange(float(queued.shape[1]))
        full_s = float(self.x[full])
        meanwhile = self.prompts.rate_per_s * self.prompts.mean * full_s / self.grain

        def spent(at: FloatArray) -> FloatArray:
            """Seconds from the end of the step met to the end of the one that ends the prompt."""
            before = np.maximum(np.ceil(at / full) - 1, 0)
            rest = np.minimum(at - before * full + np.where(before > 0, meanwhile, 0.0), full)
            found: FloatArray = before * full_s + np.interp(rest, np.arange(full + 1), self.x)
            return found

        beyond = place > full
        times.append((left[:, np.newaxis] + spent(place[beyond])).ravel())
        shares.append((here[:, np.newaxis] * queued[:, beyond]).ravel())
        above = np.arange(full + 1, len(stay))
        if len(above) and queued.shape[0]:
            last = _laws(
                self.mark / (self.prompts.burst - (self.prompts.burst - 1) * self.mark),
                self.mark,
                self.prompts,
                np.asarray([(1 - moment) * waits[full]]),
                queued.shape[1],
            )[0]
            at = place + (above - float(full))[:, np.newaxis]
            times.append((moment * full_s + spent(at)).ravel())
            shares.append((stay[above, np.newaxis] / _MOMENTS * last).ravel())


def _chain(prompts: Prompts, budget: float, step: StepTime, *, alone: bool) -> _Chain | None:
    grid = _grid(prompts, budget, step)
    if grid is None:
        return None
    grain, full, states = grid
    x = step(grain * np.arange(full + 1.0))
    size = 1 << int(np.ceil(np.log2(2 * states)))
    mark = np.fft.rfft(_spread(prompts, grain, size), size)
    rows = _laws(np.ones(1, np.complex128), mark, prompts, x, states)
    move = np.zeros((states, states))
    move[: full + 1] = rows
    for state in range(full + 1, states):
        left = state - full
        move[state, left:] = rows[full, : states - left]
        move[state, -1] += 1 - move[state].sum()
    if alone:
        burst = mark / (prompts.burst - (prompts.burst - 1) * mark)
        move[0] = _cut(np.fft.irfft(burst, size)[np.newaxis], states)[0]
        move[0, 1] += move[0, 0]  # whoever comes is served, however short
        move[0, 0] = 0.0
    return _Chain(_stationary(move), x, mark, prompts, grain)


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


def _laws(
    own: ComplexArray, mark: ComplexArray, prompts: Prompts, seconds: FloatArray, states: int
) -> FloatArray:
    """The laws (rows, states) of the grains that arrive in each of `seconds` (rows,), on top of
    what has the transform `own`; what lies beyond the states counts as the last.
    """
    burst = mark / (prompts.burst - (prompts.burst - 1) * mark)
    rate = prompts.rate_per_s / prompts.burst
    found = np.fft.irfft(own * np.exp(rate * seconds[:, np.newaxis] * (burst - 1)))
    return _cut(found, states)


def _cut(laws: FloatArray, states: int) -> FloatArray:
    kept = np.maximum(laws[:, :states], 0.0)
    kept[:, -1] += np.maximum(1 - kept.sum(axis=1), 0.0)
    found: FloatArray = kept / kept.sum(axis=1, keepdims=True)
    return found


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


def _binned(at: FloatArray, share: FloatArray) -> Law:
    """The law of many values, in bins."""
    top = float(at[share > _SLIGHT * share.max()].max())
    place = np.minimum((at * (_BINS / top)).astype(np.int64), _BINS - 1)
    held = np.bincount(place, share, minlength=_BINS)
    mean = float((at * share).sum() / share.sum())
    edges = np.linspace(0.0, top, _BINS + 1)
    return Law(edges, np.concatenate(([0.0], np.cumsum(held))) / held.sum(), mean)
