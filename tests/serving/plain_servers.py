"""Servers of a few made-up numbers, for which queueing theory has answers."""

from __future__ import annotations

import numpy as np

from specplan.domain.acceptance import Acceptance, Alpha
from specplan.domain.traffic import Trace
from specplan.serving.pace import Pace, Prompts
from specplan.serving.policy import Policy, fixed
from specplan.serving.replica import Replica
from specplan.serving.room import Room

FREE = Prompts(
    rows=np.array([0.0, 1e6]),
    wide_s=np.zeros(2),
    context=np.array([0.0, 1e6]),
    attend_s=np.zeros(2),
    last_s=0.0,
)


def server(
    *,
    policy: Policy | None = None,
    k: tuple[int, ...] = (0,),
    sequences: int = 1,
    round_s: float = 1e-3,
    per_sequence_s: float = 0.0,
    per_token_s: float = 0.0,
    prompt_s: float = 0.0,
    pool_tokens: float = 1e9,
    block: int = 1,
    ahead: int = 0,
    step_tokens: int = 1 << 20,
    acceptance: Acceptance | None = None,
) -> Replica:
    """Steps of `round_s`, more for each sequence and each token of mean context; prompt tokens cost
    `prompt_s` each; a token of cache is a byte.
    """
    context = np.array([0.0, 300.0, 1000.0, 1e6])
    batch = np.arange(1.0, sequences + 1)
    widths = np.asarray(k, np.float64) + 1
    table = (
        round_s
        + per_sequence_s * widths[:, np.newaxis, np.newaxis] * batch[:, np.newaxis]
        + per_token_s * batch[:, np.newaxis] * context
    )
    target = Prompts(
        rows=np.arange(0.0, step_tokens + 2) if prompt_s else FREE.rows,
        wide_s=prompt_s * np.arange(0.0, step_tokens + 2) if prompt_s else FREE.wide_s,
        context=FREE.context,
        attend_s=np.array([0.0, 1e6 * prompt_s * 1e-4]),
        last_s=0.0,
    )
    pace = Pace(
        k=k,
        width=widths,
        context=context,
        round_s=np.broadcast_to(table, (len(k), sequences, len(context))),
        target=target,
        draft=None,
        groups=1,
        idle_s=0.0,
        host_hidden=True,
    )
    held = np.arange(0.0, 4000.0 + block, block)
    room = Room(
        pool_bytes=pool_tokens,
        held_bytes=held,
        block=block,
        ahead=ahead,
        sequences=sequences,
        step_tokens=step_tokens,
    )
    return Replica(
        pace=pace,
        room=room,
        policy=policy or fixed(k[-1]),
        acceptance=acceptance or Alpha(0.7),
        gpus=1,
    )


def requests(
    count: int,
    rate: float,
    seed: int = 0,
    isl: tuple[int, int] = (20, 400),
    osl: tuple[int, int] = (1, 300),
    hits: bool = False,
) -> Trace:
    """Poisson arrivals of prompts and outputs between two lengths."""
    rng = np.random.default_rng(seed)
    prompt = rng.integers(*isl, count, endpoint=True)
    return Trace(
        arrival_s=np.cumsum(rng.exponential(1 / rate, count)).tolist(),
        isl=prompt.tolist(),
        osl=rng.integers(*osl, count, endpoint=True).tolist(),
        hit=(prompt * rng.random(count)).astype(int).tolist() if hits else (),
    )
