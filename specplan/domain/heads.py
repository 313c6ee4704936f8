"""What a card that drafts says beside its layers: its kind, its targets, its own heads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, Le, MaxLen

from specplan.domain.card import Count, Name, Strict
from specplan.domain.mixers import Width

Kind = Literal["model", "eagle", "eagle3", "mtp", "medusa", "mlp-speculator", "block"]
ONE_PASS: frozenset[Kind] = frozenset({"medusa", "block"})
"""Kinds that propose all of their tokens in one pass."""
MADE = ("dflash", "dspark")
"""Families of block drafters, which go by the name of how they were made."""
WAYS = ("eagle", "eagle3", "mtp", "medusa", "mlp-speculator", "block", *MADE)
"""What stands for a target's only head that drafts so, where a drafter is asked for."""
STAGED: frozenset[Kind] = frozenset({"mlp-speculator"})
"""Kinds that run another part of themselves for each token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drafts(Strict):
    """How a card drafts, and for which targets it was trained. `proposes` is the longest draft of
    kinds that fix one; `modules` how many times it has what its card describes, once for each
    position; `trained_context` of the card is as far as the drafter was trained.
    """

    kind: Kind
    targets: Annotated[tuple[Name, ...], MaxLen(16)] = ()
    proposes: Annotated[int, Ge(1), Le(256)] | None = None
    modules: Annotated[int, Ge(1), Le(64)] = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class MedusaHeads(Strict):
    """Heads side by side on the last hidden state, one for each position ahead: `layers` residual
    layers and an output of the whole vocabulary each.
    """

    hidden: Width
    vocab: Count
    heads: Annotated[int, Ge(1), Le(64)]
    layers: Annotated[int, Ge(0), Le(16)] = 1

    @property
    def matmul_params(self) -> int:
        """Weights that a round multiplies: every head once."""
        return self.heads * self.hidden * (self.layers * self.hidden + self.vocab)

    @property
    def stored_params(self) -> int:
        """The same with the biases of the residual layers."""
        return self.matmul_params + self.heads * self.layers * self.hidden


@dataclass(frozen=True, slots=True, kw_only=True)
class MlpSpeculator(Strict):
    """Stages one after the other, each from the state before and the embedding of the last token
    to a state and an output of the whole vocabulary; `tied` stages share all but the first
    projection.
    """

    hidden: Width
    inner: Width
    vocab: Count
    stages: Annotated[int, Ge(1), Le(64)]
    tied: bool = False

    @property
    def matmul_params(self) -> int:
        """Weights that a round of all stages multiplies."""
        projected = self.hidden + (self.stages - 1) * self.inner
        return self.inner * (projected + self.stages * self.vocab)

    @property
    def stored_params(self) -> int:
        """Embeddings, projections, norms (two vectors) and outputs, shared ones once."""
        copies = 1 if self.tied else self.stages
        inner = min(self.stages - 1, 1) if self.tied else self.stages - 1
        wide = 2 * copies * self.vocab + self.hidden + inner * self.inner + 2 * copies
        return self.inner * wide
