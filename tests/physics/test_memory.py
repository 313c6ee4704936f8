"""The bill by hand: 9e9 usable bytes, weights of 2e9 and 2e8, 1e5 and 1e4 bytes a token."""

from __future__ import annotations

from dataclasses import replace

import oracle
import pytest
import worlds

from specplan.physics.memory import USABLE_FRACTION, memory_bill


def bill(case: oracle.Case = worlds.PAIR, context: object = 1000, **changes: object):
    return memory_bill(worlds.setup(replace(case, **changes)), context)


def test_the_bill():
    found = bill()
    assert USABLE_FRACTION == 0.9
    assert found.usable_bytes == 9e9
    assert found.target_bytes == 2e9
    assert found.draft_bytes == 2e8
    assert float(found.target_sequence_bytes) == 1e8
    assert float(found.draft_sequence_bytes) == 1e7


def test_sequences_without_and_with_the_drafter():
    found = bill()
    assert int(found.largest_plain) == 70  # 7e9 / 1e8
    assert int(found.largest) == 61  # 6.8e9 / 1.1e8 = 61.8


def test_needed_bytes():
    assert float(bill().needed_bytes(10, drafted=False)) == 3e9
    assert float(bill().needed_bytes(10, drafted=True)) == 3.3e9


@pytest.mark.parametrize("case", [worlds.FREE, replace(worlds.FREE, ratio=0.2), worlds.PLAIN])
def test_drafts_without_a_model_take_no_memory(case):
    found = bill(case)
    assert found.draft_bytes == 0
    assert float(found.draft_sequence_bytes) == 0
    assert int(found.largest) == int(found.largest_plain) == 70


def test_contexts():
    found = bill(context=[[1000, 2000], [100_000, 10]])
    assert found.largest_plain.tolist() == [[70, 35], [0, 7000]]
    assert found.largest.tolist() == [[61, 30], [0, 6181]]


def test_types():
    found = bill(dtype="int4", draft_dtype="fp8", kv_dtype="fp8")
    assert (found.target_bytes, found.draft_bytes) == (0.5e9, 1e8)
    assert float(found.target_sequence_bytes) == 0.5e8
    assert int(found.largest) == 152  # 8.4e9 / 5.5e7 = 152.7


def test_the_fullest_gpu():
    # A drafter on one of four GPUs: 0.5e9 + 2e8 of weights, 0.25e8 + 1e7 a sequence.
    found = bill(tp=4, draft_tp=1)
    assert (found.target_bytes, found.draft_bytes) == (0.5e9, 2e8)
    assert int(found.largest_plain) == 340
    assert int(found.largest) == 237  # 8.3e9 / 3.5e7 = 237.1


@pytest.mark.parametrize("memory", [1e9, 2.3e9])
def test_weights_that_do_not_fit_leave_no_sequence(memory):
    assert int(bill(memory=memory).largest_plain) == 0
    assert int(bill(memory=memory).largest) == 0


def test_a_drafter_may_be_what_does_not_fit():
    found = bill(memory=2.4e9)  # 2.16e9 usable: 0.16e9 left, less than the drafter's 0.2e9
    assert (int(found.largest_plain), int(found.largest)) == (1, 0)


def test_stored_parameters_count_not_multiplied_ones():
    tied = oracle.Model(
        hidden=64, vocab=1000, tied=True, layers=(oracle.Layer(norms=2, mlp_width=64),)
    )
    # MLP 3 x 64 x 64, two norms and the last one of 64, the embedding 1000 x 64 once or twice.
    once = 3 * 64 * 64 + 3 * 64 + 1000 * 64
    assert bill(target=tied).target_bytes == 2 * once
    assert bill(target=replace(tied, tied=False)).target_bytes == 2 * (once + 1000 * 64)


def test_a_model_without_cache_is_bounded_by_its_state():
    state = oracle.Layer(recurrent_params=1000, state_bytes=1e6, mlp_width=64)
    target = oracle.Model(hidden=64, vocab=1000, tied=True, layers=(state,))
    found = bill(worlds.FREE, target=target, context=[10, 1_000_000])
    weights = 2 * (1000 + 3 * 64 * 64 + 3 * 64 + 64_000)
    assert found.largest.tolist() == [(9e9 - weights) // 1e6] * 2
