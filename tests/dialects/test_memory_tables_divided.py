"""How engines divide a pool among kinds of layers: groups, pools apart, states set aside."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specplan.dialects.sglang.pools import States, divided
from specplan.dialects.vllm.tables import aligned_block, grouped, layers_of_a_group
from specplan.domain.pooling import Layers

FULL, SLIDING = Layers(6, 4096.0), Layers(30, 4096.0, 1024)
STATE = Layers(48, state_bytes=3_207_168.0)


@pytest.mark.parametrize(
    ("counts", "each"),
    [
        ((22, 4), 4),
        ((12, 13), 13),  # gpt-oss-20b and an EAGLE layer, as vLLM's own comment has it
        ((48, 17), 17),
        ((48, 16, 5), 5),  # a drafter of 5 layers makes three kinds
        ((10, 15), 10),
        ((10, 14), 14),
        ((32,), 32),
    ],
)
def test_layers_of_a_group(counts, each):
    assert layers_of_a_group(counts) == each


def test_layers_that_are_alike_share_a_group():
    module = Layers(1, 4096.0)
    layout = grouped((FULL, SLIDING, module), 16, 1, 8192, derived=True)
    assert layout.unit_bytes == 7 * 16 * 4096
    assert [(table.units, table.window) for table in layout.tables] == [(1, None), (5, 1024)]
    assert layout.derived


def test_a_layer_with_half_the_bytes_has_twice_the_tokens():
    layout = grouped((Layers(6, 2048.0), SLIDING), 16, 1, 0, derived=False)
    assert [table.tokens for table in layout.tables] == [32, 16]


def test_states_alone_still_make_pages():
    layout = grouped((STATE,), 16, 2, 0, derived=True)
    assert layout.unit_bytes == 48 * STATE.state_bytes
    assert [table.states for table in layout.tables] == [2]


@given(state=st.floats(1, 1e8), token=st.floats(1, 1e5), block=st.sampled_from((16, 32, 64)))
def test_a_page_holds_a_state_and_no_smaller_one_does(state, token, block):
    tokens = aligned_block((Layers(1, token), Layers(1, state_bytes=state)), state, block)
    assert tokens % block == 0
    assert tokens * token >= state * (1 - 1e-12)
    assert tokens == block or (tokens - block) * token < state * (1 + 1e-12)


def test_pools_apart():
    layout = divided((FULL, SLIDING), 4096.0, apart=True)
    assert layout
    assert layout.apart
    assert layout.unit_bytes == 7 * 4096 + 0.8 * 30 * 4096
    assert [table.units for table in layout.tables] == [1, 1.25]
    only = divided((SLIDING,), 0.0, apart=True)
    assert only
    assert (only.unit_bytes, only.tables[0].window) == (30 * 4096, 1024)
    assert divided((FULL,), 4096.0, apart=True) is None
    together = divided((FULL, SLIDING), 4096.0, apart=False)
    assert together
    assert (together.unit_bytes, together.tables[0].window) == (37 * 4096, None)
    beside = divided((FULL, STATE), 4096.0, apart=True)
    assert beside
    assert beside.unit_bytes == 7 * 4096


@pytest.mark.parametrize(
    ("rule", "tokens", "held", "sequences", "kept"),
    [
        # 0.9 / 1.9 of 1,900 is 900.
        (States(), 0, 900, 30, 90),  # 3 slots each
        (States(slots=5, padding=1), 0, 900, 17, 89),  # one slot more, which is none's
        # 10 (1 + 4/3) for each state: 38, for 12 sequences of 4 tokens.
        (States(), 4, 380 + 12 * 40, 12, 38),
        # 900 - 50 over 18: 47 states for 9 sequences, and one of each more.
        (States(slots=5, padding=1), 4, 480 + 10 * 40, 9, 47),
        # 20 sequences of 4 tokens before: 800, then 0.9 / 1.9 of 1,100.
        (States(joint=False), 4, 800 + 520, 17, 52),
    ],
)
def test_states_set_aside(rule, tokens, held, sequences, kept):
    aside = rule.aside(1900.0 + 1e-9, 10.0, tokens, 20)
    assert (aside.held_bytes, aside.sequences, aside.states) == (held, min(sequences, 20), kept)


@given(
    pool=st.floats(0, 1e11),
    state=st.floats(1e6, 1e9),
    tokens=st.integers(0, 16),
    running=st.integers(1, 256),
    slots=st.sampled_from((3, 5)),
    padding=st.integers(0, 1),
)
def test_states_never_take_the_whole_pool(pool, state, tokens, running, slots, padding):
    aside = States(slots, padding=padding).aside(pool, state, tokens, running)
    assert 0 <= aside.sequences <= running
    assert aside.sequences * slots <= aside.states
    if aside.states:
        assert aside.held_bytes <= pool * 0.9 / 1.9 * (1 + 1e-9)
