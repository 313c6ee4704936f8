"""The Gemma families: tied heads, four norms, windows that alternate."""

from __future__ import annotations

from dataclasses import replace

from specplan.domain.layers import Block
from specplan.domain.mixers import Attention
from specplan.errors import InputError
from specplan.importers.keys import Keys
from specplan.importers.shape import (
    SLIDING,
    Builder,
    Shape,
    base,
    depth,
    experts,
    grouped,
    mlp,
    shared_by,
    windows,
)

# What Gemma3TextConfig has where a file is silent (google/gemma-3-4b-it states none of these).
GEMMA3 = {
    "vocab_size": 262_208,
    "hidden_size": 2304,
    "intermediate_size": 9216,
    "num_hidden_layers": 26,
    "num_attention_heads": 8,
    "sliding_window": 4096,
}


def gemma(keys: Keys) -> Shape:
    """The first: plain layers, heads of 256."""
    hidden, vocab, tied = base(keys, tied=True, family="GemmaConfig")
    layer = Block(repeat=1, attention=grouped(keys, hidden), mlp=mlp(keys))
    layers = [layer] * depth(keys)
    return Shape(hidden=hidden, vocab=vocab, tied=tied, layers=layers)


def gemma2(keys: Keys) -> Shape:
    """Every other layer slides, the first one too."""
    hidden, vocab, tied = base(keys, tied=True, family="Gemma2Config")
    attention = grouped(keys, hidden)
    count = depth(keys)
    window = keys.integer("sliding_window", default=4096, why="default of Gemma2Config")
    seen = windows(keys, count, window, lambda n: n % 2 == 0)
    return Shape(
        hidden=hidden, vocab=vocab, tied=tied, layers=_layers(keys, attention, seen, norms=4)
    )


def gemma3(keys: Keys) -> Shape:
    """Five sliding layers to one that sees all, unless the file says otherwise."""
    keys = keys.renamed(sliding_window_attention_size="sliding_window")
    keys = keys.over(GEMMA3, "default of Gemma3TextConfig")
    hidden, vocab, tied = base(keys, tied=True, family="Gemma3TextConfig")
    attention = grouped(keys, hidden, qk_norm=True)
    count, window = depth(keys), keys.integer("sliding_window")
    pattern = keys.integer(
        "sliding_window_pattern",
        "_sliding_window_pattern",
        default=6,
        why="default of Gemma3TextConfig",
    )
    seen = windows(keys, count, window, lambda n: (n + 1) % pattern != 0)
    return Shape(
        hidden=hidden, vocab=vocab, tied=tied, layers=_layers(keys, attention, seen, norms=4)
    )


def gemma4(keys: Keys) -> Shape:
    """Layers that see all have heads, and KV heads, of their own, and no value projection; sparse
    models route beside the dense feed-forward of the same layer.
    """
    _plain(keys)
    hidden, vocab, tied = base(keys, tied=True, family="Gemma4TextConfig")
    near = grouped(keys, hidden, qk_norm=True)
    wide = replace(near, head_dim=keys.integer("global_head_dim"))
    if keys.flag("attention_k_eq_v", default=False):
        kv_heads = keys.maybe("num_global_key_value_heads") or near.kv_heads
        kv_heads = shared_by(near.heads, kv_heads)
        wide = replace(wide, kv_heads=kv_heads, keys_are_values=True)
    count = depth(keys)
    window = keys.integer("sliding_window")
    words = keys.words("layer_types", count, SLIDING)
    if words is None:
        raise InputError("no layer_types", expected="which layers slide")
    routed, norms = None, 4
    if keys.flag("enable_moe_block", default=False):
        width = keys.integer("moe_intermediate_size", "expert_intermediate_size")
        routed, norms = experts(keys, width, router_bias=True), 8
    layers = [
        Block(
            repeat=1,
            attention=replace(near, window=window) if SLIDING[word] else wide,
            mlp=mlp(keys),
            experts=routed,
            norms=norms,
        )
        for word in words
    ]
    return Shape(hidden=hidden, vocab=vocab, tied=tied, layers=layers, tower=True)


def _plain(keys: Keys) -> None:
    """Refuses what the smallest Gemma 4 models add."""
    if keys.maybe("hidden_size_per_layer_input", least=0):
        what = "hidden_size_per_layer_input: an embedding for every layer is not modelled"
        raise InputError(what)
    if keys.maybe("num_kv_shared_layers", least=0):
        raise InputError("num_kv_shared_layers: layers that share a cache are not modelled")


def _layers(keys: Keys, attention: Attention, seen: list[int | None], *, norms: int) -> list[Block]:
    feed = mlp(keys)
    return [
        Block(repeat=1, attention=replace(attention, window=window), mlp=feed, norms=norms)
        for window in seen
    ]


GEMMA: dict[str, Builder] = {
    "gemma": gemma,
    "gemma2": gemma2,
    "gemma3_text": gemma3,
    "gemma4_text": gemma4,
}
