"""What the class of a family has for KV heads and the width of a head where a file is silent.

An absent key stands for the class's own default; null for what the class computes, if it does.
Defaults as in huggingface/transformers (Apache-2.0), src/transformers/models/*/configuration_*.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from specplan.errors import InputError
from specplan.importers.keys import Keys

KV_HEADS: Final = "num_key_value_heads"
HEAD_DIM: Final = "head_dim"
WIDTHS: Final = (HEAD_DIM, "attention_head_dim", "kv_channels")
"""The names under which files state the width of a head."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Default:
    """The defaults of the class `name`. None stands for what is computed: a KV head for each head,
    the hidden width over the heads. A key in `fixed` has no meaning as null.
    """

    name: str
    kv_heads: int | None = None
    head_dim: int | None = None
    fixed: tuple[str, ...] = ()

    def over(self, keys: Keys) -> Keys:
        """The keys with the defaults of those that are absent."""
        for name in self.fixed:
            if name in keys.data and not keys.has(name):
                hint = f"{self.name} computes nothing from it"
                raise InputError(
                    f"{keys.prefix}{name} is null", expected="a whole number", hint=hint
                )
        absent: dict[str, object] = {}
        if KV_HEADS not in keys.data:
            absent[KV_HEADS] = self.kv_heads
        if not any(name in keys.data for name in WIDTHS):
            absent[HEAD_DIM] = self.head_dim
        return keys.over(absent, f"default of {self.name}")


BOTH: Final = (KV_HEADS, HEAD_DIM)
DEFAULTS: Final = {
    "mistral": Default(name="MistralConfig", kv_heads=8),
    "ministral3": Default(name="Ministral3Config", kv_heads=8, head_dim=128),
    "mixtral": Default(name="MixtralConfig", kv_heads=8),
    "phimoe": Default(name="PhimoeConfig", kv_heads=8),
    "qwen2": Default(name="Qwen2Config", kv_heads=32),
    "qwen2_moe": Default(name="Qwen2MoeConfig", kv_heads=16, fixed=(KV_HEADS,)),
    "qwen2_vl_text": Default(name="Qwen2VLTextConfig", kv_heads=8),
    "qwen3": Default(name="Qwen3Config", kv_heads=32, head_dim=128, fixed=(HEAD_DIM,)),
    "qwen3_vl_text": Default(
        name="Qwen3VLTextConfig", kv_heads=32, head_dim=128, fixed=(HEAD_DIM,)
    ),
    "qwen3_moe": Default(name="Qwen3MoeConfig", kv_heads=4, fixed=(KV_HEADS,)),
    "qwen3_vl_moe_text": Default(name="Qwen3VLMoeTextConfig", kv_heads=16),
    "qwen3_next": Default(name="Qwen3NextConfig", kv_heads=2, head_dim=256, fixed=BOTH),
    "qwen3_5_text": Default(name="Qwen3_5TextConfig", kv_heads=4, head_dim=256, fixed=BOTH),
    "qwen3_5_moe_text": Default(name="Qwen3_5MoeTextConfig", kv_heads=2, head_dim=256, fixed=BOTH),
    "glm4_moe": Default(name="Glm4MoeConfig", kv_heads=8, fixed=(KV_HEADS,)),
    "gpt_oss": Default(name="GptOssConfig", kv_heads=8, head_dim=64),
    "minimax_m2": Default(name="MiniMaxM2Config", kv_heads=8, head_dim=128, fixed=BOTH),
    "llama4_text": Default(name="Llama4TextConfig", kv_heads=8, head_dim=128),
    "nemotron_h": Default(name="NemotronHConfig", kv_heads=8, head_dim=128, fixed=(HEAD_DIM,)),
    "gemma": Default(name="GemmaConfig", kv_heads=16, head_dim=256, fixed=BOTH),
    "gemma2": Default(name="Gemma2Config", kv_heads=4, head_dim=256, fixed=BOTH),
    "gemma3_text": Default(name="Gemma3TextConfig", kv_heads=4, head_dim=256, fixed=BOTH),
    "gemma4_text": Default(name="Gemma4TextConfig", kv_heads=4, head_dim=256, fixed=BOTH),
}
COMPUTED: Final = frozenset(
    {"llama", "phi3", "phi4", "olmo", "olmo2", "olmo3", "cohere", "opt", "baichuan"}
)
"""Families whose classes compute both, or whose heads all have keys and values of their own."""
UNSEEN: Final = frozenset({"mimo"})
"""Families whose classes have defaults of their own that nobody could read."""


def with_defaults(keys: Keys, kind: str) -> Keys:
    """The keys of a config with what its class has for heads, or a refusal."""
    if kind in UNSEEN and KV_HEADS not in keys.data:
        what = f"no {keys.prefix}{KV_HEADS}, and the default of {kind}'s class is not known"
        raise InputError(what, expected="a whole number")
    found = DEFAULTS.get(kind)
    return found.over(keys) if found else keys
