"""The picture of a memory bill: a GPU without and with the drafter, and sequences by context."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from specplan.domain.accounting import Limits
from specplan.domain.picture import Bar, Bars, Curve, Picture, Plot, Rule
from specplan.domain.picture import Piece as Part
from specplan.domain.scenario import Setup
from specplan.physics.counted import Arm, counted_bill
from specplan.questions.bills import MemoryBill, arms_of_engine
from specplan.questions.grids import SETUP_COLUMNS, setup_cells
from specplan.questions.pictures import SIGNS, Key, by_axis, scale_of
from specplan.units import people

MOST = 6  # setups drawn


def drawn(setups: Sequence[Setup], bills: Sequence[MemoryBill], limits: Limits) -> Picture:
    """Bars for the first context of each setup; lines over contexts where there are several.
    `limits` are those of the bills.
    """
    each = len(bills) // len(setups)
    every = list(
        zip(setups, [bills[i * each : (i + 1) * each] for i in range(len(setups))], strict=True)
    )
    keyed = dict(zip(_keys(setups), every, strict=True))
    chosen, note = by_axis(list(keyed), [column.name for column in SETUP_COLUMNS], "setups", MOST)
    kept = [keyed[key] for key in chosen]
    panels: list[Bars | Plot] = [_bars(setup, some[0], limits) for setup, some in kept]
    if each > 1:
        panels.append(_sequences(kept))
    return Picture(panels=tuple(panels), note=note)


def _keys(setups: Sequence[Setup]) -> list[Key]:
    """What tells setups apart; their numbers where nothing in a table does."""
    cells = [setup_cells(setup, 1) for setup in setups]
    keys = [tuple(one[column.name][0] for column in SETUP_COLUMNS) for one in cells]
    return keys if len(set(keys)) == len(keys) else [(n,) for n in range(len(keys))]


def _bars(setup: Setup, bill: MemoryBill, limits: Limits) -> Bars:
    rules = [Rule(f"usable {people(bill.usable_bytes, 'B')}", "x", bill.usable_bytes)]
    rules.append(Rule(f"GPU {people(bill.memory_bytes, 'B')}", "x", bill.memory_bytes))
    arms = (
        ("without drafter", False, bill.largest_batch_plain),
        ("with drafter", True, bill.largest_batch),
    )
    context = people(bill.context, "tokens")
    return Bars(
        title=f"{setup.label}, context {context}",
        label="memory of one GPU, bytes",
        bars=tuple(
            Bar(
                name,
                tuple(_pieces(setup, bill, limits, drafted=drafted)),
                f"{fits:,} sequences fit",
            )
            for name, drafted, fits in arms
        ),
        rules=tuple(rules),
    )


def _pieces(setup: Setup, bill: MemoryBill, limits: Limits, *, drafted: bool) -> Iterator[Part]:
    """Weights, caches of the sequences that fit, and what an engine keeps beside them."""
    yield from _piece("target weights", bill.target_weights_bytes)
    if drafted:
        yield from _piece("drafter weights", bill.draft_weights_bytes)
    fits = bill.largest_batch if drafted else bill.largest_batch_plain
    here = -(-fits // setup.attention_dp)
    arms = arms_of_engine(setup, bill.pool.k, limits) if bill.pool else None
    if arms:
        weights = bill.target_weights_bytes + (bill.draft_weights_bytes if drafted else 0.0)
        beside_bytes = bill.usable_bytes - weights - arms[drafted].pool_bytes
        yield from _piece("beside the pool", beside_bytes)
        yield from _pool(arms, bill.context, (here, fits), drafted=drafted)
        return
    yield from _piece("target KV", here * bill.target_kv_bytes_per_sequence)
    if drafted:
        yield from _piece("drafter KV", fits * bill.draft_kv_bytes_per_sequence)


def _pool(
    arms: tuple[Arm, Arm], context: float, held: tuple[int, int], *, drafted: bool
) -> Iterator[Part]:
    """What the pool of an engine holds: caches of so many sequences of the target and of the
    drafter, tokens ahead among them where it drafts; what is divided off, and what is left.
    """
    counted, arm = counted_bill(arms, context), arms[drafted]
    each = counted.target_sequence_bytes + drafted * counted.ahead_sequence_bytes
    target, draft = held[0] * float(each), drafted * held[1] * float(counted.draft_sequence_bytes)
    states = arm.aside.held_bytes
    yield from _piece("target KV", target)
    yield from _piece("drafter KV", draft)
    yield from _piece("recurrent states", states)
    yield from _piece("rest of the pool", arm.pool_bytes - target - draft - states)


def _piece(name: str, size: float) -> Iterator[Part]:
    if size > 0:
        yield Part(name, size, people(size, "B"))


def _sequences(kept: Sequence[tuple[Setup, Sequence[MemoryBill]]]) -> Plot:
    """Sequences that fit over the context, without and with the drafter."""
    curves = []
    for number, (setup, bills) in enumerate(kept):
        name = f"{setup.label}: " if len(kept) > 1 else ""
        for drafted in (False, True):
            points = tuple(
                (bill.context, float(bill.largest_batch if drafted else bill.largest_batch_plain))
                for bill in sorted(bills, key=lambda one: one.context)
            )
            sign = (SIGNS.upper() if drafted else SIGNS)[number]
            curves.append(Curve(f"{name}{'with' if drafted else 'without'} drafter", points, sign))
    contexts = [x for curve in curves for x, _ in curve.points]
    return Plot(
        title="sequences that fit",
        x_label="context, tokens",
        y_label="sequences that fit",
        curves=tuple(curves),
        x_scale=scale_of(contexts),
        y_scale="linear",
    )
