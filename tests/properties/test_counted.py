"""Memory as engines count it: what must hold of any, and one engine's count in plain Python."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import specplan
from specplan.dialects.accounts import accounting_of
from specplan.domain.accounting import GIB, Limits
from specplan.domain.scenario import Setup
from specplan.physics.counted import both_arms, counted_bill
from specplan.questions.bills import bills_of, cap_notes, fitting_tp

TOLD = Limits(memory_fraction=0.9, max_num_seqs=64, max_batched_tokens=2048)
ENGINES = ("vllm@0.10", "vllm@0.26", "vllm", "sglang@0.5.9", "sglang", "trtllm", "llamacpp")
SAME_POOL = ("llama-3.1-8b", "gemma-3-27b", "gpt-oss-20b", "deepseek-v2-lite")
BY_SIZE = ("ngram", "eagle3-llama-3.1-8b", "llama-3.2-1b", "llama-3.2-3b")


@cache  # cards are read once
def setup(engine: str, target: str, draft: str = "ngram") -> Setup:
    """One setup on an H100."""
    words = {"target": target, "draft": draft, "hardware": "h100-sxm", "engine": engine}
    return specplan.scenario(**words, acceptance=0.7).setups[0]


def sequences(found: Setup, context: int, k: int, limits: Limits = TOLD) -> tuple[int, int]:
    """Sequences that fit without and with drafts."""
    accounting = accounting_of(found.engine, found.version)
    assert accounting
    told = limits if accounting.flag else replace(limits, memory_fraction=None)
    bill = counted_bill(both_arms(accounting, found, k, told), context)
    return int(bill.largest_plain), int(bill.largest)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("target", SAME_POOL)
@settings(max_examples=20)
@given(
    gib=st.floats(20, 300),
    more=st.floats(0, 200),
    context=st.integers(1, 100_000),
    k=st.integers(1, 8),
)
def test_more_memory_never_means_fewer_sequences(engine, target, gib, more, context, k):
    """With the same told to the server: its defaults go by tiers of memory, and where it divides
    recurrent states off in whole slots one slot more may cost a sequence.
    """
    found = setup(engine, target)
    place = found.hardware
    small, large = (
        sequences(replace(found, hardware=replace(place, memory=size * GIB)), context, k)
        for size in (gib, gib + more)
    )
    assert small[0] <= large[0]
    assert small[1] <= large[1]
    assert large[1] <= large[0]


@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=40)
@given(context=st.integers(1, 100_000), k=st.integers(1, 8))
def test_a_larger_drafter_never_leaves_more_sequences(engine, context, k):
    left = [sequences(setup(engine, "llama-3.1-8b", draft), context, k)[1] for draft in BY_SIZE]
    if engine == "sglang@0.5.9":  # there a drafter lies beside the pool
        left = [left[0], min(left[1:])]
    assert left == sorted(left, reverse=True)


@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=40)
@given(context=st.integers(1, 60_000), k=st.integers(1, 15), fraction=st.floats(0.3, 1))
def test_longer_drafts_and_lower_fractions_leave_no_more(engine, context, k, fraction):
    found = setup(engine, "llama-3.1-8b", "llama-3.2-1b")
    assert sequences(found, context, k + 1) <= sequences(found, context, k)
    lower = replace(TOLD, memory_fraction=min(fraction, 0.9))
    assert sequences(found, context, k, lower)[1] <= sequences(found, context, k)[1]


# vLLM's count in plain Python: the steps of get_kv_cache_configs and of the scheduler


def by_hand(layers: dict[str, tuple[int, int, int | None]], pool: float, length: int, flight: int):
    """Blocks of a pool, and blocks, concurrency and size that a log of vLLM would have for requests
    of a length: of layers by kind, how many, bytes of a token, window.
    """
    counts = [count for count, _, _ in layers.values()]
    each = max(counts) if max(counts) < 1.5 * min(counts) else min(counts)
    page = max(size for _, size, _ in layers.values()) * 16
    blocks = int(pool // (each * page))
    request = 0
    for count, size, window in layers.values():
        groups, tokens = math.ceil(count / each), page // size
        if window is None:
            request += groups * math.ceil(length / tokens)
        else:
            request += groups * (math.ceil(min(window - 1 + flight, length) / tokens) + 1)
    return blocks, request, blocks / request, int(blocks / request * length)


@given(
    full=st.integers(1, 40),
    sliding=st.integers(1, 60),
    heads=st.sampled_from((1, 2)),
    window=st.sampled_from((128, 512, 1024, 4096)),
    length=st.integers(1, 200_000),
    pool=st.floats(5, 60),
)
def test_vllm_by_hand(full, sliding, heads, window, length, pool):
    found = setup("vllm", "gemma-3-27b")
    arch = found.target.architecture
    first, other = (next(b for b in arch.blocks if bool(b.attention.window) == w) for w in (1, 0))
    blocks = (
        replace(first, repeat=sliding, attention=replace(first.attention, window=window)),
        replace(other, repeat=full, attention=replace(other.attention, kv_heads=heads * 8)),
    )
    model = replace(
        found.target, architecture=replace(arch, blocks=blocks), stored_params=None, parts={}
    )
    shaped = replace(found, target=model)
    accounting = accounting_of(found.engine, found.version)
    told = Limits(memory_fraction=1.0, max_num_seqs=8, max_batched_tokens=1024)
    base = both_arms(accounting, shaped, 0, told)[0].resident_bytes
    memory = base + pool * GIB
    sized = replace(shaped, hardware=replace(found.hardware, memory=memory))
    arm = both_arms(accounting, sized, 0, told)[0]
    wide = first.attention.kv_heads * 2 * first.attention.head_dim * 2
    layers = {
        "sliding": (sliding, wide, window),
        "full": (full, heads * 8 * 2 * other.attention.head_dim * 2, None),
    }
    count, request, concurrency, size = by_hand(layers, arm.pool_bytes, length, 2 * 1024)
    assert arm.blocks == count
    assert arm.logged(length) == request
    assert arm.concurrency(length) == pytest.approx(concurrency, rel=1e-12)
    assert arm.tokens(length) == pytest.approx(size, abs=1)


# Bills


def test_the_gpus_that_are_named_hold_the_batch_with_what_was_told():
    found = setup("sglang", "llama-3.1-8b", "llama-3.2-1b")
    tight = Limits(memory_fraction=0.3)
    wider = fitting_tp(found, 8192, 40, (5,), tight)
    assert wider
    for tp, fits in ((wider, True), (wider // 2, False)):
        (bill,) = bills_of(replace(found, tp=tp, draft_tp=tp), (8192,), 40, 5, tight)
        assert (bill.shortfall_bytes == 0) is fits
    usual = fitting_tp(found, 8192, 60, (5,))
    assert usual is None or usual <= wider


def test_what_waits_is_said_once():
    found = setup("sglang", "llama-3.1-8b", "llama-3.2-1b")
    (note,) = cap_notes((found, found), 49)
    assert note.endswith("unless --max-running-requests says more")
    assert not list(cap_notes((found,), 48))
    assert not list(cap_notes((found,), 10_000, (0,)))  # plainly it has no such limit
    plain = setup("vllm", "llama-3.1-8b")
    assert list(cap_notes((plain,), 1025))
    assert not list(cap_notes((plain,), 1024))
