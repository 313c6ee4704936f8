"""Alpha where rejections were not counted: solved for, or between bounds that always hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specplan.domain.capture import Span
from specplan.physics.counters.pools import Pools, alpha_at
from specplan.physics.counters.spans import counts_of


def pooled(*spans, k=None):
    pools = Pools()
    for span in spans:
        pools.add(counts_of(span, span.k or k), span.k or k)
    return pools


def test_counted_rejections_need_no_model():
    pools = pooled(Span(drafts=100, drafted=300, accepted=150, at_position=(70, 48, 32)))
    assert pools.counted
    assert pools.alpha() == pytest.approx(150 / 218)


@given(st.floats(0.01, 0.99), st.integers(1, 12))
def test_solving_inverts_the_expectation(alpha, k):
    tau = sum(alpha**i for i in range(k + 1))
    assert alpha_at(tau, {k: 7.0}) == pytest.approx(alpha, abs=1e-9)


def test_a_mixture_of_lengths_is_solved_together():
    alpha, lengths = 0.6, {2: 300.0, 5: 100.0}
    tau = sum(w * sum(alpha**i for i in range(k + 1)) for k, w in lengths.items()) / 400
    assert alpha_at(tau, lengths) == pytest.approx(alpha, abs=1e-9)


def test_nothing_and_everything_kept():
    assert pooled(Span(drafts=9, drafted=27, accepted=0)).alpha() == 0
    assert pooled(Span(tau=4.0, k=3)).alpha() == 1


def test_a_mean_beyond_k_tells_no_alpha():
    assert pooled(Span(tau=5.2, k=3)).alpha() is None
    assert pooled(Span(tau=2.0)).alpha() is None  # nor one at no k


@given(
    alpha=st.floats(0.05, 0.95),
    shares=st.lists(st.integers(0, 5), min_size=1, max_size=6).filter(any),
    placed=st.booleans(),
    seed=st.integers(0, 99),
)
def test_bounds_hold_whatever_the_lengths(alpha, shares, placed, seed):
    """Drafts of random lengths: the share kept of those tried lies between the bounds."""
    rng = np.random.default_rng(seed)
    lengths = np.repeat(np.arange(1, len(shares) + 1), np.array(shares) * 20)
    kept = np.minimum(rng.geometric(1 - alpha, len(lengths)) - 1, lengths)
    at = [float((kept >= place).sum()) for place in range(1, len(shares) + 1)]
    span = Span(
        drafts=len(lengths),
        drafted=float(lengths.sum()),
        accepted=float(kept.sum()),
        at_position=tuple(at) if placed else (),
    )
    pools = pooled(span, k=len(shares))
    if pools.counted or pools.bounds() is None:
        return
    low, high = pools.bounds()
    rejected = int((kept < lengths).sum())
    assert low - 1e-9 <= kept.sum() / max(kept.sum() + rejected, 1) <= high + 1e-9
