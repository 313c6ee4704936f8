"""Constants of fused expert layers from tables of their latencies, each left out once.

    python benchmarks/fit/experts.py FOLDER

The tables do not say how many experts the tokens reached, which decides the bytes. It follows from
how they were timed: `balanced` deals experts out in turn, `power_law_a` draws loads from x^-a, and
SGLang's and vLLM's layers of 256 experts go through a router that keeps four groups of eight.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from forms import Bounds, Constants, errors, fitted, folder, hardware, lines, silicon, tables

from specplan.domain.card import Dtype
from specplan.domain.engine import Grouped
from specplan.domain.hardware import Hardware
from specplan.physics.experts import Route
from specplan.physics.kernels import seconds
from specplan.physics.tokens import FloatArray
from specplan.physics.work import Load, load, stored_bytes

COLUMNS = {
    "src",
    "moe_dtype",
    "hidden_size",
    "inter_size",
    "topk",
    "num_experts",
    "moe_tp_size",
    "distribution",
    "num_tokens",
    "latency",
}
# Per-tensor fp8 experts of vLLM and SGLang run untuned kernels; their block-scaled ones are served.
DTYPES = {
    ("vllm", "bfloat16"): Dtype.BF16,
    ("vllm", "fp8_block"): Dtype.FP8,
    ("vllm", "nvfp4"): Dtype.NVFP4,
    ("vllm", "w4a16_mxfp4"): Dtype.MXFP4,
    ("sglang", "bfloat16"): Dtype.BF16,
    ("sglang", "fp8_block"): Dtype.FP8,
    ("sglang", "nvfp4"): Dtype.NVFP4,
    ("sglang", "w4a16_mxfp4"): Dtype.MXFP4,
    ("sglang", "int4_wo"): Dtype.INT4,
    ("trtllm", "bfloat16"): Dtype.BF16,
    ("trtllm", "fp8"): Dtype.FP8,
    ("trtllm", "nvfp4"): Dtype.NVFP4,
    ("trtllm", "w4a16_mxfp4"): Dtype.MXFP4,
}
ON_BLACKWELL = {"w4a16_mxfp4": None, "w4a8_mxfp4_mxfp8": Dtype.MXFP4}  # 8-bit activations there
BLOCKS = (8, 16, 32, 64, 128)
BOUNDS = {
    "launch": Bounds(30e-6, 5e-6, 200e-6),
    "expert": Bounds(0.05e-6, 0.001e-6, 3e-6),
    "memory": Bounds(0.75, 0.2, 1.0),
    "compute": Bounds(0.4, 0.05, 1.0),
}
DRAWS = 12


@dataclass(frozen=True, slots=True)
class Timed(Route):
    """A layer whose experts reached are known."""

    reached: FloatArray

    def touched(self, load: Load) -> FloatArray:  # noqa: ARG002
        """As known."""
        return self.reached


def dtype_of(engine: str, card: str, written: str) -> Dtype | None:
    """The dtype that a table serves; None for those that no engine card uses."""
    if card == "b200-sxm" and written in ON_BLACKWELL:
        return ON_BLACKWELL[written] if engine != "vllm" else None
    return DTYPES.get((engine, written))


def term(rows: FloatArray, dtype: Dtype) -> tuple[Timed, FloatArray]:
    """All layers as one term; tokens."""
    hidden, width, experts, active, gpus, tokens, reached = rows.T[:7]
    return (
        Timed("experts", 1, experts, experts, active, hidden, width / gpus, 3, 1, dtype, reached),
        tokens,
    )


def predicted_s(rows: FloatArray, machine: Hardware, dtype: Dtype, found: Constants) -> FloatArray:
    """Seconds of every row."""
    layers, tokens = term(rows, dtype)
    kernel = Grouped(**{**found, "rows": int(found["rows"])})
    return seconds(layers, load(tokens, 1, 1), silicon(machine, dtype, kernel))


def usable(
    engine: str, raw: list[dict[str, str]], machine: Hardware, dtype: Dtype
) -> tuple[FloatArray, list[str]]:
    """hidden, width, experts, active, GPUs, tokens, experts reached, seconds; and the routing.

    Without rows faster than the bandwidth, and without configurations where over 3 in 10 are.
    """
    names = ("hidden_size", "inter_size", "num_experts", "topk", "moe_tp_size", "num_tokens")
    shapes = [tuple(int(r[name]) for name in names) for r in raw]
    rows = np.array(
        [
            (*shape, reached(shape[5], shape[2], shape[3], r["distribution"], engine), latency)
            for shape, r in zip(shapes, raw, strict=True)
            for latency in [float(r["latency"]) / 1e3]
        ]
    )
    layers, _ = term(rows, dtype)
    weights = stored_bytes(dtype) * layers.reached * layers.expert_params
    fast = weights / rows[:, 7] >= machine.bandwidth
    groups = np.array([hash(shape[:5]) for shape in shapes])
    warm = np.array([fast[groups == group].mean() > 0.3 for group in groups])
    kept = ~fast & ~warm
    return rows[kept], [r["distribution"] for r, keep in zip(raw, kept, strict=True) if keep]


@cache
def reached(tokens: int, experts: int, active: int, routing: str, engine: str) -> float:
    """Experts that at least one token is sent to, on average."""
    rng = np.random.default_rng(1)
    limited = experts == 256 and (engine == "sglang" or (engine == "vllm" and tokens >= 16))
    balanced = routing == "balanced"
    counts = []
    for _ in range(1 if balanced else DRAWS):
        if balanced:
            stride = -(-experts // active)
            first = np.arange(tokens)
            first = first if tokens >= stride else first * stride // tokens
            chosen = (first[:, None] + np.arange(active) * stride) % experts
        else:
            loads = _loads(tokens, experts, active, float(routing.rpartition("_")[2]), rng)
            order = np.argsort(-loads, kind="stable")
            chosen = np.repeat(order, loads[order]).reshape(active, tokens).T
        counts.append(len(np.unique(_limited(chosen, experts) if limited else chosen)))
    return float(np.mean(counts))


def _loads(
    tokens: int, experts: int, active: int, power: float, rng: np.random.Generator
) -> np.ndarray:
    """Tokens of each expert: x^-power, scaled to all tokens, whole, and repaired to their sum."""
    low, high = (1.0, 0.8 * tokens) if tokens * active > experts else (0.01, 2.0)
    exponent = 1 - power
    span = high**exponent - low**exponent
    drawn = (span * rng.random(experts) + low**exponent) ** (1 / exponent)
    loads = np.minimum(np.round(drawn / drawn.sum() * tokens * active).astype(int), tokens)
    short = tokens * active - int(loads.sum())
    for _ in range(abs(short)):
        free = np.where(loads < tokens, loads, tokens + 1)
        loads[free.argmin() if short > 0 else loads.argmax()] += 1 if short > 0 else -1
    return loads


def _limited(chosen: np.ndarray, experts: int, groups: int = 8, kept: int = 4) -> np.ndarray:
    """What a group-limited router makes of a choice: a group scores by its best two experts."""
    tokens, active = chosen.shape
    scores = np.zeros((tokens, experts))
    np.put_along_axis(scores, chosen, 1.0, axis=1)
    by_group = np.sort(scores.reshape(tokens, groups, -1), axis=2)[:, :, -2:].sum(2)
    best = np.argsort(-by_group, axis=1, kind="stable")[:, :kept]
    allowed = np.zeros((tokens, groups), bool)
    np.put_along_axis(allowed, best, values=True, axis=1)
    open_to = np.where(np.repeat(allowed, experts // groups, axis=1), scores, -1)
    return np.argsort(-open_to, axis=1, kind="stable")[:, :active]


def fit(rows: FloatArray, machine: Hardware, dtype: Dtype) -> Constants:
    """The best constants over the sizes of block that experts may be filled up to."""
    tokens = rows[:, 5]
    weights = np.where(tokens <= 64, 1.5, np.where(tokens <= 512, 1.0, 0.3))
    best: tuple[Constants, float] | None = None
    for block in BLOCKS:
        found, cost = fitted(
            lambda c, block=block: predicted_s(rows, machine, dtype, {**c, "rows": block}),
            rows[:, 7],
            BOUNDS,
            weights,
        )
        if best is None or cost < best[1]:
            best = {**found, "rows": block}, cost
    assert best is not None  # noqa: S101 - BLOCKS is not empty
    return best[0]


def name_of(row: FloatArray) -> str:
    """A configuration as folds are called: hidden, width, experts, active, GPUs."""
    return "-".join(str(int(value)) for value in row[:5])


def main() -> None:
    """Prints constants and errors of each engine, accelerator and dtype."""
    for (card, engine, written), raw in tables(COLUMNS, of=folder()).items():
        dtype = dtype_of(engine, card, written)
        if dtype is None:
            continue
        machine = hardware(card)
        rows, _ = usable(engine, raw, machine, dtype)
        names = np.array([name_of(row) for row in rows])
        left: dict[str, object] = {}
        out = np.full(len(rows), np.nan)
        for name in sorted(set(names)) if len(set(names)) > 1 else ():
            left[name] = found = fit(rows[names != name], machine, dtype)
            out[names == name] = predicted_s(rows[names == name], machine, dtype, found)
        print(*lines((engine, card, dtype), "experts", fit(rows, machine, dtype), left), sep="\n")
        few = (rows[:, 5] <= 512) & ~np.isnan(out)
        if few.any():
            print("# left out, up to 512 tokens:", errors(out[few], rows[few, 7]), flush=True)


if __name__ == "__main__":
    main()
