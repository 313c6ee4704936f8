"""Which device is measured, and by which library."""

from __future__ import annotations

import re
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from specplan.errors import Refused, UsageError
from specplan.importers.probe.bench import Bench
from specplan.visible import visible

DEVICES = "cpu, cuda:0 (ROCm too) or mps"


def bench_of(device: str) -> Bench:
    """The bench of a device: cpu, cuda, cuda:1, mps; for "" torch's GPU if any, else the CPU."""
    if device == "cpu":
        return _numpy()
    if device and not re.fullmatch(r"cuda(:[0-9]{1,3})?|mps", device):
        raise UsageError(f"unknown device '{visible(device, 60)}'", expected=DEVICES)
    if find_spec("torch") is None:
        if not device:
            return _numpy()
        raise UsageError(f"{device} needs torch, which is not installed", hint="cpu needs numpy")
    torch = _imported("torch")
    device = "cuda:0" if device == "cuda" else device or _gpu(torch)
    if not device:
        return _numpy()
    _refuse_missing(torch, device)
    from specplan.importers.probe.gpu import TorchBench  # noqa: PLC0415 - only where torch is

    return TorchBench(torch, device)


def _gpu(torch: Any) -> str:  # noqa: ANN401 - torch is not there to be typed
    """The first GPU that torch sees."""
    if torch.cuda.is_available():
        return "cuda:0"
    return "mps" if torch.backends.mps.is_available() else ""


def _refuse_missing(torch: Any, device: str) -> None:  # noqa: ANN401
    kind, _, number = device.partition(":")
    if kind == "mps":
        count = int(torch.backends.mps.is_available())
    else:
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if int(number or 0) >= count:
        sees = f"{count} {kind} device{'' if count == 1 else 's'}" if count else f"no {kind} device"
        raise UsageError(f"there is no {device}: torch sees {sees}", hint="cpu is numpy's")


def _numpy() -> Bench:
    if find_spec("numpy") is None:
        raise Refused("numpy is not installed", hint="it multiplies on a CPU")
    from specplan.importers.probe.cpu import NumpyBench  # noqa: PLC0415 - arrays take their time

    return NumpyBench()


def _imported(name: str) -> Any:  # noqa: ANN401
    try:
        return import_module(name)
    except (ImportError, OSError) as error:
        reason = str(error).partition("\n")[0]
        what = f"{name} cannot be imported: {visible(reason, 200)}"
        raise Refused(what, hint="--device cpu does without it") from error
