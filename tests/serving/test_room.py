"""The pool of a replica against the memory bill of the same setup."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from serving.replicas import CHAT, replica, setup

from specplan.domain.accounting import Limits
from specplan.errors import UsageError
from specplan.questions.bills import bill_at
from specplan.questions.replicas import room_of
from specplan.serving.room import Room

SMALL = Room(1000.0, np.array([0.0, 10.0, 20.0, 30.0]), 16, 5, 8, 64)


def test_sequences_are_given_whole_blocks_with_room_ahead():
    assert SMALL.blocks([0, 11, 12, 27, 28]).tolist() == [1, 1, 2, 2, 3]
    assert SMALL.bytes_of([0, 11, 12]).tolist() == [10, 10, 20]


def test_beyond_the_table_blocks_go_on():
    assert float(SMALL.bytes_of(16 * 10 - 5)) == 100
    assert SMALL.fits(16 * 100 - 5)
    assert not SMALL.fits(16 * 100 - 4)


@given(st.integers(0, 10_000), st.integers(0, 10_000))
def test_longer_sequences_never_take_less(one, other):
    low, high = sorted((one, other))
    assert SMALL.bytes_of(low) <= SMALL.bytes_of(high)


@pytest.mark.parametrize("engine", ["vllm", "sglang", "trtllm"])
@pytest.mark.parametrize("context", [500, 2048, 12_000])
def test_as_many_sequences_fit_as_the_memory_bill_says(engine, context):
    room = replica("3", engine).room
    bill = bill_at(setup(engine), context, 3)
    ours = room.pool_bytes // float(room.bytes_of(context))
    assert ours == pytest.approx(float(bill.largest), abs=1.01)


def test_a_drafter_takes_room():
    drafted, plain = replica("3").room, replica("none").room
    assert drafted.pool_bytes < plain.pool_bytes
    assert drafted.ahead > plain.ahead == 0
    assert float(drafted.bytes_of(1000)) > float(plain.bytes_of(1000))


def test_a_server_can_be_told_its_limits():
    told = Limits(memory_fraction=0.5, max_num_seqs=16, max_batched_tokens=2048)
    room = room_of(setup(), CHAT, 3, told)
    assert (room.sequences, room.step_tokens) == (16, 2048)
    assert room.pool_bytes < replica("3").room.pool_bytes


def test_limits_that_the_engine_refuses_are_refused():
    with pytest.raises(UsageError, match="refuses 8: less than --max-num-seqs 16"):
        room_of(setup(), CHAT, 3, Limits(max_num_seqs=16, max_batched_tokens=8))
