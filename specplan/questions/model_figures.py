"""The figures of a model, stated and derived, in one order for all of them; its layers in words."""

from __future__ import annotations

from collections.abc import Iterator

from specplan.domain.architecture import Architecture
from specplan.domain.card import Dtype
from specplan.domain.layers import Block, Experts, Mlp
from specplan.domain.mixers import Attention, LatentAttention
from specplan.domain.model import KV_DTYPE, Model, token_bytes
from specplan.physics.roofline import kv_bytes
from specplan.questions.cards import known
from specplan.questions.figures import Fact, Figure, figures
from specplan.questions.kinds import kinds_of
from specplan.units import people

CONTEXTS = (2048, 8192, 32768, 131072)


def model_figures(card: Model) -> list[Figure]:
    """Every figure that any model may have; the value is None where this one has none."""
    arch, shape = card.architecture, card.shape
    matmul, stored = (shape.matmul_params, shape.stored_params) if shape else (None, None)
    facts = [
        Fact("derived.kinds", "kind", "", ", ".join(kinds_of(card))),
        *_drafting(card),
        Fact("trained_context", "trained context", "tokens", card.trained_context),
        *_agreeing("matmul_params", "matmul params", "", card.matmul_params, matmul),
        *_agreeing("stored_params", "stored params", "", card.stored_params, stored),
        _active(card),
        Fact("stored_bytes", "files", "B", card.stored_bytes),
        *_agreeing("kv_bytes_per_token", "KV per token", "B", card.kv_bytes_per_token, _kv(arch)),
        Fact("architecture.hidden", "hidden width", "", arch.hidden if arch else None),
        Fact("architecture.vocab", "vocabulary", "", arch.vocab if arch else None),
        _tied(arch),
        Fact("derived.layers", "layers", "", arch.layers if arch else None),
        Fact("derived.state_bytes", "state of a sequence", "B", card.state_bytes or None),
        *(_cache(card, context) for context in CONTEXTS),
        *(_weights(card, dtype) for dtype in Dtype),
    ]
    return figures(facts, card.sources, {})


def layer_words(card: Model) -> Iterator[tuple[str, str]]:
    """Equal layers, a line each; or the heads of a card that has no layers."""
    for number, block in enumerate(card.architecture.blocks if card.architecture else (), 1):
        yield f"block {number}", block_words(block)
    if card.medusa:
        heads = card.medusa
        layers = _many(heads.layers, "residual layer")
        yield "heads", f"{heads.heads} side by side, {layers} each"
    if card.speculator:
        stages = card.speculator
        tied = ", one set of weights" if stages.tied else ""
        yield "stages", f"{stages.stages} in sequence, states of {stages.inner:,}{tied}"


def block_words(block: Block) -> str:
    """Equal layers in one line: "13 layers: 8 heads, 4 KV heads of 256, last 4,096 tokens; ..."."""
    parts = [
        _attention_words(block.attention) if block.attention else "",
        _latent_words(block.latent) if block.latent else "",
        f"recurrent state of {people(block.state_mixer.state_bytes, 'B')}"
        if block.state_mixer
        else "",
        _mlp_words(block.mlp) if block.mlp else "",
        _experts_words(block.experts) if block.experts else "",
        _many(block.norms, "norm"),
    ]
    return f"{_many(block.repeat, 'layer')}: {'; '.join(part for part in parts if part)}"


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _drafting(card: Model) -> Iterator[Fact]:
    """What a card says of drafting."""
    drafts = card.drafts
    yield Fact("drafts.kind", "drafts as", "", drafts.kind if drafts else None)
    targets = ", ".join(drafts.targets) if drafts else ""
    yield Fact("drafts.targets", "trained for", "", targets or None)
    longest = drafts.proposes if drafts else None
    yield Fact("drafts.proposes", "longest draft", "tokens", longest)


def _tied(arch: Architecture | None) -> Fact:
    """Whether the head is the embedding; drafters may have either from their target."""
    key = "architecture.tied_embeddings"
    if arch is None:
        return Fact(key, "tied head", "", None)
    said = "no, embedding borrowed" if arch.fuse and arch.tied_embeddings else ""
    said = "borrowed" if arch.borrowed_head else said
    return Fact(key, "tied head", "", arch.tied_embeddings, said=said)


def _active(card: Model) -> Fact:
    """The share of its parameters that one token multiplies, where experts idle."""
    value = known(lambda: card.active_params / card.checkpoint_params)
    shown = value if card.expert_groups else None
    return Fact("derived.active_share", "multiplied for one token", "%", shown)


def _agreeing(key: str, label: str, unit: str, *pair: float | None) -> Iterator[Fact]:
    """The stated figure and the derived one, which says how far the stated one lies from it."""
    stated, derived = pair
    yield Fact(key, label, unit, stated)
    more = ""
    if stated is not None and derived:
        off = stated / derived - 1
        more = f" (stated {100 * off:+.2g} %)" if off else " (as stated)"
    yield Fact(f"derived.{key}", f"{label}, derived", unit, derived, more)


def _kv(arch: Architecture | None) -> float | None:
    """Bytes of one token at 16 bits over all layers, windows ignored."""
    if arch is None:
        return None
    return token_bytes(arch.kv_groups)


def _cache(card: Model, context: int) -> Fact:
    value = known(lambda: float(kv_bytes(card, context, KV_DTYPE)))
    beyond = card.trained_context is not None and context > card.trained_context
    more = " (beyond its context)" if beyond else ""
    label = f"KV at {context // 1024}k tokens"
    return Fact(f"derived.kv_bytes.{context}", label, "B", value, more)


def _weights(card: Model, dtype: Dtype) -> Fact:
    """Bytes of all weights run as a dtype: router, embedding and head stay in 16 bits."""
    stored = known(lambda: card.checkpoint_params)
    value = None if stored is None else card.weights_bytes(dtype)
    more = " (as stored)" if dtype is card.dtype else ""
    return Fact(f"derived.weights_bytes.{dtype}", f"weights as {dtype}", "B", value, more)


def _attention_words(attention: Attention) -> str:
    seen = "all tokens" if attention.window is None else f"last {attention.window:,} tokens"
    extras = [
        name
        for name, present in (
            ("q, k, v bias", attention.qkv_bias),
            ("output bias", attention.out_bias),
            ("q, k norm", attention.qk_norm),
        )
        if present
    ]
    heads = f"{attention.heads} heads, {attention.kv_heads} KV heads of {attention.head_dim}"
    return ", ".join((heads, seen, *extras))


def _latent_words(latent: LatentAttention) -> str:
    """Heads over what is cached for all of them together."""
    seen = "all tokens" if latent.top is None else f"{latent.top:,} picked tokens"
    return f"{latent.heads} heads on a latent of {latent.latent} + {latent.rope}, {seen}"


def _mlp_words(mlp: Mlp) -> str:
    return f"{'gated ' if mlp.gated else ''}MLP of {mlp.width:,}{', bias' if mlp.bias else ''}"


def _experts_words(experts: Experts) -> str:
    shared = f", shared of {experts.shared_width:,}" if experts.shared_width else ""
    return f"{experts.active} of {experts.experts} experts of {experts.width:,}{shared}"
