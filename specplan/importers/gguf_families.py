"""What each GGUF architecture that is read says in the words of its config.json.

Which key was written from which: llama.cpp (MIT), conversion/{base,llama,qwen,gemma,phi,gpt_oss,
deepseek,glm}.py; what a missing key means: src/models/*.cpp there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from specplan.importers.gguf_keys import Keys
from specplan.importers.gguf_values import Items

Config: TypeAlias = dict[str, object]

_GEMMA2_WINDOW: Final = 4096


def _family(model_type: str, name: str) -> Config:
    return {"model_type": model_type, "architectures": [f"{name}ForCausalLM"]}


def _llama(keys: Keys) -> Config:
    if keys.has("attn_q.bias") != keys.has("attn_output.bias"):
        raise keys.refused("has biases on some attention projections only")
    experts = keys.maybe("expert_count")
    if not experts:
        biases = {"attention_bias": keys.has("attn_q.bias"), "mlp_bias": keys.has("ffn_down.bias")}
        return _family("llama", "Llama") | biases
    if keys.has("ffn_gate_shexp.weight"):
        raise keys.refused("has shared experts, which no llama or Mixtral has")
    return _family("mixtral", "Mixtral") | {
        "num_local_experts": experts,
        "num_experts_per_tok": keys.whole("expert_used_count"),
        "sliding_window": None,
    }


def _qwen2(_: Keys) -> Config:
    return _family("qwen2", "Qwen2") | {"use_sliding_window": False}


def _qwen3(_: Keys) -> Config:
    return _family("qwen3", "Qwen3") | {"use_sliding_window": False}


def _qwen2moe(keys: Keys) -> Config:
    shared = keys.maybe("expert_shared_feed_forward_length")
    shared = shared or _rows(keys, "ffn_gate_shexp.weight", 0)
    return (
        _family("qwen2_moe", "Qwen2Moe")
        | _qwen_experts(keys)
        | {"shared_expert_intermediate_size": shared}
    )


def _qwen3moe(keys: Keys) -> Config:
    return _family("qwen3_moe", "Qwen3Moe") | _qwen_experts(keys)


def _qwen_experts(keys: Keys) -> Config:
    width = keys.maybe("expert_feed_forward_length") or _rows(keys, "ffn_gate_exps.weight", 1)
    return {
        "num_experts": keys.whole("expert_count"),
        "num_experts_per_tok": keys.whole("expert_used_count"),
        "moe_intermediate_size": width,
        "decoder_sparse_step": 1,  # llama.cpp gives every layer experts
        "mlp_only_layers": [],
        "use_sliding_window": False,
    }


def _rows(keys: Keys, tensor: str, axis: int) -> int:
    """A width that older files do not name, from the first layer's tensor."""
    shape = keys.shapes.get(f"blk.0.{tensor}", ())
    if len(shape) != axis + 2:
        raise keys.refused(f"blk.0.{tensor} is missing or has another shape")
    return shape[axis]


def _gemma(_: Keys) -> Config:
    return _family("gemma", "Gemma")


def _gemma2(keys: Keys) -> Config:
    window = keys.maybe("attention.sliding_window")
    window = _GEMMA2_WINDOW if window is None else window
    return _family("gemma2", "Gemma2") | _windows(keys, window, 2)


def _gemma3(keys: Keys) -> Config:
    family = _family("gemma3_text", "Gemma3")
    return family | _windows(keys, keys.maybe("attention.sliding_window") or 0, 6)


def _gpt_oss(keys: Keys) -> Config:
    return (
        _family("gpt_oss", "GptOss")
        | _windows(keys, keys.whole("attention.sliding_window"), 2)
        | {
            "intermediate_size": keys.whole("expert_feed_forward_length"),
            "num_local_experts": keys.whole("expert_count"),
            "num_experts_per_tok": keys.whole("expert_used_count"),
            "attention_bias": True,
        }
    )


def _windows(keys: Keys, window: int, period: int) -> Config:
    """The window, and which layers have it: all but the last of every period, unless listed."""
    layers = keys.whole("block_count")
    found = keys.header.metadata.get(f"{keys.arch}.attention.sliding_window_pattern", period)
    if isinstance(found, Items):
        sliding = [bool(item) for item in found.items]
    elif isinstance(found, int) and found > 0:
        sliding = [layer % found < found - 1 for layer in range(layers)]
    else:
        sliding = []
    if len(sliding) != layers:
        raise keys.refused(f"{keys.arch}.attention.sliding_window_pattern fits no layers")
    kinds = ["sliding_attention" if slides and window else "full_attention" for slides in sliding]
    return {"sliding_window": window or None, "layer_types": kinds}


def _phi3(keys: Keys) -> Config:
    window = keys.maybe("attention.sliding_window")  # 0 for Phi-4, which has none
    return _family("phi3", "Phi3") | {"sliding_window": window or None}


def _deepseek2(keys: Keys) -> Config:
    """MLA, stored whole (heads of their own) or split (one wide head): both say the same sizes."""
    experts = keys.maybe("expert_count")
    if not experts:
        raise keys.refused("has multi-head latent attention without experts")
    version = "3" if keys.has("exp_probs_b.bias") else "2"
    split = keys.maybe("attention.key_length_mla") is not None
    ending = "_mla" if split else ""
    rope = keys.whole("rope.dimension_count")
    return _family(f"deepseek_v{version}", f"DeepseekV{version}") | {
        "num_key_value_heads": keys.whole("attention.head_count"),
        "q_lora_rank": keys.maybe("attention.q_lora_rank"),
        "kv_lora_rank": keys.whole("attention.kv_lora_rank"),
        "qk_rope_head_dim": rope,
        "qk_nope_head_dim": keys.whole(f"attention.key_length{ending}") - rope,
        "v_head_dim": keys.whole(f"attention.value_length{ending}"),
        "attention_bias": False,
        **_routed(keys, experts),
    }


def _glm4moe(keys: Keys) -> Config:
    return _family("glm4_moe", "Glm4Moe") | {
        "attention_bias": keys.has("attn_q.bias"),
        "use_qk_norm": keys.has("attn_q_norm.weight"),
        **_routed(keys, keys.whole("expert_count")),
    }


def _routed(keys: Keys, experts: int) -> Config:
    """Experts as DeepSeek and GLM configs name them."""
    return {
        "n_routed_experts": experts,
        "n_shared_experts": keys.whole("expert_shared_count"),
        "num_experts_per_tok": keys.whole("expert_used_count"),
        "moe_intermediate_size": keys.whole("expert_feed_forward_length"),
        "first_k_dense_replace": keys.maybe("leading_dense_block_count") or 0,
        "moe_layer_freq": 1,
        "num_nextn_predict_layers": keys.maybe("nextn_predict_layers") or 0,
    }


FAMILIES: Final[Mapping[str, Callable[[Keys], Config]]] = {
    "llama": _llama,
    "qwen2": _qwen2,
    "qwen2moe": _qwen2moe,
    "qwen3": _qwen3,
    "qwen3moe": _qwen3moe,
    "gemma": _gemma,
    "gemma2": _gemma2,
    "gemma3": _gemma3,
    "phi3": _phi3,
    "gpt-oss": _gpt_oss,
    "deepseek2": _deepseek2,
    "glm4moe": _glm4moe,
}
