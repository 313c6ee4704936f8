"""The longest context that a model was made for: as its file states it, or as its class has it."""

from __future__ import annotations

from typing import Final, NamedTuple

from specplan.domain.card import Source
from specplan.importers.keys import Keys

STATED: Final = (
    "max_position_embeddings",
    "seq_length",
    "max_sequence_length",
    "n_positions",
)
LONGER: Final = "model_max_length"  # says more than the others where it is there
NO_END = 2**27  # what tokenizers write for no limit lies above

SHORT = 512  # tokens that no model of WIDE hidden values, or of such a rotary base, was made for
WIDE = 1024
FAR = 1e6

CLASSES: Final = {
    "llama": ("LlamaConfig", 2048),
    "mistral": ("MistralConfig", 131_072),
    "mixtral": ("MixtralConfig", 131_072),
    "qwen2": ("Qwen2Config", 32_768),
    "qwen2_moe": ("Qwen2MoeConfig", 32_768),
    "qwen2_vl_text": ("Qwen2VLTextConfig", 32_768),
    "qwen3": ("Qwen3Config", 32_768),
    "qwen3_moe": ("Qwen3MoeConfig", 32_768),
    "qwen3_next": ("Qwen3NextConfig", 32_768),
    "qwen3_vl_text": ("Qwen3VLTextConfig", 128_000),
    "qwen3_vl_moe_text": ("Qwen3VLMoeTextConfig", 128_000),
    "gemma": ("GemmaConfig", 8192),
    "gemma2": ("Gemma2Config", 8192),
    "gemma3_text": ("Gemma3TextConfig", 131_072),
    "phi3": ("Phi3Config", 4096),
    "phimoe": ("PhimoeConfig", 131_072),
    "olmo": ("OlmoConfig", 2048),
    "olmo2": ("Olmo2Config", 2048),
    "olmo3": ("Olmo3Config", 2048),
    "cohere": ("CohereConfig", 8192),
    "falcon": ("FalconConfig", 2048),
    "glm4_moe": ("Glm4MoeConfig", 131_072),
    "gpt_oss": ("GptOssConfig", 131_072),
    "llama4_text": ("Llama4TextConfig", 131_072),
}
"""What max_position_embeddings is by default in transformers 4.57, by kind of model. Classes whose
default no model of theirs has (DeepSeek's) are left out.
"""


class Longest(NamedTuple):
    """A context in tokens, what it is a key or default of, and what to say about it."""

    tokens: int | None
    sources: tuple[Source, ...] = ()
    covered: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def longest(keys: Keys, kind: str = "") -> Longest:
    """The context of a config; `kind` is the family whose default counts where none is stated."""
    key, tokens = _stated(keys)
    if tokens is None:
        return _default(keys, kind)
    if tokens <= SHORT and _large(keys):
        said = f"The context of {tokens:,} tokens that the config states ({key})"
        return Longest(None, notes=(f"{said} is too short to be the model's: it is left out.",))
    return Longest(tokens, covered=("trained_context",))


def _stated(keys: Keys) -> tuple[str, int | None]:
    limit = keys.maybe(LONGER)
    if limit is not None and limit <= NO_END:
        return LONGER, limit
    for key in STATED:
        tokens = keys.maybe(key)
        if tokens is not None:
            return key, tokens
    return "", None


def _large(keys: Keys) -> bool:
    """Whether a config is of a model that cannot have been made for a few tokens."""
    base, hidden = keys.get("rope_theta"), keys.get("hidden_size")
    return (isinstance(base, int | float) and base >= FAR) or (
        isinstance(hidden, int) and hidden >= WIDE
    )


def _default(keys: Keys, kind: str) -> Longest:
    if kind not in CLASSES:
        return Longest(None, notes=("The config states no context.",))
    name, tokens = CLASSES[kind]
    keys.say(STATED[0], f"{tokens:,}: default of {name}")
    source = Source(
        of=("trained_context",), kind="config", cite=f"default of {name} in transformers"
    )
    note = f"The config states no context: {tokens:,} tokens are the default of {name}."
    return Longest(tokens, (source,), notes=(note,))
