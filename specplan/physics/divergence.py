"""Greedy outputs of two engines side by side: where the first token that differs stands.

Greedy decoding puts all probability on one token, so that up to the first difference the TV of the
next token is 0 and there it is 1: differences over tokens compared are its mean.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

STAGE = 4  # each stage of an output reaches this many times as far as the one before


@dataclass(frozen=True, slots=True)
class Stage:
    """Positions `first` to `last`, from 1: outputs that agree until there are compared."""

    first: int
    last: int
    compared: int
    diverged: int


@dataclass(frozen=True, slots=True)
class Divergence:
    """How many of the prompts have the same output from both engines, and after how many tokens
    the others part: `positions`, from 1, in order. Tokens are compared up to there, ends as well.
    """

    prompts: int
    identical: int
    compared: int
    positions: tuple[int, ...]
    stages: tuple[Stage, ...]

    @property
    def diverged(self) -> int:
        """Prompts whose outputs part."""
        return len(self.positions)

    @classmethod
    def of(cls, pairs: Iterable[tuple[ArrayLike, ArrayLike]]) -> Self:
        """From the output of either engine to each prompt."""
        parted: list[int] = []
        ended: list[int] = []
        for plain, spec in pairs:
            position, differs = first_difference(plain, spec)
            (parted if differs else ended).append(position)
        places = np.array([*parted, *ended], dtype=np.int64)
        return cls(
            prompts=len(places),
            identical=len(ended),
            compared=int(places.sum()),
            positions=tuple(sorted(parted)),
            stages=tuple(_stages(places, parted)),
        )


def first_difference(plain: ArrayLike, spec: ArrayLike) -> tuple[int, bool]:
    """The position, from 1, of the first token that differs, and True; of the end, and False, where
    none does. An end differs from a token.
    """
    left, right = np.asarray(plain, dtype=np.int64), np.asarray(spec, dtype=np.int64)
    shorter = min(len(left), len(right))
    differs = np.flatnonzero(left[:shorter] != right[:shorter])
    if len(differs):
        return int(differs[0]) + 1, True
    return shorter + 1, len(left) != len(right)


def _stages(places: np.ndarray, parted: Sequence[int]) -> Iterable[Stage]:
    first = last = 1
    at = np.asarray(parted, dtype=np.int64)
    while len(places) and first <= places.max():
        inside = np.clip(places, first - 1, last) - (first - 1)
        yield Stage(first, last, int(inside.sum()), int(((at >= first) & (at <= last)).sum()))
        first, last = last + 1, last * STAGE
