"""torch on one GPU: CUDA, ROCm (which torch calls cuda as well) or Apple's Metal."""

from __future__ import annotations

import platform
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import cycle
from pathlib import Path
from typing import Any

from specplan.domain.card import Dtype
from specplan.errors import Refused
from specplan.importers.probe import host
from specplan.importers.probe.bench import Machine
from specplan.importers.probe.timing import Call

DRIVER = Path("/proc/driver/nvidia/version")
_NAMES = {Dtype.BF16: "bfloat16", Dtype.FP16: "float16", Dtype.FP32: "float32"}
_MILLI = 1e-3


class TorchBench:
    """Products in every 16- and 32-bit type that runs, and a copy, timed by the device's clock."""

    def __init__(self, torch: Any, device: str, *, side: int = 8192) -> None:  # noqa: ANN401
        self._torch, self._device = torch, torch.device(device)  # torch is not there to be typed
        self._cuda = self._device.type == "cuda"
        self.side, self.least_bytes = side, 2.0**30
        if self._cuda:
            torch.cuda.set_device(self._device)
        self.machine = self._cuda_machine() if self._cuda else self._metal_machine()
        self.dtypes: Sequence[Dtype] = tuple(dtype for dtype in _NAMES if self._runs(dtype))
        if not self.dtypes:
            raise Refused(f"torch multiplies nothing on {device}", hint="--device cpu is numpy")

    def copy(self, size: int) -> Call:
        """Copies a buffer of so many bytes."""
        with self._refusing():
            source = self._torch.ones(size // 4, device=self._device)
            target = self._torch.empty_like(source)
        return lambda: target.copy_(source)

    def small(self) -> Call:
        """Adds one to one number."""
        one = self._torch.ones(1, device=self._device)
        return lambda: one.add_(1.0)

    def products(self, dtype: Dtype, widths: Sequence[int], size: int) -> Sequence[Call]:
        """Multiplies weights that take turns, so many bytes of them, with each width."""
        count = int(size / (self.side**2 * dtype.bytes_per_element))
        with self._refusing():
            # Random numbers: a GPU multiplies ones at less power, hence faster.
            weights = cycle([self._random(self.side, dtype).t() for _ in range(count)])
            return [self._product(self._random(m, dtype), weights) for m in widths]

    def timed(self, call: Call, calls: int) -> float:
        """Seconds that so many calls take: on CUDA and ROCm between two events of the stream."""
        if not self._cuda:
            return self._waited(call, calls)
        start, end = (self._torch.cuda.Event(enable_timing=True) for _ in range(2))
        self._torch.cuda.synchronize()
        start.record()
        for _ in range(calls):
            call()
        end.record()
        end.synchronize()
        return float(start.elapsed_time(end)) * _MILLI

    def _waited(self, call: Call, calls: int) -> float:
        self._torch.mps.synchronize()
        start = time.perf_counter()
        for _ in range(calls):
            call()
        self._torch.mps.synchronize()
        return time.perf_counter() - start

    def _product(self, rows: Any, weights: cycle[Any]) -> Call:  # noqa: ANN401
        out = self._torch.empty_like(rows)
        return lambda: self._torch.mm(rows, next(weights), out=out)

    def _random(self, rows: int, dtype: Dtype) -> Any:  # noqa: ANN401
        kind = self._named(dtype)
        return self._torch.randn(rows, self.side, device=self._device, dtype=kind)

    def _runs(self, dtype: Dtype) -> bool:
        """Whether the device has such products at all."""
        with suppress(RuntimeError, TypeError):
            one = self._torch.ones(16, 16, device=self._device, dtype=self._named(dtype))
            self._torch.mm(one, one)
            return True
        return False

    def _named(self, dtype: Dtype) -> Any:  # noqa: ANN401
        return getattr(self._torch, _NAMES[dtype])

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        """What torch cannot allocate, as one line."""
        try:
            yield
        except RuntimeError as error:
            first = str(error).partition("\n")[0].rstrip(".")
            raise Refused(f"torch: {first}", hint="free memory of the device and repeat") from error

    def _cuda_machine(self) -> Machine:
        cuda, version = self._torch.cuda, self._torch.version
        found = cuda.get_device_properties(self._device)
        free, whole = cuda.mem_get_info(self._device)
        rocm = getattr(version, "hip", None)
        stack = f"ROCm {rocm}" if rocm else f"CUDA {version.cuda}"
        parts = (f"torch {self._torch.__version__}", stack, "" if rocm else _driver())
        return Machine(
            device=str(found.name),
            vendor="amd" if rocm else "nvidia",
            software=", ".join(part for part in parts if part),
            memory_bytes=float(whole),
            free_bytes=float(free),
            cache_bytes=float(getattr(found, "L2_cache_size", 0)),
            units=int(found.multi_processor_count),
        )

    def _metal_machine(self) -> Machine:
        return Machine(
            device=host.processor(),
            vendor="apple",
            software=f"torch {self._torch.__version__}, Metal, macOS {platform.mac_ver()[0]}",
            memory_bytes=host.memory_bytes(),
            free_bytes=min(host.free_bytes(), float(self._torch.mps.recommended_max_memory())),
            cache_bytes=host.cache_bytes(),
        )


def _driver() -> str:
    """NVIDIA's driver, where Linux says it."""
    with suppress(OSError):
        found = re.search(r"Module[^\n]*?\s(\d+\.\d[\d.]*)\s", DRIVER.read_text("utf-8"))
        return f"driver {found[1]}" if found else ""
    return ""
