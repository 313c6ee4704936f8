"""Memory as an engine counts it: the bill of `memory`, with blocks, slots ahead and a pool.

What an engine states (fraction, blocks, slots, layers in the pool) is exact. What it measures when
it starts (the pass that it profiles, graphs, libraries) is estimated, in `counted_start`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from specplan.domain.accounting import Accounting, Limits, Served
from specplan.domain.pooling import Aside, Layers, Layout, layers_of
from specplan.domain.scenario import Setup
from specplan.physics.counted_start import LIBRARIES_BYTES, estimated, vocab
from specplan.physics.drawn import kept_bytes, logged_units, running_units
from specplan.physics.memory import Bill, held_weights_bytes
from specplan.physics.tokens import FloatArray


@dataclass(frozen=True, slots=True)
class Arm:
    """The fullest GPU of a setup, plainly or with drafts of k tokens, taken apart (bytes).

    `beside_bytes` have to find room in what is held back. `layers` are the target's that keep
    something, `draft_layers` the drafter's; `layout` is how they share the pool where they differ.
    """

    served: Served
    accounting: Accounting
    target_bytes: float
    draft_bytes: float
    duplicated_bytes: float
    libraries_bytes: float
    activations_bytes: float
    sampler_bytes: float
    graphs_bytes: float
    beside_bytes: float
    verify_logits_bytes: float
    draft_logits_bytes: float
    layers: tuple[Layers, ...]
    draft_layers: tuple[Layers, ...]
    layout: Layout | None

    @property
    def token_bytes(self) -> float:
        """The target's in the pool for one token of a short sequence."""
        return sum(kind.number * kind.token_bytes for kind in self.layers)

    @property
    def draft_token_bytes(self) -> float:
        """The drafter's, as it is counted."""
        share = self.accounting.draft_share(self.served)
        if self.draft_layers and share is not None:
            return share * self.token_bytes
        return sum(kind.number * kind.token_bytes for kind in self.draft_layers)

    @property
    def other_bytes(self) -> float:
        """What comes off the budget besides weights."""
        parts = (self.libraries_bytes, self.activations_bytes, self.sampler_bytes)
        return sum(parts) + self.graphs_bytes

    @property
    def charged_draft_bytes(self) -> float:
        """The drafter's weights where the budget pays for them."""
        return self.draft_bytes + self.duplicated_bytes if self.accounting.pooled else 0.0

    @property
    def resident_bytes(self) -> float:
        """What is taken off before the pool."""
        return self.target_bytes + self.charged_draft_bytes + self.other_bytes

    @property
    def held_back_bytes(self) -> float:
        """What neither weights nor pool may take."""
        return self.accounting.held_back_bytes(self.served, self.resident_bytes)

    @property
    def block(self) -> int:
        """Tokens that a sequence is given at once."""
        return self.layout.tokens if self.layout else self.accounting.block_tokens(self.served)

    @property
    def block_bytes(self) -> float:
        """Bytes of one block over all layers of the pool."""
        if self.layout:
            return self.layout.unit_bytes
        drafter = self.draft_token_bytes if self.accounting.pooled else 0.0
        return self.block * (self.token_bytes + drafter)

    @property
    def pool_bytes(self) -> float:
        """What is left for caches; 0 where weights fill the budget."""
        return max(self.served.memory_bytes - self.held_back_bytes - self.resident_bytes, 0.0)

    @property
    def state_bytes(self) -> float:
        """Bytes of one recurrent state of the target, over all layers that have one."""
        count = self.accounting.state_bytes
        return sum(k.number * count(self.served, k) for k in self.layers if k.state_bytes)

    @property
    def aside(self) -> Aside:
        """What is divided off the pool for recurrent states."""
        return self.accounting.set_aside(self.served, self.pool_bytes, self.state_bytes)

    @property
    def blocks(self) -> int:
        """Whole blocks of the pool, less what is divided off."""
        left = max(self.pool_bytes - self.aside.held_bytes, 0.0)
        return int(left // self.block_bytes) if self.block_bytes else 0

    def sequence_bytes(
        self, context: npt.ArrayLike, ahead: int = 0
    ) -> tuple[FloatArray, FloatArray]:
        """Bytes of the target's and of the drafter's caches that one sequence is given, on a GPU
        that holds it: whole blocks of `context` tokens (any shape) and those `ahead`, and every
        recurrent state of the pool.
        """
        tokens = np.asarray(context, np.float64) + ahead
        whole = np.ceil(tokens / self.block) * self.block
        drafter = self._drafter_bytes(whole)
        if self.layout is None:
            return kept_bytes(self.accounting, self.served, self.layers, whole), drafter
        together = self.layout.unit_bytes * running_units(self.layout, tokens, ahead)
        return together - (drafter if self.accounting.pooled else 0.0), drafter

    def _drafter_bytes(self, tokens: FloatArray) -> FloatArray:
        """Bytes of the drafter's cache for so many tokens."""
        if not self.draft_layers:
            return np.zeros(tokens.shape)
        if self.accounting.draft_share(self.served) is not None:
            return self.draft_token_bytes * tokens
        return kept_bytes(self.accounting, self.served, self.draft_layers, tokens)

    def sequence(self, context: npt.ArrayLike, ahead: int = 0) -> FloatArray:
        """Both together, as far as the pool pays for them."""
        target, drafter = self.sequence_bytes(context, ahead)
        return target + drafter if self.accounting.pooled else target

    @property
    def uniform(self) -> bool:
        """Whether every layer of the target keeps every token, and nothing else."""
        return all(kind.window is None and not kind.state_bytes for kind in self.layers)

    def logged(self, context: float) -> float:
        """Blocks of a sequence of `context` tokens as engines' logs count them: with every
        recurrent state, a window in flight, and no tokens ahead.
        """
        if self.layout:
            return float(logged_units(self.layout, np.asarray(context, np.float64)))
        return float(self.sequence(context)) / self.block_bytes if self.block_bytes else 0.0

    def concurrency(self, context: float) -> float:
        """Sequences of `context` tokens that the pool would hold, as engines' logs count them."""
        each, limit = self.logged(context), self.aside.sequences
        whole = self.layout or self.uniform or not self.block_bytes
        found = (self.blocks if whole else self.pool_bytes / self.block_bytes) / (each or 1.0)
        return found if limit is None else min(found, float(limit))

    def tokens(self, context: float) -> int:
        """Tokens of the pool as its log counts them: of whole blocks where tables have their own,
        else as many as its concurrency times the context.
        """
        if self.layout and not self.layout.derived:
            tables = 1 if self.layout.apart else sum(round(t.units) for t in self.layout.tables)
            return self.blocks // tables * self.block
        if self.layout is None and self.uniform:
            return self.blocks * self.block
        return int(self.concurrency(context) * context)

    def tokens_of_running(self, context: float, running: int) -> int:
        """The same were recurrent scratch kept for `running` sequences alone, as far as the pool
        would hold so many (vllm-project/vllm#57261).
        """
        count = self.accounting.scratch(self.served)
        tables = self.layout.tables if self.layout else ()
        scratch = count * sum(table.units for table in tables if table.states)
        if not scratch:
            return self.tokens(context)
        held = min(running, self.concurrency(context)) * scratch
        return int((self.blocks - held) / (self.logged(context) - scratch) * context)

    def fractions(self, needed_bytes: float) -> tuple[float, float] | None:
        """The lowest fraction with `needed_bytes` of pool, and the highest that leaves room for
        what lies beside; None for engines without a fraction. None fits where they cross.

        Where the drafter's cache lies beside the pool it grows with it:
        (1 - f) m >= beside + drafter + (f m - resident) d/t.
        """
        if not self.accounting.flag:
            return None
        memory, resident, beside = self.served.memory_bytes, self.resident_bytes, self.beside_bytes
        if self.accounting.of_free:
            free = max(memory - resident, 1.0)
            return needed_bytes / free, 1 - beside / free
        grows = 0.0
        if not self.accounting.pooled:
            beside += self.draft_bytes
            grows = self.draft_token_bytes / self.token_bytes if self.token_bytes else 0.0
        highest = (memory - beside + resident * grows) / (memory * (1 + grows))
        if highest * memory < resident:  # not even an empty pool fits beside
            highest = 1 - beside / memory
        return (resident + needed_bytes) / memory, highest


def arm_of(accounting: Accounting, served: Served) -> Arm:
    """The fullest GPU of a setup as an engine counts it; the drafter lies there whole where fewer
    GPUs share it.
    """
    setup, target = served.setup, served.setup.target
    model = setup.draft.model if served.k and setup.draft.caches else None
    inside, whole = (
        estimated(served, profile, accounting)
        for profile in (accounting.profile(served), accounting.working(served))
    )
    layers = layers_of(target, setup.kv_dtype, setup.tp // setup.attention_dp)
    drafter: tuple[Layers, ...] = ()
    if model:
        drafter = layers_of(model, setup.kv_dtype, setup.draft_tp, setup.draft.caches)
    weights = setup.draft.weights_bytes(setup.draft_dtype) / setup.draft_tp
    return Arm(
        served=served,
        accounting=accounting,
        target_bytes=held_weights_bytes(setup),
        draft_bytes=weights if served.k else 0.0,
        duplicated_bytes=accounting.duplicated_bytes(served),
        libraries_bytes=LIBRARIES_BYTES[setup.gpus > 1],
        activations_bytes=inside.activations_bytes,
        sampler_bytes=inside.logits_bytes,
        graphs_bytes=inside.graphs_bytes,
        beside_bytes=sum(whole) - sum(inside),
        draft_logits_bytes=2.0 * accounting.sampled_drafts(served) * vocab(target),
        verify_logits_bytes=4.0 * accounting.verify_rows(served) * vocab(target),
        layers=layers,
        draft_layers=drafter,
        layout=accounting.layout(served, layers, drafter),
    )


def counted_bill(arms: tuple[Arm, Arm], context: npt.ArrayLike) -> Bill:
    """The bill of a setup over contexts (tokens, any shape) of its arms, plain and drafted."""
    plain, drafted = arms
    target, _ = plain.sequence_bytes(context)
    held, drafter = drafted.sequence_bytes(context, drafted.accounting.ahead(drafted.served))
    drafter = drafter if drafted.accounting.pooled else np.zeros_like(drafter)
    spare = drafted.accounting.spare
    more = plain.held_back_bytes - drafted.held_back_bytes
    asides = (plain.aside, drafted.aside)
    limits = [np.inf if one.sequences is None else one.sequences for one in asides]
    return Bill(
        usable_bytes=drafted.served.memory_bytes - drafted.held_back_bytes,
        target_bytes=drafted.target_bytes,
        draft_bytes=drafted.charged_draft_bytes,
        target_sequence_bytes=target,
        draft_sequence_bytes=drafter,
        ahead_sequence_bytes=held - target,
        groups=drafted.served.setup.attention_dp,
        other_bytes=drafted.other_bytes + spare * drafted.block_bytes + asides[1].held_bytes,
        other_plain_bytes=plain.other_bytes
        + spare * plain.block_bytes
        + more
        + asides[0].held_bytes,
        limits=(limits[0], limits[1]),
    )


def both_arms(accounting: Accounting, setup: Setup, k: int, limits: Limits) -> tuple[Arm, Arm]:
    """A setup's GPU without and with drafts of k tokens."""
    drafted = Served(setup, k, limits)
    return arm_of(accounting, replace(drafted, k=0)), arm_of(accounting, drafted)
