"""Lines that wait for the interval between them."""

from __future__ import annotations

from specplan.dialects.sglang.clock import INTERVAL, MOST, Clock
from specplan.domain.capture import Span


def test_what_waits_is_bounded_where_no_gap_can_be_clocked():
    clock, waiting = Clock(), 0
    for line in range(2 * MOST):
        if clock.rounds("", 3600.0 * line, 4.0, 100.0) is None:
            clock.wait(Span(running=4.0))
            waiting += 1
    assert waiting == MOST
    assert {span.weight for span in clock.end()} == {4 * INTERVAL}


def test_a_server_that_makes_nothing_has_the_usual_interval():
    clock = Clock()
    found = [clock.rounds("", float(second), 0.0, 0.0) for second in range(60)]
    assert found[-1] == INTERVAL


def test_without_stamps_nothing_waits():
    assert Clock().rounds("", None, 2.0, 100.0) == 2 * INTERVAL
    assert Clock(10.0).rounds("", 0.0, 2.0, 100.0) == 20


def test_groups_have_clocks_of_their_own():
    clock = Clock()
    for second in range(0, 44, 4):  # 25 rounds a second in each of two groups: 100 in between
        for group in ("DP0", "DP1"):
            rounds = clock.rounds(group, float(second), 1.0, 25.0)
    assert rounds == 100
