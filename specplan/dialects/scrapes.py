"""Scrapes of /metrics pages, one after another in a text: each is an exposition of its own.

Only lines under the prefixes of the engines are kept, without the buckets of histograms and the
times at which counters were made. A scrape ends where one of its series comes again.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Final

from specplan.dialects.documents import Exposition, Sample
from specplan.dialects.figures import count

PREFIXES: Final = ("vllm", "sglang", "trtllm", "llamacpp")

STARTS: Final = tuple(f"\n{prefix}".encode() for prefix in PREFIXES)
MAX_SERIES: Final = 100_000
"""Of one scrape; engines have a few hundred."""

_SERIES = re.compile(
    rf"((?:{'|'.join(PREFIXES)})[:_][A-Za-z0-9_:]+(?:\{{.*\}})?)(\s*\|\s*|\s+)(\S.*)"
)
_ANY = re.compile(
    rb"^(?:#[^\n]*|[A-Za-z_][A-Za-z0-9_:]*(?:\{[^\n]*\})?(?: +\|)? +[-+.0-9eEnNaAiIfF]+[^\n]*)$",
    re.MULTILINE,
)


def looks_so(line: bytes) -> bool:
    """Whether a line may be a sample of an engine."""
    return line.startswith(tuple(start[1:] for start in STARTS))


def counted(block: bytes) -> int:
    """Lines of a block that are an exposition's, of whatever process."""
    return sum(1 for _ in _ANY.finditer(block))


class Scrapes:
    """The scrape that is being read."""

    def __init__(self) -> None:
        self._lines: dict[str, str] = {}
        self._place = 0

    def take(self, line: str, place: int) -> Iterator[tuple[Exposition, int]]:
        """Adds a line; yields the scrape before it, and its place, where it begins another."""
        match = _SERIES.fullmatch(line.strip())
        if not match:
            return
        series, _, value = match.groups()
        name = series.partition("{")[0]
        if name.endswith(("_bucket", "_created")):
            return
        if series in self._lines or len(self._lines) >= MAX_SERIES:
            yield from self.end()
        self._place = self._place or place
        self._lines[series] = f"{series} {value}\n"

    def end(self) -> Iterator[tuple[Exposition, int]]:
        """The scrape read so far."""
        found = tuple(_samples("".join(self._lines.values())))
        samples = tuple(one for one in found if math.isfinite(one.value))
        odd = {one.name for one in found if _is_counter(one.name) and count(one.value) is None}
        place, self._place = self._place, 0
        self._lines = {}
        if samples:
            yield Exposition(samples, tuple(sorted(odd))), place


def _is_counter(name: str) -> bool:
    """Whether a name is a counter's; NaN elsewhere is what a summary of nothing prints."""
    return name.endswith("_total")


def _samples(text: str) -> Iterator[Sample]:
    """The samples of lines, those that cannot be read left out."""
    if not text:
        return
    from prometheus_client.parser import text_string_to_metric_families  # noqa: PLC0415 - 60 ms

    try:
        families = list(text_string_to_metric_families(text))
    except (ValueError, IndexError):
        lines = text.splitlines(keepends=True)
        if len(lines) > 1:
            for line in lines:
                yield from _samples(line)
        return
    for family in families:
        for sample in family.samples:
            yield Sample(sample.name, dict(sample.labels), _float(sample.value))


def _float(value: float) -> float:
    """A whole number of any length as a float: beyond all floats it is infinite."""
    try:
        return float(value)
    except OverflowError:
        return math.inf
