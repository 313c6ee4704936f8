from __future__ import annotations

import json
from typing import Any

import pytest
from dialects.sources import Read

STATS: dict[str, Any] = {
    "engine": "vllm", "mean_acceptance_length": 3.25, "draft_acceptance_rate": 0.5625,
    "acceptance_histogram": {"0": 1, "1": 1, "2": 2, "3": 3, "4": 1}, "num_spec_steps": 8,
    "num_draft_tokens": 32, "num_accepted_draft_tokens": 18, "num_spec_tokens": 4,
}  # fmt: skip
SUMMARY: dict[str, Any] = {
    "output_token_throughput": {"unit": "tokens/sec", "avg": 100.0},
    "input_sequence_length": {"avg": 100.0},
    "output_sequence_length": {"avg": 50.0},
    "spec_decode_acceptance_length": {"unit": "ratio", "avg": 3.4},
    "spec_decode_token_weighted_acceptance_length": {"unit": "ratio", "avg": 3.25},
    "spec_decode_overall_draft_acceptance_rate": {"unit": "%", "avg": 56.25},
    "total_spec_decode_steps": {"avg": 16.0},
    "total_accepted_draft_tokens": {"avg": 36.0},
    "total_draft_tokens": {"avg": 64.0},
    "pooled_spec_decode_acceptance_histogram": {"0": 2, "1": 2, "2": 4, "3": 6, "4": 2},
}


def record(phase: str = "profiling", **more: object) -> str:
    return json.dumps({"metadata": {"benchmark_phase": phase}, "metrics": {}, **more}) + "\n"


def test_records_of_aiperf_are_requests() -> None:
    warm = record("warmup", spec_decode_acceptance=STATS)
    found = Read(warm + record(spec_decode_acceptance=STATS) * 2)
    assert [span.drafts for span in found.spans] == [8, 8]
    assert found.spans[0].histogram == (1, 1, 2, 3, 1)
    assert found.formats == ["aiperf"]
    assert found.stream.unread == 0


def test_records_of_metrics_alone_will_do() -> None:
    metrics = {
        "spec_decode_steps": {"value": 8, "unit": "count"},
        "spec_decode_draft_tokens": {"value": 32, "unit": "tokens"},
        "spec_decode_accepted_draft_tokens": {"value": 18, "unit": "tokens"},
    }
    span = Read(record(metrics=metrics)).span
    assert (span.drafts, span.drafted, span.accepted) == (8, 32, 18)


def test_the_summary_of_aiperf_is_read_from_its_sums() -> None:
    found = Read(json.dumps(SUMMARY, indent=1))
    span = found.span
    assert (span.drafts, span.drafted, span.accepted, span.k) == (16, 64, 36, 4)
    assert span.histogram == (2, 2, 4, 6, 2)
    assert span.tau is None
    assert span.stated == (("tau", 3.25, 1e-6), ("rate", 0.5625, 1e-6))
    assert (span.tokens_per_s, span.context) == (100, 125)
    assert found.traps == {"bonus-in", "percent", "mean-of-means"}


def test_a_summary_without_sums_has_a_mean() -> None:
    span = Read(json.dumps({"spec_decode_acceptance_length": {"avg": 3.4}})).span
    assert (span.tau, span.drafts) == (3.4, None)


def report(**request: object) -> str:
    def mean(value: float) -> dict[str, object]:
        return {"successful": {"mean": value}}

    metrics = {
        "output_tokens_per_second": mean(200.0),
        "request_concurrency": mean(6.0),
        "prompt_token_count": mean(100.0),
        "output_token_count": mean(40.0),
    }
    benchmark = {"metrics": metrics, "requests": {"successful": [request, request]}}
    return json.dumps({"args": {"model": "org/M"}, "benchmarks": [benchmark]}, indent=1)


def test_requests_of_guidellm_come_with_their_load() -> None:
    found = Read(report(response_metrics={"speculative_decoding": STATS}))
    assert found.total("accepted") == 36
    span = found.spans[0]
    assert (span.running, span.tokens_per_s, span.context) == (6, 200, 120)
    assert found.told == {"target": "org/M"}
    assert found.formats == ["guidellm"]


@pytest.mark.parametrize("passed", [{}, {"response_metrics": None}])
def test_guidellm_without_speculation_is_its_load(passed: dict[str, Any]) -> None:
    span = Read(report(**passed)).span
    assert (span.drafts, span.running) == (None, 6)
