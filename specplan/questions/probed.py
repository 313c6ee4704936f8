"""What a machine reached, and how far the repeats of each figure lie apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from specplan.domain.answer import Answer, Basis, Column, Rows, Scalar, View, table_of
from specplan.domain.hardware import Hardware
from specplan.domain.probe import NOISY, Measured, Product
from specplan.units import people

COMMAND = "hardware-probe"
BASIS = Basis(kind="exact", says="", source="measured")

COLUMNS = (
    Column("what", "", "what", "text", "copy, small-kernel or product"),
    Column("dtype", "", "dtype", "text", "type that is multiplied"),
    Column("m", "", "m", "count", "tokens in one pass"),
    Column("n", "", "n", "count", "outputs of the weights"),
    Column("k", "", "k", "count", "inputs of the weights"),
    Column("time_s", "s", "time", "seconds", "median of the repeats"),
    Column("spread", "", "spread", "percent", "range of their middle half over the median"),
    Column("bytes_per_s", "B/s", "memory", "number", "bytes copied both ways, or weights read"),
    Column("flop_per_s", "FLOP/s", "rate", "number", "of the product"),
)
ASIDE = (
    Column("memory", "", "memory", "text", "bytes_per_s in words"),
    Column("rate", "", "rate", "text", "flop_per_s in words"),
)
SHOWN = ("what", "dtype", "m", "time_s", "memory", "rate", "spread")


@dataclass(frozen=True, slots=True)
class Probed:
    """The card that was made."""

    card: Hardware


def probed(card: Hardware, measured: Measured) -> Answer:
    """Copy, smallest kernel and every product of the machine, with their noise."""
    rows = list(_rows(measured))
    return Answer(
        command=COMMAND,
        value=Probed(card),
        table=table_of(COLUMNS, rows, ASIDE),
        view=View(
            title=f"{card.title}: {card.name}",
            caption=(_with(measured), f"medians of {measured.repeats} repeats, {measured.date}"),
            sections=(Rows(columns=SHOWN),),
        ),
        basis=BASIS,
        notes=(*noise(rows), *_busy(measured)),
    )


def unmeasured() -> Answer:
    """The answer before anything is measured, for whoever asks whether a format can show it."""
    return Answer(
        command=COMMAND,
        value=None,
        table=table_of(COLUMNS, (), ASIDE),
        view=View(title=""),
        basis=BASIS,
    )


def summary(measured: Measured) -> str:
    """What was measured, in one line."""
    rates = (_rate(measured.best(dtype)) for dtype in measured.dtypes)
    parts = (
        f"copy {people(measured.copy, 'B/s')}",
        f"smallest kernel {people(measured.floor, 's')}",
        *rates,
    )
    return f"measured {measured.device} ({_with(measured)}): {', '.join(parts)}"


def noise(rows: Sequence[dict[str, Scalar]]) -> tuple[str, ...]:
    """How far the repeats lie apart: the worst figure, and what to do where that is much."""
    worst = max(rows, key=_spread)
    noisy = [row for row in rows if _spread(row) > NOISY]
    most = _percent(_spread(worst))
    said = f"the middle half of the repeats spreads by at most {most} ({_named(worst)})"
    if not noisy:
        return (said,)
    many = f"{len(noisy)} of {len(rows)} figures spread by more than {_percent(NOISY)}"
    return said, f"{many}: an idle machine or more --seconds would steady them"


def _busy(measured: Measured) -> Iterator[str]:
    """That other programs ran meanwhile: all figures suffer, however little they spread."""
    if measured.busy:
        yield f"the machine was busy: {measured.load:g} programs to each thread before it began"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _rows(measured: Measured) -> Iterator[dict[str, Scalar]]:
    time_s = 2 * measured.copy_bytes / measured.copy
    yield _row("copy", None, time_s, measured.copy_spread, measured.copy)
    yield _row("small-kernel", None, measured.floor, measured.floor_spread, None)
    for product in measured.products:
        memory = product.weight_bytes_per_s
        yield _row("product", product, product.time, product.spread, memory)


def _row(
    what: str, product: Product | None, time_s: float, spread: float, memory: float | None
) -> dict[str, Scalar]:
    flops = product.flops if product else None
    return {
        "what": what,
        "dtype": str(product.dtype) if product else None,
        "m": product.m if product else None,
        "n": product.n if product else None,
        "k": product.k if product else None,
        "time_s": time_s,
        "spread": spread,
        "bytes_per_s": memory,
        "flop_per_s": flops,
        "memory": people(memory, "B/s") if memory else None,
        "rate": people(flops, "FLOP/s") if flops else None,
    }


def _with(measured: Measured) -> str:
    threads = measured.threads
    many = f", {threads} thread{'' if threads == 1 else 's'}" if threads else ""
    return measured.software + many


def _rate(best: Product) -> str:
    return f"{best.dtype} {people(best.flops, 'FLOP/s')} at m = {best.m}"


def _named(row: dict[str, Scalar]) -> str:
    return f"{row['dtype']}, m = {row['m']}" if row["dtype"] else str(row["what"])


def _spread(row: dict[str, Scalar]) -> float:
    value = row["spread"]
    return float(value) if isinstance(value, int | float) else 0.0
