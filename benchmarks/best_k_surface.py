"""Best k, speedup and margin over one fixed grid, three ways, side by side in one process.

    python benchmarks/best_k_surface.py

The grid is 512 batches x 200 contexts x 100 alphas x 17 candidates k = 174,080,000 points, for
the golden pair on one H100 by the ideal roofline, written out below. Times are CPU seconds of this
process, so a busy neighbour is not counted and a second thread would be.
"""

from __future__ import annotations

import platform
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from specplan.physics.surface import Surface, best_k_surface, empty_surface

Array = npt.NDArray[np.float64]

PEAK_FLOP_PER_S, BANDWIDTH_BYTES_PER_S = 989e12, 3.35e12  # H100 SXM, bf16
TARGET = (7.50e9, 131072.0)  # parameters and KV bytes per token: Llama-3-8B
DRAFT = (1.24e9, 32768.0)  # Llama-3.2-1B
BYTES_PER_PARAM = 2.0

BATCHES = np.arange(1.0, 513.0)
CONTEXTS = np.linspace(128.0, 32768.0, 200)
ALPHAS = np.linspace(0.0, 0.99, 100)
K = np.arange(17)

RUNS = 7
ARGMAX_ROWS = 64  # a product of 0.8 MB: larger and smaller ones are slower
LOOP_POINTS = 20


def step_s(model: tuple[float, float], batch: Array, context: Array, width: Array) -> Array:
    """Seconds of one pass over `width` tokens of each sequence: the slower of compute and read."""
    params, kv_bytes_per_token = model
    flop = 2 * params * batch * width
    read_bytes = BYTES_PER_PARAM * params + batch * context * kv_bytes_per_token
    return np.maximum(flop / PEAK_FLOP_PER_S, read_bytes / BANDWIDTH_BYTES_PER_S)


def tables() -> tuple[Array, Array]:
    """E(alpha, k), shape (A, K), and plain step over round, shape (B * C, K)."""
    tokens = np.cumsum(ALPHAS[:, np.newaxis] ** K, axis=1)
    batch = np.repeat(BATCHES, len(CONTEXTS))[:, np.newaxis]
    context = np.tile(CONTEXTS, len(BATCHES))[:, np.newaxis]
    one = np.ones(1)
    draft_s = K * step_s(DRAFT, batch, context, one)
    gain = step_s(TARGET, batch, context, one) / (draft_s + step_s(TARGET, batch, context, K + one))
    return tokens, gain


def argmax_surface(tokens: Array, gain: Array) -> Surface:
    """The same three arrays from np.argmax over the product, ARGMAX_ROWS points at a time."""
    shape = len(gain), len(tokens)
    surface = Surface(np.empty(shape, np.uint8), np.empty(shape), np.empty(shape))
    for p in range(0, len(gain), ARGMAX_ROWS):
        rows = slice(p, p + ARGMAX_ROWS)
        product = gain[rows, np.newaxis, :] * tokens
        best = np.argmax(product, axis=-1)
        surface.k[rows] = best
        surface.speedup[rows] = np.take_along_axis(product, best[..., np.newaxis], -1)[..., 0]
        second = np.partition(product, -2, axis=-1)[..., -2]
        surface.margin[rows] = surface.speedup[rows] / second - 1
    return surface


def one_step_s(model: tuple[float, float], batch: float, context: float, width: int) -> float:
    """`step_s` of plain numbers."""
    params, kv_bytes_per_token = model
    flop = 2 * params * batch * width
    read_bytes = BYTES_PER_PARAM * params + batch * context * kv_bytes_per_token
    return max(flop / PEAK_FLOP_PER_S, read_bytes / BANDWIDTH_BYTES_PER_S)


def loop_cell(batch: float, context: float, alpha: float) -> tuple[int, float, float]:
    """Best k, speedup and margin of one cell: the formulas as one writes them without arrays."""
    best_k, best, second = 0, 0.0, 0.0
    for k in range(len(K)):
        round_s = k * one_step_s(DRAFT, batch, context, 1)
        round_s += one_step_s(TARGET, batch, context, k + 1)
        tokens = (1 - alpha ** (k + 1)) / (1 - alpha)
        speedup = tokens * one_step_s(TARGET, batch, context, 1) / round_s
        if speedup > best * (1 + 1e-9):
            best_k, best, second = k, speedup, best
        elif speedup > second:
            second = speedup
    return best_k, best, best / second - 1


def loop_surface(points: list[tuple[float, float]]) -> Surface:
    """`loop_cell` for each (batch, context) and each alpha."""
    alphas = ALPHAS.tolist()
    cells = np.array([[loop_cell(b, c, alpha) for alpha in alphas] for b, c in points])
    return Surface(cells[..., 0].astype(np.uint8), cells[..., 1], cells[..., 2])


def median_s(run: Callable[[], object], runs: int) -> float:
    """CPU seconds of `run`, the median of `runs` after one that is not counted."""
    run()
    times = []
    for _ in range(runs):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return statistics.median(times)


def agree(surface: Surface, points: npt.NDArray[np.intp], other: Surface) -> bool:
    """Whether `other` has the same k at these points, and the same figures but for last digits."""
    return (
        np.array_equal(surface.k[points], other.k)
        and np.allclose(surface.speedup[points], other.speedup, rtol=1e-12, atol=0)
        and np.allclose(surface.margin[points], other.margin, rtol=1e-6, atol=1e-9)
    )


def cpu_name() -> str:
    """The processor as the system names it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def main() -> int:
    """Print the table; 1 if the three ways disagree."""
    tokens, gain = tables()
    surface = empty_surface(len(gain), len(tokens))
    tables_s = median_s(tables, RUNS)
    kernel_s = median_s(lambda: best_k_surface(tokens, gain, K, out=surface), RUNS)

    tenth = np.arange(0, len(gain), 10)
    argmax_s = median_s(lambda: argmax_surface(tokens, gain[tenth]), 3)
    few = np.linspace(0, len(gain) - 1, LOOP_POINTS).astype(np.intp)
    batch, context = np.divmod(few, len(CONTEXTS))
    points = list(zip(BATCHES[batch].tolist(), CONTEXTS[context].tolist(), strict=True))
    loop_s = median_s(lambda: loop_surface(points), 3)

    if not (
        agree(surface, tenth, argmax_surface(tokens, gain[tenth]))
        and agree(surface, few, loop_surface(points))
    ):
        print("the three ways disagree: no rate is worth printing", file=sys.stderr)
        return 1
    rates = {
        "best_k_surface": gain.size * len(tokens) / kernel_s,
        "best_k_surface and its tables": gain.size * len(tokens) / (kernel_s + tables_s),
        "np.argmax over the product": gain[tenth].size * len(tokens) / argmax_s,
        "plain Python loop": gain[few].size * len(tokens) / loop_s,
    }
    print(f"{cpu_name()}; Python {platform.python_version()}, numpy {np.__version__}")
    print(f"{gain.size * len(tokens):,} points; k, speedup and margin written; CPU time, median")
    print(f"{'':30}{'M points/s':>11}{'ratio':>9}")
    for name, rate in rates.items():
        print(f"{name:30}{rate / 1e6:11.2f}{rates['best_k_surface'] / rate:8.1f}x")
    print(f"np.argmax ran on {len(tenth):,} and the loop on {len(few)} of the {len(gain):,}")
    print("(batch, context) pairs: each is taken to cost the same per point on all of them.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
