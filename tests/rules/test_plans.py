"""Each expectation passing, unsure and failing, in the very words; and that a rule is one entry."""

from __future__ import annotations

import math
from dataclasses import fields, replace

import pytest

from specplan.domain.plan import Expect
from specplan.rules.demanded import DEMANDED
from specplan.rules.expected import Facts, judge
from specplan.rules.plans import EXPECTED, PLAN_RULES, POINTWISE
from specplan.rules.registry import RULES

GIB = float(2**30)
FACTS = Facts(
    setup="",
    alphas=False,
    lengths=False,
    target="llama-3-8b",
    draft="llama-3.2-1b",
    hardware="h100-sxm",
    tp=1,
    batch=64,
    context=8192.0,
    alpha=0.6,
    acceptance="0.6",
    k=3,
    speedup=1.12,
    tpot_s=0.0312,
    tokens_per_s=2051.3,
    best_k=2,
    best_speedup=1.16,
    best_tpot_s=0.030124,
    best_tokens_per_s=2124.6,
    k_regret=0.0345,
    break_even_alpha=0.55,
    break_even_batch=90.0,
    largest_batch=70,
    free_bytes=1.5 * GIB,
    draft_bytes=4.25 * GIB,
    bound=True,
)


def said(key: str, limit: float, text: str, *points: Facts) -> tuple[str, str]:
    """Level and message of one expectation."""
    finding = judge(POINTWISE[key], points or (FACTS,), limit, text)[1]
    assert finding.rule == POINTWISE[key].id
    return finding.level, finding.message


UNSURE = ", holds only as a bound: unsure"
HERE = "at batch 64, context 8192"


@pytest.mark.parametrize(
    ("key", "holds", "found", "fails", "complaint"),
    [
        (
            "min_speedup",
            (1.1, "1.1"),
            f"1.12x {HERE}{UNSURE}",
            (1.2, "1.2"),
            f"1.12x {HERE}; best k there is 2 (1.16x)",
        ),
        (
            "max_tpot",
            (0.04, "40 ms"),
            f"31.2 ms {HERE}{UNSURE}",
            (0.03, "30 ms"),
            f"31.2 ms {HERE}; best k there is 2 (30.1 ms)",
        ),
        (
            "min_tokens_per_s",
            (2000, "2000"),
            f"2051 tok/s {HERE}{UNSURE}",
            (3000, "3000"),
            f"2051 tok/s {HERE}; best k there is 2 (2125 tok/s)",
        ),
        (
            "fits",
            (True, "true"),
            f"fits with 1.5 GiB a GPU to spare {HERE}",
            (False, "false"),
            f"fits with 1.5 GiB a GPU to spare {HERE}",
        ),
        (
            "min_sequences",
            (70, "70"),
            "70 fit at context 8192",
            (71, "71"),
            "70 fit at context 8192",
        ),
        (
            "max_draft_memory",
            (4.25 * GIB, "4.25 GiB"),
            f"4.25 GiB {HERE}",
            (4 * GIB, "4 GiB"),
            f"4.25 GiB {HERE}",
        ),
        (
            "max_k_regret",
            (0.04, "0.04"),
            f"0.035 {HERE}{UNSURE}",
            (0.03, "0.03"),
            f"0.035 {HERE}; best k there is 2 (1.16x)",
        ),
        (
            "min_alpha_margin",
            (0.04, "0.04"),
            f"0.050 {HERE}{UNSURE}",
            (0.1, "0.1"),
            f"0.050 {HERE}",
        ),
        (
            "min_break_even_batch",
            (90, "90"),
            f"loses from batch 90 at context 8192{UNSURE}",
            (91, "91"),
            "loses from batch 90 at context 8192",
        ),
    ],
)
def test_every_expectation_holding_and_failing(key, holds, found, fails, complaint):
    certain = "warning" if found.endswith(UNSURE) else "pass"
    assert said(key, *holds) == (certain, f"{key} {holds[1]}: {found}")
    assert said(key, *fails) == ("error", f"{key} {fails[1]}: {complaint}")
    sure = replace(FACTS, bound=False)
    assert said(key, *holds, sure) == ("pass", f"{key} {holds[1]}: {found.removesuffix(UNSURE)}")
    assert said(key, *fails, sure) == ("error", f"{key} {fails[1]}: {complaint}")


def test_every_key_of_a_plan_has_its_rule_and_every_rule_an_id_of_its_own():
    every = (*EXPECTED, *DEMANDED)
    assert [rule.key for rule in every] == [f.name for f in fields(Expect) if f.name != "at"]
    assert [rule.id for rule in every] == [f"SP0{n:02d}" for n in range(1, 16)]
    assert len(RULES) == len({rule.id for rule in RULES.values()})
    assert all(RULES[rule.id] is rule for rule in PLAN_RULES)
    assert [i for i in RULES if i.startswith("SP1")] == [f"SP10{n}" for n in range(1, 8)]


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_a_rule_explains_itself_in_sentences(rule):
    assert all(text.endswith(".") for text in (rule.what, rule.why, rule.remedy))
    assert rule.help == f"{rule.what} {rule.why} {rule.remedy}"


def test_the_worst_point_is_named_whatever_the_order():
    slow = replace(FACTS, batch=16, speedup=0.9, tpot_s=0.05)
    full = replace(FACTS, batch=256, free_bytes=-2 * GIB, draft_bytes=8 * GIB)
    for points in ((FACTS, slow, full), (full, slow, FACTS)):
        assert "0.90x at batch 16" in said("min_speedup", 1.2, "1.2", *points)[1]
        assert "50 ms at batch 16" in said("max_tpot", 0.03, "30 ms", *points)[1]
        assert "8 GiB at batch 256" in said("max_draft_memory", 1, "1 B", *points)[1]
        level, message = said("fits", True, "true", *points)
        assert level == "error"
        assert message == "fits true: does not fit, 2 GiB a GPU missing, at batch 256, context 8192"
    assert said("fits", False, "false", full)[0] == "pass"
    assert said("fits", False, "false", replace(full, free_bytes=0.0))[0] == "error"


def test_a_point_is_told_by_what_varies_and_matters():
    point = replace(FACTS, setup="2x l40s, dtype fp8", alphas=True, lengths=True)
    everything = "at 2x l40s, dtype fp8, batch 64, context 8192, alpha 0.6, k 3"
    assert everything in said("min_speedup", 1.2, "1.2", point)[1]
    assert said("min_sequences", 80, "80", point)[1].endswith("at 2x l40s, dtype fp8, context 8192")
    room = "at 2x l40s, dtype fp8, batch 64, context 8192"
    assert said("max_draft_memory", 1, "1 B", point)[1].endswith(room)
    load = "at 2x l40s, dtype fp8, context 8192, alpha 0.6, k 3"
    assert said("min_break_even_batch", 91, "91", point)[1].endswith(load)


@pytest.mark.parametrize(
    ("key", "limit", "text", "change", "words"),
    [
        ("min_speedup", 1.2, "1.2", {"speedup": 1.19996}, "1.19996x"),
        ("min_speedup", 1.2, "1.2", {"speedup": 1.2}, "1.20x"),
        ("max_tpot", 0.03, "30 ms", {"tpot_s": 0.0300004}, "30.0004 ms"),
        ("max_draft_memory", 8 * GIB, "8 GiB", {"draft_bytes": 8 * GIB + 1e5}, "8.0001 GiB"),
        ("min_tokens_per_s", 2000, "2000", {"tokens_per_s": 1999.98}, "1999.98 tok/s"),
        ("max_k_regret", 0.03, "0.03", {"k_regret": 0.03001}, "0.03001"),
        ("min_alpha_margin", 0.05, "0.05", {"break_even_alpha": 0.5501}, "0.0499"),
    ],
)
def test_a_figure_is_never_rounded_to_the_limit_that_it_misses(key, limit, text, change, words):
    assert said(key, limit, text, replace(FACTS, **change))[1].startswith(f"{key} {text}: {words} ")


def test_without_end():
    assert said(
        "min_break_even_batch", 10**9, "1000000000", replace(FACTS, break_even_batch=math.inf)
    ) == (
        "warning",
        f"min_break_even_batch 1000000000: pays at every batch at context 8192{UNSURE}",
    )
    nothing = replace(FACTS, break_even_batch=0.0)
    assert said("min_break_even_batch", 1, "1", nothing) == (
        "error",
        "min_break_even_batch 1: no sequence fits at context 8192",
    )
    hopeless = replace(FACTS, break_even_alpha=math.inf)
    assert said("min_alpha_margin", -1, "-1", hopeless) == (
        "error",
        f"min_alpha_margin -1: no acceptance pays {HERE}",
    )
