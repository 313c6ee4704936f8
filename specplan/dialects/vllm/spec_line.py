"""The line that V1 prints of its speculation every ten seconds, in all its generations.

None of them counts the drafts. They follow from the others: the tokens accepted are the drafts
times the sum of the rates by position, each of which is a whole number of drafts over them.
Formats: vllm/v1/spec_decode/metrics.py from v0.8.3 on.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Final

from specplan.dialects.patterns import DECIMAL, WHOLE

_NUMBER = rf"(nan|{DECIMAL})"
_FIGURES: Final = {
    "mean": re.compile(rf"Mean acceptance length: {_NUMBER}(?![0-9.])"),
    "accepted": re.compile(rf"(?:Accepted|Number of accepted tokens): ({WHOLE})(?: tokens|,)"),
    "drafted": re.compile(rf"(?:Drafted|Number of draft tokens): ({WHOLE})(?: tokens|,)"),
    "throughput": re.compile(rf"Drafted throughput: {_NUMBER} tokens/s"),
}
_RATE = re.compile(rf"Draft acceptance rate: {_NUMBER}(%?)(,|$)")
_LAST_RATE = re.compile(rf"Avg Draft acceptance rate: {_NUMBER}%")
_POSITIONS = re.compile(rf"Per-position acceptance rate: \[?((?:[0-9]\.{WHOLE}(?:, )?){{1,1024}})")
_MOST_TRIED: Final = 4000

MEAN_HALF: Final = 0.005
POSITION_HALF: Final = 0.0005
RATE_HALF: Final = 0.0005
"""Half of the last digit printed: of the mean, of a rate by position, of the percentage."""


@dataclass(frozen=True, slots=True)
class SpecLine:
    """One line as it is printed, the mean as it stands; None where it has none of that."""

    accepted: int
    drafted: int
    mean: float | None
    positions: tuple[float, ...]
    rate: float | None  # a share
    throughput: float | None  # tokens drafted per second
    percent: bool
    mean_first: bool

    @property
    def bonus_in(self) -> bool:
        """Whether the mean counts the bonus token, as the rates by position tell."""
        if self.mean is None or not self.positions:
            return True
        return abs(1 + sum(self.positions) - self.mean) < abs(sum(self.positions) - self.mean)

    @property
    def tau(self) -> float | None:
        """The mean with the bonus token."""
        return None if self.mean is None else self.mean + (not self.bonus_in)


def parsed(line: str) -> SpecLine | None:
    """The figures of a line; None if it is cut off or says nothing (rates of `nan`)."""
    found = {name: pattern.search(line) for name, pattern in _FIGURES.items()}
    accepted, drafted = found["accepted"], found["drafted"]
    if accepted is None or drafted is None or not int(drafted[1]):
        return None
    mean_first = "metrics: Mean" in line
    rate = (_LAST_RATE if mean_first else _RATE).search(line)
    if rate is None:
        return None
    mean, throughput = found["mean"], found["throughput"]
    positions = _POSITIONS.search(line)
    percent = mean_first or bool(rate[2])
    return SpecLine(
        accepted=int(accepted[1]),
        drafted=int(drafted[1]),
        mean=_number(mean[1]) if mean else None,
        positions=tuple(map(float, positions[1].strip(", ").split(", "))) if positions else (),
        rate=_share(rate[1], percent=percent),
        throughput=_number(throughput[1]) if throughput else None,
        percent=percent,
        mean_first=mean_first,
    )


def drafts_of(said: SpecLine, k: int | None = None) -> int | None:
    """The drafts that a line is about; None if it does not determine them.

    If all drafts may have had the full length (`k`, or the number of positions), they did.
    Otherwise the number nearest to accepted / sum of the rates at which each position's rate is a
    whole number of drafts, all of them together the tokens accepted.
    """
    longest = len(said.positions) or k
    full = said.drafted // longest if longest and said.drafted % longest == 0 else None
    if said.tau is None and not said.positions:
        return full
    low, high = _between(said, longest)
    if full is not None and low <= full <= high and _whole(said, full):
        return full
    if not said.accepted:
        return None
    middle = said.accepted / sum(said.positions) if sum(said.positions) else (low + high) / 2
    near = min(max(round(middle), low), high)
    tried = sorted(range(low, min(high, low + _MOST_TRIED) + 1), key=lambda n: abs(n - middle))
    return next((n for n in tried if _whole(said, n)), near)


def counts(said: SpecLine, drafts: int) -> tuple[float, ...]:
    """Drafts accepted at each position: whole numbers where they add up, else rate x drafts."""
    whole = tuple(float(round(rate * drafts)) for rate in said.positions)
    if sum(whole) == said.accepted:
        return whole
    return tuple(rate * drafts for rate in said.positions)


def _between(said: SpecLine, longest: int | None) -> tuple[int, int]:
    """The least and the most drafts that the rounded figures leave."""
    low, high = math.ceil(said.drafted / longest) if longest else 1, float(said.drafted)
    if said.positions:
        half = POSITION_HALF * len(said.positions)
        low, high = _narrowed(low, high, said.accepted, sum(said.positions), half)
    if said.tau is not None:
        low, high = _narrowed(low, high, said.accepted, said.tau - 1, MEAN_HALF)
    return low, max(low, math.floor(high))


def _narrowed(low: int, high: float, accepted: int, each: float, half: float) -> tuple[int, float]:
    """Bounds of n so that accepted / n rounds to `each`."""
    half *= 1.001  # a figure just on the edge is rounded either way
    low = max(low, math.ceil(accepted / (each + half)))
    return low, min(high, accepted / (each - half)) if each > half else high


def _whole(said: SpecLine, drafts: int) -> bool:
    kept = [round(rate * drafts) for rate in said.positions]
    half = POSITION_HALF * 1.001
    close = all(
        abs(one / drafts - rate) <= half for one, rate in zip(kept, said.positions, strict=True)
    )
    # a rate may round to either of two numbers of drafts once there are more than a thousand
    return close and (abs(sum(kept) - said.accepted) <= 2 * half * drafts * len(kept) + 0.5)


def _share(text: str, *, percent: bool) -> float | None:
    value = _number(text)
    return value / 100 if value is not None and percent else value


def _number(text: str) -> float | None:
    value = float(text)
    return value if math.isfinite(value) else None
