"""TensorRT-LLM's statistics of iterations: GET /metrics gives those since it was read last.

Only iterations that verified drafts count. Under attention data parallelism every rank repeats
the figures of rank 0.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import ClassVar, Final

from specplan.dialects.figures import first, mapping, positive
from specplan.dialects.once import Once
from specplan.domain.capture import Found, Origin, Span

SPEC: Final = "specDecodingStats"
BATCHING: Final = "inflightBatchingStats"
EXACT: Final = 5e-4  # of an acceptance length, which is printed in full or as a float of 32 bits


class Iterations:
    """Reads iterations: an array of them, or one a line, as objects or as their text."""

    format: ClassVar[str] = "trtllm-iterations"

    def __init__(self) -> None:
        self._noted = Once()
        self._uncounted = False
        self._idle: set[float] = set()

    def claims(self, document: object) -> bool:
        """Whether it is an iteration, or an array that begins with one."""
        if isinstance(document, list) and document:
            document = _parsed(document[0])
        return (
            isinstance(document, dict)
            and "iter" in document
            and any(key in document for key in ("iterLatencyMS", SPEC, BATCHING))
        )

    def read(self, document: object, place: int) -> Iterator[Found]:
        """What each iteration says."""
        for row in document if isinstance(document, list) else [document]:
            iteration = _parsed(row)
            if isinstance(iteration, dict):
                yield from self._iteration(iteration, place)

    def finish(self) -> Iterable[Found]:
        """Nothing more."""
        return ()

    def origin(self) -> Origin:
        """The versions that count so."""
        guess = "before 1.3" if self._uncounted else ""
        if not guess and self._idle:
            guess = "older drafters" if 1.0 in self._idle else "1.3 or newer"
        return Origin(
            format=self.format,
            engine="trtllm",
            version_guess=guess,
            definitions={
                "drafts": "numRequestsWithDraftTokens over iterations with draft tokens",
                "tokens_per_round": "1 + numAcceptedTokens / numRequestsWithDraftTokens",
                "acceptance_rate": "numAcceptedTokens / numDraftTokens",
                "step_s": "iterLatencyMS less the drafter's, of iterations without prompts",
            },
        )

    def _iteration(self, row: Mapping[str, object], place: int) -> Iterator[Found]:
        rank = first(row, "attentionDpRank") or 0.0
        spec, batching = mapping(row, SPEC), mapping(row, BATCHING)
        drafted = first(spec, "numDraftTokens") or 0.0
        running = first(batching, "numGenRequests")
        running = running if running is not None else first(row, "numActiveRequests")
        if rank:
            yield from self._noted.trap("rank-copies", place)
            return
        if not drafted:
            self._idle.add(first(spec, "acceptanceLength") or 0.0)
            yield from self._plain(row, batching, running, place)
            return
        yield from self._noted.trap("bonus-in", place)
        length = first(spec, "acceptanceLength")
        accepted = first(spec, "numAcceptedTokens")
        drafts = positive(first(spec, "numRequestsWithDraftTokens"))
        if drafts is None:
            self._uncounted = True
            yield from self._noted.trap("no-drafts-count", place)
            drafts = _worked_out(accepted, length, first(batching, "numGenRequests"))
        seconds = _seconds(row)
        yield Span(
            drafts=drafts,
            drafted=drafted,
            accepted=accepted,
            stated=(("tau", length, EXACT),) if length else (),
            k=math.ceil(drafted / drafts) if drafts else None,
            running=running,
            waiting=first(row, "numQueuedRequests"),
            tokens_per_s=_speed(running, accepted, seconds),
            duration_s=seconds,
            draft_s=_drafting(spec, seconds),
            step_s=_verifying(spec, batching, seconds),
            line=place,
        )

    def _plain(
        self,
        row: Mapping[str, object],
        batching: Mapping[str, object],
        running: float | None,
        place: int,
    ) -> Iterator[Span]:
        """An iteration that drafted nothing, if it made tokens: a plain step of the target."""
        if not running:
            return
        seconds = _seconds(row)
        yield Span(
            weight=running,
            running=running,
            waiting=first(row, "numQueuedRequests"),
            tokens_per_s=_speed(running, 0.0, seconds),
            duration_s=seconds,
            step_s=None if first(batching, "numContextRequests") else seconds,
            line=place,
        )


def _parsed(row: object) -> object:
    """An iteration that was kept as its text, as `LLM.get_stats` of some versions has it."""
    if not isinstance(row, str) or not row.startswith("{"):
        return row
    try:
        return json.loads(row)
    except (ValueError, RecursionError):
        return None


def _worked_out(
    accepted: float | None, length: float | None, generating: float | None
) -> float | None:
    """Requests with drafts: accepted / (length - 1); all that generate, where none was kept."""
    if not accepted or not length or length <= 1:
        return positive(generating)
    return positive(float(round(accepted / (length - 1))))


def _seconds(row: Mapping[str, object]) -> float | None:
    milliseconds = positive(first(row, "iterLatencyMS"))
    return milliseconds / 1e3 if milliseconds else None


def _speed(running: float | None, accepted: float | None, seconds: float | None) -> float | None:
    """Every generating request makes a token, and those that drafted what they kept."""
    if not running or accepted is None or not seconds:
        return None
    return (running + accepted) / seconds


def _drafting(spec: Mapping[str, object], seconds: float | None) -> float | None:
    """A drafter inside the target's own pass is not timed: it says 0."""
    milliseconds = positive(first(spec, "iterLatencyMS"))
    if milliseconds:
        return milliseconds / 1e3
    overhead = positive(first(spec, "draftOverhead"))
    return overhead * seconds if overhead and overhead < 1 and seconds else None


def _verifying(
    spec: Mapping[str, object], batching: Mapping[str, object], seconds: float | None
) -> float | None:
    """What is left of an iteration without prompts when drafting is taken off."""
    drafting = _drafting(spec, seconds)
    if drafting is None or seconds is None or first(batching, "numContextRequests"):
        return None
    return seconds - drafting if drafting < seconds else None
