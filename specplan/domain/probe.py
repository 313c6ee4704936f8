"""What a machine reached when it was measured: no engine had a part in these figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge, Le, MaxLen, MinLen

from specplan.domain.card import Count, Date, Dtype, Strict, Text
from specplan.units import Unit

NOISY = 0.1  # a spread above which a figure is said to be noisy
BUSY = 0.25  # programs to each thread that disturb

Seconds = Annotated[float, Unit("s"), Ge(1e-9), Le(1e4)]
Spread = Annotated[float, Ge(0), Le(1000)]
Bytes = Annotated[float, Unit("B"), Ge(1e3), Le(1e13)]
Rate = Annotated[float, Unit("B/s"), Ge(1e6), Le(1e14)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Product(Strict):
    """Weights of n by k, from memory and not from a cache, times m tokens in one pass.

    `time` is the median of its repeats, `spread` the range of their middle half over the median.
    """

    dtype: Dtype
    m: Count
    n: Count
    k: Count
    time: Seconds
    spread: Spread

    @property
    def flops(self) -> float:
        """FLOP/s of the product."""
        return 2 * self.m * self.n * self.k / self.time

    @property
    def weight_bytes_per_s(self) -> float:
        """Bytes/s at which the weights were read."""
        return self.n * self.k * self.dtype.bytes_per_element / self.time


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured(Strict):
    """Copy, smallest kernel and products of one machine, each measured `repeats` times in turn.

    `copy` counts the bytes read and the bytes written, of a buffer of `copy_bytes`; `floor` is what
    the smallest kernel takes, called from Python; the products took turns among weights of
    `weight_bytes` of each dtype. `load` is how many programs ran on each thread before, as
    the operating system averages them over a minute. Spreads are the range of the middle half over
    the median.
    """

    date: Date
    device: Text
    software: Text
    threads: Count | None = None
    load: Annotated[float, Ge(0), Le(1e6)] | None = None
    repeats: Count
    copy: Rate
    copy_bytes: Bytes
    copy_spread: Spread
    floor: Seconds
    floor_spread: Spread
    weight_bytes: Bytes
    products: Annotated[tuple[Product, ...], MinLen(1), MaxLen(200)]

    def best(self, dtype: Dtype) -> Product:
        """The product of this dtype that reached most FLOP/s."""
        return max((p for p in self.products if p.dtype == dtype), key=lambda p: p.flops)

    @property
    def busy(self) -> bool:
        """Whether other programs took a share of the machine."""
        return self.load is not None and self.load > BUSY

    @property
    def dtypes(self) -> tuple[Dtype, ...]:
        """What was multiplied, each once."""
        return tuple(dict.fromkeys(p.dtype for p in self.products))
