"""Accelerators in a table: which of them, in which order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from specplan.domain.answer import Answer, Column, Lines, Scalar, Section
from specplan.domain.card import Dtype
from specplan.domain.hardware import COMPUTE_DTYPES, Hardware, Price
from specplan.errors import UsageError, Where
from specplan.questions.cards import (
    ORIGIN_COLUMNS,
    Listed,
    Order,
    Row,
    among,
    at_least,
    counted,
    known,
    listing,
    one_of_each,
    ordered,
    rows_of,
)

USUAL = Dtype.BF16
STATUSES = ("available", "announced")

COLUMNS = (
    Column("name", "", "name", "text", "what to write after --hardware"),
    Column("title", "", "accelerator", "text", "its full name"),
    Column("vendor", "", "vendor", "text", "who makes it"),
    Column("arch", "", "architecture", "text", "the generation it belongs to"),
    Column("form", "", "form", "text", "how it is built in"),
    Column("status", "", "status", "text", "available, or announced only"),
    Column("year", "", "year", "text", "year of launch"),
    Column("memory", "B", "memory", "bytes", "capacity of one device"),
    Column("memory_basis", "", "basis", "text", "whether the driver or the label says so"),
    Column("bandwidth", "B/s", "bandwidth", "number", "peak of the device memory"),
    *(Column(f"{d}_rate", "FLOP/s", f"{d} rate", "number", "dense peak") for d in Dtype),
    Column("rate", "FLOP/s", "rate", "number", "dense peak that multiplies bf16 weights"),
    Column("rate_dtype", "", "as", "text", "the dtype of that rate"),
    Column("ridge", "FLOP/B", "ridge", "number", "that rate over bandwidth"),
    Column("units", "", "units", "count", "multiprocessors or compute units"),
    Column("l2", "B", "L2", "bytes", "L2 cache"),
    Column("link", "B/s", "link", "number", "to the others of its node, per direction"),
    Column("tdp", "W", "W", "number", "power limit"),
    Column("usd_per_hour", "USD/h", "USD/h", "number", "lowest on-demand price of the card"),
    Column("usd_from", "", "from", "text", "who asked it, and when that was read"),
    Column("prices", "", "prices", "text", "all prices of the card"),
    Column("weak", "", "weak", "text", "keys whose figures are less certain, each with the reason"),
    *ORIGIN_COLUMNS,
    Column("bandwidth_tb_per_s", "TB/s", "TB/s", "number", "bandwidth, for reading"),
    Column("tflop_per_s", "TFLOP/s", "16-bit", "number", "rate, for reading"),
    Column("fp8_tflop_per_s", "TFLOP/s", "fp8", "number", "fp8 rate, for reading"),
)
ASIDE = (
    Column("sold", "", "sold", "flag", "available"),
    Column("announced", "", "announced", "flag", "announced only"),
    Column("uncertain", "", "uncertain", "flag", "the ridge rests on a weak figure"),
)
SORTS = {
    "vendor": Order(("vendor", "name")),
    "name": Order(("name",)),
    "memory": Order(("memory",), falling=True),
    "bandwidth": Order(("bandwidth",), falling=True),
    "rate": Order(("rate",), falling=True),
    "fp8": Order(("fp8_rate",), falling=True),
    "ridge": Order(("ridge",), falling=True),
    "year": Order(("year",), falling=True),
    "tdp": Order(("tdp",), falling=True),
    "price": Order(("usd_per_hour",)),
}
"""Words after --sort; the largest figure first, but the lowest price."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HardwareAsked:
    """Which accelerators: of one of these vendors, with a dense rate for all these dtypes, and so
    on; SI figures. Empty or None asks for nothing.
    """

    vendors: tuple[str, ...] = ()
    supports: tuple[Dtype, ...] = ()
    memory: float | None = None
    bandwidth: float | None = None
    status: tuple[str, ...] = ()
    since: int | None = None
    until: int | None = None
    sort: str = "vendor"
    reverse: bool = False


def list_hardware(listed: Sequence[Listed], asked: HardwareAsked | None = None) -> Answer:
    """A row for each accelerator that was asked for."""
    asked = asked or HardwareAsked()
    found = ordered(_kept(listed, asked), SORTS[asked.sort], reverse=asked.reverse)
    rates = {one.row["rate_dtype"] for one in found}
    shown = _shown(found, rates, asked.sort)
    star = "; *: from a less certain figure" if any(one.row["uncertain"] for one in found) else ""
    unlike = "" if rates <= {str(USUAL)} else f", 16-bit as {USUAL} or what stands in for it"
    return listing(
        "hardware-list",
        found,
        of=len(listed),
        columns=COLUMNS,
        aside=ASIDE,
        sections=tuple(_sections(found, shown)),
        title=counted(len(found), len(listed), "accelerators"),
        caption=(
            f"Dense TFLOP/s{unlike}.",
            f"Ridge: FLOP per byte from which 16 bits are compute-bound{star}.",
        ),
    )


def _kept(listed: Sequence[Listed], asked: HardwareAsked) -> Iterator[Listed]:
    vendors = one_of_each("--vendor", "vendor", asked.vendors, listed, "vendor")
    status = among("--status", "status", asked.status, STATUSES)
    _refuse_widened(listed, asked.supports)
    for one in listed:
        row = one.row
        if (
            (not vendors or row["vendor"] in vendors)
            and (not status or row["status"] in status)
            and all(_runs(row, dtype) for dtype in asked.supports)
            and at_least(row, "memory", asked.memory)
            and at_least(row, "bandwidth", asked.bandwidth)
            and at_least(row, "year", asked.since, asked.until)
        ):
            yield one


def _runs(row: Row, dtype: Dtype) -> bool:
    """Whether weights of the dtype are multiplied at a rate of their own width: nvfp4 at fp4's."""
    rated = COMPUTE_DTYPES[dtype][0]
    return any(row[f"{d}_rate"] is not None for d in {dtype, rated} if d is dtype or _narrow(d))


def _narrow(dtype: Dtype) -> bool:
    return dtype.bytes_per_element < USUAL.bytes_per_element


def _refuse_widened(listed: Sequence[Listed], dtypes: Sequence[Dtype]) -> None:
    """Refuses a dtype that no card has a rate of, where engines multiply such weights in 16 bits on
    all of them.
    """
    for dtype in dtypes:
        rated = COMPUTE_DTYPES[dtype][0]
        if _narrow(dtype) and not _narrow(rated) and not any(_runs(o.row, dtype) for o in listed):
            what = f"no accelerator has a rate of {dtype}: engines widen it to 16 bits to multiply"
            raise UsageError(what, where=Where("--supports"), hint=f"write --supports {rated}")


def _shown(found: Sequence[Listed], rates: set[Scalar], sort: str) -> tuple[str, ...]:
    """The columns for people: those in which the rows differ or have anything, and that which they
    are sorted by.
    """
    has = {name for name in ("fp8_rate", "tdp", "usd_per_hour") if _any(found, name)}
    has.update(SORTS[sort].columns)
    return (
        "name",
        *(("vendor",) if len({one.row["vendor"] for one in found}) > 1 else ()),
        "year",
        "memory",
        "bandwidth_tb_per_s",
        "tflop_per_s",
        *(("rate_dtype",) if rates - {str(USUAL)} else ()),
        *(("fp8_tflop_per_s",) if "fp8_rate" in has else ()),
        *(("tdp",) if "tdp" in has else ()),
        *(("usd_per_hour",) if "usd_per_hour" in has else ()),
        "ridge",
    )


def _any(found: Sequence[Listed], column: str) -> bool:
    return any(one.row[column] is not None for one in found)


def _sections(found: Sequence[Listed], shown: tuple[str, ...]) -> Iterator[Section]:
    """What can be had, then what is announced only."""
    yield rows_of(found, shown, where="sold", mark="uncertain")
    if any(one.row["announced"] for one in found):
        yield Lines(("Announced only:",))
        yield rows_of(found, shown, where="announced", mark="uncertain")


def hardware_row(card: Hardware) -> Row:
    """The figures of one accelerator."""
    dtype = known(lambda: card.compute_dtype(USUAL))
    rate = card.rates[dtype] if dtype else None
    fp8 = card.rates.get(Dtype.FP8)
    price = card.lowest_price
    return {
        "name": card.name,
        "title": card.title,
        "vendor": card.vendor,
        "arch": card.arch,
        "form": card.form,
        "status": card.status,
        "year": card.year,
        "memory": card.memory,
        "memory_basis": card.memory_basis,
        "bandwidth": card.bandwidth,
        **{f"{d}_rate": card.rates.get(d) for d in Dtype},
        "rate": rate,
        "rate_dtype": str(dtype) if dtype else None,
        "ridge": card.ridge(dtype) if dtype else None,
        "units": card.units,
        "l2": card.l2,
        "link": card.link,
        "tdp": card.tdp,
        "usd_per_hour": price.usd_per_hour if price else None,
        "usd_from": f"{price.provider}, {price.read}" if price else None,
        "prices": "; ".join(map(_price, card.prices)) or None,
        "weak": "; ".join(f"{key}: {reason}" for key, reason in card.weak.items()) or None,
        "bandwidth_tb_per_s": card.bandwidth / 1e12,
        "tflop_per_s": rate / 1e12 if rate else None,
        "fp8_tflop_per_s": fp8 / 1e12 if fp8 else None,
        "sold": card.status == "available",
        "announced": card.status != "available",
        "uncertain": not {"bandwidth", "rates", f"rates.{dtype}"}.isdisjoint(card.weak),
    }


def _price(price: Price) -> str:
    return f"{price.usd_per_hour:g} {price.provider} ({price.kind}, {price.read})"
