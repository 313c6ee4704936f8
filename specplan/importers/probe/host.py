"""What the operating system says of the processor, its caches and the memory."""

from __future__ import annotations

import ctypes
import os
import platform
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from specplan.errors import Refused

VENDORS = ("intel", "amd", "apple", "nvidia", "ampere", "qualcomm", "ibm", "arm")
_THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "OMP_NUM_THREADS")
_LIMITS = ("memory.max", "memory/memory.limit_in_bytes")  # of a container: cgroup 2 and 1
_USED = ("memory.current", "memory/memory.usage_in_bytes")
_SIZE = re.compile(r"(\d+)([KMG]?)")
_PREFIX = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}


def processor(root: Path = Path("/")) -> str:
    """The processor's own name, or at least its architecture."""
    found = re.search(r"^model name\s*:\s*(.+)$", _read(root / "proc/cpuinfo"), re.MULTILINE)
    named = found[1] if found else _sysctl("machdep.cpu.brand_string")
    plain = re.sub(r"\((?:R|TM|r|tm)\)|\bCPU\b|@.*$", " ", named or platform.processor())
    return " ".join(plain.split()) or platform.machine()


def vendor(device: str) -> str:
    """Whoever makes a device of that name, as far as the name says so."""
    words = re.findall(r"[a-z]+", device.lower())
    return next((name for name in VENDORS if name in words), "unknown")


def threads() -> int:
    """Threads that products run in: what BLAS is told, or every processor at hand."""
    for name in _THREADS:
        told = os.environ.get(name, "")
        if told.isdecimal() and int(told):
            return int(told)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def load(threads: int) -> float | None:
    """Processes that ran or waited in the last minute, for each thread; None if nobody says."""
    with suppress(AttributeError, OSError):
        return round(os.getloadavg()[0] / threads, 2)
    return None


def cache_bytes(root: Path = Path("/")) -> float:
    """All last-level caches together; 0 if nobody says."""
    found: dict[tuple[int, str], int] = {}
    for cache in (root / "sys/devices/system/cpu").glob("cpu[0-9]*/cache/index*"):
        level = _read(cache / "level").strip()
        size = _SIZE.fullmatch(_read(cache / "size").strip())
        if level.isdecimal() and size:
            shared = _read(cache / "shared_cpu_list").strip() or str(cache)
            found[int(level), shared] = int(size[1]) * _PREFIX[size[2]]
    last = max((level for level, _ in found), default=0)
    if found:
        return float(sum(size for (level, _), size in found.items() if level == last))
    names = ("hw.l3cachesize", "hw.perflevel0.l2cachesize", "hw.l2cachesize")
    sizes = (int.from_bytes(_sysctl_bytes(name), sys.byteorder) for name in names)
    return float(max(sizes))


def memory_bytes(root: Path = Path("/")) -> float:
    """Memory as the operating system shows it, or as much of it as a container may use."""
    if not hasattr(os, "sysconf"):
        raise Refused(
            "this system does not say how much memory it has", hint="probe knows Linux and macOS"
        )
    whole = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return float(min(whole, *_cgroup(_LIMITS, root), whole))


def free_bytes(root: Path = Path("/")) -> float:
    """Memory that may be used now; half of the whole where nobody says."""
    whole = memory_bytes(root)
    found = re.search(r"^MemAvailable:\s*(\d+) kB$", _read(root / "proc/meminfo"), re.MULTILINE)
    free = float(found[1]) * 1024 if found else whole / 2
    left = [whole - used for used in _cgroup(_USED, root)]
    return max(min(free, whole, *left, free), 0.0)


def _cgroup(names: tuple[str, ...], root: Path) -> Iterator[float]:
    """The figures that there are; without a limit there is none, or one beyond all memory."""
    for name in names:
        text = _read(root / "sys/fs/cgroup" / name).strip()
        if text.isdecimal():
            yield float(text)


def _read(path: Path) -> str:
    with suppress(OSError):
        return path.read_text("utf-8", errors="replace")
    return ""


def _sysctl(name: str) -> str:
    return _sysctl_bytes(name).rstrip(b"\0").decode("utf-8", errors="replace")


def _sysctl_bytes(name: str) -> bytes:
    """The value that macOS knows under the name; nothing elsewhere."""
    if platform.system() != "Darwin":
        return b""
    libc, size = ctypes.CDLL(None), ctypes.c_size_t(256)
    value = ctypes.create_string_buffer(size.value)
    failed = libc.sysctlbyname(name.encode(), value, ctypes.byref(size), None, ctypes.c_size_t(0))
    return b"" if failed else value.raw[: size.value]
