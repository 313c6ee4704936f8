"""Drafter heads made of layers: EAGLE's kinds, multi-token prediction, block drafters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from specplan.domain.architecture import Architecture
from specplan.domain.heads import Drafts, MedusaHeads, MlpSpeculator
from specplan.domain.layers import Block
from specplan.errors import InputError
from specplan.importers.defaults import with_defaults
from specplan.importers.keys import Keys
from specplan.importers.shape import EXPERTS, deep_experts, experts, grouped, latent, merged, mlp

STATES = 3  # hidden states of the target that an EAGLE-3 head joins where no key lists layers
MODULES = 8  # layers of modules for multi-token prediction: published ones have up to three
EMBEDDED = 2  # an embedding and a hidden state

BIASED = ("qwen2", "mimo")  # kinds of layers whose queries, keys and values have biases


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """A drafter as its config describes it; one of the three shapes is set."""

    drafts: Drafts
    architecture: Architecture | None = None
    medusa: MedusaHeads | None = None
    speculator: MlpSpeculator | None = None


def inner_of(keys: Keys) -> Keys:
    """The part of a head's config that describes its layers."""
    for name in ("transformer_layer_config", "text_config"):
        if keys.has(name):
            return keys.within(name)
    return keys.within("model") if isinstance(keys.data.get("model"), Mapping) else keys


def _eagle(keys: Keys, inner: Keys) -> Head:
    """EAGLE and EAGLE-2: an embedding and a state joined for each token, one layer without the
    norm before its attention, embedding and head the target's. HASS keeps all of its norms.
    """
    count = inner.integer("num_hidden_layers")
    if count != 1:
        raise InputError(f"{count} layers", expected="one, as an EAGLE head has")
    hidden = inner.integer("hidden_size")
    if keys.has("fusion_bias"):
        biased = keys.flag("fusion_bias", default=False)
    else:
        biased = inner.flag("bias", default=True, why="as EAGLE's code has it")
    qwen2 = inner.text("model_type") == "qwen2"
    attention = grouped(_heads(inner), hidden, qkv_bias=inner.flag("qkv_bias", default=qwen2))
    normed = keys.flag("layernorms", default=False)
    layer = Block(repeat=1, attention=attention, mlp=mlp(inner), norms=1 + normed)
    arch = Architecture(
        hidden=hidden,
        vocab=inner.integer("vocab_size"),
        tied_embeddings=True,
        borrowed_head=True,
        blocks=(layer,),
        fuse=EMBEDDED,
        fuse_each=True,
        fuse_bias=biased,
        norms=2 * normed,
    )
    keys.say("fuse", "2: embedding and state, for each token")
    return Head(drafts=Drafts(kind="eagle"), architecture=arch)


def _eagle3(keys: Keys, inner: Keys) -> Head:
    """EAGLE-3: states of several layers of the target joined where a round begins; queries, keys
    and values read the embedding beside the state; a head of its own, often over fewer tokens.
    """
    hidden = inner.integer("hidden_size")
    _same_width(keys, inner, hidden)
    count = inner.integer("num_hidden_layers", default=1, why="as EAGLE-3 has it")
    if count != 1:
        raise InputError(f"an EAGLE-3 head of {count} layers is not modelled", expected="one")
    own = _first(keys, inner, "draft_vocab_size", "truncated_vocab_size")
    vocab = own or inner.integer("vocab_size")
    if own is None:
        keys.say("draft_vocab_size", f"{vocab:,}: absent, the whole vocabulary")
    # A head is the first layer, and what the first layers of a model with dense ones first are.
    dense = inner.maybe("first_k_dense_replace", least=0) or 0
    layer = _layer(inner, hidden, inputs=EMBEDDED, norms=3, sparse=not dense)
    fused = len(_aux(keys)) or STATES
    keys.say("fuse", f"{fused}: states of the target, joined once a round")
    normed = inner.flag("fc_norm", default=False) or keys.flag("use_aux_norm", default=False)
    arch = Architecture(
        hidden=hidden,
        vocab=vocab,
        tied_embeddings=True,
        borrowed_head=_reused(keys, inner, vocab),
        blocks=(layer,),
        fuse=fused,
        norms=1 + fused * normed,
    )
    return Head(drafts=Drafts(kind="eagle3"), architecture=arch)


def _reused(keys: Keys, inner: Keys, vocab: int) -> bool:
    """Whether the head of an EAGLE-3 drafter is its target's, as SpecForge's templates may say."""
    if not keys.flag("reuse_target_lm_head", default=False):
        return False
    whole = inner.maybe("vocab_size")
    if whole is not None and whole != vocab:
        raise InputError(
            f"reuse_target_lm_head beside a head over {vocab:,} of {whole:,} tokens",
            expected="the target's head, or one of its own over fewer tokens",
        )
    return True


def _mtp(keys: Keys, inner: Keys) -> Head:
    """A module for multi-token prediction that was trained by itself."""
    hidden = inner.integer("hidden_size")
    count = inner.integer("num_hidden_layers", default=1, why="one module")
    if count > MODULES:
        what = f"{inner.prefix}num_hidden_layers is {count}: a whole model's, not a module's"
        raise InputError(what, hint="for a module within a model: --mtp on the model's config")
    own = _first(keys, inner, "draft_vocab_size")
    detail = keys.within("mtp_config") if keys.has("mtp_config") else keys
    shared = detail.flag("share_lm_head", default=True)
    layer = _layer(inner, hidden, inputs=1, norms=2)
    arch = Architecture(
        hidden=hidden,
        vocab=own or inner.integer("vocab_size"),
        tied_embeddings=True,
        borrowed_head=shared and own is None,
        blocks=merged([layer] * count),
        fuse=EMBEDDED,
        fuse_each=True,
        norms=3,
    )
    keys.say("fuse", "2: embedding and state, normed, for each token")
    return Head(drafts=Drafts(kind="mtp"), architecture=arch)


def _block(keys: Keys, inner: Keys) -> Head:
    """DFlash and DSpark: a pass over a block of masks proposes all tokens after the first; states
    of the target are joined where a round begins. DSpark couples the tokens by a low-rank head.
    """
    hidden = inner.integer("hidden_size")
    _same_width(keys, inner, hidden)
    detail = keys.within("dflash_config") if keys.has("dflash_config") else keys
    if detail.text("attention_mode", "gqa") != "gqa" or inner.has("kv_lora_rank"):
        raise InputError("a block drafter with latent attention is not modelled")
    fused = len(joined(keys))
    if not fused:
        raise InputError("no target_layer_ids", expected="the layers whose states it joins")
    count = inner.integer("num_hidden_layers")
    attention = grouped(_heads(inner), hidden, qk_norm=inner.text("model_type").startswith("qwen3"))
    layer = Block(repeat=count, attention=attention, mlp=mlp(inner))
    markov = detail.maybe("markov_rank")
    size = keys.integer("block_size")
    # A Markov drafter samples from the anchor on; a block of masks spends its first place on it.
    proposed = size if markov else size - 1
    keys.say("fuse", f"{fused}: states of the target, joined once a round")
    keys.say("proposes", f"{proposed}: block_size {size}{'' if markov else ', its first is known'}")
    arch = Architecture(
        hidden=hidden,
        vocab=inner.integer("vocab_size"),
        tied_embeddings=True,
        borrowed_head=True,
        blocks=(layer,),
        fuse=fused,
        norms=2,
        markov=markov,
    )
    return Head(drafts=Drafts(kind="block", proposes=proposed), architecture=arch)


def _heads(inner: Keys) -> Keys:
    """The keys with what the class of the head's layers has for KV heads and head_dim."""
    return with_defaults(inner, inner.text("model_type"))


def joined(keys: Keys) -> list[object]:
    """Layers of the target whose states a block drafter joins, counted from 0."""
    detail = keys.within("dflash_config") if keys.has("dflash_config") else keys
    return list(detail.items("target_layer_ids") or keys.items("target_layer_ids") or ())


def _layer(inner: Keys, hidden: int, *, inputs: int, norms: int, sparse: bool = True) -> Block:
    """The layer of a head, with whatever its config gives it: latent attention, experts."""
    qwen3 = inner.text("model_type").startswith("qwen3")
    deep = inner.has("kv_lora_rank")
    feed: dict[str, object] = {}
    if sparse and inner.has("moe_intermediate_size") and any(inner.has(name) for name in EXPERTS):
        feed["experts"] = _experts(inner, deep=deep)
    else:
        feed["mlp"] = mlp(inner)
    if deep:
        mixer = replace(latent(inner, hidden), inputs=inputs)
        return Block(repeat=1, latent=mixer, norms=norms, **feed)  # type: ignore[arg-type]
    gated = inner.text("model_type").startswith(("qwen3_next", "qwen3_5"))
    attention = grouped(
        _heads(inner),
        hidden,
        inputs=inputs,
        qkv_bias=inputs == 1 and inner.text("model_type").startswith(BIASED),
        qk_norm=qwen3 and inputs == 1,
        gated=inner.flag("attn_output_gate", default=gated),
    )
    return Block(repeat=1, attention=attention, norms=norms, **feed)  # type: ignore[arg-type]


def _experts(inner: Keys, *, deep: bool) -> object:
    if deep or inner.has("n_shared_experts"):
        return deep_experts(inner, router_bias=True)
    shared = inner.maybe("shared_expert_intermediate_size", least=0) or 0
    width = inner.integer("moe_intermediate_size")
    return experts(inner, width, shared_width=shared, shared_gate=bool(shared))


def _same_width(keys: Keys, inner: Keys, hidden: int) -> None:
    target = _first(keys, inner, "target_hidden_size")
    if target not in {None, hidden}:
        what = f"hidden_size {hidden:,} beside a target of {target:,}"
        raise InputError(f"{what}: a head that keeps an embedding of its own is not modelled")


def _first(keys: Keys, inner: Keys, *names: str) -> int | None:
    found = keys.maybe(*names)
    return found if found is not None or inner is keys else inner.maybe(*names)


def _aux(keys: Keys) -> list[object]:
    """Layers of the target whose states are joined, under whichever key lists them."""
    within = keys.within("eagle_config") if keys.has("eagle_config") else keys
    for place in (within, keys):
        for name in ("eagle_aux_hidden_state_layer_ids", "aux_hidden_state_layer_ids"):
            listed = place.items(name)
            if listed:
                return list(listed)
    return []


LAYERED: dict[str, Callable[[Keys, Keys], Head]] = {
    "eagle": _eagle,
    "eagle3": _eagle3,
    "mtp": _mtp,
    "block": _block,
}
