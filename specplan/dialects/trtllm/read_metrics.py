"""TensorRT-LLM's Prometheus page: the only one that counts drafts by position, so that shorter
drafts do not pass for rejected ones.

    trtllm_spec_decode_drafted_tokens_total{token_position}   of finished requests
    trtllm_spec_decode_accepted_tokens_total{token_position}
    trtllm_spec_decode_num_draft_tokens_total                 of iterations
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Final

from specplan.dialects.documents import Exposition
from specplan.dialects.figures import positive, written_whole
from specplan.dialects.scraped import Scraped, Totals, in_order, numbered, positions, summed
from specplan.domain.answer import Scalar
from specplan.domain.capture import Found, Origin, Span, Told

PREFIX: Final = "trtllm_"
_LABELS: Final = {
    "speculative_config_info": {
        "spec_method": "method",
        "spec_num_tokens": "k",
        "spec_draft_model": "draft",
    },
    "model_config_info": {
        "model": "target",
        "dtype": "dtype",
        "quantization": "quantization",
        "max_model_len": "max_context",
        "gpu_type": "gpu",
    },
    "parallel_config_info": {"tensor_parallel_size": "tp"},
    "kv_cache_config_info": {
        "free_gpu_memory_fraction": "memory_fraction",
        "cache_dtype": "kv_dtype",
    },
}
_VARIABLE: Final = ("ngram", "sa", "user")  # methods whose drafts may be shorter than k


class Metrics(Scraped):
    """Reads scrapes of a server."""

    format: ClassVar[str] = "trtllm-metrics"
    marks: ClassVar[tuple[str, ...]] = tuple(
        f"{PREFIX}{name}"
        for name in (
            "spec_decode_drafted_tokens_total",
            "spec_decode_num_draft_tokens_total",
            "spec_decode_acceptance_length",
            "num_requests_running",
            "speculative_config_info",
        )
    )

    def __init__(self) -> None:
        super().__init__()
        self._by_position = False

    def totals(self, document: Exposition) -> Totals:
        """Counts by position, and those of iterations."""
        found: dict[str, float] = {}
        for key, name in (("drafted", "drafted_tokens"), ("accepted", "accepted_tokens")):
            at = positions(document, f"{PREFIX}spec_decode_{name}_total", "token_position")
            found |= numbered(f"{key}:", at)
        for key, name in (("drafted", "num_draft_tokens"), ("accepted", "num_accepted_tokens")):
            value = summed(document, f"{PREFIX}spec_decode_{name}_total")
            if value is not None:
                found[key] = value
        return found

    def once(self, document: Exposition, place: int) -> Iterator[Found]:
        """The deployment in the labels."""
        facts = _facts(document)
        if facts:
            yield Told(facts=facts, line=place)

    def spans(self, grown: Totals, document: Exposition, place: int) -> Iterator[Found]:
        """Rounds of finished requests, or else the counts of iterations."""
        drafted_at = in_order("drafted:", grown)
        if any(drafted_at):
            yield from self._positions(grown, drafted_at, document, place)
        elif grown.get("drafted"):
            yield from self._sums(grown, document, place)

    def origin(self) -> Origin:
        """The versions that have these series."""
        definitions = {"acceptance_rate": "accepted / drafted"}
        if self._by_position:
            definitions["drafts"] = "tokens drafted at token_position 0, of finished requests"
            definitions["per_position"] = "accepted / drafts; drafted counts by position are known"
        return Origin(format=self.format, engine="trtllm", definitions=definitions)

    def _positions(
        self, grown: Totals, drafted_at: tuple[float, ...], document: Exposition, place: int
    ) -> Iterator[Found]:
        self._by_position = True
        yield from self.note("no-drafts-count", place)
        if max(drafted_at) > min(drafted_at):
            yield from self.note("short-drafts", place)
        accepted_at = in_order("accepted:", grown)
        accepted_at += (0.0,) * (len(drafted_at) - len(accepted_at))
        # iterations count requests that still run, too: positions are then taken as shares
        drafted, accepted = grown.get("drafted", 0.0), grown.get("accepted", 0.0)
        more = drafted / sum(drafted_at) if drafted else 1.0
        kept = accepted / sum(accepted_at) if accepted and sum(accepted_at) else 1.0
        yield Span(
            drafts=drafted_at[0] * more,
            drafted=drafted or sum(drafted_at),
            accepted=sum(accepted_at) * kept,
            at_position=tuple(count * kept for count in accepted_at),
            drafted_at=tuple(count * more for count in drafted_at),
            k=_k(document) or len(drafted_at),
            running=summed(document, f"{PREFIX}num_requests_running"),
            waiting=summed(document, f"{PREFIX}num_requests_waiting"),
            line=place,
        )

    def _sums(self, grown: Totals, document: Exposition, place: int) -> Iterator[Found]:
        """Two counts: the rounds follow only where every draft is k long."""
        yield from self.note("no-drafts-count", place)
        k = _k(document)
        method = str(_facts(document).get("method", "")).lower()
        drafted = grown["drafted"]
        yield Span(
            drafts=drafted / k if k and not method.startswith(_VARIABLE) else None,
            drafted=drafted,
            accepted=grown.get("accepted", 0.0),
            k=k,
            running=summed(document, f"{PREFIX}num_requests_running"),
            waiting=summed(document, f"{PREFIX}num_requests_waiting"),
            line=place,
        )


def _facts(document: Exposition) -> dict[str, Scalar]:
    facts: dict[str, Scalar] = {}
    for name, labels in _LABELS.items():
        for sample in document.named(f"{PREFIX}{name}"):
            for label, ours in labels.items():
                word = sample.labels.get(label, "")
                if word and word.lower() not in {"none", "auto", "unknown"}:
                    figure = written_whole(word)
                    facts[ours] = word if figure is None else figure
    if isinstance(facts.get("method"), str):
        facts["method"] = str(facts["method"]).lower()
    return facts


def _k(document: Exposition) -> int | None:
    k = _facts(document).get("k")
    return int(positive(float(k)) or 0) or None if isinstance(k, int) else None
