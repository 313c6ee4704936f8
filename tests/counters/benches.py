"""What benchmarks write of a world: vLLM's, SGLang's, AIPerf, guidellm."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean, median, pstdev
from typing import Any

from counters.requests import histogram, vllm_request
from counters.sglang import lifetime_accept_length
from counters.world import PREFILL_S, Request, Round, World, truth

Result = dict[str, Any]


def vllm_bench(
    world: World,
    *,
    detailed: bool = False,
    drafts: bool = True,
    model: str = "meta-llama/Llama-3.1-8B-Instruct",
) -> Result:
    """`vllm bench serve --save-result`: rates in percent, rates by position as fractions.

    Keys of acceptance are absent where the server drafted nothing, or before 0.14.1.
    `detailed` adds a list for each of the requests.
    """
    latency = _Latencies(world.requests)
    output = sum(one.tokens for one in world.requests)
    prompts = sum(one.prompt for one in world.requests)
    batch = max(one.running for one in world.rounds) * world.engines
    result: Result = {
        "date": "20260506-061113",
        "endpoint_type": "openai-chat",
        "backend": "openai-chat",
        "label": None,
        "model_id": model,
        "tokenizer_id": model,
        "num_prompts": len(world.requests),
        "request_rate": "inf",
        "burstiness": 1.0,
        "max_concurrency": batch,
        "duration": world.end,
        "completed": len(world.requests),
        "failed": 0,
        "total_input_tokens": prompts,
        "total_output_tokens": output,
        "request_throughput": len(world.requests) / world.end,
        "request_goodput": None,
        "output_throughput": output / world.end,
        "total_token_throughput": (output + prompts) / world.end,
    }
    if detailed:
        result |= {
            "input_lens": [one.prompt for one in world.requests],
            "output_lens": [one.tokens for one in world.requests],
            "ttfts": [PREFILL_S] * len(world.requests),
            "itls": [latency.chunks(one) for one in world.requests],
            "errors": [""] * len(world.requests),
        }
    result |= {"max_output_tokens_per_s": output / world.end, "max_concurrent_requests": batch}
    result["rtfx"] = 0.0
    told = truth(world)
    if drafts and told.drafted_tokens:
        result |= {
            "spec_decode_acceptance_rate": 100 * told.acceptance_rate,
            "spec_decode_acceptance_length": told.tokens_per_round,
            "spec_decode_num_drafts": told.drafts,
            "spec_decode_draft_tokens": told.drafted_tokens,
            "spec_decode_accepted_tokens": told.accepted_tokens,
            "spec_decode_per_position_acceptance_rates": list(told.per_position),
        }
    return result | latency.summary("ms", ("ttft", "tpot", "itl"), (99,))


def vllm_bench_console(world: World) -> str:
    """What the same benchmark prints at its end."""
    bench = vllm_bench(world)
    told = truth(world)
    lines = [
        f"{' Serving Benchmark Result ':=^50}",
        _row("Successful requests:", bench["completed"]),
        _row("Failed requests:", 0),
        _row("Maximum request concurrency:", bench["max_concurrency"]),
        _row("Benchmark duration (s):", bench["duration"]),
        _row("Total input tokens:", bench["total_input_tokens"]),
        _row("Total generated tokens:", bench["total_output_tokens"]),
        _row("Request throughput (req/s):", bench["request_throughput"]),
        _row("Output token throughput (tok/s):", bench["output_throughput"]),
        _row("Peak output token throughput (tok/s):", bench["max_output_tokens_per_s"]),
        _row("Peak concurrent requests:", float(bench["max_concurrent_requests"])),
        _row("Total token throughput (tok/s):", bench["total_token_throughput"]),
    ]
    for name, header in (
        ("ttft", "Time to First Token"),
        ("tpot", "Time per Output Token (excl. 1st token)"),
        ("itl", "Inter-token Latency"),
    ):
        lines.append(f"{header:-^50}")
        lines += [
            _row(f"{kind} {name.upper()} (ms):", bench[f"{kind.lower()}_{name}_ms"])
            for kind in ("Mean", "Median", "P99")
        ]
    lines += [
        f"{'Speculative Decoding':-^50}",
        _row("Acceptance rate (%):", 100 * told.acceptance_rate),
        _row("Acceptance length:", told.tokens_per_round),
        _row("Drafts:", told.drafts),
        _row("Draft tokens:", told.drafted_tokens),
        _row("Accepted tokens:", told.accepted_tokens),
        "Per-position acceptance (%):",
    ]
    lines += [_row(f"  Position {i}:", 100 * share) for i, share in enumerate(told.per_position)]
    return "\n".join([*lines, "=" * 50]) + "\n"


def sglang_bench(world: World, *, dataset: str = "sharegpt", before: World | None = None) -> str:
    """A line of bench_serving's JSONL: accept_length is the server's over its whole life.

    `before` is what the same server answered earlier; it counts in accept_length alone.
    """
    latency = _Latencies(world.requests)
    output = sum(one.tokens for one in world.requests)
    prompts = sum(one.prompt for one in world.requests)
    earlier: tuple[Round, ...] = before.rounds if before else ()
    result: Result = {
        "tag": None,
        "backend": "sglang",
        "dataset_name": dataset,
        "request_rate": float("inf"),
        "max_concurrency": max(one.running for one in world.rounds),
        "sharegpt_output_len": None,
        "random_input_len": 1024,
        "random_output_len": 1024,
        "random_range_ratio": 0.0,
        "duration": world.end,
        "completed": len(world.requests),
        "total_input_tokens": prompts,
        "total_output_tokens": output,
        "total_output_tokens_retokenized": output,
        "request_throughput": len(world.requests) / world.end,
        "input_throughput": prompts / world.end,
        "output_throughput": output / world.end,
    }
    result |= latency.summary("ms", ("e2e_latency", "ttft", "tpot", "itl"), (90, 95, 99))
    result |= {
        "concurrency": sum(one.last - one.first for one in world.requests) / world.end,
        "accept_length": lifetime_accept_length((*earlier, *world.rounds)),
        "max_output_tokens_per_s": output / world.end,
    }
    return json.dumps(result) + "\n"


def aiperf(world: World) -> Result:
    """profile_export_aiperf.json: means over requests, beside sums over the run.

    spec_decode_acceptance_length is a mean of the requests' means; only the token-weighted one is
    1 + accepted / steps. Rates are percent.
    """
    drafting = [one for one in world.requests if any(row.drafted for row in one.rounds)]
    own = [vllm_request(one, world.k)["metrics"]["speculative_decoding"] for one in drafting]
    told = truth(world)
    pooled = map(sum, zip(*(one["acceptance_histogram"] for one in own), strict=True))
    steps = [one["num_spec_steps"] for one in own]
    accepted = [one["num_accepted_draft_tokens"] for one in own]
    drafted = [one["num_draft_tokens"] for one in own]
    rows = list(zip(accepted, drafted, steps, strict=True))
    result: Result = {
        "schema_version": "1.4",
        "aiperf_version": "0.13.0",
        "benchmark_id": "00000000-0000-4000-8000-000000000000",
        "request_count": {"unit": "requests", "avg": float(len(world.requests))},
        "output_token_throughput": {
            "unit": "tokens/sec",
            "avg": sum(one.tokens for one in world.requests) / world.end,
        },
        "spec_decode_acceptance_length": _spread(
            "ratio", [one["mean_acceptance_length"] for one in own]
        ),
        "spec_decode_token_weighted_acceptance_length": {
            "unit": "ratio",
            "avg": told.tokens_per_round,
        },
        "spec_decode_draft_acceptance_rate": _spread(
            "%", [100 * one["draft_acceptance_rate"] for one in own]
        ),
        "spec_decode_overall_draft_acceptance_rate": {
            "unit": "%",
            "avg": 100 * told.acceptance_rate,
        },
        "spec_decode_accepted_per_verified": _spread(
            "ratio", [(j + s) / (d + s) for j, d, s in rows]
        ),
        "spec_decode_steps": _spread("count", steps),
        "spec_decode_accepted_draft_tokens": _spread("tokens", accepted),
        "spec_decode_draft_tokens": _spread("tokens", drafted),
        "total_spec_decode_steps": {"unit": "count", "avg": float(told.drafts)},
        "total_accepted_draft_tokens": {"unit": "tokens", "avg": float(told.accepted_tokens)},
        "total_draft_tokens": {"unit": "tokens", "avg": float(told.drafted_tokens)},
        "pooled_spec_decode_acceptance_histogram": {
            str(kept): count for kept, count in enumerate(pooled)
        },
        "was_cancelled": False,
        "error_summary": [],
        "start_time": "2026-05-06T06:11:13.000000",
        "end_time": "2026-05-06T06:12:13.000000",
    }
    return result


def aiperf_records(world: World) -> str:
    """profile_export.jsonl at --export-level records: one line a request."""
    lines = []
    for request in world.requests:
        own = vllm_request(request, world.k)["metrics"]["speculative_decoding"]
        own["engine"] = "vllm"
        own["acceptance_histogram"] = {
            str(kept): count for kept, count in enumerate(histogram(request, world.k))
        }
        lines.append(
            json.dumps(
                {
                    "metadata": {"session_num": request.number, "benchmark_phase": "profiling"},
                    "metrics": {
                        "output_sequence_length": {"value": request.tokens, "unit": "tokens"}
                    },
                    "spec_decode_acceptance": own,
                    "error": None,
                }
            )
        )
    return "".join(f"{line}\n" for line in lines)


def guidellm(world: World) -> Result:
    """guidellm 0.8.1's benchmarks.json: no summary; vLLM's `metrics` goes with each request."""
    successful = [
        {
            "type_": "generative_request_stats",
            "request_id": f"{one.number:032x}",
            "output": "…",
            "info": {"status": "completed", "timings": {"request_start": one.first - PREFILL_S}},
            "input_metrics": {"text_tokens": one.prompt},
            "output_metrics": {"text_tokens": one.tokens},
            "response_metrics": vllm_request(one, world.k)["metrics"],
            "request_latency": one.last - one.first + PREFILL_S,
            "output_tokens": one.tokens,
        }
        for one in world.requests
    ]
    throughput = sum(one.tokens for one in world.requests) / world.end
    return {
        "metadata": {"version": 1, "guidellm_version": "0.8.1"},
        "args": {"target": "http://localhost:8000"},
        "benchmarks": [
            {
                "type_": "generative_benchmark",
                "metrics": {
                    "output_tokens_per_second": {"successful": {"mean": throughput}},
                    "request_concurrency": {
                        "successful": {"mean": fmean(r.running for r in world.rounds)}
                    },
                },
                "requests": {"successful": successful, "incomplete": [], "errored": []},
            }
        ],
    }


class _Latencies:
    """Client's times in milliseconds: ITL is of chunks, TPOT of tokens."""

    def __init__(self, requests: Sequence[Request]) -> None:
        chunks = [1000 * gap for one in requests for gap in self.chunks(one)]
        self.values = {
            "ttft": [1000 * PREFILL_S] * len(requests),
            "tpot": [1000 * (one.last - one.first) / (one.tokens - 1) for one in requests],
            "itl": chunks,
            "e2e_latency": [1000 * (one.last - one.first + PREFILL_S) for one in requests],
        }

    @staticmethod
    def chunks(request: Request) -> list[float]:
        """Seconds between the chunks of a stream, each a round's tokens."""
        times = [request.first, *(one.at for one in request.rounds)]
        return [after - before for before, after in pairwise(times)]

    def summary(self, unit: str, names: Sequence[str], percentiles: Sequence[int]) -> Result:
        """{mean|median|std|pNN}_{name}_ms."""
        result: Result = {}
        for name in names:
            values = self.values[name]
            result[f"mean_{name}_{unit}"] = fmean(values)
            result[f"median_{name}_{unit}"] = float(median(values))
            result[f"std_{name}_{unit}"] = pstdev(values)
            for part in percentiles:
                result[f"p{part}_{name}_{unit}"] = percentile(values, part)
        return result


def _spread(unit: str, values: Sequence[float]) -> Result:
    return {
        "unit": unit,
        "avg": fmean(values),
        "p50": float(median(values)),
        "p99": percentile(values, 99),
        "min": float(min(values)),
        "max": float(max(values)),
        "std": pstdev(values),
        "count": len(values),
        "sum": float(sum(values)),
    }


def percentile(values: Sequence[float], part: float) -> float:
    """As numpy's, linear between neighbours."""
    ordered = sorted(values)
    place = (len(ordered) - 1) * part / 100
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def _row(name: str, value: float) -> str:
    """`{:<40} {:<10}`, with two digits after the point for floats."""
    return f"{name:<40} {value:<10.2f}" if isinstance(value, float) else f"{name:<40} {value:<10}"
