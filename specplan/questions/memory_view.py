"""How a memory bill is told: in full for one setup, in rows for several, in words elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from specplan.domain.accounting import Limits
from specplan.domain.answer import Facts, Lines, Rows, View
from specplan.domain.scenario import Scenario, Serving, Setup
from specplan.physics.memory import USABLE_FRACTION, memory_bill
from specplan.questions.arms import Arms
from specplan.questions.bills import MemoryBill, fitting_tp
from specplan.questions.common import acceptance_words, dtype_words, percent, tokens_words
from specplan.questions.pools import fraction_words, held_back_words, pool_facts
from specplan.questions.servings import telling, varied
from specplan.units import people

_EDGE = 80


def view_of(
    scenario: Scenario,
    bills: list[MemoryBill],
    arms: list[Arms],
    asked: float,
    limits: Limits,
) -> View:
    """One bill in full, or a row for each."""
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
    tp = None
    if bill.shortfall_bytes:
        tp = fitting_tp(setup, bill.context, asked, scenario.k, limits)
    verdict = _verdict(bill, setup, asked, tp)
    return View(
        title="Memory of the drafter",
        caption=tuple(_caption(bill, setup)),
        sections=(*sections, Lines(verdict, wrap=bill.pool is not None)),
    )


def _caption(bill: MemoryBill, setup: Setup) -> Iterator[str]:
    """The setup, in two lines where its names are long, and whose count it is."""
    stored = f"{dtype_words(setup)}, context {tokens_words((bill.context,))}"
    whole = f"{setup.label}, {stored}"
    yield from (whole,) if len(whole) <= _EDGE else (setup.label, stored)
    if bill.pool:
        yield f"counted as in {bill.pool.read_in}"


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
        share = percent(abs(bill.sequences_lost) / bill.largest_batch_plain)
        sign = "+" if bill.sequences_lost < 0 else "-"
        lost = f"{sign}{abs(bill.sequences_lost):,}, {share}"
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


def _facts(bill: MemoryBill, setup: Setup) -> Iterator[tuple[str, str]]:
    shown = "driver shows" if bill.memory_basis == "driver" else "label says"
    memory, pool, served_by = people(bill.memory_bytes, "B"), bill.pool, setup.serving.served_by
    groups, plain = setup.attention_dp, bill.largest_batch_plain
    held = f", one in {groups} of them on a GPU" if groups > 1 else ""
    if pool:
        yield "memory", f"{memory} that the {shown}"
        yield "held back", held_back_words(pool, served_by)
    else:
        usable = f"{USABLE_FRACTION:.0%} of {memory} that the {shown}"
        yield "usable", f"{people(bill.usable_bytes, 'B')}: {usable}"
    yield "target weights", people(bill.target_weights_bytes, "B")
    yield "target KV", f"{people(bill.target_kv_bytes_per_sequence, 'B')} per sequence{held}"
    beside = "" if pool is None or pool.drafter_in_pool else ", beside the fraction"
    few = f", on {setup.draft_tp} of {setup.tp} GPUs" if setup.draft_tp < setup.tp else ""
    yield "drafter weights", f"{people(bill.draft_weights_bytes, 'B')}{few}{beside}"
    token = f"{people(bill.draft_kv_bytes_per_token, 'B')} per token"
    yield "drafter KV", f"{people(bill.draft_kv_bytes_per_sequence, 'B')} per sequence ({token})"
    if pool:
        yield from pool_facts(pool, bill.context)
    yield "sequences without", f"{plain:,}"
    yield "sequences with", f"{bill.largest_batch:,}"
    lost = f"{bill.sequences_lost:,} ({percent(bill.sequences_lost / plain)})" if plain else ""
    yield "lost", lost or "none fits"
    if pool:
        ideal = memory_bill(setup, bill.context)
        yield (
            "by -e roofline",
            f"{float(ideal.largest_plain):,.0f} -> {float(ideal.largest):,.0f}: weights and caches "
            f"alone, in {USABLE_FRACTION:.0%}".replace("%", " %"),
        )


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


def _verdict(bill: MemoryBill, setup: Setup, asked: float, tp: int | None) -> tuple[str, ...]:
    """Why the answer is no, if it is, and the GPUs `tp` on which it would not be."""
    remedy = f"; with --tp {tp} it would fit" if tp else ""
    pool = bill.pool
    if pool and pool.raisable and bill.shortfall_bytes:
        remedy = f"; {pool.fraction_flag} {pool.lowest_fraction:.3f} would hold it"
    if pool and not (pool.feasible and pool.starts):
        return (fraction_words(pool, setup.serving.served_by) + remedy + ".",)
    if not bill.shortfall_bytes:
        return ()
    return (
        (
            f"Does not fit: batch {asked:,.0f} at {people(bill.context, 'tokens')} tokens needs "
            f"{_gib(bill.usable_bytes + bill.shortfall_bytes)} a GPU with the drafter, "
            f"{_gib(bill.shortfall_bytes)} more than {_given(bill, setup)}{remedy}."
        ),
    )


def _given(bill: MemoryBill, setup: Setup) -> str:
    """What a GPU has to give, by what the server was told where it was told something."""
    told = bill.pool.memory_fraction if bill.pool else None
    return f"{setup.hardware.name} can give" if told is None else f"a fraction of {told:.3g} gives"


def _gib(value_bytes: float) -> str:
    """Shortfalls are always in GiB, so that they can be compared with a card's size."""
    return f"{value_bytes / 2**30:,.2f} GiB"
