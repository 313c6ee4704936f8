"""Constants of decode attention from tables of its latencies, five folds by shape of the heads.

    python benchmarks/fit/attention.py FOLDER

Fitted on batches of eight and more, with the optional constants that MORE names. Left out: groups
of more than 32 query heads (no model has them), and TRT-LLM's groups of one, which run another
kernel; so does nearly all of its A100 table, which is warm throughout.
"""

from __future__ import annotations

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
from specplan.domain.engine import Decode
from specplan.domain.hardware import Hardware
from specplan.physics.kernels import seconds
from specplan.physics.tokens import FloatArray
from specplan.physics.work import Attend, load

COLUMNS = {
    "src",
    "kv_cache_dtype",
    "num_heads",
    "num_key_value_heads",
    "head_dim",
    "batch_size",
    "isl",
    "step",
    "latency",
}
DTYPES = {"bfloat16": Dtype.BF16, "fp8": Dtype.FP8}
BOUNDS = {
    "launch": Bounds(12e-6, 1e-6, 100e-6),
    "memory": Bounds(0.9, 0.1, 1.5),
    "block": Bounds(2e-6, 0.05e-6, 50e-6),
    "cold": Bounds(8e-6, 0.01e-6, 100e-6),
}
OPTIONAL = {
    "group": Bounds(0.1e-6, 1e-10, 5e-6),
    "queries": Bounds(0.3, 0.02, 1.5),
    "waves": Bounds(0.5, 1e-3, 1.0),
}
MORE: dict[Key, tuple[str, ...]] = {
    ("trtllm", "h100-sxm", Dtype.FP8): ("group", "queries"),
    ("sglang", "a100-sxm-80gb", Dtype.BF16): ("waves",),
}
"""What misses its target without them: heads per KV head cost a call; blocks run in whole waves."""


def shape(row: dict[str, str]) -> tuple[int, int, int]:
    """Query heads, KV heads, head_dim."""
    return int(row["num_heads"]), int(row["num_key_value_heads"]), int(row["head_dim"])


def term(rows: FloatArray, dtype: Dtype) -> tuple[Attend, FloatArray, FloatArray]:
    """The shapes of all rows as one term; batches and contexts."""
    heads, kv_heads, head_dim, batch, context = rows.T[:5]
    return Attend("attention", 1, heads, kv_heads, head_dim, None, dtype), batch, context


def predicted_s(rows: FloatArray, machine: Hardware, dtype: Dtype, found: Constants) -> FloatArray:
    """Seconds of every row."""
    shapes, batch, context = term(rows, dtype)
    return seconds(shapes, load(batch, 1, context), silicon(machine, dtype, Decode(**found)))


def usable(engine: str, raw: list[dict[str, str]], machine: Hardware, dtype: Dtype) -> FloatArray:
    """heads, KV heads, head_dim, batch, context, seconds of the rows to fit."""
    names = ("num_heads", "num_key_value_heads", "head_dim", "batch_size")
    rows = np.array(
        [
            (*(int(r[n]) for n in names), int(r["isl"]) + int(r["step"]), float(r["latency"]) / 1e3)
            for r in raw
        ]
    )
    shapes, batch, context = term(rows, dtype)
    group = rows[:, 0] / rows[:, 1]
    cold = shapes.call_bytes(load(batch, 1, context)) / rows[:, 5] < machine.bandwidth
    kept: FloatArray = rows[
        cold & (batch >= 8) & (group <= 32) & ((group > 1) | (engine != "trtllm"))
    ]
    return kept


def fit(rows: FloatArray, machine: Hardware, dtype: Dtype, more: tuple[str, ...]) -> Constants:
    """The common constants and `more` of the optional ones."""
    bounds = BOUNDS | {name: OPTIONAL[name] for name in more}
    return fitted(lambda c: predicted_s(rows, machine, dtype, c), rows[:, 5], bounds)[0]


def main() -> None:
    """Prints constants and errors of each engine, accelerator and dtype of the cache."""
    found = tables(COLUMNS, of=folder())
    fold_of = dealt([shape(r) for rows in found.values() for r in rows])
    for (card, engine, written), raw in found.items():
        if (engine, card) == ("trtllm", "a100-sxm-80gb"):
            continue
        machine, dtype = hardware(card), DTYPES[written]
        more = MORE.get((engine, card, dtype), ())
        rows = usable(engine, raw, machine, dtype)
        folds = np.array([fold_of[tuple(int(v) for v in row[:3])] for row in rows])
        left: dict[int, object] = {}
        out = np.empty(len(rows))
        for fold in sorted(set(folds.tolist())):
            left[fold] = constants = fit(rows[folds != fold], machine, dtype, more)
            out[folds == fold] = predicted_s(rows[folds == fold], machine, dtype, constants)
        every = fit(rows, machine, dtype, more)
        print(*lines((engine, card, dtype), "attention", every, left), sep="\n")
        print("# held out:", errors(out, rows[:, 5]), flush=True)


if __name__ == "__main__":
    main()
