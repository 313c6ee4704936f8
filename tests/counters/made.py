"""Fixtures of the other engines that the simulator makes: their figures are its truth."""

from __future__ import annotations

import json
from collections.abc import Iterator

from counters import benches, dress, llamacpp, requests, sglang, trtllm
from counters.fixture import Fixture, figures
from counters.setups import SIMULATED, idle, jsonl, ngram, page, plain, small, two_engines
from counters.world import Truth, World, mixed, simulate, truth


def fixtures() -> Iterator[Fixture]:
    """All of them, engine by engine."""
    yield from _sglang()
    yield from _trtllm()
    yield from _llamacpp()
    yield from _harnesses()


def _seen(world: World, every: int) -> Truth:
    """The truth of rounds that some decode line covers."""
    rounds = tuple(
        row
        for engine in range(world.engines)
        for _, _, _, rows in sglang.windows(world, engine, every)
        for row in rows
    )
    return truth(
        World(
            world.k,
            world.engines,
            tuple(sorted(rounds, key=lambda row: row.at)),
            (),
            world.seed,
            world.end,
        )
    )


def _sglang() -> Iterator[Fixture]:
    world = plain()
    told = _seen(world, sglang.DECODE_LOG_INTERVAL)
    lost = ("drafts", "drafted_tokens", "accepted_tokens", "per_position")
    for name, version, versions in (
        ("sglang-0.5.23.log", "0.5.23", "0.5.13..0.5.23"),
        ("sglang-0.5.10.log", "0.5.10", "0.5.10.post1"),
        ("sglang-0.5.9.log", "0.5.9", "0.5.9"),
        ("sglang-0.5.6.log", "0.5.6", "0.5.6.post2"),
        ("sglang-0.5.2.log", "0.5.2", "0.4.10..0.5.2"),
    ):
        traps = ["bonus-in", "no-drafts-count"]
        if version in {"0.5.10", "0.5.9", "0.5.6"}:
            traps.append("rate-floor")
        without = (*lost, "k", "acceptance_rate") if version == "0.5.2" else lost
        yield Fixture(
            file=name,
            format="sglang-log",
            engine="sglang",
            versions=versions,
            content=sglang.sglang_decode_log(world, version, tp=version == "0.5.23").encode(),
            how=SIMULATED + "rounds that the lines cover; lines weigh as they may",
            within=0.03,
            traps=tuple(traps),
            **figures(told, without=without),  # type: ignore[arg-type]
        )
    yield Fixture(
        file="sglang-ray.log",
        format="sglang-log",
        engine="sglang",
        versions="0.5.13..0.5.23",
        content=dress.ray(dress.noisy(sglang.sglang_decode_log(world, tp=True))).encode(),
        how=SIMULATED + "coloured by Ray, with lines that nobody knows between",
        within=0.03,
        traps=("bonus-in", "no-drafts-count"),
        **figures(told, without=lost),  # type: ignore[arg-type]
    )
    both = two_engines()
    yield Fixture(
        file="sglang-dp2.log",
        format="sglang-log",
        engine="sglang",
        versions="0.5.13..0.5.23",
        content=sglang.sglang_decode_log(both, tp=True, iteration=True).encode(),
        how=SIMULATED + "two ranks' lines; rounds that the lines cover",
        within=0.03,
        traps=("bonus-in", "no-drafts-count", "data-parallel"),
        **figures(_seen(both, sglang.DECODE_LOG_INTERVAL), without=lost),  # type: ignore[arg-type]
    )
    yield from _sglang_pages()
    yield from _sglang_documents()


def _window(world: World, at: float) -> Truth:
    """The truth of the last full window of decode steps before a moment."""
    rows = [rows for *_, rows in sglang.windows(world, 0, sglang.DECODE_LOG_INTERVAL, at)][-1]
    return truth(World(world.k, 1, tuple(rows), (), world.seed, at))


def _sglang_pages() -> Iterator[Fixture]:
    world = idle()
    quiet = world.end / 2
    lost = ("drafts", "drafted_tokens", "accepted_tokens", "per_position")
    yield Fixture(
        file="sglang-metrics-idle.prom",
        format="sglang-metrics",
        engine="sglang",
        versions="0.5.13..0.5.23",
        content=sglang.sglang_metrics(world, at=quiet).encode(),
        how=SIMULATED + "nothing runs; gauges are of the last forty steps before",
        traps=("bonus-in", "stuck-gauge", "no-drafts-count"),
        **figures(_window(world, quiet), without=lost),  # type: ignore[arg-type]
    )
    yield Fixture(
        file="sglang-metrics.prom",
        format="sglang-metrics",
        engine="sglang",
        versions="0.5.13..0.5.23",
        content=sglang.sglang_metrics(world).encode(),
        how=SIMULATED + "the second wave has ended; gauges are of its last full window",
        traps=("bonus-in", "stuck-gauge", "no-drafts-count"),
        **figures(_window(world, world.end), without=lost),  # type: ignore[arg-type]
    )
    yield Fixture(
        file="sglang-metrics-0.5.6.prom",
        format="sglang-metrics",
        engine="sglang",
        versions="0.5.6.post2..0.5.10.post1",
        content=sglang.sglang_metrics(world, version="0.5.6", underscore=True).encode(),
        how=SIMULATED + "the rate counts the bonus token; an exporter wrote _ for :",
        traps=("bonus-in", "stuck-gauge", "rate-floor", "no-drafts-count"),
        **figures(_window(world, world.end), without=lost),  # type: ignore[arg-type]
    )
    yield Fixture(
        file="sglang-metrics-0.4.10.prom",
        format="sglang-metrics",
        engine="sglang",
        versions="0.4.10",
        content=sglang.sglang_metrics(world, version="0.4.10").encode(),
        how=SIMULATED + "a length alone",
        traps=("bonus-in", "stuck-gauge", "no-drafts-count"),
        **figures(_window(world, world.end), without=(*lost, "acceptance_rate", "k")),  # type: ignore[arg-type]
    )


def _sglang_documents() -> Iterator[Fixture]:
    world, told = plain(), truth(plain())
    lost = ("drafts", "drafted_tokens", "accepted_tokens", "per_position")
    yield Fixture(
        file="sglang-server-info.json",
        format="sglang-server-info",
        engine="sglang",
        versions="0.4.10..0.5.23",
        content=(json.dumps(sglang.sglang_server_info(world), indent=1) + "\n").encode(),
        how=SIMULATED + "all rounds since the start",
        traps=("bonus-in", "lifetime", "no-drafts-count"),
        **figures(told, without=lost),  # type: ignore[arg-type]
    )
    yield Fixture(
        file="sglang-server-info-router.json",
        format="sglang-server-info",
        engine="sglang",
        versions="0.4.10..0.5.23",
        content=(json.dumps(sglang.sglang_server_info(world, known=False)) + "\n").encode(),
        how="by hand: behind a router the length is null: nothing is told",
        k=3,
    )
    yield Fixture(
        file="sglang-bench.jsonl",
        format="sglang-bench",
        engine="sglang",
        versions="0.4.10..0.5.23",
        content=benches.sglang_bench(world).encode(),
        how=SIMULATED + "the first run of a server: its life is the run",
        traps=("bonus-in", "lifetime", "no-drafts-count", "itl-per-chunk"),
        tokens_per_round=told.tokens_per_round,
    )
    yield Fixture(
        file="sglang-bench-two.jsonl",
        format="sglang-bench",
        engine="sglang",
        versions="0.4.10..0.5.23",
        content=(
            benches.sglang_bench(small())
            + benches.sglang_bench(world, dataset="random", before=small())
        ).encode(),
        how=SIMULATED + "the second line's length is of both runs, as the server counts",
        traps=("bonus-in", "lifetime", "no-drafts-count", "random-dataset"),
        tokens_per_round=sglang.accept_length((*small().rounds, *world.rounds)),
    )
    for name, version, versions in (
        ("sglang-requests-0.5.10.jsonl", "0.5.10", "0.5.6..0.5.10.post1"),
        ("sglang-requests-0.5.13.jsonl", "0.5.13", "0.5.13"),
        ("sglang-requests-0.5.23.jsonl", "0.5.23", "0.5.23"),
    ):
        yield page(
            name,
            "sglang-request",
            jsonl(
                small(),
                lambda one, version=version: requests.sglang_request(one, 4, version=version),  # type: ignore[misc]
            ),
            truth(small()),
            versions,
            traps=("bonus-in", "prefill-token"),
            how=SIMULATED + "1 + accepted / verify steps; the length printed is higher",
        )


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
