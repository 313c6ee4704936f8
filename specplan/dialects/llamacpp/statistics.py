"""llama.cpp's `statistics` lines: totals of the process, one line for each kind of drafter.

    statistics draft-mtp: #calls(b,g,a) = 2 206 206, #gen drafts = 206, #acc drafts = 173,
    #gen tokens = 411, #acc tokens = 311[, #mean acc len = 2.51, #acc rate/pos = (0.840, 0.670)],
    dur(b,g,a) = 0.004, 1461.076, 0.505 ms

b, g and a are calls at a request's begin, for drafts, and to take in what verification kept: a is
the rounds. A request's own line leaves out drafts that were cut to what is known to be kept, and
verified again, where the cache cannot be rolled back; these totals do not.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from specplan.dialects.figures import MAX_POSITIONS, written

_COUNTS: Final = re.compile(
    r"statistics\s+([\w-]{1,40}):\s+#calls(?:\(b,g,a\))? =\s*([\d ]+), "
    r"#gen drafts =\s*(\d+), #acc drafts =\s*(\d+), #gen tokens =\s*(\d+), #acc tokens =\s*(\d+)",
    re.ASCII,
)
_RATES: Final = re.compile(r"#acc rate/pos = \(([\d., ]*)\)", re.ASCII)
_MEAN: Final = re.compile(r"#mean acc len =\s*(\d+\.\d+)", re.ASCII)
_MEAN_HALF: Final = 0.005
_TIMES: Final = re.compile(
    r"dur\(b,g,a\) = [\d.]+, ([\d.]+), [\d.]+ ms|dur = ([\d.]+) ms", re.ASCII
)


@dataclass(frozen=True, slots=True)
class Sums:
    """Totals of one kind of drafter; `rounds` None where accept calls are not printed."""

    begun: float = 0.0
    rounds: float | None = None
    drafts: float = 0.0
    kept_any: float = 0.0  # drafts of which something was kept
    drafted: float = 0.0
    accepted: float = 0.0
    at_position: tuple[float, ...] = ()
    draft_ms: float = 0.0
    mean: float | None = None  # tokens a round, as the line states it

    def since(self, before: Sums) -> Sums:
        """What was added; all there is, where the totals have started again."""
        if self.drafts < before.drafts or self.drafted < before.drafted:
            return self
        long = len(self.at_position)
        earlier = (*before.at_position[:long], *(0.0,) * (long - len(before.at_position)))
        rounds = None if self.rounds is None else self.rounds - (before.rounds or 0.0)
        return Sums(
            begun=self.begun - before.begun,
            rounds=rounds,
            drafts=self.drafts - before.drafts,
            kept_any=self.kept_any - before.kept_any,
            drafted=self.drafted - before.drafted,
            accepted=max(self.accepted - before.accepted, 0.0),
            at_position=tuple(
                max(now - then, 0.0) for now, then in zip(self.at_position, earlier, strict=True)
            ),
            draft_ms=max(self.draft_ms - before.draft_ms, 0.0),
            mean=None if before.drafts else self.mean,  # of the totals, not of what was added
        )

    @property
    def stated(self) -> tuple[tuple[str, float, float], ...]:
        """What a span may be held against."""
        return () if self.mean is None or not self.rounds else (("tau", self.mean, _MEAN_HALF),)

    @property
    def positions(self) -> tuple[float, ...]:
        """Counts by position, unless some are missing: they add up to the accepted drafts."""
        slack = 0.5 + 5e-4 * (self.rounds or self.drafts) * max(len(self.at_position), 1)
        whole = abs(sum(self.at_position) - self.accepted) <= max(slack, 1.0)
        return self.at_position if whole and self.accepted else ()


def sums(line: str) -> tuple[str, Sums] | None:
    """The kind of drafter and its totals, or None where it is no such line."""
    match = _COUNTS.search(line)
    if not match:
        return None
    calls = [written(word) or 0.0 for word in match[2].split()]
    drafts, kept_any, drafted, accepted = (written(match[at]) or 0.0 for at in range(3, 7))
    rounds = calls[2] if len(calls) == 3 else None
    mean = _MEAN.search(line)
    return match[1], Sums(
        begun=calls[0] if len(calls) == 3 else 0.0,
        rounds=rounds,
        drafts=drafts,
        kept_any=kept_any,
        drafted=drafted,
        accepted=accepted,
        at_position=_positions(line, drafts if rounds is None else rounds),
        draft_ms=_drafting(line),
        mean=written(mean[1]) if mean else None,
    )


def rates(words: str) -> tuple[float, ...]:
    """Rates by position, as they stand in brackets; nothing if one cannot be read."""
    found = [written(word) for word in words.split(",") if word.strip()][:MAX_POSITIONS]
    return tuple(rate for rate in found if rate is not None) if None not in found else ()


def _positions(line: str, rounds: float) -> tuple[float, ...]:
    match = _RATES.search(line)
    return tuple(float(round(rate * rounds)) for rate in rates(match[1])) if match else ()


def _drafting(line: str) -> float:
    match = _TIMES.search(line)
    return (written(match[1] or match[2]) or 0.0) if match else 0.0
