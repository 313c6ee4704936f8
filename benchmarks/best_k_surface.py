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
ARGMAX_POINTS = 10_240  # every tenth of the 102,400
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
    """The same three arrays from np.argmax over the product, 64 points at a time."""
    surface = Surface(*(np.ascontiguousarray(a) for a in empty_surface(len(gain), len(tokens))))
    for p in range(0, len(gain), 64):
        rows = slice(p, p + 64)
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


def loop_surface(points: list[tuple[float, float]]) -> list[list[tuple[int, float, float]]]:
    """`loop_cell` for each (batch, context) and each alpha."""
    alphas = ALPHAS.tolist()
    return [[loop_cell(batch, context, a) for a in alphas] for batch, context in points]


def median_s(run: Callable[[], object], runs: int) -> float:
    """CPU seconds of `run`, the median of `runs` after one that is not counted."""
    run()
    times = []
    for _ in range(runs):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return statistics.median(times)


def same(surface: Surface, k: object, speedup: object, margin: object) -> bool:
    """Whether another way found the same k, and the same figures but for the last digits."""
    return (
        np.array_equal(surface.k, np.asarray(k))
        and np.allclose(surface.speedup, np.asarray(speedup), rtol=1e-12, atol=0)
        and np.allclose(surface.margin, np.asarray(margin), rtol=1e-6, atol=1e-9)
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
    cells = len(ALPHAS) * len(K)
    surface = empty_surface(len(gain), len(ALPHAS))
    tables_s = median_s(tables, RUNS)
    kernel_s = median_s(lambda: best_k_surface(tokens, gain, K, out=surface), RUNS)

    tenth = slice(None, None, len(gain) // ARGMAX_POINTS)
    argmax_s = median_s(lambda: argmax_surface(tokens, gain[tenth]), 3)
    sample = np.linspace(0, len(gain) - 1, LOOP_POINTS).astype(int)
    points = [
        (float(BATCHES[i // len(CONTEXTS)]), float(CONTEXTS[i % len(CONTEXTS)])) for i in sample
    ]
    loop_s = median_s(lambda: loop_surface(points), 3)

    looped = np.array(loop_surface(points))
    if not same(Surface(*(a[tenth] for a in surface)), *argmax_surface(tokens, gain[tenth])):
        print("argmax disagrees with best_k_surface", file=sys.stderr)
        return 1
    if not same(Surface(*(a[sample] for a in surface)), *np.moveaxis(looped, -1, 0)):
        print("the plain loop disagrees with best_k_surface", file=sys.stderr)
        return 1

    rates = {
        "best_k_surface": len(gain) * cells / kernel_s,
        "best_k_surface and its tables": len(gain) * cells / (kernel_s + tables_s),
        "np.argmax over the product": len(gain[tenth]) * cells / argmax_s,
        "plain Python loop": len(points) * cells / loop_s,
    }
    print(f"{cpu_name()}; Python {platform.python_version()}, numpy {np.__version__}")
    print(f"{len(gain) * cells:,} points; k, speedup and margin written; CPU time, median")
    print(f"{'':30} {'M points/s':>10} {'ratio':>9}")
    for name, rate in rates.items():
        ratio = rates["best_k_surface"] / rate
        print(f"{name:30} {rate / 1e6:10.2f} {ratio:8.1f}x")
    print(f"argmax: measured on {len(gain[tenth]):,} of {len(gain):,} (batch, context) pairs;")
    print(f"plain loop: on {len(points)} of them, and both taken to cost the same per point.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
