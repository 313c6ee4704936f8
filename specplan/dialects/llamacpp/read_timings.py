"""llama.cpp's `timings`: in a response, alone, or in the chunks of a stream.

    predicted_n, predicted_ms, ... and, where anything was drafted, draft_n and draft_n_accepted

Rounds are not among them. Every pass of the target makes one token that was not drafted, and the
first token is the prompt's own: passes = predicted_n - 1 - draft_n_accepted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

from specplan.dialects.figures import first, mapping, positive
from specplan.dialects.once import Once
from specplan.domain.capture import Found, Origin, Span


class Timings:
    """Reads timings, one request each; of the chunks of a stream the last holds the others."""

    format: ClassVar[str] = "llamacpp-timings"

    def __init__(self) -> None:
        self._held: tuple[object, Mapping[str, object], int] | None = None
        self._noted = Once()
        self._build = ""

    def claims(self, document: object) -> bool:
        """Whether there are timings."""
        return bool(_timings(document))

    def read(self, document: object, place: int) -> Iterator[Found]:
        """A request, or the chunk of one."""
        timings = _timings(document)
        if not timings or not isinstance(document, dict):
            return
        build = document.get("system_fingerprint")
        if isinstance(build, str) and build[:1] == "b" and build[1:2].isdigit():
            self._build = build.partition("-")[0]
        stream, ended = _stream(document)
        if self._held is not None and (stream is None or self._held[0] != stream):
            yield from self._flush()
        self._held = (stream, timings, place)
        if ended:
            yield from self._flush()

    def finish(self) -> Iterator[Found]:
        """The last stream."""
        yield from self._flush()

    def origin(self) -> Origin:
        """The build, where a response names it."""
        return Origin(
            format=self.format,
            engine="llamacpp",
            version_guess=self._build,
            definitions={
                "drafts": "not printed: passes, predicted_n - 1 - draft_n_accepted",
                "acceptance_rate": "draft_n_accepted / draft_n",
            },
        )

    def _flush(self) -> Iterator[Found]:
        held, self._held = self._held, None
        if held is not None:
            yield from self._request(held[1], held[2])

    def _request(self, timings: Mapping[str, object], place: int) -> Iterator[Found]:
        tokens = first(timings, "predicted_n")
        milliseconds = positive(first(timings, "predicted_ms"))
        drafted, accepted = first(timings, "draft_n"), first(timings, "draft_n_accepted")
        if tokens is None:
            return
        prompt = (first(timings, "prompt_n") or 0.0) + (first(timings, "cache_n") or 0.0)
        passes = positive(max(tokens - 1 - (accepted or 0.0), 0.0))
        seconds = milliseconds / 1e3 if milliseconds else None
        if drafted:
            for trap in ("no-drafts-count", "prefill-token"):
                yield from self._noted.trap(trap, place)
        yield Span(
            drafts=passes if drafted else None,
            drafted=drafted or None,
            accepted=accepted if drafted else None,
            weight=passes or 1.0,
            tokens_per_s=tokens / seconds if seconds else None,
            duration_s=seconds,
            tokens=tokens,
            step_s=seconds / passes if seconds and passes and not drafted else None,
            context=prompt + tokens / 2 if prompt else None,
            line=place,
        )


def _timings(document: object) -> Mapping[str, object]:
    if not isinstance(document, dict):
        return {}
    found = mapping(document, "timings") or document
    return found if "predicted_n" in found and "predicted_ms" in found else {}


def _stream(document: Mapping[str, object]) -> tuple[object, bool]:
    """What chunks of one stream share, None where the response is whole; and whether it ends."""
    if document.get("object") == "chat.completion.chunk":
        return str(document.get("id")), False
    if "stop" in document and "index" in document:  # /completion
        return f"{document.get('id_slot')} {document['index']}", bool(document["stop"])
    return None, True
