"""What sequences draw from an engine's pool: layers by kind, and the tables that hold them.

An engine that treats all layers alike needs none of it. Others give sliding layers and recurrent
states tables of their own, or divide the pool beforehand; the counts are theirs, in `dialects`.
"""

from __future__ import annotations

from typing import NamedTuple

from specplan.domain.card import Dtype
from specplan.domain.model import Model


class Layers(NamedTuple):
    """`number` layers of one kind on the fullest GPU: bytes of one of them for a token, and how far
    back it looks (None: all); or, where tokens leave nothing, bytes of its recurrent state, of
    which a convolution remembers `remembered` inputs of `input_bytes` each.
    """

    number: int
    token_bytes: float = 0.0
    window: int | None = None
    state_bytes: float = 0.0
    input_bytes: float = 0.0
    remembered: int = 0


def layers_of(model: Model, kv_dtype: Dtype, gpus: int, modules: int = 1) -> tuple[Layers, ...]:
    """The layers of a model that keep something, `modules` times; those that are alike together. A
    card without layers is one that keeps all it states.
    """
    arch, element = model.architecture, kv_dtype.bytes_per_element
    if arch is None:
        return tuple(
            Layers(modules, group.elements_per_token * group.share(gpus) * element, group.window)
            for group in model.kv_groups
        )
    found: dict[Layers, int] = {}
    attending = iter(arch.kv_groups)
    for block in sorted(arch.blocks, key=lambda block: block.attention is None):
        mixer = block.state_mixer
        if block.attention or block.latent:
            group = next(attending)
            cached = group.elements_per_token * group.share(gpus) * element + group.index_bytes
            kind = Layers(1, cached / block.repeat, group.window)
        elif mixer:
            kind = Layers(
                1,
                state_bytes=mixer.state_bytes / gpus,
                input_bytes=2.0 * mixer.channels / gpus,
                remembered=mixer.remembered,
            )
        else:
            continue
        found[kind] = found.get(kind, 0) + block.repeat * modules
    return tuple(kind._replace(number=number) for kind, number in found.items())


class Table(NamedTuple):
    """Blocks of `tokens` tokens, of which each takes `units` of the pool. Sequences have room there
    for `window` tokens at most (None: for all) and `spare` blocks more, or for `states` states
    whatever their length. The engine's log counts `flight` more tokens of a window.
    """

    units: float
    tokens: int
    window: int | None = None
    spare: int = 0
    states: int = 0
    flight: int = 0


class Layout(NamedTuple):
    """A pool of units of `unit_bytes`, each of `tokens` tokens, drafter included. Tables share it,
    or each has a part of its own (`apart`). `derived` says that the log's size is the concurrency
    times the context; else it is the units of each table.
    """

    unit_bytes: float
    tokens: int
    tables: tuple[Table, ...]
    apart: bool = False
    derived: bool = False


class Aside(NamedTuple):
    """What is divided off a pool before its units: bytes, the sequences that it is for, and the
    states that these may keep in all.
    """

    held_bytes: float = 0.0
    sequences: int | None = None
    states: int = 0
