"""Speedup under an engine over one fixed grid, in million points per second of one core.

    python benchmarks/engine_sweep.py

The grid is 64 batches x 32 contexts x 20 alphas x 17 draft lengths k = 696,320 points, for
Llama-3.1-8B with Llama-3.2-1B on two H100s under vLLM: ten terms a pass (four products, attention,
two all-reduces, small operations, head, sampler). Times are CPU seconds of this process, so a busy
neighbour is not counted and a second thread would be.
"""

from __future__ import annotations

import platform
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np

from specplan.catalogue.store import Catalogue
from specplan.domain.acceptance import Alpha
from specplan.domain.card import Dtype
from specplan.domain.drafters import ModelDrafter
from specplan.domain.scenario import Setup
from specplan.physics.round import Timing, ideal_rounds, time_rounds
from specplan.physics.steps import Step
from specplan.physics.survival import tokens_table
from specplan.physics.tokens import FloatArray

BATCHES = tuple(float(b) for b in range(1, 65))
CONTEXTS = tuple(float(c) for c in np.linspace(512, 32768, 32))
ALPHAS = tuple(Alpha(float(a)) for a in np.linspace(0.0, 0.95, 20))
LENGTHS = tuple(range(17))
RUNS = 9


def setup() -> Setup:
    """The pair on two H100s under the newest vLLM that its card knows."""
    store = Catalogue()
    engine = store.engine("vllm").card
    return Setup(
        target=store.model("llama-3.1-8b").card,
        draft=ModelDrafter(store.model("llama-3.2-1b").card),
        hardware=store.hardware("h100-sxm").card,
        tp=2,
        draft_tp=2,
        engine=engine,
        dtype=Dtype.BF16,
        draft_dtype=Dtype.BF16,
        kv_dtype=Dtype.BF16,
        release=engine.release(None),
    )


def speedups(timing: Timing) -> FloatArray:
    """Every point of the grid, shape (contexts, batches, alphas, lengths)."""
    return timing.gain[:, :, np.newaxis, :] * tokens_table(ALPHAS, LENGTHS)[0]


def median_s(run: Callable[[], object]) -> float:
    """CPU seconds of `run`, the median of RUNS after one that is not counted."""
    run()
    times = []
    for _ in range(RUNS):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return statistics.median(times)


def main() -> int:
    """Print the rates; 1 if a point is no number."""
    pair = setup()
    axes = (CONTEXTS, BATCHES, LENGTHS)
    timing = time_rounds(pair, *axes)
    grid = speedups(timing)
    if not np.all(np.isfinite(grid)) or not isinstance(timing.verify, Step):
        print("a point is no number: no rate is worth printing", file=sys.stderr)
        return 1
    ways = {
        "times and speedups, vLLM": lambda: speedups(time_rounds(pair, *axes)),
        "times alone, vLLM": lambda: time_rounds(pair, *axes).round_s,
        "times and speedups, ideal": lambda: speedups(ideal_rounds(pair, *axes)),
    }
    print(f"Python {platform.python_version()}, numpy {np.__version__}")
    print(f"{grid.size:,} points; CPU time, median of {RUNS}")
    for name, run in ways.items():
        took_s = median_s(run)
        print(f"{name:28}{1e3 * took_s:8.1f} ms{grid.size / took_s / 1e6:9.1f} M points/s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
