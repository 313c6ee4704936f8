"""What requests ask of a replica: rounds, prompt tokens to read, bytes of the pool."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from specplan.domain.acceptance import Acceptance
from specplan.domain.traffic import Lengths
from specplan.physics.survival import rounds_up_to, survival, tokens_of
from specplan.physics.tokens import FloatArray, round_variance
from specplan.serving.replica import Replica

WAYS = 160  # distinct output lengths that are told apart
_PARTS = (np.arange(6) + 0.5) / 6  # of an output, where a sequence is looked at


@dataclass(frozen=True, slots=True)
class Rounds:
    """Of one k: the rounds of each kind of request, mean and variance (L,), and the mean of all."""

    mean: FloatArray
    variance: FloatArray
    all: float


@dataclass(frozen=True, slots=True)
class Demands:
    """Requests as a replica sees them: `after` (L,) tokens after the first by weight (L,), `new`
    (P,) prompt tokens to read by `new_weight` (P,), each of which sees `attended` (P,) tokens on
    average, `seen` over all; `context` is the mean one of a sequence in a round, `bytes` what it
    holds then on average, and `prompt_bytes` while its prompt is read. `output` is the mean of all
    output tokens, `output_square` the mean square of those after the first.
    """

    after: FloatArray
    weight: FloatArray
    new: FloatArray
    new_weight: FloatArray
    attended: FloatArray
    seen: float
    context: float
    bytes: float
    prompt_bytes: float
    output: float
    output_square: float


def demands_of(replica: Replica, lengths: Lengths) -> Demands:
    """The demands of these lengths; a sequence counts as long as it runs."""
    isl, osl, hit, weight = (
        np.asarray(part, np.float64)
        for part in (lengths.isl, lengths.osl, lengths.hit, lengths.weight)
    )
    weight = weight / weight.sum()
    after = np.maximum(osl - 1, 0.0)
    there = weight * after
    total = float(there.sum())
    room = replica.room
    if total:
        seen = isl[:, np.newaxis] + 1 + after[:, np.newaxis] * _PARTS
        context = float((there @ seen).mean() / total)
        held = float((there @ room.bytes_of(seen)).mean() / total)
    else:
        context = float(weight @ isl)
        held = float(weight @ room.bytes_of(isl))
    new = np.maximum(isl - hit, 1.0)
    attended = isl - new + new / 2
    length, part = pooled(after, weight)
    return Demands(
        after=length,
        weight=part,
        new=new,
        new_weight=weight,
        attended=attended,
        seen=float((weight * new) @ attended / ((weight * new).sum())),
        context=context,
        bytes=held,
        prompt_bytes=float(weight @ room.bytes_of(isl)),
        output=float(weight @ osl),
        output_square=float(weight @ after**2),
    )


def pooled(value: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Values (N,) and their weights, equal ones once; beyond `WAYS` of them, neighbours together at
    their mean: short ones, where a token more or less says much, stay apart longest.
    """
    kinds, place = np.unique(value, return_inverse=True)
    held = np.bincount(place.ravel(), weight).astype(np.float64)
    if len(kinds) <= WAYS:
        return kinds, held
    scale = np.log1p(kinds)
    group = np.floor((scale - scale[0]) / (scale[-1] - scale[0] + 1e-9) * WAYS)
    _, place = np.unique(group, return_inverse=True)
    whole = np.bincount(place.ravel(), held).astype(np.float64)
    return np.bincount(place.ravel(), held * kinds) / whole, whole


def rounds_of(acceptance: Acceptance, k: int, demands: Demands) -> Rounds:
    """Rounds to make the tokens after the first (renewals: variance m sigma^2 / mu^3)."""
    after = demands.after
    longest = int(np.ceil(after.max()))
    table = rounds_up_to(acceptance, k, longest + 1, demands.context)
    mean = np.interp(after, np.arange(longest + 1.0), table)
    tokens = float(tokens_of(acceptance, (k,), demands.context)[0])
    spread = float(round_variance(survival(acceptance, k, demands.context))) if k else 0.0
    return Rounds(
        mean=mean,
        variance=after * spread / tokens**3,
        all=float(demands.weight @ mean),
    )


def every_rounds(
    acceptance: Acceptance, lengths: Sequence[int], demands: Demands
) -> dict[int, Rounds]:
    """The same for every k that a policy may use."""
    return {k: rounds_of(acceptance, k, demands) for k in lengths}
