"""Steps and crowd brought together: how long rounds are at each batch, and how large batches get.

Prompts take a share s(n) of the time at a batch of n, so rounds last D(n) = T(n) / (1 - s(n)) on
average. s is worked out as a bulk queue at a few batches where the server is most of the time, and
lies between them in proportion to a plain estimate.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from specplan.physics.tokens import FloatArray
from specplan.serving.backlog import Steps, mean_step_s, steps_of
from specplan.serving.bursts import burst_of
from specplan.serving.crowd import Crowd, crowd_of
from specplan.serving.law import Law, always
from specplan.serving.server import Server

LEVELS = (0.004, 0.1, 0.37, 0.63, 0.9, 0.996)  # of the law of the batch
_IDLE = 1e-4  # of the time, from which an empty server is looked at
_NEARLY = 0.999  # of all time: prompts alone never take more


@dataclass(frozen=True, slots=True)
class Balance:
    """`steps` at each of `levels` (V,), batches that ascend, 0 for an empty server, the last the
    full batch; at n = 1..most the mean round `round_s`, and `tau_s` that requests hold their places
    for; `share` of the time that prompts take. `late_s` and `spare_s` are as `Steps` has them.
    `together` is the second moment over the mean of how many requests join at once.
    """

    levels: tuple[int, ...]
    steps: tuple[Steps, ...]
    round_s: FloatArray
    tau_s: FloatArray
    share: FloatArray
    late_s: FloatArray
    spare_s: FloatArray
    crowd: Crowd
    together: float

    def weights(self, by_batch: FloatArray) -> FloatArray:
        """Weights of batches (0..most, (most + 1,)) given to the levels on both sides."""
        places = np.asarray(self.levels, np.float64)
        at = np.arange(len(by_batch), dtype=np.float64)
        if len(places) == 1:
            return np.asarray([by_batch.sum()])
        low = np.clip(np.searchsorted(places, at, side="right") - 1, 0, len(places) - 2)
        part = np.clip((at - places[low]) / (places[low + 1] - places[low]), 0.0, 1.0)
        found = np.zeros(len(places))
        np.add.at(found, low, by_batch * (1 - part))
        np.add.at(found, low + 1, by_batch * part)
        return found


def balance(server: Server, rate_per_s: float, dispersion: float = 1.0) -> Balance | None:
    """The balance at a rate; None where the server falls behind."""
    if server.role == "prefill":
        return _of_prompts(server, rate_per_s, dispersion)
    rough = _rough(server, rate_per_s)
    guess = _crowd(server, rate_per_s, dispersion, rough, 0 * rough)
    levels = _levels(guess[0].law if guess else None, server.most)
    sure = []
    for level in levels:
        steps = _steps(server, rate_per_s, dispersion, level)
        if steps is None:
            return None
        sure.append(steps)
    share, late_s, spare_s = _shares(server, levels, sure, rough)
    late = server.late_s(share, late_s, spare_s)
    crowd = _crowd(server, rate_per_s, dispersion, share, late)
    if crowd is None:
        return None
    round_s, tau_s = _held(server, share, late)
    return Balance(tuple(levels), tuple(sure), round_s, tau_s, share, late_s, spare_s, *crowd)


def _of_prompts(server: Server, rate_per_s: float, dispersion: float) -> Balance | None:
    """A server where nothing decodes."""
    steps = _steps(server, rate_per_s, dispersion, 0)
    if steps is None:
        return None
    none, alone = np.zeros(0), Crowd(np.ones(1), 0.0, np.inf)
    return Balance((0,), (steps,), none, none, none, none, none, alone, 1.0)


def full_load(server: Server, rate_per_s: float) -> float:
    """The share of a full server's time that the prompts and the rounds of this rate would take:
    1 where it saturates, infinite where prompts alone are too many.
    """
    prompts = server.prompts(rate_per_s)
    if server.role == "prefill":
        budget = server.budget(0)
        full_s = float(server.step(0)(np.asarray([budget]))[0])
        return rate_per_s * (prompts.mean if prompts else 0.0) * full_s / budget
    plain, most = float(server.plain_s[-1]), server.most
    decode = rate_per_s * float(server.asked[-1]) * plain / most
    if prompts is None:
        return decode
    mean_s = mean_step_s(prompts, server.budget(most), server.step(most))
    return decode + 1 - plain / mean_s if mean_s else np.inf


def _steps(server: Server, rate_per_s: float, dispersion: float, batch: int) -> Steps | None:
    """Steps at a batch; what comes within one with a prompt in it is read together."""
    step, prompts = server.step(batch), server.prompts(rate_per_s)
    if prompts is None:
        length = float(step(np.zeros(1))[0])
        return Steps(length, 0.0, 0.0, 0.0, always(length), _joins(length))
    budget = server.budget(batch)
    within_s = float(step(np.asarray([min(prompts.mean, budget)]))[0])
    prompts = replace(prompts, burst=burst_of(rate_per_s, dispersion, within_s))
    return steps_of(prompts, budget, step, alone=batch == 0)


def _joins(length_s: float) -> Law:
    """Someone who comes at any moment of a round joins the next one."""
    if not length_s:
        return always(0.0)
    return Law(np.asarray([0.0, length_s]), np.asarray([0.0, 1.0]), length_s / 2)


def _rough(server: Server, rate_per_s: float) -> FloatArray:
    """The share of the time that prompts take at each batch, from what one of them adds."""
    prompts = server.prompts(rate_per_s)
    if prompts is None:
        return np.zeros(server.most)
    places = np.unique(np.geomspace(1, server.most, 10).astype(np.int64))
    found = []
    for batch in places.tolist():
        step = server.step(batch)
        some = np.asarray([0.0, min(prompts.mean, server.budget(batch))])
        plain, mixed = step(some).tolist()
        found.append(prompts.rate_per_s * prompts.mean * (mixed - plain) / some[1])
    share = np.interp(np.arange(1.0, server.most + 1), places, found)
    capped: FloatArray = np.clip(share, 0.0, _NEARLY)
    return capped


def _shares(
    server: Server, levels: list[int], steps: list[Steps], rough: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The share of prompts, and what the first rounds are longer by, at every batch."""
    at = np.asarray([level for level in levels if level], np.float64)
    plain = server.plain_s[at.astype(np.int64) - 1]
    mean = np.asarray([s.mean_s for level, s in zip(levels, steps, strict=True) if level])
    late = np.asarray([s.late_s for level, s in zip(levels, steps, strict=True) if level])
    spare = np.asarray([s.spare_s for level, s in zip(levels, steps, strict=True) if level])
    share = 1 - plain / mean
    here = rough[at.astype(np.int64) - 1]
    every = np.arange(1.0, server.most + 1)
    ratio = np.interp(every, at, np.divide(share, here, out=np.ones_like(share), where=here > 0))
    whole = np.clip(rough * ratio, 0.0, _NEARLY)
    room = 1 - every / server.most  # a full batch sees every step alike, and loses nothing by it
    return whole, room * np.interp(every, at, late), np.interp(every, at, spare)


def _held(server: Server, share: FloatArray, late: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean rounds, and how long requests hold their places."""
    round_s = server.plain_s / (1 - share)
    return round_s, server.asked * round_s + late


def _crowd(
    server: Server, rate_per_s: float, dispersion: float, share: FloatArray, late: FloatArray
) -> tuple[Crowd, float] | None:
    """The crowd of these shares and first rounds, and the second moment over the mean of how many
    come together; None where it grows for ever.

    Who comes while prompts are read comes with them: a busy period has 1 / (1 - s) prompts on
    average, and a second moment over the mean of (I + s^2 cv^2) / (1 - s)^2 of their number (a
    branching process; the Borel law where prompts are alike).
    """
    tau_s = _held(server, share, late)[1]
    if rate_per_s * tau_s[-1] >= server.most:
        return None
    usual = rate_per_s * tau_s / np.arange(1.0, server.most + 1)
    s = float(share[np.argmax(usual <= 1)])
    peaked = 2 * burst_of(rate_per_s, dispersion, float(tau_s[0])) - 1
    together = (peaked + s**2 * server.uneven) / (1 - s) ** 2
    return crowd_of(rate_per_s, tau_s, 1 + (together - 1) * server.lasting), together


def _levels(law: FloatArray | None, most: int) -> list[int]:
    """Batches to look at: quantiles of a guess, the full one, and none where it is seen."""
    if law is None:
        return sorted({max(most // 2, 1), max(most * 3 // 4, 1), most})
    places = np.searchsorted(np.cumsum(law), LEVELS)
    found = {int(min(max(place, 1), most)) for place in places} | {most}
    return sorted(found | {0} if law[0] > _IDLE else found)
