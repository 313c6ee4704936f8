"""Memory as an engine counts it: the bill of `memory`, with blocks, slots ahead and a pool.

What an engine states (fraction, blocks, slots, layers in the pool) is exact. What it measures when
it starts (the pass that it profiles, graphs, libraries) is estimated here, from shapes; the figures
behind the estimates are named where they stand.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from specplan.domain.accounting import GIB, Accounting, Limits, Profile, Served
from specplan.domain.architecture import Architecture
from specplan.domain.model import Model
from specplan.domain.scenario import Setup
from specplan.physics.memory import Bill, held_weights_bytes
from specplan.physics.roofline import kv_bytes
from specplan.physics.tokens import FloatArray

LIBRARIES_BYTES = (0.13 * GIB, 0.55 * GIB)
"""What libraries take of one GPU, and of each of several (llm-d-planner, of vLLM)."""
GRAPH_LAYER_BYTES = 0.27e6
"""Of a captured size, for each layer: vLLM 0.9 reported 0.54 GiB for 67 sizes of 32 layers."""


class Estimate(NamedTuple):
    """Bytes of what an engine measures when it starts."""

    activations_bytes: float
    logits_bytes: float
    graphs_bytes: float


@dataclass(frozen=True, slots=True)
class Arm:
    """The fullest GPU of a setup, plainly or with drafts of k tokens, taken apart (bytes).

    `beside_bytes` have to find room in what is held back. `token_bytes` are the target's in the
    pool for one token of a long sequence, `draft_token_bytes` the drafter's.
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
    token_bytes: float
    draft_token_bytes: float

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
        return self.accounting.block_tokens(self.served)

    @property
    def block_bytes(self) -> float:
        """Bytes of one block over all layers of the pool."""
        drafter = self.draft_token_bytes if self.accounting.pooled else 0.0
        return self.block * (self.token_bytes + drafter)

    @property
    def pool_bytes(self) -> float:
        """What is left for caches; 0 where weights fill the budget."""
        return max(self.served.memory_bytes - self.held_back_bytes - self.resident_bytes, 0.0)

    @property
    def blocks(self) -> int:
        """Whole blocks of the pool."""
        return int(self.pool_bytes // self.block_bytes) if self.block_bytes else 0

    def sequence_bytes(
        self, context: npt.ArrayLike, ahead: int = 0
    ) -> tuple[FloatArray, FloatArray]:
        """Bytes of the target's and of the drafter's caches that one sequence is given, on a GPU
        that holds it: whole blocks of `context` tokens (any shape) and those `ahead`, and every
        recurrent state.
        """
        setup, served = self.served.setup, self.served
        tokens = np.ceil((np.asarray(context, np.float64) + ahead) / self.block) * self.block
        target = kv_bytes(setup.target, tokens, setup.kv_dtype, setup.tp // setup.attention_dp)
        whole = target + (self.accounting.states(served) - 1) * self.state_bytes
        model, share = setup.draft.model, self.accounting.draft_share(served)
        if not served.k or not setup.draft.caches or model is None:
            return whole, np.zeros(tokens.shape)
        if share is not None:
            return whole, share * (target - self.state_bytes)
        own = kv_bytes(model, tokens, setup.kv_dtype, setup.draft_tp)
        return whole, setup.draft.caches * own

    def sequence(self, context: npt.ArrayLike, ahead: int = 0) -> FloatArray:
        """Both together, as far as the pool pays for them."""
        target, drafter = self.sequence_bytes(context, ahead)
        return target + drafter if self.accounting.pooled else target

    @property
    def state_bytes(self) -> float:
        """Bytes of one recurrent state of the target."""
        setup = self.served.setup
        return setup.target.state_bytes / (setup.tp // setup.attention_dp)

    @property
    def uniform(self) -> bool:
        """Whether every layer of the target keeps every token, and nothing else."""
        target = self.served.setup.target
        return not target.state_bytes and all(g.window is None for g in target.kv_groups)

    def concurrency(self, context: float) -> float:
        """Sequences of `context` tokens that the pool would hold, as engines' logs count them: in
        whole blocks, with every recurrent state, without tokens ahead.
        """
        each = float(self.sequence(context))
        pool = self.blocks * self.block_bytes if self.uniform else self.pool_bytes
        return pool / each if each else 0.0

    def tokens(self, context: float) -> int:
        """Tokens of the pool: of whole blocks where every layer keeps all of them, else as many as
        its concurrency times the context.
        """
        return (
            self.blocks * self.block if self.uniform else int(self.concurrency(context) * context)
        )

    def tokens_of_running(self, context: float, running: int) -> int:
        """The same were recurrent scratch kept for `running` sequences alone, as far as the pool
        would hold so many (vllm-project/vllm#57261).
        """
        scratch = self.accounting.scratch(self.served) * self.state_bytes
        if not scratch:
            return self.tokens(context)
        held = min(running, self.concurrency(context)) * scratch
        each = float(self.sequence(context)) - scratch
        return int((self.pool_bytes - held) / each * context)

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
    drafts, model = bool(served.k), served.setup.draft.model
    inside, whole = (
        _estimated(served, profile, accounting)
        for profile in (accounting.profile(served), accounting.working(served))
    )
    share = accounting.draft_share(served)
    token = _token_bytes(target, setup, setup.tp // setup.attention_dp)
    own = setup.draft.caches * _token_bytes(model, setup, setup.draft_tp) if model else 0.0
    return Arm(
        served=served,
        accounting=accounting,
        target_bytes=held_weights_bytes(setup),
        draft_bytes=setup.draft.weights_bytes(setup.draft_dtype) / setup.draft_tp
        if drafts
        else 0.0,
        duplicated_bytes=accounting.duplicated_bytes(served),
        libraries_bytes=LIBRARIES_BYTES[setup.gpus > 1],
        activations_bytes=inside.activations_bytes,
        sampler_bytes=inside.logits_bytes,
        graphs_bytes=inside.graphs_bytes,
        beside_bytes=sum(whole) - sum(inside),
        draft_logits_bytes=2.0 * accounting.sampled_drafts(served) * _vocab(target),
        verify_logits_bytes=4.0 * accounting.verify_rows(served) * _vocab(target),
        token_bytes=token,
        draft_token_bytes=(own if share is None else share * token) if drafts else 0.0,
    )


def counted_bill(arms: tuple[Arm, Arm], context: npt.ArrayLike) -> Bill:
    """The bill of a setup over contexts (tokens, any shape) of its arms, plain and drafted."""
    plain, drafted = arms
    target, _ = plain.sequence_bytes(context)
    held, drafter = drafted.sequence_bytes(context, drafted.accounting.ahead(drafted.served))
    drafter = drafter if drafted.accounting.pooled else np.zeros_like(drafter)
    spare = drafted.accounting.spare
    more = plain.held_back_bytes - drafted.held_back_bytes
    return Bill(
        usable_bytes=drafted.served.memory_bytes - drafted.held_back_bytes,
        target_bytes=drafted.target_bytes,
        draft_bytes=drafted.charged_draft_bytes,
        target_sequence_bytes=target,
        draft_sequence_bytes=drafter,
        ahead_sequence_bytes=held - target,
        groups=drafted.served.setup.attention_dp,
        other_bytes=drafted.other_bytes + spare * drafted.block_bytes,
        other_plain_bytes=plain.other_bytes + spare * plain.block_bytes + more,
    )


def both_arms(accounting: Accounting, setup: Setup, k: int, limits: Limits) -> tuple[Arm, Arm]:
    """A setup's GPU without and with drafts of k tokens."""
    drafted = Served(setup, k, limits)
    return arm_of(accounting, replace(drafted, k=0)), arm_of(accounting, drafted)


def _estimated(served: Served, profile: Profile, accounting: Accounting) -> Estimate:
    """Bytes of what an engine runs before it sizes its pool: the widest layer's activations in 16
    bits with a few copies of the hidden state, `row_bytes` a word for every row of logits, graphs.

    For Llama-3.1-8B on an 80 GB H100 at vLLM's defaults that is 4.2 GiB with the libraries; the log
    of vllm-project/vllm#19996 leaves 4.3.
    """
    setup = served.setup
    run = [(setup.target, setup.tp)]
    if served.k and accounting.second_context and setup.draft.model:
        run.append((setup.draft.model, setup.draft_tp))
    activations = logits = graphs = 0.0
    for model, gpus in run:
        arch = model.architecture
        if arch:
            activations += 2.0 * profile.tokens * _widest(arch, gpus)
            graphs += GRAPH_LAYER_BYTES * profile.graphs * arch.layers
        logits += accounting.row_bytes * profile.rows * _vocab(model)
    return Estimate(activations, logits, graphs)


def _widest(arch: Architecture, gpus: int) -> float:
    """Values of the widest layer for one token: hidden states, and what lies between matrices."""
    between = [0.0]
    for block in arch.blocks:
        if block.attention:
            between.append((block.attention.query_columns + block.attention.kv_columns) / gpus)
        if block.mlp:
            between.append(3.0 * block.mlp.width / gpus)
        if block.experts:
            experts = block.experts
            routed = experts.active * (arch.hidden + 3.0 * experts.width / gpus)
            between.append(routed + 3.0 * experts.shared_width / gpus)
    return 4.0 * arch.hidden + max(between)


def _token_bytes(model: Model, setup: Setup, gpus: int) -> float:
    """Bytes that one more token of a short sequence takes, windows not yet full."""
    first, second = kv_bytes(model, (1.0, 2.0), setup.kv_dtype, gpus)
    return float(second - first)


def _vocab(model: Model) -> float:
    return float(model.architecture.vocab) if model.architecture else 0.0
