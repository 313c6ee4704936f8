"""What each round of a simulated sequence keeps, drawn ahead in long lists.

A request takes consecutive draws of its kind. Running sums of them say at once in which round it
has all of its tokens, and how its context grows until then.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from specplan.domain.acceptance import Acceptance, Named
from specplan.domain.acceptance_parts import Mixture
from specplan.physics.survival import survival
from specplan.physics.tokens import FloatArray

AT_ONCE = 1 << 13  # draws that are made together
GRADES = 8  # contexts to a doubling, at which an acceptance by context is taken

Taken = tuple[list[int], list[int], int, int]
"""Tokens made before each draw, the sums of those, where a request begins, and its rounds."""


@dataclass(slots=True)
class Stream:
    """Rounds of sequences of one kind and one k, in which S_i (k,) keep position i: P(exactly a
    drafts kept) = S_a - S_(a+1), and a token besides. No draw is used twice.
    """

    survival: FloatArray
    rng: np.random.Generator
    made: list[int] = field(default_factory=list)
    summed: list[int] = field(default_factory=list)
    at: int = 0

    def take(self, tokens: int) -> Taken:
        """The rounds of a request that is still to make so many tokens, 1 or more."""
        at = self.at
        if at + tokens >= len(self.made):
            self._draw(max(tokens + 1, AT_ONCE))
            at = 0
        end = bisect_left(self.made, self.made[at] + tokens, at + 1)
        if len(self.survival):
            self.at = end
        return self.made, self.summed, at, end - at

    def _draw(self, size: int) -> None:
        """New lists: who holds the old ones goes on with them."""
        k = len(self.survival)
        tokens = np.ones(size, np.int64)
        if k:
            tokens += k - np.searchsorted(self.survival[::-1], self.rng.random(size), side="right")
        made = np.concatenate(([0], np.cumsum(tokens)))
        self.made = made.tolist()
        self.summed = np.concatenate(([0], np.cumsum(made[:-1]))).tolist()
        self.at = 0


class Streams:
    """The streams of an acceptance. A mixture has a kind for each of its parts, to one of which a
    request belongs for good; an acceptance by context one for each grade of a request's own mean
    context.
    """

    def __init__(self, acceptance: Acceptance, seed: np.random.SeedSequence) -> None:
        while isinstance(acceptance, Named):
            acceptance = acceptance.model
        mixed = isinstance(acceptance, Mixture)
        parts = acceptance.parts if isinstance(acceptance, Mixture) else ((1.0, acceptance),)
        self._shares = [share for share, _ in parts] if mixed else [1.0]
        self._parts = [part for _, part in parts]
        self._seed = seed
        self._found: dict[tuple[int, int], Stream] = {}

    def kinds(self, isl: npt.ArrayLike, osl: npt.ArrayLike) -> list[int]:
        """The kind of each request, by its tokens."""
        context = np.asarray(isl, np.float64) + np.asarray(osl, np.float64) / 2
        grade = np.rint(GRADES * np.log2(np.maximum(context, 1.0))).astype(np.int64)
        part = np.zeros(len(context), np.int64)
        if len(self._parts) > 1:
            shares = np.asarray(self._shares) / sum(self._shares)
            part = self._rng(0, 0).choice(len(shares), len(context), p=shares)
        depends = np.asarray([model.by_context for model in self._parts])[part]
        kinds: list[int] = (part + len(self._parts) * np.where(depends, grade, 0)).tolist()
        return kinds

    def of(self, k: int, kind: int) -> Stream:
        """The stream of one k for requests of a kind."""
        found = self._found.get((k, kind))
        if found is None:
            grade, part = divmod(kind, len(self._parts))
            kept = survival(self._parts[part], k, 2.0 ** (grade / GRADES))
            found = self._found[k, kind] = Stream(kept, self._rng(k + 1, kind))
        return found

    def _rng(self, *key: int) -> np.random.Generator:
        entropy, own = self._seed.entropy, self._seed.spawn_key
        return np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=(*own, *key)))
