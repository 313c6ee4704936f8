"""What SGLang answers: `/server_info`, and what a response says of its own request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import ClassVar, Final

from specplan.dialects.figures import counts, first, mapping, mappings, positive
from specplan.dialects.once import Once
from specplan.dialects.sglang.deployment import longest_draft, rate_of, said
from specplan.dialects.sglang.starting import GIB
from specplan.domain.answer import Scalar
from specplan.domain.capture import Found, Noted, Origin, Span, Told

_MEMORY: Final = {"weight": "weights_bytes", "kvcache": "pool_bytes", "graph": "graph_bytes"}
_ACCEPTED: Final = ("spec_num_correct_drafts", "spec_accepted_drafts", "spec_accept_token_num")
_PROPOSED: Final = ("spec_num_proposed_drafts", "spec_proposed_drafts", "spec_draft_token_num")
_HISTOGRAMS: Final = ("spec_correct_drafts_histogram", "spec_accept_histogram")


class ServerInfo:
    """Reads `/server_info` (`/get_server_info` before)."""

    format: ClassVar[str] = "sglang-server-info"

    def __init__(self) -> None:
        self._last: list[Span] = []

    def claims(self, document: object) -> bool:
        """Whether it has a server's options, or the states of its schedulers."""
        if not isinstance(document, dict) or "accept_length" in document:
            return False
        states = mappings(document.get("internal_states"))
        return "avg_spec_accept_length" in document or (
            "speculative_algorithm" in document
            if "model_path" in document
            else any("avg_spec_accept_length" in state for state in states)
        )

    def read(self, document: object, place: int) -> Iterator[Found]:
        """The deployment, and the average of each scheduler since it started."""
        if not isinstance(document, dict):
            return
        states = list(mappings(document.get("internal_states"))) or [document]
        options = {**states[0], **document}
        yield from said(options, place)
        facts = _memory(states[0])
        if facts:
            yield Told(facts=facts, line=place)
        if len(states) > 1:
            yield Noted(trap="data-parallel", line=place)
        self._last = list(_averages(states, options, place))
        if not self._last:
            yield Noted(
                warning="avg_spec_accept_length is null: nothing was drafted yet, or a router "
                "answered in the server's place",
                line=place,
            )
            return
        for trap in ("bonus-in", "lifetime", "no-drafts-count"):
            yield Noted(trap=trap, line=place)

    def finish(self) -> Iterable[Found]:
        """The averages as the last of a series has them: they hold those before."""
        return self._last

    def origin(self) -> Origin:
        """Any version."""
        definition = "avg_spec_accept_length: (accepted + bonus) / rounds since the server started"
        return Origin(
            format=self.format, engine="sglang", definitions={"tokens_per_round": definition}
        )


def _averages(
    states: list[Mapping[str, object]], options: Mapping[str, object], place: int
) -> Iterator[Span]:
    for rank, state in enumerate(states):
        tau = first(state, "avg_spec_accept_length")
        if tau is not None and tau >= 1:
            yield Span(
                tau=tau,
                rate=rate_of(tau, options),
                k=longest_draft(options),
                tokens_per_s=positive(first(state, "last_gen_throughput")),
                group=f"DP{rank}" if len(states) > 1 else "",
                line=place,
            )


def _memory(state: Mapping[str, object]) -> dict[str, Scalar]:
    usage = mapping(state, "memory_usage")
    facts: dict[str, Scalar] = {}
    for theirs, ours in _MEMORY.items():
        value = first(usage, theirs)
        if value is not None:
            facts[ours] = round(value * GIB)
    tokens = first(usage, "token_capacity")
    if tokens is not None:
        facts["pool_tokens"] = int(tokens)
    return facts


class Responses:
    """Reads responses of `/generate` and of the OpenAI API, one request each.

    Up to 0.5.10 the counts are spec_accept_token_num and spec_draft_token_num; then they are
    spec_accepted_drafts and spec_proposed_drafts, then spec_num_correct_drafts and
    spec_num_proposed_drafts. The OpenAI API has them in `sglext.spec_tokens_details`.
    """

    format: ClassVar[str] = "sglang-request"

    def __init__(self) -> None:
        self._versions = ""
        self._noted = Once()
        self._counted = False

    def claims(self, document: object) -> bool:
        """Whether it tells of rounds."""
        return next(_told(document), None) is not None

    def read(self, document: object, place: int) -> Iterator[Found]:
        """Each request of it."""
        for meta in _told(document):
            yield from self._request(meta, place)

    def finish(self) -> Iterable[Found]:
        """Nothing more."""
        return ()

    def origin(self) -> Origin:
        """The versions that name the counts so."""
        definition = "1 + accepted drafts / spec_verify_ct"
        if not self._counted:
            definition = "(completion_tokens - 1) / spec_verify_ct"
        return Origin(
            format=self.format,
            engine="sglang",
            version_guess=self._versions,
            definitions={
                "tokens_per_round": f"{definition}; spec_accept_length counts the first token too",
                "acceptance_rate": "spec_accept_rate: accepted / drafted",
            },
        )

    def _request(self, meta: Mapping[str, object], place: int) -> Iterator[Found]:
        rounds = first(meta, "spec_verify_ct")
        if not rounds:
            return
        tokens = first(meta, "completion_tokens")
        histogram = next((h for h in (counts(meta.get(key)) for key in _HISTOGRAMS) if h), ())
        accepted, drafted = first(meta, *_ACCEPTED), first(meta, *_PROPOSED)
        if accepted is None and histogram:
            accepted = sum(kept * count for kept, count in enumerate(histogram))
        self._counted = self._counted or accepted is not None
        if accepted is None and tokens:
            accepted = max(tokens - 1 - rounds, 0.0)  # all but the prompt's own, and one a round
        self._guess(meta)
        for trap in ("bonus-in", "prefill-token"):
            yield from self._noted.trap(trap, place)
        k = drafted / rounds if drafted else 0.0
        yield Span(
            drafts=rounds,
            drafted=drafted,
            accepted=accepted,
            histogram=histogram,
            k=int(k) if k >= 1 and k == int(k) else None,
            stated=tuple(_checks(meta, histogram)),
            tokens=tokens,
            line=place,
        )

    def _guess(self, meta: Mapping[str, object]) -> None:
        if "spec_num_correct_drafts" in meta:
            older = "spec_accepted_drafts" in meta
            self._versions = "0.5.13 or newer" if older else "0.5.23 or newer"
        elif "spec_accepted_drafts" in meta:
            self._versions = "0.5.11 to 0.5.13"
        elif "spec_accept_token_num" in meta:
            self._versions = "0.5.6 to 0.5.10"
        else:
            self._versions = self._versions or "0.5.5 or older"


def _checks(
    meta: Mapping[str, object], histogram: tuple[float, ...]
) -> Iterator[tuple[str, float, float]]:
    """What is stated twice."""
    rate = first(meta, "spec_accept_rate")
    if rate is not None and first(meta, *_ACCEPTED) is not None:
        yield ("rate", rate, 1e-6)
    if histogram:
        yield ("drafts", sum(histogram), 0.5)
        yield ("accepted", sum(kept * count for kept, count in enumerate(histogram)), 0.5)


def _told(document: object) -> Iterator[Mapping[str, object]]:
    """The requests that a response tells of: the whole, or each of its choices."""
    if not isinstance(document, dict):
        return
    choices = list(mappings(document.get("choices")))
    usage = mapping(document, "usage")
    for holder in (document, *choices):
        for found in (
            mapping(holder, "meta_info"),
            mapping(mapping(holder, "sglext"), "spec_tokens_details"),
            mapping(holder, "spec_tokens_details"),
        ):
            if first(found, "spec_verify_ct") is not None:
                alone = len(choices) <= 1 and "completion_tokens" not in found
                yield {**found, **usage} if alone else found
                break
