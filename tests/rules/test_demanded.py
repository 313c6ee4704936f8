"""Expectations about traffic, holding, unsure and failing, in the very words; and which candidate
is judged, of facts made by hand.
"""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from demanded_facts import FACTS

from specplan.rules.demanded import BY_DEMAND, DEMANDED, TrafficFacts, chosen, judge_traffic

REASON = "itl_p99 is 45 ms for a request alone: 12 % over the 40 ms promised"
MISSED = replace(
    FACTS,
    gpus=math.inf,
    usd_per_million_output_tokens=math.inf,
    strain=1.12,
    latency_s={},
    others=(),
    reason=REASON,
)
NONE = "no number of GPUs keeps the promises"


def said(key: str, limit: float, text: str, *points: TrafficFacts) -> tuple[str, str]:
    """Level and message of one expectation about these points."""
    worst, finding = judge_traffic(BY_DEMAND[key], points or (FACTS,), limit, text)
    assert finding is not None
    assert worst in (points or (FACTS,))
    assert finding.rule == BY_DEMAND[key].id
    return finding.level, finding.message


@pytest.mark.parametrize(
    ("key", "holds", "fails", "found"),
    [
        ("max_gpus", (28, "28"), (24, "24"), "28 GPUs (k=3; 22 gated, 31 without)"),
        (
            "max_usd_per_million_output_tokens",
            (1.2, "1.2"),
            (1.1, "1.1"),
            "1.18 USD (k=3; 28 GPUs)",
        ),
        ("meets_slo", (True, "true"), (False, "false"), "kept with 28 GPUs (k=3)"),
        ("max_itl_p50", (0.01, "10 ms"), None, "0 s (k=3; 28 GPUs)"),
        ("max_itl_p95", (0.04, "40 ms"), (0.03, "30 ms"), "31.2 ms (k=3; 28 GPUs)"),
        ("max_itl_p99", (0.05, "50 ms"), (0.04, "40 ms"), "45.6 ms (k=3; 28 GPUs)"),
    ],
)
def test_every_expectation_holding_and_failing(key, holds, fails, found):
    assert said(key, *holds) == ("pass", f"{key} {holds[1]}: {found}")
    if fails:
        assert said(key, *fails) == ("error", f"{key} {fails[1]}: {found}")


@pytest.mark.parametrize(
    ("key", "limit", "text", "found"),
    [
        ("max_gpus", 24, "24", NONE),
        ("max_usd_per_million_output_tokens", 2.0, "2", NONE),
        ("meets_slo", True, "true", "kept with no number of GPUs"),
        ("max_itl_p99", 0.03, "30 ms", NONE),
    ],
)
def test_promises_that_nothing_keeps_say_why(key, limit, text, found):
    assert said(key, limit, text, MISSED) == ("error", f"{key} {text}: {found} (k=3): {REASON}")


def test_promises_that_are_expected_to_be_missed():
    level, message = said("meets_slo", False, "false", MISSED)
    assert (level, message) == ("pass", "meets_slo false: kept with no number of GPUs (k=3)")


def test_figures_too_near_their_limit_are_told_apart():
    near = replace(FACTS, usd_per_million_output_tokens=1.20004)
    level, message = said("max_usd_per_million_output_tokens", 1.2, "1.2", near)
    assert (level, message.split(": ")[1]) == ("error", "1.20004 USD (k=3; 28 GPUs)")
    one = replace(FACTS, gpus=1.0, others=())
    assert said("max_gpus", 1, "1", one) == ("pass", "max_gpus 1: 1 GPU (k=3)")


@pytest.mark.parametrize(
    ("key", "limit", "text"),
    [
        ("max_gpus", 29, "29"),
        ("max_usd_per_million_output_tokens", 1.2, "1.2"),
        ("meets_slo", True, "true"),
        ("max_itl_p99", 0.046, "46 ms"),
    ],
)
def test_what_holds_by_less_than_the_engine_s_band_is_unsure(key, limit, text):
    banded = replace(FACTS, band=0.12)
    level, message = said(key, limit, text, banded)
    assert level == "warning"
    assert message.endswith("), holds within the engine's 12 %: unsure")
    narrow = replace(FACTS, band=0.001)
    assert said(key, limit, text, narrow)[0] == "pass"


def test_a_band_makes_no_failure_unsure_nor_what_is_sure():
    banded = replace(FACTS, band=0.12)
    assert said("max_gpus", 24, "24", banded)[0] == "error"
    assert said("max_gpus", 32, "32", banded)[0] == "pass"
    assert said("meets_slo", False, "false", replace(MISSED, band=0.5))[0] == "pass"


def test_places_name_what_varies():
    several = replace(FACTS, setup="2x h200-sxm", alphas=True)
    assert several.place == "2x h200-sxm, alpha 0.8, k=3"
    other = replace(FACTS, alphas=True, acceptance="decay:0.8,0.9", alpha=None, policy="gated")
    assert other.place == "acceptance decay:0.8,0.9, gated"


def test_the_worst_point_is_told():
    worse = replace(FACTS, point=1, gpus=40.0, alphas=True, acceptance="0.5", others=())
    level, message = said("max_gpus", 30, "30", FACTS, worse)
    assert (level, message) == ("error", "max_gpus 30: 40 GPUs (alpha 0.5, k=3)")


def test_a_price_that_nobody_knows_is_no_finding():
    free = replace(FACTS, usd_per_million_output_tokens=None)
    rule = BY_DEMAND["max_usd_per_million_output_tokens"]
    assert judge_traffic(rule, [FACTS, free], 1.0, "1") == (free, None)
    # That nothing keeps the promises is known without a price.
    assert said(rule.key, 1.0, "1", replace(MISSED, usd_per_million_output_tokens=None))[0] == (
        "error"
    )


def one(candidate: int, gpus: float, itl: float = 0.01, **more: object) -> TrafficFacts:
    return replace(FACTS, candidate=candidate, gpus=gpus, latency_s={"itl_p99": itl}, **more)


def picked(facts, **limits: float) -> int:
    asked = [(BY_DEMAND[key], limit) for key, limit in limits.items()]
    return chosen(asked, facts)[0].candidate


def test_one_candidate_is_to_keep_all_of_it():
    """Few GPUs here and short gaps there are no plan."""
    slow, fast = one(0, 2.0, itl=0.05), one(1, 4.0, itl=0.02)
    assert picked([slow, fast], max_gpus=2) == 0
    assert picked([slow, fast], max_itl_p99=0.03) == 1
    assert picked([slow, fast], max_gpus=4, max_itl_p99=0.03) == 1
    assert picked([slow, fast], max_gpus=2, max_itl_p99=0.03) == 0  # one fails; fewer GPUs
    assert picked([slow, one(1, 2.0)], max_gpus=9) == 0  # equals: the first


def test_a_candidate_has_to_do_at_every_point():
    facts = [one(0, 2.0, point=0), one(0, 9.0, point=1), one(1, 4.0, point=0), one(1, 5.0, point=1)]
    assert picked(facts, max_gpus=5) == 1
    assert [f.point for f in chosen([(BY_DEMAND["max_gpus"], 5)], facts)] == [0, 1]


def test_a_candidate_without_a_price_is_the_last():
    free = one(0, 1.0, usd_per_million_output_tokens=None)
    dear = one(1, 9.0, usd_per_million_output_tokens=3.0)
    assert picked([free, dear], max_usd_per_million_output_tokens=4) == 1


def test_every_rule_has_its_key_and_unit():
    assert {rule.key: rule.unit for rule in DEMANDED} == {
        "max_gpus": "GPU",
        "max_usd_per_million_output_tokens": "USD",
        "meets_slo": "GPU",
        "max_itl_p50": "s",
        "max_itl_p95": "s",
        "max_itl_p99": "s",
    }
