"""Every family of Hugging Face on figures of one digit: parameters stored, multiplied, and values
cached per token, each worked out from the shapes of tensors.
"""

from __future__ import annotations

from typing import Any

from small import small

Q, K, V, OUT = 8 * 8, 8 * 4, 8 * 4, 8 * 8
ATTENTION = Q + K + V + OUT
MLP = 3 * 8 * 16
NORM = 8
TABLE = 32 * 8  # an embedding, or a head
LAYER = ATTENTION + MLP
CACHED = 2 * 2 * (2 + 2)  # layers, KV heads, a key and a value

MOE = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 6}
EXPERT = 3 * 8 * 6
ROUTER = 8 * 4
LATENT = {
    "q_lora_rank": None,
    "kv_lora_rank": 6,
    "qk_rope_head_dim": 2,
    "qk_nope_head_dim": 4,
    "v_head_dim": 3,
}
DEEP = {
    **LATENT,
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 6,
    "n_shared_experts": 1,
    "first_k_dense_replace": 1,
}
# Queries of 4 heads of 4 + 2; latent and rope; keys of 4 and values of 3 from it; output.
MLA = 8 * 4 * 6 + 8 * (6 + 2) + 6 * 4 * (4 + 3) + 4 * 3 * 8
HYBRID = {
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_key_head_dim": 2,
    "linear_value_head_dim": 3,
    "linear_conv_kernel_dim": 4,
}
# Keys and queries (2 x 2 each) and values (4 x 3) are mixed; a gate as wide; two scalars a head.
MIXED = 2 * 4 + 12
DELTA = 8 * (MIXED + 12 + 2 * 4 + 12) + MIXED * 4
MAMBA = {
    "mamba_num_heads": 2,
    "mamba_head_dim": 4,
    "n_groups": 1,
    "ssm_state_size": 3,
    "conv_kernel": 4,
}
INNER, CONV = 2 * 4, 2 * 4 + 2 * 3
STATE = 8 * (INNER + CONV + 2 + INNER) + CONV * 4
STATE_VECTORS = 3 * 2 + INNER + CONV

UNTIED = 2 * TABLE + NORM
PLAIN = 2 * (LAYER + 2 * NORM) + UNTIED

CASES: dict[str, tuple[dict[str, Any], int, int, int]] = {
    "llama": (small(), PLAIN, 2 * LAYER + TABLE, CACHED),
    "llama with biases": (
        small(attention_bias=True, mlp_bias=True),
        PLAIN + 2 * (8 + 4 + 4 + 8 + 16 + 16 + 8),
        2 * LAYER + TABLE,
        CACHED,
    ),
    "mistral": (small("mistral"), PLAIN, 2 * LAYER + TABLE, CACHED),
    "ministral3": (small("ministral3", head_dim=2), PLAIN, 2 * LAYER + TABLE, CACHED),
    "phi3": (small("phi3"), PLAIN, 2 * LAYER + TABLE, CACHED),
    "phi4": (small("phi4"), PLAIN, 2 * LAYER + TABLE, CACHED),
    "qwen2": (small("qwen2"), PLAIN + 2 * (8 + 4 + 4), 2 * LAYER + TABLE, CACHED),
    "qwen2_vl_text": (small("qwen2_vl"), PLAIN + 2 * 16, 2 * LAYER + TABLE, CACHED),
    "mimo": (small("mimo"), PLAIN + 2 * 16, 2 * LAYER + TABLE, CACHED),
    "qwen3": (small("qwen3", head_dim=2), PLAIN + 2 * (2 + 2), 2 * LAYER + TABLE, CACHED),
    "qwen3_vl_text": (small("qwen3_vl_text", head_dim=2), PLAIN + 2 * 4, 2 * LAYER + TABLE, CACHED),
    "olmo": (
        small("olmo"),
        2 * LAYER + 2 * TABLE,
        2 * LAYER + TABLE,
        CACHED,
    ),  # norms weigh nothing
    "olmo2": (small("olmo2"), PLAIN + 2 * (8 + 4), 2 * LAYER + TABLE, CACHED),
    "olmo3": (small("olmo3", sliding_window=4), PLAIN + 2 * 12, 2 * LAYER + TABLE, CACHED),
    "cohere": (small("cohere"), 2 * (LAYER + NORM) + TABLE + NORM, 2 * LAYER + TABLE, CACHED),
    "cohere with norms": (
        small("cohere", use_qk_norm=True),
        2 * (LAYER + NORM + 8 + 4) + TABLE + NORM,
        2 * LAYER + TABLE,
        CACHED,
    ),
    "gemma": (
        small("gemma", head_dim=2),
        2 * (LAYER + 2 * NORM) + TABLE + NORM,
        2 * LAYER + TABLE,
        CACHED,
    ),
    "gemma2": (
        small("gemma2", head_dim=2),
        2 * (LAYER + 4 * NORM) + TABLE + NORM,
        2 * LAYER + TABLE,
        CACHED,
    ),
    "gemma3_text": (
        small("gemma3_text", head_dim=2),
        2 * (LAYER + 4 * NORM + 2 + 2) + TABLE + NORM,
        2 * LAYER + TABLE,
        CACHED,
    ),
    "gemma4_text": (
        small(
            "gemma4",
            head_dim=2,
            global_head_dim=4,
            num_global_key_value_heads=1,
            attention_k_eq_v=True,
            sliding_window=4,
            layer_types=["sliding_attention", "full_attention"],
        ),
        # The layer that sees all: 4 heads of 4, one key of 4 that is the value too.
        LAYER + 2 + 2 + (8 * 16 + 8 * 4 + 16 * 8 + MLP + 4 + 4) + 2 * 4 * NORM + TABLE + NORM,
        LAYER + (8 * 16 + 8 * 4 + 16 * 8 + MLP) + TABLE,
        2 * (2 + 2) + 1 * (4 + 4),
    ),
    "nemotron-nas": (
        small(
            "nemotron-nas",
            num_key_value_heads=None,
            intermediate_size=None,
            block_configs=[
                {"attention": {"n_heads_in_group": 4}, "ffn": {"ffn_mult": 48.0}},
                {"attention": {"no_op": True}, "ffn": {"no_op": True}},
            ],
        ),
        # 48 x 8 x 2/3 is 256; one KV head; a layer of nothing has no norms either.
        (Q + 8 * 2 + 8 * 2 + OUT) + 3 * 8 * 256 + 2 * NORM + UNTIED,
        (Q + 8 * 2 + 8 * 2 + OUT) + 3 * 8 * 256 + TABLE,
        2 + 2,
    ),
    "mixtral": (
        small("mixtral", num_local_experts=4, num_experts_per_tok=2),
        2 * (ATTENTION + 4 * MLP + ROUTER + 2 * NORM) + UNTIED,
        2 * (ATTENTION + 2 * MLP + ROUTER) + TABLE,
        CACHED,
    ),
    "phimoe": (
        small(
            "phimoe",
            num_local_experts=4,
            num_experts_per_tok=2,
            attention_bias=True,
            lm_head_bias=True,
        ),
        2 * (ATTENTION + 24 + 4 * MLP + ROUTER + 4 * NORM) + 2 * TABLE + 2 * NORM + 32,
        2 * (ATTENTION + 2 * MLP + ROUTER) + TABLE,
        CACHED,
    ),
    "qwen2_moe": (
        small("qwen2_moe", **MOE, shared_expert_intermediate_size=5),
        2 * (ATTENTION + 16 + 4 * EXPERT + ROUTER + 3 * 8 * 5 + 8 + 2 * NORM) + UNTIED,
        2 * (ATTENTION + 2 * EXPERT + ROUTER + 3 * 8 * 5 + 8) + TABLE,
        CACHED,
    ),
    "qwen3_moe": (
        small("qwen3_moe", **MOE, mlp_only_layers=[0]),
        2 * (ATTENTION + 4 + 2 * NORM) + MLP + 4 * EXPERT + ROUTER + UNTIED,
        2 * ATTENTION + MLP + 2 * EXPERT + ROUTER + TABLE,
        CACHED,
    ),
    "qwen3_vl_moe_text": (
        small("qwen3_vl_moe", **MOE),
        2 * (ATTENTION + 4 + 4 * EXPERT + ROUTER + 2 * NORM) + UNTIED,
        2 * (ATTENTION + 2 * EXPERT + ROUTER) + TABLE,
        CACHED,
    ),
    "deepseek_v2": (
        small("deepseek_v2", **DEEP),
        2 * (MLA + 6 + 2 * NORM) + MLP + 4 * EXPERT + ROUTER + EXPERT + UNTIED,
        2 * MLA + MLP + 2 * EXPERT + ROUTER + EXPERT + TABLE,
        2 * (6 + 2),
    ),
    "deepseek_v3": (
        small("deepseek_v3", **{**DEEP, "q_lora_rank": 5}),
        # A query of 5 values between, with its norm; a correction for each expert.
        2 * (MLA - 8 * 24 + 8 * 5 + 5 * 24 + 5 + 6 + 2 * NORM)
        + MLP
        + 5 * EXPERT
        + ROUTER
        + 4
        + UNTIED,
        2 * (MLA - 8 * 24 + 8 * 5 + 5 * 24) + MLP + 3 * EXPERT + ROUTER + TABLE,
        2 * (6 + 2),
    ),
    "deepseek_v32": (
        small("deepseek_v32", **DEEP, index_topk=4, index_n_heads=2, index_head_dim=3),
        # An indexer: queries from the hidden state, a key with its norm, a weight for each head.
        2 * (MLA + 6 + 8 * 6 + 8 * (3 + 2) + 2 * 3 + 2 * NORM)
        + MLP
        + 5 * EXPERT
        + ROUTER
        + 4
        + UNTIED,
        2 * (MLA + 8 * 6 + 8 * 5) + MLP + 3 * EXPERT + ROUTER + TABLE,
        2 * (6 + 2),
    ),
    "minicpm3": (
        small("minicpm3", **{**LATENT, "v_head_dim": ...}),
        # Values are as wide as hidden / heads, which is 2.
        2 * (MLA - 6 * 4 - 4 * 8 + 6 + MLP + 2 * NORM) + TABLE + NORM,
        2 * (MLA - 6 * 4 - 4 * 8 + MLP) + TABLE,
        2 * (6 + 2),
    ),
    "glm4_moe": (
        small("glm4_moe", **{k: v for k, v in DEEP.items() if k not in LATENT}, use_qk_norm=True),
        2 * (ATTENTION + 4 + 2 * NORM) + MLP + 5 * EXPERT + ROUTER + 4 + UNTIED,
        2 * ATTENTION + MLP + 3 * EXPERT + ROUTER + TABLE,
        CACHED,
    ),
    "gpt_oss": (
        small("gpt_oss", head_dim=2, num_local_experts=4, num_experts_per_tok=2, sliding_window=4),
        # Biases of projections, experts and router; a sink for each head.
        2 * (ATTENTION + 24 + 4 + 4 * (MLP + 16 + 16 + 8) + ROUTER + 4 + 2 * NORM) + UNTIED,
        2 * (ATTENTION + 2 * MLP + ROUTER) + TABLE,
        CACHED,
    ),
    "minimax_m2": (
        small("minimax_m2", head_dim=2, num_local_experts=4, num_experts_per_tok=2),
        2 * (ATTENTION + 8 + 4 + 4 * MLP + ROUTER + 4 + 2 * NORM) + UNTIED,
        2 * (ATTENTION + 2 * MLP + ROUTER) + TABLE,
        CACHED,
    ),
    "mimo_v2_flash": (
        small(
            "mimo_v2_flash",
            **{k: v for k, v in DEEP.items() if k not in LATENT},
            head_dim=2,
            v_head_dim=1,
            swa_num_attention_heads=4,
            swa_num_key_value_heads=4,
            swa_head_dim=2,
            swa_v_head_dim=1,
            sliding_window=4,
            add_swa_attention_sink_bias=True,
            hybrid_layer_pattern=[0, 1],
        ),
        (Q + K + 8 * 2 + 4 * 8)
        + (Q + Q + 8 * 4 + 4 * 8 + 4)
        + MLP
        + 5 * EXPERT
        + ROUTER
        + 4
        + 4 * NORM
        + UNTIED,
        (Q + K + 8 * 2 + 4 * 8) + (Q + Q + 8 * 4 + 4 * 8) + MLP + 3 * EXPERT + ROUTER + TABLE,
        2 * (2 + 1) + 4 * (2 + 1),
    ),
    "llama4_text": (
        small(
            "llama4_text",
            head_dim=2,
            num_local_experts=4,
            num_experts_per_tok=1,
            intermediate_size=6,
            intermediate_size_mlp=16,
            interleave_moe_layer_step=2,
        ),
        2 * (ATTENTION + 2 * NORM) + MLP + 5 * EXPERT + ROUTER + UNTIED,
        2 * ATTENTION + MLP + 2 * EXPERT + ROUTER + TABLE,
        CACHED,
    ),
    "qwen3_next": (
        small("qwen3_next", head_dim=2, **HYBRID, full_attention_interval=2),
        # A gate as wide as the queries; decay and step of each value head, norm of a value.
        (DELTA + 2 * 4 + 3) + (ATTENTION + Q + 4) + 2 * (MLP + 2 * NORM) + UNTIED,
        DELTA + ATTENTION + Q + 2 * MLP + TABLE,
        2 * (2 + 2),
    ),
    "qwen3_5_text": (
        small("qwen3_5", head_dim=2, **HYBRID, layer_types=["full_attention", "linear_attention"]),
        (DELTA + 2 * 4 + 3) + (ATTENTION + Q + 4) + 2 * (MLP + 2 * NORM) + UNTIED,
        DELTA + ATTENTION + Q + 2 * MLP + TABLE,
        2 * (2 + 2),
    ),
    "qwen3_5_moe_text": (
        small(
            "qwen3_5_moe",
            head_dim=2,
            **HYBRID,
            **MOE,
            shared_expert_intermediate_size=5,
            full_attention_interval=2,
        ),
        (DELTA + 2 * 4 + 3)
        + (ATTENTION + Q + 4)
        + 2 * (4 * EXPERT + ROUTER + 3 * 8 * 5 + 8 + 2 * NORM)
        + UNTIED,
        DELTA + ATTENTION + Q + 2 * (2 * EXPERT + ROUTER + 3 * 8 * 5 + 8) + TABLE,
        2 * (2 + 2),
    ),
    "nemotron_h": (
        small(
            "nemotron_h",
            head_dim=2,
            **MAMBA,
            n_routed_experts=4,
            num_experts_per_tok=2,
            moe_intermediate_size=6,
            n_shared_experts=1,
            moe_shared_expert_intermediate_size=5,
            moe_latent_size=4,
            hybrid_override_pattern="M*-E",
            num_hidden_layers=4,
        ),
        # Experts of two matrices in a width of 4, to and from it; the shared one in the full width.
        (STATE + STATE_VECTORS)
        + ATTENTION
        + 2 * 8 * 16
        + (4 * 2 * 4 * 6 + ROUTER + 4 + 2 * 8 * 4 + 2 * 8 * 5)
        + 4 * NORM
        + UNTIED,
        STATE + ATTENTION + 2 * 8 * 16 + (2 * 2 * 4 * 6 + ROUTER + 2 * 8 * 4 + 2 * 8 * 5) + TABLE,
        2 * (2 + 2),
    ),
    "opt": (
        small("opt", num_key_value_heads=..., ffn_dim=16, max_position_embeddings=10),
        # 4 KV heads; two matrices; biases; norms of two vectors; 10 + 2 positions; a tied head.
        2 * (4 * Q + 4 * 8 + 2 * 8 * 16 + 16 + 8 + 4 * NORM) + TABLE + 12 * 8 + 2 * NORM,
        2 * (4 * Q + 2 * 8 * 16) + TABLE,
        2 * 4 * (2 + 2),
    ),
    "galactica": (
        small(
            "opt",
            num_key_value_heads=...,
            ffn_dim=16,
            max_position_embeddings=10,
            enable_bias=False,
            layer_norm_elementwise_affine=False,
        ),
        2 * (4 * Q + 2 * 8 * 16) + TABLE + 12 * 8,
        2 * (4 * Q + 2 * 8 * 16) + TABLE,
        2 * 4 * (2 + 2),
    ),
    "falcon": (
        small("falcon", num_kv_heads=4, multi_query=True),
        # One KV head of 2 values whatever num_kv_heads says; 4 x 8 wide; one norm of two vectors.
        2 * (Q + 8 * 2 + 8 * 2 + OUT + 2 * 8 * 32 + 2 * NORM) + TABLE + 2 * NORM,
        2 * (Q + 8 * 2 + 8 * 2 + OUT + 2 * 8 * 32) + TABLE,
        2 * (2 + 2),
    ),
    "falcon of the new decoder": (
        small("falcon", num_kv_heads=2, new_decoder_architecture=True),
        2 * (ATTENTION + 2 * 8 * 32 + 4 * NORM) + TABLE + 2 * NORM,
        2 * (ATTENTION + 2 * 8 * 32) + TABLE,
        CACHED,
    ),
    "falcon 2": (
        small("falcon", num_kv_heads=2, new_decoder_architecture=True, num_ln_in_parallel_attn=1),
        2 * (ATTENTION + 2 * 8 * 32 + 2 * NORM) + TABLE + 2 * NORM,
        2 * (ATTENTION + 2 * 8 * 32) + TABLE,
        CACHED,
    ),
    "RefinedWeb": (
        {
            "model_type": "RefinedWeb",
            "hidden_size": 8,
            "n_layer": 2,
            "n_head": 4,
            "n_head_kv": 2,
            "vocab_size": 32,
        },
        2 * (ATTENTION + 2 * 8 * 32 + 4 * NORM) + TABLE + 2 * NORM,
        2 * (ATTENTION + 2 * 8 * 32) + TABLE,
        CACHED,
    ),
    "chatglm": (
        {
            "model_type": "chatglm",
            "hidden_size": 8,
            "num_layers": 2,
            "num_attention_heads": 4,
            "kv_channels": 2,
            "ffn_hidden_size": 16,
            "multi_query_attention": True,
            "multi_query_group_num": 2,
            "padded_vocab_size": 32,
            "add_qkv_bias": True,
        },
        PLAIN + 2 * (8 + 4 + 4),
        2 * LAYER + TABLE,
        CACHED,
    ),
    "qwen": (
        small("qwen", num_key_value_heads=..., intermediate_size=32),
        # Half of intermediate_size; 4 KV heads; biases of queries, keys and values.
        2 * (4 * Q + 3 * 8 + MLP + 2 * NORM) + UNTIED,
        2 * (4 * Q + MLP) + TABLE,
        2 * 4 * (2 + 2),
    ),
    "baichuan": (
        small("baichuan", num_key_value_heads=...),
        2 * (4 * Q + MLP + 2 * NORM) + UNTIED,
        2 * (4 * Q + MLP) + TABLE,
        2 * 4 * (2 + 2),
    ),
}
SAME = {"kimi_k2": "deepseek_v3", "glm4_moe_lite": "deepseek_v3", "glm_moe_dsa": "deepseek_v32"}
SAME["RefinedWebModel"] = "falcon"
