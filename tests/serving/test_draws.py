"""Draws of what rounds keep."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from specplan.domain.acceptance import Alpha, Burst, Conditional, Named
from specplan.domain.acceptance_parts import ByContext, Mixture
from specplan.physics.survival import survival, tokens_of
from specplan.serving import draws
from specplan.serving.draws import Stream, Streams


def streams(acceptance, seed=0):
    return Streams(acceptance, np.random.SeedSequence(seed))


@pytest.mark.parametrize(
    "model", [Alpha(0.7), Conditional((0.8, 0.5, 0.9)), Burst(0.3, 2.0)], ids=str
)
def test_each_number_of_kept_drafts_is_as_likely_as_the_model_says(model):
    stream = streams(model).of(3, 0)
    made, summed, at, rounds = stream.take(60_000)
    tokens = np.diff(made[at : at + rounds + 1])
    kept = np.concatenate(([1.0], survival(model, 3), [0.0]))
    for count, chance in enumerate(kept[:-1] - kept[1:], 1):
        error = (chance * (1 - chance) / rounds) ** 0.5
        assert np.mean(tokens == count) == pytest.approx(chance, abs=4 * error + 1e-12)
    assert summed[at : at + 4] == [sum(made[:i]) for i in range(at, at + 4)]


def test_requests_take_consecutive_rounds_and_just_enough():
    stream = streams(Alpha(0.6)).of(4, 0)
    before = 0
    for tokens in (1, 5, 200, 3):
        made, _, at, rounds = stream.take(tokens)
        assert at == before
        assert made[at + rounds] - made[at] >= tokens > made[at + rounds - 1] - made[at]
        before = at + rounds


def test_no_draw_is_used_twice(monkeypatch):
    """When a list runs out the next one is another; who holds the old one keeps it."""
    monkeypatch.setattr(draws, "AT_ONCE", 64)
    stream = streams(Alpha(0.6)).of(2, 0)
    lists = []
    for _ in range(40):
        made, _, at, rounds = stream.take(30)
        lists.append((id(made), tuple(range(at, at + rounds)), made))
    assert len({name for name, _, _ in lists}) > 5
    used = Counter((name, place) for name, places, _ in lists for place in places)
    assert max(used.values()) == 1


def test_without_drafts_a_round_is_a_token():
    made, summed, at, rounds = streams(Alpha(0.6)).of(0, 0).take(7)
    assert (rounds, made[at + 7] - made[at], summed[4]) == (7, 7, 6)


def test_streams_differ_by_seed_k_and_kind_and_by_nothing_else():
    def first(stream: Stream) -> list[int]:
        return stream.take(500)[0][:200]

    model = Mixture(((0.5, Alpha(0.6)), (0.5, Alpha(0.6))))
    one = streams(model)
    again = streams(model)
    assert first(one.of(3, 0)) == first(again.of(3, 0))
    assert first(again.of(3, 1)) != first(streams(model).of(3, 0))
    assert first(streams(model, 1).of(3, 0)) != first(streams(model).of(3, 0))


def test_a_request_of_a_mixture_is_of_one_part_for_good():
    model = Named("mine", Mixture(((3.0, Alpha(0.9)), (1.0, Alpha(0.0)))))
    one = streams(model)
    kinds = one.kinds([100] * 20_000, [10] * 20_000)
    assert np.mean(kinds) == pytest.approx(0.25, abs=0.015)
    assert one.of(2, 1).take(5)[3] == 5  # nothing is ever kept
    assert one.of(2, 0).take(600)[3] == pytest.approx(600 / 2.71, rel=0.06)


def test_acceptance_by_context_is_that_of_a_request_s_own():
    model = ByContext(((100.0, Alpha(0.2)), (6400.0, Alpha(0.8))))
    one = streams(model)
    kinds = one.kinds([125, 4000], [10, 200])
    for kind, context in zip(kinds, (128.0, 4096.0), strict=True):
        expected = float(tokens_of(model, (3,), context)[0])
        assert 20_000 / one.of(3, kind).take(20_000)[3] == pytest.approx(expected, rel=0.02)
    assert len(set(one.kinds([1000] * 50, range(1, 51)))) <= 2
