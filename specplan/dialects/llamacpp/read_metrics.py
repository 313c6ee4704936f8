"""llama.cpp's /metrics (PR 26389): vLLM's counters under its own name, printed with six digits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Final

from specplan.dialects.documents import Exposition
from specplan.dialects.figures import positive
from specplan.dialects.scraped import Scraped, Totals, in_order, numbered, positions, summed
from specplan.domain.capture import Found, Origin, Span

PREFIX: Final = "llamacpp:"
_COUNTERS: Final = {
    "drafts": "spec_decode_num_drafts_total",
    "drafted": "spec_decode_num_draft_tokens_total",
    "accepted": "spec_decode_num_accepted_tokens_total",
    "tokens": "tokens_predicted_total",
}
_SIX_DIGITS: Final = 1e6  # from here on a counter's last digits are not printed
_ROUNDED: Final = (
    "counters are printed with six digits: what grew between two scrapes is known to a millionth "
    "of the total"
)


class Metrics(Scraped):
    """Reads scrapes of a server."""

    format: ClassVar[str] = "llamacpp-metrics"
    marks: ClassVar[tuple[str, ...]] = (
        "llamacpp_spec_decode_num_drafts_total",
        "llamacpp_tokens_predicted_total",
        "llamacpp_requests_processing",
    )

    def totals(self, document: Exposition) -> Totals:
        """The counters."""
        found = {key: summed(document, f"{PREFIX}{name}") for key, name in _COUNTERS.items()}
        kept = positions(
            document, f"{PREFIX}spec_decode_num_accepted_tokens_per_pos_total", "position"
        )
        there = {key: value for key, value in found.items() if value is not None}
        return there | numbered("accepted:", kept)

    def spans(self, grown: Totals, document: Exposition, place: int) -> Iterator[Found]:
        """Verify steps, the drafts in them and what was kept."""
        if max(self.totals(document).values(), default=0.0) >= _SIX_DIGITS:
            yield from self.warn(_ROUNDED, place)
        if not grown.get("drafts"):
            return
        at = in_order("accepted:", grown)
        drafts, drafted = grown["drafts"], grown.get("drafted")
        yield Span(
            drafts=drafts,
            drafted=drafted,
            accepted=grown.get("accepted"),
            at_position=at,
            k=len(at) or None,
            tokens=grown.get("tokens"),
            running=summed(document, f"{PREFIX}requests_processing"),
            waiting=summed(document, f"{PREFIX}requests_deferred"),
            tokens_per_s=positive(summed(document, f"{PREFIX}predicted_tokens_seconds")),
            line=place,
        )
        if drafted is not None and at and drafted < drafts * len(at) * (1 - 1e-5):
            yield from self.note("short-drafts", place)

    def origin(self) -> Origin:
        """Builds with these series."""
        return Origin(
            format=self.format,
            engine="llamacpp",
            version_guess="PR 26389 (August 2026) or newer",
            definitions={
                "tokens_per_round": "1 + num_accepted_tokens / num_drafts (verify steps)",
                "acceptance_rate": "num_accepted_tokens / num_draft_tokens",
                "per_position": "num_accepted_tokens_per_pos / num_drafts",
            },
        )
