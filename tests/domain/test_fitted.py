"""Cards of measured passes: tables without holes, axes in order."""

from __future__ import annotations

from dataclasses import replace

import pytest

from specplan.domain.card import Source
from specplan.domain.engine import Engine
from specplan.domain.fitted import At, Passes, Steps
from specplan.domain.follow import following
from specplan.errors import Misfit

STEPS = Steps(width=(1, 2), at=(At(batch=1, time=(0.01, 0.011)), At(batch=8, time=(0.012, 0.02))))
PASSES = Passes(memory=0.8, compute=0.7, blend=2.0)
CARD = Engine(
    schema="engine/1",
    name="mine",
    title="Mine",
    kind="calibrated",
    says="mine: calibrated",
    sources=(Source(of=("steps",), kind="measured", cite="our node"),),
)


def test_a_table_with_a_hole():
    with pytest.raises(Misfit, match="1 times at batch 1") as error:
        Steps(width=(1, 2), at=(At(batch=1, time=(0.01,)),))
    assert error.value.key == ("at", 0, "time")


@pytest.mark.parametrize("widths", [(2.0, 1.0), (1.0, 1.0)])
def test_widths_that_do_not_rise(widths):
    with pytest.raises(Misfit, match="after"):
        Steps(width=widths, at=(At(batch=1, time=(0.01, 0.011)),))


def test_batches_that_do_not_rise():
    with pytest.raises(Misfit, match="batch 1 after 8"):
        replace(STEPS, at=STEPS.at[::-1])


def test_drafts_at_some_batches_only():
    with pytest.raises(Misfit, match="draft at some batches"):
        replace(STEPS, at=(replace(STEPS.at[0], draft=0.001), STEPS.at[1]))


def test_an_engine_states_one_of_both():
    with pytest.raises(Misfit, match="passes beside steps"):
        replace(CARD, passes=PASSES, steps=STEPS)


@pytest.mark.parametrize("key", ["passes", "steps"])
def test_a_bound_has_no_use_for_them(key):
    with pytest.raises(Misfit, match=f"a bound with {key}"):
        replace(CARD, kind="bound", **{key: PASSES if key == "passes" else STEPS})


def test_what_a_card_states_hides_what_it_follows():
    base, own = replace(CARD, name="base", passes=PASSES), replace(CARD, follows="base")
    assert following(own, base).passes == PASSES
    assert following(replace(own, steps=STEPS), base).passes is None
    assert following(replace(own, steps=STEPS), base).steps == STEPS
    assert following(own, replace(base, passes=None, steps=STEPS)).steps == STEPS
