"""Whether a card that reads well can be planned with."""

from __future__ import annotations

from collections.abc import Iterator

from specplan.domain.card import Dtype
from specplan.domain.hardware import Hardware
from specplan.domain.model import Model
from specplan.errors import Refused
from specplan.rules import Finding, Rule

USUAL = Dtype.BF16  # the storage type of nearly every checkpoint

UNPRICED = Rule(
    id="SC009",
    level="error",
    title="model that cannot be priced",
    what="A model without an architecture lacks matmul_params or kv_bytes_per_token.",
    why="No pass of it can be timed and no cache sized; every plan that names it is refused.",
    remedy="Add the architecture, or the figure that is missing.",
)
RATELESS = Rule(
    id="SC010",
    level="warning",
    title="no rate for the usual weights",
    what="An accelerator has no rate that multiplies bf16 weights, and does not say why.",
    why="Most models are stored so; a plan that names no other dtype is refused.",
    remedy="Add the bf16 rate, or say under `unsupported` that there is none.",
)
CONTRADICTED = Rule(
    id="SC011",
    level="error",
    title="rate of what is not supported",
    what="A dtype has a rate and stands under `unsupported`.",
    why="One of the two is wrong, and the rate is what plans go by.",
    remedy="Delete one of them.",
)


def unpriced(card: Model) -> Finding | None:
    """SC009: the parameters that a token multiplies, or its cache, are unknown."""
    try:
        _ = card.active_params, card.kv_groups
    except Refused as error:
        return Finding(UNPRICED.id, UNPRICED.level, error.what, ("name",))
    return None


def rateless(card: Hardware) -> Finding | None:
    """SC010: weights of the usual dtype cannot be multiplied."""
    if USUAL in card.unsupported:
        return None
    try:
        card.compute_dtype(USUAL)
    except Refused:
        message = f"no rate for {USUAL} weights, only for {', '.join(card.rates)}"
        return Finding(RATELESS.id, RATELESS.level, message, ("rates",))
    return None


def contradicted(card: Hardware) -> Iterator[Finding]:
    """SC011: each dtype that has a rate and is said to have none."""
    for dtype in card.unsupported:
        if dtype in card.rates:
            message = f"{dtype} has a rate and is unsupported"
            path = ("unsupported", str(dtype))
            yield Finding(CONTRADICTED.id, CONTRADICTED.level, message, path)
