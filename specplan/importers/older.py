"""Families with names of their own for what Llama later named."""

from __future__ import annotations

from specplan.domain.layers import Block, Mlp
from specplan.domain.mixers import Attention
from specplan.errors import InputError
from specplan.importers.keys import Keys
from specplan.importers.shape import (
    Builder,
    Shape,
    base,
    depth,
    grouped,
    mlp,
    shared_by,
    width_of,
)

OPT_OFFSET = 2  # rows of the position table before the first position


def opt(keys: Keys) -> Shape:
    """OPT and Galactica: plain feed-forward, learned positions, norms of two vectors; biases
    everywhere and a last norm unless the file says otherwise.
    """
    hidden, vocab, tied = base(keys, tied=True, family="OPTConfig")
    if keys.maybe("word_embed_proj_dim") not in {None, hidden}:
        what = "word_embed_proj_dim differs from hidden_size"
        raise InputError(f"{what}: an embedding narrower than the layers is not modelled")
    biased = keys.flag("enable_bias", default=True)
    vectors = 2 if keys.flag("layer_norm_elementwise_affine", default=True) else 0
    last = keys.flag("do_layer_norm_before", default=True)
    last = last and not keys.flag("_remove_final_layer_norm", default=False)
    attention = grouped(keys, hidden, qkv_bias=biased, out_bias=biased)
    feed = mlp(keys, "ffn_dim", gated=False, bias=biased)
    layer = Block(repeat=1, attention=attention, mlp=feed, norms=2 * vectors)
    return Shape(
        hidden=hidden,
        vocab=vocab,
        tied=tied,
        layers=[layer] * depth(keys),
        norms=vectors if last else 0,
        positions=keys.integer("max_position_embeddings") + OPT_OFFSET,
    )


def falcon(keys: Keys) -> Shape:
    """Falcon: one KV head where `multi_query` says so without the new decoder, whatever
    `num_kv_heads` prints; a parallel layer has one norm, or two before its two branches.
    """
    keys = keys.renamed(
        n_layer="num_hidden_layers", n_head="num_attention_heads", n_head_kv="num_kv_heads"
    )
    hidden, vocab, tied = base(keys, tied=True, family="FalconConfig")
    heads = keys.integer("num_attention_heads")
    new = keys.flag("new_decoder_architecture", default=keys.has("num_kv_heads") and _old(keys))
    biased = keys.flag("bias", default=False)
    attention = Attention(
        heads=heads,
        kv_heads=_falcon_kv(keys, heads, new=new),
        head_dim=width_of(keys, "head_dim", hidden, heads),
        qkv_bias=biased,
        out_bias=biased,
    )
    width = keys.integer("ffn_hidden_size", default=4 * hidden, why="4 x hidden_size")
    feed = Mlp(width=width, gated=False, bias=biased)
    apart = keys.maybe("num_ln_in_parallel_attn") or (2 if new else 1)
    norms = apart if keys.flag("parallel_attn", default=True) else 2
    layer = Block(repeat=1, attention=attention, mlp=feed, norms=2 * norms)
    return Shape(hidden=hidden, vocab=vocab, tied=tied, layers=[layer] * depth(keys), norms=2)


def _falcon_kv(keys: Keys, heads: int, *, new: bool) -> int:
    if new:
        kv_heads = keys.integer("num_kv_heads", default=heads, why="default of FalconConfig")
        return shared_by(heads, kv_heads)
    if keys.flag("multi_query", default=True, why="default of FalconConfig"):
        keys.say("num_kv_heads", "1: multi_query, whatever num_kv_heads says")
        return 1
    return heads


def _old(keys: Keys) -> bool:
    """RefinedWeb, the first 40B: KV heads by group without the key that says so."""
    return keys.text("model_type") == "RefinedWeb"


def chatglm(keys: Keys) -> Shape:
    """ChatGLM2 and 3, GLM-4-9B: groups of queries instead of KV heads."""
    if keys.has("inner_hidden_size") or keys.has("position_encoding_2d"):
        raise InputError("the first ChatGLM, whose prompt attends both ways, is not modelled")
    keys = keys.renamed(
        num_layers="num_hidden_layers", kv_channels="head_dim", padded_vocab_size="vocab_size"
    )
    hidden, vocab, tied = base(keys, tied=False, family="ChatGLMConfig")
    heads = keys.integer("num_attention_heads")
    groups = heads
    if keys.flag("multi_query_attention", default=False):
        groups = shared_by(heads, keys.integer("multi_query_group_num"))
    attention = Attention(
        heads=heads,
        kv_heads=groups,
        head_dim=keys.integer("head_dim"),
        qkv_bias=keys.flag("add_qkv_bias", default=False)
        or keys.flag("add_bias_linear", default=False),
        out_bias=keys.flag("add_bias_linear", default=False),
    )
    feed = mlp(keys, "ffn_hidden_size", bias=keys.flag("add_bias_linear", default=False))
    layer = Block(repeat=1, attention=attention, mlp=feed)
    layers = [layer] * depth(keys)
    return Shape(hidden=hidden, vocab=vocab, tied=tied, layers=layers)


def qwen(keys: Keys) -> Shape:
    """The first Qwen: `intermediate_size` is twice the width of each matrix."""
    hidden, vocab, tied = base(keys, tied=False, family="QWenConfig")
    heads = keys.integer("num_attention_heads")
    head_dim = keys.maybe("kv_channels") or width_of(keys, "kv_channels", hidden, heads)
    attention = Attention(heads=heads, kv_heads=heads, head_dim=head_dim, qkv_bias=True)
    both = keys.integer("intermediate_size")
    if both % 2:
        raise keys.wrong("intermediate_size", both, "an even number, of two matrices")
    width = both // 2
    keys.say("intermediate_size", f"{width:,}: half of intermediate_size, which counts both")
    layer = Block(repeat=1, attention=attention, mlp=Mlp(width=width))
    layers = [layer] * depth(keys)
    return Shape(hidden=hidden, vocab=vocab, tied=tied, layers=layers)


def baichuan(keys: Keys) -> Shape:
    """Baichuan: queries, keys and values in one matrix, a KV head for each head."""
    hidden, vocab, tied = base(keys, tied=False, family="BaichuanConfig")
    layer = Block(repeat=1, attention=grouped(keys, hidden), mlp=mlp(keys))
    layers = [layer] * depth(keys)
    return Shape(hidden=hidden, vocab=vocab, tied=tied, layers=layers)


OLDER: dict[str, Builder] = {
    "opt": opt,
    "falcon": falcon,
    "RefinedWeb": falcon,
    "RefinedWebModel": falcon,
    "chatglm": chatglm,
    "qwen": qwen,
    "baichuan": baichuan,
}
