"""A measured curve: its forms, what each is to planning, and what is no curve."""

from __future__ import annotations

import pytest

from specplan.domain.acceptance import Burst, Conditional, Lengths, Unconditional
from specplan.domain.card import Source
from specplan.domain.curve import KINDS, WORDS, Curve, Series
from specplan.domain.heads import WAYS
from specplan.errors import Misfit

SOURCE = Source(of=("series",), kind="measured", cite="ours")


@pytest.mark.parametrize(
    ("series", "model", "measured"),
    [
        (
            Series(name="a", lengths={3: 2.5, 1: 1.8}),
            Lengths(((1, 1.8), (3, 2.5))),
            {1: 1.8, 3: 2.5},
        ),
        (Series(name="a", conditional=(0.8, 0.5)), Conditional((0.8, 0.5)), {1: 1.8, 2: 2.2}),
        (
            Series(name="a", unconditional=(0.761, 0.548, 0.398)),
            Unconditional((0.761, 0.548, 0.398)),
            {1: 1.761, 2: 2.309, 3: 2.707},  # sums of binary fractions, without their last bits
        ),
        (Series(name="a", fire=0.2, burst=3.1), Burst(0.2, 3.1), {}),
        (Series(name="a", fire=0.0, burst=0.0), Burst(0.0, 0.0), {}),
    ],
)
def test_a_series_is_what_planning_reads(series, model, measured):
    assert series.acceptance == model
    assert series.measured == measured
    assert list(series.measured) == sorted(measured)


@pytest.mark.parametrize(
    ("fields", "message", "key"),
    [
        ({}, "a has no curve; expected one of lengths, conditional, unconditional, or fire", ()),
        (
            {"lengths": {1: 1.5}, "unconditional": (0.5,)},
            "a has lengths and unconditional; expected one of",
            ("unconditional",),
        ),
        ({"fire": 0.2}, "fire without burst; expected both or neither", ("fire",)),
        ({"conditional": (0.5,), "burst": 1.0}, "burst without fire", ("burst",)),
        ({"conditional": (0.5,), "spread": 0.1}, "spread without spread_of", ("spread",)),
        ({"conditional": (0.5,), "samples_of": "rounds"}, "samples_of without", ("samples_of",)),
        (
            {"lengths": {1: 0.79}},
            "0.79 tokens a round at k = 1 cannot be; expected 1 to 2, the bonus token included; "
            "without it write 1.79",
            ("lengths",),
        ),
        ({"lengths": {2: 3.01}}, "3.01 tokens a round at k = 2 cannot be", ("lengths",)),
        ({"lengths": {0: 1.0}}, "k 0 is out of range", ("lengths",)),
        ({"unconditional": (0.5, 0.6)}, "position 2 is kept in 0.6 of the", ("unconditional",)),
    ],
)
def test_what_is_no_curve(fields, message, key):
    with pytest.raises(Misfit) as caught:
        Series(name="a", **fields)
    assert str(caught.value).startswith(message)
    assert caught.value.key == key


def test_two_series_of_one_name():
    series = (Series(name="a", conditional=(0.5,)), Series(name="a", conditional=(0.6,)))
    with pytest.raises(Misfit) as caught:
        Curve(
            schema="curve/1",
            name="c",
            title="C",
            drafter="mtp",
            of="it",
            series=series,
            sources=(SOURCE,),
        )
    assert str(caught.value) == "two series called 'a'; rename one"
    assert caught.value.key == ("series", 1, "name")


def test_every_kind_of_head_has_its_word():
    assert set(WORDS) >= set(WAYS)
    assert len(set(WORDS)) == len(WORDS)
    assert "model" in KINDS
