"""AIPerf: a record of each request (profile_export.jsonl) and the summary of a run.

Both have it from what vLLM says of each request. Rates are in percent; the summary's
spec_decode_acceptance_length is a mean over requests and not over rounds, and is not used where
the sums over the run are there. Formats: AIPerf 0.13, docs/metrics-reference.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar, Final

from specplan.dialects.figures import count, counts, mapping, number
from specplan.dialects.once import Once
from specplan.dialects.vllm.request import is_short, is_stats, span_of
from specplan.domain.capture import Found, Noted, Origin, Span

_EXACT: Final = 1e-6
_TOTALS: Final = ("total_spec_decode_steps", "total_draft_tokens", "total_accepted_draft_tokens")
_RECORD: Final = (
    "spec_decode_steps",
    "spec_decode_draft_tokens",
    "spec_decode_accepted_draft_tokens",
)
_MEANS: Final = "spec_decode_acceptance_length"
_DEFINITIONS: Final = {
    "tokens_per_round": "1 + accepted / rounds that verified a draft, the bonus token included",
    "acceptance_rate": "accepted / drafted, in percent",
    "per_position": "from the histogram of drafts kept: unconditional",
    "tokens_per_s": "output tokens over the whole run",
    "context": "mean prompt and half of the mean output",
}


class Records:
    """Reads records, one request each; those of the warm-up are left out."""

    format: ClassVar[str] = "aiperf-records"

    def __init__(self) -> None:
        self._noted = Once()

    def claims(self, document: object) -> bool:
        """A record with figures of speculation."""
        record = mapping(document)
        metrics = mapping(record, "metrics")
        return is_stats(record.get("spec_decode_acceptance")) or (
            "metadata" in record and all(name in metrics for name in _RECORD)
        )

    def read(self, document: object, place: int) -> Iterator[Found]:
        """One request."""
        record = mapping(document)
        if mapping(record, "metadata").get("benchmark_phase") == "warmup":
            yield Noted()
            return
        stats = record.get("spec_decode_acceptance")
        if isinstance(stats, Mapping) and is_stats(stats):
            span = span_of(stats, place)
        else:
            drafts, drafted, accepted = (
                count(mapping(record, "metrics", name).get("value")) for name in _RECORD
            )
            span = Span(drafts=drafts, drafted=drafted, accepted=accepted, line=place)
        for trap, applies in (("bonus-in", True), ("short-drafts", is_short(span))):
            if applies:
                yield from self._noted.trap(trap, place)
        yield span

    def finish(self) -> Iterator[Found]:
        """Nothing more."""
        yield from ()

    def origin(self) -> Origin:
        """AIPerf's records."""
        return _origin()


class Summary:
    """Reads the summary of a run (profile_export_aiperf.json)."""

    format: ClassVar[str] = "aiperf-summary"

    def claims(self, document: object) -> bool:
        """A summary with figures of speculation."""
        return any("avg" in mapping(document, name) for name in (*_TOTALS, _MEANS))

    def read(self, document: object, place: int) -> Iterator[Found]:
        """One run."""
        summary = mapping(document)

        def average(name: str) -> float | None:
            return number(mapping(summary, name).get("avg"))

        drafts, drafted, accepted = (average(name) for name in _TOTALS)
        tau, rate = (
            average("spec_decode_token_weighted_acceptance_length"),
            average("spec_decode_overall_draft_acceptance_rate"),
        )
        prompt, output = average("input_sequence_length"), average("output_sequence_length")
        counted = drafts is not None and accepted is not None
        histogram = counts(summary.get("pooled_spec_decode_acceptance_histogram"))
        stated = [("tau", tau), ("rate", None if rate is None else rate / 100)]
        yield Noted(trap="bonus-in", line=place)
        yield Noted(trap="percent", line=place)
        if average(_MEANS) is not None:
            yield Noted(trap="mean-of-means", line=place)
        yield Span(
            drafts=drafts,
            drafted=drafted,
            accepted=accepted,
            histogram=histogram,
            k=len(histogram) - 1 if len(histogram) > 1 else None,
            tau=None if counted else tau or average(_MEANS),
            weight=average("spec_decode_steps") or 1.0,
            stated=tuple((name, one, _EXACT) for name, one in stated if one is not None)
            if counted
            else (),
            tokens_per_s=average("output_token_throughput"),
            context=None if prompt is None or output is None else prompt + output / 2,
            line=place,
        )

    def finish(self) -> Iterator[Found]:
        """Nothing more."""
        yield from ()

    def origin(self) -> Origin:
        """AIPerf's summary."""
        return _origin()


def _origin() -> Origin:
    return Origin(
        format="aiperf", engine="harness", version_guess="0.13 or newer", definitions=_DEFINITIONS
    )
