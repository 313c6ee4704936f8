"""The modules that the layers of a checkpoint are made of, by the names that files give them.

Names lie under `layers.<number>`, without what wraps a model around its layers. Families name the
same thing differently, and a module answers to every name that it may have.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from specplan.domain.layers import Block, Experts, Mlp, Part
from specplan.domain.mixers import Attention, GatedDelta, LatentAttention, Mamba2

MTP: Final = "mtp."
_GATE = ("gate_proj", "w1", "gate_up_proj")
_UP = ("up_proj", "w3", "gate_up_proj")
_DOWN = ("down_proj", "w2")


@dataclass(frozen=True, slots=True)
class Module:
    """A matrix (of all experts together), its parameters, and the layer it lies in. One that is
    not `linear` is quantised only where a file names it: a convolution, a router, a table.
    """

    part: Part
    layer: int | None
    names: tuple[str, ...]
    params: int
    linear: bool = True

    @property
    def leaf(self) -> str:
        """The last part of its first name."""
        return self.names[0].rpartition(".")[2]


@dataclass(frozen=True, slots=True)
class _Part:
    """Modules of one part of one layer, under any of `homes`."""

    part: Part
    layer: int
    homes: tuple[str, ...]

    def __call__(self, params: int, *leaves: str, linear: bool = True) -> Module:
        homes = [f"layers.{self.layer}.{home}".rstrip(".") for home in self.homes]
        names = tuple(f"{home}.{leaf}" for home in homes for leaf in leaves)
        return Module(self.part, self.layer, names, params, linear)


OUTSIDE = (
    Module(Part.HEAD, None, ("lm_head", "output_layer", "head"), 1),
    Module(
        Part.EMBEDDING, None, ("embed_tokens", "embeddings", "word_embeddings"), 1, linear=False
    ),
)
"""Head and embedding; one module each, so that no share depends on their size."""


def layer_modules(number: int, block: Block, hidden: int) -> tuple[Module, ...]:
    """The matrices of one layer; their parameters add up to the block's."""
    return tuple(_mixer(number, block, hidden)) + tuple(_feed(number, block, hidden))


def drafting_modules(first: int, place: int, block: Block, hidden: int) -> tuple[Module, ...]:
    """The matrices of a layer that drafts (MTP): files number it after the model's `first` layers,
    or give it a place of its own under `mtp`.
    """
    number = first + place
    return tuple(
        replace(
            module,
            names=(
                *module.names,
                *(
                    f"{MTP}layers.{place}.{name.removeprefix(f'layers.{number}.')}"
                    for name in module.names
                ),
            ),
        )
        for module in layer_modules(number, block, hidden)
    )


def _mixer(number: int, block: Block, hidden: int) -> Iterator[Module]:
    # A layer that is only a mixer or only a feed-forward calls either `mixer` (Nemotron-H).
    alone = ("mixer",) if not (block.mlp or block.experts) else ()
    attention = _Part(Part.ATTENTION, number, ("self_attn", "attention", *alone))
    state = _Part(Part.RECURRENT, number, ("linear_attn", "mixer", "mamba"))
    if block.attention:
        yield from _attention(attention, block.attention, hidden)
    if block.latent:
        yield from _latent(attention, block.latent, hidden)
    if block.delta:
        yield from _delta(state, block.delta, hidden)
    if block.mamba:
        yield from _mamba(state, block.mamba, hidden)
    if block.recurrent:
        yield state(block.recurrent.params, "in_proj")


def _attention(make: _Part, attention: Attention, hidden: int) -> Iterator[Module]:
    read = hidden * attention.inputs
    keys = attention.kv_heads * attention.head_dim
    yield make(read * attention.query_columns, "q_proj", "qkv_proj")
    yield make(read * keys, "k_proj", "qkv_proj")
    yield make(read * (attention.kv_columns - keys), "v_proj", "qkv_proj")
    yield make(hidden * attention.heads * attention.value_width, "o_proj")


def _latent(make: _Part, latent: LatentAttention, hidden: int) -> Iterator[Module]:
    query = latent.heads * (latent.nope + latent.rope)
    if latent.q_rank:
        yield make(hidden * latent.q_rank, "q_a_proj")
        yield make(latent.q_rank * query, "q_b_proj")
    else:
        yield make(hidden * query, "q_proj")
    yield make(hidden * (latent.latent + latent.rope), "kv_a_proj_with_mqa")
    yield make(latent.latent * latent.heads * (latent.nope + latent.value), "kv_b_proj")
    yield make(hidden * latent.heads * latent.value, "o_proj")
    if latent.indexer:
        heads, dim = latent.indexer.heads, latent.indexer.head_dim
        yield make((latent.q_rank or hidden) * heads * dim, "indexer.wq_b")
        yield make(hidden * dim, "indexer.wk")
        # DeepSeek's and GLM's FP8 files keep the weight of each head in 16 bits.
        yield make(hidden * heads, "indexer.weights_proj", "indexers_proj", linear=False)


def _delta(make: _Part, delta: GatedDelta, hidden: int) -> Iterator[Module]:
    values = delta.value_heads * delta.value_dim
    mixed = 2 * delta.key_heads * delta.key_dim + values
    yield make(hidden * mixed, "in_proj_qkv", "in_proj_qkvz")
    yield make(hidden * values, "in_proj_z", "in_proj_qkvz")
    yield make(hidden * delta.value_heads, "in_proj_a", "in_proj_ba")
    yield make(hidden * delta.value_heads, "in_proj_b", "in_proj_ba")
    yield make(mixed * delta.conv, "conv1d", linear=False)
    yield make(hidden * values, "out_proj")


def _mamba(make: _Part, mamba: Mamba2, hidden: int) -> Iterator[Module]:
    inner = mamba.heads * mamba.head_dim
    mixed = inner + 2 * mamba.groups * mamba.state
    yield make(hidden * (inner + mixed + mamba.heads), "in_proj")
    yield make(mixed * mamba.conv, "conv1d", linear=False)
    yield make(hidden * inner, "out_proj")


def _feed(number: int, block: Block, hidden: int) -> Iterator[Module]:
    alone = () if block.attention or block.latent or block.state_mixer else ("mixer",)
    if block.mlp:
        make = _Part(Part.MLP, number, ("mlp", "feed_forward", *alone))
        yield from _mlp(make, block.mlp, hidden)
    if block.experts:
        # Gemma 4 has both in one layer, and its experts lie beside `mlp`, not in it.
        within = ("mlp", "block_sparse_moe", "feed_forward", "moe")
        homes = ("", "moe") if block.mlp else (*within, *alone)
        yield from _routed(number, homes, block.experts, hidden)


def _mlp(make: _Part, mlp: Mlp, hidden: int) -> Iterator[Module]:
    if mlp.gated:
        yield make(hidden * mlp.width, *_GATE)
    yield make(hidden * mlp.width, *_UP)
    yield make(hidden * mlp.width, *_DOWN)


def _routed(number: int, homes: tuple[str, ...], experts: Experts, hidden: int) -> Iterator[Module]:
    router = _Part(Part.ROUTER, number, homes)
    yield router(experts.router_params(hidden), "gate", "router", linear=False)
    shared = _Part(Part.SHARED, number, homes)
    if experts.shared_width:
        for leaves in _matrices(experts):
            names = [
                f"{name}.{leaf}"
                for name in ("shared_experts", "shared_expert", "share_expert")
                for leaf in leaves
            ]
            yield shared(hidden * experts.shared_width, *names)
    if experts.shared_gate:
        yield shared(hidden, "shared_expert_gate", linear=False)
    if experts.latent:
        yield shared(hidden * experts.latent, "fc1_latent_proj")
        yield shared(hidden * experts.latent, "fc2_latent_proj")
    every = _Part(Part.EXPERTS, number, homes)
    one = (experts.latent or hidden) * experts.width
    for leaves in _matrices(experts):
        # The first expert stands for all; files with one tensor for all leave its number out.
        names = [f"experts.{first}{leaf}" for first in ("0.", "") for leaf in leaves]
        yield every(experts.experts * one, *names)


def _matrices(experts: Experts) -> tuple[tuple[str, ...], ...]:
    return (_GATE, _UP, _DOWN) if experts.gated else (_UP, _DOWN)
