"""From a setup to a server: its pool as the engine counts it, its pace, and when it speculates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from specplan.domain.acceptance import Acceptance
from specplan.domain.accounting import Limits
from specplan.domain.contest import undrafted
from specplan.domain.scenario import Setup
from specplan.domain.traffic import Lengths
from specplan.errors import UsageError, Where
from specplan.physics.memory import memory_bill
from specplan.physics.mixed import BUDGET_TOKENS
from specplan.physics.round import seen_by
from specplan.physics.schedule import HYSTERESIS
from specplan.physics.survival import tokens_of
from specplan.questions.bills import NO_LIMITS, arms_of_engine
from specplan.serving.pace import Pace, pace_of
from specplan.serving.policy import Policy, fixed, gated
from specplan.serving.replica import Replica
from specplan.serving.room import Room

MOST_SEQUENCES = 4096  # that run at once under an engine without a limit of its own


@dataclass(frozen=True, slots=True)
class Shape:
    """What of the traffic a server has to be sized for: mean context of a sequence that decodes,
    by time, and the longest that any request gets.
    """

    context: float
    longest: float


def shape_of(lengths: Lengths) -> Shape:
    """Sequences of m output tokens are there m times as long, at isl + m / 2 on average."""
    isl, osl, weight = (
        np.asarray(part, np.float64) for part in (lengths.isl, lengths.osl, lengths.weight)
    )
    there = weight * osl
    mean = float((there * (isl + osl / 2)).sum() / there.sum())
    return Shape(mean, float((isl + osl).max()))


def plain_replica(
    setup: Setup, acceptance: Acceptance, shape: Shape, limits: Limits = NO_LIMITS
) -> Replica:
    """The server without speculation."""
    return _replica(undrafted(setup), acceptance, shape, fixed(0), limits)


def fixed_replica(
    setup: Setup, acceptance: Acceptance, shape: Shape, k: int, limits: Limits = NO_LIMITS
) -> Replica:
    """The server with one k."""
    return _replica(setup, acceptance, shape, fixed(k), limits)


def gated_replica(
    setup: Setup,
    acceptance: Acceptance,
    shape: Shape,
    candidates: Sequence[int],
    limits: Limits = NO_LIMITS,
    *,
    tax: float = 0.0,
    hysteresis: float = HYSTERESIS,
) -> Replica:
    """The server whose k, out of the candidates (0 among them), follows its batch."""
    seen = seen_by(setup, acceptance, shape.context)
    room = room_of(seen, shape, max(candidates), limits)
    pace = _pace(seen, candidates, room, shape)
    tokens = tokens_of(acceptance, candidates, shape.context)
    policy = gated(pace, tokens, shape.context, tax=tax, hysteresis=hysteresis)
    return Replica(pace=pace, room=room, policy=policy, acceptance=acceptance, gpus=setup.gpus)


def _replica(
    setup: Setup, acceptance: Acceptance, shape: Shape, policy: Policy, limits: Limits
) -> Replica:
    seen = seen_by(setup, acceptance, shape.context)
    room = room_of(seen, shape, max(policy.k), limits)
    pace = _pace(seen, tuple(sorted({0, *policy.k})), room, shape)
    return Replica(pace=pace, room=room, policy=policy, acceptance=acceptance, gpus=setup.gpus)


def _pace(setup: Setup, k: Sequence[int], room: Room, shape: Shape) -> Pace:
    """Batches as far as sequences of one token would fit."""
    fits = room.pool_bytes // max(float(room.bytes_of(1)), 1.0)
    most = max(int(min(room.sequences, fits)), 1)
    rows = room.step_tokens + most * (max(k) + 1)
    return pace_of(setup, k, most, shape.longest, rows)


def room_of(setup: Setup, shape: Shape, k: int, limits: Limits = NO_LIMITS) -> Room:
    """The pool of a replica with drafts of k tokens, as its engine counts it, else the ideal one.

    Attention groups have a pool each: they count as one of all their bytes.
    """
    arms = arms_of_engine(setup, k, limits)
    if not arms:
        return _ideal_room(setup, shape, k, limits)
    arm = arms[1] if k else arms[0]
    accounting, served = arm.accounting, arm.served
    if refused := accounting.refused(limits):
        raise UsageError(refused, where=Where("--max-batched-tokens"))
    ahead = accounting.ahead(served) if k else 0
    blocks = math.ceil((shape.longest + ahead) / arm.block) + 1
    held = arm.sequence(arm.block * np.arange(1.0, blocks + 1))
    most = min(
        accounting.sequences(served) or MOST_SEQUENCES, arm.aside.sequences or MOST_SEQUENCES
    )
    return Room(
        pool_bytes=setup.attention_dp * arm.blocks * arm.block_bytes,
        held_bytes=np.concatenate(([0.0], held)),
        block=arm.block,
        ahead=ahead,
        sequences=setup.attention_dp * most,
        step_tokens=setup.attention_dp * (accounting.batched_tokens(served) or BUDGET_TOKENS),
    )


def _ideal_room(setup: Setup, shape: Shape, k: int, limits: Limits) -> Room:
    ahead = setup.draft.slots(k) if k else 0
    bill = memory_bill(setup if k else undrafted(setup), np.arange(shape.longest + ahead + 2))
    held = bill.target_sequence_bytes + setup.attention_dp * bill.draft_sequence_bytes
    left = bill.usable_bytes - bill.target_bytes - bill.draft_bytes
    return Room(
        pool_bytes=setup.attention_dp * max(left, 0.0),
        held_bytes=held,
        block=1,
        ahead=ahead,
        sequences=limits.max_num_seqs or MOST_SEQUENCES,
        step_tokens=limits.max_batched_tokens or BUDGET_TOKENS,
    )
