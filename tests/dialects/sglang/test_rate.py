"""What lengths and rates tell of each other, against counts that both were made from."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from specplan.dialects.sglang.rate import DraftTokens

ROUNDS = 160
HALF = 0.005


def printed(value: float) -> float:
    return float(f"{value:.2f}")


@st.composite
def windows(draw, least: int = 1):
    """num_draft_tokens, and the drafts kept in each of some windows of ROUNDS rounds."""
    tokens = draw(st.integers(2, 9))
    kept = st.integers(0, ROUNDS * (tokens - 1))
    return tokens, draw(st.lists(kept, min_size=least, max_size=20))


@given(windows())
def test_the_true_length_of_drafts_is_never_ruled_out(case):
    tokens, kept = case
    floor, strict = DraftTokens(), DraftTokens()
    for accepted in kept:
        length = 1 + accepted / ROUNDS
        floor.see(printed(length), printed(length / tokens), HALF)
        strict.see(printed(length), printed((length - 1) / (tokens - 1)), HALF)
    assert not floor.changed
    assert floor.floor.low <= tokens <= floor.floor.high
    assert floor.tokens() in {tokens, None}
    assert not strict.changed
    assert strict.strict.low <= tokens - 1 <= strict.strict.high
    assert strict.tokens() in {tokens, None}


@given(windows())
def test_meanings_are_told_apart_or_left_open(case):
    tokens, kept = case
    floor, strict = DraftTokens(), DraftTokens()
    for accepted in kept:
        length = 1 + accepted / ROUNDS
        floor.see(printed(length), printed(length / tokens), HALF)
        strict.see(printed(length), printed((length - 1) / (tokens - 1)), HALF)
    assert floor.meaning in {"floor", ""}
    assert strict.meaning in {"strict", ""}


def test_one_line_can_be_enough():
    seen = DraftTokens()
    seen.see(1.95, 0.49, HALF)
    assert (seen.meaning, seen.tokens()) == ("floor", 4)
    seen = DraftTokens()
    seen.see(2.84, 0.46, HALF)
    assert (seen.meaning, seen.tokens()) == ("strict", 5)


def test_a_line_that_both_allow_waits_for_another():
    seen = DraftTokens()
    seen.see(2.00, 0.50, HALF)  # 2 / 4, and 1 / 2
    assert (seen.meaning, seen.tokens()) == ("", None)
    assert (seen.tokens("floor"), seen.tokens("strict")) == (4, 3)
    seen.see(2.20, 0.55, HALF)
    assert (seen.meaning, seen.tokens()) == ("floor", 4)


def test_lengths_that_change_are_seen_to():
    seen = DraftTokens()
    seen.see(1.95, 0.49, HALF)
    seen.see(1.50, 0.75, HALF)
    assert seen.changed
    assert seen.tokens() == 2


def test_a_known_length_tells_the_meaning_alone():
    seen = DraftTokens.known(4)
    seen.see(2.00, 0.50, HALF)
    assert seen.meaning == "floor"
    seen = DraftTokens.known(3)
    seen.see(2.00, 0.50, HALF)
    assert seen.meaning == "strict"


def test_figures_that_no_length_fits_leave_nothing():
    seen = DraftTokens()
    seen.see(1.95, 0.77, HALF)
    assert seen.changed
    assert (seen.meaning, seen.tokens()) == ("", None)
