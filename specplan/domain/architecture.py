"""The shape of a model: what one pass multiplies, what its checkpoint holds, what it caches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, NamedTuple

from annotated_types import Ge, Le, MinLen

from specplan.domain.card import Count, Strict
from specplan.domain.layers import Block, Part
from specplan.domain.mixers import Width


class KvGroup(NamedTuple):
    """Layers that cache alike: elements per token over all of them, how far they look back, and
    the heads that GPUs can divide (1 where each keeps all; None where any division is taken).
    Sparse layers keep every token and read the `top` picked; to pick, they read `index_bytes` of
    each, which no type of the cache changes.
    """

    elements_per_token: float
    window: int | None
    heads: int | None
    top: int | None = None
    index_bytes: float = 0.0

    def share(self, gpus: int) -> float:
        """The part of it that the fullest of the GPUs holds: heads are never split."""
        return -(-self.heads // gpus) / self.heads if self.heads else 1 / gpus


class ExpertGroup(NamedTuple):
    """Layers that route alike: their number, the experts of one, how many run, weights of each."""

    layers: int
    experts: int
    active: int
    expert_params: int


class Weights(NamedTuple):
    """Stored parameters of one part, over the layers of `block` or outside all (None)."""

    part: Part
    block: Block | None
    params: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Architecture(Strict):
    """Embedding, blocks (the order of layers does not matter to a planner), and head.

    A head that drafts joins `fuse` states of its target, `fuse_width` wide (absent: as its own):
    where a round begins, or for each token (`fuse_each`: EAGLE, MTP, where one of them is the
    embedding). It may borrow the target's embedding (`tied_embeddings`) and head
    (`borrowed_head`), which it reads and does not own; `vocab` is that of the head it uses.
    `norms` and `head_bias` lie outside the layers; `positions` are learned embeddings of places;
    `markov` is the rank of a head that couples the tokens of a block (DSpark).
    """

    hidden: Annotated[int, Ge(1), Le(1_000_000)]
    vocab: Count
    tied_embeddings: bool
    blocks: Annotated[tuple[Block, ...], MinLen(1)]
    fuse: Annotated[int, Ge(0), Le(64)] = 0
    fuse_width: Width | None = None
    fuse_each: bool = False
    fuse_bias: bool = False
    borrowed_head: bool = False
    norms: Annotated[int, Ge(0), Le(256)] = 1
    head_bias: bool = False
    positions: Count | None = None
    markov: Width | None = None

    @property
    def fuse_inputs(self) -> int:
        """Values that the fusion reads."""
        return self.fuse * (self.fuse_width or self.hidden)

    @property
    def layers(self) -> int:
        """Number of layers."""
        return sum(block.repeat for block in self.blocks)

    @property
    def expert_groups(self) -> tuple[ExpertGroup, ...]:
        """One group per block of sparse layers."""
        return tuple(
            ExpertGroup(
                block.repeat,
                block.experts.experts,
                block.experts.active,
                block.experts.expert_params(self.hidden),
            )
            for block in self.blocks
            if block.experts
        )

    @property
    def matmul_params(self) -> int:
        """Parameters that one token multiplies: projections, active experts, fusion, head."""
        resident = sum(block.repeat * block.resident_params(self.hidden) for block in self.blocks)
        active = sum(g.layers * g.active * g.expert_params for g in self.expert_groups)
        coupled = self.vocab * (self.markov or 0)
        return resident + active + (self.vocab + self.fuse_inputs) * self.hidden + coupled

    @property
    def key_params(self) -> int:
        """Parameters that make keys and values of the states that a head joins, fusion included."""
        columns = (
            block.repeat * block.attention.kv_columns * block.attention.inputs
            for block in self.blocks
            if block.attention
        )
        return (self.fuse_inputs + sum(columns)) * self.hidden

    def weights(self) -> Iterator[Weights]:
        """What the checkpoint holds, by part; norms and biases count as part of the embedding."""
        hidden, wide = self.hidden, self.vocab * self.hidden
        if self.fuse:
            yield Weights(Part.ATTENTION, None, self.fuse_inputs * hidden)
        for block in self.blocks:
            for part, params in block.resident(hidden):
                yield Weights(part, block, block.repeat * params)
            if block.experts:
                every = block.experts.experts * block.experts.expert_params(hidden)
                yield Weights(Part.EXPERTS, block, block.repeat * every)
        if not self.borrowed_head:
            yield Weights(Part.HEAD, None, wide)
        if self.markov:  # to the rank and back; weights and a bias for the confidence in a token
            coupled = 2 * self.vocab * self.markov + self.hidden + self.markov + 1
            yield Weights(Part.HEAD, None, coupled)
        yield Weights(Part.EMBEDDING, None, self._vectors + (0 if self.tied_embeddings else wide))

    @property
    def _vectors(self) -> int:
        layers = sum(block.repeat * block.vector_params(self.hidden) for block in self.blocks)
        outside = self.norms + self.fuse_bias + (self.positions or 0)
        return layers + outside * self.hidden + (self.vocab if self.head_bias else 0)

    @property
    def stored_params(self) -> int:
        """Parameters in the checkpoint: everything once, tied embeddings once."""
        return sum(weights.params for weights in self.weights())

    @property
    def kv_groups(self) -> tuple[KvGroup, ...]:
        """What the cache holds, by how far back each group of layers looks."""
        return tuple(
            KvGroup(
                block.repeat * block.attention.kv_elements_per_token,
                block.attention.window,
                block.attention.kv_heads,
            )
            for block in self.blocks
            if block.attention
        ) + tuple(
            KvGroup(
                block.repeat * block.latent.kv_elements_per_token,
                None,
                1,
                block.latent.top,
                block.repeat * block.latent.indexer.key_bytes_per_token
                if block.latent.indexer
                else 0.0,
            )
            for block in self.blocks
            if block.latent
        )

    @property
    def state_bytes(self) -> float:
        """Bytes of recurrent state per sequence."""
        return sum(b.repeat * b.state_mixer.state_bytes for b in self.blocks if b.state_mixer)
