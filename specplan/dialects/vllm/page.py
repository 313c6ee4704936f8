"""vLLM's /metrics page, V1 and V0. Counters run from the start of the server: two scrapes give
what happened between them, one alone a whole life. Engines of one server are summed.

Formats: vllm/v1/spec_decode/metrics.py, vllm/v1/metrics/loggers.py, vllm/engine/metrics.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar, Final

from specplan.dialects.documents import Exposition
from specplan.dialects.once import Once
from specplan.domain.capture import Found, Noted, Origin, Span, Told

_PREFIX: Final = "vllm:spec_decode_"
_COUNTERS: Final = {  # as they are printed: ours
    "num_drafts_total": "drafts",
    "num_draft_tokens_total": "drafted",
    "num_accepted_tokens_total": "accepted",
}
_AT: Final = "vllm:spec_decode_num_accepted_tokens_per_pos_total"
_GENERATED: Final = "vllm:generation_tokens_total"
_RUNNING: Final = "vllm:num_requests_running"
_WAITING: Final = "vllm:num_requests_waiting"
_V0_NAMES: Final = (
    "draft_acceptance_rate",
    "efficiency",
    "num_accepted_tokens_total",
    "num_draft_tokens_total",
    "num_emitted_tokens_total",
)
_EXACT: Final = 1e-6

_DEFINITIONS: Final = {
    "tokens_per_round": "1 + accepted / drafts, the bonus token included",
    "acceptance_rate": "accepted / drafted",
    "per_position": "drafts accepted up to that position over all drafts: unconditional",
    "batch": "requests running at the last scrape, all engines together, if any were",
}

Series = Mapping[tuple[str, ...], float]


class Page:
    """Reads scrapes, in the order in which they were made."""

    format: ClassVar[str] = "vllm-metrics"

    def __init__(self) -> None:
        self._before: dict[tuple[str, ...], float] | None = None
        self._last: tuple[Exposition, int] | None = None
        self._differences = 0
        self._v0: tuple[Exposition, int] | None = None
        self._noted = Once()

    def claims(self, document: object) -> bool:
        """A page with counters of vLLM."""
        return isinstance(document, Exposition) and any(
            sample.name.startswith(("vllm:", "vllm_")) for sample in document.samples
        )

    def read(self, document: object, place: int) -> Iterator[Found]:
        """The difference from the page before, if there was one."""
        if not isinstance(document, Exposition):
            return
        if document.named(f"{_PREFIX}efficiency"):
            self._v0 = document, place
            return
        now = _counters(document)
        before, self._before, self._last = self._before, now, (document, place)
        if before is None:
            yield from self._told(document, place)
            return
        fell = {key[2:] for key, value in before.items() if now.get(key, 0) < value}
        if fell:  # an engine started again, others may have gone on
            yield from self._noted.trap("counter-reset", place)
            before = {key: value for key, value in before.items() if key[2:] not in fell}
        self._differences += 1
        yield _span(document, {key: now[key] - before.get(key, 0) for key in now}, place)

    def finish(self) -> Iterator[Found]:
        """The whole life of the server, where there was only one page; V0's gauges."""
        if self._v0:
            yield from _gauges(*self._v0)
        if self._last and not self._differences:
            document, place = self._last
            if _counters(document):
                yield from self._noted.trap("lifetime", place)
                yield _span(document, _counters(document), place)

    def origin(self) -> Origin:
        """V1's page, or V0's."""
        is_v0 = self._v0 is not None
        return Origin(
            format="vllm-v0-metrics" if is_v0 else "vllm-metrics",
            engine="vllm",
            version_guess="0.4 to 0.8, V0" if is_v0 else "0.8.3 or newer",
            definitions=_DEFINITIONS,
        )

    def _told(self, document: Exposition, place: int) -> Iterator[Found]:
        names = {sample.labels.get("model_name", "") for sample in document.samples} - {""}
        if len(names) == 1:
            yield Told(facts={"target": next(iter(names))[:200]}, line=place)
        engines = {
            sample.labels["engine"] for sample in document.samples if "engine" in sample.labels
        }
        if len(engines) > 1:
            yield from self._noted.trap("data-parallel", place)


def _counters(page: Exposition) -> dict[tuple[str, ...], float]:
    """The counters by name, position and the other labels: (drafts, ""), (at, "0"), ..."""
    found: dict[tuple[str, ...], float] = {}
    for theirs, ours in (*_named(), (_AT, "at"), (_GENERATED, "generated")):
        for sample in page.named(theirs):
            labels = sample.labels
            others = [f"{key}={labels[key]}" for key in sorted(labels) if key != "position"]
            if sample.value >= 0:
                found[ours, labels.get("position", ""), *others] = sample.value
    return found


def _named() -> Iterator[tuple[str, str]]:
    for theirs, ours in _COUNTERS.items():
        yield _PREFIX + theirs, ours


def _span(page: Exposition, counted: Series, place: int) -> Span:
    def total(name: str, position: str = "") -> float | None:
        values = [value for key, value in counted.items() if key[:2] == (name, position)]
        return sum(values) if values else None

    at = [key[1] for key in counted if key[0] == "at"]
    length = max((int(one) + 1 for one in at if one.isdecimal() and len(one) <= 3), default=0)
    return Span(
        drafts=total("drafts"),
        drafted=total("drafted"),
        accepted=total("accepted"),
        at_position=tuple(total("at", str(i)) or 0.0 for i in range(length)),
        k=length or None,
        # at the moment of the scrape, which may be after the last request
        running=_gauge(page, _RUNNING) or None,
        waiting=_gauge(page, _WAITING),
        tokens=total("generated"),
        line=place,
    )


def _gauge(page: Exposition, name: str) -> float | None:
    values = [sample.value for sample in page.named(name) if sample.value >= 0]
    return sum(values) if values else None


def _gauges(page: Exposition, place: int) -> Iterator[Found]:
    """V0. Emitted tokens over the efficiency are drafts x (k + 1), which is drafted + drafts.

    0.6.6 adds its running totals to the counters again and again: they are of use only where the
    acceptance beside them is their quotient. The efficiency alone says nothing without k.
    """
    values = {name: _gauge(page, _PREFIX + name) for name in _V0_NAMES}
    rate, efficiency, kept, drafted, emitted = values.values()
    yield Noted(trap="per-token-rate", line=place)
    yield Noted(trap="lifetime", line=place)
    if not (efficiency and drafted and emitted) or rate is None or kept is None:
        yield Noted(warning="V0's page lacks what rounds could be worked out from", line=place)
        return
    drafts = emitted / efficiency - drafted
    k = round(drafted / drafts) if drafts > 0 else 0
    if abs(kept / drafted - rate) > _EXACT or not k or abs(drafted / drafts - k) > _EXACT * k:
        yield Noted(trap="counter-overcount", line=place)
        says = f"V0's efficiency is {efficiency:.4g}: tokens of a round over k + 1, and -k gives k"
        yield Noted(warning=says, line=place)
        yield Span(efficiency=efficiency, line=place)
        return
    drafts = drafted / k
    yield Noted(trap="no-drafts-count", line=place)
    yield Span(drafts=drafts, drafted=drafted, accepted=emitted - drafts, k=k, line=place)
