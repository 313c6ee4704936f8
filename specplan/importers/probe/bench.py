"""What is measured of any machine, whichever library runs it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from specplan.domain.card import Dtype
from specplan.domain.probe import Measured, Product
from specplan.errors import Refused
from specplan.importers.probe.timing import Call, Timing, Watch, Work, in_turn
from specplan.units import people

WIDTHS = tuple(2**power for power in range(10))
DIGITS = 4  # a card keeps so many of what is measured
CACHES = 2.0  # no cache holds weights of twice its size
SHARE = 1 / 8  # of the free memory, for the weights and for each end of the copy


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What the machine says of itself; `cache_bytes` is its last-level cache, 0 if it is silent."""

    device: str
    vendor: str
    software: str
    memory_bytes: float
    free_bytes: float
    cache_bytes: float
    threads: int | None = None
    load: float | None = None
    units: int | None = None


class Bench(Protocol):
    """A library on a device. Calls run one work each on arrays that exist before they are timed."""

    machine: Machine
    dtypes: Sequence[Dtype]
    side: int
    """Rows and columns of the weights that a product multiplies."""
    least_bytes: float
    """The least buffer that is copied, and the least weights that products take turns among."""

    def copy(self, size: int) -> Call:
        """Copies a buffer of so many bytes."""

    def small(self) -> Call:
        """Runs the smallest kernel."""

    def products(self, dtype: Dtype, widths: Sequence[int], size: int) -> Sequence[Call]:
        """Multiplies weights that take turns, so many bytes of them, with each width."""

    def timed(self, call: Call, calls: int) -> float:
        """Seconds that so many calls take, one after another, from first to last."""


def measure(
    bench: Bench,
    seconds: float,
    *,
    watch: Watch,
    clock: Callable[[], float] = time.monotonic,
    today: str = "",
) -> Measured:
    """What the machine reached in about `seconds`, filling the memory included."""
    start, size = clock(), _size(bench)
    watch(0.0, "filling memory")
    widths = [(dtype, m) for dtype in bench.dtypes for m in WIDTHS]
    try:
        works = list(_works(bench, int(size)))
    except MemoryError:
        raise Refused("too little memory to measure", hint="free some and repeat") from None
    copy, floor, *products = in_turn(
        works, bench.timed, seconds, clock=clock, start=start, watch=watch
    )
    return Measured(
        date=today or datetime.now(UTC).date().isoformat(),
        device=bench.machine.device,
        software=bench.machine.software,
        threads=bench.machine.threads,
        load=bench.machine.load,
        repeats=copy.repeats,
        copy=rounded(2 * size / copy.median_s),
        copy_bytes=size,
        copy_spread=rounded(copy.spread),
        floor=rounded(floor.median_s),
        floor_spread=rounded(floor.spread),
        weight_bytes=size,
        products=tuple(
            _product(dtype, m, bench.side, found)
            for (dtype, m), found in zip(widths, products, strict=True)
        ),
    )


def _works(bench: Bench, size: int) -> Iterator[Work]:
    """Copy, smallest kernel and products, in that order, on arrays that are filled."""
    yield Work("copy", bench.copy(size))
    yield Work("small kernel", bench.small())
    for dtype in bench.dtypes:
        for m, call in zip(WIDTHS, bench.products(dtype, WIDTHS, size), strict=True):
            yield Work(f"{dtype} product, m = {m}", call)


def rounded(value: float) -> float:
    """The value at the digits that a card keeps."""
    return float(f"{value:.{DIGITS - 1}e}")


def _product(dtype: Dtype, m: int, side: int, found: Timing) -> Product:
    return Product(
        dtype=dtype,
        m=m,
        n=side,
        k=side,
        time=rounded(found.median_s),
        spread=rounded(found.spread),
    )


def _size(bench: Bench) -> float:
    """Bytes that no cache holds, as far as the free memory does: whole fp32 weights."""
    machine, weights = bench.machine, bench.side**2 * Dtype.FP32.bytes_per_element
    wanted = math.ceil(max(CACHES * machine.cache_bytes, bench.least_bytes) / weights)
    possible = int(machine.free_bytes * SHARE / weights)
    if not possible:
        raise Refused(
            f"too little memory: {people(machine.free_bytes, 'B')} are free",
            expected=f"at least {people(weights / SHARE, 'B')}",
        )
    return min(wanted, possible) * weights
