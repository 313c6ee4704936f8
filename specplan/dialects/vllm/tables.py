"""How vLLM lets layers of several kinds share its blocks: groups of as many layers, padded.

Read in vllm/v1/core/kv_cache_planning.py (_get_kv_cache_groups_uniform_page_size) and
vllm/v1/kv_cache_interface.py of 0.33.0. Every page is as large as the largest; layers with less for
a token have more tokens in a page.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from specplan.domain.pooling import Layers, Layout, Table

ALIKE = 1.5
"""Kinds of layers whose numbers are closer than this are padded to the larger number."""


def aligned_block(kinds: Iterable[Layers], state_bytes: float, block: int) -> int:
    """Tokens of a block: as many times `block` as make a page that holds a recurrent state."""
    tokens = next((kind.token_bytes for kind in kinds if kind.token_bytes), 0.0)
    if not state_bytes or not tokens:
        return block
    return block * math.ceil(state_bytes / (block * tokens))


def layers_of_a_group(counts: Iterable[int]) -> int:
    """Layers of every group: the fewest of a kind, or the most where the kinds are close."""
    numbers = tuple(counts)
    fewest, most = min(numbers), max(numbers)
    return most if most < fewest * ALIKE else fewest


def grouped(
    layers: Iterable[Layers], block: int, states: int, flight: int, *, derived: bool
) -> Layout:
    """The layout of layers that are not all alike: `states` states a sequence, `flight` tokens in
    flight beside a window, in blocks of `block` tokens at least.
    """
    counts: dict[Layers, int] = {}
    for layer in layers:
        kind = layer._replace(number=1)
        counts[kind] = counts.get(kind, 0) + layer.number
    page = max(max(block * kind.token_bytes, kind.state_bytes) for kind in counts)
    each = layers_of_a_group(counts.values())
    tables = []
    for kind, count in counts.items():
        groups = -(-count // each)
        if kind.state_bytes:
            tables.append(Table(groups, block, states=states))
            continue
        tokens = int(page // kind.token_bytes)
        sliding = kind.window is not None
        tables.append(Table(groups, tokens, kind.window, int(sliding), flight=flight))
    return Layout(each * page, block, tuple(tables), derived=derived)
