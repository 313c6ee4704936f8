"""A span's figures completed from each other, and contradictions in it named."""

from __future__ import annotations

import math

import pytest

from specplan.domain.capture import Span
from specplan.physics.counters.spans import counts_of, judged


def counted(k=None, in_use=None, **said):
    return counts_of(Span(**said), k, in_use)


def test_equally_long_drafts_count_their_rejections():
    found = counted(drafts=100, drafted=300, accepted=150, at_position=(70, 48, 32))
    assert (found.length, found.rejections, found.derived) == (3, 68, False)


def test_a_histogram_says_positions_rounds_and_kept_drafts():
    found = counted(histogram=(30, 20, 15, 35), drafted=300)
    assert (found.drafts, found.accepted, found.at) == (100, 155, (70, 50, 35))
    assert found.rejections == 65


def test_trtllm_counts_drafts_at_every_position():
    found = counted(drafted_at=(100, 60), at_position=(80, 30))
    # 60 of 100 drafts reach position 2, so 80 * 0.6 = 48 of those that kept position 1 do
    assert (found.drafts, found.drafted, found.accepted) == (100, 160, 110)
    assert found.rejections == pytest.approx(20 + 18)


def test_one_token_drafts_need_no_positions():
    assert counted(drafts=50, drafted=50, accepted=30).rejections == 20


def test_all_kept_is_no_rejection_whatever_the_lengths():
    assert counted(drafts=50, drafted=77, accepted=77).rejections == 0


def test_positions_beyond_the_mean_length_show_that_lengths_differ():
    found = counted(drafts=100, drafted=300, accepted=120, at_position=(60, 30, 20, 10))
    assert (found.length, found.rejections) == (None, None)


def test_rounds_from_a_mean_and_its_kept_drafts():
    found = counted(accepted=192, drafted=300, tau=2.92)
    assert (found.drafts, found.length, found.derived) == (100, 3, True)


def test_two_counts_alone_need_the_length_in_use():
    assert counted(accepted=171, drafted=297).drafts is None
    assert counted(accepted=171, drafted=297, k=3).drafts is None  # the longest allowed, not all
    assert counted(accepted=171, drafted=297, in_use=3).drafts == 99


def said(**figures):
    span = Span(**figures)
    return judged(span, span.k)


WHOLE = {"drafts": 100, "drafted": 300, "accepted": 150, "at_position": (70, 48, 32)}


@pytest.mark.parametrize(
    ("stated", "words"),
    [
        (("tau", 2.9, 0.005), ["the mean length is stated as 2.9, its counts give 2.5"]),
        (("tau", 2.504, 0.005), []),
        (("rate", 0.5, 0.0005), []),
        (("rate", 0.6, 0.0005), ["the acceptance rate is stated as 0.6, its counts give 0.5"]),
        (("at:1", 0.9, 0.0005), ["at:1 is stated as 0.9, its counts give 0.48"]),
        (("tau", math.nan, 0.005), []),
        (("mood", 3.0, 0.0), []),
    ],
)
def test_what_is_stated_is_held_against_the_counts(stated, words):
    counts, found = said(**WHOLE, stated=(stated,))
    assert found == words
    assert counts.rejections == 68  # the counts stand


def test_more_kept_than_drafted_cannot_be():
    assert said(drafts=100, drafted=300, accepted=320) == (None, ["320 accepted of 300 drafted"])
    assert said(drafts=math.inf)[0] is None
    assert said(drafts=-1, drafted=3, accepted=1) == (None, ["a count of -1"])


@pytest.mark.parametrize(
    ("figures", "words"),
    [
        (
            {**WHOLE, "at_position": (50, 70, 30)},
            "position 2 is kept in 70 rounds, position 1 in 50",
        ),
        ({**WHOLE, "at_position": (120, 20, 10)}, "position 1 is kept in 120 rounds, of 100"),
        ({**WHOLE, "at_position": (40, 30, 20)}, "150 accepted, by position 90"),
        (
            {"drafts": 120, "drafted": 360, "accepted": 120, "histogram": (40, 30, 20, 10)},
            "the histogram has 100 rounds, the counts 120",
        ),
    ],
)
def test_positions_that_do_not_fit_are_left_out(figures, words):
    counts, found = said(**figures)
    assert found == [words]
    assert (counts.at, counts.rejections) == ((), None)
    assert (counts.drafts, counts.accepted) == (figures["drafts"], figures["accepted"])


def test_a_round_of_k_drafts_makes_k_and_one_tokens_at_most():
    assert said(tau=4.3, k=3) == (None, ["4.3 tokens a round at k = 3: at most 4 can be"])
    assert judged(Span(tau=4.3), 3)[0] is None  # as the user says
    assert judged(Span(drafts=10, accepted=40, k=3), None)[0] is None
    assert said(tau=4.0, k=3)[1] == []


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0.467, []),
        (46.7 / 100, []),
        (0.4667, []),
        (0.47, []),
        (0.5, ["the acceptance rate is stated as 0.5, its counts give 0.4667"]),
        (0.468, ["the acceptance rate is stated as 0.468, its counts give 0.4667"]),
    ],
)
def test_a_figure_that_somebody_rounded_is_no_contradiction(value, words):
    counts = {"drafts": 10_000, "drafted": 30_000, "accepted": 14_000}
    _, found = said(**counts, stated=(("rate", value, 1e-6),))
    assert found == words
