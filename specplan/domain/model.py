"""A language model: its architecture, what one pass multiplies and reads, what it keeps.

`P_active`, `P_read` and `kv_bytes(c)` of the article are functions of the architecture.
A dense full-attention card may carry the two planning figures alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Annotated, Literal, NamedTuple

from annotated_types import Ge, Le, MaxLen, MinLen

from specplan.domain.architecture import Architecture, ExpertGroup, KvGroup, Weights
from specplan.domain.card import Count, Dtype, Name, Source, Strict, Text
from specplan.domain.heads import Drafts, MedusaHeads, MlpSpeculator
from specplan.domain.layers import Block, Part
from specplan.errors import Refused
from specplan.units import Unit

KV_DTYPE = Dtype.BF16  # the type in which `kv_bytes_per_token` of a card is stated
AGREEMENT = 0.005  # how far a stated figure may lie from the one its architecture derives

Params = Annotated[float, Ge(1e5), Le(1e14)]


UNQUANTISED = frozenset({Part.ROUTER, Part.HEAD, Part.EMBEDDING})
"""Parts that stay in 16 bits when a model is quantised, unless its card says otherwise."""

LIKE = {
    Part.SHARED: Part.MLP,
    Part.RECURRENT: Part.ATTENTION,
    Part.EMBEDDING: Part.HEAD,
}
"""Parts that are stored as another where a card says nothing of their own."""


def token_bytes(groups: Iterable[KvGroup]) -> float:
    """Bytes that one token leaves in the cache of these layers at 16 bits, windows ignored."""
    return sum(group.elements_per_token for group in groups) * KV_DTYPE.bytes_per_element


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
class Model(Strict):
    """One model card. `matmul_params` is what plans use where it is stated; the cache and the
    checkpoint come from the architecture where there is one, else from the stated figures
    (`kv_bytes_per_token` at 16 bits). `parts` are stored otherwise than `dtype` in the checkpoint,
    whose files hold `stored_bytes` in all. `medusa` and `speculator` are heads without layers.
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
    stored_bytes: Annotated[float, Unit("B"), Ge(1e5), Le(1e14)] | None = None
    architecture: Architecture | None = None
    medusa: MedusaHeads | None = None
    speculator: MlpSpeculator | None = None
    drafts: Drafts | None = None
    accept: dict[str, Text] = field(default_factory=dict)
    sources: Annotated[tuple[Source, ...], MinLen(1)]
    notes: tuple[Text, ...] = ()

    @property
    def shape(self) -> Architecture | MedusaHeads | MlpSpeculator | None:
        """What counts are derived from."""
        return self.architecture or self.medusa or self.speculator

    def disagreements(self) -> tuple[Disagreement, ...]:
        """Stated figures more than 0.5 % from what the architecture derives."""
        if self.shape is None:
            return ()
        pairs = (
            ("matmul_params", self.matmul_params, self.shape.matmul_params),
            ("kv_bytes_per_token", self.kv_bytes_per_token, token_bytes(self._derived_kv)),
            ("stored_params", self.stored_params, self.shape.stored_params),
        )
        return tuple(
            Disagreement(key, stated, derived)
            for key, stated, derived in pairs
            if stated is not None and abs(stated - derived) > AGREEMENT * derived
        )

    def part_dtype(self, part: Part, dtype: Dtype, block: Block | None = None) -> Dtype:
        """How a part (of a block's layers) is stored when the model is run as `dtype`: the
        checkpoint's own way where that is its dtype, else quantised whole but for router,
        embedding and head.
        """
        if dtype is self.dtype:
            for stored in (block.parts if block else {}, self.parts):
                for name in (part, LIKE.get(part)):
                    if name in stored:
                        return stored[name]
        return Dtype.BF16 if part in UNQUANTISED and dtype.bytes_per_element < 2 else dtype

    def weights_bytes(self, dtype: Dtype) -> float:
        """Bytes of the weights run as `dtype`: of the files where that is theirs, else summed over
        the parts; a card without architecture is taken whole.
        """
        if dtype is self.dtype and self.stored_bytes is not None:
            return self.stored_bytes
        if self.architecture is None:
            return self.resident_params * dtype.bytes_per_element
        return sum(
            weights.params * stored.bytes_per_element for weights, stored in self.weights_as(dtype)
        )

    def expert_bytes(self, dtype: Dtype) -> float:
        """Bytes of the routed experts among them."""
        return sum(
            weights.params * stored.bytes_per_element
            for weights, stored in self.weights_as(dtype)
            if weights.part is Part.EXPERTS
        )

    def weights_as(self, dtype: Dtype) -> Iterator[tuple[Weights, Dtype]]:
        """What the architecture stores, each with its type when the model is run as `dtype`."""
        for weights in self.architecture.weights() if self.architecture else ():
            yield weights, self.part_dtype(weights.part, dtype, weights.block)

    @property
    def active_params(self) -> float:
        """Parameters that one token multiplies (P_active): the card's figure, else derived."""
        if self.matmul_params is not None:
            return self.matmul_params
        return float(self._shape("matmul_params").matmul_params)

    @property
    def expert_groups(self) -> tuple[ExpertGroup, ...]:
        """Sparse layers, if any: they decide how much of the model a pass reads."""
        return self.architecture.expert_groups if self.architecture else ()

    @property
    def checkpoint_params(self) -> float:
        """Parameters of the checkpoint: derived where possible, else the card's figure."""
        if self.shape is None and self.stored_params is not None:
            return self.stored_params
        return float(self._shape("stored_params").stored_params)

    @property
    def resident_params(self) -> float:
        """Parameters that memory is charged for: the checkpoint's; a card of the two planning
        figures alone is taken to store what it multiplies.
        """
        known = self.shape is not None or self.stored_params is not None
        return self.checkpoint_params if known else self.active_params

    @property
    def kv_groups(self) -> tuple[KvGroup, ...]:
        """What the cache holds per token, by window."""
        if self.shape is None and self.kv_bytes_per_token is not None:
            return (KvGroup(self.kv_bytes_per_token / KV_DTYPE.bytes_per_element, None, None),)
        self._shape("kv_bytes_per_token")
        return self._derived_kv

    @property
    def _derived_kv(self) -> tuple[KvGroup, ...]:
        """What the architecture caches; heads without layers cache nothing."""
        return self.architecture.kv_groups if self.architecture else ()

    @property
    def state_bytes(self) -> float:
        """Bytes of recurrent state per sequence."""
        return self.architecture.state_bytes if self.architecture else 0.0

    def _shape(self, missing: str) -> Architecture | MedusaHeads | MlpSpeculator:
        if self.shape is None:
            raise Refused(
                f"{self.name} states no {missing} and no architecture to derive it from",
                hint=f"add {missing} or architecture to its card",
            )
        return self.shape
