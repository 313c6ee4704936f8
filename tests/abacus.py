"""A machine that takes as long as it is told, for tests of the probe."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import cycle
from typing import ClassVar

from specplan.domain.card import Dtype
from specplan.importers.probe.bench import Machine

MACHINE = Machine(
    device="Abacus 9000 (wood)",
    vendor="abacus",
    software="beads 1.2",
    memory_bytes=64.5 * 2**20 * 1024,
    free_bytes=2.0**30,
    cache_bytes=2.0**20,
    threads=4,
    load=0.0,
)


class Abacus:
    """2 TFLOP/s in bf16, half in fp32, or 100 GB/s, whichever is slower; a call takes 2 us more.

    Every third repeat takes `noise` longer, every other third so much less.
    """

    dtypes = (Dtype.BF16, Dtype.FP32)
    side = 512
    least_bytes = 2.0**20
    rates: ClassVar = {Dtype.BF16: 2e12, Dtype.FP32: 1e12}
    bandwidth = 100e9
    floor_s = 2e-6

    def __init__(self, noise: float = 0.0, machine: Machine = MACHINE) -> None:
        self.machine = machine
        self.filled: list[int] = []
        self._jitter = {}
        self._noise = noise

    def copy(self, size: int) -> Callable[[], float]:
        self.filled.append(size)
        return self._taking(2 * size / self.bandwidth)

    def small(self) -> Callable[[], float]:
        return self._taking(0.0)

    def products(self, dtype: Dtype, widths: Sequence[int], size: int):
        self.filled.append(size)
        weights = self.side**2
        read_s = weights * dtype.bytes_per_element / self.bandwidth
        return [self._taking(max(2 * m * weights / self.rates[dtype], read_s)) for m in widths]

    def timed(self, call: Callable[[], float], calls: int) -> float:
        return call() * calls * next(self._jitter[call])

    def _taking(self, seconds: float) -> Callable[[], float]:
        def call() -> float:
            return self.floor_s + seconds

        self._jitter[call] = self._factors()
        return call

    def _factors(self) -> Iterator[float]:
        return cycle((1.0, 1.0 + self._noise, 1.0 - self._noise))
