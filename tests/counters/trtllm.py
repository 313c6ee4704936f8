"""TensorRT-LLM's iteration statistics and Prometheus page (PyTorch backend).

Fields: tensorrt_llm/_torch/pyexecutor/py_executor.py and tensorrt_llm/metrics/collector.py.
"""

from __future__ import annotations

from typing import Any

from counters.exposition import counter, gauge
from counters.world import Round, World, truth

Iteration = dict[str, Any]


def trtllm_iterations(
    world: World,
    *,
    since: float = 0.0,
    until: float = float("inf"),
    counted: bool = True,
    ranks: int = 1,
    empty: float = 0.0,
) -> list[Iteration]:
    """GET /metrics: one object an iteration, since the last read.

    `counted` is numRequestsWithDraftTokens, which some versions lack. `ranks` above 1 is attention
    data parallelism: copies of rank 0's speculation under every rank. `empty` is the acceptance
    length of an iteration that drafted nothing: 0.0, or 1.0 from older drafters.
    """
    rows: list[Iteration] = []
    for at, rounds in world.steps(0):
        if not since < at <= until:
            continue
        rows += [
            _iteration(rounds, at, len(rows), counted, empty) | {"attentionDpRank": rank}
            for rank in range(ranks)
        ]
    return rows


def _iteration(
    rounds: list[Round], at: float, number: int, counted: bool, empty: float
) -> Iteration:
    drafts = [one for one in rounds if one.drafted]
    accepted = sum(one.accepted for one in drafts)
    told: Iteration = {
        "numDraftTokens": sum(one.drafted for one in drafts),
        "numAcceptedTokens": accepted,
    }
    if counted:
        told["numRequestsWithDraftTokens"] = len(drafts)
    told |= {
        "acceptanceLength": (accepted + len(drafts)) / len(drafts) if drafts else empty,
        "iterLatencyMS": 4.1 if drafts else 0.0,
        "draftOverhead": 0.18 if drafts else 0.0,
    }
    return {
        "timestamp": f"05-06-2026 06:11:{at:09.6f}",
        "iter": rounds[0].step if rounds else number,
        "iterLatencyMS": 22.8,
        "newActiveRequestsQueueLatencyMS": 0.0,
        "numActiveRequests": len(rounds),
        "numQueuedRequests": 0,
        "gpuMemUsage": 74518233088,
        "kvCacheStats": {
            "maxNumBlocks": 8192,
            "freeNumBlocks": 8000,
            "usedNumBlocks": 192,
            "tokensPerBlock": 32,
            "cacheHitRate": 0.0,
        },
        "inflightBatchingStats": {
            "numScheduledRequests": len(rounds),
            "numContextRequests": 0,
            "numGenRequests": len(rounds),
            "numPausedRequests": 0,
            "numCtxTokens": 0,
            "avgNumDecodedTokensPerIter": sum(one.emitted for one in rounds) / len(rounds),
        },
        "specDecodingStats": told,
    }


def trtllm_metrics(world: World, *, at: float | None = None, model: str = "llama") -> str:
    """/prometheus/metrics at a moment: totals of iterations, and by position of finished requests.

    The gauge is the last iteration's. Positions that were never drafted have no series, nor have
    those where nothing was accepted.
    """
    end = world.end if at is None else at
    pairs = {"engine_type": "undefined", "model_name": model}
    told = truth(world, until=end)
    last: list[Round] = []
    for moment, rounds in world.steps(0):
        if moment <= end:
            last = rounds
    drafted, accepted = [0] * world.k, [0] * world.k
    for request in world.requests:
        if request.last > end:
            continue
        for one in request.rounds:
            for place in range(one.drafted):
                drafted[place] += 1
            for place in range(one.accepted):
                accepted[place] += 1
    text = gauge(
        "trtllm_speculative_config_info",
        "Speculative decoding configuration info",
        [
            (
                pairs
                | {
                    "spec_enabled": "true",
                    "spec_method": "Eagle3",
                    "spec_num_tokens": str(world.k),
                    "spec_draft_model": "draft",
                },
                1.0,
            )
        ],
    )
    text += counter(
        "trtllm_spec_decode_num_draft_tokens",
        "Total number of draft tokens in speculative decoding",
        [(pairs, told.drafted_tokens)],
        created=1.77805e9,
    )
    text += counter(
        "trtllm_spec_decode_num_accepted_tokens",
        "Total number of accepted tokens in speculative decoding",
        [(pairs, told.accepted_tokens)],
        created=1.77805e9,
    )
    text += gauge(
        "trtllm_spec_decode_acceptance_length",
        "Acceptance length in speculative decoding",
        [(pairs, _iteration(last, end, 0, True, 0.0)["specDecodingStats"]["acceptanceLength"])]
        if last
        else [],
    )
    for name, says, counts in (
        ("drafted", "drafted", drafted),
        ("accepted", "accepted", accepted),
    ):
        text += counter(
            f"trtllm_spec_decode_{name}_tokens",
            f"Total {says} tokens per speculative decoding position.",
            [
                (pairs | {"token_position": str(place)}, count)
                for place, count in enumerate(counts)
                if count
            ],
        )
    return text
