"""How much the k that `calibrate` names loses against the best measured, where it was not told all.

    python benchmarks/calibrate.py [--quick]

Worlds, each calibrated on plain steps, the shortest and the longest rounds alone, and asked for a
best k at every batch: engines of ours that time every kernel (tiles, graphs, experts), laws in
closed form (padding, eager launches beyond a width, a hard knee), passes made of measured kernels
(tiles.csv: microseconds of a layer by rows, jagged as they are, from the kernel tables of
aiconfigurator-core 0.12.0, Apache-2.0), and published speedups that hold three or more
draft lengths: those of measurements/rounds.csv, and rates over batch and k (GRIDS). Timing noise is
added to all but the last; a loss is against the best of the noisy times, as whoever measured them
would judge.
"""

from __future__ import annotations

import csv
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from specplan.catalogue.ledger import packaged_rows
from specplan.cli.scenario import scenario
from specplan.physics.between import Fitted
from specplan.physics.leastsq import fit
from specplan.physics.round import time_rounds
from specplan.physics.step_form import Points, StepForm
from specplan.physics.tokens import FloatArray

BATCHES = (1, 4, 16, 64, 128)
ENGINES = ("vllm@0.10", "vllm", "sglang")
SETUPS = (
    ("llama-3.1-8b", "eagle3-llama-3.1-8b", "h100-sxm", 1, 2048),
    ("llama-3.1-8b", "llama-3.2-1b", "h100-sxm", 1, 2048),
    ("llama-3.1-8b", "eagle3-llama-3.1-8b", "a100-sxm-80gb", 1, 1024),
    ("llama-3.3-70b", "eagle3-llama-3.3-70b", "h100-sxm", 4, 2048),
    ("llama-3.3-70b", "llama-3.2-1b", "h200-sxm", 4, 4096),
    ("qwen3-30b-a3b", "eagle3-qwen3-30b-a3b", "h200-sxm", 1, 1024),
    ("qwen3-235b-a22b", "eagle3-qwen3-235b-a22b", "h200-sxm", 8, 1024),
    ("qwen3-8b", "ratio:0.1", "l40s", 1, 1024),
    ("qwen3-8b", "ratio:0.1", "b200-sxm", 1, 8192),
)
# floor, sequence, row, blend, round, draft (ms), experts, their spread, rows of a pad, widest graph
LAWS = {
    "additive": (7.1, 0.08, 0.021, 1, 0.5, 0.7, 0, 1, 1, 0),
    "knee": (5.5, 0.05, 0.03, 3, 0.3, 0.4, 0, 1, 1, 0),
    "maximum": (5.5, 0.05, 0.04, 20, 0.3, 0.4, 0, 1, 1, 0),
    "experts": (3.0, 0.03, 0.01, 2, 0.5, 0.3, 6, 50, 1, 0),
    "overhead": (3.6, 0.01, 0.003, 2, 1.0, 0.5, 0, 1, 1, 0),
    "pads of 64": (5.5, 0.05, 0.03, 2, 0.3, 0.3, 0, 1, 64, 0),
    "eager from 256": (5.5, 0.05, 0.03, 2, 0.3, 0.3, 0, 1, 1, 256),
    "compute": (3.3, 0.05, 0.12, 2, 0.2, 0.2, 0, 1, 1, 0),
}
EAGER_S = 1.5e-3
TILES = Path(__file__).with_name("tiles.csv")
# Rates over batch and k that people published, and tokens per round: where a source does not state
# these, those of an acceptance that decays; they cancel at every k that is measured.
GRIDS = {
    # SGLang pull request 22246, tok/s, mean of 3 runs: topk 1, steps 1 to 6
    "Qwen3-235B-A22B": (
        (1, 2, 4, 8, 16, 32, 64),
        {
            1: (162, 289, 528, 823, 1268, 2143, 3353),
            2: (188, 332, 568, 903, 1451, 2297, 3693),
            3: (195, 332, 572, 896, 1531, 2352, 3555),
            4: (199, 333, 572, 911, 1537, 2348, 3400),
            5: (199, 331, 569, 905, 1464, 2316, 3222),
            6: (188, 311, 549, 883, 1413, 2239, 3054),
        },
        (0.75, 0.95),
    ),
    "GLM-4.7-FP8": (
        (1, 2, 4, 8, 16, 32),
        {
            1: (130, 236, 469, 795, 1265, 2090),
            2: (167, 286, 581, 972, 1540, 2497),
            3: (195, 350, 648, 1075, 1766, 2761),
            4: (204, 371, 709, 1113, 1704, 2707),
            5: (210, 377, 724, 1124, 1757, 2780),
        },
        (0.85, 0.95),
    ),
    # KookiesNKareem/spec-goodput-control, RESULTS.md section 6: Qwen2.5-7B on an A40, vLLM 0.6.3
    "Qwen2.5-7B": (
        (1, 8, 32),
        {
            0: (34.0, 252.3, 870.3),
            1: (41.4, 291.0, 723.1),
            2: (45.0, 305.1, 686.5),
            3: (43.3, 275.0, 652.6),
        },
        (0.884, 0.95),
    ),
}
ALPHAS = (0.5, 0.6, 0.7, 0.8, 0.9)
DECAYS = ((0.82, 0.95), (0.75, 0.8), (0.9, 0.97), (0.65, 1.02))


@dataclass(frozen=True)
class World:
    """Times (B, K) over batches and draft lengths, and where published the tokens of each round."""

    name: str
    batch: FloatArray
    k: tuple[int, ...]
    time_s: FloatArray
    tokens: FloatArray | None = None


def engines(longest: int) -> Iterator[World]:
    """Our own engines, kernel by kernel."""
    lengths = tuple(range(longest + 1))
    for engine in ENGINES:
        for target, draft, gpu, tp, context in SETUPS:
            setup = scenario(
                target=target, draft=draft, hardware=gpu, tp=tp, engine=engine, acceptance=0.7
            ).setups[0]
            batch = [float(b) for b in BATCHES]
            timing = time_rounds(setup, (float(context),), batch, lengths)
            times = np.where(np.asarray(lengths) == 0, timing.plain_s[0], timing.round_s[0])
            yield World(f"{engine} {target} {gpu}", np.asarray(batch), lengths, times)


def laws(longest: int) -> Iterator[World]:
    """Closed forms, some of which our form does not hold."""
    k = np.arange(longest + 1)
    batch = np.asarray([1, 2, 4, 8, 16, 32, 64, 128], np.float64)
    for name, (floor, each, row, p, begun, draft, experts, spread, pad, graph) in LAWS.items():
        true_rows = batch[:, np.newaxis] * (k + 1)
        rows = np.ceil(true_rows / pad) * pad
        waits = floor + each * batch[:, np.newaxis] - experts * np.expm1(-rows / spread)
        times = 1e-3 * (waits**p + (row * rows) ** p) ** (1 / p)
        times = times + np.where(k > 0, 1e-3 * (begun + draft * k), 0.0)
        if graph:
            times = times + EAGER_S * (true_rows > graph)
        yield World(name, batch, tuple(k.tolist()), times)


def published() -> Iterator[World]:
    """Speedups of one batch and workload at three or more draft lengths; a plain step takes 1."""
    groups = defaultdict(dict)
    for row in packaged_rows():
        if row.kind == "round" and not row.doubtful and row.tokens == (row.k or 0) + 1:
            task = (row.note or "").partition(";")[0]
            plain = (row.note or "").partition("plain ")[2].partition(" ")[0]
            key = (row.source, row.engine, row.gpu, row.target, row.draft, row.batch, task, plain)
            groups[key][row.k] = (row.tau, row.value)
    for key, found in groups.items():
        lengths = tuple(sorted(found))
        if len(lengths) >= 3:
            tau = np.asarray([1.0, *(found[k][0] for k in lengths)])
            speedup = np.asarray([1.0, *(found[k][1] for k in lengths)])
            batch = np.asarray([float(key[5])])
            name = " ".join(map(str, key[3:7]))
            yield World(name, batch, (0, *lengths), (tau / speedup)[np.newaxis], tau[np.newaxis])


def tiles(longest: int) -> Iterator[World]:
    """Passes whose kernels were measured at so many rows; a drafter of a layer and a wait."""
    with TILES.open(encoding="utf-8") as file:
        curves = defaultdict(list)
        for row in csv.DictReader(file):
            key = (row["kernels"], int(row["layers"]))
            curves[key].append((float(row["rows"]), 1e-6 * float(row["layer_us"])))
    k = np.arange(longest + 1)
    batch = np.asarray([1, 2, 4, 8, 16, 32, 64, 128], np.float64)
    for (name, layers), curve in curves.items():
        rows, layer_s = np.asarray(curve).T
        wide_s = np.interp(batch[:, np.newaxis] * (k + 1), rows, layer_s)
        once_s = np.interp(batch, rows, layer_s)[:, np.newaxis]
        times = layers * wide_s + 1e-3 + 0.04e-3 * batch[:, np.newaxis]
        times = times + np.where(k > 0, 0.4e-3 + k * (once_s + 0.25e-3), 0.0)
        yield World(name, batch, tuple(k.tolist()), times)


def grids() -> Iterator[World]:
    """Published rates over batch and k."""
    for name, (batches, rates, (first, decay)) in GRIDS.items():
        lengths = tuple(rates)
        kept = np.cumprod(first * decay ** np.arange(max(lengths)))
        tokens = np.concatenate(([1.0], 1 + np.cumsum(kept)))[list(lengths)]
        batch = np.asarray(batches, np.float64)
        times = batch[:, np.newaxis] * tokens / np.asarray(list(rates.values())).T
        yield World(name, batch, lengths, times, tokens[np.newaxis])


def survivals(longest: int) -> Iterator[FloatArray]:
    """Tokens per round at each draft length, of several acceptances."""
    steps = np.arange(longest)
    for rates in (*(np.full(longest, a) for a in ALPHAS), *(a * r**steps for a, r in DECAYS)):
        kept = np.cumprod(np.minimum(rates, 1.0))
        yield np.concatenate(([1.0], 1 + np.cumsum(kept)))


def predicted(world: World, time_s: FloatArray) -> FloatArray:
    """Times at every draft length from those at 0, the shortest and the longest."""
    batch, k = np.meshgrid(world.batch, np.asarray(world.k, np.float64), indexing="ij")
    rounds = [length for length in world.k if length]
    known = np.isin(k, (0, rounds[0], rounds[-1]))
    points = Points(batch[known], 0 * batch[known], k[known] + 1, k[known])
    form = StepForm.of(points, time_s[known])
    found = fit(form.unknowns, lambda values: form.seconds(values, points), time_s[known])
    every = Points(batch.ravel(), 0 * batch.ravel(), k.ravel() + 1, k.ravel())
    return Fitted(form.seconds, found, points, time_s[known]).at(every).time_s.reshape(k.shape)


def losses(
    world: World, candidates: Sequence[int], noise: float, dice: np.random.Generator
) -> tuple[list[float], list[float]]:
    """What the named k loses at each batch and acceptance, and errors of times not told."""
    off = dice.normal(0.0, noise, world.time_s.shape) if noise else np.zeros(world.time_s.shape)
    times = world.time_s * np.exp(off)
    said = predicted(world, times)
    some = [world.k.index(k) for k in candidates]
    tokens = [world.tokens] if world.tokens is not None else list(survivals(world.k[-1]))
    lost: list[float] = []
    for each in tokens:
        rate, true = (each / said)[:, some], (each / times)[:, some]
        named = np.take_along_axis(true, rate.argmax(axis=1)[:, np.newaxis], axis=1)[:, 0]
        lost += (1 - named / true.max(axis=1)).tolist()
    rounds = [length for length in world.k if length]
    middle = np.isin(world.k, rounds[1:-1])
    return lost, np.abs(said / times - 1)[:, middle].ravel().tolist()


def report(
    label: str, worlds: Sequence[World], candidates: Sequence[int] | None, noise: float
) -> None:
    """One line."""
    dice, lost, errors = np.random.default_rng(5), [], []
    for world in worlds:
        here, off = losses(world, candidates or world.k, noise, dice)
        lost, errors = [*lost, *here], [*errors, *off]
    over = 100 * np.mean(np.asarray(lost) > 0.02)
    print(
        f"{label:<34} {len(lost):>5} {100 * np.mean(lost):>7.2f} {over:>8.1f} "
        f"{100 * max(lost):>7.1f} {100 * np.median(errors):>8.1f}"
    )


def main() -> None:
    """Prints the table, in per cent."""
    noises = (0.0, 0.01) if "--quick" in sys.argv else (0.0, 0.01, 0.02, 0.03)
    print(f"{'':<34} {'n':>5} {'mean':>7} {'over 2 %':>8} {'worst':>7} {'middle':>8}")
    for longest, some in ((5, (0, 1, 3, 5)), (5, None), (8, None)):
        for noise in noises:
            words = f"k of {','.join(map(str, some))}" if some else f"k of 0 to {longest}"
            told = f"{words}, noise {100 * noise:g} %"
            report(f"engines, {told}", list(engines(longest)), some, noise)
            report(f"laws, {told}", list(laws(longest)), some, noise)
            report(f"tiles, {told}", list(tiles(longest)), some, noise)
    report("published", list(published()), None, 0.0)
    for world in grids():
        report(f"published, {world.name}", [world], None, 0.0)


if __name__ == "__main__":
    main()
