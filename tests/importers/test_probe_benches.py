"""The libraries that multiply: numpy as it is, torch as a stand-in that counts on numpy."""

from __future__ import annotations

import sys
from dataclasses import replace
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from specplan.domain.card import Dtype
from specplan.errors import Refused, UsageError
from specplan.importers.probe import choose, gpu
from specplan.importers.probe.bench import WIDTHS, measure
from specplan.importers.probe.card import card_of
from specplan.importers.probe.choose import bench_of
from specplan.importers.probe.cpu import NumpyBench, blas
from specplan.importers.probe.gpu import TorchBench
from specplan.rules.cards import check_hardware


def unwatched(_gone: float, _says: str) -> None:
    """Nobody waits."""


# numpy


@pytest.fixture
def bench() -> NumpyBench:
    """Weights of 16 KiB, with no cache to fill."""
    made = NumpyBench(side=64, least_bytes=2.0**15)
    made.machine = replace(made.machine, cache_bytes=0.0)
    return made


def test_numpy_on_this_machine(bench):
    found = measure(bench, 0.1, watch=unwatched)
    assert found.software.startswith(f"numpy {np.__version__}, {blas()}")
    assert found.copy_bytes == found.weight_bytes == 2**15
    assert [p.m for p in found.products] == list(WIDTHS)
    assert {p.dtype for p in found.products} == {Dtype.FP32}
    assert all(p.time > 0 and p.spread >= 0 for p in found.products)


def test_products_are_products_of_weights_in_turn(bench, monkeypatch):
    seen = []
    multiply = np.matmul

    def watched(weights, columns, out):
        seen.append(id(weights))
        assert np.allclose(multiply(weights, columns, out=out), weights.sum(1, keepdims=True))

    monkeypatch.setattr(np, "matmul", watched)
    call = bench.products(Dtype.FP32, [1], 3 * 64 * 64 * 4)[0]
    for _ in range(6):
        call()
    assert len(set(seen)) == 3
    assert seen[:3] == seen[3:]


def test_all_of_a_buffer_is_copied(bench, monkeypatch):
    copied = []
    monkeypatch.setattr(np, "copyto", lambda target, source: copied.append((target, source)))
    bench.copy(4 * 1001)()
    for side in zip(*copied, strict=True):
        assert sum(part.size for part in side) == 1001
        assert all((part == 1.0).all() for part in side)


# torch


class Event:
    """Each takes 5 ms after the one before."""

    now = 0.0

    def __init__(self, *, enable_timing: bool) -> None:
        assert enable_timing

    def record(self) -> None:
        Event.now += 5.0
        self.at = Event.now

    def synchronize(self) -> None:
        """Nothing runs late here."""

    def elapsed_time(self, end: Event) -> float:
        return end.at - self.at


class Tensor:
    """An array under torch's names for what is done with it."""

    def __init__(self, array: np.ndarray, kind: str) -> None:
        self.array, self.kind = array, kind

    def copy_(self, other: Tensor) -> None:
        self.array[...] = other.array

    def add_(self, number: float) -> None:
        self.array += number

    def t(self) -> Tensor:
        return Tensor(self.array.T, self.kind)


def stand_in(*, hip: str | None = None, lacks: tuple[str, ...] = (), gpus: int = 1) -> ModuleType:
    """torch with one GPU of 80 GiB, as far as the bench asks."""
    torch = ModuleType("torch")
    torch.__version__ = "2.9.0"
    torch.version = SimpleNamespace(cuda=None if hip else "12.8", hip=hip)
    torch.bfloat16, torch.float16, torch.float32 = "bf16", "fp16", "fp32"
    torch.device = lambda name: SimpleNamespace(type=name.partition(":")[0], name=name)

    def set_device(device: SimpleNamespace) -> None:
        if ":" not in device.name:  # as torch's own
            raise ValueError("Expected a torch.device with a specified index or an integer")

    def new(*shape: int, device: object, dtype: str = "fp32") -> Tensor:
        assert device is not None
        return Tensor(np.ones(shape, np.float32), dtype)

    def mm(left: Tensor, right: Tensor, out: Tensor | None = None) -> None:
        if left.kind in lacks:
            raise RuntimeError(f'"addmm" not implemented for {left.kind}')
        product = left.array @ right.array
        if out is not None:
            out.array[...] = product

    torch.ones = torch.randn = new
    torch.empty_like = lambda tensor: Tensor(np.empty_like(tensor.array), tensor.kind)
    torch.mm = mm
    properties = SimpleNamespace(
        name="NVIDIA H100 80GB HBM3", multi_processor_count=132, L2_cache_size=2**20
    )
    torch.cuda = SimpleNamespace(
        Event=Event,
        is_available=lambda: gpus > 0,
        device_count=lambda: gpus,
        set_device=set_device,
        synchronize=lambda: None,
        get_device_properties=lambda _device: properties,
        mem_get_info=lambda _device: (2**30, 80 * 2**30),
    )
    torch.mps = SimpleNamespace(synchronize=lambda: None, recommended_max_memory=lambda: 2.0**29)
    torch.backends = SimpleNamespace(mps=SimpleNamespace(is_available=lambda: gpus == 0))
    return torch


@pytest.fixture
def _driver(tmp_path, monkeypatch):
    path = tmp_path / "version"
    path.write_text("NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.86.15  Thu Jan  9\nGCC\n")
    monkeypatch.setattr(gpu, "DRIVER", path)


@pytest.mark.usefixtures("_driver")
def test_torch_on_a_gpu():
    bench = TorchBench(stand_in(), "cuda:0", side=64)
    assert bench.dtypes == (Dtype.BF16, Dtype.FP16, Dtype.FP32)
    assert bench.machine.software == "torch 2.9.0, CUDA 12.8, driver 570.86.15"
    assert (bench.machine.vendor, bench.machine.units) == ("nvidia", 132)
    assert bench.machine.memory_bytes == 80 * 2**30
    bench.least_bytes = 2.0**20
    found = measure(bench, 0.1, watch=unwatched)
    # Every call or bundle of calls takes the 5 ms between two events, whatever it is.
    assert found.floor == 5e-3
    assert {p.time for p in found.products} == {5e-3}
    assert len(found.products) == 3 * len(WIDTHS)
    made = card_of(found, bench.machine, "mine", "9.9")
    assert (made.units, made.l2) == (132, 2**20)
    assert [f.rule for f in check_hardware(made)] == ["SC002", "SC002"]  # such times are no GPU's


def test_rocm_is_amd_and_has_no_nvidia_driver():
    machine = TorchBench(stand_in(hip="6.4"), "cuda:0", side=64).machine
    assert (machine.vendor, machine.software) == ("amd", "torch 2.9.0, ROCm 6.4")


def test_types_that_the_device_lacks_are_left_out():
    assert TorchBench(stand_in(lacks=("bf16",)), "cuda:0").dtypes == (Dtype.FP16, Dtype.FP32)
    with pytest.raises(Refused, match="torch multiplies nothing on cuda:0"):
        TorchBench(stand_in(lacks=("bf16", "fp16", "fp32")), "cuda:0")


def test_memory_that_torch_does_not_get_is_refused_in_one_line():
    torch = stand_in()
    bench = TorchBench(torch, "cuda:0")

    def full(*_shape: int, **_kind: object) -> None:
        raise RuntimeError("CUDA out of memory. Tried to allocate 2 GiB\nSee documentation")

    torch.ones = full
    with pytest.raises(Refused) as refused:
        bench.copy(2**20)
    assert refused.value.what == "torch: CUDA out of memory. Tried to allocate 2 GiB"


def test_metal_has_the_memory_of_the_machine():
    bench = TorchBench(stand_in(gpus=0), "mps", side=64)
    assert bench.machine.vendor == "apple"
    assert bench.machine.free_bytes <= 2**29
    assert bench.machine.units is None
    assert bench.timed(bench.small(), 3) > 0


# Which of them


@pytest.fixture
def torch(monkeypatch):
    """Lets a test say what `import torch` finds."""

    def found(module: ModuleType | None) -> None:
        monkeypatch.setitem(sys.modules, "torch", module)
        finds = choose.find_spec
        monkeypatch.setattr(
            choose, "find_spec", lambda name: module if name == "torch" else finds(name)
        )

    return found


def test_without_torch_it_is_numpy(torch):
    torch(None)
    assert isinstance(bench_of(""), NumpyBench)
    assert isinstance(bench_of("cpu"), NumpyBench)
    with pytest.raises(UsageError, match="cuda:0 needs torch, which is not installed"):
        bench_of("cuda:0")


def test_with_torch_it_is_the_first_gpu(torch):
    torch(stand_in())
    assert isinstance(bench_of(""), TorchBench)
    assert isinstance(bench_of("cuda"), TorchBench)
    assert isinstance(bench_of("cpu"), NumpyBench)


@pytest.mark.parametrize(
    ("device", "gpus", "message"),
    [
        ("gpu", 1, "unknown device 'gpu'"),
        ("cuda:x", 1, "unknown device 'cuda:x'"),
        ("cuda:1", 1, "there is no cuda:1: torch sees 1 cuda device"),
        ("cuda:0", 0, "there is no cuda:0: torch sees no cuda device"),
        ("mps", 2, "there is no mps: torch sees no mps device"),
    ],
)
def test_devices_that_are_not_there(torch, device, gpus, message):
    torch(stand_in(gpus=gpus))
    with pytest.raises(UsageError) as refused:
        bench_of(device)
    assert refused.value.what == message


def test_a_torch_that_cannot_be_imported_is_said(torch, monkeypatch):
    torch(stand_in())

    def broken(_name: str) -> None:
        raise OSError("libcudart.so.12: cannot open shared object file\nmore")

    monkeypatch.setattr(choose, "import_module", broken)
    with pytest.raises(Refused) as refused:
        bench_of("")
    assert str(refused.value) == (
        "torch cannot be imported: libcudart.so.12: cannot open shared object file; "
        "--device cpu does without it"
    )


def test_without_numpy_nothing_multiplies(monkeypatch):
    monkeypatch.setattr(choose, "find_spec", lambda _name: None)
    with pytest.raises(Refused, match="numpy is not installed"):
        bench_of("")
