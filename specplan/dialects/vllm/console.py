"""What `vllm bench serve` prints at the end of a run, read as the JSON it would have saved."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar, Final

from specplan.dialects.patterns import DECIMAL
from specplan.dialects.vllm.bench import DEFINITIONS, span_of, told, traps
from specplan.domain.capture import Found, Noted, Origin

_LINE = re.compile(r"^\s*(?:[-=]{2,}.*[-=]{2,}|[A-Z][^:]*:\s*[0-9.]*)\s*$")
_ROW = re.compile(rf"^\s*([A-Z][A-Za-z0-9 ()%/.-]*?):\s+({DECIMAL})\s*$")
_POSITION = re.compile(rf"^\s*Position ([0-9]{{1,3}}):\s+({DECIMAL})\s*$")
_DATASET = re.compile(r"dataset_name='([^']{1,200})'")
_KEYS: Final = {
    "Successful requests": "completed",
    "Maximum request concurrency": "max_concurrency",
    "Benchmark duration (s)": "duration",
    "Total input tokens": "total_input_tokens",
    "Total generated tokens": "total_output_tokens",
    "Output token throughput (tok/s)": "output_throughput",
    "Mean TTFT (ms)": "mean_ttft_ms",
    "Mean TPOT (ms)": "mean_tpot_ms",
    "Mean ITL (ms)": "mean_itl_ms",
    "Mean E2EL (ms)": "mean_e2el_ms",
    "Acceptance rate (%)": "spec_decode_acceptance_rate",
    "Acceptance length": "spec_decode_acceptance_length",
    "Drafts": "spec_decode_num_drafts",
    "Draft tokens": "spec_decode_draft_tokens",
    "Accepted tokens": "spec_decode_accepted_tokens",
}
_HALVES: Final = (0.005, 0.00005)  # of the length, and of a percentage as a share


class Console:
    """Reads the table at the end of a run; only one with speculation, as SGLang's looks alike."""

    format: ClassVar[str] = "vllm-bench-console"
    marks: ClassVar[tuple[str, ...]] = (
        "Serving Benchmark Result",
        "Acceptance rate (%):",
    )
    opening: ClassVar[tuple[str, ...]] = ("dataset_name='",)
    trail: ClassVar[int] = 60
    """Lines after one with a mark that are offered too."""

    def __init__(self) -> None:
        self._rows: dict[str, object] = {}
        self._rates: list[float] = []
        self._place = 0
        self._dataset = ""

    def read(self, line: str, place: int) -> Iterator[Found]:
        """A row of the table; the run when another begins."""
        if "Serving Benchmark Result" in line:
            yield from self._run()
            yield Noted()
            return
        dataset = _DATASET.search(line)
        if dataset:
            self._dataset = dataset[1]
            yield Noted()
        position, row = _POSITION.match(line), _ROW.match(line)
        if position and int(position[1]) == len(self._rates):
            self._rates.append(float(position[2]) / 100)
            yield Noted()
        elif row and row[1] in _KEYS:
            self._rows[_KEYS[row[1]]] = float(row[2])
            self._place = place
            yield Noted()
        elif _LINE.match(line):
            yield Noted()

    def finish(self) -> Iterator[Found]:
        """The last run."""
        yield from self._run()

    def origin(self) -> Origin:
        """The benchmark of vLLM."""
        return Origin(
            format="vllm-bench-console",
            engine="vllm",
            version_guess="0.14.1 or newer",
            definitions=DEFINITIONS,
        )

    def _run(self) -> Iterator[Found]:
        rows, rates = self._rows, self._rates
        self._rows, self._rates = {}, []
        if "spec_decode_acceptance_length" not in rows:
            return
        rows["spec_decode_per_position_acceptance_rates"] = rates
        if self._dataset:
            rows["dataset_name"] = self._dataset
        yield from told(rows, self._place)
        span = span_of(rows, self._place, _HALVES)
        yield from traps(rows, span, self._place)
        yield span
