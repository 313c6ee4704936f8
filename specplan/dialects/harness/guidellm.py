"""guidellm's benchmarks.json: it sums up no acceptance, and passes on what vLLM says of each
request (0.8; the server has to be told to say it). Format: guidellm/schemas.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import ClassVar, Final

from specplan.dialects.figures import count, mapping
from specplan.dialects.once import Once
from specplan.dialects.vllm.request import found_in, is_short, span_of
from specplan.domain.capture import Found, Origin, Span, Told

_DEFINITIONS: Final = {
    "tokens_per_round": "1 + accepted / rounds that verified a draft, the bonus token included",
    "acceptance_rate": "accepted / drafted",
    "per_position": "from the histogram of drafts kept: unconditional",
    "batch": "requests in flight on average, of each benchmark",
    "tokens_per_s": "output tokens per second, of each benchmark",
    "context": "mean prompt and half of the mean output, of each benchmark",
}


class Guidellm:
    """Reads reports: requests with the load of the benchmark that they are of."""

    format: ClassVar[str] = "guidellm"

    def __init__(self) -> None:
        self._noted = Once()

    def claims(self, document: object) -> bool:
        """A report of benchmarks with requests or metrics."""
        return bool(_benchmarks(document))

    def read(self, document: object, place: int) -> Iterator[Found]:
        """One report."""
        target = mapping(document, "args").get("model")
        if isinstance(target, str):
            yield Told(facts={"target": target[:200]}, line=place)
        for benchmark in _benchmarks(document):
            load = _load(benchmark, place)
            spans = list(_requests(benchmark, load))
            for span in spans:
                for trap, applies in (("bonus-in", True), ("short-drafts", is_short(span))):
                    if applies:
                        yield from self._noted.trap(trap, place)
                yield span
            if not spans:
                yield load

    def finish(self) -> Iterator[Found]:
        """Nothing more."""
        yield from ()

    def origin(self) -> Origin:
        """A report of guidellm."""
        return Origin(
            format=self.format,
            engine="harness",
            version_guess="0.8 or newer" if self._noted else "",
            definitions=_DEFINITIONS,
        )


def _benchmarks(document: object) -> list[Mapping[str, object]]:
    found = mapping(document).get("benchmarks")
    if not isinstance(found, list):
        return []
    marks = ("output_tokens_per_second", "request_concurrency")
    return [
        one
        for one in found
        if isinstance(one, dict) and any(mark in mapping(one, "metrics") for mark in marks)
    ]


def _load(benchmark: Mapping[str, object], place: int) -> Span:
    def mean(name: str) -> float | None:
        return count(mapping(benchmark, "metrics", name, "successful").get("mean"))

    prompt, output = mean("prompt_token_count"), mean("output_token_count")
    return Span(
        running=mean("request_concurrency"),
        tokens_per_s=mean("output_tokens_per_second"),
        context=None if prompt is None or output is None else prompt + output / 2,
        line=place,
    )


def _requests(benchmark: Mapping[str, object], load: Span) -> Iterator[Span]:
    successful = mapping(benchmark, "requests").get("successful")
    for request in successful if isinstance(successful, list) else ():
        passed = mapping(request).get("response_metrics")
        stats = found_in(passed) or found_in({"metrics": passed})
        if stats is not None:
            yield replace(
                span_of(stats, load.line),
                running=load.running,
                tokens_per_s=load.tokens_per_s,
                context=load.context,
            )
