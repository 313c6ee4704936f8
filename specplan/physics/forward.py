"""From an architecture to the terms of its forward pass, as one GPU of a group runs them.

Columns (qkv, up, head) and rows (output, down) of the matrices divide over the GPUs of an attention
group; heads are dealt whole and KV heads replicate beyond one each; the latent of MLA is kept by
every GPU. Experts divide by number (`ep`) and by width.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from specplan.domain.architecture import Architecture
from specplan.domain.card import Dtype
from specplan.domain.engine import Small
from specplan.domain.layers import Block, Experts, Mlp, Part
from specplan.domain.mixers import Attention, Indexer, LatentAttention
from specplan.domain.model import Model
from specplan.errors import Refused
from specplan.physics.bare_heads import medusa_terms, speculator_terms
from specplan.physics.experts import Route
from specplan.physics.moving import Elementwise, Exchange, Sample, State
from specplan.physics.work import Attend, AttendIndex, AttendLatent, Matmul, Term

FUSE = "fuse"  # joins hidden states of the target: a drafter's, once a round
JOIN = "join"  # joins a state and an embedding for each token drafted
SAMPLER_PASSES = 3  # sweeps over the logits: temperature, top-p's sort and sum, draw
ROUTER_LAUNCHES = 2  # softmax with top-k, and the counts that experts are laid out by
QK_NORM_LAUNCHES = 4  # a norm over all heads of all GPUs: squares, sum, two scalings


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How one model lies on its GPUs and in which types; `gpus` run it together, in `groups`
    that each attend to their own sequences, experts divided `ep` ways by number.
    """

    dtype: Dtype
    kv_dtype: Dtype
    gpus: int = 1
    groups: int = 1
    ep: int = 1
    rereads_kv: bool = False
    draft: bool = False

    @property
    def tp(self) -> int:
        """GPUs of one attention group."""
        return self.gpus // self.groups

    @property
    def expert_tp(self) -> int:
        """GPUs over which the width of an expert divides."""
        return self.gpus // self.ep


def forward_terms(model: Model, layout: Layout, small: Small) -> tuple[Term, ...]:
    """The terms of one pass. Refused for a card without a shape: shapes decide times."""
    heads = model.part_dtype(Part.MLP, layout.dtype), model.part_dtype(Part.HEAD, layout.dtype)
    if model.medusa:
        return tuple(medusa_terms(model.medusa, *heads, layout.tp, small))
    if model.speculator:
        return tuple(speculator_terms(model.speculator, *heads, layout.tp, small))
    if model.architecture is None:
        raise Refused(
            f"{model.name} has no architecture: an engine's time depends on its shapes",
            hint="add architecture to its card, or use -e roofline",
        )
    pass_ = _Pass(model, model.architecture, layout, small)
    return tuple(
        term for term in pass_.terms() if not (isinstance(term, Exchange) and term.gpus < 2)
    )


def key_terms(model: Model, layout: Layout, small: Small) -> tuple[Term, ...]:
    """What makes keys and values of the states that a head joins: fusion, then every layer's."""
    del small
    arch, dtype = model.architecture, model.part_dtype(Part.ATTENTION, layout.dtype)
    if arch is None:
        return ()
    terms: list[Term] = [Matmul(FUSE, 1, arch.hidden, arch.fuse_inputs, dtype)]
    for block in arch.blocks:
        if block.attention:
            heads = -(-block.attention.kv_heads // layout.tp)
            held = replace(block.attention, heads=heads, kv_heads=heads)
            read = block.attention.inputs * arch.hidden
            terms.append(Matmul("keys", block.repeat, held.kv_columns, read, dtype))
    return tuple(terms)


@dataclass(frozen=True, slots=True)
class _Pass:
    """One model on its way to terms."""

    model: Model
    arch: Architecture
    layout: Layout
    small: Small

    def terms(self) -> Iterator[Term]:
        """Fusion, layers, then head and sampler; every GPU keeps all of the fusion."""
        if self.arch.fuse:
            name = JOIN if self.arch.fuse_each else FUSE
            dtype = self._dtype(Part.ATTENTION)
            yield Matmul(name, 1, self.arch.hidden, self.arch.fuse_inputs, dtype)
        for block in self.arch.blocks:
            yield from self._mixer(block)
            yield from self._feed(block)
            yield self._elementwise(block)
        if self.arch.markov:
            yield Matmul("head", 1, self.arch.vocab, self.arch.markov, self._dtype(Part.HEAD))
        vocab = -(-self.arch.vocab // self.layout.tp)
        yield Matmul("head", 1, vocab, self.arch.hidden, self._dtype(Part.HEAD))
        passes = 1 if self.layout.draft else SAMPLER_PASSES
        yield Sample("sampler", self.arch.vocab, passes, self.layout.draft)

    def _dtype(self, part: Part, block: Block | None = None) -> Dtype:
        return self.model.part_dtype(part, self.layout.dtype, block)

    def _mixer(self, block: Block) -> Iterator[Term]:
        if block.attention:
            dtype = self._dtype(Part.ATTENTION, block)
            yield from self._attention(block.repeat, block.attention, dtype)
        if block.latent:
            dtype = self._dtype(Part.ATTENTION, block)
            yield from self._latent(block.repeat, block.latent, dtype)
        if block.state_mixer:
            hidden = self.arch.hidden
            params = block.state_mixer.matmul_params(hidden) / self.layout.tp
            dtype = self._dtype(Part.RECURRENT, block)
            yield Matmul("recurrent", block.repeat, params / hidden, hidden, dtype)
            state = block.state_mixer.state_bytes / self.layout.tp
            yield State("state", block.repeat, state)
        if block.attention or block.latent or block.state_mixer:
            yield self._exchange(block.repeat, self.layout.tp, groups=1)

    def _attention(self, count: int, attention: Attention, dtype: Dtype) -> Iterator[Term]:
        layout, hidden = self.layout, self.arch.hidden
        heads, kv_heads = -(-attention.heads // layout.tp), -(-attention.kv_heads // layout.tp)
        held = replace(attention, heads=heads, kv_heads=kv_heads)
        read = attention.inputs * hidden
        yield Matmul("qkv", count, held.query_columns + held.kv_columns, read, dtype)
        yield Attend(
            "attention",
            count,
            heads,
            kv_heads,
            (attention.head_dim + attention.value_width) / 2,
            attention.window,
            layout.kv_dtype,
            rereads=layout.rereads_kv,
        )
        yield Matmul("output", count, hidden, heads * attention.value_width, dtype)
        if attention.qk_norm_all_heads and layout.tp > 1:
            # 2 + 2 values of 4 bytes a row, as 4 of the 2-byte ones that an exchange counts
            yield Exchange("allreduce", count, 4, layout.tp)
            yield Elementwise("small", QK_NORM_LAUNCHES * count, 0.0)

    def _latent(self, count: int, latent: LatentAttention, dtype: Dtype) -> Iterator[Term]:
        layout, hidden = self.layout, self.arch.hidden
        heads = -(-latent.heads // layout.tp)
        down = latent.latent + latent.rope
        query = heads * (latent.nope + latent.rope)
        read = latent.inputs * hidden
        if latent.q_rank:
            yield Matmul("qkv", count, latent.q_rank + down, read, dtype)
            yield Matmul("qkv", count, query, latent.q_rank, dtype)
        else:
            yield Matmul("qkv", count, query + down, read, dtype)
        if latent.indexer:
            yield from self._index(count, latent.indexer, latent.q_rank or hidden, dtype)
        # Absorbed up-projections are batched over heads and stay in 16 bits.
        absorbed = Dtype.BF16 if dtype.bytes_per_element < 2 else dtype
        yield Matmul("latent", count, heads * latent.nope, latent.latent, absorbed)
        yield AttendLatent(
            "attention", count, heads, latent.latent, latent.rope, layout.kv_dtype, latent.top
        )
        yield Matmul("latent", count, heads * latent.value, latent.latent, absorbed)
        yield Matmul("output", count, hidden, heads * latent.value, dtype)

    def _index(self, count: int, indexer: Indexer, q_rank: int, dtype: Dtype) -> Iterator[Term]:
        """Every GPU picks for itself: nothing of it divides."""
        hidden = self.arch.hidden
        yield Matmul("index", count, indexer.heads * indexer.head_dim, q_rank, dtype)
        yield Matmul("index", count, indexer.head_dim + indexer.heads, hidden, dtype)
        yield AttendIndex(
            "index", count, indexer.heads, indexer.head_dim, indexer.key_bytes_per_token
        )

    def _feed(self, block: Block) -> Iterator[Term]:
        if block.mlp:
            yield from self._mlp("mlp", block.repeat, block.mlp, self._dtype(Part.MLP, block))
            yield self._exchange(block.repeat, self.layout.tp, groups=1)
        if block.experts:
            yield from self._experts(block, block.experts)

    def _mlp(self, name: str, count: int, mlp: Mlp, dtype: Dtype) -> Iterator[Term]:
        hidden, width = self.arch.hidden, mlp.width / self.layout.tp
        yield Matmul(name, count, (2 if mlp.gated else 1) * width, hidden, dtype)
        yield Matmul(name, count, hidden, width, dtype)

    def _experts(self, block: Block, experts: Experts) -> Iterator[Term]:
        layout, hidden, count = self.layout, self.arch.hidden, block.repeat
        shared_dtype = self._dtype(Part.SHARED, block)
        columns = experts.experts + experts.shared_gate
        yield Matmul("router", count, columns, hidden, self._dtype(Part.ROUTER, block))
        if experts.latent:  # every GPU projects for the experts that it holds
            yield Matmul("shared", count, experts.latent, hidden, shared_dtype)
            yield Matmul("shared", count, hidden, experts.latent, shared_dtype)
        yield Elementwise("router", ROUTER_LAUNCHES * count, 0.0)
        yield Route(
            "experts",
            count,
            experts=experts.experts,
            held=experts.experts / layout.ep,
            active=experts.active,
            hidden=experts.latent or hidden,
            width=experts.width / layout.expert_tp,
            matrices=experts.matrices,
            groups=layout.groups,
            dtype=self._dtype(Part.EXPERTS, block),
        )
        if experts.shared_width:
            shared = Mlp(width=experts.shared_width, gated=experts.gated)
            yield from self._mlp("shared", count, shared, shared_dtype)
        yield self._exchange(count, layout.gpus, groups=layout.groups)
        if layout.groups > 1:  # tokens travel to the experts before they travel back
            yield self._exchange(count, layout.gpus, groups=layout.groups)

    def _exchange(self, count: int, gpus: int, groups: int) -> Exchange:
        return Exchange("allreduce", count, self.arch.hidden, gpus, groups)

    def _elementwise(self, block: Block) -> Elementwise:
        """Two norms with their residuals (8 hidden values in all) and the activation (3 widths);
        routed experts move their own activations.
        """
        width = block.mlp.width if block.mlp else 0
        width += block.experts.shared_width if block.experts else 0
        launches = self.small.launches * block.repeat
        return Elementwise(
            "small", launches, block.repeat * (8 * self.arch.hidden + 3 * width / self.layout.tp)
        )
