"""What one request's answer says of its own drafts, in each engine's response."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from counters.world import Request, World

Answer = dict[str, Any]


def histogram(request: Request, k: int) -> list[int]:
    """Entry j counts the rounds that drafted and kept exactly j of 0 to k."""
    counts = [0] * (k + 1)
    for one in request.rounds:
        if one.drafted:
            counts[one.accepted] += 1
    return counts


def vllm_request(request: Request, k: int, *, detailed: bool = False, n: int = 1) -> Answer:
    """A chat completion of vLLM with --per-request-spec-decode-metrics (PR #48915).

    `metrics.speculative_decoding` is null for n > 1; a request that drafted nothing has zeros and
    a mean of 1.0.
    """
    drafts = [one for one in request.rounds if one.drafted]
    accepted = sum(one.accepted for one in drafts)
    drafted = sum(one.drafted for one in drafts)
    told: Answer | None = {
        "mean_acceptance_length": 1.0 + (accepted / len(drafts) if drafts else 0.0),
        "draft_acceptance_rate": accepted / drafted if drafted else 0.0,
        "acceptance_histogram": histogram(request, k),
        "num_spec_steps": len(drafts),
        "num_accepted_draft_tokens": accepted,
        "num_draft_tokens": drafted,
        "num_spec_tokens": k,
    }
    if detailed and told is not None:
        told["per_step_accepted"] = [one.accepted for one in drafts]
        told["per_step_drafted"] = [one.drafted for one in drafts]
    return {
        "id": f"chatcmpl-{request.number:032x}",
        "object": "chat.completion",
        "created": 1778047873,
        "model": "meta-llama/Llama-3.1-8B-Instruct",
        "choices": [
            {
                "index": index,
                "message": {"role": "assistant", "content": "…"},
                "finish_reason": "stop",
            }
            for index in range(n)
        ],
        "usage": _usage(request),
        "metrics": {
            "time_to_first_token_ms": 50.0,
            "speculative_decoding": told if n == 1 else None,
        },
    }


def vllm_stream(request: Request, k: int) -> str:
    """The same as server-sent events: the metrics ride the last chunk, that of the usage."""
    whole = vllm_request(request, k)
    chunk = {key: whole[key] for key in ("id", "created", "model")}
    chunk["object"] = "chat.completion.chunk"
    events = [
        {**chunk, "choices": [{"index": 0, "delta": {"content": "…"}, "finish_reason": None}]},
        {**chunk, "choices": [], "usage": whole["usage"], "metrics": whole["metrics"]},
    ]
    return "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"


def sglang_request(request: Request, k: int, *, version: str = "0.5.10") -> Answer:
    """/generate of SGLang. Its steps all verify k drafts; lengths count the prompt's token too.

    0.5.10 and older: spec_accept_token_num and so on; 0.5.13: the new names with aliases;
    0.5.23: the new names alone.
    """
    verify = len(request.rounds)
    accepted = sum(one.accepted for one in request.rounds)
    drafted = verify * k
    counts = [0] * (k + 1)
    for one in request.rounds:
        counts[one.accepted] += 1
    meta: Answer = {
        "id": f"{request.number:032x}",
        "finish_reason": {"type": "length", "length": request.tokens},
        "prompt_tokens": request.prompt,
        "weight_version": "default",
        "completion_tokens": request.tokens,
        "cached_tokens": 0,
        "e2e_latency": round(request.last - request.first + 0.05, 6),
        "spec_accept_rate": accepted / drafted if drafted else 0.0,
        "spec_accept_length": request.tokens / verify if verify else 0.0,
        "spec_verify_ct": verify,
    }
    if version == "0.5.10":
        meta |= {"spec_accept_token_num": accepted, "spec_draft_token_num": drafted}
        meta["spec_accept_histogram"] = counts
    else:
        meta |= {"spec_num_correct_drafts": accepted, "spec_num_proposed_drafts": drafted}
        meta["spec_correct_drafts_histogram"] = counts
    if version == "0.5.13":
        meta |= {"spec_accepted_drafts": accepted, "spec_proposed_drafts": drafted}
        meta["spec_accept_histogram"] = counts
    return {"text": "…", "output_ids": [], "meta_info": meta}


def trtllm_request(request: Request, k: int | None, *, steps: bool = True) -> Answer:
    """A completion of TensorRT-LLM; `steps` is PR #19311, before it only rate and two counts.

    Choices carry it at their own level, beside avg_decoded_tokens_per_iter.
    """
    drafts = [one for one in request.rounds if one.drafted]
    accepted = sum(one.accepted for one in drafts)
    drafted = sum(one.drafted for one in drafts)
    told: Answer = {
        "acceptance_rate": accepted / drafted if drafted else 0.0,
        "total_accepted_draft_tokens": accepted,
        "total_draft_tokens": drafted,
    }
    if steps:
        told |= {
            "num_spec_steps": len(drafts),
            "acceptance_histogram": histogram(request, k or 0),
            "num_spec_tokens": k,
        }
    return {
        "id": f"cmpl-{request.number:032x}",
        "object": "text_completion",
        "created": 1778047873,
        "model": "llama",
        "choices": [
            {
                "index": 0,
                "text": "…",
                "finish_reason": "length",
                "avg_decoded_tokens_per_iter": request.tokens / (len(request.rounds) + 1),
                "speculative_decoding": told,
            }
        ],
        "usage": _usage(request),
    }


def llamacpp_request(request: Request) -> Answer:
    """/v1/chat/completions of llama.cpp: `timings` has drafts only if there were any.

    predicted_n counts the prompt's token; there is no count of rounds.
    """
    drafted = sum(one.drafted for one in request.rounds)
    predicted_ms = 1000 * (request.last - request.first)
    timings: Answer = {
        "cache_n": 0,
        "prompt_n": request.prompt,
        "prompt_ms": 50.0,
        "prompt_per_token_ms": 50.0 / request.prompt,
        "prompt_per_second": request.prompt / 0.05,
        "predicted_n": request.tokens,
        "predicted_ms": round(predicted_ms, 3),
        "predicted_per_token_ms": predicted_ms / request.tokens,
        "predicted_per_second": 1000 * request.tokens / predicted_ms if predicted_ms else 0.0,
    }
    if drafted:
        timings["draft_n"] = drafted
        timings["draft_n_accepted"] = sum(one.accepted for one in request.rounds)
    return {
        "choices": [
            {
                "finish_reason": "stop",
                "index": 0,
                "message": {"role": "assistant", "content": "…"},
            }
        ],
        "created": 1778047873,
        "model": "Qwen3-8B-Q4_K_M.gguf",
        "system_fingerprint": "b11434-1a2b3c4d",
        "object": "chat.completion",
        "usage": _usage(request),
        "id": f"chatcmpl-{request.number:032x}",
        "timings": timings,
    }


def answers(world: World, one: Callable[[Request], Answer]) -> Sequence[Answer]:
    """An answer for every request of the world."""
    return [one(request) for request in world.requests]


def _usage(request: Request) -> Answer:
    return {
        "prompt_tokens": request.prompt,
        "total_tokens": request.prompt + request.tokens,
        "completion_tokens": request.tokens,
    }
