"""What a response of TensorRT-LLM says of its own request, choice by choice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import ClassVar, Final

from specplan.dialects.figures import counts, first, mapping, mappings, positive
from specplan.dialects.once import Once
from specplan.domain.capture import Found, Origin, Span

KEY: Final = "speculative_decoding"
MARK: Final = "total_draft_tokens"


class Responses:
    """Reads completions. Before PR 19311 they have a rate and two counts, and no rounds."""

    format: ClassVar[str] = "trtllm-request"

    def __init__(self) -> None:
        self._steps = False
        self._noted = Once()

    def claims(self, document: object) -> bool:
        """Whether a choice tells of drafts."""
        return next(_told(document), None) is not None

    def read(self, document: object, place: int) -> Iterator[Found]:
        """Each choice."""
        for told in _told(document):
            yield from self._request(told, place)

    def finish(self) -> Iterable[Found]:
        """Nothing more."""
        return ()

    def origin(self) -> Origin:
        """The versions that tell so much."""
        definitions = {"acceptance_rate": "total_accepted_draft_tokens / total_draft_tokens"}
        if self._steps:
            definitions["tokens_per_round"] = "1 + total_accepted_draft_tokens / num_spec_steps"
        return Origin(
            format=self.format,
            engine="trtllm",
            version_guess="with PR 19311" if self._steps else "before PR 19311",
            definitions=definitions,
        )

    def _request(self, told: Mapping[str, object], place: int) -> Iterator[Found]:
        drafted = first(told, MARK)
        if not drafted:
            return
        steps = positive(first(told, "num_spec_steps"))
        self._steps = self._steps or steps is not None
        if steps is None:
            yield from self._noted.trap("no-drafts-count", place)
        k = positive(first(told, "num_spec_tokens"))
        histogram = counts(told.get("acceptance_histogram"))
        rate = first(told, "acceptance_rate")
        stated = [("rate", rate, 1e-6)] if rate is not None else []
        if sum(histogram) and steps is not None:
            kept = sum(count * times for count, times in enumerate(histogram))
            stated += [("drafts", sum(histogram), 0.5), ("accepted", kept, 0.5)]
        yield Span(
            drafts=steps,
            drafted=drafted,
            accepted=first(told, "total_accepted_draft_tokens"),
            histogram=histogram if sum(histogram) else (),
            stated=tuple(stated),
            k=int(k) if k else None,
            line=place,
        )


def _told(document: object) -> Iterator[Mapping[str, object]]:
    """What the choices of a response tell of drafts."""
    if not isinstance(document, dict):
        return
    for choice in mappings(document.get("choices")):
        found = mapping(choice, KEY)
        if first(found, MARK) is not None:
            yield found
