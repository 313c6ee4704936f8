"""One request of llama.cpp, as the lines at its end have it, and its rounds as they ran."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from specplan.dialects.figures import MAX_POSITIONS
from specplan.domain.capture import Span

MEAN: float = 0.005  # half of the last digit of a mean length
RATE: float = 0.0005  # and of a rate by position


@dataclass(slots=True)
class Rounds:
    """Rounds of a slot, one by one, as lines `accepted 2/3 draft tokens` have them."""

    drafts: int = 0
    drafted: int = 0
    accepted: int = 0
    histogram: list[float] = field(default_factory=list)
    drafted_at: list[float] = field(default_factory=list)

    def add(self, accepted: int, drafted: int) -> None:
        """A round more."""
        self.drafts += 1
        self.drafted += drafted
        self.accepted += accepted
        self.histogram += [0.0] * (accepted + 1 - len(self.histogram))
        self.histogram[accepted] += 1
        self.drafted_at += [0.0] * (drafted - len(self.drafted_at))
        for at in range(min(drafted, MAX_POSITIONS)):
            self.drafted_at[at] += 1

    def span(self, place: int, group: str) -> Span:
        """All of them."""
        return Span(
            drafts=float(self.drafts),
            drafted=float(self.drafted),
            accepted=float(self.accepted),
            histogram=tuple(self.histogram),
            drafted_at=tuple(self.drafted_at),
            group=group,
            line=place,
        )


@dataclass(slots=True)
class Request:
    """What is known of a request so far; `counted` where other lines have its drafts."""

    place: int
    slot: str = ""
    tokens: float | None = None
    seconds: float | None = None
    accepted: float | None = None
    drafted: float = 0.0
    ratio: float | None = None
    mean: float | None = None
    rates: tuple[float, ...] = ()
    counted: bool = False
    draft_s: float = 0.0
    alone: bool = True  # no other slot was seen to run
    running: float | None = None  # slots that ran at its end
    context: float | None = None

    @property
    def passes(self) -> float | None:
        """Passes of the target: one a token, less the prompt's own and those that were drafted."""
        if self.tokens is None:
            return None
        passes = self.tokens - 1 - (self.accepted or 0.0)
        return passes if passes > 0 else None

    def rounds(self) -> float | None:
        """Verified drafts: what the mean and the rates by position leave, all passes where that is
        among it or nothing else is known.
        """
        if not self.accepted:
            return self.passes
        low, high = self.drafted / max(len(self.rates), 1) if self.rates else 1.0, self.drafted
        if self.mean is not None and self.mean > 1 + MEAN:
            low = max(low, self.accepted / (self.mean - 1 + MEAN))
            high = min(high, self.accepted / (self.mean - 1 - MEAN))
        total = sum(self.rates)
        slack = RATE * len(self.rates)
        if total > slack:
            low = max(low, self.accepted / (total + slack))
            high = min(high, self.accepted / (total - slack))
        if self.passes is not None and (
            self.mean is None or low - 0.5 <= self.passes <= high + 0.5
        ):
            return self.passes
        if self.mean is None:
            return None
        middle = self.accepted / (self.mean - 1) if self.mean > 1 else high
        return float(round(min(max(middle, math.ceil(low)), max(math.floor(high), 1))))

    def span(self, k: int | None) -> Span | None:
        """What the lines say; nothing where they said nothing."""
        if self.tokens is None and self.accepted is None:
            return None
        drafts = None if self.counted or self.accepted is None else self.rounds()
        own = drafts is not None or not self.counted
        return Span(
            drafts=drafts,
            drafted=self.drafted if own and self.accepted is not None else None,
            accepted=self.accepted if own else None,
            at_position=tuple(rate * drafts for rate in self.rates) if drafts else (),
            stated=(("rate", self.ratio, 5e-6),) if own and self.ratio is not None else (),
            k=len(self.rates) or k,
            weight=self.passes or 1.0,
            running=self.running,
            context=self.context,
            tokens_per_s=self._speed(),
            duration_s=self.seconds,
            tokens=self.tokens,
            step_s=self._step(),
            group=self.slot,
            line=self.place,
        )

    def _speed(self) -> float | None:
        """Of the whole server, which is that of its one slot."""
        if not self.alone or not self.tokens or not self.seconds:
            return None
        return self.tokens / self.seconds

    def _step(self) -> float | None:
        """A pass of the target: what drafting leaves of the time, over the passes."""
        drafting = bool(self.drafted)
        if not self.alone or not self.seconds or not self.passes or (drafting and not self.draft_s):
            return None
        seconds = (self.seconds - self.draft_s) / self.passes
        return seconds if seconds > 0 else None
