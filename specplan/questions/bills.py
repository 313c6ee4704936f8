"""The memory bill of a setup: what weights and caches take, and the sequences that fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from specplan.dialects.accounts import accounting_of
from specplan.domain.accounting import Limits, Served
from specplan.domain.scenario import Setup
from specplan.physics.counted import Arm, both_arms, counted_bill
from specplan.physics.memory import Bill, memory_bill
from specplan.physics.roofline import kv_bytes
from specplan.questions.pools import Pool, pool_of

USUAL_K = 3  # of SGLang and llama.cpp where nothing is said; vLLM has none of its own
NO_LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class MemoryBill:
    """Bytes on the fullest GPU and the sequences of `context` tokens that they leave room for;
    `pool` is what an engine makes of them, where one counts.
    """

    hardware: str
    memory_bytes: float
    memory_basis: str
    usable_bytes: float
    target_weights_bytes: float
    target_kv_bytes_per_sequence: float
    draft: str
    draft_weights_bytes: float
    draft_kv_bytes_per_token: float
    draft_kv_bytes_per_sequence: float
    context: float
    largest_batch_plain: int
    largest_batch: int
    sequences_lost: int
    shortfall_bytes: float
    pool: Pool | None = None


def usual_k(setup: Setup, asked: Sequence[int] = ()) -> int:
    """The k that tokens ahead are counted for: the largest asked, else the length that the drafter
    was made for, else 3; 0 without a drafter.
    """
    longest = setup.draft.max_k
    k = max(asked, default=USUAL_K if longest is None else longest)
    return k if longest is None else min(k, longest)


def arms_of_engine(setup: Setup, k: int, limits: Limits = NO_LIMITS) -> tuple[Arm, Arm] | None:
    """The setup's GPU as its engine counts it, without and with drafts of k tokens; None for one
    that keeps no account.
    """
    accounting = accounting_of(setup.engine, setup.version)
    return both_arms(accounting, setup, k, limits) if accounting else None


def ahead_of(setup: Setup, k: int) -> int:
    """Tokens beyond its context that a sequence has room for, as its engine reserves them."""
    accounting = accounting_of(setup.engine, setup.version)
    return accounting.ahead(Served(setup, k)) if accounting else setup.draft.slots(k)


def bill_at(setup: Setup, context: npt.ArrayLike, k: int, limits: Limits = NO_LIMITS) -> Bill:
    """The bill of a setup over contexts (tokens, any shape), counted by its engine at drafts of k
    tokens where it counts, else the ideal one.
    """
    arms = arms_of_engine(setup, k, limits)
    return counted_bill(arms, context) if arms else memory_bill(setup, context)


def bill_of(
    setup: Setup, context: float, batch: float = 1, asked: Sequence[int] = ()
) -> MemoryBill:
    """The bill of a setup at one context, counted for the largest k asked; the shortfall is that of
    `batch` with the drafter.
    """
    (bill,) = bills_of(setup, (context,), batch, usual_k(setup, asked))
    return bill


def bills_of(
    setup: Setup, contexts: Sequence[float], batch: float, k: int, limits: Limits = NO_LIMITS
) -> list[MemoryBill]:
    """The bills of a setup at each context, with drafts of k tokens."""
    arms = arms_of_engine(setup, k, limits)
    if arms:
        bill, drafted = counted_bill(arms, contexts), arms[1]
        weights, token = drafted.draft_bytes, drafted.draft_token_bytes
        ahead = drafted.accounting.ahead(drafted.served)
        target_kv, draft_kv = drafted.sequence_bytes(contexts, ahead)
    else:
        bill = memory_bill(setup, contexts)
        weights, token = _ideal(setup, bill)
        target_kv, draft_kv = bill.target_sequence_bytes, bill.draft_sequence_bytes
    missing = bill.needed_bytes(batch, drafted=True) - bill.usable_bytes
    shortfall = np.where(batch > bill.largest, np.maximum(missing, 1.0), 0.0)
    columns = (
        target_kv,
        draft_kv,
        bill.largest_plain.astype(np.int64),
        bill.largest.astype(np.int64),
        shortfall,
        bill.needed_bytes(1, drafted=True),
        bill.needed_bytes(batch, drafted=True),
    )
    return [
        MemoryBill(
            hardware=setup.where,
            memory_bytes=setup.hardware.memory,
            memory_basis=setup.hardware.memory_basis,
            usable_bytes=bill.usable_bytes,
            target_weights_bytes=bill.target_bytes,
            target_kv_bytes_per_sequence=of_target,
            draft=setup.draft.label,
            draft_weights_bytes=weights,
            draft_kv_bytes_per_token=token,
            draft_kv_bytes_per_sequence=of_draft,
            context=context,
            largest_batch_plain=plain,
            largest_batch=largest,
            sequences_lost=plain - largest,
            shortfall_bytes=lacking,
            pool=pool_of(arms, context, (needed[0], needed[1])) if arms else None,
        )
        for context, of_target, of_draft, plain, largest, lacking, *needed in zip(
            contexts, *(column.tolist() for column in columns), strict=True
        )
    ]


def _ideal(setup: Setup, bill: Bill) -> tuple[float, float]:
    """The drafter's weights and its bytes for the first token."""
    model, caches = setup.draft.model, setup.draft.caches
    first = kv_bytes(model, 1, setup.kv_dtype, setup.draft_tp) if model and caches else 0.0
    return bill.draft_bytes, caches * float(first)


def fitting_tp(setup: Setup, context: float, batch: float) -> int | None:
    """The smallest power of two of GPUs, up to 64, on which the batch fits with the drafter, its
    attention groups and the ways that experts divide staying as they are.
    """
    for tp in (2, 4, 8, 16, 32, 64):
        if tp <= setup.tp or tp % setup.attention_dp or tp % setup.ep:
            continue
        wider = replace(setup, tp=tp, draft_tp=tp)
        if not bill_of(wider, context, batch).shortfall_bytes:
            return tp
    return None
