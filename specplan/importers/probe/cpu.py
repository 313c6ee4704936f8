"""numpy and its BLAS on the processors of this machine."""

from __future__ import annotations

import platform
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import cycle

import numpy as np
from numpy.typing import NDArray

from specplan.domain.card import Dtype
from specplan.errors import Refused
from specplan.importers.probe import host
from specplan.importers.probe.bench import Machine
from specplan.importers.probe.timing import Call

Floats = NDArray[np.float32]


class NumpyBench:
    """Single-precision products, which are all that BLAS has, and a copy in as many threads."""

    dtypes: Sequence[Dtype] = (Dtype.FP32,)

    def __init__(self, side: int = 4096, least_bytes: float = 2.0**28) -> None:
        self.side, self.least_bytes = side, least_bytes
        name, threads = host.processor(), host.threads()
        self.machine = Machine(
            device=name,
            vendor=host.vendor(name),
            software=f"numpy {np.__version__}, {blas()}, {platform.system()}",
            memory_bytes=host.memory_bytes(),
            free_bytes=host.free_bytes(),
            cache_bytes=host.cache_bytes(),
            threads=threads,
            load=host.load(threads),
        )
        self._pool = ThreadPoolExecutor(threads)

    def copy(self, size: int) -> Call:
        """Copies a buffer of so many bytes, each thread its part."""
        source, target = (np.empty(size // 4, np.float32) for _ in range(2))
        parts = self.machine.threads or 1
        pairs = tuple(
            zip(np.array_split(target, parts), np.array_split(source, parts), strict=True)
        )

        def call() -> None:
            for part in [self._pool.submit(np.copyto, *pair) for pair in pairs]:
                part.result()

        # Each page is touched first by a thread that copies it, hence near to its processor.
        for part in source, target:
            self._filled(part)
        return call

    def small(self) -> Call:
        """Multiplies one number by one number, as matrices."""
        one = np.ones((1, 1), np.float32)
        return partial(np.matmul, one, one, out=np.empty_like(one))

    def products(self, dtype: Dtype, widths: Sequence[int], size: int) -> Sequence[Call]:
        """Multiplies weights that take turns, so many bytes of them, with each width."""
        if dtype not in self.dtypes:
            raise Refused(f"BLAS has no {dtype} products", expected=", ".join(self.dtypes))
        first = np.random.default_rng(0).random((self.side, self.side), np.float32)
        copies = (np.array(first) for _ in range(size // first.nbytes - 1))
        weights = cycle((first, *copies))
        return [self._product(m, weights) for m in widths]

    def timed(self, call: Call, calls: int) -> float:
        """Seconds that so many calls take."""
        start = time.perf_counter()
        for _ in range(calls):
            call()
        return time.perf_counter() - start

    def _product(self, m: int, weights: cycle[Floats]) -> Call:
        # Weights on the left: BLAS reads them as they lie, and packs the few columns instead.
        columns = np.ones((self.side, m), np.float32)
        out = np.empty((self.side, m), np.float32)
        return lambda: np.matmul(next(weights), columns, out=out)

    def _filled(self, array: Floats) -> None:
        for part in np.array_split(array, self.machine.threads or 1):
            self._pool.submit(part.fill, 1.0).result()


def blas() -> str:
    """The BLAS that numpy was built with, and its version."""
    config: object = np.show_config(mode="dicts")
    found = config.get("Build Dependencies", {}).get("blas", {}) if isinstance(config, dict) else {}
    said = f"{found.get('name', 'BLAS')} {found.get('version', '')}"
    return said.strip().removeprefix("scipy-")
