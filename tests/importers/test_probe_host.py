"""What an operating system says of its processor, read from a copy of its files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from specplan.importers.probe import host

CPUS = "sys/devices/system/cpu"


def system(root: Path, **files: str) -> Path:
    """A root folder with these files; two underscores stand for a slash."""
    for name, text in files.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return root


def cache(root: Path, cpu: int, level: int, size: str, shared: str) -> None:
    folder = root / CPUS / f"cpu{cpu}" / "cache" / f"index{level}"
    folder.mkdir(parents=True)
    for name, text in {"level": str(level), "size": size, "shared_cpu_list": shared}.items():
        (folder / name).write_text(f"{text}\n", "utf-8")


@pytest.mark.parametrize(
    ("model", "name", "vendor"),
    [
        ("Intel(R) Xeon(R) CPU E5-2680 v4 @ 2.40GHz", "Intel Xeon E5-2680 v4", "intel"),
        ("AMD EPYC 9654 96-Core Processor", "AMD EPYC 9654 96-Core Processor", "amd"),
        ("VIA Nano", "VIA Nano", "unknown"),
        ("Alarm Clock", "Alarm Clock", "unknown"),  # an arm only inside a word
    ],
)
def test_the_processor_is_called_what_it_calls_itself(tmp_path, model, name, vendor):
    root = system(tmp_path, proc__cpuinfo=f"processor\t: 0\nmodel name\t: {model}\nflags\t: x\n")
    assert host.processor(root) == name
    assert host.vendor(name) == vendor


def test_a_processor_without_a_name_has_at_least_an_architecture(tmp_path):
    assert host.processor(tmp_path)


def test_last_level_caches_add_up_each_once(tmp_path):
    for cpu, shared in enumerate(("0-1", "0-1", "2-3", "2-3")):
        cache(tmp_path, cpu, 2, "1024K", str(cpu))
        cache(tmp_path, cpu, 3, "32M", shared)
    assert host.cache_bytes(tmp_path) == 2 * 32 * 2**20


def test_caches_that_nobody_lists_are_none(tmp_path):
    assert host.cache_bytes(tmp_path) == 0.0


def test_a_container_has_no_more_memory_than_it_may_use(tmp_path):
    whole = host.memory_bytes(tmp_path)
    assert whole == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    groups = tmp_path / "sys/fs/cgroup"
    groups.mkdir(parents=True)
    # The last is what cgroup 1 says where there is no limit.
    for limit, expected in (("max", whole), ("1048576", 2.0**20), (str(2**63 - 4096), whole)):
        (groups / "memory.max").write_text(f"{limit}\n")
        assert host.memory_bytes(tmp_path) == expected


def test_free_memory_is_what_is_available_within_the_limit(tmp_path):
    root = system(tmp_path, proc__meminfo="MemTotal: 900 kB\nMemAvailable:  512 kB\n")
    assert host.free_bytes(root) == 512 * 1024
    groups = tmp_path / "sys/fs/cgroup"
    groups.mkdir(parents=True)
    (groups / "memory.max").write_text("400000\n")
    (groups / "memory.current").write_text("300000\n")
    assert host.free_bytes(root) == 100_000


def test_half_of_the_memory_is_taken_as_free_where_nobody_says(tmp_path):
    assert host.free_bytes(tmp_path) == host.memory_bytes(tmp_path) / 2


def test_threads_are_what_blas_is_told(monkeypatch):
    for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    assert host.threads() == len(os.sched_getaffinity(0))
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert host.threads() == 3
    monkeypatch.setenv("OMP_NUM_THREADS", "many")
    assert host.threads() == len(os.sched_getaffinity(0))


def test_load_is_per_thread(monkeypatch):
    monkeypatch.setattr(os, "getloadavg", lambda: (3.0, 0.0, 0.0))
    assert host.load(4) == 0.75

    def unknown() -> None:
        raise OSError

    monkeypatch.setattr(os, "getloadavg", unknown)
    assert host.load(4) is None
