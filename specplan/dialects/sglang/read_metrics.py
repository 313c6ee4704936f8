"""SGLang's /metrics: gauges of the last interval, and two counters that finished requests add to.

sglang:generation_tokens_total, sglang:spec_verify_calls_total -> tokens a round, exactly
sglang:spec_accept_length, sglang:spec_accept_rate             -> of the last interval alone
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar, Final

from specplan.dialects.documents import Exposition, Sample
from specplan.dialects.figures import positive, written_whole
from specplan.dialects.scraped import Scraped, Totals, summed
from specplan.dialects.sglang.deployment import longest_draft, said
from specplan.dialects.sglang.rate import DraftTokens
from specplan.domain.capture import Found, Origin, Span, Told

PREFIX: Final = "sglang:"
EXACT: Final = 5e-4  # of a gauge; they are printed in full, exporters round them
_COUNTERS: Final = {
    "tokens": "generation_tokens_total",
    "rounds": "spec_verify_calls_total",
    "requests": "num_requests_total",
}
_INFO: Final = {
    "spec_algorithm": "speculative_algorithm",
    "spec_num_draft_tokens": "speculative_num_draft_tokens",
    "spec_num_steps": "speculative_num_steps",
    "spec_eagle_topk": "speculative_eagle_topk",
    "spec_draft_model": "speculative_draft_model_path",
}


_OTHER_ENGINES: Final = ("draft", "prefill")
"""Labels of those that share a page with the engine that verifies."""


class Metrics(Scraped):
    """Reads scrapes of a server."""

    format: ClassVar[str] = "sglang-metrics"
    marks: ClassVar[tuple[str, ...]] = (
        "sglang_spec_accept_length",
        "sglang_spec_verify_calls_total",
        "sglang_num_running_reqs",
        "sglang_gen_throughput",
    )

    def __init__(self) -> None:
        super().__init__()
        self._counted = self._gauged = False
        self._rates = DraftTokens()
        self._rated = self._newer = False

    def totals(self, document: Exposition) -> Totals:
        """Tokens, rounds and requests, over all ranks of data parallelism."""
        found = {key: _sum(document, name) for key, name in _COUNTERS.items()}
        return {key: value for key, value in found.items() if value is not None}

    def once(self, document: Exposition, place: int) -> Iterator[Found]:
        """The deployment, and what the gauges of the scrape tell of it."""
        options = _options(document)
        self._newer = self._newer or bool(document.named(f"{PREFIX}spec_num_draft_tokens"))
        yield from said(options, place)
        length, rate = _mean(document, "spec_accept_length"), _mean(document, "spec_accept_rate")
        if length and length >= 1 and rate is not None:
            self._rated = True
            self._rates.see(length, rate, EXACT)
            if self._rates.meaning == "floor":
                yield from self.note("rate-floor", place)
            tokens = self._rates.tokens()
            if tokens and longest_draft(options) is None:
                yield Told(facts={"draft_tokens": tokens, "k": tokens - 1}, line=place)

    def spans(self, grown: Totals, document: Exposition, place: int) -> Iterator[Found]:
        """Rounds that were counted, or else the gauge of the last interval."""
        rounds, tokens = grown.get("rounds", 0.0), grown.get("tokens")
        alone = self._alone is not None  # then the first token of each request has to be known
        if rounds > 0 and tokens is not None and not (alone and "requests" not in grown):
            yield from self._growth(grown, rounds, tokens, document, place)
            return
        length = _mean(document, "spec_accept_length")
        if length is None or length < 1:
            return
        for trap in ("stuck-gauge", "bonus-in", "no-drafts-count"):
            yield from self.note(trap, place)
        self._gauged = True
        k = self._k(document)
        rate = (length - 1) / k if k and not _is_tree(document) else None
        yield replace(_loads(document, place), tau=length, rate=rate, k=k)

    def origin(self) -> Origin:
        """The versions that have these series."""
        definitions = {}
        if self._counted:
            definitions["tokens_per_round"] = (
                "growth of generation_tokens_total, the first token of each request left out, "
                "over growth of spec_verify_calls_total"
            )
        elif self._gauged:
            definitions["tokens_per_round"] = (
                "spec_accept_length: (accepted + bonus) / rounds of the last interval"
            )
        return Origin(
            format=self.format,
            engine="sglang",
            version_guess=self._versions(),
            definitions=definitions,
        )

    def _growth(
        self, grown: Totals, rounds: float, tokens: float, document: Exposition, place: int
    ) -> Iterator[Found]:
        """A finished request adds its tokens and its rounds; one token is its prompt's own."""
        yield from self.note("bonus-in", place)
        requests = grown.get("requests")
        if requests is None:
            yield from self.note("prefill-token", place)
        accepted = tokens - (requests or 0.0) - rounds
        if accepted < 0:
            yield from self.warn(
                "fewer tokens than rounds were counted: requests that are still running have "
                "not been added yet",
                place,
            )
            return
        self._counted = True
        k = self._k(document)
        yield replace(
            _loads(document, place),
            drafts=rounds,
            accepted=accepted,
            drafted=rounds * k if k and not _is_tree(document) else None,
            k=k,
            tokens=tokens,
        )

    def _k(self, document: Exposition) -> int | None:
        k = longest_draft(_options(document))
        tokens = self._rates.tokens()
        return k if k is not None or not tokens else tokens - 1

    def _versions(self) -> str:
        if self._newer:
            return "0.5.23 or newer"
        if self._rated:
            known = {"floor": "0.5.3 to 0.5.10", "strict": "0.5.13 or newer"}
            return known.get(self._rates.meaning, "0.5.3 or newer")
        return "0.4.10 to 0.5.2" if self._gauged else ""


def _options(document: Exposition) -> dict[str, object]:
    """What gauges and labels say, under the names of the server's options."""
    found: dict[str, object] = {}
    for sample in document.named(f"{PREFIX}speculative_config_info"):
        for label, option in _INFO.items():
            word = sample.labels.get(label, "")
            figure = written_whole(word)
            if word and word.lower() != "none" and figure != 0:
                found[option] = word if figure is None else figure
    for name in ("spec_num_steps", "spec_num_draft_tokens"):
        value = _mean(document, name)
        if value:
            found[f"speculative_{name.removeprefix('spec_')}"] = int(value)
    models = {s.labels.get("model_name", "") for s in document.samples} - {""}
    if len(models) == 1:
        found["model_path"] = models.pop()
    return found


def _is_tree(document: Exposition) -> bool:
    """Nodes of a tree, or more of them than steps make in a chain."""
    options = _options(document)
    steps, nodes = (options.get(f"speculative_{n}") for n in ("num_steps", "num_draft_tokens"))
    if isinstance(options.get("speculative_eagle_topk"), int):
        return options["speculative_eagle_topk"] != 1
    return isinstance(steps, int) and isinstance(nodes, int) and steps > 1 and nodes != steps + 1


def _loads(document: Exposition, place: int) -> Span:
    """The load at the moment of the scrape."""
    return Span(
        running=positive(_sum(document, "num_running_reqs")),
        waiting=_sum(document, "num_queue_reqs"),
        tokens_per_s=positive(_sum(document, "gen_throughput")),
        line=place,
    )


def _first_ranks(document: Exposition, name: str) -> Exposition:
    """A series without the ranks that print one batch's figures again."""
    samples = [
        sample
        for sample in document.named(f"{PREFIX}{name}")
        if sample.labels.get("engine_type") not in _OTHER_ENGINES
    ]
    ranks = ("tp_rank", "pp_rank")
    least = {rank: min((_rank(s, rank) for s in samples), default=0) for rank in ranks}
    if any(_rank(sample, "dp_rank") for sample in samples):
        return Exposition(tuple(samples))  # there tp ranks run batches of their own
    kept = (s for s in samples if all(_rank(s, rank) == least[rank] for rank in ranks))
    return Exposition(tuple(kept))


def _rank(sample: Sample, rank: str) -> int:
    return written_whole(sample.labels.get(rank)) or 0


def _sum(document: Exposition, name: str) -> float | None:
    return summed(_first_ranks(document, name), f"{PREFIX}{name}")


def _mean(document: Exposition, name: str) -> float | None:
    """The mean of a gauge over the ranks that have run; None where none has."""
    values = [s.value for s in _first_ranks(document, name).samples if 0 < s.value < 1e6]
    return sum(values) / len(values) if values else None
