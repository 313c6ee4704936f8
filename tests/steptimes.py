"""Step times of engines whose law is known, written as a file of runs: in plain Python, slowly."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

BATCHES = (1, 4, 16, 64, 128)


@dataclass(frozen=True)
class Law:
    """An engine in ms: what a pass waits for and computes, and what a round adds."""

    floor: float = 6.0
    sequence: float = 0.08
    row: float = 0.02
    blend: float = 2.0
    experts: float = 0.0
    spread: float = 50.0
    round: float = 0.6
    draft: float = 0.45
    draft_sequence: float = 0.001
    pad: int = 1

    def step_s(self, batch: float, k: int) -> float:
        """A plain step, or a whole round of k drafts."""
        rows = math.ceil(batch * (k + 1) / self.pad) * self.pad
        waits = self.floor + self.sequence * batch
        waits += self.experts * (1 - math.exp(-rows / self.spread))
        step = (waits**self.blend + (self.row * rows) ** self.blend) ** (1 / self.blend)
        if k:
            step += self.round + k * (self.draft + self.draft_sequence * batch)
        return step / 1000


DENSE = Law()
LAWS = {
    "memory": Law(floor=15, row=0.01, draft=0.4),
    "additive": Law(blend=1.0),
    "compute": Law(floor=3, row=0.12, draft=0.2, draft_sequence=0.002),
    "experts": Law(floor=3, sequence=0.03, row=0.01, experts=6.0, draft=0.3),
    "overhead": Law(floor=3.6, sequence=0.01, row=0.003, round=1.0, draft=0.5),
    "padded": replace(DENSE, pad=16),
}


def table(
    law: Law, batches: Iterable[int] = BATCHES, k: Iterable[int] = (0, 1, 5)
) -> list[tuple[int, int, float]]:
    """Batch, k and seconds of each step."""
    lengths = tuple(k)
    return [(batch, n, law.step_s(batch, n)) for batch in batches for n in lengths]


def noisy(
    rows: Iterable[tuple[int, int, float]], share: float, seed: int = 0
) -> list[tuple[int, int, float]]:
    """The same, each time off by a share of it."""
    dice = np.random.default_rng(seed)
    return [(batch, k, time * math.exp(dice.normal(0, share))) for batch, k, time in rows]


def written(path: str, rows: Sequence[tuple[int, int, float]], header: str = "step_ms") -> Path:
    """A file of runs in ms."""
    lines = [f"batch,k,{header}", *(f"{b},{k},{1000 * t!r}" for b, k, t in rows)]
    Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return Path(path)


def examples() -> None:
    """What the examples on the help page of `calibrate` read, in the current folder."""
    written("runs.csv", table(DENSE, k=(0, 1, 3)))
