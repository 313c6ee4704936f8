"""Scales of quantised blocks: elements that a published count may include."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace

from specplan.domain.card import Dtype, Source
from specplan.domain.layers import Part
from specplan.domain.model import Model

SCALE_BYTES = 2  # of a scale beside a group of 4-bit integers
UNCOUNTED = (
    "Scales are not counted: within a part of the weights, groups differ in size or in type."
)


def scale_params(card: Model, config: Mapping[str, object]) -> int:
    """One for each block of the weights stored in fewer than 16 bits, as the config sizes them."""
    block = next(_blocks(config), None)
    if block is None:
        return 0
    stored = card.weights_as(card.dtype)
    return sum(weights.params for weights, dtype in stored if dtype.bytes_per_element < 2) // block


def integer_scales(card: Model, groups: Mapping[Part, int | None]) -> int | None:
    """One for each group of the weights stored as 4-bit integers, by the size of the groups of each
    part (None: no groups, 0: several sizes); None where that cannot be told.
    """
    if 0 in groups.values():
        return None
    scales = 0
    for weights, dtype in card.weights_as(card.dtype):
        size = groups.get(weights.part) if dtype is Dtype.INT4 else None
        scales += weights.params // size if size else 0
    return scales


def with_scales(card: Model, groups: Mapping[Part, int | None]) -> Model:
    """The card with the bytes of its weights and of a 16-bit scale for each group of 4-bit
    integers, which their type leaves out (nvfp4 and mxfp4 count theirs).
    """
    scales = integer_scales(card, groups)
    if scales is None:
        return replace(card, notes=(*card.notes, UNCOUNTED))
    if not scales:
        return card
    whole = card.weights_bytes(card.dtype) + SCALE_BYTES * scales
    said = f"the parts in their types, and {scales:,} scales of {SCALE_BYTES} bytes"
    source = Source(of=("stored_bytes",), kind="derived", cite=said)
    return replace(card, stored_bytes=whole, sources=(*card.sources, source))


def _blocks(value: object) -> Iterator[int]:
    """Elements that share a scale: `group_size`, or the product of `weight_block_size`."""
    if not isinstance(value, Mapping):
        return
    for key, inner in value.items():
        if key == "group_size" and isinstance(inner, int) and inner > 1:
            yield inner
        elif key == "weight_block_size" and isinstance(inner, list):
            sizes = [size for size in inner if isinstance(size, int) and size > 0]
            if len(sizes) == len(inner) and sizes:
                yield math.prod(sizes)
        else:
            yield from _blocks(inner)
