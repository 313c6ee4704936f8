"""Rounds out of rounded figures, against rounds that they were made from."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specplan.dialects.llamacpp.request import Request


@st.composite
def kept(draw):
    """Drafts kept in each round of a request, at most k."""
    k = draw(st.integers(1, 8))
    return k, draw(st.lists(st.integers(0, k), min_size=1, max_size=400))


@given(kept(), st.booleans(), st.booleans())
def test_rounds_are_won_back_within_what_rounding_leaves(case, has_rates, has_tokens):
    k, rounds = case
    accepted = sum(rounds)
    mean = float(f"{1 + accepted / len(rounds):.2f}")
    rates = tuple(float(f"{sum(one > at for one in rounds) / len(rounds):.3f}") for at in range(k))
    request = Request(
        place=1,
        tokens=float(1 + accepted + len(rounds)) if has_tokens else None,
        accepted=float(accepted),
        drafted=float(k * len(rounds)),
        mean=mean,
        rates=rates if has_rates else (),
    )
    found = request.rounds()
    if has_tokens:
        assert found == len(rounds)
    elif accepted:
        assert found == pytest.approx(len(rounds), rel=0.005 / (mean - 1) + 0.01, abs=1)
    else:
        assert found is None


def test_passes_without_drafts_are_no_rounds_where_the_mean_knows_better():
    # 100 passes, 40 of which had drafts and kept 60
    request = Request(place=1, tokens=161.0, accepted=60.0, drafted=120.0, mean=2.5)
    assert request.rounds() == 40
    assert Request(place=1, tokens=161.0, accepted=60.0, drafted=120.0).rounds() == 100
