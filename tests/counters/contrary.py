"""Files written by hand that tell nothing, or that contradict themselves."""

from __future__ import annotations

import json
from collections.abc import Iterator

from counters.fixture import Fixture
from counters.written import HAND, V1, vllm_log


def fixtures() -> Iterator[Fixture]:
    """Empty ones first."""
    yield from _nothing()
    yield from _contradictions()


def _nothing() -> Iterator[Fixture]:
    nothing = HAND + "nothing of any format"
    for name, content, how in (
        ("nothing.txt", b"", HAND + "an empty file"),
        ("nothing.json", b'{"object": "list", "data": []}\n', nothing),
        (
            "nothing-access.log",
            b'INFO:     127.0.0.1:38344 - "GET /metrics HTTP/1.1" 200 OK\n' * 3,
            nothing,
        ),
        ("nothing.bin", bytes(range(256)) * 4, nothing),
        (
            "nothing-drafted.prom",
            b'vllm:spec_decode_num_drafts_total{engine="0",model_name="m"} 0.0\n'
            b'vllm:spec_decode_num_draft_tokens_total{engine="0",model_name="m"} 0.0\n'
            b'vllm:spec_decode_num_accepted_tokens_total{engine="0",model_name="m"} 0.0\n',
            HAND + "speculation is configured, and nothing was drafted yet",
        ),
        (
            "nothing-plain.prom",
            b"# HELP vllm:num_requests_running Number of requests in model execution batches.\n"
            b"# TYPE vllm:num_requests_running gauge\n"
            b'vllm:num_requests_running{engine="0",model_name="m"} 3.0\n',
            HAND + "a server without speculation has none of its counters",
        ),
        (
            "nothing-sglang.log",
            b"[2025-08-08 03:35:19] Decode batch. #running-req: 1, #token: 47, token usage: 0.00, "
            b"cuda graph: True, gen throughput (token/s): 2.18, #queue-req: 0,\n",
            HAND + "a server without speculation prints no lengths",
        ),
    ):
        yield Fixture(file=name, format="", engine="", versions="", content=content, how=how)


def _contradictions() -> Iterator[Fixture]:
    yield vllm_log(
        "bad-mean-over-k.log",
        V1
        + "Mean acceptance length: 5.20, Accepted throughput: 420.00 tokens/s, Drafted throughput: "
        "300.00 tokens/s, Accepted: 2100 tokens, Drafted: 3000 tokens, Per-position acceptance "
        "rate: 0.800, 0.700, 0.600, Avg Draft acceptance rate: 70.0%\n",
        "three positions, and 5.20 tokens a round: at most 4 are possible",
        contradiction="mean-over-k",
    )
    yield vllm_log(
        "bad-identity.log",
        V1
        + "Mean acceptance length: 2.90, Accepted throughput: 170.00 tokens/s, Drafted throughput: "
        "300.00 tokens/s, Accepted: 1700 tokens, Drafted: 3000 tokens, Per-position acceptance "
        "rate: 0.800, 0.550, 0.350, Avg Draft acceptance rate: 56.7%\n",
        "3000 / 3 = 1000 drafts keep 1700: 2.70 and not 2.90; positions add up to 1.70 too",
        contradiction="tau-identity",
    )
    yield vllm_log(
        "bad-positions.log",
        V1
        + "Mean acceptance length: 2.70, Accepted throughput: 170.00 tokens/s, Drafted throughput: "
        "300.00 tokens/s, Accepted: 1700 tokens, Drafted: 3000 tokens, Per-position acceptance "
        "rate: 0.550, 0.800, 0.350, Avg Draft acceptance rate: 56.7%\n",
        "more rounds keep two drafts (0.800) than keep one (0.550)",
        contradiction="positions-increase",
    )
    yield vllm_log(
        "bad-accepted.log",
        V1
        + "Mean acceptance length: 4.20, Accepted throughput: 320.00 tokens/s, Drafted throughput: "
        "300.00 tokens/s, Accepted: 3200 tokens, Drafted: 3000 tokens, Per-position acceptance "
        "rate: 1.000, 1.000, 1.000, Avg Draft acceptance rate: 106.7%\n",
        "3200 accepted of 3000 drafted",
        contradiction="accepted-over-drafted",
    )
    bench = {
        "backend": "openai-chat",
        "model_id": "m",
        "num_prompts": 10,
        "completed": 10,
        "duration": 10.0,
        "total_output_tokens": 2700,
        "output_throughput": 270.0,
        "spec_decode_acceptance_rate": 56.666666666666664,
        "spec_decode_acceptance_length": 1.7,
        "spec_decode_num_drafts": 1000,
        "spec_decode_draft_tokens": 3000,
        "spec_decode_accepted_tokens": 1700,
        "spec_decode_per_position_acceptance_rates": [0.8, 0.55, 0.35],
    }
    yield Fixture(
        file="bad-bench-length.json",
        format="vllm-bench",
        engine="vllm",
        versions="0.14.1..0.33.0",
        content=(json.dumps(bench, indent=2) + "\n").encode(),
        how=HAND + "1 + 1700 / 1000 is 2.7 and not 1.7",
        contradiction="tau-identity",
    )
    iteration = {
        "iter": 1,
        "iterLatencyMS": 15.5,
        "numActiveRequests": 5,
        "numQueuedRequests": 3,
        "inflightBatchingStats": {"numContextRequests": 2, "numGenRequests": 3},
        "specDecodingStats": {
            "numDraftTokens": 20,
            "numAcceptedTokens": 15,
            "acceptanceLength": 3.75,
            "draftOverhead": 1.2,
        },
    }
    yield Fixture(
        file="bad-trtllm.json",
        format="trtllm-iterations",
        engine="trtllm",
        versions="a unit test's sample",
        content=(json.dumps([iteration]) + "\n").encode(),
        how=HAND + "15 / (3.75 - 1) = 5.45 requests is no whole number, and only 3 were generating",
        contradiction="tau-identity",
    )
    histogram = {
        "metrics": {
            "speculative_decoding": {
                "mean_acceptance_length": 2.0,
                "draft_acceptance_rate": 1 / 3,
                "acceptance_histogram": [40, 30, 20, 10],
                "num_spec_steps": 120,
                "num_accepted_draft_tokens": 120,
                "num_draft_tokens": 360,
                "num_spec_tokens": 3,
            }
        }
    }
    yield Fixture(
        file="bad-histogram.json",
        format="vllm-request",
        engine="vllm",
        versions="0.29..0.33.0",
        content=(json.dumps(histogram, indent=1) + "\n").encode(),
        how=HAND + "the histogram has 100 steps and 100 kept drafts, the counts 120 of each",
        contradiction="histogram",
    )
    yield from _more_contradictions()


def _more_contradictions() -> Iterator[Fixture]:
    info = {
        "model_path": "m",
        "speculative_algorithm": "EAGLE3",
        "speculative_num_steps": 3,
        "speculative_eagle_topk": 1,
        "speculative_num_draft_tokens": 4,
        "internal_states": [{"avg_spec_accept_length": 5.2, "last_gen_throughput": 178.86}],
        "version": "0.5.23",
    }
    yield Fixture(
        file="bad-sglang-server-info.json",
        format="sglang-server-info",
        engine="sglang",
        versions="0.4.10..0.5.23",
        content=(json.dumps(info, indent=1) + "\n").encode(),
        how=HAND + "5.2 tokens a round of at most 4",
        contradiction="mean-over-k",
    )
    yield Fixture(
        file="bad-llamacpp-rate.log",
        format="llamacpp-log",
        engine="llamacpp",
        versions="b11434",
        content=(
            b"0.16.519.195 I slot print_timing: id  0 | task 42 | draft acceptance = 0.86237 ("
            b"  257 accepted /   388 generated), mean len =  3.65\n"
        ),
        how=HAND + "257 / 388 is 0.66237 and not 0.86237",
        contradiction="rate-identity",
    )
    counts = (
        ("num_drafts_total{", 1000),
        ("num_draft_tokens_total{", 3000),
        ("num_accepted_tokens_total{", 1700),
        ('num_accepted_tokens_per_pos_total{position="0",', 800),
        ('num_accepted_tokens_per_pos_total{position="1",', 700),
        ('num_accepted_tokens_per_pos_total{position="2",', 650),
    )
    yield Fixture(
        file="bad-metrics-positions.prom",
        format="vllm-metrics",
        engine="vllm",
        versions="0.8.5..0.33.0",
        content="".join(
            f'vllm:spec_decode_{name}engine="0",model_name="m"}} {count}.0\n'
            for name, count in counts
        ).encode(),
        how=HAND + "positions add up to 2150 accepted tokens, the counter says 1700",
        contradiction="positions-sum",
    )
    bench = {
        "backend": "openai-chat",
        "model_id": "m",
        "num_prompts": 10,
        "completed": 10,
        "duration": 10.0,
        "spec_decode_acceptance_rate": 0.5666666666666667,
        "spec_decode_acceptance_length": 2.7,
        "spec_decode_num_drafts": 1000,
        "spec_decode_draft_tokens": 3000,
        "spec_decode_accepted_tokens": 1700,
        "spec_decode_per_position_acceptance_rates": [0.8, 0.55, 0.35],
    }
    yield Fixture(
        file="bad-bench-rate.json",
        format="vllm-bench",
        engine="vllm",
        versions="0.14.1..0.33.0",
        content=(json.dumps(bench, indent=2) + "\n").encode(),
        how=HAND + "1700 / 3000 is 56.67 percent: the file says 0.57 percent",
        contradiction="rate-identity",
    )
    ratio = {"unit": "ratio", "avg": 2.7}
    summary = {
        "schema_version": "1.4",
        "aiperf_version": "0.13.0",
        "spec_decode_acceptance_length": ratio,
        "spec_decode_token_weighted_acceptance_length": {"unit": "ratio", "avg": 3.1},
        "spec_decode_overall_draft_acceptance_rate": {"unit": "%", "avg": 56.666666666666664},
        "total_spec_decode_steps": {"unit": "count", "avg": 1000.0},
        "total_accepted_draft_tokens": {"unit": "tokens", "avg": 1700.0},
        "total_draft_tokens": {"unit": "tokens", "avg": 3000.0},
    }
    yield Fixture(
        file="bad-aiperf.json",
        format="aiperf",
        engine="aiperf",
        versions="0.13.0",
        content=(json.dumps(summary, indent=2) + "\n").encode(),
        how=HAND + "1 + 1700 / 1000 is 2.7 and not 3.1",
        contradiction="tau-identity",
    )
