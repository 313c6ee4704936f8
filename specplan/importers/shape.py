"""The shape that a foreign config is read into, and the parts that many families share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from specplan.domain.architecture import Architecture
from specplan.domain.layers import Block, Experts, Mlp
from specplan.domain.mixers import Attention, Indexer, LatentAttention
from specplan.errors import InputError
from specplan.importers.keys import Keys


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A model layer by layer, in its own order, before equal ones are written once.

    `mtp` are the layers of one module for multi-token prediction as a checkpoint may carry it,
    `drafting` how many modules the config announces, `unmentioned` how many the checkpoints of a
    family hold of which no config speaks, `tower` whether it has an encoder of images or sound.
    """

    hidden: int
    vocab: int
    tied: bool
    layers: Sequence[Block]
    norms: int = 1
    head_bias: bool = False
    positions: int | None = None
    mtp: Sequence[Block] = ()
    drafting: int = 0
    unmentioned: int = 0
    tower: bool = False

    def architecture(self) -> Architecture:
        """Equal layers once, in the order in which they first appear."""
        return Architecture(
            hidden=self.hidden,
            vocab=self.vocab,
            tied_embeddings=self.tied,
            blocks=merged(self.layers),
            norms=self.norms,
            head_bias=self.head_bias,
            positions=self.positions,
        )


Builder = Callable[[Keys], Shape]

MOST_LAYERS = 1000


def merged(layers: Sequence[Block]) -> tuple[Block, ...]:
    """Equal layers written once, `repeat` added up."""
    blocks: list[Block] = []
    for layer in layers:
        for number, block in enumerate(blocks):
            if replace(block, repeat=layer.repeat) == layer:
                blocks[number] = replace(block, repeat=block.repeat + layer.repeat)
                break
        else:
            blocks.append(layer)
    return tuple(blocks)


def base(keys: Keys, *, tied: bool, family: str) -> tuple[int, int, bool]:
    """Hidden width, vocabulary, and whether the head is the embedding."""
    hidden = keys.integer("hidden_size")
    vocab = keys.integer("vocab_size", "padded_vocab_size")
    why = f"default of {family}"
    return hidden, vocab, keys.flag("tie_word_embeddings", default=tied, why=why)


def depth(keys: Keys) -> int:
    """How many layers there are."""
    return keys.integer("num_hidden_layers", most=MOST_LAYERS)


def width_of(keys: Keys, name: str, whole: int, heads: int) -> int:
    """The width of one head where a file does not state it: the heads divide the hidden width."""
    if whole % heads:
        raise InputError(f"no {keys.prefix}{name}, and {heads:,} heads do not divide {whole:,}")
    keys.say(name, f"{whole // heads}: absent, hidden_size / num_attention_heads")
    return whole // heads


def shared_by(heads: int, kv_heads: int) -> int:
    """The KV heads, each for as many heads as any other."""
    if heads % kv_heads:
        what = f"{kv_heads:,} KV heads for {heads:,} heads"
        raise InputError(what, expected="a number that divides the heads")
    return kv_heads


def grouped(keys: Keys, hidden: int, **extra: object) -> Attention:
    """Grouped-query attention from the usual keys."""
    count = keys.integer("num_attention_heads")
    kv_heads = keys.integer("num_key_value_heads", default=count, why="absent, one for each head")
    shared_by(count, kv_heads)
    head_dim = keys.maybe("head_dim", "attention_head_dim")
    if head_dim is None:
        head_dim = width_of(keys, "head_dim", hidden, count)
    made = Attention(heads=count, kv_heads=kv_heads, head_dim=head_dim)
    return replace(made, **extra)  # type: ignore[arg-type]


def latent(keys: Keys, hidden: int) -> LatentAttention:
    """Multi-head latent attention; head_dim and KV heads of the file say nothing here."""
    heads = keys.integer("num_attention_heads")
    value = keys.maybe("v_head_dim")
    if value is None:
        value = width_of(keys, "v_head_dim", hidden, heads)
    return LatentAttention(
        heads=heads,
        latent=keys.integer("kv_lora_rank"),
        rope=keys.integer("qk_rope_head_dim"),
        nope=keys.integer("qk_nope_head_dim"),
        value=value,
        q_rank=keys.maybe("q_lora_rank", least=0) or None,
        qkv_bias=keys.flag("attention_bias", default=False),
    )


def indexer(keys: Keys) -> Indexer:
    """What picks tokens for sparse attention."""
    return Indexer(heads=keys.integer("index_n_heads"), head_dim=keys.integer("index_head_dim"))


def mlp(keys: Keys, *names: str, gated: bool = True, bias: bool = False) -> Mlp:
    """A dense feed-forward."""
    width = keys.integer(*(names or ("intermediate_size",)))
    return Mlp(width=width, gated=gated, bias=bias)


EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts")
ACTIVE = ("num_experts_per_tok", "experts_per_token", "num_experts_per_token", "top_k_experts")


def experts(keys: Keys, width: int, **extra: object) -> Experts:
    """Routed experts of a width, from the keys that families use for their number."""
    count, active = keys.integer(*EXPERTS), keys.integer(*ACTIVE)
    if active > count:
        raise InputError(f"{active} of {count} experts run for a token", expected="at most all")
    made = Experts(experts=count, active=active, width=width)
    return replace(made, **extra)  # type: ignore[arg-type]


def deep_experts(keys: Keys, **extra: object) -> Experts:
    """Experts as DeepSeek writes them: shared ones are so many of the routed width."""
    width = keys.integer("moe_intermediate_size")
    shared = keys.maybe("n_shared_experts", "num_shared_experts", least=0) or 0
    return experts(keys, width, shared_width=shared * width, **extra)


def sparse_layers(keys: Keys, count: int) -> list[bool]:
    """Which layers route to experts: `mlp_layer_types`, `moe_layer_freq` (number or list),
    `first_k_dense_replace`, `mlp_only_layers` with `decoder_sparse_step`.
    """
    words = keys.words("mlp_layer_types", count, {"dense": 0, "sparse": 0})
    if words:
        return [word == "sparse" for word in words]
    if isinstance(keys.get("moe_layer_freq"), list):
        return keys.marks("moe_layer_freq", count) or []
    dense = keys.maybe("first_k_dense_replace", least=0) or 0
    every = keys.maybe("moe_layer_freq", "decoder_sparse_step") or 1
    offset = 0 if keys.has("first_k_dense_replace") or keys.has("moe_layer_freq") else 1
    only = keys.numbers("mlp_only_layers")
    return [n >= dense and (n + offset) % every == 0 and n not in only for n in range(count)]


def dense_first(keys: Keys, count: int) -> list[bool]:
    """The same for families whose first layers are dense, which classes default to otherwise."""
    listed = keys.has("mlp_layer_types") or isinstance(keys.get("moe_layer_freq"), list)
    if not listed and not keys.has("first_k_dense_replace"):
        what = f"no {keys.prefix}first_k_dense_replace"
        raise InputError(what, expected="how many layers come before the sparse ones")
    return sparse_layers(keys, count)


SLIDING = {"full_attention": False, "sliding_attention": True}


def windows(
    keys: Keys, count: int, window: int, default: Callable[[int], bool]
) -> list[int | None]:
    """How far back each layer looks: by `layer_types`, else by the family's rule for layer n."""
    words = keys.words("layer_types", count, SLIDING)
    sliding = [SLIDING[w] for w in words] if words else [default(n) for n in range(count)]
    return [window if slides else None for slides in sliding]
