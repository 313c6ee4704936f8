"""GGUF headers in the words of config.json: each architecture as its converter writes it.

Keys and shapes are those that llama.cpp's conversion scripts write for the published models named
here, reduced to the first layers where a test says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from specplan.errors import InputError, Refused, SpecplanError
from specplan.importers.gguf import Header
from specplan.importers.gguf_config import as_config, remarks
from specplan.importers.gguf_values import Items, Value
from specplan.importers.tensor import Tensor

PATH = Path("model.gguf")


def header(arch: str, keys: Mapping[str, Value], shapes: Mapping[str, tuple[int, ...]]) -> Header:
    metadata = {"general.architecture": arch}
    metadata |= {key if "tokenizer" in key else f"{arch}.{key}": v for key, v in keys.items()}
    tensors = tuple(Tensor(name, "F16", shape, 0) for name, shape in shapes.items())
    return Header(3, big_endian=False, metadata=metadata, tensors=tensors, files=(), sha256="")


def figures(layers: int, hidden: int, heads: int, kv_heads: int) -> dict[str, Value]:
    return {
        "block_count": layers,
        "embedding_length": hidden,
        "attention.head_count": heads,
        "attention.head_count_kv": kv_heads,
        "context_length": 4096,
        "feed_forward_length": 4 * hidden,
    }


def shapes(
    layers: int, hidden: int, rows: tuple[int, int], vocabulary: int = 1000, *, tied: bool = False
) -> dict[str, tuple[int, ...]]:
    found: dict[str, tuple[int, ...]] = {"token_embd.weight": (vocabulary, hidden)}
    if not tied:
        found["output.weight"] = (vocabulary, hidden)
    for layer in range(layers):
        found[f"blk.{layer}.attn_q.weight"] = (rows[0], hidden)
        found[f"blk.{layer}.attn_k.weight"] = (rows[1], hidden)
    return found


def with_layers(
    found: dict[str, tuple[int, ...]], layers: int, **each: tuple[int, ...]
) -> dict[str, tuple[int, ...]]:
    """Adds tensors to each layer; two underscores stand for a dot."""
    for layer in range(layers):
        found |= {f"blk.{layer}.{name.replace('__', '.')}": shape for name, shape in each.items()}
    return found


def refusal(given: Header) -> str:
    with pytest.raises(SpecplanError) as caught:
        as_config(given, PATH)
    assert caught.value.exit_code == 2
    return str(caught.value).removeprefix("model.gguf: ")


def test_llama_as_a_config():  # Llama-3.2-1B: tied, grouped heads
    given = header(
        "llama",
        figures(2, 2048, 32, 8) | {"rope.dimension_count": 64, "vocab_size": 128256},
        shapes(2, 2048, (2048, 512), 128256, tied=True),
    )
    assert as_config(given, PATH) == {
        "model_type": "llama",
        "architectures": ["LlamaForCausalLM"],
        "hidden_size": 2048,
        "num_hidden_layers": 2,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "head_dim": 64,
        "intermediate_size": 8192,
        "vocab_size": 128256,
        "tie_word_embeddings": True,
        "max_position_embeddings": 4096,
        "attention_bias": False,
        "mlp_bias": False,
    }


def test_heads_wider_than_the_hidden_size_are_said():  # Mistral-Nemo: 32 heads of 128 in 5120
    keys = figures(1, 5120, 32, 8) | {"attention.key_length": 128, "attention.value_length": 128}
    found = as_config(header("llama", keys, shapes(1, 5120, (4096, 1024))), PATH)
    assert (found["head_dim"], found["tie_word_embeddings"]) == (128, False)


def test_llama_with_experts_is_mixtral():
    keys = figures(1, 4096, 32, 8) | {"expert_count": 8, "expert_used_count": 2}
    found = as_config(header("llama", keys, shapes(1, 4096, (4096, 1024))), PATH)
    assert found["model_type"] == "mixtral"
    assert (found["num_local_experts"], found["num_experts_per_tok"]) == (8, 2)


def test_absent_kv_heads_are_as_many_as_heads():
    keys = figures(1, 256, 4, 0)
    del keys["attention.head_count_kv"]
    found = as_config(header("qwen2", keys, shapes(1, 256, (256, 256))), PATH)
    assert found["num_key_value_heads"] == 4


def test_a_list_of_equal_layers_counts_as_one_number():
    keys = figures(3, 256, 4, 2) | {"attention.head_count_kv": Items(3, (2, 2, 2))}
    found = as_config(header("qwen3", keys, shapes(3, 256, (256, 128))), PATH)
    assert found["num_key_value_heads"] == 2


@pytest.mark.parametrize("items", [Items(2, (2, 1)), Items(5000), Items(0)])
def test_a_list_of_different_layers_is_refused(items):
    keys = figures(2, 256, 4, 2) | {"attention.head_count_kv": items}
    message = refusal(header("llama", keys, shapes(2, 256, (256, 128))))
    assert message.startswith("llama.attention.head_count_kv differs from layer to layer")


def test_qwen3_experts():  # Qwen3-30B-A3B
    keys = figures(1, 2048, 32, 4) | {
        "attention.key_length": 128,
        "expert_count": 128,
        "expert_used_count": 8,
        "expert_feed_forward_length": 768,
    }
    found = as_config(header("qwen3moe", keys, shapes(1, 2048, (4096, 512))), PATH)
    assert found["model_type"] == "qwen3_moe"
    assert found["num_experts"] == 128
    assert found["moe_intermediate_size"] == 768
    assert "shared_expert_intermediate_size" not in found


def test_qwen2_experts_of_older_files_are_found_in_the_shapes():  # Qwen1.5-MoE-A2.7B
    keys = figures(1, 2048, 16, 16) | {"expert_count": 60, "expert_used_count": 4}
    tensors = with_layers(
        shapes(1, 2048, (2048, 2048)),
        1,
        ffn_gate_exps__weight=(60, 1408, 2048),
        ffn_gate_shexp__weight=(5632, 2048),
    )
    found = as_config(header("qwen2moe", keys, tensors), PATH)
    assert found["moe_intermediate_size"] == 1408
    assert found["shared_expert_intermediate_size"] == 5632


@pytest.mark.parametrize(
    ("arch", "keys", "window", "sliding"),
    [
        ("gemma2", {"attention.sliding_window": 4096}, 4096, "SFSFSFSF"),
        ("gemma2", {}, 4096, "SFSFSFSF"),
        ("gemma3", {"attention.sliding_window": 512}, 512, "SSSSSFSS"),
        ("gemma3", {}, None, "FFFFFFFF"),
        (
            "gemma3",
            {"attention.sliding_window": 64, "attention.sliding_window_pattern": 4},
            64,
            "SSSFSSSF",
        ),
        (
            "gemma3",
            {
                "attention.sliding_window": 64,
                "attention.sliding_window_pattern": Items(8, (True,) * 7 + (False,)),
            },
            64,
            "SSSSSSSF",
        ),
        ("gpt-oss", {"attention.sliding_window": 128}, 128, "SFSFSFSF"),
    ],
)
def test_windows_layer_by_layer(arch, keys, window, sliding):
    keys = figures(8, 256, 4, 2) | keys
    if arch == "gpt-oss":
        keys |= {"expert_count": 32, "expert_used_count": 4, "expert_feed_forward_length": 2880}
    found = as_config(header(arch, keys, shapes(8, 256, (256, 128), tied=True)), PATH)
    kinds = {"S": "sliding_attention", "F": "full_attention"}
    assert found["sliding_window"] == window
    assert found["layer_types"] == [kinds[letter] for letter in sliding]


@pytest.mark.parametrize("pattern", [0, -1, "x", 1.5, Items(3, (1, 0, 1)), Items(9000)])
def test_a_pattern_that_fits_no_layers_is_refused(pattern):
    keys = figures(2, 256, 4, 2) | {"attention.sliding_window_pattern": pattern}
    assert "fits no layers" in refusal(header("gemma3", keys, shapes(2, 256, (256, 128))))


@pytest.mark.parametrize(("window", "found"), [(2047, 2047), (0, None)])
def test_phi3_writes_0_for_no_window(window, found):
    keys = figures(1, 3072, 32, 32) | {"attention.sliding_window": window}
    tensors = {"token_embd.weight": (32064, 3072), "blk.0.attn_qkv.weight": (9216, 3072)}
    config = as_config(header("phi3", keys, tensors), PATH)
    assert (config["model_type"], config["sliding_window"]) == ("phi3", found)


def deepseek(keys: dict[str, Value], **each: tuple[int, ...]) -> Header:
    base = figures(2, 2048, 16, 16) | {
        "attention.kv_lora_rank": 512,
        "rope.dimension_count": 64,
        "expert_count": 64,
        "expert_used_count": 6,
        "expert_shared_count": 2,
        "expert_feed_forward_length": 1408,
        "leading_dense_block_count": 1,
    }
    tensors = {"token_embd.weight": (102400, 2048), "output.weight": (102400, 2048)}
    return header("deepseek2", base | keys, with_layers(tensors, 2, **each))


WHOLE = {"attention.key_length": 192, "attention.value_length": 128}
SPLIT = {
    "attention.head_count_kv": 1,
    "attention.key_length": 576,
    "attention.value_length": 512,
    "attention.key_length_mla": 192,
    "attention.value_length_mla": 128,
}


@pytest.mark.parametrize("keys", [WHOLE, SPLIT], ids=["whole", "split"])
def test_latent_attention_is_the_same_however_it_is_stored(keys):  # DeepSeek-V2-Lite
    found = as_config(deepseek(keys, attn_kv_b__weight=(4096, 512)), PATH)
    assert found["model_type"] == "deepseek_v2"
    expected = {
        "num_key_value_heads": 16,
        "q_lora_rank": None,
        "kv_lora_rank": 512,
        "qk_rope_head_dim": 64,
        "qk_nope_head_dim": 128,
        "v_head_dim": 128,
        "n_routed_experts": 64,
        "n_shared_experts": 2,
        "num_experts_per_tok": 6,
        "moe_intermediate_size": 1408,
        "first_k_dense_replace": 1,
        "num_nextn_predict_layers": 0,
    }
    assert {key: found[key] for key in expected} == expected
    assert "head_dim" not in found


def test_a_routing_bias_makes_it_version_3():
    given = deepseek(SPLIT | {"attention.q_lora_rank": 1536}, exp_probs_b__bias=(64,))
    found = as_config(given, PATH)
    assert (found["model_type"], found["q_lora_rank"]) == ("deepseek_v3", 1536)


def test_latent_attention_without_experts_is_refused():
    assert "without experts" in refusal(deepseek(SPLIT | {"expert_count": 0}, x=(1,)))


def test_draft_layers_are_no_layers():  # GLM-4.5-Air: 46 layers and one for drafting
    keys = figures(3, 4096, 96, 8) | {
        "attention.key_length": 128,
        "nextn_predict_layers": 1,
        "expert_count": 128,
        "expert_used_count": 8,
        "expert_shared_count": 1,
        "expert_feed_forward_length": 1408,
        "leading_dense_block_count": 1,
    }
    tensors = with_layers(shapes(3, 4096, (12288, 1024)), 3, attn_q__bias=(12288,))
    found = as_config(header("glm4moe", keys, tensors), PATH)
    assert (found["num_hidden_layers"], found["num_nextn_predict_layers"]) == (2, 1)
    assert (found["attention_bias"], found["use_qk_norm"]) == (True, False)


class TestRefused:
    def test_by_name_with_the_reason(self):
        message = refusal(header("qwen3next", {}, {}))
        assert message.startswith(
            "GGUF architecture 'qwen3next': its linear attention keeps a state per sequence; "
            "expected one of deepseek2, gemma, gemma2, gemma3, glm4moe, gpt-oss, llama, phi3, "
        )
        assert message.endswith("; import its config.json")
        assert "'made\\x1b-up' is not read" in refusal(header("made\x1b-up", {}, {}))

    @pytest.mark.parametrize(
        ("kind", "reason"),
        [("adapter", "is an adapter (LoRA), not a model"), ("mmproj", "is a projector"),
         ("imatrix", "is an importance matrix")],
    )  # fmt: skip
    def test_files_that_hold_no_model(self, kind, reason):
        given = Header(3, False, {"general.type": kind}, (), (), "")
        assert refusal(given).startswith(reason)

    def test_no_architecture(self):
        assert refusal(Header(3, False, {}, (), (), "")) == "general.architecture is missing"

    def test_a_missing_figure(self):
        message = refusal(header("llama", {"block_count": 1}, {}))
        assert message == "llama.attention.head_count is missing; import its config.json"

    @pytest.mark.parametrize("found", ["32", 1.0, True, -1])
    def test_a_figure_that_is_none(self, found):
        keys = figures(1, 256, 4, 2) | {"attention.head_count": found}
        message = refusal(header("llama", keys, shapes(1, 256, (256, 128))))
        assert message == "llama.attention.head_count is no whole number"

    def test_keys_and_values_of_different_length(self):
        keys = figures(1, 256, 4, 2) | {"attention.value_length": 32}
        message = refusal(header("llama", keys, shapes(1, 256, (256, 128))))
        assert message.startswith("keys and values differ in length")

    def test_biases_on_some_projections(self):
        tensors = with_layers(shapes(1, 256, (256, 128)), 1, attn_q__bias=(256,))
        message = refusal(header("llama", figures(1, 256, 4, 2), tensors))
        assert message.startswith("has biases on some attention projections only")


class TestContradictions:
    def test_heads_that_the_projections_deny(self):  # a KV head count that lies
        given = header("llama", figures(1, 256, 4, 4), shapes(1, 256, (256, 128)))
        with pytest.raises(InputError) as caught:
            as_config(given, PATH)
        assert str(caught.value) == (
            "model.gguf: blk.0.attn_k.weight has 128 rows; expected 4 heads of 64"
        )

    def test_a_feed_forward_that_its_tensors_deny(self):
        plain = with_layers(shapes(1, 256, (256, 128)), 1, ffn_up__weight=(512, 256))
        given = header("llama", figures(1, 256, 4, 2), plain)
        assert refusal(given) == "blk.0.ffn_up.weight has 512 rows; expected a feed-forward of 1024"
        down = with_layers(shapes(1, 256, (256, 128)), 1, ffn_down__weight=(256, 512))
        given = header("llama", figures(1, 256, 4, 2), down)
        assert "blk.0.ffn_down.weight has 512 columns" in refusal(given)

    @pytest.mark.parametrize(
        ("shape", "words"),
        [
            ((4, 64, 256), "has 4 matrices; expected 8 experts of 64"),
            ((8, 32, 256), "has 32 rows; expected 8 experts of 64"),
        ],
    )
    def test_experts_that_their_tensors_deny(self, shape, words):
        keys = figures(1, 256, 4, 2) | {
            "expert_count": 8,
            "expert_used_count": 2,
            "expert_feed_forward_length": 64,
        }
        layers = with_layers(shapes(1, 256, (256, 128)), 1, ffn_gate_exps__weight=shape)
        assert words in refusal(header("qwen3moe", keys, layers))

    def test_layers_that_are_not_there(self):
        given = header("llama", figures(10**12, 256, 4, 2), shapes(2, 256, (256, 128)))
        assert refusal(given) == "holds tensors of 2 layers and announces 1000000000000"
        given = header("llama", figures(1, 256, 4, 2), {"token_embd.weight": (9, 256)})
        assert refusal(given) == "holds tensors of 0 layers and announces 1"

    def test_an_embedding_of_another_width(self):
        given = header("llama", figures(1, 512, 8, 2), shapes(1, 256, (512, 128)))
        assert refusal(given) == "token_embd.weight is [1000, 256] and llama.embedding_length 512"

    def test_no_embedding(self):
        assert refusal(header("llama", figures(1, 256, 4, 2), {})) == (
            "token_embd.weight is missing; import its config.json"
        )


def test_what_a_reader_should_know():
    tensors = shapes(1, 256, (256, 128)) | {"rope_freqs.weight": (32,)}
    keys = figures(1, 256, 4, 2) | {"tokenizer.ggml.tokens": Items(990)}
    assert remarks(header("llama", keys, tensors)) == (
        "GGUF calls Mistral models llama too and keeps no sliding window for them",
        "the tokenizer has 990 tokens, the embedding 1000 rows",
        "rope_* tensors are tables, not weights; they are counted as stored",
    )
    both = deepseek(SPLIT, attn_kv_b__weight=(1,), attn_k_b__weight=(1,))
    assert remarks(both) == ("kv_b is stored twice, whole and split",)


def test_refusals_are_of_the_two_kinds():
    with pytest.raises(Refused):
        as_config(header("mamba", {}, {}), PATH)
