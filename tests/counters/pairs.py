"""Two scrapes of one server: what lies between them. `file` names both, the earlier first."""

from __future__ import annotations

from collections.abc import Iterator

from counters.fixture import Fixture, figures
from counters.setups import SIMULATED, idle, plain, small, two_engines
from counters.world import Truth, truth


def pairs() -> Iterator[Fixture]:
    """Every pair; their files are in the index too."""
    world = plain()
    yield _pair(
        "vllm-metrics-before.prom vllm-metrics.prom",
        "vllm-metrics",
        truth(world, since=10.0),
        how=SIMULATED + "the rounds after the tenth second",
    )
    yield _pair(
        "vllm-metrics.prom vllm-metrics-restarted.prom",
        "vllm-metrics",
        truth(world, since=world.end - 4.0),
        traps=("counter-reset",),
        how=SIMULATED + "counters fell: the server started again, and these are since then",
    )
    yield _pair(
        "vllm-metrics-dp2-before.prom vllm-metrics-dp2.prom",
        "vllm-metrics",
        truth(two_engines(), since=5.0),
        traps=("data-parallel",),
        how=SIMULATED + "both engines' rounds after the fifth second",
    )
    yield _pair(
        "llamacpp-metrics-before.prom llamacpp-metrics.prom",
        "llamacpp-metrics",
        truth(small(), since=1.0),
        how=SIMULATED + "the rounds after the first second",
    )
    told = truth(small(), since=1.0)
    yield Fixture(
        file="trtllm-metrics-before.prom trtllm-metrics.prom",
        format="trtllm-metrics",
        engine="trtllm",
        versions="",
        content=b"",
        how=SIMULATED
        + "totals are of iterations, positions of requests that finished: these began before",
        drafted_tokens=told.drafted_tokens,
        accepted_tokens=told.accepted_tokens,
        acceptance_rate=told.acceptance_rate,
    )
    yield _sglang()


def _sglang() -> Fixture:
    """Tokens over verify calls of the requests that finished between."""
    world = idle()
    done = [one for one in world.requests if one.last > world.end / 2]
    calls = sum(len(one.rounds) for one in done)
    return Fixture(
        file="sglang-metrics-idle.prom sglang-metrics.prom",
        format="sglang-metrics",
        engine="sglang",
        versions="",
        content=b"",
        how=SIMULATED
        + "tokens over verify calls of the requests finished between, high by a token of each "
        "request's prompt; gauges are of one window",
        tokens_per_round=sum(one.tokens - 1 for one in done) / calls,
        within=len(done) / calls,
        traps=("bonus-in", "prefill-token"),
    )


def _pair(
    file: str, format_: str, told: Truth, *, how: str, traps: tuple[str, ...] = ()
) -> Fixture:
    return Fixture(
        file=file,
        format=format_,
        engine=format_.split("-", maxsplit=1)[0],
        versions="",
        content=b"",
        how=how,
        traps=traps,
        **figures(told),  # type: ignore[arg-type]
    )
