"""vLLM's /metrics, V1 and V0.

Names and texts: vllm/v1/spec_decode/metrics.py and vllm/engine/metrics.py of the versions named.
"""

from __future__ import annotations

from collections.abc import Sequence

from counters.exposition import counter, gauge
from counters.vllm import fixed, intervals
from counters.world import World, truth


def vllm_metrics(
    world: World,
    *,
    at: float | None = None,
    since: float = 0.0,
    model: str = "meta-llama/Llama-3.1-8B-Instruct",
    created: float | None = 1.77805e9,
    underscore: bool = False,
) -> str:
    """V1's /metrics at a moment: totals since the server started, at `since`.

    `underscore` is how some exporters rewrite the colon. Names are there, at 0, before any draft.
    """
    end = world.end if at is None else at
    told = [truth(world, since=since, until=end, engine=engine) for engine in range(world.engines)]
    per_engine = [{"engine": str(engine), "model_name": model} for engine in range(world.engines)]
    running = [
        sum(one.first <= end < one.last for one in world.requests if one.engine == engine)
        for engine in range(world.engines)
    ]
    generated = [
        sum(one.emitted for one in world.between(since, end) if one.engine == engine)
        + sum(since < one.first <= end for one in world.requests if one.engine == engine)
        for engine in range(world.engines)
    ]

    def of(name: str, says: str, values: Sequence[float]) -> str:
        series = list(zip(per_engine, values, strict=True))
        return counter(f"vllm:{name}", says, series, created=created)

    text = gauge(
        "vllm:num_requests_running",
        "Number of requests in model execution batches.",
        list(zip(per_engine, running, strict=True)),
    )
    text += of("generation_tokens", "Number of generation tokens processed.", generated)
    text += of(
        "spec_decode_num_drafts", "Number of spec decoding drafts.", [one.drafts for one in told]
    )
    text += of(
        "spec_decode_num_draft_tokens",
        "Number of draft tokens.",
        [one.drafted_tokens for one in told],
    )
    text += of(
        "spec_decode_num_accepted_tokens",
        "Number of accepted tokens.",
        [one.accepted_tokens for one in told],
    )
    text += counter(
        "vllm:spec_decode_num_accepted_tokens_per_pos",
        "Accepted tokens per draft position.",
        [
            ({**pairs, "position": str(place)}, count)
            for pairs, one in zip(per_engine, told, strict=True)
            for place, count in enumerate(one.accepted_at)
        ],
        created=created,
    )
    return text.replace("vllm:", "vllm_") if underscore else text


def vllm_v0_metrics(
    world: World,
    *,
    at: float | None = None,
    overcounting: bool = False,
    interval_s: float = 5.0,
    model: str = "m",
) -> str:
    """V0's /metrics. `overcounting` is 0.6.6: every interval adds the running total again."""
    fixed(world)
    end = world.end if at is None else at
    told = truth(world, until=end)
    totals = [told]
    if overcounting:
        totals = [
            truth(world, until=until)
            for _, until in intervals(world, interval_s, 0.0, end)
            if until <= end
        ]
    pairs = {"model_name": model}
    emitted = told.accepted_tokens + told.drafts
    most = told.drafts * (told.k + 1)
    text = gauge(
        "vllm:spec_decode_draft_acceptance_rate",
        "Speulative token acceptance rate.",
        [(pairs, told.agreed_tokens / told.drafted_tokens)],
    )
    text += gauge(
        "vllm:spec_decode_efficiency",
        "Speculative decoding system efficiency.",
        [(pairs, emitted / most)],
    )
    for name, says, value in (
        ("accepted", "accepted", sum(one.agreed_tokens for one in totals)),
        ("draft", "draft", sum(one.drafted_tokens for one in totals)),
        ("emitted", "emitted", sum(one.accepted_tokens + one.drafts for one in totals)),
    ):
        text += counter(
            f"vllm:spec_decode_num_{name}_tokens",
            f"Number of {says} tokens.",
            [(pairs, value)],
        )
    return text
