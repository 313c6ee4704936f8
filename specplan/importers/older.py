"""Families with names of their own for what Llama later named."""

from __future__ import annotations

from specplan.domain.layers import Block, Mlp
from specplan.domain.mixers import Attention
from specplan.errors import InputError
from specplan.importers.keys import Keys
from specplan.importers.shape import Builder, Shape, base, grouped, mlp

OPT_OFFSET = 2  # rows of the position table before the first position


def opt(keys: Keys) -> Shape:
    """OPT: plain feed-forward, biases everywhere, learned positions, norms of two vectors."""
    hidden, vocab, tied = base(keys, tied=True, family="OPTConfig")
    if keys.maybe("word_embed_proj_dim") not in {None, hidden}:
        raise InputError("word_embed_proj_dim differs from hidden_size: not modelled")
    attention = grouped(keys, hidden, qkv_bias=True, out_bias=True)
    feed = mlp(keys, "ffn_dim", gated=False, bias=True)
    layer = Block(repeat=1, attention=attention, mlp=feed, norms=4)
    return Shape(
        hidden=hidden,
        vocab=vocab,
        tied=tied,
        layers=[layer] * keys.integer("num_hidden_layers"),
        norms=2,
        positions=keys.integer("max_position_embeddings") + OPT_OFFSET,
    )


def falcon(keys: Keys) -> Shape:
    """Falcon: one KV head where `multi_query` says so without the new decoder, whatever
    `num_kv_heads` prints; the new decoder has two norms a layer, the parallel one has one.
    """
    keys = _renamed(
        keys, n_layer="num_hidden_layers", n_head="num_attention_heads", n_head_kv="num_kv_heads"
    )
    hidden, vocab, tied = base(keys, tied=True, family="FalconConfig")
    heads = keys.integer("num_attention_heads")
    new = keys.flag("new_decoder_architecture", default=keys.has("num_kv_heads") and _old(keys))
    if new:
        kv_heads = keys.integer("num_kv_heads", default=heads, why="default of FalconConfig")
    elif keys.flag("multi_query", default=True, why="default of FalconConfig"):
        kv_heads = 1
        keys.say("num_kv_heads", "1: multi_query, whatever num_kv_heads says")
    else:
        kv_heads = heads
    biased = keys.flag("bias", default=False)
    attention = Attention(
        heads=heads,
        kv_heads=kv_heads,
        head_dim=hidden // heads,
        qkv_bias=biased,
        out_bias=biased,
    )
    width = keys.integer("ffn_hidden_size", default=4 * hidden, why="4 x hidden_size")
    feed = Mlp(width=width, gated=False, bias=biased)
    single = not new and keys.flag("parallel_attn", default=True)
    layer = Block(repeat=1, attention=attention, mlp=feed, norms=2 if single else 4)
    layers = [layer] * keys.integer("num_hidden_layers")
    return Shape(hidden=hidden, vocab=vocab, tied=tied, layers=layers, norms=2)


def _old(keys: Keys) -> bool:
    """RefinedWeb, the first 40B: KV heads by group without the key that says so."""
    return keys.text("model_type") == "RefinedWeb"


def chatglm(keys: Keys) -> Shape:
    """ChatGLM2 and 3, GLM-4-9B: groups of queries instead of KV heads."""
    keys = _renamed(
        keys, num_layers="num_hidden_layers", kv_channels="head_dim", padded_vocab_size="vocab_size"
    )
    hidden, vocab, tied = base(keys, tied=False, family="ChatGLMConfig")
    heads = keys.integer("num_attention_heads")
    groups = heads
    if keys.flag("multi_query_attention", default=False):
        groups = keys.integer("multi_query_group_num")
    attention = Attention(
        heads=heads,
        kv_heads=groups,
        head_dim=keys.integer("head_dim"),
        qkv_bias=keys.flag("add_qkv_bias", default=False)
        or keys.flag("add_bias_linear", default=False),
    )
    feed = mlp(keys, "ffn_hidden_size", bias=keys.flag("add_bias_linear", default=False))
    layer = Block(repeat=1, attention=attention, mlp=feed)
    layers = [layer] * keys.integer("num_hidden_layers")
    return Shape(hidden=hidden, vocab=vocab, tied=tied, layers=layers)


def qwen(keys: Keys) -> Shape:
    """The first Qwen: `intermediate_size` is twice the width of each matrix."""
    hidden, vocab, tied = base(keys, tied=False, family="QWenConfig")
    heads = keys.integer("num_attention_heads")
    head_dim = keys.integer("kv_channels", default=hidden // heads, why="hidden_size / heads")
    attention = Attention(heads=heads, kv_heads=heads, head_dim=head_dim, qkv_bias=True)
    width = keys.integer("intermediate_size") // 2
    keys.say("intermediate_size", f"{width:,}: half of intermediate_size, which counts both")
    layer = Block(repeat=1, attention=attention, mlp=Mlp(width=width))
    layers = [layer] * keys.integer("num_hidden_layers")
    return Shape(hidden=hidden, vocab=vocab, tied=tied, layers=layers)


def baichuan(keys: Keys) -> Shape:
    """Baichuan: queries, keys and values in one matrix, a KV head for each head."""
    hidden, vocab, tied = base(keys, tied=False, family="BaichuanConfig")
    layer = Block(repeat=1, attention=grouped(keys, hidden), mlp=mlp(keys))
    layers = [layer] * keys.integer("num_hidden_layers")
    return Shape(hidden=hidden, vocab=vocab, tied=tied, layers=layers)


def _renamed(keys: Keys, **names: str) -> Keys:
    """The same keys, old names read as new ones where these are absent."""
    data = dict(keys.data)
    for old, new in names.items():
        if data.get(old) is not None:
            data[new] = data[old] if data.get(new) is None else data[new]
    return Keys(data, keys.prefix, keys.basis, keys.notes)


OLDER: dict[str, Builder] = {
    "opt": opt,
    "falcon": falcon,
    "RefinedWeb": falcon,
    "RefinedWebModel": falcon,
    "chatglm": chatglm,
    "qwen": qwen,
    "baichuan": baichuan,
}
