"""Rounds by what they tell of acceptance, and the alpha that all of them together imply."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from specplan.physics.counters.spans import TAU_ROUNDING, Counts
from specplan.physics.tokens import expected_tokens

_HALVINGS = 60
SHORT = 1e-3  # drafts shorter than k by less on average come from grammars, not from the drafter


@dataclass(slots=True)
class Uneven:
    """Drafts of lengths that nobody counted."""

    drafts: float = 0.0
    drafted: float = 0.0
    accepted: float = 0.0
    at: list[float] = field(default_factory=list)
    longest: int = 0

    def add(self, counts: Counts, k: int | None) -> None:
        """Adds a span's."""
        drafts, drafted = counts.drafts or 0.0, counts.drafted or 0.0
        self.drafts, self.drafted = self.drafts + drafts, self.drafted + drafted
        self.accepted += counts.accepted or 0.0
        longest = max(len(counts.at), k or 0, -int(-drafted // drafts) if drafts else 0)
        self.longest = max(self.longest, longest)
        self.at += [0.0] * (len(counts.at) - len(self.at))
        for place, kept in enumerate(counts.at):
            self.at[place] += kept

    def rejections(self) -> tuple[float, float]:
        """The fewest and the most rounds that can have ended in a rejection.

        Each left at least one drafted token unkept, and one that kept j of at most k left at most
        k - j: the fewest are those that kept least. Without positions only their sums bound them.
        """
        unkept = max(self.drafted - self.accepted, 0.0)
        if not self.at:
            most = min(unkept, self.drafts)
            return min(unkept / max(self.longest, 1), most), most
        kept = [self.drafts, *self.at] + [0.0] * (self.longest - len(self.at))
        exactly = [max(a - b, 0.0) for a, b in zip(kept, [*kept[1:], 0.0], strict=True)]
        most = min(unkept, sum(exactly[: self.longest]))
        fewest, left = 0.0, unkept
        for place, rounds in enumerate(exactly[: self.longest]):
            room = self.longest - place
            taken = min(rounds, left / room)
            fewest, left = fewest + taken, left - taken * room
        return min(fewest, most), most


class Pools:
    """What all spans add up to."""

    def __init__(self) -> None:
        self.accepted = self.rejections = 0.0  # of rounds whose rejections were counted
        self.solved: dict[int, list[float]] = {}  # by length: rounds, accepted
        self.uneven = Uneven()

    def add(self, counts: Counts, k: int | None) -> None:
        """Adds a span; one that says neither a length nor rejections tells nothing of alpha."""
        if counts.tau is not None:
            if k and counts.tau <= k + 1 + TAU_ROUNDING:
                self._solve(k, counts.weight, counts.weight * max(counts.tau - 1, 0.0))
        elif not counts.drafts or counts.accepted is None:
            return
        elif counts.rejections is not None:
            self.accepted += counts.accepted
            self.rejections += counts.rejections
        elif counts.length:
            self._solve(counts.length, counts.drafts, counts.accepted)
        elif counts.drafted is not None:
            self.uneven.add(counts, k)

    def _solve(self, k: int, rounds: float, accepted: float) -> None:
        pool = self.solved.setdefault(k, [0.0, 0.0])
        pool[0] += rounds
        pool[1] += accepted

    @property
    def counted(self) -> bool:
        """Whether every rejection was counted."""
        return not self.solved and not self.uneven.drafts

    @property
    def mixture(self) -> dict[int, float]:
        """Rounds by draft length where it has to stand in for what was rejected: uneven drafts as
        if each were one of the two whole lengths around their mean.
        """
        lengths = {k: rounds for k, (rounds, _) in self.solved.items()}
        if self.uneven.drafts:
            mean = self.uneven.drafted / self.uneven.drafts
            low = int(mean)
            for k, share in ((low, 1 - mean + low), (low + 1, mean - low)):
                lengths[k] = lengths.get(k, 0.0) + share * self.uneven.drafts
        return {k: rounds for k, rounds in lengths.items() if rounds > 0}

    def alpha(self) -> float | None:
        """The share of the drafts that were tried which was kept: accepted / (accepted +
        rejections), rejections solved for where none were counted.
        """
        accepted, rejections = self.accepted, self.rejections
        lengths = self.mixture
        if lengths:
            kept = self.uneven.accepted + sum(accepted for _, accepted in self.solved.values())
            rounds = sum(lengths.values())
            share = alpha_at(1 + kept / rounds, lengths)
            accepted += kept
            if share > 0:
                rejections += kept * (1 - share) / share
            elif not kept:
                rejections += rounds
        tried = accepted + rejections
        return accepted / tried if tried else None

    def bounds(self) -> tuple[float, float] | None:
        """The least and the largest alpha that uneven drafts allow, whatever their lengths were;
        None where there are none, or where alpha had to be solved for anyway.
        """
        if not self.uneven.drafts or self.solved:
            return None
        fewest, most = self.uneven.rejections()
        kept = self.accepted + self.uneven.accepted
        tried = [kept + self.rejections + rejected for rejected in (most, fewest)]
        low, high = (kept / each if each else 0.0 for each in tried)
        return low, high


def alpha_at(tau: float, lengths: Mapping[int, float]) -> float:
    """The alpha at which rounds of these draft lengths, {k: rounds}, yield `tau` tokens each."""
    k = np.array(list(lengths), np.float64)
    share = np.array(list(lengths.values())) / sum(lengths.values())
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        reached = float(expected_tokens(middle, k) @ share) >= tau
        low, high = (low, middle) if reached else (middle, high)
    return 0.0 if tau <= 1 else high
