"""What was tried on the kernels that miss their targets: every remedy held out as the form is.

    python benchmarks/fit/tried_kernels.py FOLDER [--every]

Five folds by shape. For each group: the form that ships, the common form, the remedies (some of
them ship), and a floor, the best of these scaled by what the nearest rows of the same shape
measured: what noise leaves a smooth form. Median and 90th percentile of the error in %. Three
minutes; with --every each remedy on every table of its kind, which shows what it costs elsewhere
(half an hour).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise, product
from pathlib import Path

import attention
import gemm
import numpy as np
import numpy.typing as npt
from forms import Bounds, Constants, Key, dealt, fitted, hardware, silicon, tables

from specplan.domain.card import Dtype
from specplan.domain.engine import BY_ROWS, TILES, Decode, Gemm
from specplan.domain.hardware import Hardware
from specplan.physics.kernels import MOST_PARTS, PART, QUERIES, RESIDENT, SPLITS
from specplan.physics.tokens import FloatArray
from specplan.physics.work import INPUT_BYTES, stored_bytes

Menu = tuple[tuple[int, int], ...]
Predictor = Callable[[FloatArray], FloatArray]
Forms = dict[str, Callable[[FloatArray], Predictor]]

FINER: Menu = tuple((r, c) for r in (64, 128, 256) for c in (32, 64, 96, 128, 192, 256))
ROWS_DECIDE = TILES["by-rows"]
EDGES = (0.0, *BY_ROWS["by-rows"], np.inf)  # above and up to how many rows each of its tiles runs
NEIGHBOURS = 4


@dataclass(frozen=True, slots=True)
class Products:
    """A form of the matrix product, with `more` constants of BEYOND: wider than `border` has
    constants of its own, up to `unsplit` columns the inner dimension stays whole.
    """

    says: str
    menus: tuple[Menu, ...] = tuple(TILES[name] for name in gemm.menus(("any", "any", Dtype.BF16)))
    more: tuple[str, ...] = ()
    border: float = np.inf
    unsplit: float = 0.0


BEYOND = attention.OPTIONAL | {
    "queries": Bounds(0.3, 0.02, 50.0),  # where memory hides them it goes beyond the peak
    "exponent": Bounds(2.5, 0.7, 12.0),  # of the blend
    "cached": Bounds(0.05, 1e-3, 0.9),  # share of the L2 whose bytes of weights cost nothing
}
SHIPS = "as it ships"
COMMON = "the common form"
PRODUCTS = (
    Products(COMMON),
    Products("finer tiles", menus=(FINER,)),
    Products("exponent free", more=("exponent",)),
    Products("a share of the L2 is free", more=("cached",)),
    Products("to 64 rows fitted apart", border=64),
    Products("L2, and to 64 rows apart", more=("cached",), border=64),
    Products("never split to 2,048 columns", unsplit=2048),
    Products("never split", unsplit=np.inf),
    Products("tile by rows alone, never split", menus=(ROWS_DECIDE,), unsplit=np.inf),
)
ATTENTIONS: dict[str, tuple[str, ...]] = {
    COMMON: (),
    "exponent free": ("exponent",),
    "launch by heads per KV head": ("group",),
    "arithmetic of the queries": ("queries",),
    "launch and arithmetic": ("group", "queries"),
    "whole waves of blocks": ("waves",),
}
WAITING = (COMMON, "exponent free", "whole waves of blocks")
MISSED: dict[tuple[str, ...], tuple[str, ...]] = {
    ("b200-sxm", "sglang", "bfloat16", "gemm"): (SHIPS, *(how.says for how in PRODUCTS[1:6])),
    ("h100-sxm", "vllm", "fp8", "gemm"): (SHIPS, COMMON, *(how.says for how in PRODUCTS[6:])),
    ("h100-sxm", "trtllm", "fp8", "attention"): (SHIPS, *tuple(ATTENTIONS)[:5]),
    ("a100-sxm-80gb", "sglang", "bfloat16", "attention"): (SHIPS, *WAITING),
}
"""The forms to compare where the common one misses a target."""


@dataclass(frozen=True, slots=True)
class Set:
    """One table: rows that end in seconds and their folds, the column along which neighbours lie,
    selections of rows by name, and forms by name.
    """

    key: tuple[str, ...]
    rows: FloatArray
    folds: npt.NDArray[np.int_]
    along: int
    shown: dict[str, npt.NDArray[np.bool_]]
    forms: Forms


def product_s(
    rows: FloatArray, found: Constants, menu: Menu, how: Products, machine: Hardware, dtype: Dtype
) -> FloatArray:
    """Seconds of m, n, k under one menu, before the running maximum."""
    m, n, k = rows.T[:3]
    place = silicon(machine, dtype, Gemm(tiles="small", launch=0.0, memory=1.0, compute=1.0))
    weights = stored_bytes(dtype) * n * k
    moved = weights + m * (INPUT_BYTES.get(dtype, 2.0) * k + 2 * n)
    moved = moved - np.minimum(found.get("cached", 0.0) * place.l2_bytes, 0.9 * weights)
    memory_s = moved / (found["memory"] * place.bandwidth)
    unit = found["compute"] * place.peak(dtype) / place.units * (1 + found["edge"] / 64)
    power, least = found.get("exponent", 3.0), np.full(len(m), np.inf)
    ranges = tuple(pairwise(EDGES)) if menu is ROWS_DECIDE else ((0.0, np.inf),) * len(menu)
    for split in SPLITS if how.unsplit < np.inf else (1,):
        extra = found["split"] + split * 8 * m * n / found["reduce"] if split > 1 else 0.0
        for (high, wide), (above, most) in zip(menu, ranges, strict=True):
            blocks = np.ceil(m / high) * np.ceil(n / wide) * split
            waves = np.ceil(blocks / place.units)
            edges = 1 + found["edge"] * (1 / high + 1 / wide)
            arithmetic_s = waves * 2 * high * wide * k / split * edges / unit
            idle = 1 + found["waves"] * (waves * place.units / blocks - 1)
            time_s = ((memory_s * idle) ** power + arithmetic_s**power) ** (1 / power) + extra
            may = (above < m) & (m <= most) & ((split == 1) | (n > how.unsplit))
            least = np.where(may, np.minimum(least, time_s), least)
    return found["launch"] + least


def products(how: Products, machine: Hardware, dtype: Dtype, rows: FloatArray) -> Predictor:
    """The form fitted to rows of m, n, k, seconds: the best menu of each side of its border."""
    bounds = gemm.BOUNDS | {name: BEYOND[name] for name in how.more}
    if how.unsplit == np.inf:
        del bounds["split"], bounds["reduce"]
    fits: dict[bool, tuple[float, Constants, Menu]] = {}
    for menu, wider in product(how.menus, (False, True)):
        part = rows[(rows[:, 0] > how.border) == wider]
        if not len(part):
            continue
        weights = np.where(part[:, 0] <= 64, 1.5, np.where(part[:, 0] <= 512, 1.0, 0.2))
        form = partial(product_s, part, menu=menu, how=how, machine=machine, dtype=dtype)
        found, cost = fitted(form, part[:, 3], bounds, weights)
        if wider not in fits or cost < fits[wider][0]:
            fits[wider] = cost, found, menu

    def raw_s(asked: FloatArray) -> FloatArray:
        out = np.empty(len(asked))
        for wider, (_, found, menu) in fits.items():
            here = (asked[:, 0] > how.border) == wider
            out[here] = product_s(asked[here], found, menu, how, machine, dtype)
        return out

    smallest = min(high for _, _, menu in fits.values() for high, _ in menu)
    return partial(_never_falling_s, raw_s, smallest)


def _never_falling_s(raw_s: Predictor, step: int, asked: FloatArray) -> FloatArray:
    out = raw_s(asked)
    for shape in np.unique(asked[:, 1:3], axis=0):
        here = (asked[:, 1:3] == shape).all(axis=1)
        full = np.arange(step, asked[here, 0].max() + 1, step)
        if full.size:
            before = raw_s(np.column_stack([full, np.tile(shape, (len(full), 1))]))
            highest = np.concatenate(([0.0], np.maximum.accumulate(before)))
            passed = np.searchsorted(full, asked[here, 0], side="right")
            out[here] = np.maximum(out[here], highest[passed])
    return out


def attention_s(rows: FloatArray, found: Constants, machine: Hardware, dtype: Dtype) -> FloatArray:
    """Seconds of heads, KV heads, head_dim, batch, context."""
    heads, kv_heads, head_dim, batch, context = rows.T[:5]
    place = silicon(machine, dtype, Decode(launch=0.0, memory=1.0, block=0.0))
    cache = 2 * kv_heads * head_dim * dtype.bytes_per_element * batch * context
    units = batch * kv_heads
    sharing = np.sqrt(np.maximum(1.0, heads / kv_heads / QUERIES))
    blocks_s = found["block"] * units * sharing / place.units
    memory_s = cache / (found["memory"] * place.bandwidth)
    if "waves" in found:
        most = np.clip(context / PART, 1.0, MOST_PARTS)
        parts = units * np.clip(np.floor(place.units / units), 1.0, most)
        idle = np.ceil(parts / place.units) * place.units / parts - 1
        memory_s = memory_s * (1 + found["waves"] * idle)
    flops = 4 * heads * head_dim * context * batch
    peak = found.get("queries", np.inf) * place.peak(Dtype.BF16)
    power = found.get("exponent", 2.0)
    together = (blocks_s**power + memory_s**power + (flops / peak) ** power) ** (1 / power)
    full = (cache / (RESIDENT * place.l2_bytes)) ** 4
    shared_s = found.get("group", 0.0) * (heads / kv_heads - 1)
    time_s: FloatArray = found["launch"] + shared_s + together + found["cold"] * full / (1 + full)
    return time_s


def attentions(
    more: tuple[str, ...], machine: Hardware, dtype: Dtype, rows: FloatArray
) -> Predictor:
    """The form fitted to rows of heads, KV heads, head_dim, batch, context, seconds."""
    bounds = attention.BOUNDS | {name: BEYOND[name] for name in more}
    found, _ = fitted(lambda c: attention_s(rows, c, machine, dtype), rows[:, 5], bounds)
    return lambda asked: attention_s(asked, found, machine, dtype)


def _shipped_products(key: Key, machine: Hardware, rows: FloatArray) -> Predictor:
    dtype = key[2]
    constants = gemm.fit(rows, machine, dtype, offered=gemm.menus(key))
    return lambda asked: gemm.predicted_s(asked, machine, dtype, constants)


def _shipped_attention(key: Key, machine: Hardware, rows: FloatArray) -> Predictor:
    found = attention.fit(rows, machine, key[2], attention.MORE.get(key, ()))
    return partial(attention.predicted_s, machine=machine, dtype=key[2], found=found)


def floor(rows: FloatArray, out: FloatArray, along: int) -> FloatArray:
    """`out` scaled by the median ratio of the nearest rows, none beyond a factor of two, that
    differ in column `along` alone; `out` itself where there are not two of them.
    """
    same = np.delete(rows[:, :-1], along, axis=1)
    ratio, place, scaled = rows[:, -1] / out, np.log2(rows[:, along]), out.copy()
    for row in range(len(rows)):
        away = np.abs(place - place[row])
        near = np.flatnonzero((same == same[row]).all(axis=1) & (away > 0) & (away < 1.01))
        near = near[np.argsort(away[near], kind="stable")][:NEIGHBOURS]
        scaled[row] *= np.median(ratio[near]) if len(near) > 1 else 1.0
    return scaled


def product_sets(folder: Path) -> Iterator[Set]:
    """Every table of products but weight-only ones, whose tiles are others; shown are rows up to
    64 and up to 512. One row alone is left out where it takes a slow path.
    """
    found = tables(gemm.COLUMNS, of=folder)
    found = {key: raw for key, raw in found.items() if key[2] in gemm.DTYPES.keys() - {"int4_wo"}}
    fold_of = dealt([(int(r["n"]), int(r["k"])) for raw in found.values() for r in raw])
    for (card, engine, written), raw in found.items():
        machine, dtype = hardware(card), gemm.DTYPES[written]
        rows = gemm.usable(raw, machine, dtype)
        rows = rows[(rows[:, 0] > 1) | ((engine, card, dtype) not in gemm.SLOW_AT_ONE)]
        folds = np.array([fold_of[int(n), int(k)] for n, k in rows[:, 1:3]])
        shown = {f"rows to {most}": rows[:, 0] <= most for most in (64, 512)}
        ways: Forms = {SHIPS: partial(_shipped_products, (engine, card, dtype), machine)}
        ways |= {how.says: partial(products, how, machine, dtype) for how in PRODUCTS}
        yield Set((card, engine, written, "gemm"), rows, folds, 0, shown, ways)


def attention_sets(folder: Path) -> Iterator[Set]:
    """Every table of attention that constants are fitted to; shown are batches of eight and more
    and, of these, the contexts that serving has.
    """
    found = tables(attention.COLUMNS, of=folder)
    fold_of = dealt([attention.shape(r) for raw in found.values() for r in raw])
    for (card, engine, written), raw in found.items():
        if (engine, card) == ("trtllm", "a100-sxm-80gb"):
            continue
        machine, dtype = hardware(card), attention.DTYPES[written]
        rows = attention.usable(engine, raw, machine, dtype)
        folds = np.array([fold_of[int(r[0]), int(r[1]), int(r[2])] for r in rows])
        shown = {"batch 8 on": rows[:, 3] >= 8, "context 512 on": rows[:, 4] >= 512}
        ways: Forms = {SHIPS: partial(_shipped_attention, (engine, card, dtype), machine)}
        ways |= {n: partial(attentions, m, machine, dtype) for n, m in ATTENTIONS.items()}
        yield Set((card, engine, written, "attention"), rows, folds, 4, shown, ways)


def report(table: Set, says: Sequence[str]) -> None:
    """One line for each form named, and the floor below the best of them."""
    print(*table.key, *(f"| {name} ({few.sum()})" for name, few in table.shown.items()))
    measured_s = table.rows[:, -1]
    predicted = {name: np.empty(len(table.rows)) for name in says}
    for name, fold in product(says, np.unique(table.folds)):
        here = table.folds == fold
        predicted[name][here] = table.forms[name](table.rows[~here])(table.rows[here])
    best = min(predicted.values(), key=lambda out: np.median(np.abs(out / measured_s - 1)))
    predicted["floor"] = floor(table.rows, best, table.along)
    for name, out in predicted.items():
        off = 100 * np.abs(out / measured_s - 1)
        cells = (np.percentile(off[few], (50, 90)) for few in table.shown.values())
        print(f"  {name:33}", *(f"| {mid:5.2f} {most:5.1f}" for mid, most in cells), flush=True)


def main() -> None:
    """Prints each missed group, or every table."""
    asked = argparse.ArgumentParser(description="Remedies for kernels that miss their targets.")
    asked.add_argument("folder", type=Path)
    asked.add_argument("--every", action="store_true", help="each remedy on every table")
    options = asked.parse_args()
    for sets in (product_sets, attention_sets):
        for table in sets(options.folder):
            says = list(table.forms) if options.every else MISSED.get(table.key)
            if says:
                report(table, says)


if __name__ == "__main__":
    main()
