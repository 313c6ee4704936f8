"""The pool that an engine makes of its memory: tokens and blocks, as its own log counts them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from specplan.domain.accounting import Loss
from specplan.domain.answer import Column
from specplan.physics.counted import Arm
from specplan.units import people


@dataclass(frozen=True, slots=True)
class Pool:
    """What an engine counts at one context, by the release that it was `read_in`. `k` tokens are
    drafted; `*_plain` is without the drafter. `least_fraction` holds one sequence, the lowest the
    batch asked, and the highest leaves room for what lies beside: where the least is higher, none
    works. `concurrency` is of sequences of the context, as the engine's log prints it;
    `pool_tokens_running` were recurrent scratch kept for those alone that run. `states_bytes` of
    the pool are divided off for so many recurrent states, those of `states_sequences` (None: none
    are).
    """

    counted_from: str
    read_in: str
    k: int
    fraction_flag: str
    memory_fraction: float | None
    least_fraction: float | None
    lowest_fraction: float | None
    highest_fraction: float | None
    held_back_bytes: float
    duplicated_bytes: float
    libraries_bytes: float
    activations_bytes: float
    sampler_bytes: float
    graphs_bytes: float
    beside_bytes: float
    verify_logits_bytes: float
    draft_logits_bytes: float
    profiled_tokens: int
    sampled_rows: int
    drafter_in_pool: bool
    token_bytes: float
    block_tokens: int
    slots_ahead: int
    pool_bytes_plain: float
    pool_bytes: float
    pool_blocks: int
    pool_tokens_plain: int
    pool_tokens: int
    concurrency: float
    sequences_limit: int | None
    sequences_flag: str
    pool_tokens_running: int
    states_bytes: float
    states_slots: int
    states_sequences: int | None
    losses: tuple[Loss, ...]

    @property
    def starts(self) -> bool:
        """Whether its fraction leaves room for what lies beside the pool."""
        if self.memory_fraction is None or self.highest_fraction is None:
            return True
        return self.memory_fraction <= self.highest_fraction

    @property
    def feasible(self) -> bool:
        """Whether any fraction holds a sequence and starts."""
        return self._below(self.least_fraction)

    @property
    def raisable(self) -> bool:
        """Whether another fraction would hold the batch asked."""
        return self.memory_fraction is not None and self._below(self.lowest_fraction)

    def _below(self, fraction: float | None) -> bool:
        """Whether a fraction leaves room for what lies beside."""
        return fraction is None or fraction <= min(self.highest_fraction or 1.0, 1.0)


POOL_COLUMNS = (
    Column("memory_fraction", "1", "fraction", "precise", "of memory that the engine fills"),
    Column("pool_bytes", "B", "pool", "bytes", "left for caches on a GPU"),
    Column("pool_tokens_plain", "tokens", "pool without", "count", "without the drafter"),
    Column("pool_tokens", "tokens", "pool tokens", "count", "as the engine's log counts them"),
    Column("pool_blocks", "", "blocks", "count", "of the pool"),
    Column("block_tokens", "tokens", "block", "count", "given to a sequence at once"),
    Column("slots_ahead", "tokens", "ahead", "count", "reserved beyond a sequence's context"),
    Column("concurrency", "sequences", "concurrency", "precise", "of the context, as it logs them"),
    Column("states_bytes", "B", "states", "bytes", "of the pool, divided off for recurrent states"),
    Column("sequences_limit", "sequences", "at once", "count", "that it runs, if it has a limit"),
)


def pool_of(arms: tuple[Arm, Arm], context: float, needed_bytes: tuple[float, float]) -> Pool:
    """The pool of a setup's arms; `needed_bytes` are what one sequence needs in all, and what the
    batch asked does.
    """
    plain, drafted = arms
    served, accounting = drafted.served, drafted.accounting
    profile = accounting.profile(served)
    bounds = [drafted.fractions(max(n - drafted.resident_bytes, 0.0)) for n in needed_bytes]
    (least, high), (low, _) = (bound or (None, None) for bound in bounds)
    return Pool(
        counted_from=accounting.since,
        read_in=accounting.cite,
        k=served.k,
        fraction_flag=accounting.flag,
        memory_fraction=accounting.fraction(served) if accounting.flag else None,
        least_fraction=least,
        lowest_fraction=low,
        highest_fraction=high,
        held_back_bytes=drafted.held_back_bytes,
        duplicated_bytes=drafted.duplicated_bytes,
        libraries_bytes=drafted.libraries_bytes,
        activations_bytes=drafted.activations_bytes,
        sampler_bytes=drafted.sampler_bytes,
        graphs_bytes=drafted.graphs_bytes,
        beside_bytes=drafted.beside_bytes,
        verify_logits_bytes=drafted.verify_logits_bytes,
        draft_logits_bytes=drafted.draft_logits_bytes,
        profiled_tokens=profile.tokens,
        sampled_rows=profile.rows,
        drafter_in_pool=accounting.pooled,
        token_bytes=drafted.token_bytes,
        block_tokens=drafted.block,
        slots_ahead=accounting.ahead(served),
        pool_bytes_plain=plain.pool_bytes,
        pool_bytes=drafted.pool_bytes,
        pool_blocks=drafted.blocks,
        pool_tokens_plain=plain.tokens(context),
        pool_tokens=drafted.tokens(context),
        concurrency=drafted.concurrency(context),
        sequences_limit=accounting.sequences(served),
        sequences_flag=accounting.run_flag,
        pool_tokens_running=drafted.tokens_of_running(context, accounting.sequences(served) or 0),
        states_bytes=drafted.aside.held_bytes,
        states_slots=drafted.aside.states,
        states_sequences=drafted.aside.sequences,
        losses=tuple(accounting.losses(served)),
    )


def pool_facts(pool: Pool, context: float) -> Iterator[tuple[str, str]]:
    """The parts between weights and sequences, in lines; what is no engine's own count says so."""
    if pool.duplicated_bytes:
        yield "drafter's copies", f"{people(pool.duplicated_bytes, 'B')} while the pool is sized"
    yield "libraries", f"{people(pool.libraries_bytes, 'B')} (assumed)"
    if pool.profiled_tokens:
        passed = f"a pass of {pool.profiled_tokens:,} tokens"
        yield "activations", f"{people(pool.activations_bytes, 'B')}: {passed} (estimate)"
        rows = f"{pool.sampled_rows:,} rows"
        yield "logits", f"{people(pool.sampler_bytes, 'B')}: {rows} (estimate)"
    if pool.graphs_bytes:
        yield "graphs", f"{people(pool.graphs_bytes, 'B')} (assumed)"
    yield "pool without", f"{people(pool.pool_bytes_plain, 'B')}: {pool.pool_tokens_plain:,} tokens"
    yield "pool with", f"{people(pool.pool_bytes, 'B')}: {pool.pool_tokens:,} tokens"
    if pool.states_sequences is not None:
        states = f"{pool.states_slots:,} states, for {pool.states_sequences:,} sequences"
        yield "of it states", f"{people(pool.states_bytes, 'B')}: {states}"
    if pool.block_tokens > 1:
        yield "blocks", f"{pool.pool_blocks:,} of {pool.block_tokens:,} tokens"
    yield "concurrency", f"{pool.concurrency:,.2f}x of {people(context, 'tokens')} tokens"
    if pool.k:
        yield "ahead", f"{pool.slots_ahead:,} tokens a sequence at k = {pool.k}"
    yield from _fraction_fact(pool)


def held_back_words(pool: Pool, served_by: str) -> str:
    """What an engine leaves free, and by which habit."""
    if pool.memory_fraction is None:
        return f"{people(pool.held_back_bytes, 'B')}: margin of {served_by}"
    purpose = "" if pool.profiled_tokens else " (activations, graphs)"
    told = f"{pool.fraction_flag} {pool.memory_fraction:.3g}"
    return f"{people(pool.held_back_bytes, 'B')}{purpose}: {told}"


def fraction_words(pool: Pool, served_by: str) -> str:
    """That no fraction works, or not the one in use, and between which bounds one would."""
    low, high = pool.least_fraction or 0.0, max(pool.highest_fraction or 0.0, 0.0)
    if pool.states_bytes > pool.pool_bytes and pool.sequences_limit:
        return (
            f"{served_by} reserves recurrent states for {pool.sequences_limit:,} sequences: "
            f"{people(pool.states_bytes, 'B')} of a pool of {people(pool.pool_bytes, 'B')}; fewer "
            f"with {pool.sequences_flag} would fit"
        )
    if not pool.feasible:
        need = f"need {low:.3f}" if low <= 1 else "need more than all of it"
        return (
            f"No {pool.fraction_flag} works: weights, drafter and one sequence {need}, and "
            f"{served_by} leaves room for what lies beside up to {min(high, 1.0):.3f}"
        )
    return (
        f"{pool.fraction_flag} {pool.memory_fraction:.3f} leaves no room for what lies beside the "
        f"pool of {served_by}: {low:.3f} to {high:.3f} would"
    )


def _fraction_fact(pool: Pool) -> Iterator[tuple[str, str]]:
    low, high = pool.lowest_fraction, pool.highest_fraction
    if low is not None and high is not None and pool.raisable:
        yield "fractions", f"{low:.3f} to {min(high, 1.0):.3f} hold the batch asked"


def capped_words(served_by: str, most: int, flag: str) -> str:
    """That an engine lets requests wait beyond a number of its own."""
    return f"{served_by} runs no more than {most:,} sequences at once unless {flag} says more"


def pool_notes(pool: Pool, served_by: str, batch: int) -> Iterator[str]:
    """What is lost by the engine's own habits, and what else caps the batch."""
    for loss in pool.losses:
        lost = f", {people(loss.lost_bytes, 'B')} a GPU" if loss.lost_bytes else ""
        yield f"{served_by}: {loss.says}{lost} ({loss.issue})"
    if pool.draft_logits_bytes:
        yield (
            f"{served_by}: drafts that are sampled (draft_sample_method probabilistic) keep "
            f"{people(pool.draft_logits_bytes, 'B')} of logits more"
        )
    if pool.pool_tokens_running > pool.pool_tokens:
        gain = pool.pool_tokens_running / pool.pool_tokens - 1
        yield (
            f"{served_by}: with states for those alone that run the pool would have "
            f"{pool.pool_tokens_running:,} tokens, {gain:.1%} more"
        )
    if pool.sequences_limit is not None and batch > pool.sequences_limit:
        yield capped_words(served_by, pool.sequences_limit, pool.sequences_flag)
    if (
        pool.verify_logits_bytes
        > pool.activations_bytes + pool.sampler_bytes + pool.held_back_bytes
    ):
        yield (
            f"{served_by}: the logits of a verification take "
            f"{people(pool.verify_logits_bytes, 'B')}, more than is kept for them"
        )
