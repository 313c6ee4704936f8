"""What the drafter costs in memory, in sequences, and in speed when memory limits the batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from specplan.domain.answer import Answer, Column, Facts, Lines, Rows, Scalar, View, table_of
from specplan.domain.scenario import Scenario, Serving, Setup
from specplan.physics.memory import USABLE_FRACTION, memory_bill
from specplan.physics.roofline import kv_bytes
from specplan.questions.arms import Arms, arms_of
from specplan.questions.common import (
    acceptance_words,
    basis_of,
    dtype_words,
    percent,
    refuse_mix,
    tokens_words,
)
from specplan.questions.grids import PLACE_COLUMNS
from specplan.questions.servings import (
    SERVED_BY,
    SERVING_COLUMNS,
    serving_cells,
    telling,
    varied,
)
from specplan.units import people


@dataclass(frozen=True, slots=True)
class MemoryBill:
    """Bytes on the fullest GPU and the sequences of `context` tokens that they leave room for."""

    hardware: str
    memory_bytes: float
    memory_basis: str
    usable_bytes: float
    target_weights_bytes: float
    target_kv_bytes_per_sequence: float
    draft: str
    draft_weights_bytes: float
    draft_kv_bytes_per_token: float
    draft_kv_bytes_per_sequence: float
    context: float
    largest_batch_plain: int
    largest_batch: int
    sequences_lost: int
    shortfall_bytes: float


@dataclass(frozen=True, slots=True)
class Memory:
    """The bill of each setup and context, and the arms' speedups where acceptance is given."""

    bills: tuple[MemoryBill, ...]
    arms: tuple[Arms, ...]


COLUMNS = (
    *PLACE_COLUMNS,
    *SERVING_COLUMNS,
    Column("context", "tokens", "context", "count", "tokens each sequence may reach"),
    Column("usable_bytes", "B", "usable", "bytes", "of what the driver shows"),
    Column("target_weights_bytes", "B", "target", "bytes", "per GPU"),
    Column("draft_weights_bytes", "B", "drafter", "bytes", "per GPU"),
    Column("target_kv_bytes_per_sequence", "B", "KV/seq", "bytes", "of the target, per GPU"),
    Column("draft_kv_bytes_per_sequence", "B", "draft KV/seq", "bytes", "per GPU"),
    Column("largest_batch_plain", "sequences", "without", "count", "without the drafter"),
    Column("largest_batch", "sequences", "with", "count", "with the drafter"),
    Column("sequences_lost", "sequences", "lost", "count", "to the drafter"),
    Column("batch", "sequences", "batch", "count", "batch asked for, if any"),
    Column("fits", "", "fits", "flag", "whether it fits, with the drafter"),
    Column("shortfall_bytes", "B", "shortfall", "bytes", "what the batch lacks, per GPU"),
)


def bill_of(setup: Setup, context: float, batch: float = 1, slots: float = 0) -> MemoryBill:
    """The bill of a setup at one context; the shortfall is that of `batch` with the drafter, whose
    rounds are `slots` tokens ahead of the context.
    """
    (bill,) = bills_of(setup, (context,), batch, slots)
    return bill


def bills_of(
    setup: Setup, contexts: Sequence[float], batch: float, slots: float = 0
) -> list[MemoryBill]:
    """The bills of a setup at each context."""
    bill, model = memory_bill(setup, contexts, slots), setup.draft.model
    caches = setup.draft.caches
    token = (
        caches * float(kv_bytes(model, 1, setup.kv_dtype, setup.draft_tp))
        if model and caches
        else 0.0
    )
    missing = bill.needed_bytes(batch, drafted=True) - bill.usable_bytes
    shortfall = np.where(batch > bill.largest, np.maximum(missing, 1.0), 0.0)
    columns = (
        bill.target_sequence_bytes,
        bill.draft_sequence_bytes,
        bill.largest_plain.astype(np.int64),
        bill.largest.astype(np.int64),
        shortfall,
    )
    return [
        MemoryBill(
            hardware=setup.where,
            memory_bytes=setup.hardware.memory,
            memory_basis=setup.hardware.memory_basis,
            usable_bytes=bill.usable_bytes,
            target_weights_bytes=bill.target_bytes,
            target_kv_bytes_per_sequence=target_kv,
            draft=setup.draft.label,
            draft_weights_bytes=bill.draft_bytes,
            draft_kv_bytes_per_token=token,
            draft_kv_bytes_per_sequence=draft_kv,
            context=context,
            largest_batch_plain=plain,
            largest_batch=largest,
            sequences_lost=plain - largest,
            shortfall_bytes=lacking,
        )
        for context, target_kv, draft_kv, plain, largest, lacking in zip(
            contexts, *(column.tolist() for column in columns), strict=True
        )
    ]


def fitting_tp(setup: Setup, context: float, batch: float) -> int | None:
    """The smallest power of two of GPUs, up to 64, on which the batch fits with the drafter, its
    attention groups and the ways that experts divide staying as they are.
    """
    for tp in (2, 4, 8, 16, 32, 64):
        if tp <= setup.tp or tp % setup.attention_dp or tp % setup.ep:
            continue
        wider = replace(setup, tp=tp, draft_tp=tp)
        if not bill_of(wider, context, batch).shortfall_bytes:
            return tp
    return None


def memory(scenario: Scenario) -> Answer:
    """The drafter's memory bill at each setup and context; exit 1 when the workload does not fit.

    Without a batch of its own the question is whether one sequence fits. With an acceptance the
    arms are compared, at the scenario's k or else the best at the drafter's largest batch.
    """
    refuse_mix(scenario, "memory")
    asked = max(scenario.batch)
    bills: list[MemoryBill] = []
    arms: list[Arms] = []
    records: list[dict[str, Scalar]] = []
    for setup in scenario.setups:
        ends = [context + scenario.growth for context in scenario.context]
        found = bills_of(setup, ends, asked)
        bills += found
        arms += arms_of(scenario, setup, found)
        records += [_record(setup, bill, asked) for bill in found]
    return Answer(
        command="memory",
        value=Memory(tuple(bills), tuple(arms)),
        table=table_of(COLUMNS, records, (SERVED_BY,)),
        view=_view(scenario, bills, arms, asked),
        basis=basis_of(scenario, timed=bool(arms)),
        inputs=scenario.inputs,
        notes=(*scenario.notes, *_grouped(scenario.setups)),
        ok=not any(bill.shortfall_bytes for bill in bills),
    )


def _grouped(setups: Sequence[Setup]) -> Iterator[str]:
    """A note for each number of attention groups: sequences are not on every GPU."""
    for groups in dict.fromkeys(s.attention_dp for s in setups if s.attention_dp > 1):
        yield (
            f"attention-dp {groups}: a GPU holds one in {groups} of the sequences; "
            "the target's KV per sequence is on a GPU that holds it"
        )


def _record(setup: Setup, bill: MemoryBill, asked: float) -> dict[str, Scalar]:
    own = {c.name: getattr(bill, c.name) for c in COLUMNS if hasattr(bill, c.name)}
    return own | {
        "target": setup.target.name,
        "hardware": setup.hardware.name,
        "tp": setup.tp,
        **serving_cells(setup.serving),
        "batch": int(asked),
        "fits": not bill.shortfall_bytes,
    }


def _view(scenario: Scenario, bills: list[MemoryBill], arms: list[Arms], asked: float) -> View:
    if len(bills) > 1:
        places = ("target", "draft", "hardware", "tp", *varied(scenario.setups))
        batches = ("largest_batch_plain", "largest_batch", "sequences_lost", "shortfall_bytes")
        rows = Rows(columns=(*places, "context", "draft_weights_bytes", *batches))
        told = Facts(tuple(_arm_facts(arms, telling(scenario.setups))))
        return View(title="Memory of the drafter", sections=(rows, told))
    bill, setup = bills[0], scenario.setups[0]
    sections = [Facts(tuple(_facts(bill, setup)))]
    if arms:
        sections.append(Facts(tuple(_arm_facts(arms, None))))
    verdict = _misfit(bill, setup, asked) if bill.shortfall_bytes else ()
    caption = f"{setup.label}, {dtype_words(setup)}, context {tokens_words((bill.context,))}"
    return View(
        title="Memory of the drafter", caption=(caption,), sections=(*sections, Lines(verdict))
    )


def memory_line(bill: MemoryBill) -> str:
    """The bill in one line."""
    return f"{drafter_words(bill)}; {sequences_words(bill)}"


def drafter_words(bill: MemoryBill) -> str:
    """What the drafter takes."""
    return (
        f"{people(bill.draft_weights_bytes, 'B')} + "
        f"{people(bill.draft_kv_bytes_per_token, 'B')} KV/token"
    )


def sequences_words(bill: MemoryBill) -> str:
    """How many sequences fit without and with the drafter."""
    lost = "none fits"
    if bill.largest_batch_plain:
        lost = (
            f"-{bill.sequences_lost:,}, {percent(bill.sequences_lost / bill.largest_batch_plain)}"
        )
    return (
        f"{bill.largest_batch_plain:,} -> {bill.largest_batch:,} sequences of "
        f"{people(bill.context, 'tokens')} ({lost})"
    )


def misfit_words(bill: MemoryBill, batch: float, tp: int | None) -> str:
    """That a batch does not fit, how many do, and the GPUs `tp` on which it would, if any."""
    remedy = f"; with --tp {tp} it would fit" if tp else ""
    return (
        f"Does not fit: batch {batch:,.0f} at {people(bill.context, 'tokens')} "
        f"tokens; {bill.largest_batch:,} sequences fit with the drafter, "
        f"{bill.largest_batch_plain:,} without{remedy}."
    )


def _facts(bill: MemoryBill, setup: Setup) -> list[tuple[str, str]]:
    shown = "driver shows" if bill.memory_basis == "driver" else "label says"
    plain = bill.largest_batch_plain
    lost = bill.sequences_lost / plain if plain else None
    groups = setup.attention_dp
    held = f", one in {groups} of them on a GPU" if groups > 1 else ""
    return [
        (
            "usable",
            (
                f"{people(bill.usable_bytes, 'B')}: {USABLE_FRACTION:.0%} of "
                f"{people(bill.memory_bytes, 'B')} that the {shown}"
            ),
        ),
        ("target weights", people(bill.target_weights_bytes, "B")),
        ("target KV", f"{people(bill.target_kv_bytes_per_sequence, 'B')} per sequence{held}"),
        ("drafter weights", people(bill.draft_weights_bytes, "B")),
        (
            "drafter KV",
            (
                f"{people(bill.draft_kv_bytes_per_sequence, 'B')} per sequence "
                f"({people(bill.draft_kv_bytes_per_token, 'B')} per token)"
            ),
        ),
        ("sequences without", f"{bill.largest_batch_plain:,}"),
        ("sequences with", f"{bill.largest_batch:,}"),
        ("lost", f"{bill.sequences_lost:,} ({percent(lost)})" if lost is not None else "none fits"),
    ]


def _arm_facts(
    arms: list[Arms], apart: Callable[[Serving], str] | None
) -> Iterator[tuple[str, str]]:
    """The arms, with `apart` one of several setups each."""
    for arm in arms:
        of = ""
        if apart:
            place = (arm.hardware, apart(arm.serving), people(arm.context, "tokens"))
            of = "".join(f"{word}, " for word in place if word)
        yield (
            f"{of}{acceptance_words(arm.alpha, arm.acceptance)}, k={arm.k}",
            f"{arm.at_equal_batch:.3f}x at equal batch {arm.largest_batch_plain:,}; "
            f"{arm.at_own_largest:.3f}x with each arm at its own largest",
        )


def _misfit(bill: MemoryBill, setup: Setup, asked: float) -> tuple[str, ...]:
    tp = fitting_tp(setup, bill.context, asked)
    remedy = f"; with --tp {tp} it would fit" if tp else ""
    return (
        (
            f"Does not fit: batch {asked:,.0f} at {people(bill.context, 'tokens')} tokens needs "
            f"{_gib(bill.usable_bytes + bill.shortfall_bytes)} a GPU with the drafter, "
            f"{_gib(bill.shortfall_bytes)} more than {setup.hardware.name} can give{remedy}."
        ),
    )


def _gib(value_bytes: float) -> str:
    """Shortfalls are always in GiB, so that they can be compared with a card's size."""
    return f"{value_bytes / 2**30:,.2f} GiB"
