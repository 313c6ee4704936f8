"""What one request's answer says of its own drafts (vLLM 0.27 and newer, vllm#48915).

The object is `metrics.speculative_decoding` of a response, or of the last chunk of a stream, or
stands alone; load generators pass it on. Where each round is listed, the drafts proposed at each
position are known exactly.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar, Final

from specplan.dialects.figures import count, counts, mapping, number, whole
from specplan.dialects.once import Once
from specplan.domain.capture import Found, Origin, Span, Told

DEFINITIONS: Final = {
    "tokens_per_round": "1 + accepted / rounds that verified a draft, the bonus token included",
    "acceptance_rate": "accepted / drafted",
    "per_position": "from the histogram of drafts kept: unconditional",
}
EXACT: Final = 1e-6
_PATHS: Final = (("metrics", "speculative_decoding"), ("speculative_decoding",), ())


def is_stats(value: object) -> bool:
    """Whether an object is one request's figures."""
    return (
        isinstance(value, Mapping)
        and "num_spec_steps" in value
        and "num_accepted_draft_tokens" in value
    )


def found_in(document: object) -> Mapping[str, object] | None:
    """The figures in a response, or None."""
    for path in _PATHS:
        stats = mapping(document, *path)
        if is_stats(stats):
            return stats
    choices = mapping(document).get("choices")
    if isinstance(choices, list) and len(choices) == 1:  # what AIPerf looks for
        stats = mapping(choices[0], "speculative_decoding_stats")
        return stats if is_stats(stats) else None
    return None


def span_of(stats: Mapping[str, object], place: int) -> Span:
    """One request's rounds. It is a group of its own: requests differ."""
    kept, drafted = counts(stats.get("per_step_accepted")), counts(stats.get("per_step_drafted"))
    listed = bool(kept) and len(kept) == len(drafted)
    k = whole(stats.get("num_spec_tokens"))
    tau, rate = (
        number(stats.get("mean_acceptance_length")),
        number(stats.get("draft_acceptance_rate")),
    )
    steps, tokens = count(stats.get("num_spec_steps")), count(stats.get("num_draft_tokens"))
    stated = [("tau", tau if steps else None), ("rate", rate if tokens else None)]
    return Span(
        drafts=steps,
        drafted=tokens,
        accepted=count(stats.get("num_accepted_draft_tokens")),
        at_position=_reached(kept) if listed else (),
        drafted_at=_reached(drafted) if listed else (),
        histogram=() if listed else counts(stats.get("acceptance_histogram")),
        stated=tuple((name, value, EXACT) for name, value in stated if value is not None),
        k=k,
        line=place,
    )


def is_short(span: Span) -> bool:
    """Whether some drafts were shorter than the longest allowed."""
    return bool(
        span.k and span.drafts and span.drafted is not None and span.drafted < span.drafts * span.k
    )


class Requests:
    """Reads responses, one document each."""

    format: ClassVar[str] = "vllm-request"

    def __init__(self) -> None:
        self._noted = Once()

    def claims(self, document: object) -> bool:
        """A response with the figures, or the figures alone."""
        return found_in(document) is not None

    def read(self, document: object, place: int) -> Iterator[Found]:
        """The figures of one request."""
        stats = found_in(document)
        if stats is None:
            return
        span = span_of(stats, place)
        model = mapping(document).get("model")
        for trap, applies in (("bonus-in", True), ("short-drafts", is_short(span))):
            if applies:
                yield from self._noted.trap(trap, place)
        if isinstance(model, str) and self._noted.first("target"):
            yield Told(facts={"target": model[:200]}, line=place)
        yield span

    def finish(self) -> Iterator[Found]:
        """Nothing more."""
        yield from ()

    def origin(self) -> Origin:
        """The engine's own figures of a request."""
        return Origin(
            format="vllm-request",
            engine="vllm",
            version_guess="0.27 or newer",
            definitions=DEFINITIONS,
        )


def _reached(lengths: tuple[float, ...]) -> tuple[float, ...]:
    """How many of some lengths reach the first position, the second, ..."""
    longest = min(int(max(lengths, default=0)), 1024)
    return tuple(float(sum(1 for one in lengths if one > place)) for place in range(longest))
