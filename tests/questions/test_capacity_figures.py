"""Costs, pools, GPUs over time and pictures, by hand."""

from __future__ import annotations

from array import array
from dataclasses import replace
from itertools import pairwise

import pytest
import worlds

from specplan.domain.hardware import Price
from specplan.domain.slo import Limit, Slo
from specplan.domain.traffic import Lengths, Trace, Traffic
from specplan.questions.capacity_curves import STAIRS, charts, drawn, stairs
from specplan.questions.capacity_figures import costs, fixed_words, k_cells, schedule_words
from specplan.questions.capacity_parts import Parts
from specplan.questions.capacity_pools import moved_s
from specplan.questions.capacity_row import Row, asked_percentiles, percentile_name
from specplan.questions.capacity_size import Asked
from specplan.questions.capacity_time import scaled
from specplan.questions.replicas import shape_of
from specplan.serving.policy import Policy, fixed

LENGTHS = Lengths(isl=(600.0, 1000.0), osl=(100.0, 300.0), hit=(0.0, 0.0), weight=(0.5, 0.5))
SLO = Slo(limits=(Limit("ttft", 99.0, 1.0), Limit("tpot", 95.0, 0.02), Limit("ttft", 99.9, 2.0)))
ASKED = Asked(traffic=Traffic(rate_per_s=5.0, lengths=LENGTHS), slo=SLO, shape=shape_of(LENGTHS))
SETUP = worlds.setup(worlds.PAIR)


# Costs: 5 requests/s of 800 + 200 tokens are 3.6 million output tokens an hour, 18 million in all


def test_costs_by_hand():
    chip = replace(SETUP.hardware, tdp=700.0)
    found = costs(replace(SETUP, hardware=chip), 6, 4.5, ASKED, 2.0)
    assert found["usd_per_hour"] == 12.0
    assert found["usd_per_million_output_tokens"] == pytest.approx(12 / 3.6)
    assert found["usd_per_million_tokens"] == pytest.approx(12 / 18)
    assert found["usd_per_million_output_tokens_saturated"] == pytest.approx(9 / 3.6)
    assert found["usd_per_million_tokens_saturated"] == pytest.approx(9 / 18)
    assert found["wh_per_million_output_tokens"] == pytest.approx(6 * 700 / 3.6)
    assert (found["usd_per_gpu_hour"], found["price"]) == (2.0, "as stated")


def test_without_a_price_or_a_power_they_stay_unsaid():
    assert costs(SETUP, 6, 4.5, ASKED, None) == {}


def test_the_cards_lowest_price_is_taken():
    listed = Price(usd_per_hour=3.0, provider="Some", read="2026-11-09", cite="a list")
    chip = replace(SETUP.hardware, prices=(listed,))
    found = costs(replace(SETUP, hardware=chip), 6, 4.5, ASKED, None)
    assert (found["usd_per_hour"], found["price"]) == (18.0, "Some, 2026-11-09")


def test_k_in_use_is_told_by_its_share():
    assert k_cells({0: 0.25, 3: 0.748, 5: 0.002}) == {
        "k_shares": "3: 75 %, 0: 25 %",
        "k_mean": pytest.approx(2.254),
    }
    assert schedule_words(fixed(3)) is None
    assert schedule_words(Policy("gated", (5, 3, 0), (32, 64, 256))) == "5 to 32, 3 to 64, 0"


@pytest.mark.parametrize(
    ("points", "said"), [((3.0,), None), ((32.0, 32.5, 34.0), None), ((5.0, 9.0, 40.0), "5, 9, 40")]
)
def test_batches_to_settle_at_are_told_where_they_differ(points, said):
    class At:
        fixed_points = points

    assert fixed_words(At()) == said


# Percentiles


def test_what_was_promised_is_told_beside_the_usual():
    assert [percentile_name(one) for one in asked_percentiles(SLO)] == [
        *("ttft_p50_s", "ttft_p95_s", "ttft_p99_s", "ttft_p99.9_s"),
        *("tpot_p50_s", "tpot_p95_s"),
    ]
    assert ASKED.limit("ttft").percentile == 99.0  # the tightest
    assert ASKED.limit("e2e") is None
    assert drawn(ASKED) == (("tpot", 95.0), ("ttft", 99.0))


# A cache of 1,000 tokens, 1e5 bytes each and 1e4 of the drafter, over 1e10 bytes/s


def test_a_cache_crosses_the_link_with_the_drafters():
    linked = replace(SETUP, hardware=replace(SETUP.hardware, link=1e10))
    assert moved_s(linked, ASKED, drafts=False) == pytest.approx(0.01)
    assert moved_s(linked, ASKED, drafts=True) == pytest.approx(0.011)
    assert moved_s(SETUP, ASKED, drafts=True) is None


# GPUs over time


def trace(*arrivals: float, covers_s: float = 0.0) -> Trace:
    many = [100] * len(arrivals)
    return Trace(arrival_s=array("d", arrivals), isl=many, osl=many, covers_s=covers_s)


def test_gpus_follow_the_bins_of_a_trace():
    # 10 in the first minute, 1 in the second, at most 0.1/s a replica of 2 GPUs: 2 and 1 replicas
    arrivals = [*(6.0 * i for i in range(10)), 120.0]
    found = scaled(trace(*arrivals), 60.0, 0.1, 2)
    assert found.peak_gpus == 4
    assert found.mean_gpus == pytest.approx(3.0)
    assert found.gpu_hours == pytest.approx(2 * (2 + 1) * 60 / 3600)


def test_the_last_bin_is_as_long_as_it_lasts():
    # 60 s with 2 requests, then 30 s with 3 of them: 0.1/s
    found = scaled(trace(0.0, 30.0, 61.0, 80.0, 90.0), 60.0, 0.05, 1)
    assert (found.peak_gpus, found.gpu_hours) == (2, pytest.approx((1 * 60 + 2 * 30) / 3600))


def test_a_bin_without_requests_needs_nothing():
    found = scaled(trace(0.0, 180.0), 60.0, 0.1, 1)
    assert found.mean_gpus == pytest.approx(2 / 3)


# Pictures


def row(**changes) -> Row:
    given = {
        "target": "t",
        "draft": "none",
        "hardware": "h",
        "tp": 1,
        "dtype": "bf16",
        "draft_dtype": None,
        "kv_dtype": "bf16",
        "draft_tp": None,
        "engine": "vllm",
        "engine_version": None,
        "attention_dp": 1,
        "ep": 1,
        "served_by": "vllm",
        "acceptance": None,
        "policy": "none",
        "pools": "shared",
        "largest_per_s": 2.0,
        "gpus_per_replica": 2,
        "replicas": 3,
        "gpus": 6,
        "usd_per_gpu_hour": 3.0,
        # 6 GPUs at 3 USD an hour for 5 requests/s of 200 tokens
        "usd_per_million_output_tokens": 6 * 3 / (5 * 200 * 3600) * 1e6,
        "kept_by_dispersion": ((1.0, 2.0),),
        "rank": 1,
        "by_rate": {"tpot_p95_s": ((0.5, 0.01), (1.5, 0.02)), "ttft_p99_s": ()},
    }
    return Row(**{**given, **changes})


def test_gpus_go_up_in_stairs_where_a_replica_is_added():
    """Each of 2 GPUs carries 2 requests/s; at the 5 asked there are the 3 of the plan."""
    gpus = charts([row()], ASKED, {1: "no speculation"}).panels[0]
    (curve,) = gpus.curves
    assert (gpus.y_label, curve.name) == ("GPUs", "no speculation")
    assert list(curve.points) == [
        (pytest.approx(x), y)
        for x, y in [
            *((0.5, 2), (2, 2), (2, 4), (4, 4), (4, 6), (6, 6), (6, 8), (8, 8), (8, 10), (10, 10)),
        ]
    ]
    assert [(mark.name, mark.x, mark.y) for mark in gpus.marks] == [("6 planned", 5.0, 6)]


def test_a_picture_has_costs_on_whole_replicas_and_latencies_on_those_of_the_plan():
    # nothing is known of first tokens
    _, costs_, tokens = charts([row()], ASKED, {1: "no speculation"}).panels
    (curve,) = costs_.curves
    assert (costs_.y_label, curve.name) == ("USD per million output tokens", "")
    assert curve.points[0][0] == pytest.approx(0.5)
    # one replica of 2 GPUs at 3 USD an hour for 0.5 requests/s of 200 tokens
    assert curve.points[0][1] == pytest.approx(6 / (0.5 * 200 * 3600) * 1e6)
    jumps = [(x0, y1 / y0) for (x0, y0), (x1, y1) in pairwise(curve.points) if x0 == x1]
    assert jumps == [(pytest.approx(2.0 * n), pytest.approx((n + 1) / n)) for n in (1, 2, 3, 4)]
    assert tokens.curves[0].points == ((1.5, 0.01), (4.5, 0.02))
    assert [rule.at for rule in tokens.rules if rule.axis == "x"] == [ASKED.traffic.rate_per_s]
    assert (tokens.y_label, tokens.y_scale) == ("TPOT p95 on the GPUs of the plan, s", "log")


def test_without_a_price_it_counts_gpus_alone():
    known = row(usd_per_gpu_hour=None, usd_per_million_output_tokens=None)
    panels = charts([known], ASKED, {1: "no speculation"}).panels
    assert [panel.y_label for panel in panels] == ["GPUs", "TPOT p95 on the GPUs of the plan, s"]


def test_of_a_long_flight_some_stairs_are_drawn_each_where_it_is():
    some = list(stairs(row(kept_by_dispersion=((1.0, 0.001),)), ASKED))
    assert len(some) == STAIRS
    assert (some[0][2], some[-1][2]) == (500, 10_000)
    assert all(end == pytest.approx(0.001 * n) for _, end, n in some)


def test_a_picture_has_the_gpus_by_cause_and_what_savings_leave_of_them():
    causes = {"memory": 0.0, "queue": 0.5, "bursts": 0.25, "margin": 0.75, "whole": 0.5}
    parts = Parts(prefill=1.0, decode=5.0, speculation=-2.0, **causes)
    bars = charts([row(parts=parts)], ASKED, {1: "k=3"}).panels[-1]
    more, less = bars.bars
    assert (more.name, more.text) == ("k=3", "8 before savings")
    assert (less.name, less.text) == ("k=3, savings taken off", "6 GPUs")
    assert [(one.name, one.size) for one in less.pieces] == [
        ("what remains", 6.0),
        ("saved by speculation", 2.0),
    ]
    assert sum(one.size for one in less.pieces) == sum(one.size for one in more.pieces)
    drawn = {one.name: one.size for one in more.pieces}
    assert drawn == {name: gpus for name, gpus in parts.pairs() if gpus > 0}
    assert sum(drawn.values()) - 2.0 == parts.total


def test_causes_that_save_nothing_are_one_bar():
    causes = dict.fromkeys(("memory", "queue", "bursts", "margin", "speculation"), 0.0)
    parts = Parts(prefill=1.0, decode=1.5, whole=0.5, **causes)
    (bar,) = charts([row(parts=parts)], ASKED, {1: "plain"}).panels[-1].bars
    assert (bar.name, bar.text) == ("plain", "3 GPUs")


@pytest.mark.parametrize(("star", "at"), [(None, []), (0.0, []), (0.8, [2.4])])
def test_a_picture_has_the_load_up_to_which_drafts_pay(star, at):
    # three replicas
    found = charts([row(lambda_star_per_s=star)], ASKED, {1: "k=3"}).panels[2]
    said = [rule.at for rule in found.rules if rule.name == "k=3: pays below"]
    assert said == pytest.approx(at)


def test_bins_where_nobody_comes_take_no_memory():
    # two requests three thousand years apart: 1.7e9 bins of a minute
    found = scaled(trace(0.0, 99_999_999_999.0), 60.0, 0.1, 2)
    assert found.peak_gpus == 2
    # one bin of 60 s, and the last of 39 s (99,999,999,999 = 60 * 1,666,666,666 + 39)
    assert found.gpu_hours == pytest.approx(2 * (60 + 39) / 3600)
    assert found.mean_gpus == pytest.approx(2 * 99 / 99_999_999_999)
