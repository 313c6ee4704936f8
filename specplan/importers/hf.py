"""From a foreign config to a model card: which family it is, what it holds, how it is stored."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from specplan.domain.architecture import Architecture
from specplan.errors import InputError
from specplan.importers.deep import DEEP
from specplan.importers.defaults import with_defaults
from specplan.importers.dense import DENSE
from specplan.importers.gemma import GEMMA
from specplan.importers.hybrid import HYBRID
from specplan.importers.keys import Keys
from specplan.importers.older import OLDER
from specplan.importers.shape import Builder, Shape, merged
from specplan.importers.sparse import SPARSE
from specplan.importers.unread import refuse_unread
from specplan.visible import visible

FAMILIES: dict[str, Builder] = {**DENSE, **GEMMA, **SPARSE, **DEEP, **HYBRID, **OLDER}
"""How each `model_type` is read. A kind that is not here is refused: its layers may hold weights
that no key of its config names.
"""

# What `model_type` of the text part stands for, where files name it otherwise.
ALSO = {
    "gemma3": "gemma3_text",
    "gemma3n_text": "gemma3n",
    "gemma4": "gemma4_text",
    "llama4": "llama4_text",
    "qwen2_5_vl": "qwen2_vl_text",
    "qwen2_5_vl_text": "qwen2_vl_text",
    "qwen2_vl": "qwen2_vl_text",
    "qwen3_5": "qwen3_5_text",
    "qwen3_5_moe": "qwen3_5_moe_text",
    "qwen3_vl": "qwen3_vl_text",
    "qwen3_vl_moe": "qwen3_vl_moe_text",
    "mistral3": "mistral",
}
BY_CLASS = {
    "MiniCPM3ForCausalLM": "minicpm3",
    "OPTForCausalLM": "opt",
    "DeciLMForCausalLM": "nemotron-nas",
}
NESTED = ("text_config", "language_config", "llm_config")
TOWERS = ("vision_config", "visual", "vision_tower")

ENCODER = "an encoder-decoder: a planner of decoders has no place for its encoder"
ONLY_ENCODER = "an encoder: it generates nothing, token by token or otherwise"
COMPRESSED = "compressed attention, hash layers and hyper-connections are not modelled"
STATES = "a model without attention has no cache to plan"
MIXED = "its mixers between attention layers are not modelled"
SPEAKING = "several models that speak to each other (thinker, talker, codec) are not one decoder"
REFUSED = {
    **dict.fromkeys(("t5", "mt5", "umt5", "longt5", "t5gemma", "bart", "mbart"), ENCODER),
    **dict.fromkeys(("pegasus", "whisper", "m2m_100", "marian"), ENCODER),
    **dict.fromkeys(("bert", "roberta", "xlm-roberta", "deberta-v2", "modernbert"), ONLY_ENCODER),
    **dict.fromkeys(("electra", "distilbert", "mpnet", "nomic_bert"), ONLY_ENCODER),
    **dict.fromkeys(("deepseek_v4", "deepseek_ref"), COMPRESSED),
    **dict.fromkeys(("mamba", "mamba2", "falcon_mamba", "rwkv", "rwkv6", "rwkv7"), STATES),
    **dict.fromkeys(("jamba", "zamba", "zamba2", "bamba", "falcon_h1", "lfm2"), MIXED),
    **dict.fromkeys(("granitemoehybrid", "recurrent_gemma", "minimax"), MIXED),
    **dict.fromkeys(("qwen2_5_omni", "qwen3_omni_moe", "qwen2_5_omni_text"), SPEAKING),
    "cohere2": "windows that alternate and layers without positions are not read for Command A",
    "gemma3n": "embeddings for every layer, layers that share a cache and predictions of hidden "
    "states (AltUp) are not modelled",
    "kimi_linear": "Kimi delta attention and experts of a routed width of their own are not "
    "modelled, and no published count could confirm a reading",
    "minimax_m3": "block-sparse attention with its own index heads is not modelled",
    "mllama_text_model": "cross-attention layers on images are not modelled",
    "muse_glimmer_text": "no public model code says what its layers hold",
    "laguna": "gates per head and heads that differ by layer, in code of its own, are not modelled",
    "phi3small": "block-sparse attention is not modelled",
    "step3p7": "no public model code says what its layers hold",
    "chinchilla": "not a config that anybody published",
}


@dataclass(frozen=True, slots=True)
class Config:
    """The part of a config that describes the language model, and the whole that it lies in."""

    top: Mapping[str, object]
    keys: Keys
    kind: str

    @property
    def nested(self) -> bool:
        """Whether the language model is one part of a larger one."""
        return self.keys.data is not self.top

    @property
    def tower(self) -> bool:
        """Whether an encoder of images or sound lies beside it."""
        return self.hears or any(self.top.get(name) is not None for name in TOWERS)

    @property
    def hears(self) -> bool:
        """Whether an encoder of sound does."""
        return self.top.get("audio_config") is not None

    @property
    def wrapped(self) -> bool:
        """Whether the file is that of a larger model, by where the text part lies and is named."""
        kind = self.top.get("model_type")
        return self.nested or not (isinstance(kind, str) and kind.endswith("_text"))


def described(config: Mapping[str, object]) -> Config:
    """The language model of a config: under `text_config` where there is one, whose missing
    `tie_word_embeddings` is that of the whole.
    """
    keys = Keys(config)
    for name in NESTED:
        if keys.has(name):
            inner = _tied_as(keys.within(name), config.get("tie_word_embeddings"))
            kind = inner.text("model_type") or keys.text("model_type")
            return Config(config, inner, ALSO.get(kind, kind))
    kind = keys.text("model_type") or _class_kind(keys)
    return Config(config, keys, ALSO.get(kind, kind))


def _tied_as(inner: Keys, whole: object) -> Keys:
    """The language model with the whole's word on its head, where it has none of its own."""
    own = inner.data.get("tie_word_embeddings")
    if own is not None and whole is not None and own != whole:
        inner.note(f"Of two words on a tied head, {inner.prefix}tie_word_embeddings is taken.")
    return inner.over({"tie_word_embeddings": whole}, "tie_word_embeddings")


def shape_of(config: Config) -> Shape:
    """Its layers, or a refusal that names what stands in the way."""
    keys, kind = config.keys, config.kind
    if config.top.get("is_encoder_decoder") is True:
        raise InputError(ENCODER)
    if kind in REFUSED:
        raise InputError(f"model_type {kind}: {REFUSED[kind]}")
    ways = keys.get("use_bidirectional_attention")  # "vision" is of images alone
    if ways is True or ways == "all":
        raise InputError(f"{keys.prefix}use_bidirectional_attention: {ONLY_ENCODER}")
    builder = FAMILIES.get(kind)
    if builder is None:
        if not kind:
            hint = "a config.json of Hugging Face has a model_type"
            raise InputError("no model_type", expected="the kind of model", hint=hint)
        shown = visible(kind, 40)
        raise InputError(
            f"model_type '{shown}' is not known: its layers may hold what no key names",
            hint="write its card by hand (models/README.md), or ask for the family",
        )
    shape = builder(with_defaults(keys, kind))
    refuse_unread(keys, kind)
    # A family that comes with an encoder also has text models without: their type says so.
    return replace(shape, tower=config.tower or (shape.tower and config.wrapped))


def drafting_layer(shape: Shape) -> Architecture | None:
    """One module for multi-token prediction: the last hidden state and an embedding, both normed,
    joined into a layer like the model's own; embedding and head are the model's.
    """
    if not shape.mtp:
        return None
    return Architecture(
        hidden=shape.hidden,
        vocab=shape.vocab,
        tied_embeddings=True,
        borrowed_head=True,
        blocks=merged(shape.mtp),
        fuse=2,
        fuse_each=True,
        norms=3,
    )


def plain_name(text: str) -> str:
    """A name of the catalogue from a file's or a hub's: its last part, in lower case."""
    last = text.rstrip("/").split("/")[-1].split("__")[-1].lower()
    return re.sub(r"[^a-z0-9._-]+", "-", last).strip("-._")[:64].rstrip("-._") or "model"


def _class_kind(keys: Keys) -> str:
    """The kind that the class name stands for, where a file has no model_type."""
    for name in keys.items("architectures") or ():
        if isinstance(name, str) and name in BY_CLASS:
            keys.say("model_type", f"{BY_CLASS[name]}: architectures names {name}")
            return BY_CLASS[name]
    return ""
