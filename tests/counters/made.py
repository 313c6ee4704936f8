"""Fixtures of the other engines that the simulator makes: their figures are its truth."""

from __future__ import annotations

import json
from collections.abc import Iterator

from counters import benches, llamacpp, requests, trtllm
from counters.fixture import Fixture, figures
from counters.setups import SIMULATED, idle, jsonl, ngram, page, small
from counters.world import mixed, simulate, truth


def fixtures() -> Iterator[Fixture]:
    """All of them, engine by engine."""
    yield from _trtllm()
    yield from _llamacpp()
    yield from _harnesses()


def _trtllm() -> Iterator[Fixture]:
    world, told = small(), truth(small())
    lost = {"per_position": None, "k": None}
    brief, some = 1.0, truth(small(), until=1.0)
    yield page(
        "trtllm-iterations.json",
        "trtllm-iterations",
        json.dumps(trtllm.trtllm_iterations(world, until=brief)) + "\n",
        some,
        "1.3.0rc27..1.4.0rc4",
        traps=("bonus-in",),
        **lost,
    )
    yield page(
        "trtllm-iterations-uncounted.json",
        "trtllm-iterations",
        json.dumps(trtllm.trtllm_iterations(world, until=brief, counted=False)) + "\n",
        some,
        "some before 1.3",
        traps=("bonus-in", "no-drafts-count"),
        how=SIMULATED + "requests of an iteration = accepted / (length - 1), none if 0 accepted",
        # iterations that accepted nothing do not tell how many requests drafted
        drafts=None,
        tokens_per_round=None,
        **lost,
    )
    yield page(
        "trtllm-iterations-adp.json",
        "trtllm-iterations",
        json.dumps(trtllm.trtllm_iterations(world, until=brief, ranks=2)) + "\n",
        some,
        "1.3.0rc27..1.4.0rc4",
        traps=("bonus-in", "rank-copies"),
        how=SIMULATED + "rank 1 repeats rank 0's figures",
        **lost,
    )
    yield page(
        "trtllm-iterations-ngram.json",
        "trtllm-iterations",
        json.dumps(trtllm.trtllm_iterations(ngram(), until=1.5, empty=1.0)) + "\n",
        truth(ngram(), until=1.5),
        "1.3.0rc27..1.4.0rc4",
        traps=("bonus-in",),
        how=SIMULATED + "iterations without drafts count for nothing",
        **lost,
    )
    yield page(
        "trtllm-metrics.prom",
        "trtllm-metrics",
        trtllm.trtllm_metrics(world),
        told,
        "1.3.0rc27..1.4.0rc4",
        traps=("lifetime", "no-drafts-count"),
        how=SIMULATED + "drafts are those drafted at position 0",
    )
    early = truth(world, until=1.0)
    yield page(
        "trtllm-metrics-before.prom",
        "trtllm-metrics",
        trtllm.trtllm_metrics(world, at=1.0),
        early,
        "1.3.0rc27..1.4.0rc4",
        traps=("lifetime",),
        how=SIMULATED + "totals are of iterations; positions of finished requests, fewer rounds",
        drafts=None,
        tokens_per_round=None,
        per_position=None,
    )
    yield page(
        "trtllm-metrics-ngram.prom",
        "trtllm-metrics",
        trtllm.trtllm_metrics(ngram()),
        truth(ngram()),
        "1.3.0rc27..1.4.0rc4",
        traps=("lifetime", "no-drafts-count", "short-drafts"),
        how=SIMULATED + "drafted tokens by position say how short drafts were",
    )
    yield page(
        "trtllm-requests.jsonl",
        "trtllm-request",
        jsonl(world, lambda one: requests.trtllm_request(one, world.k)),
        told,
        "PR #19311",
    )
    yield page(
        "trtllm-requests-counts.jsonl",
        "trtllm-request",
        jsonl(world, lambda one: requests.trtllm_request(one, None, steps=False)),
        told,
        "1.2..1.4.0rc4",
        traps=("no-drafts-count",),
        how=SIMULATED + "a rate and two counts: rounds cannot be counted",
        drafts=None,
        tokens_per_round=None,
        **lost,
    )


def _llamacpp() -> Iterator[Fixture]:
    world, told = small(), truth(small())
    yield page(
        "llamacpp-a.log",
        "llamacpp-log",
        llamacpp.llamacpp_log(world, "a", stamps=False),
        told,
        "2025",
        traps=("cumulative",),
        k=None,
        per_position=None,
        how=SIMULATED + "drafts are #gen drafts of the last statistics line",
    )
    yield page(
        "llamacpp-a-bare.log",
        "llamacpp-log",
        llamacpp.llamacpp_log(world, "a", stamps=False, statistics=False),
        told,
        "2024..2025",
        traps=("no-drafts-count", "ignored-drafts"),
        drafts=None,
        tokens_per_round=None,
        k=None,
        per_position=None,
        how=SIMULATED + "two counts a request",
    )
    yield page(
        "llamacpp-b.log",
        "llamacpp-log",
        llamacpp.llamacpp_log(world, "b"),
        told,
        "PR #24536",
        traps=("bonus-in",),
        within=0.005,
        positions_within=0.002,
        k=4,
    )
    yield page(
        "llamacpp-d.log",
        "llamacpp-log",
        llamacpp.llamacpp_log(world, "d"),
        told,
        "between a and b",
        traps=("cumulative",),
        k=None,
        per_position=None,
        how=SIMULATED + "drafts are #gen drafts of the last statistics line",
    )
    again = idle()
    yield page(
        "llamacpp-restart.log",
        "llamacpp-log",
        llamacpp.llamacpp_log(world, "d") + llamacpp.llamacpp_log(again, "d"),
        told,
        "between a and b",
        traps=("cumulative", "counter-reset"),
        how=SIMULATED + "the server started again: requests of both lives, each counted once",
        drafts=told.drafts + truth(again).drafts,
        drafted_tokens=told.drafted_tokens + truth(again).drafted_tokens,
        accepted_tokens=told.accepted_tokens + truth(again).accepted_tokens,
        tokens_per_round=1
        + (told.accepted_tokens + truth(again).accepted_tokens)
        / (told.drafts + truth(again).drafts),
        acceptance_rate=(told.accepted_tokens + truth(again).accepted_tokens)
        / (told.drafted_tokens + truth(again).drafted_tokens),
        k=None,
        per_position=None,
    )
    yield page(
        "llamacpp-c.log",
        "llamacpp-log",
        llamacpp.llamacpp_log(world, "c"),
        told,
        "b11434",
        traps=("bonus-in", "no-drafts-count"),
        k=None,
        per_position=None,
        within=0.005,
        # of each request: accepted / (mean - 1) with a mean known to 0.005
        drafts_within=float(len(world.requests)),
    )
    yield page(
        "llamacpp-c-trace.log",
        "llamacpp-log",
        llamacpp.llamacpp_log(world, "c", trace=True),
        told,
        "b11434",
        traps=("bonus-in",),
        within=0.005,
        positions_within=0.002,
        k=4,
    )
    yield page(
        "llamacpp-timings.jsonl",
        "llamacpp-timings",
        jsonl(world, requests.llamacpp_request),
        told,
        "2025..b11434",
        traps=("no-drafts-count", "prefill-token"),
        k=None,
        per_position=None,
        # predicted_n - draft_n_accepted is one too many for each request
        drafts_within=float(len(world.requests)),
        within=told.tokens_per_round * len(world.requests) / told.drafts,
        how=SIMULATED + "drafts = predicted_n - draft_n_accepted, one too many a request",
    )
    yield page(
        "llamacpp-metrics.prom",
        "llamacpp-metrics",
        llamacpp.llamacpp_metrics(world),
        told,
        "PR #26389",
        traps=("lifetime",),
    )
    yield page(
        "llamacpp-metrics-before.prom",
        "llamacpp-metrics",
        llamacpp.llamacpp_metrics(world, at=1.0),
        truth(world, until=1.0),
        "PR #26389",
        traps=("lifetime",),
    )
    yield page(
        "llamacpp-metrics-large.prom",
        "llamacpp-metrics",
        llamacpp.llamacpp_metrics(world, scale=12347),
        told,
        "PR #26389",
        traps=("lifetime",),
        how=SIMULATED + "counts times 12347 in six digits: 1.23457e+06",
        drafts=_six(told.drafts * 12347),
        drafted_tokens=_six(told.drafted_tokens * 12347),
        accepted_tokens=_six(told.accepted_tokens * 12347),
        within=0.00002,
        positions_within=0.00001,
    )


def _six(count: int) -> int:
    return int(float(f"{count:.6g}"))


def _harnesses() -> Iterator[Fixture]:
    world = simulate(mixed(), k=4, requests=8, tokens=90, batch=4, seed=7)
    told = truth(world)
    yield Fixture(
        file="aiperf.json",
        format="aiperf",
        engine="aiperf",
        versions="0.13.0",
        content=(json.dumps(benches.aiperf(world), indent=2) + "\n").encode(),
        how=SIMULATED + "sums over the run; the mean of the requests' means is another figure",
        traps=("bonus-in", "percent", "mean-of-means"),
        **figures(told),  # type: ignore[arg-type]
    )
    yield Fixture(
        file="aiperf-records.jsonl",
        format="aiperf",
        engine="aiperf",
        versions="0.13.0",
        content=benches.aiperf_records(world).encode(),
        how=SIMULATED + "counts of the requests, added",
        traps=("bonus-in",),
        **figures(told),  # type: ignore[arg-type]
    )
    yield Fixture(
        file="guidellm.json",
        format="guidellm",
        engine="guidellm",
        versions="0.8.1",
        content=(json.dumps(benches.guidellm(world)) + "\n").encode(),
        how=SIMULATED + "counts of the requests, added",
        traps=("bonus-in",),
        **figures(told),  # type: ignore[arg-type]
    )
