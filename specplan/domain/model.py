"""A language model: its architecture, what one pass multiplies and reads, what it keeps.

`P_active`, `P_read` and `kv_bytes(c)` of the article are functions of the architecture.
A dense full-attention card may carry the two planning figures alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Literal, NamedTuple

from annotated_types import Ge, Le, MaxLen, MinLen

from specplan.domain.card import Count, Dtype, Name, Source, Strict, Text
from specplan.domain.layers import Block
from specplan.errors import Refused

KV_DTYPE = Dtype.BF16  # the type in which `kv_bytes_per_token` of a card is stated
AGREEMENT = 0.005  # how far a stated figure may lie from the one its architecture derives

Params = Annotated[float, Ge(1e5), Le(1e14)]


class Part(StrEnum):
    """A part of a checkpoint that may be stored in a type of its own."""

    ATTENTION = "attention"
    MLP = "mlp"
    EXPERTS = "experts"
    ROUTER = "router"
    HEAD = "head"


UNQUANTISED = frozenset({Part.ROUTER, Part.HEAD})
"""Parts that stay in 16 bits when a model is quantised, unless its card says otherwise."""


class KvGroup(NamedTuple):
    """Layers that cache alike: elements per token over all of them, how far they look back, and
    the heads that GPUs can divide (1 where each keeps all; None where any division is taken).
    """

    elements_per_token: float
    window: int | None
    heads: int | None


class ExpertGroup(NamedTuple):
    """Layers that route alike: their number, the experts of one, how many run, weights of each."""

    layers: int
    experts: int
    active: int
    expert_params: int


class Disagreement(NamedTuple):
    """A stated figure that its architecture contradicts."""

    key: str
    stated: float
    derived: float

    @property
    def relative(self) -> float:
        """Stated over derived, minus one."""
        return self.stated / self.derived - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Architecture(Strict):
    """Embedding, blocks (the order of layers does not matter to a planner), and head. `fuse` hidden
    states of a target become one where the round begins: 3 in an EAGLE-3 head, which borrows the
    embedding (`tied_embeddings`) and whose `vocab` is that of its own head.
    """

    hidden: Annotated[int, Ge(1), Le(1_000_000)]
    vocab: Count
    tied_embeddings: bool
    blocks: Annotated[tuple[Block, ...], MinLen(1)]
    fuse: Annotated[int, Ge(0), Le(8)] = 0

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
        return resident + active + (self.vocab + self.fuse * self.hidden) * self.hidden

    @property
    def stored_params(self) -> int:
        """Parameters in the checkpoint: everything once, tied embeddings once."""
        idle = sum(g.layers * (g.experts - g.active) * g.expert_params for g in self.expert_groups)
        vectors = sum(block.repeat * block.vector_params(self.hidden) for block in self.blocks)
        embedding = 0 if self.tied_embeddings else self.vocab * self.hidden
        return self.matmul_params + idle + vectors + self.hidden + embedding

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
            KvGroup(block.repeat * block.latent.kv_elements_per_token, None, 1)
            for block in self.blocks
            if block.latent
        )

    @property
    def state_bytes(self) -> float:
        """Bytes of recurrent state per sequence."""
        return sum(b.repeat * b.recurrent.state_bytes for b in self.blocks if b.recurrent)


@dataclass(frozen=True, slots=True, kw_only=True)
class Model(Strict):
    """One model card. `matmul_params` is what plans use where it is stated; the cache and the
    checkpoint come from the architecture where there is one, else from the stated figures
    (`kv_bytes_per_token` at 16 bits). `parts` are stored otherwise than `dtype` in the checkpoint.
    """

    schema: Literal["model/1"]
    name: Name
    title: Text
    family: Name
    aliases: Annotated[tuple[Name, ...], MaxLen(16)] = ()
    dtype: Dtype = Dtype.BF16
    parts: dict[Part, Dtype] = field(default_factory=dict)
    trained_context: Count | None = None
    matmul_params: Params | None = None
    kv_bytes_per_token: Annotated[float, Ge(1), Le(1e9)] | None = None
    stored_params: Params | None = None
    architecture: Architecture | None = None
    accept: dict[str, Text] = field(default_factory=dict)
    sources: Annotated[tuple[Source, ...], MinLen(1)]
    notes: tuple[Text, ...] = ()

    def disagreements(self) -> tuple[Disagreement, ...]:
        """Stated figures more than 0.5 % from what the architecture derives."""
        arch = self.architecture
        if arch is None:
            return ()
        kv_bytes = sum(g.elements_per_token for g in arch.kv_groups) * KV_DTYPE.bytes_per_element
        pairs = (
            ("matmul_params", self.matmul_params, arch.matmul_params),
            ("kv_bytes_per_token", self.kv_bytes_per_token, kv_bytes),
            ("stored_params", self.stored_params, arch.stored_params),
        )
        return tuple(
            Disagreement(key, stated, derived)
            for key, stated, derived in pairs
            if stated is not None and abs(stated - derived) > AGREEMENT * derived
        )

    def part_dtype(self, part: Part, dtype: Dtype) -> Dtype:
        """How a part is stored when the model is run as `dtype`: the checkpoint's own way where
        that is its dtype, else quantised whole but for router and head.
        """
        if dtype is self.dtype and part in self.parts:
            return self.parts[part]
        return Dtype.BF16 if part in UNQUANTISED and dtype.bytes_per_element < 2 else dtype

    @property
    def active_params(self) -> float:
        """Parameters that one token multiplies (P_active): the card's figure, else derived."""
        if self.matmul_params is not None:
            return self.matmul_params
        return float(self._architecture("matmul_params").matmul_params)

    @property
    def expert_groups(self) -> tuple[ExpertGroup, ...]:
        """Sparse layers, if any: they decide how much of the model a pass reads."""
        return self.architecture.expert_groups if self.architecture else ()

    @property
    def checkpoint_params(self) -> float:
        """Parameters of the checkpoint: derived where possible, else the card's figure."""
        if self.architecture is not None:
            return float(self.architecture.stored_params)
        if self.stored_params is not None:
            return self.stored_params
        return float(self._architecture("stored_params").stored_params)

    @property
    def resident_params(self) -> float:
        """Parameters that memory is charged for: the checkpoint's; a card of the two planning
        figures alone is taken to store what it multiplies.
        """
        known = self.architecture is not None or self.stored_params is not None
        return self.checkpoint_params if known else self.active_params

    @property
    def kv_groups(self) -> tuple[KvGroup, ...]:
        """What the cache holds per token, by window."""
        if self.architecture is not None:
            return self.architecture.kv_groups
        if self.kv_bytes_per_token is None:
            return self._architecture("kv_bytes_per_token").kv_groups
        return (KvGroup(self.kv_bytes_per_token / KV_DTYPE.bytes_per_element, None, None),)

    @property
    def state_bytes(self) -> float:
        """Bytes of recurrent state per sequence."""
        return self.architecture.state_bytes if self.architecture else 0.0

    def _architecture(self, missing: str) -> Architecture:
        if self.architecture is None:
            raise Refused(
                f"{self.name} states no {missing} and no architecture to derive it from",
                hint=f"add {missing} or architecture to its card",
            )
        return self.architecture
