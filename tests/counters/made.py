"""Fixtures that the simulator makes: their figures are the truth of the world printed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache

from counters import benches, dress, llamacpp, requests, sglang, trtllm, vllm
from counters.fixture import Fixture, figures
from counters.world import (
    Request,
    Truth,
    World,
    found,
    iid,
    mixed,
    positions,
    simulate,
    truth,
)

SIMULATED = "simulated: "


@cache
def plain() -> World:
    """k = 3, alpha 0.7, four at a time: 30 s on one engine."""
    return simulate(iid(0.7), k=3, requests=40, tokens=180, batch=4, seed=1)


@cache
def small() -> World:
    """k = 4, falling survival, six requests."""
    return simulate(positions((0.8, 0.7, 0.6, 0.5)), k=4, requests=6, tokens=90, batch=3, seed=2)


@cache
def two_engines() -> World:
    """k = 2 on two engines, requests that differ."""
    return simulate(mixed(), k=2, requests=20, tokens=180, batch=4, engines=2, seed=3)


@cache
def idle() -> World:
    """Two waves a minute apart."""
    return simulate(iid(0.6), k=3, requests=10, tokens=120, batch=4, waves=2, gap_s=60, seed=4)


@cache
def ngram() -> World:
    """N-gram drafts of up to 5, found in four steps of ten."""
    return simulate(iid(0.85), k=5, requests=12, tokens=180, batch=4, length=found(0.4), seed=5)


@cache
def dynamic() -> World:
    """3 drafts for one or two running requests, 1 for three or four, none above."""
    return simulate(
        iid(0.75),
        k=3,
        requests=30,
        tokens=120,
        batch=6,
        schedule=((1, 2, 3), (3, 4, 1), (5, 6, 0)),
        seed=6,
    )


def fixtures() -> Iterator[Fixture]:
    """All of them, engine by engine."""
    yield from _vllm_logs()
    yield from _vllm_pages()
    yield from _sglang()
    yield from _trtllm()
    yield from _llamacpp()
    yield from _harnesses()


def _v1(
    name: str, text: str | bytes, told: Truth, versions: str, *traps: str, **rest: object
) -> Fixture:
    base = {
        "within": 0.005,
        "positions_within": 0.0005,
        "traps": ("bonus-in", "percent", "no-drafts-count", *traps),
        **figures(told),
        **rest,
    }
    return Fixture(
        file=name,
        format="vllm-v1-log",
        engine="vllm",
        versions=versions,
        content=text if isinstance(text, bytes) else text.encode(),
        **{"how": SIMULATED + "sums over the rounds that the lines cover", **base},  # type: ignore[arg-type]
    )


def _vllm_logs() -> Iterator[Fixture]:
    world, told = plain(), truth(plain())
    newest = vllm.vllm_v1_log(world)
    yield _v1("vllm-0.33.log", newest, told, "0.11.2..0.33.0")
    yield _v1(
        "vllm-2025-09.log", vllm.vllm_v1_log(world, "2025-09"), told, "commits of September 2025"
    )
    yield _v1("vllm-0.9.2.log", vllm.vllm_v1_log(world, "0.9.2"), told, "0.9.0..0.10.1")
    yield _v1(
        "vllm-0.8.5.log",
        vllm.vllm_v1_log(world, "0.8.5"),
        told,
        "0.8.5",
        traps=("bonus-out", "percent", "no-drafts-count"),
        how=SIMULATED + "the printed mean is accepted / drafts: one is added",
    )
    lost = ("drafts", "tokens_per_round", "k", "per_position")
    for name, version, traps in (
        ("vllm-2025-04.log", "2025-04", ("percent", "no-drafts-count")),
        ("vllm-2025-03.log", "2025-03", ("no-drafts-count",)),
    ):
        yield Fixture(
            file=name,
            format="vllm-v1-log",
            engine="vllm",
            versions="commits of April 2025" if version == "2025-04" else "commits of March 2025",
            content=vllm.vllm_v1_log(world, version).encode(),
            how=SIMULATED + "two counts and no k: rounds cannot be counted",
            traps=traps,
            **figures(told, without=lost),  # type: ignore[arg-type]
        )
    yield from _dressed(newest, told)
    both = two_engines()
    yield _v1(
        "vllm-dp2.log",
        vllm.vllm_v1_log(both),
        truth(both),
        "0.11.2..0.33.0",
        "data-parallel",
        how=SIMULATED + "both engines' rounds",
    )
    yield _v1(
        "vllm-dp2-mixed.log",
        vllm.vllm_v1_log(both, process=("ApiServer_0 pid=71", "ApiServer_1 pid=72")),
        truth(both),
        "0.11.2..0.33.0",
        "data-parallel",
        how=SIMULATED + "lines of two processes mixed: pairs belong by pid",
    )
    yield _v1(
        "vllm-dp2-aggregated.log",
        vllm.vllm_v1_log(both, aggregated=True),
        truth(both),
        "0.11.2..0.33.0",
        how=SIMULATED + "--aggregate-engine-logging: one line for both engines",
    )
    yield _v1("vllm-idle.log", vllm.vllm_v1_log(idle()), truth(idle()), "0.11.2..0.33.0")
    told = truth(ngram())
    yield _v1(
        "vllm-ngram.log",
        vllm.vllm_v1_log(ngram()),
        told,
        "0.11.2..0.33.0",
        "short-drafts",
        # accepted / (mean - 1) of lines whose mean is known to 0.005
        drafts_within=told.drafts * 0.005 / (told.tokens_per_round - 1),
        how=SIMULATED + "drafts of 1 to 5 tokens: drafts is accepted / (mean - 1), about",
    )
    told = truth(dynamic())
    yield _v1(
        "vllm-dynamic.log",
        vllm.vllm_v1_log(dynamic()),
        told,
        "0.24.0..0.33.0",
        "short-drafts",
        drafts_within=told.drafts * 0.005 / (told.tokens_per_round - 1),
        how=SIMULATED + "k of 3, 1 or 0 by batch: steps without drafts are in no figure",
    )
    yield from _v0_logs()


def _dressed(newest: str, told: Truth) -> Iterator[Fixture]:
    span = "0.11.2..0.33.0"
    yield _v1("vllm-docker.log", dress.docker(newest), told, span)
    yield _v1("vllm-kubernetes.log", dress.kubernetes(newest), told, span)
    yield _v1("vllm-kubectl.log", dress.kubectl(newest), told, span)
    yield _v1("vllm-compose.log", dress.compose(dress.coloured(newest)), told, span)
    yield _v1("vllm-crlf-bom.log", dress.crlf(newest), told, span)
    yield _v1("vllm.log.gz", dress.gz(newest), told, span)
    yield _v1("vllm-noisy.log", dress.noisy(newest), told, span)
    diffusion = (
        dress.vllm_prefix(40.0, "metrics.py:101", process="APIServer pid=1")
        + vllm.diffusion_line(committed=2560, steps=400, canvas=10240)
        + "\n"
    )
    yield _v1(
        "vllm-diffusion-too.log",
        newest + diffusion,
        told,
        "0.26.0..0.33.0",
        "diffusion",
        how=SIMULATED + "a line of a diffusion model among the others counts for nothing",
    )
    yield Fixture(
        file="vllm-diffusion.log",
        format="",
        engine="vllm",
        versions="0.26.0..0.33.0",
        content=diffusion.encode(),
        how="by hand: a diffusion model's server speculates nothing",
        traps=("diffusion",),
    )
    cut = plain()
    whole = truth(cut, until=(cut.end // 10) * 10)
    yield _v1(
        "vllm-truncated.log",
        dress.truncated(vllm.vllm_v1_log(cut), lost=60),
        whole,
        span,
        how=SIMULATED + "the last line is cut before its positions: its interval is left out",
    )


def _v0_logs() -> Iterator[Fixture]:
    told = truth(plain())
    for name, version, versions in (
        ("vllm-v0.log", "0.6.6", "0.5.5..0.8.5"),
        ("vllm-v0-old.log", "0.4.2", "0.4.0..0.5.4"),
    ):
        yield Fixture(
            file=name,
            format="vllm-v0-log",
            engine="vllm",
            versions=versions,
            content=vllm.vllm_v0_log(plain(), version).encode(),
            how=SIMULATED
            + "last line: drafts = draft / k, accepted = emitted - drafts; the accepted tokens "
            "printed are kept one by one",
            traps=("per-token-rate", "cumulative", "no-drafts-count"),
            **figures(told, without=("per_position",)),  # type: ignore[arg-type]
        )
    second = plain()
    yield Fixture(
        file="vllm-v0-restart.log",
        format="vllm-v0-log",
        engine="vllm",
        versions="0.5.5..0.8.5",
        content=(vllm.vllm_v0_log(second) + vllm.vllm_v0_log(second, until=10.0)).encode(),
        how=SIMULATED + "the server started again: two runs of totals, added",
        traps=("per-token-rate", "cumulative", "counter-reset", "no-drafts-count"),
        **figures(_added(second, 10.0), without=("per_position",)),  # type: ignore[arg-type]
    )


def _added(world: World, until: float) -> Truth:
    """The truth of a world and of its beginning again."""
    whole, part = truth(world), truth(world, until=until)
    return Truth(
        k=world.k,
        steps=whole.steps + part.steps,
        drafts=whole.drafts + part.drafts,
        drafted_tokens=whole.drafted_tokens + part.drafted_tokens,
        accepted_tokens=whole.accepted_tokens + part.accepted_tokens,
        rejections=whole.rejections + part.rejections,
        agreed_tokens=whole.agreed_tokens + part.agreed_tokens,
        accepted_at=tuple(map(sum, zip(whole.accepted_at, part.accepted_at, strict=True))),
        drafted_at=tuple(map(sum, zip(whole.drafted_at, part.drafted_at, strict=True))),
        tested_at=tuple(map(sum, zip(whole.tested_at, part.tested_at, strict=True))),
    )


def _page(
    name: str, format_: str, text: str, told: Truth, versions: str, **rest: object
) -> Fixture:
    engine = format_.split("-", maxsplit=1)[0]
    return Fixture(
        file=name,
        format=format_,
        engine=engine,
        versions=versions,
        content=text.encode(),
        **{"how": SIMULATED + "its truth", **figures(told), **rest},  # type: ignore[arg-type]
    )


def _vllm_pages() -> Iterator[Fixture]:
    world, both = plain(), two_engines()
    yield _page(
        "vllm-metrics.prom",
        "vllm-metrics",
        vllm.vllm_metrics(world),
        truth(world),
        "0.8.5..0.33.0",
        traps=("lifetime",),
    )
    yield _page(
        "vllm-metrics-before.prom",
        "vllm-metrics",
        vllm.vllm_metrics(world, at=10.0),
        truth(world, until=10.0),
        "0.8.5..0.33.0",
        traps=("lifetime",),
        how=SIMULATED + "ten seconds in; with vllm-metrics.prom the difference is the rest",
    )
    yield _page(
        "vllm-metrics-restarted.prom",
        "vllm-metrics",
        vllm.vllm_metrics(world, since=world.end - 4.0),
        truth(world, since=world.end - 4.0),
        "0.8.5..0.33.0",
        traps=("lifetime",),
        how=SIMULATED + "after vllm-metrics.prom these counters have started again",
    )
    yield _page(
        "vllm-metrics-dp2.prom",
        "vllm-metrics",
        vllm.vllm_metrics(both, created=None),
        truth(both),
        "0.8.5..0.33.0",
        traps=("lifetime", "data-parallel"),
    )
    yield _page(
        "vllm-metrics-underscore.prom",
        "vllm-metrics",
        vllm.vllm_metrics(world, underscore=True),
        truth(world),
        "0.8.5..0.33.0",
        traps=("lifetime",),
        how=SIMULATED + "an exporter wrote _ for :",
    )
    yield _page(
        "vllm-v0-metrics.prom",
        "vllm-v0-metrics",
        vllm.vllm_v0_metrics(world),
        truth(world),
        "0.4.1..0.6.5, 0.7..0.8.5",
        traps=("lifetime", "per-token-rate", "no-drafts-count"),
        per_position=None,
        how=SIMULATED + "drafts = emitted / efficiency - draft tokens",
    )
    yield Fixture(
        file="vllm-v0-metrics-overcount.prom",
        format="vllm-v0-metrics",
        engine="vllm",
        versions="0.6.6",
        content=vllm.vllm_v0_metrics(world, overcounting=True).encode(),
        how=SIMULATED + "counters are sums of totals; the gauges alone do not give k",
        traps=("counter-overcount", "per-token-rate", "lifetime"),
    )
    bench = benches.vllm_bench(world)
    yield _page(
        "vllm-bench.json",
        "vllm-bench",
        json.dumps(bench) + "\n",
        truth(world),
        "0.14.1..0.33.0",
        traps=("bonus-in", "percent", "itl-per-chunk"),
    )
    yield _page(
        "vllm-bench-detailed.json",
        "vllm-bench",
        json.dumps(benches.vllm_bench(small(), detailed=True), indent=2) + "\n",
        truth(small()),
        "0.14.1..0.33.0",
        traps=("bonus-in", "percent", "itl-per-chunk"),
    )
    yield _page(
        "vllm-bench-console.txt",
        "vllm-bench-console",
        benches.vllm_bench_console(world),
        truth(world),
        "0.14.1..0.33.0",
        traps=("bonus-in", "percent", "itl-per-chunk"),
        positions_within=0.00005,
    )
    yield from _vllm_requests()


def _vllm_requests() -> Iterator[Fixture]:
    world, short = small(), ngram()
    yield _page(
        "vllm-requests.jsonl",
        "vllm-request",
        _jsonl(world, lambda one: requests.vllm_request(one, world.k)),
        truth(world),
        "0.32..0.33.0",
        traps=("bonus-in",),
    )
    first = requests.vllm_request(world.requests[0], world.k)
    yield _page(
        "vllm-request.json",
        "vllm-request",
        json.dumps(first, indent=1) + "\n",
        _of(world, world.requests[0]),
        "0.32..0.33.0",
        traps=("bonus-in",),
        how=SIMULATED + "the truth of its first finished request",
    )
    yield _page(
        "vllm-requests-detailed.jsonl",
        "vllm-request",
        _jsonl(short, lambda one: requests.vllm_request(one, short.k, detailed=True)),
        truth(short),
        "0.32..0.33.0",
        traps=("bonus-in", "short-drafts"),
        how=SIMULATED + "n-gram drafts of 1 to 5 tokens, step by step",
    )


def _of(world: World, request: Request) -> Truth:
    return truth(World(world.k, 1, request.rounds, (request,), world.seed, request.last))


def _jsonl(world: World, one: Callable[[Request], object]) -> str:
    return "".join(f"{json.dumps(one(request))}\n" for request in world.requests)


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
        yield _page(
            name,
            "sglang-request",
            _jsonl(
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
    yield _page(
        "trtllm-iterations.json",
        "trtllm-iterations",
        json.dumps(trtllm.trtllm_iterations(world)) + "\n",
        told,
        "1.3.0rc27..1.4.0rc4",
        traps=("bonus-in",),
        **lost,
    )
    yield _page(
        "trtllm-iterations-uncounted.json",
        "trtllm-iterations",
        json.dumps(trtllm.trtllm_iterations(world, counted=False)) + "\n",
        told,
        "some before 1.3",
        traps=("bonus-in", "no-drafts-count"),
        how=SIMULATED + "requests of an iteration = accepted / (length - 1), none if 0 accepted",
        # iterations that accepted nothing do not tell how many requests drafted
        drafts=None,
        tokens_per_round=None,
        **lost,
    )
    yield _page(
        "trtllm-iterations-adp.json",
        "trtllm-iterations",
        json.dumps(trtllm.trtllm_iterations(world, ranks=2)) + "\n",
        told,
        "1.3.0rc27..1.4.0rc4",
        traps=("bonus-in", "rank-copies"),
        how=SIMULATED + "rank 1 repeats rank 0's figures",
        **lost,
    )
    yield _page(
        "trtllm-iterations-ngram.json",
        "trtllm-iterations",
        json.dumps(trtllm.trtllm_iterations(ngram(), until=3.0, empty=1.0)) + "\n",
        truth(ngram(), until=3.0),
        "1.3.0rc27..1.4.0rc4",
        traps=("bonus-in",),
        how=SIMULATED + "iterations without drafts count for nothing",
        **lost,
    )
    yield _page(
        "trtllm-metrics.prom",
        "trtllm-metrics",
        trtllm.trtllm_metrics(world),
        told,
        "1.3.0rc27..1.4.0rc4",
        traps=("lifetime", "no-drafts-count"),
        how=SIMULATED + "drafts are those drafted at position 0",
    )
    yield _page(
        "trtllm-metrics-ngram.prom",
        "trtllm-metrics",
        trtllm.trtllm_metrics(ngram()),
        truth(ngram()),
        "1.3.0rc27..1.4.0rc4",
        traps=("lifetime", "no-drafts-count", "short-drafts"),
        how=SIMULATED + "drafted tokens by position say how short drafts were",
    )
    yield _page(
        "trtllm-requests.jsonl",
        "trtllm-request",
        _jsonl(world, lambda one: requests.trtllm_request(one, world.k)),
        told,
        "PR #19311",
    )
    yield _page(
        "trtllm-requests-counts.jsonl",
        "trtllm-request",
        _jsonl(world, lambda one: requests.trtllm_request(one, None, steps=False)),
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
    yield _page(
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
    yield _page(
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
    yield _page(
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
    yield _page(
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
    yield _page(
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
    yield _page(
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
    yield _page(
        "llamacpp-timings.jsonl",
        "llamacpp-timings",
        _jsonl(world, requests.llamacpp_request),
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
    yield _page(
        "llamacpp-metrics.prom",
        "llamacpp-metrics",
        llamacpp.llamacpp_metrics(world),
        told,
        "PR #26389",
        traps=("lifetime",),
    )
    yield _page(
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
