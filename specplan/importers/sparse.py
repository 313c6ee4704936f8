"""Families with experts, latent attention, or both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from specplan.domain.layers import Block, Experts, Mlp
from specplan.domain.mixers import Attention, LatentAttention
from specplan.errors import InputError
from specplan.importers.dense import all_alike, switched
from specplan.importers.keys import Keys
from specplan.importers.shape import (
    Builder,
    Shape,
    base,
    deep_experts,
    experts,
    grouped,
    indexer,
    latent,
    mlp,
    sparse_layers,
    windows,
)


def mixtral(keys: Keys) -> Shape:
    """Every layer is sparse; `intermediate_size` is the width of an expert."""
    hidden, vocab, tied = base(keys, tied=False, family="MixtralConfig")
    routed = experts(keys, keys.integer("intermediate_size"))
    attention = grouped(keys, hidden)
    count = keys.integer("num_hidden_layers")
    seen = all_alike(keys, count)
    layers = [_routed(replace(attention, window=window), routed) for window in seen]
    return Shape(hidden=hidden, vocab=vocab, tied=tied, layers=layers)


def phimoe(keys: Keys) -> Shape:
    """Norms with a bias, hence two vectors each; a bias in the head."""
    hidden, vocab, tied = base(keys, tied=False, family="PhimoeConfig")
    routed = experts(keys, keys.integer("intermediate_size"))
    biased = keys.flag("attention_bias", default=False)
    attention = grouped(keys, hidden, qkv_bias=biased, out_bias=biased)
    count = keys.integer("num_hidden_layers")
    layers = [
        replace(_routed(replace(attention, window=window), routed), norms=4)
        for window in all_alike(keys, count)
    ]
    head_bias = keys.flag("lm_head_bias", default=False)
    return Shape(hidden=hidden, vocab=vocab, tied=tied, layers=layers, norms=2, head_bias=head_bias)


def qwen_moe(keys: Keys, *, qk_norm: bool, tower: bool = False) -> Shape:
    """Qwen2-MoE (biases, a gated shared expert) and Qwen3-MoE (normed queries, none)."""
    hidden, vocab, tied = base(keys, tied=False, family="Qwen's MoE config")
    count = keys.integer("num_hidden_layers")
    biased = keys.flag("attention_bias", default=False) if qk_norm else True
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


def deepseek(keys: Keys) -> Shape:
    """DeepSeek V2 and V3, Kimi K2, GLM-4.7-Flash: latent attention, dense layers first. A router
    that corrects its scores (V3's `noaux_tc`) holds a value for each expert.
    """
    hidden, vocab, tied = base(keys, tied=False, family="DeepseekV3Config")
    attention = latent(keys, hidden)
    corrected = keys.text("topk_method", _method(keys)) == "noaux_tc"
    routed = deep_experts(keys, router_bias=corrected)
    return _deep(keys, (hidden, vocab, tied), [attention], routed)


def deepseek_sparse(keys: Keys) -> Shape:
    """DeepSeek V3.2, GLM-5: an indexer in each layer picks `index_topk` tokens; a layer of type
    `shared` uses the pick of the one before.
    """
    hidden, vocab, tied = base(keys, tied=False, family="DeepseekV32Config")
    attention = replace(latent(keys, hidden), top=keys.integer("index_topk"))
    own = replace(attention, indexer=indexer(keys))
    count = keys.integer("num_hidden_layers")
    words = keys.words("indexer_types", count, {"full": 0, "shared": 0}) or ["full"] * count
    mixers = [own if word == "full" else attention for word in words]
    keys.note(
        "sparse attention: a layer keeps the latent of every token and reads those that its "
        "indexer picks; the indexer's keys lie in a cache of their own, in FP8"
    )
    return _deep(keys, (hidden, vocab, tied), mixers, deep_experts(keys, router_bias=True))


def _method(keys: Keys) -> str:
    """V2 has no correction unless it says so; everything since has."""
    return "greedy" if keys.text("model_type") == "deepseek_v2" else "noaux_tc"


def _deep(
    keys: Keys,
    named: tuple[int, int, bool],
    mixers: Sequence[LatentAttention],
    routed: Experts,
) -> Shape:
    count = keys.integer("num_hidden_layers")
    sparse = sparse_layers(keys, count)
    dense = None if all(sparse) else mlp(keys)
    every = mixers if len(mixers) == count else [mixers[0]] * count
    layers = [
        Block(
            repeat=1,
            latent=mixer,
            experts=routed if here else None,
            mlp=None if here else dense,
        )
        for mixer, here in zip(every, sparse, strict=True)
    ]
    drafting = keys.maybe("num_nextn_predict_layers", least=0) or 0
    # V2 was trained without; later checkpoints may carry a module that their config leaves out.
    later = keys.text("model_type") != "deepseek_v2"
    modules = (Block(repeat=1, latent=mixers[0], experts=routed),) if later else ()
    hidden, vocab, tied = named
    return Shape(
        hidden=hidden, vocab=vocab, tied=tied, layers=layers, mtp=modules, drafting=drafting
    )


def minicpm3(keys: Keys) -> Shape:
    """Latent attention with dense layers; values are as wide as hidden / heads; head tied."""
    hidden, vocab, tied = base(keys, tied=True, family="MiniCPM3Config")
    layer = Block(repeat=1, latent=latent(keys, hidden), mlp=mlp(keys))
    layers = [layer] * keys.integer("num_hidden_layers")
    return Shape(hidden=hidden, vocab=vocab, tied=tied, layers=layers)


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
    count = keys.integer("num_hidden_layers")
    dense = mlp(keys)
    layers = [
        _routed(attention, routed if here else None, dense) for here in sparse_layers(keys, count)
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
    attention = grouped(keys, hidden, qkv_bias=True, out_bias=True, sinks=True)
    routed = experts(keys, keys.integer("intermediate_size"), bias=True, router_bias=True)
    count = keys.integer("num_hidden_layers")
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
    layers = [_routed(attention, routed)] * keys.integer("num_hidden_layers")
    if keys.maybe("num_mtp_modules", "num_nextn_predict_layers", least=0):
        keys.note("the config announces layers that draft (MTP); the checkpoints hold none")
    return Shape(hidden=hidden, vocab=vocab, tied=tied, layers=layers)


def mimo_v2(keys: Keys) -> Shape:
    """MiMo-V2-Flash: sliding layers have heads of their own and sinks; values are narrower than
    keys. The checkpoint holds three layers that draft, which the config does not mention.
    """
    hidden, vocab, tied = base(keys, tied=False, family="MiMoV2FlashConfig")
    count = keys.integer("num_hidden_layers")
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
    slides = keys.each("hybrid_layer_pattern", count)
    if slides is None:
        raise InputError("no hybrid_layer_pattern", expected="which layers slide")
    routed = deep_experts(keys, router_bias=True)
    dense = mlp(keys)
    layers = [
        _routed(near if slide else far, routed if here else None, dense)
        for slide, here in zip(slides, sparse_layers(keys, count), strict=True)
    ]
    mtp = _routed(near, None, dense)
    return Shape(hidden=hidden, vocab=vocab, tied=tied, layers=layers, mtp=(mtp,))


def llama4(keys: Keys) -> Shape:
    """Three layers of four attend within chunks; every `interleave_moe_layer_step`-th is sparse,
    beside a shared expert as wide as a routed one.
    """
    hidden, vocab, tied = base(keys, tied=False, family="Llama4TextConfig")
    count = keys.integer("num_hidden_layers")
    attention = grouped(keys, hidden)
    chunk = keys.integer("attention_chunk_size", default=8192, why="default of Llama4TextConfig")
    width = keys.integer("intermediate_size")
    routed = experts(keys, width, shared_width=width)
    step = keys.integer("interleave_moe_layer_step", default=1, why="default of Llama4TextConfig")
    dense = mlp(keys, "intermediate_size_mlp")
    # The file's list holds 1 where a layer has rotary positions, and these are the ones in chunks.
    listed = keys.each("no_rope_layers", count) if keys.data.get("no_rope_layers") else None
    chunked = listed or [(n + 1) % 4 != 0 for n in range(count)]
    keys.note(
        f"layers with rotary positions attend within chunks of {chunk:,} tokens, written as a "
        "window: on average a token sees half a chunk"
    )
    layers = [
        _routed(
            replace(attention, window=chunk if near else None),
            routed if (n + 1) % step == 0 else None,
            dense,
        )
        for n, near in enumerate(chunked)
    ]
    return Shape(hidden=hidden, vocab=vocab, tied=tied, layers=layers, tower=True)


def _routed(attention: Attention, routed: Experts | None, dense: Mlp | None = None) -> Block:
    return Block(repeat=1, attention=attention, experts=routed, mlp=None if routed else dense)


SPARSE: dict[str, Builder] = {
    "mixtral": mixtral,
    "phimoe": phimoe,
    "qwen2_moe": qwen2_moe,
    "qwen3_moe": qwen3_moe,
    "qwen3_vl_moe_text": qwen3_vl_moe,
    "deepseek_v2": deepseek,
    "deepseek_v3": deepseek,
    "kimi_k2": deepseek,
    "glm4_moe_lite": deepseek,
    "deepseek_v32": deepseek_sparse,
    "glm_moe_dsa": deepseek_sparse,
    "minicpm3": minicpm3,
    "glm4_moe": glm4_moe,
    "gpt_oss": gpt_oss,
    "minimax_m2": minimax_m2,
    "mimo_v2_flash": mimo_v2,
    "llama4_text": llama4,
}
