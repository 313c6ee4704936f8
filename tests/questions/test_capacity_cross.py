"""Loads at which speculation stops paying, of servers whose laws are known by heart."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from specplan.errors import Refused
from specplan.questions.capacity_cross import HIGHEST, Stops, stops_of


@dataclass
class Known:
    """A replica that becomes unstable at `top` and whose mean TPOT is a function of its rate."""

    top: float
    tpot: object
    refused: float = 1e9

    def saturation(self) -> float:
        return self.top

    def at(self, rate: float, _dispersion: float) -> SimpleNamespace:
        if rate > self.refused:
            raise Refused("too many")
        return SimpleNamespace(tpot=SimpleNamespace(mean=self.tpot(rate)))


PLAIN = Known(10.0, lambda rate: 1 / (10 - rate))


def test_it_never_pays():
    found = stops_of(Known(10.0, lambda rate: 1.1 / (10 - rate)), PLAIN, 1.0)
    assert (found.at_per_s, found.first_pays, found.lambda_star) == ((), False, 0.0)


def test_it_always_pays_where_it_carries_as_much():
    found = stops_of(Known(12.0, lambda rate: 0.5 / (10 - rate)), PLAIN, 1.0)
    assert (found.at_per_s, found.first_pays, found.lambda_star) == ((), True, None)
    assert found.sustains == pytest.approx(1.2)


def test_it_pays_up_to_where_it_falls_behind_before_the_other_does():
    found = stops_of(Known(8.0, lambda rate: 0.1 / (10 - rate)), PLAIN, 1.0)
    assert (found.at_per_s, found.lambda_star, found.sustains) == ((), 8.0, 0.8)


@pytest.mark.parametrize("load", [0.9, 3.3, 6.0, 9.1])
def test_it_stops_at_the_load_where_they_cross(load):
    drafted = Known(10.0, lambda rate: (1 + (rate - load) / 20) / (10 - rate))
    found = stops_of(drafted, PLAIN, 1.0)
    assert found.lambda_star == pytest.approx(load, rel=2e-3)
    assert found.at_per_s == (found.lambda_star,)


def test_all_crossings_are_told_and_the_last_counts():
    drafted = Known(10.0, lambda rate: (1 - (rate - 2) * (rate - 5) / 100) / (10 - rate))
    found = stops_of(drafted, PLAIN, 1.0)  # slower between 2 and 5
    assert found.at_per_s == pytest.approx((2, 5), rel=1e-2)
    assert (found.first_pays, found.last_pays, found.lambda_star) == (True, True, None)
    other = Known(10.0, lambda rate: (1 + (rate - 2) * (rate - 5) / 100) / (10 - rate))
    found = stops_of(other, PLAIN, 1.0)  # faster between them
    assert (found.first_pays, found.last_pays) == (False, False)
    assert found.lambda_star == pytest.approx(5, rel=1e-2)


def test_loads_that_a_bursty_server_refuses_are_left_out():
    drafted = Known(10.0, lambda rate: (1 + (rate - 3) / 20) / (10 - rate), refused=6.0)
    assert stops_of(drafted, PLAIN, 9.0).lambda_star == pytest.approx(3, rel=1e-2)
    assert stops_of(Known(10.0, lambda _: 1.0, refused=0.0), PLAIN, 9.0) is None


def test_the_highest_load_is_near_the_end():
    drafted = Known(10.0, lambda rate: (1.0 if rate > 9.7 else 0.5) / (10 - rate))
    assert HIGHEST * 10 > 9.7
    assert stops_of(drafted, PLAIN, 1.0).lambda_star > 9


@pytest.mark.parametrize(
    ("crossings", "first", "last"), [(0, True, True), (1, True, False), (2, False, False)]
)
def test_whether_the_last_pays_follows_from_the_first(crossings, first, last):
    found = Stops(at_per_s=(1.0,) * crossings, first_pays=first, up_to_per_s=2.0, sustains=1.0)
    assert found.last_pays is last
