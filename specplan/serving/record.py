"""What a simulation keeps of its steps: sums and histograms, so that a month takes no more memory
than a minute.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from specplan.physics.tokens import FloatArray
from specplan.serving.entries import Entry

FOLDED = 1 << 15  # entries that are held before they are summed up
FINEST_S = 1e-6  # gaps below are counted as this
RESOLUTION = 0.0025  # by which neighbouring bins of gaps differ
BINS = 512  # stretches of a timeline at least, twice as many at most
SPAN = 1e-3  # seconds of a stretch at least


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """Averages over stretches of equal length from time 0 on: sequences that decode, requests that
    wait, drafts a round (NaN where nothing decodes), share of the pool in use.
    """

    width_s: float
    batch: FloatArray
    waiting: FloatArray
    k: FloatArray
    kv_share: FloatArray


@dataclass(slots=True)
class Record:
    """Takes entries in by `entries.append`, and sums up those that begin in from_s..to_s.

    `gaps` (bins) counts chunks by the time since the chunk before; batches and k are told by time
    and by rounds.
    """

    pool: float
    most: int
    span_s: float
    from_s: float
    to_s: float
    entries: list[Entry] = field(default_factory=list)
    gaps: FloatArray = field(default_factory=lambda: np.zeros(0))
    gap_s: float = 0.0
    tokens: int = 0
    made: int = 0
    first: int = 0
    prompt: int = 0
    rounds: int = 0
    steps: int = 0
    busy_s: float = 0.0
    kv_s: float = 0.0
    peak: float = 0.0
    end_s: float = 0.0
    batch_s: FloatArray = field(init=False)
    batch_rounds: FloatArray = field(init=False)
    k_s: dict[int, float] = field(default_factory=dict)
    k_rounds: dict[int, int] = field(default_factory=dict)
    _width_s: float = field(init=False)
    _lines: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        self.batch_s, self.batch_rounds = np.zeros(self.most + 1), np.zeros(self.most + 1)
        self._width_s = max(self.span_s / BINS, SPAN)
        self._lines = np.zeros((5, 2 * BINS))

    def fold(self, *, least: int = 0) -> None:
        """Sums up what has come in, where that is more than `least` entries."""
        entries = self.entries
        if len(entries) <= least:
            return
        columns = dict(zip(Entry._fields, map(np.asarray, zip(*entries, strict=True)), strict=True))
        del entries[: len(columns["start_s"])]
        self._draw(columns)
        self.made += int(columns["tokens"].sum() + columns["first"].sum())
        self.end_s = float(columns["start_s"][-1] + columns["time_s"][-1])
        inside = (columns["start_s"] >= self.from_s) & (columns["start_s"] < self.to_s)
        self._sum({name: column[inside] for name, column in columns.items()})

    def _sum(self, of: dict[str, npt.NDArray[np.float64]]) -> None:
        time_s, rounds, batch = of["time_s"], of["rounds"], of["batch"].astype(np.int64)
        decodes = rounds > 0
        self.count(time_s[decodes] / rounds[decodes], of["chunks"][decodes])
        self.tokens += int(of["tokens"].sum())
        self.first += int(of["first"].sum())
        self.prompt += int(of["prompt"].sum())
        self.rounds += int(rounds.sum())
        self.steps += int(np.maximum(rounds, 1).sum())
        self.busy_s += float(time_s.sum())
        self.kv_s += float(time_s @ (of["before_bytes"] + of["after_bytes"])) / 2
        for held in (of["before_bytes"], of["after_bytes"]):
            self.peak = max(self.peak, float(held.max(initial=0.0)))
        size = self.most + 1
        self.batch_s += np.bincount(batch, time_s, size)
        self.batch_rounds += np.bincount(batch, rounds, size)
        for k in np.unique(of["k"][decodes]).tolist():
            here = decodes & (of["k"] == k)
            self.k_s[k] = self.k_s.get(k, 0.0) + float(time_s[here].sum())
            self.k_rounds[k] = self.k_rounds.get(k, 0) + int(rounds[here].sum())

    def count(self, gap_s: FloatArray, chunks: FloatArray) -> None:
        """Counts chunks (n,) that came after so long (n,)."""
        place = np.log(np.maximum(gap_s, FINEST_S) / FINEST_S) / np.log1p(RESOLUTION)
        found = np.zeros(max(len(self.gaps), int(place.max(initial=-1)) + 1))
        found[: len(self.gaps)] += self.gaps
        np.add.at(found, place.astype(np.int64), chunks)
        self.gaps = found
        self.gap_s += float(gap_s @ chunks)

    def _draw(self, of: dict[str, npt.NDArray[np.float64]]) -> None:
        """Adds to the timeline: what is constant from step to step has straight integrals."""
        end_s = of["start_s"] + of["time_s"]
        while end_s[-1] > self._width_s * self._lines.shape[1]:
            self._lines[:, :BINS] = self._lines[:, ::2] + self._lines[:, 1::2]
            self._lines[:, BINS:] = 0
            self._width_s *= 2
        edges = self._width_s * np.arange(self._lines.shape[1] + 1)
        knots = np.stack((of["start_s"], end_s), axis=1).ravel()
        decodes = of["batch"] > 0
        heights = np.stack(
            (
                of["batch"],
                of["waiting"],
                of["k"] * decodes,
                decodes,
                (of["before_bytes"] + of["after_bytes"]) / 2,
            )
        )
        time_s = np.asarray(of["time_s"], np.float64)
        areas = np.cumsum(heights.astype(np.float64) * time_s, axis=1)
        areas = np.repeat(np.pad(areas, ((0, 0), (1, 0))), 2, axis=1)[:, 1:-1]
        for i, area in enumerate(areas):
            self._lines[i] += np.diff(np.interp(edges, knots, area))

    def timeline(self) -> Timeline:
        """As far as the entries go."""
        width_s = self._width_s
        used = min(max(int(np.ceil(self.end_s / width_s)), 1), self._lines.shape[1])
        length_s = np.full(used, width_s)
        length_s[-1] = max(self.end_s - width_s * (used - 1), 1e-9)
        batch, waiting, drafts, decodes, held = self._lines[:, :used]
        return Timeline(
            width_s=width_s,
            batch=batch / length_s,
            waiting=waiting / length_s,
            k=np.where(decodes > 0, drafts / np.maximum(decodes, 1e-12), np.nan),
            kv_share=held / length_s / self.pool,
        )
