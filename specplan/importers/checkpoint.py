"""Names and shapes of a checkpoint's tensors, held to the layers that its config describes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from specplan.domain.layers import Block
from specplan.errors import InputError
from specplan.importers.headers import WIDE
from specplan.importers.shape import Shape
from specplan.importers.tensor import Tensor
from specplan.visible import visible

_OF_LAYER: Final = re.compile(
    r"(?:(?:model|language_model|text_model|backbone|transformer|decoder)\.)*"
    r"layers\.(\d{1,6})\.(.+)"
)
"""A tensor of the language model: layers of its encoders have other names before theirs."""


def agrees(shape: Shape, tensors: Sequence[Tensor]) -> None:
    """Refuses a checkpoint that has other layers than its config, or projections of another
    shape, where files name and store them one by one.
    """
    named = list(_layers(tensors))
    found = {number for number, _, _ in named}
    if not found:
        return
    held = {number for number, block in enumerate(shape.layers) if _holds(block)}
    most = len(shape.layers) + (shape.drafting or shape.unmentioned)
    if not held <= found or max(found) >= most:
        raise InputError(
            f"the files hold {_counted(found)} and the config describes {_counted(held)}",
            hint="weights are missing, or are those of another model",
        )
    for number, rest, tensor in named:
        if number < len(shape.layers) and (tensor.dtype in WIDE or tensor.dtype.startswith("F8_")):
            _fits(rest, tensor, shape.layers[number])


def _counted(layers: set[int]) -> str:
    return f"{len(layers)} layer{'' if len(layers) == 1 else 's'}"


def _layers(tensors: Sequence[Tensor]) -> Iterator[tuple[int, str, Tensor]]:
    for tensor in tensors:
        match = _OF_LAYER.fullmatch(tensor.name)
        if match:
            yield int(match[1]), match[2], tensor


def _holds(block: Block) -> bool:
    """Whether a layer has any weights: layers that a search left out have none."""
    mixers = (block.attention, block.latent, block.state_mixer)
    return any((*mixers, block.mlp, block.experts))


def _fits(rest: str, tensor: Tensor, block: Block) -> None:
    attention, rows, says = block.attention, 0, ""
    if attention and rest == "self_attn.k_proj.weight":
        rows = attention.kv_heads * attention.head_dim
        heads = "KV head" if attention.kv_heads == 1 else "KV heads"
        says = f"{attention.kv_heads} {heads} of {attention.head_dim}"
    elif attention and rest == "self_attn.q_proj.weight":
        rows, says = attention.query_columns, f"{attention.heads} heads of {attention.head_dim}"
    elif block.mlp and rest == "mlp.gate_proj.weight":
        rows, says = block.mlp.width, f"a feed-forward of {block.mlp.width:,}"
    if rows and tensor.shape[:1] != (rows,):
        stored = tensor.shape[0] if tensor.shape else 0
        raise InputError(
            f"{visible(tensor.name, 80)} has {stored:,} rows and the config says {says}",
            hint="the weights of another checkpoint lie beside this config",
        )
