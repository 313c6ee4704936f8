"""What an accept length and the accept rate beside it say of each other.

Up to 0.5.10 the rate is (accepted + bonus) / (rounds x num_draft_tokens), so that length / rate is
num_draft_tokens and the rate never falls below its inverse; later it is accepted / (rounds x
(num_draft_tokens - 1)) (PR 23530). Which of the two it is, and num_draft_tokens, which the lines
do not print, follow from the figures alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

Meaning = Literal["floor", "strict", ""]
_SLACK = 1e-9


@dataclass(slots=True)
class Range:
    """Where a whole number may still lie."""

    low: float
    high: float = math.inf

    def cut(self, low: float, high: float) -> None:
        """Leaves what lies in both ranges."""
        self.low, self.high = max(self.low, low - _SLACK), min(self.high, high + _SLACK)

    @property
    def only(self) -> int | None:
        """The one whole number left, if it is one."""
        low = math.ceil(self.low)
        return low if self.high < low + 1 and self.possible else None

    @property
    def possible(self) -> bool:
        """Whether a whole number is left."""
        return math.ceil(self.low) <= self.high


def _floor() -> Range:
    return Range(2)


def _strict() -> Range:
    return Range(1)


@dataclass(slots=True)
class DraftTokens:
    """num_draft_tokens, as the lines so far leave it; `changed` where no one number fits all."""

    floor: Range = field(default_factory=_floor)  # of num_draft_tokens, if rates count the bonus
    strict: Range = field(default_factory=_strict)  # of num_draft_tokens - 1, if they do not
    changed: bool = False

    @classmethod
    def known(cls, tokens: int) -> DraftTokens:
        """Where the server says how many."""
        return cls(Range(tokens, tokens), Range(tokens - 1, tokens - 1))

    def see(self, length: float, rate: float, half: float) -> None:
        """Takes in a length and the rate beside it, both within `half`."""
        for _ in range(2):
            below, above = rate + half, rate - half
            self.floor.cut(
                (length - half) / below, (length + half) / above if above > 0 else math.inf
            )
            more = max(length - 1 + half, 0.0)
            self.strict.cut(
                max(length - 1 - half, 0.0) / below, more / above if above > 0 else math.inf
            )
            if self.floor.possible or self.strict.possible:
                return
            self.floor, self.strict, self.changed = (
                _floor(),
                _strict(),
                True,
            )  # the line alone, then

    @property
    def meaning(self) -> Meaning:
        """What the rate must be; empty where both would do."""
        if self.floor.possible == self.strict.possible:
            return ""
        return "floor" if self.floor.possible else "strict"

    def tokens(self, else_meaning: Meaning = "") -> int | None:
        """num_draft_tokens where it is certain; `else_meaning` decides where both would do."""
        meaning = self.meaning or else_meaning
        least = self.strict.only
        strict = None if least is None else least + 1
        if meaning:
            return self.floor.only if meaning == "floor" else strict
        return strict if strict == self.floor.only else None
