"""The ways in which a config.json says less, more or other than it seems to."""

from __future__ import annotations

import pytest
from families import DEEP, HYBRID, LAYER, MOE, PLAIN, TABLE
from small import bases, card, figures, foreign, made, small

from specplan.domain.card import Dtype
from specplan.domain.layers import Part
from specplan.importers.card import Wish, imported
from specplan.importers.json_ import Bare

CODEC = {"hidden_size": 4, "num_hidden_layers": 1}


def windows(config) -> list[tuple[int, int | None]]:
    """Layers by how far back they look."""
    blocks = card(config).architecture.blocks
    return [(b.repeat, b.attention.window) for b in blocks if b.attention]


# Nested language models


@pytest.mark.parametrize("key", ["text_config", "language_config", "llm_config"])
def test_the_language_model_may_lie_within(key):
    whole = {"model_type": "some_vlm", key: small("qwen2"), "vision_config": CODEC}
    assert figures(whole) == figures(small("qwen2"))
    result = made(whole)
    assert result.card.family == "qwen2"
    assert "The language model alone: encoders of images are not counted." in result.notes
    assert bases(result)["hidden_size"] == ("8", f"{key}.hidden_size")


@pytest.mark.parametrize(
    ("outer", "inner", "tied"),
    [(True, None, True), (None, True, True), (None, None, False), (True, False, False)],
)
def test_the_head_is_tied_as_the_inner_config_says_else_as_the_outer(outer, inner, tied):
    whole = {"model_type": "qwen3_vl", "tie_word_embeddings": outer}
    whole["text_config"] = small("qwen3_vl_text", tie_word_embeddings=inner)
    result = made(whole)
    assert result.card.architecture.tied_embeddings is tied
    differs = "Of two words on a tied head, text_config.tie_word_embeddings is taken."
    assert (differs in result.notes) is (outer is not None and inner is not None)


def test_a_type_of_the_whole_stands_for_that_of_the_part():
    inner = small("gemma3_text", model_type=..., head_dim=2)
    assert figures({"model_type": "gemma3", "text_config": inner}) == figures(
        small("gemma3_text", head_dim=2)
    )


# Class defaults


def test_gemma_3_leaves_out_what_its_class_has():
    sparse = {"hidden_size": 2560, "intermediate_size": 10_240, "num_hidden_layers": 34}
    result = made({"model_type": "gemma3", "text_config": {"model_type": "gemma3_text", **sparse}})
    attention = result.card.architecture.blocks[0].attention
    assert (attention.heads, attention.kv_heads, attention.head_dim) == (8, 4, 256)
    assert result.card.architecture.vocab == 262_208
    assert bases(result)["head_dim"] == ("256", "default of Gemma3TextConfig")


def test_llama_within_another_config_leaves_out_what_its_class_has():
    whole = {"model_type": "llava", "text_config": {"model_type": "llama", "vocab_size": 32_064}}
    arch = card(whole).architecture
    assert (arch.hidden, arch.layers, arch.vocab) == (4096, 32, 32_064)
    assert arch.blocks[0].mlp.width == 11_008


# KV heads


def test_absent_kv_heads_are_one_for_each_head():
    result = made(small(num_key_value_heads=...))
    assert result.card.architecture.blocks[0].attention.kv_heads == 4
    assert bases(result)["num_key_value_heads"] == ("4", "absent, one for each head")


@pytest.mark.parametrize(("kind", "kv_heads"), [("gemma", 16), ("gemma2", 4)])
def test_absent_kv_heads_of_gemma_are_those_of_its_class(kind, kv_heads):
    config = small(kind, num_key_value_heads=..., num_attention_heads=16, head_dim=2)
    assert card(config).architecture.blocks[0].attention.kv_heads == kv_heads


def test_falcon_lies_about_its_kv_heads():
    result = made(small("falcon", num_kv_heads=4, multi_query=True))
    assert bases(result)["num_kv_heads"] == ("1", "multi_query, whatever num_kv_heads says")


# Heads


def test_head_dim_is_what_the_file_says_else_the_share_of_a_head():
    stated, absent = made(small(head_dim=4)), made(small())
    assert stated.card.architecture.blocks[0].attention.head_dim == 4
    assert bases(absent)["head_dim"] == ("2", "absent, hidden_size / num_attention_heads")


def test_latent_attention_caches_one_vector_whatever_heads_the_file_names():
    for heads in (1, 2, 4):
        assert figures(small("deepseek_v3", **DEEP, num_key_value_heads=heads, head_dim=9)) == (
            figures(small("deepseek_v3", **DEEP))
        )
    assert figures(small("deepseek_v3", **DEEP))[2] == 2 * (6 + 2)
    assert figures(small("deepseek_v3", **{**DEEP, "q_lora_rank": 0})) == figures(
        small("deepseek_v3", **DEEP)
    )


def test_shared_indexers_are_counted_once_and_cached_once():
    own = small("glm_moe_dsa", **DEEP, index_topk=4, index_n_heads=2, index_head_dim=3)
    model = card({**own, "indexer_types": ["full", "shared"]})
    alone, shared = (block.latent for block in model.architecture.blocks)
    assert alone.indexer is not None
    assert shared.indexer is None
    assert (alone.top, shared.top) == (4, 4)


# Experts under many names


@pytest.mark.parametrize("count", ["num_experts", "num_local_experts", "n_routed_experts"])
@pytest.mark.parametrize("active", ["num_experts_per_tok", "experts_per_token", "top_k_experts"])
def test_experts_have_many_names(count, active):
    named = {count: 4, active: 2, "moe_intermediate_size": 6}
    assert figures(small("qwen3_moe", **named)) == figures(small("qwen3_moe", **MOE))


@pytest.mark.parametrize(
    ("changes", "sparse"),
    [
        ({}, 4),
        ({"decoder_sparse_step": 2}, 2),
        ({"mlp_only_layers": [0, 2]}, 2),
        ({"mlp_layer_types": ["dense", "sparse", "sparse", "sparse"]}, 3),
        ({"moe_layer_freq": [0, 1, 1, 1]}, 3),
        ({"first_k_dense_replace": 3}, 1),
        ({"first_k_dense_replace": 1, "moe_layer_freq": 2}, 1),
    ],
)
def test_which_layers_are_sparse(changes, sparse):
    config = small("qwen3_moe", num_hidden_layers=4, **MOE, **changes)
    assert sum(b.repeat for b in card(config).architecture.blocks if b.experts) == sparse


def test_llama_4_names_its_sparse_layers_by_step_or_one_by_one():
    routed = {"num_local_experts": 4, "num_experts_per_tok": 1, "num_hidden_layers": 4}
    config = small("llama4_text", **routed, intermediate_size_mlp=16)
    for changes, sparse in (
        ({"interleave_moe_layer_step": 2}, 2),
        ({"moe_layers": [1, 2, 3], "interleave_moe_layer_step": 2}, 3),
        ({}, 4),
    ):
        blocks = card({**config, **changes}).architecture.blocks
        assert sum(b.repeat for b in blocks if b.experts) == sparse


# Hybrids


def test_hybrids_cache_a_few_layers_and_keep_a_state():
    model = card(
        small("qwen3_next", **HYBRID, head_dim=2, num_hidden_layers=8, mamba_ssm_dtype="bfloat16")
    )
    cached = sum(group.elements_per_token for group in model.kv_groups)
    assert cached == 2 * 2 * (2 + 2)  # layers 4 and 8
    # Six layers: 4 values heads of 2 x 3 at 2 bytes, and 3 inputs of 20 channels.
    assert model.state_bytes == 6 * (4 * 2 * 3 * 2 + 3 * 20 * 2)
    wide = card(small("qwen3_next", **HYBRID, head_dim=2, num_hidden_layers=8))
    assert wide.state_bytes == 6 * (4 * 2 * 3 * 4 + 3 * 20 * 2)


# Windows


@pytest.mark.parametrize(
    ("config", "seen"),
    [
        (small("mistral"), [(2, 4096)]),
        (small("mistral", sliding_window=None), [(2, None)]),
        (small("mistral", sliding_window=4), [(2, 4)]),
        (small("phi3", sliding_window=4), [(2, 4)]),
        (small("phi3", sliding_window=64, max_position_embeddings=64), [(2, None)]),
        (small("qwen2", sliding_window=4), [(2, None)]),
        (small("qwen2", sliding_window=4, use_sliding_window=True), [(2, None)]),
        (
            small("qwen2", sliding_window=4, use_sliding_window=True, max_window_layers=1),
            [(1, None), (1, 4)],
        ),
        (small("qwen2", use_sliding_window=True, max_window_layers=0), [(2, 4096)]),
        (small("qwen2", sliding_window=None, use_sliding_window=True), [(2, None)]),
        (small("gemma2", head_dim=2, sliding_window=4), [(1, 4), (1, None)]),
        (small("gemma3_text", head_dim=2, num_hidden_layers=7), [(6, 4096), (1, None)]),
        (
            small("gemma3_text", head_dim=2, num_hidden_layers=6, sliding_window_pattern=3),
            [(4, 4096), (2, None)],
        ),
        (small("olmo3", sliding_window=4, num_hidden_layers=4), [(3, 4), (1, None)]),
        (
            small("olmo3", sliding_window=4, layer_types=["full_attention", "sliding_attention"]),
            [(1, None), (1, 4)],
        ),
    ],
)
def test_windows(config, seen):
    assert windows(config) == seen


def test_a_window_that_is_off_is_said():
    assert (
        "The window of 4 tokens (sliding_window) is off: use_sliding_window is not true."
        in card(small("qwen2", sliding_window=4)).notes
    )


LLAMA4 = small(
    "llama4_text",
    num_hidden_layers=4,
    num_local_experts=4,
    num_experts_per_tok=1,
    attention_chunk_size=16,
)


@pytest.mark.parametrize(
    ("changes", "seen"),
    [
        ({}, [(3, 16), (1, None)]),
        ({"attention_chunk_size": None}, [(4, None)]),
        ({"no_rope_layers": [1, 0, 1, 0]}, [(2, 16), (2, None)]),
        ({"no_rope_layers": []}, [(3, 16), (1, None)]),
        ({"no_rope_layer_interval": 2}, [(2, 16), (2, None)]),
        (
            {"layer_types": ["chunked_attention"] * 3 + ["full_attention"]},
            [(3, 16), (1, None)],
        ),
    ],
)
def test_chunks_of_llama_4(changes, seen):
    assert windows({**LLAMA4, **changes}) == seen


# Tied heads


@pytest.mark.parametrize("kind", ["gemma", "gemma2", "cohere"])
def test_heads_that_are_tied_unless_the_file_says_otherwise(kind):
    result = made(small(kind, head_dim=2))
    assert result.card.architecture.tied_embeddings
    value, basis = bases(result)["tie_word_embeddings"]
    assert value == "true"
    assert basis.startswith("default of ")
    assert not card(small(kind, head_dim=2, tie_word_embeddings=False)).architecture.tied_embeddings


def test_a_tied_head_is_multiplied_and_stored_once():
    stored, multiplied, _ = figures(small(tie_word_embeddings=True))
    assert (stored, multiplied) == (PLAIN - TABLE, 2 * LAYER + TABLE)


# Quantisation


@pytest.mark.parametrize("place", ["outside", "inside"])
def test_quantisation_is_found_outside_and_inside(place):
    quant = {"quantization_config": {"quant_method": "fp8"}}
    inner = small("qwen2", **(quant if place == "inside" else {}))
    whole = {"model_type": "vlm", "text_config": inner, **(quant if place == "outside" else {})}
    model = card(whole)
    assert model.dtype is Dtype.FP8
    assert model.part_dtype(Part.HEAD, Dtype.FP8) is Dtype.BF16


def test_a_head_tied_by_its_class_is_stored_as_the_embedding():
    """Gemma's config does not say that its head is tied; a list of ignored modules need not."""
    quant = {"quant_method": "modelopt", "quant_algo": "FP8", "ignore": ["router"]}
    model = card(small("gemma", head_dim=2, quantization_config=quant))
    assert model.part_dtype(Part.HEAD, model.dtype) is Dtype.BF16


# Tokens that are no JSON


def test_an_infinity_that_nobody_reads_does_no_harm():
    assert figures(small(time_step_limit=[0.0, Bare("Infinity")])) == figures(small())


# Layers that draft


def test_layers_that_draft_are_told_apart_from_the_model():
    plain, announced = small("deepseek_v3", **DEEP), {"num_nextn_predict_layers": 1}
    result = made({**plain, **announced})
    assert figures({**plain, **announced}) == figures(plain)
    assert "The module for multi-token prediction (MTP) is not counted." in result.notes
    extra = next(extra for extra in result.extras if extra.announced)
    # A layer like the model's sparse one, two norms and one more, and the join of two vectors.
    assert extra.params == figures({**plain, **announced}, mtp=True)[0]


def test_a_module_of_qwen3_next_is_there_although_no_config_says_so():
    config = small("qwen3_next", **HYBRID, full_attention_interval=2)
    module = card(config, mtp=True)
    assert module.drafts.kind == "mtp"
    assert module.drafts.targets == ("small",)
    assert "The module that checkpoints hold and no config mentions" in module.notes[0]
    assert module.architecture.blocks[0].attention.gated


def test_minimax_announces_modules_that_nobody_ships():
    config = small("minimax_m2", num_local_experts=4, num_experts_per_tok=2, num_mtp_modules=3)
    result = made(config)
    assert (
        "The config announces layers that draft (MTP); the checkpoints hold none." in result.notes
    )


# Contexts


@pytest.mark.parametrize(
    ("changes", "context"),
    [
        ({}, 2048),  # the default of LlamaConfig
        ({"model_type": "gemma3_text"}, 131_072),
        ({"model_type": "qwen2"}, 32_768),
        ({"model_type": "mistral", "max_position_embeddings": None}, 131_072),
        ({"model_type": "baichuan", "num_key_value_heads": ...}, None),
        ({"max_position_embeddings": 64}, 64),
        ({"max_position_embeddings": 64, "model_max_length": 128}, 128),
        ({"max_position_embeddings": 64, "model_max_length": 10**9}, 64),
        ({"seq_length": 32}, 32),
    ],
)
def test_the_longest_context(changes, context):
    changed = {"kind": changes.get("model_type", "llama"), **changes}
    changed.pop("model_type", None)
    assert card(small(**changed)).trained_context == context


def test_a_context_of_a_class_is_said_to_be_that():
    result = made(small("falcon", num_kv_heads=4))
    assert result.card.trained_context == 2048
    note = "The config states no context: 2,048 tokens are the default of FalconConfig."
    assert note in result.card.notes
    assert bases(result)["max_position_embeddings"] == ("2,048", "default of FalconConfig")
    assert result.card.sources[-1].of == ("trained_context",)
    assert result.card.sources[-1].cite == "default of FalconConfig in transformers"
    unknown = card(small("baichuan", num_key_value_heads=...))
    assert "The config states no context." in unknown.notes
    assert all("trained_context" not in source.of for source in unknown.sources)


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"hidden_size": 1024, "max_position_embeddings": 512}, "max_position_embeddings"),
        ({"hidden_size": 1024, "seq_length": 512}, "seq_length"),
        ({"rope_theta": 1e6, "max_position_embeddings": 512}, "max_position_embeddings"),
    ],
)
def test_a_context_too_short_for_its_model_is_left_out(changes, key):
    model = card(small(**changes))
    assert model.trained_context is None
    said = f"The context of 512 tokens that the config states ({key}) is too short"
    assert f"{said} to be the model's: it is left out." in model.notes
    assert card(small(max_position_embeddings=512)).trained_context == 512


def test_gemma_has_another_name_for_its_window():
    config = small("gemma3_text", head_dim=2, sliding_window_attention_size=4)
    result = made(config)
    assert [block.attention.window for block in result.card.architecture.blocks] == [4]
    assert bases(result)["sliding_window"] == ("4", "sliding_window_attention_size")


@pytest.mark.parametrize(
    ("config", "note"),
    [
        (small("qwen3_vl_text"), None),
        ({"model_type": "qwen3_vl", "text_config": small("qwen3_vl_text")}, "images"),
        (small("qwen2_vl"), "images"),
        (small("llama", vision_config=CODEC), "images"),
        (small("llama", vision_config=CODEC, audio_config=CODEC), "images or sound"),
        (small("llama"), None),
    ],
)
def test_encoders_are_spoken_of_where_they_are(config, note):
    said = [n for n in made(config).notes if "encoders" in n]
    assert said == ([f"The language model alone: encoders of {note} are not counted."] * bool(note))


@pytest.mark.parametrize(
    ("flags", "dtype", "basis"),
    [
        ({"bf16": True, "fp16": False}, "bf16", "bf16"),
        ({"fp16": True}, "fp16", "fp16"),
        ({"bf16": False, "fp16": False, "fp32": False}, "bf16", "no type is named"),
        ({"fp16": True, "torch_dtype": "float32"}, "fp32", "torch_dtype"),
    ],
)
def test_flags_of_the_first_qwen_give_the_type(flags, dtype, basis):
    config = small("qwen", **{"torch_dtype": ..., "intermediate_size": 32, **flags})
    assert bases(made(config))["dtype"] == (dtype, basis)


# Old names and halves


def test_the_first_qwen_counts_both_matrices_in_intermediate_size():
    result = made(small("qwen", num_key_value_heads=..., intermediate_size=32))
    assert result.card.architecture.blocks[0].mlp.width == 16
    assert bases(result)["intermediate_size"][1].startswith("half of intermediate_size")


def test_glm_norms_queries_only_where_it_says_so():
    plain = {**MOE, "n_shared_experts": 1, "first_k_dense_replace": 1}
    off, on = (figures(small("glm4_moe", **plain, use_qk_norm=flag)) for flag in (False, True))
    assert on[0] - off[0] == 2 * (2 + 2)


def test_experts_that_share_nothing_have_no_gate():
    nothing = small("qwen2_moe", **MOE, shared_expert_intermediate_size=0)
    assert figures(nothing) == figures(small("qwen2_moe", **MOE))
    shared = small("qwen2_moe", **MOE, shared_expert_intermediate_size=5)
    assert figures(shared)[0] - figures(nothing)[0] == 2 * (3 * 8 * 5 + 8)


def test_wishes_do_not_change_counts():
    result = imported(foreign(small()), Wish(name="mine"))
    assert result.card.name == "mine"
    assert result.card.architecture == card(small()).architecture
