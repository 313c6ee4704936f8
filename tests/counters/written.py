"""Fixtures written by hand from the format strings, with their figures worked out beside them."""

from __future__ import annotations

import json
from collections.abc import Iterator

from counters.fixture import Fixture

HAND = "by hand: "
V1 = "(APIServer pid=1) INFO 05-06 06:11:23 [metrics.py:101] SpecDecoding metrics: "


def fixtures() -> Iterator[Fixture]:
    """Sound ones, by hand; those that are not are in `contrary`."""
    yield from _sound()


def vllm_log(name: str, text: str, how: str, **rest: object) -> Fixture:
    """A log of one or two of vLLM's lines."""
    return Fixture(
        file=name,
        format="vllm-v1-log",
        engine="vllm",
        versions="0.11.2..0.33.0",
        content=text.encode(),
        how=HAND + how,
        **rest,  # type: ignore[arg-type]
    )


def _sound() -> Iterator[Fixture]:
    yield Fixture(
        file="hand-vllm-v0.log",
        format="vllm-v0-log",
        engine="vllm",
        versions="0.5.5..0.8.5",
        content=(
            b"INFO 05-06 06:11:18 metrics.py:467] Avg prompt throughput: 0.0 tokens/s, Avg "
            b"generation throughput: 214.9 tokens/s, Running: 4 reqs, Swapped: 0 reqs, Pending: 0 "
            b"reqs, GPU KV cache usage: 4.2%, CPU KV cache usage: 0.0%.\n"
            b"INFO 05-06 06:11:18 metrics.py:483] Speculative metrics: Draft acceptance rate: "
            b"0.655, System efficiency: 0.649, Number of speculative tokens: 4, Number of accepted "
            b"tokens: 1735, Number of draft tokens: 2648, Number of emitted tokens: 2149.\n"
        ),
        how=HAND
        + "2648 / 4 = 662 drafts; 2149 emitted = 662 + 1487 kept; tau = 2149 / 662 = 3.24622 = "
        "0.649 x 5; 1735 / 2648 = 0.655 is of tokens one by one, 1487 / 2648 = 0.561556 of kept",
        drafts=662,
        drafted_tokens=2648,
        accepted_tokens=1487,
        tokens_per_round=2149 / 662,
        acceptance_rate=1487 / 2648,
        k=4,
        batch="4",
        traps=("per-token-rate", "cumulative", "no-drafts-count"),
    )
    yield vllm_log(
        "hand-vllm-nan.log",
        V1
        + "Mean acceptance length: 2.50, Accepted throughput: 60.00 tokens/s, Drafted throughput: "
        "80.00 tokens/s, Accepted: 600 tokens, Drafted: 800 tokens, Per-position acceptance rate: "
        "0.850, 0.650, Avg Draft acceptance rate: 75.0%\n"
        + V1
        + "Mean acceptance length: 1.00, Accepted throughput: 0.00 tokens/s, Drafted throughput: "
        "0.00 tokens/s, Accepted: 0 tokens, Drafted: 0 tokens, Per-position acceptance rate: "
        "0.000, 0.000, Avg Draft acceptance rate: nan%\n",
        "800 / 2 = 400 drafts, 600 / 400 = 1.5; in the second a grammar threw all drafts away",
        drafts=400,
        drafted_tokens=800,
        accepted_tokens=600,
        tokens_per_round=2.5,
        acceptance_rate=0.75,
        k=2,
        per_position=(0.85, 0.65),
        within=0.005,
        positions_within=0.0005,
        traps=("bonus-in", "percent", "no-drafts-count"),
    )
    yield vllm_log(
        "hand-vllm-broken.log",
        V1
        + "Mean acceptance length: 1.02, Accepted throughput: 2.00 tokens/s, Drafted throughput: "
        "300.00 tokens/s, Accepted: 20 tokens, Drafted: 3000 tokens, Per-position acceptance rate: "
        "0.020, 0.000, 0.000, Avg Draft acceptance rate: 0.7%\n",
        "3000 / 3 = 1000 drafts, 20 kept: a drafter that does not match",
        drafts=1000,
        drafted_tokens=3000,
        accepted_tokens=20,
        tokens_per_round=1.02,
        acceptance_rate=20 / 3000,
        k=3,
        per_position=(0.02, 0.0, 0.0),
        within=0.005,
        positions_within=0.0005,
        traps=("bonus-in", "percent", "no-drafts-count"),
    )
    yield vllm_log(
        "hand-vllm-fork.log",
        V1
        + "Mean acceptance length: 2.50, Accepted throughput: 60.00 tokens/s, Drafted throughput: "
        "80.00 tokens/s, Accepted: 600 tokens, Drafted: 800 tokens, Rejected: 200 tokens, "
        "Effective tokens/forward: 2.50, Proposer latency: 0.310000 s, Verification latency: "
        "7.900000 s, Per-position acceptance rate: 0.850, 0.650, Avg Draft acceptance rate: "
        "75.0%\n",
        "a build with more fields between the known ones; the figures are the same",
        drafts=400,
        drafted_tokens=800,
        accepted_tokens=600,
        tokens_per_round=2.5,
        acceptance_rate=0.75,
        k=2,
        per_position=(0.85, 0.65),
        within=0.005,
        positions_within=0.0005,
        traps=("bonus-in", "percent", "no-drafts-count"),
    )
    yield Fixture(
        file="hand-vllm-query.txt",
        format="vllm-metrics",
        engine="vllm",
        versions="0.8.5..0.33.0",
        content=(
            b'vllm:spec_decode_num_drafts_total{engine="0",instance="10.0.0.7:8000",job="vllm",'
            b'model_name="m"} | 1000\n'
            b'vllm:spec_decode_num_draft_tokens_total{engine="0",instance="10.0.0.7:8000",'
            b'job="vllm",model_name="m"} | 3000\n'
            b'vllm:spec_decode_num_accepted_tokens_total{engine="0",instance="10.0.0.7:8000",'
            b'job="vllm",model_name="m"} | 1700\n'
            b'vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",job="vllm",'
            b'model_name="m",position="0"} | 800\n'
            b'vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",job="vllm",'
            b'model_name="m",position="1"} | 550\n'
            b'vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",job="vllm",'
            b'model_name="m",position="2"} | 350\n'
        ),
        how=HAND + "a query's table pasted from Prometheus: 1 + 1700 / 1000",
        drafts=1000,
        drafted_tokens=3000,
        accepted_tokens=1700,
        tokens_per_round=2.7,
        acceptance_rate=1700 / 3000,
        k=3,
        per_position=(0.8, 0.55, 0.35),
        traps=("lifetime",),
    )
    yield Fixture(
        file="hand-vllm-bench-plain.json",
        format="",
        engine="vllm",
        versions="0.14.1..0.33.0",
        content=json.dumps(
            {
                "date": "20260506-061113",
                "endpoint_type": "openai-chat",
                "backend": "openai-chat",
                "label": None,
                "model_id": "m",
                "num_prompts": 100,
                "completed": 100,
                "duration": 60.0,
                "total_output_tokens": 12000,
                "output_throughput": 200.0,
                "mean_tpot_ms": 19.5,
                "mean_itl_ms": 19.5,
            }
        ).encode(),
        how=HAND + "a benchmark of a server that drafted nothing has no acceptance",
    )
    yield Fixture(
        file="hand-sglang-example.log",
        format="sglang-log",
        engine="sglang",
        versions="0.5.6..0.5.10",
        content=(
            b"[2025-01-02 10:27:57 TP0] Decode batch. #running-req: 1, #token: 186, token usage: "
            b"0.00, accept len: 1.95, accept rate: 0.49, cuda graph: True, gen throughput "
            b"(token/s): 178.86, #queue-req: 0, \n"
        ),
        how=HAND
        + "1.95 / 0.49 = 3.98: 4 verified tokens, k = 3; (1.95 - 1) / 3 = 0.3167, the rate printed "
        "counts the bonus token",
        tokens_per_round=1.95,
        acceptance_rate=0.95 / 3,
        k=3,
        within=0.005,
        batch="1",
        traps=("bonus-in", "rate-floor", "no-drafts-count"),
    )
    yield Fixture(
        file="hand-sglang-floor.log",
        format="sglang-log",
        engine="sglang",
        versions="0.5.6..0.5.10",
        content=(
            b"[2026-02-02 10:27:57] Decode batch, #running-req: 8, #token: 4186, token usage: "
            b"0.01, accept len: 1.00, accept rate: 0.25, cuda graph: True, gen throughput "
            b"(token/s): 402.11, #queue-req: 0, \n"
        ),
        how=HAND + "nothing is accepted, and the rate says 0.25: 1 / (k + 1) with k = 3",
        tokens_per_round=1.0,
        acceptance_rate=0.0,
        k=3,
        within=0.005,
        batch="8",
        traps=("bonus-in", "rate-floor", "no-drafts-count"),
    )
    yield Fixture(
        file="hand-sglang-cap.log",
        format="sglang-log",
        engine="sglang",
        versions="0.5.13..0.5.23",
        content=(
            b"[2026-07-30 13:35:13 TP0 EP0] Decode batch, #running-req: 2, #full token: 257, full "
            b"token usage: 0.00, mamba num: 3, mamba usage: 0.03, accept len: 2.84, accept rate: "
            b"0.46, cap len: 3.40, block accept len: 2.10, cuda graph: True, gen throughput "
            b"(token/s): 93.65, #queue-req: 0\n"
        ),
        how=HAND + "a hybrid model's pools, and lengths of caps; (2.84 - 1) / 0.46 = 4 = k",
        tokens_per_round=2.84,
        acceptance_rate=0.46,
        k=4,
        within=0.005,
        batch="2",
        traps=("bonus-in", "no-drafts-count"),
    )
    yield Fixture(
        file="hand-llamacpp-statistics.log",
        format="llamacpp-log",
        engine="llamacpp",
        versions="b11434",
        content=(
            b"0.42.130.633 I spec common_specu: statistics        ngram-mod: #calls(b,g,a) =    4  "
            b"  500     30, #gen drafts =     30, #acc drafts =    27, #gen tokens =    900, #acc "
            b"tokens =   510, #mean acc len = 18.00, #acc rate/pos = (0.900, 0.800), dur(b,g,a) = "
            b"0.688, 0.851, 0.021 ms\n"
        ),
        how=HAND
        + "30 drafts of 900 tokens, 510 kept: 1 + 510 / 30; positions beyond the second are not "
        "printed, so their sum is not the mean less one, and 470 of 500 calls found nothing",
        drafts=30,
        drafted_tokens=900,
        accepted_tokens=510,
        tokens_per_round=18.0,
        acceptance_rate=510 / 900,
        within=0.005,
        traps=("bonus-in", "cumulative"),
    )
    yield Fixture(
        file="hand-llamacpp-example.txt",
        format="llamacpp-log",
        engine="llamacpp",
        versions="examples/speculative",
        content=(
            b"n_draft   = 8\nn_predict = 260\nn_drafted = 586\nn_accept  = 201\n"
            b"accept    = 34.300%\n"
        ),
        how=HAND + "201 / 586 = 0.343003; drafts may be trees: rounds cannot be counted",
        drafted_tokens=586,
        accepted_tokens=201,
        acceptance_rate=201 / 586,
        traps=("percent", "no-drafts-count"),
    )
    yield Fixture(
        file="hand-vllm-request-n2.json",
        format="",
        engine="vllm",
        versions="0.29..0.33.0",
        content=json.dumps(
            {
                "id": "chatcmpl-1",
                "object": "chat.completion",
                "model": "m",
                "choices": [{"index": 0}, {"index": 1}],
                "usage": {"prompt_tokens": 5, "completion_tokens": 40, "total_tokens": 45},
                "metrics": {"speculative_decoding": None},
            }
        ).encode(),
        how=HAND + "null for n > 1: nothing is told",
    )
