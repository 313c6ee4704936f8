"""Dense decoders of the Llama kind: what each family adds, leaves out, or takes for granted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

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
    windows,
)

Windows = Callable[[Keys, int], list[int | None]]


def everywhere(_: Keys, count: int) -> list[int | None]:
    """Every layer sees every token, whatever window a file announces."""
    return [None] * count


def all_alike(keys: Keys, count: int) -> list[int | None]:
    """One window for all layers; one that no context reaches is none (Phi-4 mini)."""
    window = keys.maybe("sliding_window")
    longest = keys.maybe("max_position_embeddings")
    if window and longest and window >= longest:
        said = f"The window of {window:,} tokens (sliding_window) is no less than the longest"
        keys.note(f"{said} context: it is none.")
        return [None] * count
    return [window] * count


def mistral(keys: Keys, count: int) -> list[int | None]:
    """Null means none; absent means the class default of 4,096."""
    if "sliding_window" not in keys.data:
        keys.say("sliding_window", "4,096: default of MistralConfig")
        return [4096] * count
    return all_alike(keys, count)


def switched(keys: Keys, count: int) -> list[int | None]:
    """Qwen's window, which counts only where `use_sliding_window` says so, and not in the first
    `max_window_layers` layers.
    """
    stated = keys.maybe("sliding_window")
    if not keys.flag("use_sliding_window", default=False):
        if stated:
            said = f"The window of {stated:,} tokens (sliding_window) is off"
            keys.note(f"{said}: use_sliding_window is not true.")
        return [None] * count
    if "sliding_window" in keys.data and stated is None:
        return [None] * count
    window = keys.integer("sliding_window", default=4096, why="default of Qwen's configs")
    first = keys.maybe("max_window_layers", least=0)
    if first is None:
        first = keys.integer("max_window_layers", default=28, why="default of Qwen's configs")
    return windows(keys, count, window, lambda n: n >= first)


def olmo3(keys: Keys, count: int) -> list[int | None]:
    """Three layers of four slide."""
    return windows(keys, count, keys.integer("sliding_window"), lambda n: (n + 1) % 4 != 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dense:
    """What tells a family of plain decoders from Llama."""

    name: str
    tied: bool = False
    qkv_bias: bool = False
    bias_key: bool = False  # attention_bias, on all four projections
    qk_norm: bool = False
    qk_norm_all_heads: bool = False
    norms: int = 2
    last_norm: int = 1
    window: Windows = everywhere
    tower: bool = False
    defaults: Mapping[str, int] = field(default_factory=dict)

    def __call__(self, keys: Keys) -> Shape:
        """The shape that a config of this family describes. One within another leaves out what its
        class has by default.
        """
        if keys.prefix:
            keys = keys.over(self.defaults, f"default of {self.name}")
        hidden, vocab, tied = base(keys, tied=self.tied, family=self.name)
        count = depth(keys)
        biased = self.bias_key and keys.flag("attention_bias", default=False)
        attention = grouped(
            keys,
            hidden,
            qkv_bias=self.qkv_bias or biased,
            out_bias=biased,
            qk_norm=self.qk_norm,
            qk_norm_all_heads=self.qk_norm_all_heads,
        )
        feed = mlp(keys, bias=keys.flag("mlp_bias", default=False))
        layers = [
            Block(repeat=1, attention=replace(attention, window=w), mlp=feed, norms=self.norms)
            for w in self.window(keys, count)
        ]
        drafting = keys.maybe("num_nextn_predict_layers", least=0) or 0
        return Shape(
            hidden=hidden,
            vocab=vocab,
            tied=tied,
            layers=layers,
            norms=self.last_norm,
            mtp=layers[-1:] if drafting else (),
            drafting=drafting,
            tower=self.tower,
        )


def phi3(keys: Keys) -> Shape:
    """Phi-3: q, k, v and the feed-forward are fused; the sum is the same."""
    return Dense(name="Phi3Config", window=all_alike)(keys)


def cohere(keys: Keys) -> Shape:
    """Command R: one norm for mixer and feed-forward side by side, and a tied head."""
    shape = Dense(name="CohereConfig", tied=True, bias_key=True, norms=1)(keys)
    if not keys.flag("use_qk_norm", default=False):
        return shape
    layers = [replace(layer, attention=_normed(layer)) for layer in shape.layers]
    return replace(shape, layers=layers)


def _normed(layer: Block) -> Attention | None:
    """Cohere norms every head with a vector of its own."""
    return replace(layer.attention, qk_norm_all_heads=True) if layer.attention else None


def nas(keys: Keys) -> Shape:
    """Nemotron-NAS: each layer has its own number of KV heads and width, or lacks the one or the
    other.
    """
    hidden, vocab, tied = base(keys, tied=False, family="DeciLMConfig")
    count, heads = depth(keys), keys.integer("num_attention_heads")
    entries = keys.each("block_configs", count)
    if entries is None:
        raise InputError("no block_configs", expected="what each layer holds")
    head_dim = width_of(keys, "head_dim", hidden, heads)
    layers = []
    for number, entry in enumerate(entries):
        name = f"block_configs[{number}]"
        inner = Keys({name: entry}, keys.prefix).within(name)
        layers.append(_nas_layer(inner, hidden, heads, head_dim))
    keys.say("block_configs", f"{count} layers: KV heads and widths of each")
    return Shape(hidden=hidden, vocab=vocab, tied=tied, layers=layers)


def _nas_layer(block: Keys, hidden: int, heads: int, head_dim: int) -> Block:
    attends, feeds = block.within("attention"), block.within("ffn")
    for part in (attends, feeds):
        for name in ("replace_with_linear", "sparsify"):
            value = part.get(name)
            if value is not None and value is not False:
                raise InputError(f"{part.prefix}{name}: a layer made otherwise is not modelled")
    attention = feed = None
    if not attends.flag("no_op", default=False):
        group = attends.integer("n_heads_in_group")
        kv_heads = heads // shared_by(heads, group)
        window = attends.maybe("window_length")
        attention = Attention(heads=heads, kv_heads=kv_heads, head_dim=head_dim, window=window)
    if not feeds.flag("no_op", default=False):
        feed = Mlp(width=feeds.maybe("intermediate_size") or _nas_width(feeds, hidden))
    norms = (attention is not None) + (feed is not None)
    return Block(repeat=1, attention=attention, mlp=feed, norms=norms)


def _nas_width(feeds: Keys, hidden: int) -> int:
    """Two thirds of `ffn_mult` hidden widths, up to the next 256."""
    if not feeds.has("ffn_mult"):
        raise InputError(f"no {feeds.prefix}ffn_mult", expected="the width of a layer")
    wide = int(2 * feeds.number("ffn_mult", 1.0) * hidden / 3)
    return max(-(-wide // 256), 1) * 256


# What these classes have where a config within a config is silent (LLaVA 1.5 and 1.6).
SMALL = {
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "vocab_size": 32_000,
}
LLAMA = {**SMALL, "intermediate_size": 11_008}
MISTRAL = {**SMALL, "intermediate_size": 14_336}

DENSE: dict[str, Builder] = {
    "llama": Dense(name="LlamaConfig", bias_key=True, defaults=LLAMA),
    "mistral": Dense(name="MistralConfig", window=mistral, defaults=MISTRAL),
    "ministral3": Dense(name="Ministral3Config", window=all_alike),
    "qwen2": Dense(name="Qwen2Config", qkv_bias=True, window=switched),
    "mimo": Dense(name="MiMoConfig", qkv_bias=True, window=switched),
    "qwen3": Dense(name="Qwen3Config", bias_key=True, qk_norm=True, window=switched),
    "qwen3_vl_text": Dense(name="Qwen3VLTextConfig", bias_key=True, qk_norm=True, tower=True),
    "phi3": phi3,
    "phi4": phi3,
    "olmo": Dense(name="OlmoConfig", bias_key=True, norms=0, last_norm=0),
    "olmo2": Dense(name="Olmo2Config", bias_key=True, qk_norm_all_heads=True),
    "olmo3": Dense(name="Olmo3Config", bias_key=True, qk_norm_all_heads=True, window=olmo3),
    "qwen2_vl_text": Dense(name="Qwen2VLConfig", qkv_bias=True, window=switched, tower=True),
    "cohere": cohere,
    "nemotron-nas": nas,
}
