"""A card of what was measured of a machine."""

from __future__ import annotations

import re

from specplan.domain.card import Source
from specplan.domain.hardware import Hardware
from specplan.domain.probe import NOISY, Measured
from specplan.importers.probe.bench import CACHES, Machine, rounded
from specplan.units import people

SUFFIX = "-measured"  # no card of datasheets is called so
_LONGEST = 64
_MIB = 2**20
NOT_PEAKS = (
    "rates, bandwidth and measured are what this machine reached, not the peaks that other cards "
    "state. The engine roofline takes them as they are; other engines take shares of peaks, "
    "which would be taken off twice."
)


def device_name(machine: Machine) -> str:
    """A name for the card of a device that nobody has named."""
    plain = re.sub(r"[^a-z0-9.]+", "-", machine.device.lower()).strip("-.")
    return (plain[: _LONGEST - len(SUFFIX)].rstrip("-.") or "machine") + SUFFIX


def card_of(measured: Measured, machine: Machine, name: str, version: str) -> Hardware:
    """The card; its rates are the fastest products, its bandwidth the copy."""
    best = {dtype: measured.best(dtype) for dtype in measured.dtypes}
    stated = [key for key in ("units", "l2") if _owned(machine, key)]
    return Hardware(
        schema="hardware/1",
        name=name,
        title=f"{machine.device}, as measured",
        vendor=machine.vendor,
        rates={dtype: rounded(product.flops) for dtype, product in best.items()},
        bandwidth=measured.copy,
        memory=machine.memory_bytes // _MIB * _MIB,
        memory_basis="driver",
        units=machine.units,
        l2=_owned(machine, "l2"),
        weak=_weak(measured),
        measured=measured,
        sources=(
            Source(
                of=("rates", "bandwidth", "measured"),
                kind="measured",
                cite=f"specplan {version} hardware probe on this machine; {measured.software}",
                read=measured.date,
            ),
            Source(
                of=("memory", *stated),
                kind="measured",
                cite="what the operating system or the driver reports",
                read=measured.date,
            ),
        ),
        notes=(NOT_PEAKS, *_notes(measured, machine)),
    )


def _owned(machine: Machine, key: str) -> float | None:
    """Multiprocessors and their shared cache, which are known of GPUs alone."""
    if machine.units is None:
        return None
    return float(machine.units) if key == "units" else machine.cache_bytes or None


def _weak(measured: Measured) -> dict[str, str]:
    """Why a figure may be another tomorrow."""
    spreads = {"bandwidth": measured.copy_spread}
    spreads |= {f"rates.{dtype}": measured.best(dtype).spread for dtype in measured.dtypes}
    weak = {
        key: f"half of its repeats lay {100 * spread:.0f} % apart"
        for key, spread in spreads.items()
        if spread > NOISY
    }
    if measured.busy:
        busy = f"{measured.load:g} other programs ran on each thread"
        weak = {key: "; ".join(filter(None, (weak.get(key), busy))) for key in spreads}
    return weak


def _notes(measured: Measured, machine: Machine) -> list[str]:
    """How it was measured, where that bears on the figures."""
    first = measured.products[0]
    notes = [
        f"bandwidth is a copy of {people(measured.copy_bytes, 'B')}, bytes read and bytes written "
        f"both counted; weights alone are read at {people(first.weight_bytes_per_s, 'B/s')} "
        f"in the {first.dtype} product of width {first.m}.",
        f"rates are the fastest products of widths {first.m} to {measured.products[-1].m} with "
        f"weights of {first.n} x {first.k}.",
    ]
    if measured.weight_bytes < CACHES * machine.cache_bytes:
        notes.append(
            f"the weights, {people(measured.weight_bytes, 'B')}, may have been read in part from "
            f"the last cache, {people(machine.cache_bytes, 'B')}: more memory was not free."
        )
    return notes
