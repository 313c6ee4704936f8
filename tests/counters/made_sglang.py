"""Fixtures of SGLang that the simulator makes: their figures are its truth."""

from __future__ import annotations

import json
from collections.abc import Iterator

from counters import benches, dress, requests, sglang
from counters.fixture import Fixture, figures
from counters.setups import SIMULATED, idle, jsonl, page, plain, small, two_engines
from counters.world import Truth, World, truth


def fixtures() -> Iterator[Fixture]:
    """Logs, pages, documents."""
    yield from _sglang()


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
