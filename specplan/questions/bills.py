"""The memory bill of a setup: what weights and caches take, and the sequences that fit."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from specplan.dialects.accounts import accounting_of
from specplan.domain.accounting import Limits, Served
from specplan.domain.scenario import Setup
from specplan.physics.counted import Arm, both_arms, counted_bill
from specplan.physics.drawn import pool_for
from specplan.physics.memory import Bill, memory_bill
from specplan.physics.roofline import kv_bytes
from specplan.physics.tokens import FloatArray
from specplan.questions.pools import Pool, capped_words, pool_of

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


def cap_notes(setups: Iterable[Setup], batch: float, asked: Sequence[int] = ()) -> Iterator[str]:
    """What engines do by default with a batch larger than they run at once, each once."""
    found = (_cap_note(setup, batch, usual_k(setup, asked)) for setup in setups)
    yield from dict.fromkeys(note for note in found if note)


def _cap_note(setup: Setup, batch: float, k: int) -> str | None:
    accounting = accounting_of(setup.engine, setup.version)
    most = accounting.sequences(Served(setup, k)) if accounting else None
    if accounting is None or most is None or batch <= most:
        return None
    return capped_words(setup.serving.served_by, most, accounting.run_flag)


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
    one, all_ = (_needed_bytes(bill, arms, sequences) for sequences in (1, batch))
    missing = all_ - bill.usable_bytes
    shortfall = np.where(batch > bill.largest, np.maximum(missing, 1.0), 0.0)
    columns = (
        target_kv,
        draft_kv,
        bill.largest_plain.astype(np.int64),
        bill.largest.astype(np.int64),
        shortfall,
        one,
        all_,
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


def _needed_bytes(bill: Bill, arms: tuple[Arm, Arm] | None, batch: float) -> FloatArray:
    """Bytes that a batch needs with the drafter, with what has to be divided off for it."""
    if arms is None or arms[1].aside.sequences is None:
        return bill.needed_bytes(batch, drafted=True)
    arm, sequences = arms[1], math.ceil(batch / bill.groups)
    held = bill.target_sequence_bytes + bill.ahead_sequence_bytes
    each = held + bill.groups * bill.draft_sequence_bytes
    beside = arm.resident_bytes + arm.accounting.spare * arm.block_bytes
    pools = [
        pool_for(arm.accounting, arm.served, arm.state_bytes, sequences, one)
        for one in each.tolist()
    ]
    return beside + np.asarray(pools, np.float64)


def _ideal(setup: Setup, bill: Bill) -> tuple[float, float]:
    """The drafter's weights and its bytes for the first token."""
    model, caches = setup.draft.model, setup.draft.caches
    first = kv_bytes(model, 1, setup.kv_dtype, setup.draft_tp) if model and caches else 0.0
    return bill.draft_bytes, caches * float(first)


def fitting_tp(
    setup: Setup,
    context: float,
    batch: float,
    asked: Sequence[int] = (),
    limits: Limits = NO_LIMITS,
) -> int | None:
    """The smallest power of two of GPUs, up to 64, on which the batch fits with drafts of the
    largest k asked, its attention groups, the ways that experts divide and what the server is told
    staying as they are.
    """
    for tp in (2, 4, 8, 16, 32, 64):
        if tp <= setup.tp or tp % setup.attention_dp or tp % setup.ep:
            continue
        wider = replace(setup, tp=tp, draft_tp=tp)
        (bill,) = bills_of(wider, (context,), batch, usual_k(wider, asked), limits)
        if not bill.shortfall_bytes and (bill.pool is None or bill.pool.starts):
            return tp
    return None
