"""SGLang's `bench_serving`: JSON Lines, one object a run, and what it and others print.

`accept_length` is the server's average since it started, not the run's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import ClassVar, Final

from specplan.dialects.figures import first, mapping, mappings, positive, scalar, written
from specplan.dialects.once import Once
from specplan.dialects.sglang.deployment import (
    ALGORITHM,
    OPTIONS,
    is_tree,
    longest_draft,
    rate_of,
    said,
)
from specplan.domain.answer import Scalar
from specplan.domain.capture import Found, Noted, Origin, Span, Told

KEYS: Final = (*OPTIONS, ALGORITHM)
CHUNKS: Final = 1.05  # ITL over TPOT: from here on chunks hold several tokens
DEFINITION: Final = "accept length: (accepted + bonus) / rounds since the server started"


class Bench:
    """Reads results of `bench_serving --output-file`."""

    format: ClassVar[str] = "sglang-bench"

    def __init__(self) -> None:
        self._last: dict[str, Span] = {}  # by server: its average as the last run found it
        self._noted = Once()

    def claims(self, document: object) -> bool:
        """Whether it is one run."""
        return (
            isinstance(document, dict)
            and "accept_length" in document
            and ("total_output_tokens" in document or "duration" in document)
        )

    def read(self, document: object, place: int) -> Iterator[Found]:
        """A run's load; the average waits, since that of a later run holds it."""
        if not isinstance(document, dict):
            return
        options = _server(document)
        yield from said(options, place)
        facts = _facts(document)
        if facts:
            yield Told(facts=facts, line=place)
        tau = first(document, "accept_length")
        yield from self._traps(document, place)
        tokens = first(document, "total_output_tokens")
        yield Span(
            running=first(document, "concurrency"),
            tokens_per_s=first(document, "output_throughput"),
            duration_s=first(document, "duration"),
            tokens=tokens,
            line=place,
        )
        if tau is not None and tau >= 1:
            server = str(sorted((key, str(value)) for key, value in options.items() if key in KEYS))
            earlier = self._last.get(server)
            rounds = (tokens or 0.0) / tau + (earlier.weight if earlier else 0.0)
            self._last[server] = self._average(document, options, max(rounds, 1.0), place)

    def finish(self) -> Iterable[Found]:
        """The average of each server."""
        return list(self._last.values())

    def origin(self) -> Origin:
        """`bench_serving` of any version."""
        definitions = {"tokens_per_round": DEFINITION}
        return Origin(format=self.format, engine="sglang", definitions=definitions)

    def _average(
        self, document: Mapping[str, object], options: Mapping[str, object], rounds: float, at: int
    ) -> Span:
        k = longest_draft(options)
        rate = None if is_tree(options) else first(document, "accept_rate")
        return Span(
            tau=first(document, "accept_length"),
            rate=rate_of(first(document, "accept_length"), options),
            weight=rounds,
            stated=(("rate", rate, 5e-4),) if rate is not None and k else (),
            k=k,
            line=at,
        )

    def _traps(self, document: Mapping[str, object], place: int) -> Iterator[Found]:
        traps = []
        if first(document, "accept_length"):
            traps += ["bonus-in", "lifetime", "no-drafts-count"]
            itl, tpot = first(document, "mean_itl_ms"), first(document, "mean_tpot_ms")
            if itl and tpot and itl > CHUNKS * tpot:
                traps.append("itl-per-chunk")
        if "random" in str(document.get("dataset_name", "")):
            traps.append("random-dataset")
        for trap in traps:
            yield from self._noted.trap(trap, place)


def _server(document: Mapping[str, object]) -> dict[str, object]:
    """The server's options, as it told the benchmark, ranks of a router taken as one."""
    info = dict(mapping(document, "server_info"))
    for state in mappings(info.get("internal_states")):
        info = {**state, **info}
        break
    return info


def _facts(document: Mapping[str, object]) -> dict[str, Scalar]:
    facts: dict[str, Scalar] = {}
    for theirs, ours in (("dataset_name", "dataset"), ("max_concurrency", "max_concurrency")):
        value = scalar(document.get(theirs))
        if value is not None:
            facts[ours] = value
    for name in ("mean_tpot_ms", "mean_itl_ms"):
        value = first(document, name)
        if value is not None:
            facts[name] = value
    for theirs, ours in (("random_input_len", "input"), ("random_output_len", "output")):
        value = first(document, theirs)
        if value is not None and "random" in str(document.get("dataset_name", "")):
            facts[ours] = int(value)
    return facts


_ROW: Final = re.compile(
    r"^\s*([A-Z#][A-Za-z0-9 /().#]*?):\s+([\d.]+)(?:\s+token/s)?\s*$", re.ASCII
)
_MTBENCH: Final = re.compile(r"Throughput: ([\d.]+) token/s, Acceptance length: ([\d.]+)", re.ASCII)
_ROWS: Final = {
    "Accept length": "tau",
    "Output throughput": "tokens_per_s",
    "Output token throughput (tok/s)": "tokens_per_s",
    "Concurrency": "running",
    "Benchmark duration (s)": "duration_s",
    "Total generated tokens": "tokens",
    "Mean TPOT (ms)": "mean_tpot_ms",
    "Mean ITL (ms)": "mean_itl_ms",
}
_TITLE: Final = "Serving Benchmark Result"


class Console:
    """Reads what `bench_serving`, SpecForge's `bench_eagle3` and `run_mtbench` print."""

    format: ClassVar[str] = "sglang-bench-console"
    marks: ClassVar[tuple[str, ...]] = (
        "Accept length:",
        "Acceptance length:",
        "Output throughput",
        _TITLE,
    )
    trail: ClassVar[int] = 60
    """Lines after one with a mark that are offered too."""

    def __init__(self) -> None:
        self._rows: dict[str, float] = {}
        self._place = 0
        self._noted = Once()

    def read(self, line: str, place: int) -> Iterator[Found]:
        """A row of a result; nothing is told before the result is whole."""
        if match := _MTBENCH.search(line):
            speed, tau = written(match[1]), written(match[2])
            if tau is not None and tau >= 1:
                yield from self._span({"tau": tau, "tokens_per_s": speed or 0.0}, place)
            return
        if _TITLE in line:
            yield from self._result()
            return
        match = _ROW.match(line)
        name = _ROWS.get(match[1]) if match else None
        value = written(match[2]) if match else None
        if name is None or value is None:
            return
        yield Noted()
        if name in self._rows:
            yield from self._result()
        self._rows[name] = value
        if name == "tau":
            self._place = place

    def finish(self) -> Iterator[Found]:
        """The last result."""
        yield from self._result()

    def origin(self) -> Origin:
        """Any version."""
        definitions = {"tokens_per_round": DEFINITION}
        return Origin(format=self.format, engine="sglang", definitions=definitions)

    def _result(self) -> Iterator[Found]:
        rows, self._rows = self._rows, {}
        if rows.get("tau", 0.0) >= 1:
            yield from self._span(rows, self._place)

    def _span(self, rows: Mapping[str, float], place: int) -> Iterator[Found]:
        itl, tpot = rows.get("mean_itl_ms"), rows.get("mean_tpot_ms")
        named: dict[str, Scalar] = {"mean_itl_ms": itl, "mean_tpot_ms": tpot}
        times = {name: value for name, value in named.items() if value is not None}
        if times:
            yield Told(facts=times, line=place)
        chunks = ["itl-per-chunk"] if itl and tpot and itl > CHUNKS * tpot else []
        for trap in ("bonus-in", "lifetime", "no-drafts-count", *chunks):
            yield from self._noted.trap(trap, place)
        tau, tokens = rows["tau"], rows.get("tokens")
        yield Span(
            tau=tau,
            weight=max(tokens / tau, 1.0) if tokens else 1.0,
            running=rows.get("running"),
            tokens_per_s=positive(rows.get("tokens_per_s")),
            duration_s=rows.get("duration_s"),
            tokens=tokens,
            line=place,
        )
