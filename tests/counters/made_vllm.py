"""Fixtures of vLLM that the simulator makes: their figures are the truth of the world printed."""

from __future__ import annotations

import json
from collections.abc import Iterator

from counters import benches, dress, requests, vllm, vllm_pages
from counters.fixture import Fixture, figures
from counters.setups import (
    SIMULATED,
    added,
    dynamic,
    idle,
    jsonl,
    ngram,
    of_one,
    page,
    plain,
    small,
    two_engines,
)
from counters.world import Truth, truth


def fixtures() -> Iterator[Fixture]:
    """Logs, then pages, then documents."""
    yield from _vllm_logs()
    yield from _vllm_pages()


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
    yield _v1("vllm-journal.log", dress.journal(newest), told, span)
    yield _v1("vllm-offline.log", vllm.vllm_v1_log(plain(), process=""), told, span)
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
        **figures(added(second, 10.0), without=("per_position",)),  # type: ignore[arg-type]
    )


def _vllm_pages() -> Iterator[Fixture]:
    world, both = plain(), two_engines()
    yield page(
        "vllm-metrics.prom",
        "vllm-metrics",
        vllm_pages.vllm_metrics(world),
        truth(world),
        "0.8.5..0.33.0",
        traps=("lifetime",),
    )
    yield page(
        "vllm-metrics-before.prom",
        "vllm-metrics",
        vllm_pages.vllm_metrics(world, at=10.0),
        truth(world, until=10.0),
        "0.8.5..0.33.0",
        traps=("lifetime",),
        how=SIMULATED + "ten seconds in; with vllm-metrics.prom the difference is the rest",
    )
    yield page(
        "vllm-metrics-restarted.prom",
        "vllm-metrics",
        vllm_pages.vllm_metrics(world, since=world.end - 4.0),
        truth(world, since=world.end - 4.0),
        "0.8.5..0.33.0",
        traps=("lifetime",),
        how=SIMULATED + "after vllm-metrics.prom these counters have started again",
    )
    yield page(
        "vllm-metrics-dp2.prom",
        "vllm-metrics",
        vllm_pages.vllm_metrics(both, created=None),
        truth(both),
        "0.8.5..0.33.0",
        traps=("lifetime", "data-parallel"),
    )
    yield page(
        "vllm-metrics-dp2-before.prom",
        "vllm-metrics",
        vllm_pages.vllm_metrics(both, at=5.0, created=None),
        truth(both, until=5.0),
        "0.8.5..0.33.0",
        traps=("lifetime", "data-parallel"),
    )
    yield page(
        "vllm-metrics-underscore.prom",
        "vllm-metrics",
        vllm_pages.vllm_metrics(world, underscore=True),
        truth(world),
        "0.8.5..0.33.0",
        traps=("lifetime",),
        how=SIMULATED + "an exporter wrote _ for :",
    )
    yield page(
        "vllm-v0-metrics.prom",
        "vllm-v0-metrics",
        vllm_pages.vllm_v0_metrics(world),
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
        content=vllm_pages.vllm_v0_metrics(world, overcounting=True).encode(),
        how=SIMULATED + "counters are sums of totals; the gauges alone do not give k",
        traps=("counter-overcount", "per-token-rate", "lifetime"),
    )
    bench = benches.vllm_bench(world)
    yield page(
        "vllm-bench.json",
        "vllm-bench",
        json.dumps(bench) + "\n",
        truth(world),
        "0.14.1..0.33.0",
        traps=("bonus-in", "percent", "itl-per-chunk"),
    )
    yield page(
        "vllm-bench-detailed.json",
        "vllm-bench",
        json.dumps(benches.vllm_bench(small(), detailed=True), indent=2) + "\n",
        truth(small()),
        "0.14.1..0.33.0",
        traps=("bonus-in", "percent", "itl-per-chunk"),
    )
    yield page(
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
    yield page(
        "vllm-requests.jsonl",
        "vllm-request",
        jsonl(world, lambda one: requests.vllm_request(one, world.k)),
        truth(world),
        "0.29..0.33.0",
        traps=("bonus-in",),
    )
    first = requests.vllm_request(world.requests[0], world.k)
    yield page(
        "vllm-request.json",
        "vllm-request",
        json.dumps(first, indent=1) + "\n",
        of_one(world, world.requests[0]),
        "0.29..0.33.0",
        traps=("bonus-in",),
        how=SIMULATED + "the truth of its first finished request",
    )
    yield page(
        "vllm-requests-detailed.jsonl",
        "vllm-request",
        jsonl(short, lambda one: requests.vllm_request(one, short.k, detailed=True)),
        truth(short),
        "0.29..0.33.0",
        traps=("bonus-in", "short-drafts"),
        how=SIMULATED + "n-gram drafts of 1 to 5 tokens, step by step",
    )
