"""Benchmarks and answers to single requests."""

from __future__ import annotations

import json
from typing import Any

import pytest
from dialects.sources import Read

BENCH: dict[str, Any] = {
    "date": "20260506-061113", "endpoint_type": "openai-chat", "model_id": "org/M",
    "tokenizer_id": "org/M", "num_prompts": 100, "max_concurrency": 8, "duration": 60.0,
    "completed": 100, "total_input_tokens": 10_000, "total_output_tokens": 20_000,
    "output_throughput": 333.3, "mean_ttft_ms": 100.0, "mean_tpot_ms": 10.0, "mean_itl_ms": 27.0,
    "spec_decode_acceptance_rate": 56.666666666666664, "spec_decode_acceptance_length": 2.7,
    "spec_decode_num_drafts": 1000, "spec_decode_draft_tokens": 3000,
    "spec_decode_accepted_tokens": 1700,
    "spec_decode_per_position_acceptance_rates": [0.8, 0.55, 0.35],
}  # fmt: skip
CONSOLE = """\
Namespace(dataset_name='random', num_prompts=100)
============ Serving Benchmark Result ============
Successful requests:                     100
Maximum request concurrency:             8
Benchmark duration (s):                  60.00
Total input tokens:                      10000
Total generated tokens:                  20000
Request throughput (req/s):              1.67
Output token throughput (tok/s):         333.30
---------------Time to First Token----------------
Mean TTFT (ms):                          100.00
-----Time per Output Token (excl. 1st token)------
Mean TPOT (ms):                          10.00
---------------Inter-token Latency----------------
Mean ITL (ms):                           27.00
---------------Speculative Decoding---------------
Acceptance rate (%):                     56.67
Acceptance length:                       2.70
Drafts:                                  1000
Draft tokens:                            3000
Accepted tokens:                         1700
Per-position acceptance (%):
  Position 0:                            80.00
  Position 1:                            55.00
  Position 2:                            35.00
==================================================
"""
STATS: dict[str, Any] = {
    "mean_acceptance_length": 2.6, "draft_acceptance_rate": 0.4, "num_spec_tokens": 4,
    "acceptance_histogram": [1, 2, 0, 2, 0], "num_spec_steps": 5, "num_draft_tokens": 20,
    "num_accepted_draft_tokens": 8,
}  # fmt: skip


def test_a_benchmark_is_one_span() -> None:
    found = Read(json.dumps(BENCH))
    span = found.span
    assert (span.drafts, span.drafted, span.accepted, span.k) == (1000, 3000, 1700, 3)
    assert span.at_position == (800, 550, 350)
    assert span.running == pytest.approx(100 * (0.1 + 199 * 0.01) / 60)
    assert span.context == 100 + 100
    assert span.stated[0] == ("tau", 2.7, 1e-6)
    assert span.stated[1][1] == pytest.approx(17 / 30)
    assert found.traps == {"bonus-in", "percent", "itl-per-chunk"}
    assert found.told["target"] == "org/M"


def test_a_benchmark_of_random_tokens_is_none_of_a_workload() -> None:
    assert "random-dataset" in Read(json.dumps(BENCH | {"dataset_name": "random"})).traps


def test_a_benchmark_without_speculation_is_its_load() -> None:
    plain = {key: value for key, value in BENCH.items() if not key.startswith("spec_decode")}
    span = Read(json.dumps(plain | {"mean_itl_ms": 10.0})).span
    assert (span.drafts, span.tokens_per_s) == (None, 333.3)
    assert not span.stated


def test_short_drafts_are_noted() -> None:
    assert "short-drafts" in Read(json.dumps(BENCH | {"spec_decode_draft_tokens": 2500})).traps


def test_the_console_says_the_same() -> None:
    found, saved = Read(CONSOLE), Read(json.dumps(BENCH)).span
    span = found.span
    assert (span.drafts, span.drafted, span.accepted) == (1000, 3000, 1700)
    assert span.at_position == saved.at_position
    assert (span.running, span.context) == (saved.running, saved.context)
    assert "random-dataset" in found.traps
    assert found.stream.unread == 0


def test_two_runs_on_one_console_are_two_spans() -> None:
    assert [span.drafts for span in Read(CONSOLE + "noise\n" * 80 + CONSOLE).spans] == [1000, 1000]


def test_an_excerpt_of_the_console_will_do() -> None:
    excerpt = CONSOLE[CONSOLE.index("Acceptance rate") :]
    assert Read(excerpt).span.accepted == 1700


def test_a_console_without_speculation_is_none_of_ours() -> None:
    assert not Read(CONSOLE[: CONSOLE.index("Acceptance rate")]).spans


@pytest.mark.parametrize(
    "document",
    [
        STATS,
        {"speculative_decoding": STATS},
        {"model": "org/M", "metrics": {"speculative_decoding": STATS}},
        {"choices": [{"index": 0, "speculative_decoding_stats": STATS}]},
    ],
)
def test_a_request_is_one_span(document: dict[str, Any]) -> None:
    found = Read(json.dumps(document, indent=1))
    span = found.span
    assert (span.drafts, span.drafted, span.accepted, span.k) == (5, 20, 8, 4)
    assert span.histogram == (1, 2, 0, 2, 0)
    assert span.stated == (("tau", 2.6, 1e-6), ("rate", 0.4, 1e-6))
    assert found.traps == {"bonus-in"}


def test_a_stream_of_events_is_read() -> None:
    text = "data: " + json.dumps({"metrics": {"speculative_decoding": STATS}}) + "\n\n"
    assert Read('data: {"choices": []}\n\n' + text + "data: [DONE]\n").span.drafts == 5


def test_rounds_one_by_one_tell_how_long_drafts_were() -> None:
    listed = {"per_step_accepted": [1, 3, 0, 3, 1], "per_step_drafted": [2, 4, 4, 4, 1]}
    found = Read(json.dumps(STATS | listed | {"num_draft_tokens": 15}))
    assert found.span.at_position == (4, 2, 2)
    assert found.span.drafted_at == (5, 4, 3, 3)
    assert not found.span.histogram
    assert "short-drafts" in found.traps


def test_several_choices_tell_nothing() -> None:
    assert not Read(json.dumps({"metrics": {"speculative_decoding": None}})).items
