"""What the drafter costs in memory, in sequences, and in speed when memory limits the batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace

from specplan.domain.accounting import Limits
from specplan.domain.answer import Answer, Basis, Column, Scalar, table_of
from specplan.domain.scenario import Scenario, Setup
from specplan.errors import UsageError, Where
from specplan.questions.arms import Arms, arms_of
from specplan.questions.bills import (
    NO_LIMITS,
    MemoryBill,
    arms_of_engine,
    bills_of,
    usual_k,
)
from specplan.questions.common import basis_of, refuse_mix
from specplan.questions.grids import PLACE_COLUMNS
from specplan.questions.memory_picture import drawn
from specplan.questions.memory_view import view_of
from specplan.questions.pools import POOL_COLUMNS, pool_notes
from specplan.questions.servings import SERVED_BY, SERVING_COLUMNS, serving_cells


@dataclass(frozen=True, slots=True)
class Memory:
    """The bill of each setup and context, and the arms' speedups where acceptance is given."""

    bills: tuple[MemoryBill, ...]
    arms: tuple[Arms, ...]


_COUNTING = "vllm, sglang, trtllm or llamacpp"
READERS = {
    "memory_fraction": "vllm, sglang or trtllm",
    "max_num_seqs": _COUNTING,
    "max_batched_tokens": _COUNTING,
}
"""The engines that read a limit."""
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
    *POOL_COLUMNS,
)


def memory(scenario: Scenario, limits: Limits = NO_LIMITS) -> Answer:
    """The drafter's memory bill at each setup and context; exit 1 when the workload does not fit,
    or where no fraction of the engine's would let it start.

    Without a batch of its own the question is whether one sequence fits. With an acceptance the
    arms are compared, at the scenario's k or else the best at the drafter's largest batch. `limits`
    are what the server is told; tokens ahead are counted for the largest k asked.
    """
    refuse_mix(scenario, "memory")
    _refuse_unused(scenario, limits)
    asked = max(scenario.batch)
    bills: list[MemoryBill] = []
    arms: list[Arms] = []
    records: list[dict[str, Scalar]] = []
    for setup in scenario.setups:
        ends = [context + scenario.growth for context in scenario.context]
        found = bills_of(setup, ends, asked, usual_k(setup, scenario.k), limits)
        bills += found
        arms += arms_of(scenario, setup, found)
        records += [_record(setup, bill, asked) for bill in found]
    return Answer(
        command="memory",
        value=Memory(tuple(bills), tuple(arms)),
        table=table_of(COLUMNS, records, (SERVED_BY,)),
        view=replace(
            view_of(scenario, bills, arms, asked, limits),
            picture=lambda: drawn(scenario.setups, bills, limits),
        ),
        basis=_basis(scenario, bills, timed=bool(arms)),
        inputs=scenario.inputs,
        notes=(*scenario.notes, *_grouped(scenario.setups), *_counted(scenario, bills)),
        ok=not any(map(_refused, bills)),
    )


def _basis(scenario: Scenario, bills: Sequence[MemoryBill], *, timed: bool) -> Basis:
    """The engines' words, and which parts of a bill no engine states."""
    basis = basis_of(scenario, timed=timed)
    if not any(bill.pool for bill in bills):
        return basis
    parts = "libraries, activations, logits and graphs are estimated from shapes"
    return replace(basis, assumed=(*basis.assumed, f"{parts}; engines measure them at start"))


def _refused(bill: MemoryBill) -> bool:
    """Whether the batch does not fit, or the engine would not start."""
    return bill.shortfall_bytes > 0 or bool(
        bill.pool and not (bill.pool.starts and bill.pool.feasible)
    )


def _refuse_unused(scenario: Scenario, limits: Limits) -> None:
    """Refuses a limit that an engine asked about would not read."""
    told = [f.name for f in fields(limits) if getattr(limits, f.name) is not None]
    for setup in scenario.setups:
        arms = arms_of_engine(setup, 0)
        unread = told if arms is None else [] if arms[0].accounting.flag else ["memory_fraction"]
        for name in (name for name in told if name in unread):
            raise UsageError(
                f"{setup.engine.name} has no such limit",
                where=Where(f"--{name.replace('_', '-')}"),
                hint=f"it is for engines that count their memory: -e {READERS[name]}",
            )
        why = arms[0].accounting.refused(limits) if arms else None
        if why:
            raise UsageError(why, where=Where("--max-batched-tokens"))


def _counted(scenario: Scenario, bills: Sequence[MemoryBill]) -> Iterator[str]:
    """What engines' own counts lose and assume, each once."""
    served = [s.serving.served_by for s in scenario.setups for _ in scenario.context]
    said = [
        note
        for name, bill in zip(served, bills, strict=True)
        if bill.pool
        for note in pool_notes(bill.pool, name, max(bill.largest_batch, int(max(scenario.batch))))
    ]
    gained = (name for name, bill in zip(served, bills, strict=True) if bill.sequences_lost < 0)
    said += [
        f"{name}: with the drafter, layers fall into groups with less padding" for name in gained
    ]
    counted = [bill.pool for bill in bills if bill.pool]
    if counted and not scenario.k and any(pool.k for pool in counted):
        k = max(pool.k for pool in counted)
        said.append(f"tokens ahead are those of drafts of {k}: -k says another length")
    yield from dict.fromkeys(said)


def _grouped(setups: Sequence[Setup]) -> Iterator[str]:
    """A note for each number of attention groups: sequences are not on every GPU."""
    for groups in dict.fromkeys(s.attention_dp for s in setups if s.attention_dp > 1):
        yield (
            f"attention-dp {groups}: a GPU holds one in {groups} of the sequences; "
            "the target's KV per sequence is on a GPU that holds it"
        )


def _record(setup: Setup, bill: MemoryBill, asked: float) -> dict[str, Scalar]:
    own = {c.name: getattr(bill, c.name) for c in COLUMNS if hasattr(bill, c.name)}
    counted = {c.name: getattr(bill.pool, c.name, None) for c in POOL_COLUMNS}
    return (
        own
        | counted
        | {
            "target": setup.target.name,
            "hardware": setup.hardware.name,
            "tp": setup.tp,
            **serving_cells(setup.serving),
            "batch": int(asked),
            "fits": not _refused(bill),
        }
    )
