"""Candidates under traffic: which server each k of a plan means, and that capacity agrees."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import pytest

import specplan
from specplan.domain.lengths import law_of
from specplan.domain.scenario import Input
from specplan.domain.slo_text import slo_of
from specplan.questions.capacity import capacity
from specplan.questions.demand import Demand, Sizes
from specplan.serving.incoming import steady
from specplan.serving.law import always
from specplan.serving.lengths import independent

SETUP = {"target": "llama-3.1-8b", "hardware": "l4", "engine": "vllm"}
TRAFFIC = steady(2.0, independent(law_of("400"), law_of("60"), 0.0), source="made for a test")
SLO = slo_of("ttft_p99=2s,tpot_p95=120ms")
DEMAND = Demand(traffic=TRAFFIC, slo=SLO, usd_per_gpu_hour=0.5)


def scene(**more: object):
    return specplan.scenario(**SETUP | {"draft": "eagle3", "acceptance": 0.7, "k_max": 2} | more)


def gated(scenario):
    inputs = {**scenario.inputs, "k": Input(value="gate", origin="plan.yaml")}
    return replace(scenario, inputs=inputs)


@pytest.fixture(scope="module")
def rows():
    """What capacity plans: nothing, the best single k, k by load."""
    answer = capacity(scene(), TRAFFIC, SLO, usd_per_gpu_hour=0.5)
    return {row["policy"]: row for row in answer.table.records()}


def test_every_k_of_a_plan_is_the_policy_that_capacity_has(rows):
    single = next(policy for policy in rows if policy.startswith("k="))
    for scenario, policy in (
        (scene(), single),
        (gated(scene()), "gated"),
        (scene(draft="none"), "none"),
    ):
        (facts,) = Sizes(scenario, DEMAND).facts()
        assert facts.policy == {"none": "without"}.get(policy, policy)
        assert facts.gpus == rows[policy]["gpus"]
        assert facts.usd_per_million_output_tokens == pytest.approx(
            rows[policy]["usd_per_million_output_tokens"]
        )
        assert 0 < facts.strain < 1
        assert facts.reason == ""
        assert list(facts.latency_s) == ["itl_p50", "itl_p95", "itl_p99"]
        assert sorted(facts.latency_s.values()) == list(facts.latency_s.values())


def replicas(desk, _):
    """So many of a server, without any queue."""
    each = {"none": 5, "gated": 3}.get(desk.replica.policy.name, 4)
    return SimpleNamespace(replicas=each, at=SimpleNamespace(itl=always(0.01)))


def test_other_policies_are_of_the_same_place(monkeypatch):
    monkeypatch.setattr("specplan.questions.demand.sized", replicas)
    sizes = Sizes(scene(k=1, k_max=None, tp=2), Demand(traffic=TRAFFIC))
    (facts,) = sizes.facts()
    assert facts.gpus == 8
    assert sizes.others(facts).others == (("gated", 6.0), ("without", 10.0))
    plain = Sizes(scene(draft="none"), Demand(traffic=TRAFFIC))
    (facts,) = plain.facts()
    assert plain.others(facts).others == ()


def test_points_are_acceptances_and_ks_and_candidates_are_setups(monkeypatch):
    monkeypatch.setattr("specplan.questions.demand.sized", lambda *_: "not asked")
    two = scene(acceptance="0.6,0.8", k="1,2", k_max=None, tp="1,2")
    facts = list(Sizes(two, DEMAND).facts())
    assert [(f.point, f.candidate) for f in facts] == [(p, c) for p in range(4) for c in range(2)]
    assert [(f.acceptance, f.k) for f in facts[::2]] == [
        ("0.6", 1),
        ("0.6", 2),
        ("0.8", 1),
        ("0.8", 2),
    ]
    assert [f.setup for f in facts[:2]] == ["l4, draft tp 1", "2x l4, draft tp 2"]
    assert all(f.alphas and f.lengths for f in facts)


def test_what_cannot_serve_says_why_and_stops_no_other():
    both = scene(target="llama-3.3-70b,llama-3.1-8b", draft="none")
    large, small = Sizes(both, DEMAND).facts()
    assert large.gpus == math.inf
    assert "does not fit" in large.reason
    assert small.gpus < math.inf


def test_without_promises_nothing_strains():
    free = Demand(traffic=TRAFFIC)
    (facts,) = Sizes(scene(draft="none"), free).facts()
    assert facts.strain == 0
    assert facts.usd_per_million_output_tokens is None  # no price of an L4 is known
