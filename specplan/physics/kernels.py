"""How long each term takes on real silicon: the constants of an engine card applied to its shapes.

Kernels of a pass run one after another, so a pass is the sum of its terms. Every function returns
seconds in the broadcast shape of what it depends on. Forms and residuals: docs/physics.md.
"""

from __future__ import annotations

from functools import cache, singledispatch

import numpy as np

from specplan.domain.card import Dtype
from specplan.domain.engine import BY_ROWS, PAYLOADS_BYTES, TILES, AllReduce, Gemm, Grouped
from specplan.physics.experts import Route
from specplan.physics.moving import Elementwise, Exchange, Sample, State
from specplan.physics.silicon import Silicon
from specplan.physics.tokens import FloatArray
from specplan.physics.work import Attend, AttendIndex, AttendLatent, Load, Matmul

SPLITS = (1, 2, 3, 4, 6, 8, 16)  # ways to cut the inner dimension that split-k kernels come in
QUERIES = 16  # query rows of one KV head that a thread block of decode attention covers
ROWS = 4096  # numbers of rows timed together: their arrays stay in a core's own cache
FEW = 128  # of them, so few that all splits are tried together
VERIFY_SHARE = 0.5  # of the bf16 peak that the added queries of verification reach (assumed)
RESIDENT = 0.7  # of the L2: a layer's cache beyond this share of it comes from memory
PART = 512  # positions that a part of a sequence's cache holds at least
MOST_PARTS = 32  # thread blocks among which one KV head's cache of a sequence is divided at most


@singledispatch
def seconds(term: object, load: Load, silicon: Silicon) -> FloatArray:  # noqa: ARG001
    """Time of all layers of a term."""
    raise TypeError(f"no kernel runs a {type(term).__name__}")


@seconds.register
def _(term: Matmul, load: Load, silicon: Silicon) -> FloatArray:
    kernel = silicon.gemm(term.dtype)
    return term.count * gemm_s(term, load.rows, kernel, silicon)


def gemm_s(term: Matmul, rows: FloatArray, kernel: Gemm, silicon: Silicon) -> FloatArray:
    """One product at each number of rows; never less than at any smaller number.

    launch + min over tiles and splits of cbrt(memory^3 + arithmetic^3) + split. Falling steps
    start where a tile is full, so the running maximum looks at multiples of the smallest tile.
    Batches and draft lengths meet in the same numbers of rows: each is timed once.
    """
    distinct, place = rows.reshape(-1), np.zeros(1, np.intp)
    if rows.size != 1:
        distinct, place = np.unique(rows, return_inverse=True)
    step = _offered(kernel.tiles)[0].min()
    full = np.arange(step, float(rows.max(initial=0.0)), step)
    every = np.concatenate((distinct, full))
    parts = (every[start : start + ROWS] for start in range(0, max(every.size, 1), ROWS))
    raw_s = np.concatenate([_raw_gemm_s(term, part, kernel, silicon) for part in parts])
    before_s = np.concatenate(([0.0], np.maximum.accumulate(raw_s[distinct.size :])))
    passed = np.minimum(np.floor(distinct / step).astype(np.intp), full.size)
    highest_s: FloatArray = np.maximum(raw_s[: distinct.size], before_s[passed])
    return highest_s[place.reshape(rows.shape)]


def _raw_gemm_s(term: Matmul, rows: FloatArray, kernel: Gemm, silicon: Silicon) -> FloatArray:
    """Before the running maximum: the best of all splits, each with its best tiling."""
    memory_s = term.call_bytes(rows) / (kernel.memory * silicon.bandwidth)
    per_unit = kernel.compute * silicon.peak(term.dtype) / silicon.units * (1 + kernel.edge / 64)
    tile_rows, tile_columns = _offered(kernel.tiles)
    if kernel.tiles in BY_ROWS:
        decided = np.searchsorted(BY_ROWS[kernel.tiles], rows)
        tile_rows, tile_columns = tile_rows[decided, 0], tile_columns[decided, 0]
    tiles = np.atleast_2d(np.ceil(rows / tile_rows) * np.ceil(term.n / tile_columns))
    edges = 1 + kernel.edge * (1 / tile_rows + 1 / tile_columns)
    tile_s = 2 * tile_rows * tile_columns * term.k * edges / per_unit
    splits = np.array(SPLITS if kernel.split is not None else (1.0,))[:, np.newaxis, np.newaxis]
    best = np.full(rows.shape, np.inf)
    for split in (splits,) if rows.size <= FEW else splits[:, np.newaxis]:
        time_s = _cheapest_s(tiles, tile_s, memory_s, kernel.waves, split, silicon.units)
        if kernel.split is not None and kernel.reduce is not None and split[-1] > 1:
            cut = np.where(split[:, 0] > 1, split[:, 0], 0.0)  # whole ones need no merging
            time_s = time_s + kernel.split * (cut > 0) + cut * 8 * rows * term.n / kernel.reduce
        best = np.minimum(best, time_s.min(axis=0))
    return kernel.launch + best


def _cheapest_s(
    tiles: FloatArray,
    tile_s: FloatArray,
    memory_s: FloatArray,
    waiting: float,
    split: FloatArray,
    units: float,
) -> FloatArray:
    """The blend of memory and arithmetic under the best tiling at each split, (split, R): `tiles`
    of each tiling, (tiling, R), and seconds of a tile.
    """
    waves = np.ceil(tiles * split / units)
    whole = memory_s
    if waiting:
        idle = waiting * (waves * units / (tiles * split) - 1)
        whole = memory_s * (1 + idle)
    together = cube(whole) + cube(waves * (tile_s / split))
    cheapest_s: FloatArray = np.cbrt(together.min(axis=1))
    return cheapest_s


@cache
def _offered(menu: str) -> tuple[FloatArray, FloatArray]:
    """Rows and columns of the tiles of a menu, each (tiling, 1)."""
    height, width = np.array(TILES[menu], np.float64).T[:, :, np.newaxis]
    return height, width


def single_s(rows: FloatArray, kernel: Gemm) -> FloatArray:
    """What a dtype's slow path at one row alone adds to a product."""
    return np.where(rows == 1, kernel.single, 0.0)


def blend(memory_s: FloatArray, compute_s: FloatArray) -> FloatArray:
    """A maximum that is rounded near the knee."""
    together: FloatArray = np.cbrt(cube(memory_s) + cube(compute_s))
    return together


def cube(values: FloatArray) -> FloatArray:
    """The third power, the exponent of a blend: products take a tenth of the time of powers."""
    return values * values * values


@seconds.register
def _(term: Attend, load: Load, silicon: Silicon) -> FloatArray:
    """Launch + sqrt(blocks^2 + memory^2 + arithmetic^2) + cold."""
    kernel, group = silicon.attention(term.dtype), term.heads / term.kv_heads
    cache = term.call_bytes(load)
    sharing = np.maximum(1.0, group * load.tokens / QUERIES)
    blocks_s = kernel.block * load.batch * term.kv_heads * np.sqrt(sharing) / silicon.units
    memory_s = cache / (kernel.memory * silicon.bandwidth)
    if kernel.waves:
        memory_s = memory_s * (1 + kernel.waves * _idle(term, load, silicon.units))
    flops, peak = term.call_flops(load), silicon.peak(Dtype.BF16)
    arithmetic_s = flops * (1 - 1 / load.tokens) / (VERIFY_SHARE * peak)
    if kernel.queries:  # else one query's is in the other constants
        arithmetic_s = arithmetic_s + flops / load.tokens / (kernel.queries * peak)
    full = (cache / (RESIDENT * silicon.l2_bytes)) ** 4
    cold_s = kernel.cold * full / (1 + full)
    together = np.sqrt(blocks_s**2 + memory_s**2 + arithmetic_s**2)
    time_s: FloatArray = kernel.launch + kernel.group * (group - 1) + together + cold_s
    return term.count * time_s


def _idle(term: Attend, load: Load, units: float) -> FloatArray:
    """Empty seats per thread block: what whole waves of blocks, one a multiprocessor, leave over.
    The cache of each KV head of each sequence is divided while multiprocessors are free. A part
    of fewer positions than PART would wait for a full one: parts are a fraction there, so that a
    longer context never takes less time.
    """
    whole = load.batch * term.kv_heads
    most = np.clip(term.seen(load) / PART, 1.0, MOST_PARTS)
    blocks = whole * np.clip(np.floor(units / whole), 1.0, most)
    idle: FloatArray = np.ceil(blocks / units) * units / blocks - 1
    return idle


@seconds.register(AttendLatent)
@seconds.register(AttendIndex)
def _(term: AttendLatent | AttendIndex, load: Load, silicon: Silicon) -> FloatArray:
    kernel = silicon.latent()
    memory_s = term.call_bytes(load) / (kernel.memory * silicon.bandwidth)
    compute_s = term.call_flops(load) / (kernel.compute * silicon.peak(Dtype.BF16))
    time_s: FloatArray = kernel.launch + np.hypot(memory_s, compute_s)
    return term.count * time_s


@seconds.register
def _(term: Route, load: Load, silicon: Silicon) -> FloatArray:
    kernel = silicon.experts(term.dtype)
    touched = term.touched(load)
    memory_s = term.call_bytes(load) / (kernel.memory * silicon.bandwidth)
    padded = _padded_rows(term, load, touched, kernel)
    compute_s = 2 * term.expert_params * padded / (kernel.compute * silicon.peak(term.dtype))
    return term.count * (kernel.launch + kernel.expert * touched + blend(memory_s, compute_s))


def _padded_rows(term: Route, load: Load, touched: FloatArray, kernel: Grouped) -> FloatArray:
    """Rows after each expert touched is filled up to whole blocks (on average half of one)."""
    padded: FloatArray = np.maximum(
        touched * kernel.rows, term.routed(load) + touched * kernel.rows / 2
    )
    return padded


@seconds.register
def _(term: State, load: Load, silicon: Silicon) -> FloatArray:
    moved_s = term.traffic_bytes(load) / (silicon.small.memory * silicon.bandwidth)
    return term.count * silicon.small.state + moved_s


@seconds.register
def _(term: Exchange, load: Load, silicon: Silicon) -> FloatArray:
    return term.count * allreduce_s(silicon.allreduce(term.gpus), term.payload_bytes(load))


def allreduce_s(kernel: AllReduce, payload_bytes: FloatArray) -> FloatArray:
    """One all-reduce: between measured sizes on double-logarithmic lines, beyond them by the bus
    bandwidth (2 (p - 1) / p bytes travel per byte).
    """
    times = np.maximum.accumulate(kernel.times)
    sizes = np.log(PAYLOADS_BYTES)
    inside = np.exp(np.interp(np.log(np.maximum(payload_bytes, 1.0)), sizes, np.log(times)))
    travel = 2 * (kernel.gpus - 1) / kernel.gpus
    beyond = np.maximum(travel * payload_bytes / kernel.bus, times[-1])
    return np.where(payload_bytes > PAYLOADS_BYTES[-1], beyond, inside)


@seconds.register
def _(term: Elementwise, load: Load, silicon: Silicon) -> FloatArray:
    moved_s = term.traffic_bytes(load) / (silicon.small.memory * silicon.bandwidth)
    return term.launches * silicon.small.launch + moved_s


@seconds.register
def _(term: Sample, load: Load, silicon: Silicon) -> FloatArray:
    fixed_s = silicon.small.draft_sampler if term.draft else silicon.small.sampler
    return fixed_s + term.traffic_bytes(load) / (silicon.small.memory * silicon.bandwidth)
