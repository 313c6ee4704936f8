"""A pace in lists is the pace."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from serving.replicas import replica

from specplan.serving.clock import Clock
from specplan.serving.policy import Policy


@given(
    name=st.sampled_from(["none", "3", "gate"]),
    batch=st.integers(1, 256),
    context=st.floats(0, 20_000),
)
def test_rounds_take_as_long(name, batch, context):
    one = replica(name)
    clock = Clock(one.pace, one.policy)
    for k in one.pace.k:
        assert clock.round_s(k, batch, context) == pytest.approx(
            float(one.pace.at(k, batch, context)), rel=1e-9
        )


@given(
    name=st.sampled_from(["none", "3"]),
    rows=st.integers(0, 1024),
    prompt=st.integers(1, 7000),
    attended=st.floats(0, 20_000),
)
def test_prompts_take_as_long(name, rows, prompt, attended):
    one = replica(name)
    clock = Clock(one.pace, one.policy)
    expected = float(one.pace.prompt_s(rows, prompt, attended))
    assert clock.prompt_s(rows, prompt, attended) == pytest.approx(expected, rel=1e-9)


def test_plain_steps_of_who_could_speculate_are_taxed():
    one = replica("gate")
    free, dear = (Clock(one.pace, Policy("gated", (3, 0), (4, 5), tax=tax)) for tax in (0.0, 0.2))
    assert dear.round_s(0, 5, 1000) == pytest.approx(1.2 * free.round_s(0, 5, 1000))
    assert dear.round_s(3, 5, 1000) == free.round_s(3, 5, 1000)
    never = Clock(one.pace, Policy("none", (0,), (1,), tax=0.2))
    assert never.round_s(0, 5, 1000) == free.round_s(0, 5, 1000)
