"""Families in which some layers keep a state instead of a cache."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from specplan.domain.card import Dtype
from specplan.domain.layers import Block, Experts, Mlp
from specplan.domain.mixers import Attention, GatedDelta, Mamba2
from specplan.errors import InputError
from specplan.importers.keys import Keys
from specplan.importers.shape import (
    MOST_LAYERS,
    Builder,
    Shape,
    base,
    deep_experts,
    depth,
    experts,
    grouped,
    mlp,
    sparse_layers,
)

STATES = {"float32": Dtype.FP32, "bfloat16": Dtype.BF16, "float16": Dtype.FP16}
LAYER_TYPES = {"linear_attention": 0, "full_attention": 0}
PATTERN = {"M": "mamba", "E": "moe", "*": "attention", "-": "mlp"}


def qwen_next(keys: Keys, *, tower: bool = False) -> Shape:
    """Qwen3-Next and Qwen3.5: gated delta nets, and gated attention in every so many-th layer;
    dense or with experts and a gated shared one.
    """
    hidden, vocab, tied = base(keys, tied=False, family="Qwen's hybrid config")
    count = depth(keys)
    mixers = {True: Block(repeat=1, attention=_gated(keys, hidden))}
    mixers[False] = Block(repeat=1, delta=_delta(keys))
    every = keys.integer("full_attention_interval", default=4, why="default of Qwen3NextConfig")
    words = keys.words("layer_types", count, LAYER_TYPES)
    full = [w == "full_attention" for w in words or ()]
    full = full or [(n + 1) % every == 0 for n in range(count)]
    routed = _routed(keys) if keys.has("num_experts") else None
    sparse = sparse_layers(keys, count) if routed else [False] * count
    dense = None if all(sparse) else mlp(keys)
    feeds = [(routed, None) if here else (None, dense) for here in sparse]
    layers = [
        replace(mixers[here], experts=moe, mlp=feed)
        for here, (moe, feed) in zip(full, feeds, strict=True)
    ]
    own = replace(mixers[True], experts=routed, mlp=None if routed else dense)
    return Shape(
        hidden=hidden,
        vocab=vocab,
        tied=tied,
        layers=layers,
        mtp=(own,),
        drafting=keys.maybe("mtp_num_hidden_layers", least=0) or 0,
        unmentioned=0 if tower else 1,  # Qwen3-Next's checkpoints hold one, its config none
        tower=tower,
    )


def qwen35(keys: Keys) -> Shape:
    """Qwen3.5 and 3.6 with their vision tower."""
    return qwen_next(keys, tower=True)


def _routed(keys: Keys) -> Experts:
    shared = keys.maybe("shared_expert_intermediate_size", least=0) or 0
    width = keys.integer("moe_intermediate_size")
    return experts(keys, width, shared_width=shared, shared_gate=bool(shared))


def _gated(keys: Keys, hidden: int) -> Attention:
    gated = keys.flag("attn_output_gate", default=True, why="always so in this family")
    biased = keys.flag("attention_bias", default=False)
    return grouped(keys, hidden, qk_norm=True, gated=gated, qkv_bias=biased, out_bias=biased)


def _delta(keys: Keys) -> GatedDelta:
    return GatedDelta(
        key_heads=keys.integer("linear_num_key_heads"),
        value_heads=keys.integer("linear_num_value_heads"),
        key_dim=keys.integer("linear_key_head_dim"),
        value_dim=keys.integer("linear_value_head_dim"),
        conv=keys.integer("linear_conv_kernel_dim"),
        state_dtype=_state(keys, "mamba_ssm_dtype"),
    )


def _state(keys: Keys, *names: str) -> Dtype:
    """The type of the recurrent state; where no key says so, 32 bits, and said."""
    for name in names:
        word = keys.text(name)
        if word and word not in STATES:
            raise InputError(f"{name} is {word[:40]}", expected=" or ".join(STATES))
        if word:
            keys.say(name, f"{word}: {keys.prefix}{name}")
            return STATES[word]
    keys.say(names[0], "float32: absent, the default of engines")
    return Dtype.FP32


def nemotron_h(keys: Keys) -> Shape:
    """Nemotron-H and Nemotron 3: a layer is a Mamba-2 mixer, attention, a feed-forward or experts,
    with one norm, as a pattern of letters or a list of words says.
    """
    hidden, vocab, tied = base(keys, tied=False, family="NemotronHConfig")
    kinds = _kinds(keys)
    made: Mapping[str, Block] = {kind: _single(keys, hidden, kind) for kind in dict.fromkeys(kinds)}
    drafting = keys.maybe("num_nextn_predict_layers", least=0) or 0
    module = _drafting_kinds(keys) if drafting else []
    return Shape(
        hidden=hidden,
        vocab=vocab,
        tied=tied,
        layers=[made[kind] for kind in kinds],
        mtp=[_single(keys, hidden, kind) for kind in module],
        drafting=drafting,
    )


def _kinds(keys: Keys) -> list[str]:
    name, kinds = _listed(keys, "hybrid_override_pattern", "layers_block_type")
    if not kinds:
        raise InputError("no hybrid_override_pattern or layers_block_type")
    if len(kinds) > MOST_LAYERS:
        raise InputError(f"{name} has {len(kinds):,} layers", expected=f"at most {MOST_LAYERS:,}")
    count = keys.maybe("num_hidden_layers")
    if count is not None and count != len(kinds):
        raise InputError(f"{name} has {len(kinds)} layers and num_hidden_layers is {count}")
    keys.say("num_hidden_layers", f"{len(kinds)}: {name}")
    return kinds


def _drafting_kinds(keys: Keys) -> list[str]:
    """The layers of one module that drafts, if the config says."""
    return _listed(keys, "mtp_hybrid_override_pattern", "mtp_layers_block_type")[1]


def _listed(keys: Keys, letters: str, words: str) -> tuple[str, list[str]]:
    """Kinds of layers from a pattern of letters, else from a list of words, and the key."""
    pattern = keys.text(letters)
    strange = sorted(set(pattern) - PATTERN.keys())
    if strange:
        raise InputError(f"{letters} holds {strange[0]!r}", expected=" ".join(PATTERN))
    if pattern:
        return letters, [PATTERN[letter] for letter in pattern]
    listed = keys.items(words) or ()
    return words, keys.words(words, len(listed), dict.fromkeys(PATTERN.values())) or []


def _single(keys: Keys, hidden: int, kind: str) -> Block:
    gated = keys.text("mlp_hidden_act", "relu2") not in {"relu2", "relu", "gelu"}
    if kind == "attention":
        biased = keys.flag("attention_bias", default=False)
        attention = grouped(keys, hidden, qkv_bias=biased, out_bias=biased)
        return Block(repeat=1, attention=attention, norms=1)
    if kind == "mamba":
        return Block(repeat=1, mamba=_mamba(keys), norms=1)
    if kind == "mlp":
        feed: Mlp = mlp(keys, gated=gated, bias=keys.flag("mlp_bias", default=False))
        return Block(repeat=1, mlp=feed, norms=1)
    routed = deep_experts(keys, router_bias=True, gated=gated, latent=keys.maybe("moe_latent_size"))
    shared = keys.maybe("n_shared_experts", least=0) or 0
    width = keys.maybe("moe_shared_expert_intermediate_size")
    if shared and width:
        routed = replace(routed, shared_width=shared * width)
    return Block(repeat=1, experts=routed, norms=1)


def _mamba(keys: Keys) -> Mamba2:
    for name in ("use_bias", "mamba_proj_bias"):
        if keys.flag(name, default=False):
            raise InputError(f"{keys.prefix}{name}: Mamba projections with a bias are not modelled")
    return Mamba2(
        heads=keys.integer("mamba_num_heads"),
        head_dim=keys.integer("mamba_head_dim"),
        groups=keys.integer("n_groups"),
        state=keys.integer("ssm_state_size"),
        conv=keys.integer("conv_kernel"),
        conv_bias=keys.flag("use_conv_bias", default=True),
        state_dtype=_state(keys, "mamba_ssm_cache_dtype"),
    )


HYBRID: dict[str, Builder] = {
    "qwen3_next": qwen_next,
    "qwen3_5_text": qwen35,
    "qwen3_5_moe_text": qwen35,
    "nemotron_h": nemotron_h,
}
