"""The draft passes of rounds, for several draft lengths at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from specplan.domain.drafter import Does, Drafter, Run
from specplan.domain.engine import Engine
from specplan.domain.model import Model
from specplan.physics.roofline import head_params, key_params
from specplan.physics.tokens import FloatArray


@dataclass(frozen=True, slots=True)
class Passes:
    """Passes of one model that are alike in every round: how many a round runs (`count`, (K,)),
    and over how many new tokens a sequence, of which `outputs` go through the head: (K,), or (1,)
    where all draft lengths agree.
    """

    model: Model
    count: FloatArray
    tokens: FloatArray
    outputs: FloatArray
    does: Does = Does.WHOLE


def passes_of(draft: Drafter, k: Sequence[int]) -> tuple[Passes, ...]:
    """The passes of rounds of each k, in the order in which a round runs them."""
    rounds = [draft.runs(n) for n in k]
    groups = max(map(len, rounds), default=0)
    return tuple(_alike([r[g] if g < len(r) else None for r in rounds]) for g in range(groups))


def _alike(runs: Sequence[Run | None]) -> Passes:
    some = [run for run in runs if run is not None]
    count = np.asarray([run.count if run else 0 for run in runs], np.float64)
    tokens = {run.tokens for run in some}
    outputs = {run.outputs for run in some}
    shared = len(tokens) == len(outputs) == 1
    rows = some[:1] if shared else [run or some[0] for run in runs]
    return Passes(
        some[0].model,
        count,
        np.asarray([run.tokens for run in rows], np.float64),
        np.asarray([run.outputs for run in rows], np.float64),
        some[0].does,
    )


def drafted(draft: Drafter, engine: Engine, k: Sequence[int]) -> FloatArray:
    """Draft tokens that verification carries for a sequence in rounds of each k, shape (K,): what
    the drafter proposes on average, or k in every round under an engine that pads.
    """
    padded = draft.adapts and engine.pads
    return np.asarray([n if padded else draft.verified(n) for n in k], np.float64)


def draft_params(draft: Drafter, k: Sequence[int]) -> FloatArray:
    """Parameters that the draft passes of a round multiply for a sequence, token by token, (K,)."""
    total = np.zeros(len(k))
    for some in passes_of(draft, k):
        if some.does is Does.KEYS:
            total = total + some.count * key_params(some.model) * some.tokens
            continue
        head = head_params(some.model)
        body = some.model.active_params - head
        total = total + some.count * (body * some.tokens + head * some.outputs)
    return total
