"""Constants of matrix kernels from tables of their latencies, five folds by shape (n, k).

    python benchmarks/fit/gemm.py FOLDER

Weights below 4 MB are left out: they sit in caches. The set of tiles is chosen inside each fold,
but where an engine is known to pick its tile by the number of rows alone.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from forms import (
    Bounds,
    Constants,
    Key,
    dealt,
    errors,
    fitted,
    folder,
    hardware,
    lines,
    silicon,
    tables,
)

from specplan.domain.card import Dtype
from specplan.domain.engine import BY_ROWS, TILES, Gemm
from specplan.domain.hardware import Hardware
from specplan.physics.kernels import _raw_gemm_s, gemm_s, single_s
from specplan.physics.tokens import FloatArray
from specplan.physics.work import Matmul, stored_bytes

COLUMNS = {"src", "gemm_dtype", "m", "n", "k", "latency"}
DTYPES = {
    "bfloat16": Dtype.BF16,
    "fp8": Dtype.FP8,
    "nvfp4": Dtype.NVFP4,
    "int4_wo": Dtype.INT4,
    "sq": Dtype.INT8,
}
SMALLEST_BYTES = 4e6
SLOW_AT_ONE: set[Key] = {("vllm", "b200-sxm", Dtype.FP8)}
TILE_BY_ROWS: set[Key] = {("vllm", "h100-sxm", Dtype.FP8)}
BOUNDS = {
    "launch": Bounds(4e-6, 0.3e-6, 30e-6),
    "memory": Bounds(0.85, 0.3, 1.0),
    "compute": Bounds(0.7, 0.1, 1.0),
    "waves": Bounds(0.08, 0.001, 0.6),
    "edge": Bounds(30.0, 0.5, 1000.0),
    "split": Bounds(1.5e-6, 0.05e-6, 12e-6),
    "reduce": Bounds(2e12, 0.05e12, 30e12),
}


def usable(raw: list[dict[str, str]], machine: Hardware, dtype: Dtype) -> FloatArray:
    """m, n, k, seconds of the rows whose weights came from memory."""
    rows = np.array([(*(int(r[c]) for c in "mnk"), float(r["latency"]) / 1e3) for r in raw])
    weights = stored_bytes(dtype) * rows[:, 1] * rows[:, 2]
    kept: FloatArray = rows[
        (weights >= SMALLEST_BYTES) & (weights / rows[:, 3] < machine.bandwidth)
    ]
    return kept


def menus(key: Key) -> tuple[str, ...]:
    """The sets of tiles to choose from."""
    if key in TILE_BY_ROWS:
        return tuple(BY_ROWS)
    if key[2] is Dtype.INT4:
        return ("weightonly",)
    return tuple(name for name in TILES if name != "weightonly" and name not in BY_ROWS)


def fit(
    rows: FloatArray,
    machine: Hardware,
    dtype: Dtype,
    *,
    slow: bool = False,
    offered: tuple[str, ...],
) -> dict[str, object]:
    """The best set of tiles and its constants; a tile by rows never splits the inner dimension.
    The running maximum over m is left out here: it changes little and would cost a table per
    shape and step.
    """
    above = rows[rows[:, 0] > 1] if slow else rows
    m, n, k, measured_s = above.T
    term = Matmul("product", 1, n, k, dtype)
    weights = np.where(m <= 64, 1.5, np.where(m <= 512, 1.0, 0.2))
    best: tuple[dict[str, object], float] | None = None
    for tiles in offered:
        whole = {"split", "reduce"} if tiles in BY_ROWS else set[str]()
        bounds = {name: bound for name, bound in BOUNDS.items() if name not in whole}

        def model(found: Constants, tiles: str = tiles) -> FloatArray:
            kernel = Gemm(tiles=tiles, **found)
            return _raw_gemm_s(term, m, kernel, silicon(machine, dtype, kernel))

        found, cost = fitted(model, measured_s, bounds, weights)
        if best is None or cost < best[1]:
            best = {"tiles": tiles, **found}, cost
    assert best is not None  # noqa: S101 - some tiles are offered
    constants = best[0]
    if slow:
        one = rows[rows[:, 0] == 1]
        extra = one[:, 3] - predicted_s(one, machine, dtype, constants)
        constants["single"] = float(np.median(extra))
    return constants


def predicted_s(
    rows: FloatArray, machine: Hardware, dtype: Dtype, constants: dict[str, object]
) -> FloatArray:
    """Seconds of every row, running maximum and slow path included."""
    kernel = Gemm(**constants)
    place = silicon(machine, dtype, kernel)
    out = np.empty(len(rows))
    for n, k in sorted({(n, k) for n, k in rows[:, 1:3].tolist()}):
        here = (rows[:, 1] == n) & (rows[:, 2] == k)
        m = rows[here, 0]
        out[here] = gemm_s(Matmul("product", 1, n, k, dtype), m, kernel, place)
        out[here] += single_s(m, kernel)
    return out


def main() -> None:
    """Prints constants and errors of each engine, accelerator and dtype."""
    found = {key: rows for key, rows in tables(COLUMNS, of=folder()).items() if key[2] in DTYPES}
    fold_of = dealt([(int(r["n"]), int(r["k"])) for rows in found.values() for r in rows])
    for (card, engine, written), raw in found.items():
        machine, dtype = hardware(card), DTYPES[written]
        key = engine, card, dtype
        fit_to = partial(
            fit,
            machine=machine,
            dtype=dtype,
            slow=key in SLOW_AT_ONE,
            offered=menus(key),
        )
        rows = usable(raw, machine, dtype)
        folds = np.array([fold_of[int(n), int(k)] for n, k in rows[:, 1:3]])
        left: dict[int, object] = {}
        out = np.empty(len(rows))
        for fold in sorted(set(folds.tolist())):
            left[fold] = constants = fit_to(rows[folds != fold])
            out[folds == fold] = predicted_s(rows[folds == fold], machine, dtype, constants)
        every = fit_to(rows)
        print(*lines(key, "gemm", every, left), sep="\n")
        for widest in (64, 512):
            few = rows[:, 0] <= widest
            print(f"# held out, m up to {widest}:", errors(out[few], rows[few, 3]), flush=True)


if __name__ == "__main__":
    main()
