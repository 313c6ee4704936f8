"""Requests drawn of clients: as many as were counted, window by window, the same by seed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from specplan.domain.clients import AskingWindow, Client, Clients, LengthsWindow
from specplan.errors import UsageError
from specplan.importers.traces.read import read_trace
from specplan.serving.clients import drawn_of

FILES = Path(__file__).parents[1] / "importers" / "traffic" / "servegen"


def lengths(start_s=0.0, isl=10):
    return LengthsWindow(start_s=start_s, isl=(isl,), isl_share=(1.0,), osl=(2,), osl_share=(1.0,))


def window(start_s=0.0, rate=10.0, law="poisson", shape=1.0):
    return AskingWindow(start_s=start_s, length_s=600.0, rate_per_s=rate, law=law, shape=shape)


def clients(*windows, of=()):
    client = Client(name="c", windows=windows, lengths=of or (lengths(),))
    return Clients(clients=(client,), covers_s=600.0)


def test_a_window_has_as_many_requests_as_were_counted():
    trace = drawn_of(read_trace(FILES / "chat-trace.csv"), seed=1)
    at = np.asarray(trace.arrival_s) + 600  # the first window with requests, about
    assert len(trace) == 600 * 0.5 + 600 * 0.25 + 600 * 1.0
    assert [
        int(((at >= a - 5) & (at < a + 595)).sum()) for a in (600, 1200, 1800)
    ] == pytest.approx([300, 150, 600], abs=30)
    early = [isl for isl, second in zip(trace.isl, at, strict=True) if second < 1700]
    assert set(early) == {60, 61, 90}
    assert set(trace.osl) == {7, 8, 10}


def test_shares_are_those_of_the_file():
    whole = replace(lengths(), isl=(60, 90), isl_share=(0.75, 0.25))
    trace = drawn_of(clients(window(rate=100.0), of=(whole,)), seed=2)
    assert np.mean(np.array(trace.isl) == 60) == pytest.approx(0.75, abs=0.01)


@pytest.mark.parametrize(
    ("law", "shape", "squared_cv"),
    [("poisson", 1.0, 1.0), ("gamma", 0.25, 4.0), ("gamma", 4.0, 0.25), ("weibull", 0.5, 5.0)],
)
def test_gaps_have_the_spread_of_the_law(law, shape, squared_cv):
    # of a Weibull law: gamma(1 + 2/k) / gamma(1 + 1/k)**2 - 1, which is 5 for k = 1/2
    trace = drawn_of(clients(window(rate=300.0, law=law, shape=shape)), seed=3)
    gaps = np.diff(np.asarray(trace.arrival_s))
    assert len(trace) == 180_000
    assert gaps.var() / gaps.mean() ** 2 == pytest.approx(squared_cv, rel=0.1)


def test_a_shape_too_small_for_floats_still_fills_the_window():
    trace = drawn_of(clients(window(rate=1.0, law="weibull", shape=1e-3)), seed=3)
    assert len(trace) == 600
    assert 0 <= trace.arrival_s[-1] <= 600


def test_lengths_are_those_in_force_or_the_first():
    of = (lengths(600.0, 60), lengths(1200.0, 120))
    trace = drawn_of(clients(window(0.0), window(600.0), window(1800.0), of=of), seed=0)
    rows = list(zip(trace.arrival_s, trace.isl, strict=True))
    assert {isl for at, isl in rows if at < 1100} == {60}
    assert {isl for at, isl in rows if at > 1300} == {120}


def test_a_fraction_of_a_request_comes_as_often():
    counts = []
    for seed in range(300):
        try:
            counts.append(len(drawn_of(clients(window(rate=0.5 / 600)), seed=seed)))
        except UsageError:
            counts.append(0)
    assert set(counts) == {0, 1}
    assert np.mean(counts) == pytest.approx(0.5, abs=0.15)


def test_another_client_changes_nothing_of_the_first():
    both = read_trace(FILES)
    alone = replace(both, clients=both.clients[:1])
    first = drawn_of(alone, seed=9)
    together = drawn_of(both, seed=9)
    assert len(together) == len(first) + 1050
    assert set(first.isl) == {1000}
    assert sum(1 for isl in together.isl if isl == 1000) == len(first)
    assert drawn_of(both, seed=9).arrival_s == together.arrival_s
    assert drawn_of(both, seed=8).arrival_s != together.arrival_s


def test_more_than_can_be_kept_is_refused():
    with pytest.raises(UsageError, match="too many to draw"):
        drawn_of(clients(window(rate=1e6)), seed=0)
