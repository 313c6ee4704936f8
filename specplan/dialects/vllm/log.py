"""vLLM's log: V1's lines every ten seconds and V0's every five, with what it says when it starts.

Each engine prints one line of its load and, if anything was drafted, one of its speculation; the
second does not say which engine's it is, so it belongs to the line before it of the same process.
Formats: vllm/v1/metrics/loggers.py, vllm/engine/metrics.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Final

from specplan.dialects.once import Once
from specplan.dialects.patterns import DECIMAL, WHOLE
from specplan.dialects.vllm import deployment
from specplan.dialects.vllm.spec_line import (
    MEAN_HALF,
    POSITION_HALF,
    RATE_HALF,
    SpecLine,
    counts,
    drafts_of,
    parsed,
)
from specplan.dialects.vllm.v0 import Totals
from specplan.domain.capture import Found, Noted, Origin, Span, Told

_SPEC_MARKS: Final = ("cceptance rate: ", "Committed token throughput")
_LOAD_MARK: Final = "Avg generation throughput"
_NEGATIVE = re.compile(r"(?:Accepted|Drafted): -[0-9]+ tokens")
_PROCESS = re.compile(r"\((\w+ pid=[0-9]+)\)")
_ENGINE = re.compile(rf"Engine ({WHOLE}): |({WHOLE}) Engines Aggregated: ")
_LOAD = re.compile(
    rf"Avg generation throughput: ({DECIMAL}) tokens/s, Running: ({WHOLE}) reqs"
    rf".{{0,99}}?(?:Waiting|Pending): ({WHOLE}) reqs(?:.{{0,99}}?GPU KV cache usage: ({DECIMAL})%)?"
)
_PROMPTS = re.compile(rf"Avg prompt throughput: ({DECIMAL}) tokens/s")
_LEAST_USE: Final = 0.01  # of the KV pool: below, one digit behind the point says too little

DEFINITIONS: Final = {
    "tokens_per_round": "mean acceptance length, the bonus token included (excluded in 0.8)",
    "acceptance_rate": "accepted / drafted, printed in percent",
    "per_position": "drafts accepted up to that position over all drafts: unconditional",
    "batch": "requests running when the line was printed",
    "tokens_per_s": "generated in the interval, speculation or not",
    "context": "tokens of the KV pool in use over requests running",
}
_V0_DEFINITIONS: Final = {
    "tokens_per_round": "system efficiency x (k + 1), the bonus token included",
    "acceptance_rate": "tokens emitted less one a round, over drafted; the rate printed counts "
    "tokens kept one by one and is not used",
    "batch": "requests running when the line was printed",
    "tokens_per_s": "generated in the interval, speculation or not",
}


@dataclass(frozen=True, slots=True)
class _Load:
    """A line of one engine's load that waits for the line of its speculation."""

    engine: str = ""
    running: float | None = None
    waiting: float | None = None
    rate: float | None = None
    prompts: float | None = None
    context: float | None = None
    place: int = 0

    def span(self, group: str = "") -> Span:
        """The load alone."""
        return Span(
            running=self.running,
            waiting=self.waiting,
            tokens_per_s=self.rate,
            prompt_tokens_per_s=self.prompts,
            context=self.context,
            group=group,
            line=self.place,
        )


class Log:
    """Reads lines of vLLM's log."""

    format: ClassVar[str] = "vllm-log"
    marks: ClassVar[tuple[str, ...]] = (*_SPEC_MARKS, _LOAD_MARK)
    starts: ClassVar[tuple[str, ...]] = deployment.STARTS
    opening: ClassVar[tuple[str, ...]] = deployment.OPENING

    def __init__(self) -> None:
        self._waiting: dict[str, _Load] = {}
        self._v0: dict[str, Totals] = {}
        self._groups: list[str] = []
        self._engines: dict[str, str] = {}  # by process, the first
        self._group = ""
        self._noted = Once()
        self._k: int | None = None
        self._pool: int | None = None
        self._version = ""
        self._shape = ""

    def read(self, line: str, place: int) -> Iterator[Found]:
        """What a line says."""
        process = _PROCESS.search(line)
        source = process[1] if process else ""
        if "DiffusionDecoding metrics" in line:
            yield from self._note("diffusion", place)
        elif "SpecDecoding metrics" in line or "Speculative metrics" in line:
            yield from self._speculation(line, place, source)
        elif _LOAD_MARK in line:
            yield from self._load(line, place, source)
        else:
            told = deployment.facts(line)
            if told:
                k, version, pool = (told.get(name) for name in ("k", "version", "pool_tokens"))
                self._k = k if isinstance(k, int) else self._k
                self._pool = pool if isinstance(pool, int) else self._pool
                self._version = str(version) if version else self._version
                yield Told(facts=told, line=place)

    def finish(self) -> Iterator[Found]:
        """Loads after which nothing was drafted."""
        for load in self._waiting.values():
            yield load.span()
        self._waiting = {}

    def origin(self) -> Origin:
        """V0's or V1's log, by the lines read."""
        is_v0 = bool(self._v0)
        return Origin(
            format="vllm-v0-log" if is_v0 else "vllm-v1-log",
            engine="vllm",
            version_guess=self._version or self._shape,
            definitions=_V0_DEFINITIONS if is_v0 else DEFINITIONS,
        )

    def _load(self, line: str, place: int, source: str) -> Iterator[Found]:
        match = _LOAD.search(line)
        if not match:
            return
        before = self._waiting.pop(source, None)
        yield before.span() if before else Noted()
        engine = _ENGINE.search(line)
        rate, running = float(match[1]), int(match[2])
        prompts = _PROMPTS.search(line)
        several = bool(engine and engine[2] and int(engine[2]) > 1)
        if several:
            yield from self._note("data-parallel", place)
        if rate or running:
            self._waiting[source] = _Load(
                engine=engine[1] or "" if engine else "",
                # a request that ended just before the line was still part of the interval
                running=running or None,
                waiting=int(match[3]),
                rate=rate,
                prompts=float(prompts[1]) if prompts else None,
                context=None if several else self._context(match[4], running),
                place=place,
            )

    def _context(self, percent: str | None, running: int) -> float | None:
        use = float(percent) / 100 if percent else 0.0
        return use * self._pool / running if self._pool and running and use >= _LEAST_USE else None

    def _speculation(self, line: str, place: int, source: str) -> Iterator[Found]:
        load = self._waiting.pop(source, None)
        group, seen_again = self._grouped(source, load.engine if load else "")
        if seen_again:
            yield from self._note("data-parallel", place)
        if "System efficiency" in line and "efficiency: nan" not in line:
            yield from self._old(line, place, source, load, group)
            return
        said = parsed(line)
        if said is None:
            unsound = _NEGATIVE.search(line)
            yield load.span(group) if load else Noted()
            if unsound:
                yield Noted(warning=f"left out, being below 0: {unsound[0]}", line=place)
            return
        drafts = drafts_of(said, self._k)
        self._shape = _shape(said)
        yield from self._traps(said, drafts, place)
        yield self._span(said, drafts, load or _Load(), group, place)

    def _span(
        self, said: SpecLine, drafts: int | None, load: _Load, group: str, place: int
    ) -> Span:
        stated = [("rate", said.rate, RATE_HALF), ("tau", said.tau, MEAN_HALF)]
        stated += [(f"at:{i}", rate, POSITION_HALF) for i, rate in enumerate(said.positions)]
        return Span(
            drafts=drafts,
            drafted=said.drafted,
            accepted=said.accepted,
            at_position=counts(said, drafts) if drafts else (),
            stated=tuple((name, value, half) for name, value, half in stated if value is not None),
            k=len(said.positions) or self._k,
            running=load.running,
            waiting=load.waiting,
            tokens_per_s=load.rate,
            prompt_tokens_per_s=load.prompts,
            context=load.context,
            duration_s=said.drafted / said.throughput if said.throughput else None,
            group=group,
            line=place,
        )

    def _traps(self, said: SpecLine, drafts: int | None, place: int) -> Iterator[Found]:
        longest = len(said.positions) or self._k
        yield from self._note("no-drafts-count", place)
        if said.mean is not None:
            yield from self._note("bonus-in" if said.bonus_in else "bonus-out", place)
        if said.percent:
            yield from self._note("percent", place)
        if drafts and longest and said.accepted <= said.drafted < drafts * longest:
            yield from self._note("short-drafts", place)

    def _old(
        self, line: str, place: int, source: str, load: _Load | None, group: str
    ) -> Iterator[Found]:
        totals = self._v0.setdefault(source, Totals())
        found = totals.difference(line, (load or _Load()).span(group))
        if found is None:  # cut off
            yield load.span(group) if load else Noted()
            return
        for trap in ("cumulative", "per-token-rate", "no-drafts-count"):
            yield from self._note(trap, place)
        if totals.restarted:
            yield from self._note("counter-reset", place)
        self._shape = "0.4 to 0.8, V0"
        yield replace(found, line=place)

    def _grouped(self, source: str, engine: str) -> tuple[str, bool]:
        """The name of a group, none for the first, and whether several print in turn: engines of
        one process do, a process that follows another does not.
        """
        name = f"{source} {engine}".strip()
        again = name in self._groups and name != self._group
        self._engines.setdefault(source, engine)
        again = again or (bool(engine) and self._engines[source] not in {engine, ""})
        if name not in self._groups:
            self._groups.append(name)
        self._group = name
        return (name if self._groups.index(name) else ""), again

    def _note(self, trap: str, place: int) -> Iterator[Found]:
        """The trap where it is first met; elsewhere that the line was read."""
        yield Noted(trap=trap, line=place) if self._noted.first(trap) else Noted()


def _shape(said: SpecLine) -> str:
    """The versions that print a line so."""
    if said.mean_first:
        return "0.10.2 or newer"
    if said.throughput is not None:
        return "0.10"
    if said.mean is not None:
        return "0.9 to 0.10" if said.bonus_in else "0.8.5"
    return "0.8.3 to 0.8.4"
