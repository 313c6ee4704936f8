"""Lengths: laws as parts against slow integrals, traces as means of their pieces, draws."""

from __future__ import annotations

import math
from array import array
from itertools import pairwise
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specplan.domain.lengths import Exponential, Fixed, Lognormal, Tabled, Uniform
from specplan.domain.traffic import Trace
from specplan.serving.arrivals import summary_of_parts
from specplan.serving.incoming import drawn, steady, traffic_statistics
from specplan.serving.lengths import (
    EDGES,
    divided,
    draw_lengths,
    independent,
    parts_of,
    recorded,
    with_hits,
)

TABLED = Tabled((64.0, 128.0, 128.5, 1024.0), (0.25, 0.5, 0.5, 1.0))
QUANTILES = {
    Uniform(100, 200): lambda q: 100 + 100 * q,
    Exponential(500): lambda q: -500 * math.log1p(-q),
    Lognormal(1200, 0.9): lambda q: math.exp(
        math.log(1200) - 0.405 + 0.9 * NormalDist().inv_cdf(q)
    ),
}


def table_quantile(q):
    points = [(0.0, 1.0), (0.25, 64.0), (0.5, 128.0), (1.0, 1024.0)]
    for (a, low), (b, high) in pairwise(points):
        if q <= b:
            start = 128.5 if a == 0.5 else low
            return start + (high - start) * (q - a) / (b - a)
    raise AssertionError(q)


@pytest.mark.parametrize(
    ("law", "quantile"), [*QUANTILES.items(), (TABLED, table_quantile)], ids=range(4)
)
def test_each_part_stands_for_its_mean(law, quantile):
    values, share = parts_of(law)
    assert len(values) == len(EDGES) - 1
    for low, high, value, weight in zip(EDGES[:-2], EDGES[1:-1], values, share, strict=False):
        steps = 20_000
        middle = [low + (high - low) * (i + 0.5) / steps for i in range(steps)]
        assert weight == pytest.approx(high - low)
        assert value == pytest.approx(sum(map(quantile, middle)) / steps, rel=1e-4)


@pytest.mark.parametrize(
    ("law", "mean"),
    [
        (Fixed(7), 7),
        (Uniform(100, 200), 150),
        (Exponential(500), 500),
        (Lognormal(1200, 0.9), 1200),
        (Lognormal(1200, 3.0), 1200),
        (TABLED, (0.25 * 32.5 + 0.25 * 96 + 0.5 * 576.25)),
    ],
)
def test_the_mean_is_that_of_the_law(law, mean):
    for finer in (1, 12):
        values, share = parts_of(law, finer=finer)
        assert share.sum() == pytest.approx(1)
        assert share @ values == pytest.approx(mean, rel=2e-3)  # none is shorter than one token
        assert np.all(np.diff(values) >= 0)


def test_two_laws_are_independent_and_few_enough():
    found = independent(Exponential(500), Uniform(10, 20), 0.25)
    isl, osl, hit, weight = map(np.array, (found.isl, found.osl, found.hit, found.weight))
    assert len(weight) == 225
    assert weight.sum() == pytest.approx(1)
    assert weight @ (isl * osl) == pytest.approx((weight @ isl) * (weight @ osl))
    assert hit == pytest.approx(isl / 4)


def test_a_total_is_divided_in_one_proportion():
    found = divided(Uniform(100, 200), 0.8, 0.5)
    isl, osl, hit = map(np.array, (found.isl, found.osl, found.hit))
    assert isl == pytest.approx(4 * osl)
    assert hit == pytest.approx(isl / 2)
    assert np.array(found.weight) @ (isl + osl) == pytest.approx(150)
    assert min(divided(Fixed(1), 0.8).osl) == 1


def trace_of(rows):
    isl, osl, hit = zip(*rows, strict=True)
    return Trace(
        arrival_s=array("d", map(float, range(len(rows)))),
        isl=array("q", isl),
        osl=array("q", osl),
        hit=array("q", hit),
    )


@given(
    st.lists(
        st.tuples(st.integers(1, 10**5), st.integers(1, 10**4), st.integers(0, 100)),
        min_size=1,
        max_size=400,
    )
)
def test_a_trace_keeps_its_means_in_a_few_hundred_pieces(rows):
    found = recorded(trace_of(rows))
    weight = np.array(found.weight)
    assert len(weight) <= 225
    assert weight.sum() == pytest.approx(1)
    for values, column in zip(
        (found.isl, found.osl, found.hit), zip(*rows, strict=True), strict=True
    ):
        assert weight @ np.array(values) == pytest.approx(sum(column) / len(rows), rel=1e-9)


def test_prompts_and_outputs_of_a_trace_stay_together():
    rows = [(n, 10_001 - n, 0) for n in range(1, 10_001)]  # long prompts, short outputs
    found = recorded(trace_of(rows))
    weight, isl, osl = map(np.array, (found.weight, found.isl, found.osl))
    product = sum(n * (10_001 - n) for n in range(1, 10_001)) / 10_000
    assert weight @ (isl * osl) == pytest.approx(product, rel=1e-3)
    assert weight @ (isl * isl) == pytest.approx(
        sum(n * n for n in range(1, 10_001)) / 1e4, rel=1e-2
    )


def test_draws_keep_the_means_and_repeat_by_seed():
    lengths = independent(Exponential(50.5), Uniform(1, 4), 0.3)
    rng = np.random.default_rng
    isl, osl, hit = draw_lengths(lengths, 200_000, rng(1))
    assert isl.dtype == osl.dtype == hit.dtype == np.int64
    assert isl.min() >= 1
    assert osl.min() >= 1
    assert np.all(hit <= isl)
    weight = np.array(lengths.weight)
    for drawn_, meant in ((isl, lengths.isl), (osl, lengths.osl), (hit, lengths.hit)):
        error = drawn_.std() / math.sqrt(len(drawn_))
        assert drawn_.mean() == pytest.approx(weight @ np.array(meant), abs=5 * error)
    assert np.array_equal(isl, draw_lengths(lengths, 200_000, rng(1))[0])


def test_hits_of_a_share():
    trace = with_hits(trace_of([(10, 1, 0), (7, 1, 7)]), 0.5)
    assert list(trace.hit) == [5, 3]


def test_traffic_of_laws_is_drawn_and_told():
    traffic = steady(20.0, independent(Fixed(400), Exponential(50), 0.25), cv=2.0)
    assert traffic.dispersion == 4.0
    found = traffic_statistics(traffic)
    assert (found.requests, found.rate_per_s, found.hit_share) == (None, 20.0, 0.25)
    assert (found.isl.mean, found.isl.p50, found.isl.p99) == pytest.approx((400, 400, 400))
    # quantiles of an exponential law of mean 50
    assert found.osl.p50 == pytest.approx(50 * math.log(2), rel=0.02)
    assert found.osl.p95 == pytest.approx(50 * math.log(20), rel=0.02)
    assert found.osl.p99 == pytest.approx(50 * math.log(100), rel=0.03)
    trace = drawn(traffic, 1000.0, seed=4)
    assert trace.span_s == 1000.0
    assert abs(len(trace) - 20_000) < 5 * math.sqrt(4 * 20_000)
    assert list(trace.hit) == [100] * len(trace)
    again = drawn(traffic, 1000.0, seed=4)
    assert (trace.arrival_s, trace.osl) == (again.arrival_s, again.osl)
    assert trace.arrival_s != drawn(traffic, 1000.0, seed=5).arrival_s


def test_percentiles_of_parts_lie_between_them():
    found = summary_of_parts(np.array([10.0, 20.0, 10.0]), np.array([0.25, 0.5, 0.25]))
    assert (found.mean, found.p50, found.p95, found.max) == (15, 15, 20, 20)
