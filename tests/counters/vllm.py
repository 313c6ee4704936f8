"""vLLM's log lines, V1 and V0, in their generations.

Format strings: vllm/v1/spec_decode/metrics.py, vllm/v1/metrics/loggers.py, vllm/engine/metrics.py
and vllm/spec_decode/metrics.py of the versions named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from counters.dress import vllm_prefix
from counters.world import Request, Round, Truth, World, truth

V1_VERSIONS = ("0.33.0", "2025-09", "0.9.2", "0.8.5", "2025-04", "2025-03")
"""V1's generations of the line, newest first; months are of unreleased commits between them."""

V0_VERSIONS = ("0.6.6", "0.4.2")
"""V0's: the older one says `draft tokens tokens`."""


def vllm_v1_log(
    world: World,
    version: str = "0.33.0",
    *,
    interval_s: float = 10.0,
    process: str | Sequence[str] = "APIServer pid=1",
    aggregated: bool = False,
    companions: bool = True,
    since: float = 0.0,
    until: float | None = None,
    queued: int = 0,
) -> str:
    """The log of a server on which the world ran: two lines an interval and engine.

    Figures are of the interval. An interval without drafts prints none of the second line and does
    not restart its clock, so that the throughputs of the next are spread over the gap as well (up
    to April 2025 it printed nan instead). Engines print one after the other; with a `process` for
    each, as servers of their own do, their lines are mixed: both first lines, then both second.
    `aggregated` is --aggregate-engine-logging: one pair of lines for all engines.
    """
    engines = [None] if aggregated else list(range(world.engines))
    names = [process] * len(engines) if isinstance(process, str) else list(process)
    loggers = [
        _V1Logger(world, version, engine, name, interval_s, queued, since)
        for engine, name in zip(engines, names, strict=True)
    ]
    lines: list[str] = []
    for begin, end in intervals(world, interval_s, since, until):
        printed = [list(logger.log(begin, end)) for logger in loggers]
        if len(set(names)) > 1:
            printed = [
                [line for pair in printed for line in pair[:1]],
                [line for pair in printed for line in pair[1:]],
            ]
        lines += [line for pair in printed for is_mine, line in pair if companions or not is_mine]
    return "".join(f"{line}\n" for line in lines)


class _V1Logger:
    """One engine's logger: what it remembers between its lines."""

    def __init__(
        self,
        world: World,
        version: str,
        engine: int | None,
        process: str,
        interval_s: float,
        queued: int,
        since: float,
    ) -> None:
        self.world, self.version, self.engine = world, version, engine
        self.process, self.interval_s, self.queued = process, interval_s, queued
        self.reset_at = since
        self.busy = False

    def log(self, begin: float, end: float) -> Iterator[tuple[bool, str]]:
        """(whether it is the companion, line) of what (begin, end] says."""
        world, engine = self.world, self.engine
        rounds = [one for one in world.between(begin, end) if engine in {None, one.engine}]
        prompts = [
            one
            for one in world.requests
            if begin < one.first <= end and engine in {None, one.engine}
        ]
        tokens = sum(one.emitted for one in rounds) + len(prompts)
        if not (tokens or self.busy):
            return
        self.busy = bool(tokens)
        yield True, self._companion(rounds, prompts, tokens, end)
        told = truth(world, since=begin, until=end, engine=engine)
        since = self.reset_at
        if told.drafts or self.version in {"2025-04", "2025-03"}:
            self.reset_at = end
            where = "metrics.py:101" if self.version == "0.33.0" else "metrics.py:86"
            yield (
                False,
                self._prefix(end, where) + SPEC_LINES[self.version](told, end - since),
            )

    def _companion(
        self, rounds: Sequence[Round], prompts: Sequence[Request], tokens: int, end: float
    ) -> str:
        lead = (
            f"{self.world.engines} Engines Aggregated: "
            if self.engine is None
            else f"Engine {self.engine:03d}: "
        )
        prompt = sum(one.prompt for one in prompts) / self.interval_s
        return self._prefix(end, "loggers.py:248") + (
            f"{lead}Avg prompt throughput: {prompt:.1f} tokens/s, "
            f"Avg generation throughput: {tokens / self.interval_s:.1f} tokens/s, "
            f"Running: {_running(rounds)} reqs, Waiting: {self.queued} reqs, "
            f"GPU KV cache usage: {_running(rounds) * 1.3:.1f}%, Prefix cache hit rate: 0.0%"
        )

    def _prefix(self, when: float, where: str) -> str:
        return vllm_prefix(when, where, process=self.process)


def _running(rounds: Sequence[Round]) -> int:
    """Requests running at the interval's last step, summed over engines."""
    last: dict[int, int] = {one.engine: one.running for one in rounds}
    return sum(last.values())


def intervals(
    world: World, interval_s: float, since: float, until: float | None
) -> Iterator[tuple[float, float]]:
    end = world.end if until is None else until
    begin = since
    while begin < end:
        yield begin, begin + interval_s
        begin += interval_s


def _rate(told: Truth) -> float:
    return told.acceptance_rate if told.drafted_tokens else float("nan")


def _positions(told: Truth) -> str:
    return ", ".join(f"{share:.3f}" for share in told.per_position)


def spec_line(told: Truth, elapsed_s: float) -> str:
    """The line of 0.11.2 to 0.33.0."""
    return (
        "SpecDecoding metrics: "
        f"Mean acceptance length: {told.tokens_per_round:.2f}, "
        f"Accepted throughput: {told.accepted_tokens / elapsed_s:.2f} tokens/s, "
        f"Drafted throughput: {told.drafted_tokens / elapsed_s:.2f} tokens/s, "
        f"Accepted: {told.accepted_tokens} tokens, "
        f"Drafted: {told.drafted_tokens} tokens, "
        f"Per-position acceptance rate: {_positions(told)}, "
        f"Avg Draft acceptance rate: {100 * _rate(told):.1f}%"
    )


def _september(told: Truth, elapsed_s: float) -> str:
    return (
        "SpecDecoding metrics: "
        f"Draft acceptance rate: {100 * _rate(told):.1f}%, "
        f"Mean acceptance length: {told.tokens_per_round:.2f}, "
        f"Accepted throughput: {told.accepted_tokens / elapsed_s:.2f} tokens/s, "
        f"Drafted throughput: {told.drafted_tokens / elapsed_s:.2f} tokens/s, "
        f"Accepted: {told.accepted_tokens} tokens, "
        f"Drafted: {told.drafted_tokens} tokens, "
        f"Per-position acceptance rate: {_positions(told)}"
    )


def _rate_first(told: Truth, bonus: int) -> str:
    return (
        "SpecDecoding metrics: "
        f"Draft acceptance rate: {100 * _rate(told):.1f}%, "
        f"Mean acceptance length: {told.tokens_per_round - 1 + bonus:.2f}, "
        f"Accepted: {told.accepted_tokens} tokens, "
        f"Drafted: {told.drafted_tokens} tokens, "
        f"Per-position acceptance rate: {_positions(told)}"
    )


def _april(told: Truth, _: float) -> str:
    return (
        "SpecDecoding metrics: "
        f"Draft acceptance rate: {100 * _rate(told):.1f}%, "
        f"Accepted: {told.accepted_tokens} tokens, Drafted: {told.drafted_tokens} tokens"
    )


def _march(told: Truth, _: float) -> str:
    return (
        f"Speculative metrics: Draft acceptance rate: {_rate(told):.3f}, "
        f"Number of accepted tokens: {told.accepted_tokens}, "
        f"Number of draft tokens: {told.drafted_tokens}, "
    )


SPEC_LINES: dict[str, Callable[[Truth, float], str]] = {
    "0.33.0": spec_line,
    "2025-09": _september,
    "0.9.2": lambda told, _: _rate_first(told, bonus=1),
    "0.8.5": lambda told, _: _rate_first(told, bonus=0),
    "2025-04": _april,
    "2025-03": _march,
}
"""The line of each generation, from an interval's truth and the seconds since the last line."""


def diffusion_line(committed: int, steps: int, canvas: int, elapsed_s: float = 10.0) -> str:
    """What a diffusion model's server prints in the same place: no speculation."""
    return (
        f"DiffusionDecoding metrics: Committed token throughput: {committed / elapsed_s:.2f} "
        f"tokens/s, Mean denoising steps per canvas: {canvas / committed:.2f}, "
        f"Mean tokens committed per denoising step: {committed / steps:.2f}, "
        f"Committed: {committed} tokens, Denoising steps: {steps}, "
        f"Canvas positions evaluated: {canvas}"
    )


def vllm_v0_log(
    world: World, version: str = "0.6.6", *, interval_s: float = 5.0, until: float | None = None
) -> str:
    """V0's log: totals since the start, and a rate of tokens kept one by one.

    Its drafts are always k long (it asserts so): a world of other lengths is refused.
    """
    fixed(world)
    lines = []
    bracket = version != "0.4.2"
    for begin, end in intervals(world, interval_s, 0.0, until):
        rounds = list(world.between(begin, end))
        if not rounds:
            continue
        tokens = sum(one.emitted for one in rounds)
        prefix = vllm_prefix(end, "metrics.py:467", bracket=bracket)
        lines.append(
            f"{prefix}Avg prompt throughput: 0.0 tokens/s, "
            f"Avg generation throughput: {tokens / interval_s:.1f} tokens/s, "
            f"Running: {_running(rounds)} reqs, Swapped: 0 reqs, Pending: 0 reqs, "
            "GPU KV cache usage: 4.2%, CPU KV cache usage: 0.0%."
        )
        prefix = vllm_prefix(end, "metrics.py:483", bracket=bracket)
        lines.append(prefix + v0_line(truth(world, until=end), version))
    return "".join(f"{line}\n" for line in lines)


def v0_line(told: Truth, version: str = "0.6.6") -> str:
    """`Speculative metrics: …`: efficiency is emitted tokens over those of perfect drafts."""
    twice = " tokens" if version == "0.4.2" else ""
    emitted = told.accepted_tokens + told.drafts
    most = told.drafted_tokens // told.k * (told.k + 1)
    return (
        "Speculative metrics: "
        f"Draft acceptance rate: {told.agreed_tokens / told.drafted_tokens:.3f}, "
        f"System efficiency: {emitted / most:.3f}, "
        f"Number of speculative tokens: {told.k}, "
        f"Number of accepted tokens: {told.agreed_tokens}, "
        f"Number of draft tokens{twice}: {told.drafted_tokens}, "
        f"Number of emitted tokens{twice}: {emitted}."
    )


def fixed(world: World) -> None:
    if any(one.drafted != world.k for one in world.rounds):
        raise ValueError("V0 drafts k tokens for every request in every step")
