"""What kind of model a card describes, by its layers and by what it says of drafting."""

from __future__ import annotations

from collections.abc import Iterator

from specplan.domain.heads import MADE, WAYS
from specplan.domain.model import Model

_MODEL = "model"  # what cards call a whole model that drafts
KINDS = {
    "dense": "every token runs through all of it",
    "moe": "a router picks experts for each token",
    "mla": "latent attention: one compressed vector for all heads is cached",
    "sliding": "some layers look back a window only",
    "hybrid": "some layers keep a recurrent state and no cache",
    "drafter": "a head, or a whole model that says for which targets it drafts",
    "eagle": "an EAGLE head",
    "eagle3": "an EAGLE-3 head",
    "mtp": "multi-token prediction layers",
    "medusa": "Medusa heads",
    "mlp-speculator": "stages of one projection each",
    "block": "a head that drafts a block at once",
}
"""Every kind, and what makes a card one of it."""


def kinds_of(card: Model) -> tuple[str, ...]:
    """The kinds of a card; of a head only how it drafts."""
    if is_head(card):
        return ("drafter", *filter(None, [_drafting(card)]))
    return (*_layers(card), *(("drafter",) if card.drafts else ()))


def is_head(card: Model) -> bool:
    """Whether a card describes no language model of its own."""
    if card.drafts:
        return card.drafts.kind != _MODEL
    joined = card.architecture is not None and card.architecture.fuse > 0
    return joined or (card.architecture is None and card.shape is not None)


def ways_of(kind: str, family: str) -> frozenset[str]:
    """What may be typed for a head of that kind and family, where it is the target's only one."""
    return frozenset({*{kind}.intersection(WAYS), *{family}.intersection(MADE)})


def _drafting(card: Model) -> str:
    """How a head drafts, as far as its card says."""
    if card.drafts:
        return card.drafts.kind
    return "medusa" if card.medusa else "mlp-speculator" if card.speculator else ""


def _layers(card: Model) -> Iterator[str]:
    """A card of planning figures alone is dense, as only such models may have one."""
    blocks = card.architecture.blocks if card.architecture else ()
    yield "moe" if any(block.experts for block in blocks) else "dense"
    if any(block.latent for block in blocks):
        yield "mla"
    if any(block.attention and block.attention.window for block in blocks):
        yield "sliding"
    if any(block.state_mixer for block in blocks):
        yield "hybrid"
