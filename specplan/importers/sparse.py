"""Families with experts behind grouped-query attention."""

from __future__ import annotations

from dataclasses import replace

from specplan.domain.layers import Block, Experts, Mlp
from specplan.domain.mixers import Attention
from specplan.errors import InputError
from specplan.importers.dense import all_alike, switched
from specplan.importers.keys import Keys
from specplan.importers.shape import (
    Builder,
    Shape,
    base,
    deep_experts,
    dense_first,
    depth,
    experts,
    grouped,
    mlp,
    shared_by,
    sparse_layers,
    windows,
)

CHUNKED = {"full_attention": False, "chunked_attention": True}


def mixtral(keys: Keys) -> Shape:
    """Every layer is sparse; `intermediate_size` is the width of an expert."""
    hidden, vocab, tied = base(keys, tied=False, family="MixtralConfig")
    routed = experts(keys, keys.integer("intermediate_size"))
    attention = grouped(keys, hidden)
    count = depth(keys)
    seen = all_alike(keys, count)
    layers = [_routed(replace(attention, window=window), routed) for window in seen]
    return Shape(hidden=hidden, vocab=vocab, tied=tied, layers=layers)


def phimoe(keys: Keys) -> Shape:
    """Norms with a bias, hence two vectors each; a bias in the head."""
    hidden, vocab, tied = base(keys, tied=False, family="PhimoeConfig")
    routed = experts(keys, keys.integer("intermediate_size"))
    biased = keys.flag("attention_bias", default=False)
    attention = grouped(keys, hidden, qkv_bias=biased, out_bias=biased)
    count = depth(keys)
    layers = [
        replace(_routed(replace(attention, window=window), routed), norms=4)
        for window in all_alike(keys, count)
    ]
    head_bias = keys.flag("lm_head_bias", default=False)
    return Shape(hidden=hidden, vocab=vocab, tied=tied, layers=layers, norms=2, head_bias=head_bias)


def qwen_moe(keys: Keys, *, qk_norm: bool, tower: bool = False) -> Shape:
    """Qwen2-MoE (biases, a gated shared expert) and Qwen3-MoE (normed queries, none)."""
    hidden, vocab, tied = base(keys, tied=False, family="Qwen's MoE config")
    count = depth(keys)
    biased = keys.flag("attention_bias" if qk_norm else "qkv_bias", default=not qk_norm)
    attention = grouped(keys, hidden, qk_norm=qk_norm, qkv_bias=biased, out_bias=biased and qk_norm)
    shared = keys.maybe("shared_expert_intermediate_size", least=0) or 0
    routed = experts(
        keys,
        keys.integer("moe_intermediate_size"),
        shared_width=shared,
        shared_gate=bool(shared),
    )
    sparse = sparse_layers(keys, count)
    dense = None if all(sparse) else mlp(keys)
    layers = [
        _routed(replace(attention, window=window), routed if here else None, dense)
        for here, window in zip(sparse, switched(keys, count), strict=True)
    ]
    return Shape(hidden=hidden, vocab=vocab, tied=tied, layers=layers, tower=tower)


def qwen2_moe(keys: Keys) -> Shape:
    """Qwen1.5-MoE, Qwen2-57B-A14B."""
    return qwen_moe(keys, qk_norm=False)


def qwen3_moe(keys: Keys) -> Shape:
    """Qwen3-30B-A3B and its like."""
    return qwen_moe(keys, qk_norm=True)


def qwen3_vl_moe(keys: Keys) -> Shape:
    """The same beside a vision tower."""
    return qwen_moe(keys, qk_norm=True, tower=True)


def glm4_moe(keys: Keys) -> Shape:
    """GLM-4.5 to 4.7: dense layers first, norms of q and k where `use_qk_norm` says so."""
    hidden, vocab, tied = base(keys, tied=False, family="Glm4MoeConfig")
    attention = grouped(
        keys,
        hidden,
        qkv_bias=keys.flag("attention_bias", default=False, why="default of Glm4MoeConfig"),
        qk_norm=keys.flag("use_qk_norm", default=False, why="default of Glm4MoeConfig"),
    )
    routed = deep_experts(keys, router_bias=True)
    count = depth(keys)
    dense = mlp(keys)
    layers = [
        _routed(attention, routed if here else None, dense) for here in dense_first(keys, count)
    ]
    drafting = keys.maybe("num_nextn_predict_layers", least=0) or 0
    return Shape(
        hidden=hidden,
        vocab=vocab,
        tied=tied,
        layers=layers,
        mtp=(_routed(attention, routed),),
        drafting=drafting,
    )


def gpt_oss(keys: Keys) -> Shape:
    """Sinks, biases everywhere, and every other layer sliding, the first one too."""
    hidden, vocab, tied = base(keys, tied=False, family="GptOssConfig")
    biased = keys.flag("attention_bias", default=True)
    attention = grouped(keys, hidden, qkv_bias=biased, out_bias=biased, sinks=True)
    routed = experts(keys, keys.integer("intermediate_size"), bias=True, router_bias=True)
    count = depth(keys)
    seen = windows(keys, count, keys.integer("sliding_window"), lambda n: n % 2 == 0)
    layers = [_routed(replace(attention, window=window), routed) for window in seen]
    return Shape(hidden=hidden, vocab=vocab, tied=tied, layers=layers)


def minimax_m2(keys: Keys) -> Shape:
    """All heads normed together; `intermediate_size` is the width of an expert."""
    hidden, vocab, tied = base(keys, tied=False, family="MiniMaxM2Config")
    normed = keys.flag("use_qk_norm", default=True)
    together = keys.text("qk_norm_type", "per_layer") == "per_layer"
    attention = grouped(
        keys,
        hidden,
        qk_norm=normed and not together,
        qk_norm_all_heads=normed and together,
    )
    biased = keys.flag("use_routing_bias", default=True)
    routed = experts(keys, keys.integer("intermediate_size"), router_bias=biased)
    count = depth(keys)
    if not all(keys.marks("attn_type_list", count) or [True]):
        raise InputError("attn_type_list: layers of linear attention are not modelled")
    layers = [_routed(attention, routed)] * count
    if keys.maybe("num_mtp_modules", "num_nextn_predict_layers", least=0):
        keys.note("The config announces layers that draft (MTP); the checkpoints hold none.")
    return Shape(hidden=hidden, vocab=vocab, tied=tied, layers=layers)


def mimo_v2(keys: Keys) -> Shape:
    """MiMo-V2-Flash: sliding layers have heads of their own and sinks; values are narrower than
    keys. The checkpoint holds three layers that draft, which the config does not mention.
    """
    hidden, vocab, tied = base(keys, tied=False, family="MiMoV2FlashConfig")
    count = depth(keys)
    biased = keys.flag("attention_bias", default=False)
    far = Attention(
        heads=keys.integer("num_attention_heads"),
        kv_heads=keys.integer("num_key_value_heads"),
        head_dim=keys.integer("head_dim"),
        value_dim=keys.integer("v_head_dim"),
        qkv_bias=biased,
        sinks=keys.flag("add_full_attention_sink_bias", default=False),
    )
    near = Attention(
        heads=keys.integer("swa_num_attention_heads"),
        kv_heads=keys.integer("swa_num_key_value_heads"),
        head_dim=keys.integer("swa_head_dim"),
        value_dim=keys.integer("swa_v_head_dim"),
        window=keys.integer("sliding_window"),
        qkv_bias=biased,
        sinks=keys.flag("add_swa_attention_sink_bias", default=False),
    )
    shared_by(far.heads, far.kv_heads)
    shared_by(near.heads, near.kv_heads)
    slides = keys.marks("hybrid_layer_pattern", count)
    if slides is None:
        raise InputError("no hybrid_layer_pattern", expected="which layers slide")
    routed = deep_experts(keys, router_bias=True)
    dense = mlp(keys)
    layers = [
        _routed(near if slide else far, routed if here else None, dense)
        for slide, here in zip(slides, sparse_layers(keys, count), strict=True)
    ]
    mtp = _routed(near, None, dense)
    # Checkpoints hold three such layers, of which no config speaks.
    return Shape(hidden=hidden, vocab=vocab, tied=tied, layers=layers, mtp=(mtp,), unmentioned=3)


def llama4(keys: Keys) -> Shape:
    """Three layers of four attend within chunks; every `interleave_moe_layer_step`-th is sparse,
    beside a shared expert as wide as a routed one.
    """
    hidden, vocab, tied = base(keys, tied=False, family="Llama4TextConfig")
    count = depth(keys)
    biased = keys.flag("attention_bias", default=False)
    attention = grouped(keys, hidden, qkv_bias=biased, out_bias=biased)
    width = keys.integer("intermediate_size")
    routed = experts(keys, width, shared_width=width)
    sparse = _llama4_sparse(keys, count)
    dense = None if all(sparse) else mlp(keys, "intermediate_size_mlp")
    layers = [
        _routed(replace(attention, window=window), routed if here else None, dense)
        for window, here in zip(_chunks(keys, count), sparse, strict=True)
    ]
    return Shape(hidden=hidden, vocab=vocab, tied=tied, layers=layers, tower=True)


def _llama4_sparse(keys: Keys, count: int) -> list[bool]:
    """Which layers route: those of `moe_layers`, else every so many-th."""
    listed = keys.numbers("moe_layers")
    step = keys.integer("interleave_moe_layer_step", default=1, why="default of Llama4TextConfig")
    return [n in listed if listed else (n + 1) % step == 0 for n in range(count)]


def _chunks(keys: Keys, count: int) -> list[int | None]:
    """How far back each layer looks: those with rotary positions attend within chunks."""
    if "attention_chunk_size" in keys.data and not keys.has("attention_chunk_size"):
        return [None] * count
    chunk = keys.integer("attention_chunk_size", default=8192, why="default of Llama4TextConfig")
    every = keys.integer("no_rope_layer_interval", default=4, why="default of Llama4TextConfig")
    words = keys.words("layer_types", count, CHUNKED)
    # The list holds 1 where a layer has rotary positions; an empty one stands for the default.
    listed = keys.marks("no_rope_layers", count) if keys.get("no_rope_layers") else None
    chunked = listed or [(n + 1) % every != 0 for n in range(count)]
    if words and [CHUNKED[word] for word in words] != chunked:
        raise InputError(
            "layer_types and no_rope_layers name other layers: which holds is not said"
        )
    keys.note(
        f"Layers with rotary positions attend within chunks of {chunk:,} tokens, written as a "
        "window: on average a token sees half a chunk."
    )
    return [chunk if near else None for near in chunked]


def _routed(attention: Attention, routed: Experts | None, dense: Mlp | None = None) -> Block:
    return Block(repeat=1, attention=attention, experts=routed, mlp=None if routed else dense)


SPARSE: dict[str, Builder] = {
    "mixtral": mixtral,
    "phimoe": phimoe,
    "qwen2_moe": qwen2_moe,
    "qwen3_moe": qwen3_moe,
    "qwen3_vl_moe_text": qwen3_vl_moe,
    "glm4_moe": glm4_moe,
    "gpt_oss": gpt_oss,
    "minimax_m2": minimax_m2,
    "mimo_v2_flash": mimo_v2,
    "llama4_text": llama4,
}
