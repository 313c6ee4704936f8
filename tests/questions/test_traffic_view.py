"""How traffic is told: a few lines that fit a page, with the figures of the statistics."""

from __future__ import annotations

from array import array

import pytest

from specplan.domain.lengths import Exponential, Fixed, Lognormal
from specplan.domain.traffic import Trace
from specplan.questions.traffic_view import duration, traffic_facts
from specplan.serving.incoming import replayed, steady
from specplan.serving.lengths import independent


def trace(hit=()):
    at = array("d", [0, 1, 1.5, 60, 150])
    return Trace(
        arrival_s=at, isl=[100, 20, 3000, 100, 100], osl=[1, 2, 2, 4, 1], hit=list(hit), form="f"
    )


def test_a_trace_in_words():
    # gaps 1, 0.5, 58.5, 90: 38.4 over 37.5; of 151 seconds three have one request and one has two
    assert dict(traffic_facts(replayed(trace()))) == {
        # four of the five come in the minute that begins with the second
        "requests": "5 in 2.50 min: 0.0333/s, 0.0500/s in the busiest minute",
        "arrivals": "gap CV 1.02, variance over mean by second 1.37 (Poisson 1)",
        "prompt tokens": "mean 664, p50 100, p95 3,000, p99 3,000, max 3,000",
        "output tokens": "mean 2, p50 2, p95 4, p99 4, max 4",
    }


def test_hits_are_a_line_of_their_own():
    facts = dict(traffic_facts(replayed(trace((50, 0, 280, 0, 2)))))
    assert facts["prefix"] == "10.0 % of prompt tokens are in a cache"


def test_a_rate_and_lengths_in_words():
    assert traffic_facts(steady(50.0, independent(Fixed(4000), Fixed(500)))) == (
        ("requests", "50.0/s"),
        ("arrivals", "Poisson"),
        ("prompt tokens", "4,000"),
        ("output tokens", "500"),
    )
    bursty = steady(0.5, independent(Lognormal(1200, 0.9), Exponential(50), 0.25), cv=2.0)
    facts = dict(traffic_facts(bursty))
    assert facts["arrivals"] == "independent, gap CV 2.00 (Poisson 1)"
    # exp(ln 1200 - 0.405 + 0.9 z): 800, 3,516, 6,495
    assert facts["prompt tokens"].startswith("mean 1,200, p50 8")
    assert "max" not in facts["prompt tokens"]
    assert facts["prefix"].startswith("25.0 %")


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.5, "500 ms"), (60, "60 s"), (600, "10.0 min"), (7200, "2.00 h"), (604_800, "7.00 d")],
)
def test_times_in_the_unit_that_people_count_in(seconds, said):
    assert duration(seconds) == said


def test_lines_fit_a_page():
    wide = Trace(
        arrival_s=array("d", [i / 7 for i in range(100_000)]),
        isl=array("q", [10_000 + i for i in range(100_000)]),
        osl=array("q", [10_000 + i for i in range(100_000)]),
    )
    for label, words in traffic_facts(replayed(wide)):
        assert len(label) + len(words) <= 77
