"""Families with latent attention: DeepSeek's, and those that took it over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from specplan.domain.layers import Block, Experts
from specplan.domain.mixers import LatentAttention
from specplan.importers.keys import Keys
from specplan.importers.shape import (
    Builder,
    Shape,
    base,
    deep_experts,
    dense_first,
    depth,
    indexer,
    latent,
    mlp,
)


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
    count = depth(keys)
    words = keys.words("indexer_types", count, {"full": 0, "shared": 0}) or ["full"] * count
    mixers = [own if word == "full" else attention for word in words]
    keys.note(
        "Sparse attention: a layer keeps the latent of every token and reads those that its "
        "indexer picks; the indexer's keys lie in a cache of their own, in FP8."
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
    count = depth(keys)
    sparse = dense_first(keys, count)
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
    layers = [layer] * depth(keys)
    return Shape(hidden=hidden, vocab=vocab, tied=tied, layers=layers)


DEEP: dict[str, Builder] = {
    "deepseek_v2": deepseek,
    "deepseek_v3": deepseek,
    "kimi_k2": deepseek,
    "glm4_moe_lite": deepseek,
    "deepseek_v32": deepseek_sparse,
    "glm_moe_dsa": deepseek_sparse,
    "minicpm3": minicpm3,
}
