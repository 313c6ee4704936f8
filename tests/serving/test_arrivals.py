"""Arrivals: statistics against plain loops, parts of a trace, and draws that a seed repeats."""

from __future__ import annotations

import math
import statistics as plain
from array import array
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specplan.domain.traffic import Trace
from specplan.domain.windows import window_of
from specplan.errors import Refused, UsageError
from specplan.serving.arrivals import (
    compressed,
    cut,
    dispersion,
    peak,
    renewals,
    repeated,
    statistics,
    thinned,
)
from specplan.serving.incoming import replayed

TICKS = st.lists(st.integers(0, 400_000), min_size=1, max_size=60)
"""Milliseconds."""


def trace_of(ms, isl=None, osl=None, hit=()):
    ms = sorted(ms)
    at = array("d", ((tick - ms[0]) / 1000 for tick in ms))
    return Trace(
        arrival_s=at,
        isl=array("q", isl or [100] * len(at)),
        osl=array("q", osl or [10] * len(at)),
        hit=array("q", hit) if hit else (),
    )


def rank(values, p):
    """The least value that a share p does not exceed."""
    ordered = sorted(values)
    return next(v for i, v in enumerate(ordered, 1) if i / len(ordered) >= p - 1e-12)


@given(TICKS, st.data())
def test_statistics_are_those_of_plain_loops(ms, data):
    lengths = st.lists(st.integers(1, 9000), min_size=len(ms), max_size=len(ms))
    isl, osl = data.draw(lengths), data.draw(lengths)
    hit = [n // 3 for n in isl]
    trace = trace_of(ms, isl, osl, hit)
    found = statistics(trace)
    at = list(trace.arrival_s)
    assert found.requests == len(ms)
    assert found.hit_share == pytest.approx(sum(hit) / sum(isl))
    for summary, values in ((found.isl, isl), (found.osl, osl)):
        assert summary.mean == pytest.approx(plain.fmean(values))
        said = (summary.p50, summary.p95, summary.p99, summary.max)
        assert said == (rank(values, 0.5), rank(values, 0.95), rank(values, 0.99), max(values))
    if at[-1] == 0:
        assert (found.rate_per_s, found.gap_cv, found.dispersion) == (None, None, None)
        return
    assert found.rate_per_s == pytest.approx(len(ms) / at[-1])
    most = max(sum(1 for other in at if start <= other < start + 60) for start in at)
    assert found.peak_60s_per_s == pytest.approx(most / 60)
    gaps = [b - a for a, b in pairwise(at)]
    assert found.gap_cv == pytest.approx(plain.pstdev(gaps) / plain.fmean(gaps), rel=1e-9)
    seconds = Counter(math.floor(each) for each in at)
    counts = [seconds[second] for second in range(math.floor(at[-1]) + 1)]
    assert found.dispersion == pytest.approx(plain.pvariance(counts) / plain.fmean(counts))


def test_a_span_of_centuries_takes_no_memory():
    far = Trace(arrival_s=[0.0, 1e11], isl=[1, 1], osl=[1, 1])
    assert statistics(far).dispersion == pytest.approx(1.0)  # two bins of 1e11 have one each


def test_dispersion_of_even_arrivals_is_none_and_of_pairs_is_one_more():
    assert dispersion(np.arange(100.0), 1.0) == pytest.approx(0, abs=1e-12)
    assert dispersion(np.repeat(np.arange(0, 100, 2.0), 2), 1.0, 100.0) == pytest.approx(1.0)


@given(TICKS, st.integers(1, 200_000))
def test_the_peak_is_where_most_requests_come(ms, length_ms):
    at = [tick / 1024 for tick in sorted(ms)]  # sums of these are exact
    start, count = peak(np.array(at), length_ms / 1024)
    inside = [sum(1 for t in at if s <= t < s + length_ms / 1024) for s in at]
    assert count == max(inside)
    assert start in at


def test_a_window_is_cut_out_and_begins_at_its_own_zero():
    trace = trace_of([0, 1000, 5000, 5500, 6000, 30_000], isl=[1, 2, 3, 4, 5, 6])
    busiest = cut(trace, window_of("peak 2 s"))
    assert list(busiest.isl) == [3, 4, 5]
    assert list(busiest.arrival_s) == [0, 0.5, 1]
    assert busiest.span_s == 2
    assert replayed(busiest).rate_per_s == 1.5
    named = cut(trace, window_of("0.5:5.5"))
    assert (list(named.arrival_s), list(named.isl), named.span_s) == ([0.5, 4.5], [2, 3], 5)


def test_a_window_ends_with_the_trace():
    trace = trace_of([0, 1000, 5000])
    for text in ("peak 1 h", "0:600"):
        whole = cut(trace, window_of(text))
        assert (list(whole.arrival_s), whole.span_s) == ([0, 1, 5], 5)
    assert cut(trace, window_of("2:600")).span_s == 3


@pytest.mark.parametrize(
    ("text", "says"),
    [("10:20", "the trace ends after 5 s"), ("2:3", "no request comes in the window")],
)
def test_a_window_without_requests_is_refused(text, says):
    with pytest.raises(UsageError, match=says):
        cut(trace_of([0, 1000, 5000]), window_of(text))


def test_compressing_divides_times_and_keeps_bursts():
    trace = trace_of([0, 0, 0, 10_000, 10_000, 40_000])
    fast = compressed(trace, 4.0)
    assert list(fast.arrival_s) == [0, 0, 0, 2.5, 2.5, 10]
    assert statistics(fast).gap_cv == pytest.approx(statistics(trace).gap_cv)
    assert replayed(fast).rate_per_s == pytest.approx(4 * replayed(trace).rate_per_s)


def test_thinning_keeps_a_share_by_its_seed_and_the_time_that_was_covered():
    trace = trace_of(range(0, 4_000_000, 1000), isl=list(range(1, 4001)))
    half = thinned(trace, 0.5, seed=7)
    assert abs(len(half) - 2000) < 6 * math.sqrt(1000)
    assert list(half.isl) == [round(at) + 1 for at in half.arrival_s]  # rows keep their times
    assert half.span_s == trace.span_s
    assert list(thinned(trace, 0.5, seed=7).isl) == list(half.isl)
    assert list(thinned(trace, 0.5, seed=8).isl) != list(half.isl)
    assert list(thinned(trace, 1.0, seed=1).isl) == list(trace.isl)
    with pytest.raises(UsageError, match="leaves no request"):
        thinned(trace_of([0, 1]), 1e-9, seed=0)


def test_repetition_goes_on_where_the_trace_ends():
    trace = trace_of([0, 1000, 4000], isl=[1, 2, 3], hit=[0, 1, 2])
    twice = repeated(trace, 2)
    assert list(twice.arrival_s) == [0, 1, 4, 6, 7, 10]  # one mean gap of 2 s lies between
    assert (list(twice.isl), list(twice.hit)) == ([1, 2, 3, 1, 2, 3], [0, 1, 2, 0, 1, 2])
    assert replayed(twice).rate_per_s == 0.5
    window = cut(trace, window_of("0:2"))
    assert list(repeated(window, 2).arrival_s) == [0, 1, 2, 3]  # it says how long it covers
    with pytest.raises(UsageError, match="are too many"):
        repeated(trace, 10_000_000)


def test_what_needs_times_says_so_of_lengths_alone():
    trace = Trace(arrival_s=(), isl=[1, 2], osl=[3, 4])
    found = statistics(trace)
    assert (found.requests, found.span_s, found.rate_per_s) == (2, None, None)
    for changed in (
        lambda: cut(trace, window_of("0:1")),
        lambda: compressed(trace, 2.0),
        lambda: repeated(trace, 2),
    ):
        with pytest.raises(UsageError, match="lengths and no times"):
            changed()
    assert len(thinned(trace, 1.0, seed=0)) == 2


def test_a_trace_of_one_moment_has_no_rate():
    with pytest.raises(Refused, match="come at once"):
        replayed(trace_of([5, 5]))


@pytest.mark.parametrize("spread", [0.25, 1.0, 4.0, 25.0])
def test_renewals_have_their_rate_and_their_spread(spread):
    rng = np.random.default_rng(3)
    at = renewals(50.0, spread, 4000.0, rng)
    gaps = np.diff(at)
    assert np.all(gaps >= 0)
    assert at[0] >= 0
    assert at[-1] < 4000
    expected = 200_000
    assert abs(len(at) - expected) < 5 * math.sqrt(spread * expected)
    # a gamma's squared coefficient of variation, its sampling error from the fourth moment
    assert gaps.var() / gaps.mean() ** 2 == pytest.approx(spread, rel=0.1)


@pytest.mark.parametrize("spread", [0.25, 4.0])
def test_renewals_begin_as_if_they_had_gone_on_for_ever(spread):
    rng = np.random.default_rng(5)
    firsts = [len(renewals(1.0, spread, 2.0, rng)) for _ in range(4000)]
    # in the stationary state the mean count is rate times time at once, whatever the gaps' law
    error = np.std(firsts) / math.sqrt(len(firsts))
    assert np.mean(firsts) == pytest.approx(2.0, abs=5 * error)


def test_even_gaps_and_seeds():
    rng = np.random.default_rng
    assert np.diff(renewals(4.0, 0.0, 10.0, rng(1))) == pytest.approx(0.25)
    assert list(renewals(4.0, 2.0, 10.0, rng(1))) == list(renewals(4.0, 2.0, 10.0, rng(1)))
    with pytest.raises(UsageError, match="too many to draw"):
        renewals(1e6, 1.0, 1e6, rng(1))
