"""SGLang's decode lines, gauges and server_info, in their generations.

Format strings: python/sglang/srt/managers/scheduler_metrics_mixin.py and, later,
python/sglang/srt/observability/scheduler_metrics_mixin.py; bench and responses are elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from counters.dress import sglang_prefix
from counters.exposition import counter, gauge
from counters.world import Request, Round, World

VERSIONS = ("0.5.23", "0.5.13", "0.5.10", "0.5.9", "0.5.6", "0.5.2", "0.4.10")
"""Generations of the decode line, newest first."""

DECODE_LOG_INTERVAL = 40  # --decode-log-interval: decode steps between lines


def accept_length(rounds: Sequence[Round]) -> float:
    """(kept drafts + the bonus token) / verify steps, in every version."""
    return (sum(one.accepted for one in rounds) + len(rounds)) / len(rounds)


def accept_rate(rounds: Sequence[Round], k: int, version: str) -> float | None:
    """By version: none, biased up by the bonus token to at least 1 / (k + 1), or strict."""
    if version in {"0.4.10", "0.5.2"}:
        return None
    accepted = sum(one.accepted for one in rounds)
    if version in {"0.5.23", "0.5.13"}:
        return accepted / (len(rounds) * k)
    return (accepted + len(rounds)) / (len(rounds) * (k + 1))


def lifetime_accept_length(rounds: Sequence[Round]) -> float | None:
    """avg_spec_accept_length: since the server started; null before the first round."""
    return accept_length(rounds) if rounds else None


def sglang_decode_log(
    world: World,
    version: str = "0.5.23",
    *,
    every: int = DECODE_LOG_INTERVAL,
    tp: bool = False,
    iteration: bool = False,
    prefill: bool = True,
) -> str:
    """The scheduler's log: a line every `every` decode steps, of those steps alone.

    Every round of the world is a verify step, also one that drafted less than k. Steps after the
    last line are in no line. Data-parallel ranks are named in the prefix, tensor ranks with `tp`.
    """
    lines: list[tuple[float, str]] = []
    for engine in range(world.engines):
        dp = engine if world.engines > 1 else None
        for end, gap, steps, rounds in windows(world, engine, every):
            lines.append(
                (
                    end,
                    sglang_prefix(end, dp=dp, tp=0 if tp else None)
                    + decode_line(rounds, world.k, gap, version, step=steps if iteration else None),
                )
            )
        if prefill:
            lines += [
                (one.first, sglang_prefix(one.first, dp=dp, tp=0 if tp else None) + _prefill(one))
                for one in world.requests
                if one.engine == engine
            ]
    return "".join(f"{line}\n" for _, line in sorted(lines, key=lambda pair: pair[0]))


def decode_line(
    rounds: Sequence[Round], k: int, gap_s: float, version: str, *, step: int | None = None
) -> str:
    """One line of those rounds, the last of them giving the batch."""
    tokens = sum(one.emitted for one in rounds)
    rate = accept_rate(rounds, k, version)
    dotted = version in {"0.5.6", "0.5.2", "0.4.10"}
    trailing = version in {"0.5.9", "0.5.6", "0.5.2", "0.4.10"}
    head = "Decode batch." if dotted else "Decode batch,"
    if step is not None and not dotted:
        head = f"Decode batch [{step}],"
    rate_text = "" if rate is None else f"accept rate: {rate:.2f}, "
    return (
        f"{head} #running-req: {rounds[-1].running}, #token: {rounds[-1].running * 186}, "
        f"token usage: 0.00, accept len: {accept_length(rounds):.2f}, {rate_text}"
        f"cuda graph: True, gen throughput (token/s): {tokens / gap_s:.2f}, #queue-req: 0"
        + (", " if trailing else "")
    )


def _prefill(request: Request) -> str:
    return (
        f"Prefill batch, #new-seq: 1, #new-token: {request.prompt}, #cached-token: 0, "
        "token usage: 0.00, #running-req: 1, #queue-req: 0, "
    )


def windows(
    world: World, engine: int, every: int, until: float = float("inf")
) -> Iterator[tuple[float, float, int, list[Round]]]:
    """(end, seconds since the last line, steps so far, rounds) of each full window."""
    before, rounds = 0.0, list[Round]()
    for steps, (at, members) in enumerate(world.steps(engine), start=1):
        if at > until:
            return
        rounds += members
        if steps % every == 0:
            yield at, at - before, steps, rounds
            before, rounds = at, []


def sglang_metrics(
    world: World,
    *,
    at: float | None = None,
    version: str = "0.5.23",
    every: int = DECODE_LOG_INTERVAL,
    underscore: bool = False,
    model: str = "meta-llama/Llama-3.1-8B-Instruct",
    draft_series: bool = False,
) -> str:
    """/metrics at a moment. Gauges are those of the last decode line, however long ago.

    Counters are of finished requests. `draft_series` adds a series of the drafter's own, as some
    servers have. 0.4.10 has the length alone, 0.5.23 more gauges.
    """
    end = world.end if at is None else at
    lengths, rates = [], []
    for engine in range(world.engines):
        pairs = {"engine_type": "unified", "model_name": model, "pp_rank": "0", "tp_rank": "0"}
        if world.engines > 1:
            pairs["dp_rank"] = str(engine)
        window = None
        for window in windows(world, engine, every, end):  # noqa: B007
            pass
        rounds = window[3] if window else []
        lengths.append((pairs, accept_length(rounds) if rounds else 0.0))
        rate = accept_rate(rounds, world.k, version) if rounds else 0.0
        if rate is not None:
            rates.append((pairs, rate))
    if draft_series:
        lengths.insert(0, ({**lengths[0][0], "engine_type": "draft"}, 2.7))
    finished = [one for one in world.requests if one.last <= end]
    plain = {"model_name": model}
    text = gauge(
        "sglang:num_running_reqs",
        "The number of running requests.",
        [(lengths[-1][0], float(sum(one.first <= end < one.last for one in world.requests)))],
    )
    text += gauge(
        "sglang:spec_accept_length",
        "The average acceptance length of speculative decoding.",
        lengths,
    )
    if rates and version not in {"0.4.10", "0.5.2"}:
        text += gauge(
            "sglang:spec_accept_rate",
            "The average acceptance rate of speculative decoding (`accepted tokens / total draft "
            "tokens` in batch).",
            rates,
        )
    if version == "0.5.23":
        text += gauge("sglang:spec_num_steps", "Steps.", [(lengths[-1][0], world.k)])
        text += gauge("sglang:spec_num_draft_tokens", "Tokens.", [(lengths[-1][0], world.k + 1)])
    text += counter(
        "sglang:generation_tokens",
        "Number of generation tokens processed.",
        [(plain, sum(one.tokens for one in finished))],
    )
    if version != "0.4.10":
        text += counter(
            "sglang:spec_verify_calls",
            "Number of speculative decoding verification calls.",
            [(plain, sum(len(one.rounds) for one in finished))],
        )
    return text.replace("sglang:", "sglang_") if underscore else text


def sglang_server_info(
    world: World, *, at: float | None = None, algorithm: str = "EAGLE3", known: bool = True
) -> dict[str, Any]:
    """/server_info: arguments at the top, a lifetime's length below; null behind a router."""
    rounds = list(world.between(until=world.end if at is None else at))
    return {
        "model_path": "meta-llama/Llama-3.1-8B-Instruct",
        "tp_size": 1,
        "dp_size": world.engines,
        "speculative_algorithm": algorithm,
        "speculative_num_steps": world.k,
        "speculative_eagle_topk": 1,
        "speculative_num_draft_tokens": world.k + 1,
        "max_total_num_tokens": 410128,
        "internal_states": [
            {
                "last_gen_throughput": 178.86,
                "memory_usage": {"weight": 15.03, "kvcache": 50.1, "graph": 0.54},
                "avg_spec_accept_length": (
                    lifetime_accept_length([one for one in rounds if one.engine == engine])
                    if known
                    else None
                ),
            }
            for engine in range(world.engines)
        ],
        "version": "0.5.23",
    }
