"""A stream of what readers find, folded into a Capture: sums, never the stream.

alpha is accepted / (accepted + rejections), the maximum-likelihood estimate where every draft token
is kept with the same probability. Its interval is Wilson's at the number of independent trials that
the batches of `batches` leave: trials / design effect, with Student's t.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from specplan.domain.answer import Scalar
from specplan.domain.capture import Capture, Found, Noted, Origin, Seen, Span, Told
from specplan.physics.counters.batches import Batches
from specplan.physics.counters.figures import Figures, figures_of
from specplan.physics.counters.loads import Loads
from specplan.physics.counters.plain import Plain
from specplan.physics.counters.pools import SHORT, Pools
from specplan.physics.counters.seen import Watched
from specplan.physics.counters.spans import Counts, judged

MOST_NAMED = 5  # contradictions and warnings of one kind that are told one by one
_WATCHED = ("running", "waiting", "tokens_per_s", "prompt_tokens_per_s", "step_s", "context")


class Fold:
    """Takes what readers find, in order; `k` is what the user says was in use."""

    def __init__(self, k: int | None = None) -> None:
        self.k = self._asked_k = k
        self._longer = 0  # drafts that were, where the user says less
        self.spans = self.left_out = self.bare = 0
        self.drafts = self.drafted = self.accepted = self.weight = self.rate_weight = 0.0
        self.drafted_of = self.accepted_of = 0.0  # spans that state both
        self.rate = 0.0
        self.unweighed = True  # of how many rounds means are of nobody says
        self.at: list[float] = []
        self.at_drafts = 0.0
        self.batches, self.pools, self.loads = Batches(), Pools(), Loads()
        self.plain = Plain()
        self.watched = {name: Watched() for name in _WATCHED}
        self.told: dict[str, Scalar] = {}
        self.traps: dict[str, None] = {}
        self.warnings: dict[str, None] = {}
        self.contradictions: list[str] = []
        self.contradicting = 0

    def take(self, found: Found) -> None:
        """One more thing found."""
        if isinstance(found, Span):
            self._span(found)
        elif isinstance(found, Told):
            self._told(found)
        else:
            self._noted(found)

    def take_all(self, stream: Iterable[Found]) -> None:
        """Everything found."""
        for found in stream:
            self.take(found)

    def _told(self, told: Told) -> None:
        for name, value in told.facts.items():
            before = self.told.get(name)
            if before not in {None, value} and len(self.warnings) < MOST_NAMED:
                self._warn(f"{name} was {before} and is {value} from line {told.line} on")
            self.told[name] = value
        k = told.facts.get("k")
        if isinstance(k, int) and k > 0 and self._asked_k is None:
            self.k = k

    def _noted(self, noted: Noted) -> None:
        if noted.trap:
            self.traps[noted.trap] = None
        if noted.warning:
            self._warn(f"line {noted.line}: {noted.warning}" if noted.line else noted.warning)

    def _warn(self, warning: str) -> None:
        if len(self.warnings) <= 4 * MOST_NAMED:
            self.warnings[warning] = None

    def _span(self, span: Span) -> None:
        k = self._asked_k or span.k or self.k
        if span.k and self._asked_k is None:
            self.k = max(self.k or 0, span.k) if "k" not in self.told else self.k
        if span.efficiency is not None and k:
            span = replace(span, tau=span.efficiency * (k + 1), k=k)
        counts, said = judged(span, k, self._asked_k)
        for each in said:
            self._contradict(each if counts else f"{each}: left out", span.line)
        if counts is None:
            self.left_out += 1
            return
        self._against_k(counts, span.line)
        self.spans += 1
        weight = counts.drafts if counts.drafts is not None else counts.weight
        for name, watched in self.watched.items():
            watched.add(getattr(span, name), weight)
        if counts.derived:
            self.traps["no-drafts-count"] = None
        self._count(counts, span.rate)
        self._batch(counts, span)
        self.pools.add(counts, k)

    def _against_k(self, counts: Counts, line: int) -> None:
        longest = max(counts.length or 0, len(counts.at))
        if self._asked_k and longest > max(self._asked_k, self._longer):
            self._contradict(f"drafts of {longest}, and -k says {self._asked_k}", line)
            self.k = self._longer = longest

    def _contradict(self, said: str, line: int) -> None:
        self.contradicting += 1
        if len(self.contradictions) < MOST_NAMED:
            self.contradictions.append(f"line {line}: {said}" if line else said)

    def _count(self, counts: Counts, rate: float | None) -> None:
        drafts, drafted, accepted = counts.drafts, counts.drafted, counts.accepted
        if counts.tau is not None:
            self.weight += counts.weight
            self.unweighed = counts.weight == 1 and self.unweighed
        self.drafts += drafts or 0.0
        self.drafted += drafted or 0.0
        self.accepted += accepted or 0.0
        self.bare += drafts is None and counts.tau is None and accepted is not None
        if drafted is not None and accepted is not None:
            self.drafted_of += drafted
            self.accepted_of += accepted
        elif rate is not None and 0 <= rate <= 1:
            self.rate += rate * counts.weight
            self.rate_weight += counts.weight
        if counts.at and drafts:
            self.at += [0.0] * (len(counts.at) - len(self.at))
            self.at_drafts += drafts
            for place, kept in enumerate(counts.at):
                self.at[place] += kept

    def _batch(self, counts: Counts, span: Span) -> None:
        """Rounds, drafts kept, drafts tried, rounds with positions, and those by position."""
        if counts.tau is not None:
            kept = counts.weight * max(counts.tau - 1, 0.0)
            sums = [counts.weight, kept, 0.0, 0.0]
        elif counts.drafts and counts.accepted is not None:
            tried = counts.accepted + (counts.rejections or 0.0)
            own = counts.drafts if counts.at else 0.0
            sums = [counts.drafts, counts.accepted, tried, own, *counts.at]
        else:
            self.plain.add(span)
            return
        self.batches.add(sums, span.group)
        self.loads.add(span, sums[0], sums[1])

    def capture(
        self,
        source: str,
        origin: Origin,
        *,
        lines: int = 0,
        unread: int = 0,
        sha256: str = "",
    ) -> Capture:
        """What everything taken adds up to."""
        figures = figures_of(self)
        self._own_traps(figures)
        drafted = bool(self.drafts or self.weight or self.bare)
        running, flow = (self._load(name, drafted=drafted) for name in ("running", "tokens_per_s"))
        return Capture(
            source=source,
            origin=origin,
            spans=self.spans,
            drafts=self.drafts or (None if self.weight or self.bare else 0.0),
            drafted_tokens=self.drafted if self.drafted or self.drafts else None,
            accepted_tokens=self.accepted if self.drafted or self.drafts else None,
            tokens_per_round=figures.tau.value if figures.tau else None,
            tokens_per_round_low=figures.tau.low if figures.tau else None,
            tokens_per_round_high=figures.tau.high if figures.tau else None,
            acceptance_rate=self._rate(),
            alpha=figures.alpha.value if figures.alpha else None,
            alpha_low=figures.alpha.low if figures.alpha else None,
            alpha_high=figures.alpha.high if figures.alpha else None,
            alpha_basis=figures.basis,
            effective_rounds=figures.effective_rounds,
            k=figures.k,
            mean_draft=self.drafted / self.drafts if self.drafts and self.drafted else None,
            per_position=tuple(one.value for one in figures.positions),
            per_position_low=tuple(one.low for one in figures.positions),
            per_position_high=tuple(one.high for one in figures.positions),
            batch=running,
            waiting=self.watched["waiting"].seen(),
            tokens_per_s=flow,
            prompt_tokens_per_s=self.watched["prompt_tokens_per_s"].seen(),
            step_s=self.watched["step_s"].seen(),
            context=self.watched["context"].seen(),
            loads=self.loads.seen() if drafted else self.plain.loads(),
            traps=tuple(self.traps),
            warnings=tuple(self._all_warnings(figures)),
            contradictions=tuple(self._all_contradictions()),
            told=dict(self.told),
            lines=lines,
            unread=unread,
            sha256=sha256,
        )

    def _load(self, name: str, *, drafted: bool) -> Seen | None:
        """What was running: weighted by rounds, or by plain steps where nothing was drafted."""
        return self.watched[name].seen() if drafted else self.plain.seen(name)

    def _rate(self) -> float | None:
        if self.drafted_of:
            return self.accepted_of / self.drafted_of
        return self.rate / self.rate_weight if self.rate_weight else None

    def _own_traps(self, figures: Figures) -> None:
        longest = figures.k or 0
        if self.drafts and longest and self.drafted < self.drafts * longest * (1 - SHORT):
            self.traps["short-drafts"] = None

    def _all_warnings(self, figures: Figures) -> Iterable[str]:
        yield from self.warnings
        yield from figures.warnings
        if self.left_out:
            spans = f"{self.left_out:,} span{'s' * (self.left_out > 1)}"
            was = "were" if self.left_out > 1 else "was"
            yield f"{spans} cannot be as stated and {was} left out"

    def _all_contradictions(self) -> Iterable[str]:
        yield from self.contradictions
        if self.contradicting > len(self.contradictions):
            yield f"and {self.contradicting - len(self.contradictions):,} more"
