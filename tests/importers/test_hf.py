"""Configs of every family: their counts, what is refused of them, and whatever else they hold."""

from __future__ import annotations

import re

import pytest
from families import CASES, DEEP, HYBRID, MAMBA, MOE, SAME
from hypothesis import given
from hypothesis import strategies as st
from small import card, figures, foreign, made, small

from specplan.catalogue.read import read_yaml
from specplan.catalogue.schema import bind
from specplan.catalogue.write_card import card_text
from specplan.domain.model import Model
from specplan.errors import InputError
from specplan.importers.card import Wish, imported
from specplan.importers.hf import ALSO, FAMILIES, REFUSED, plain_name
from specplan.importers.json_ import Bare


@pytest.mark.parametrize("case", CASES)
def test_counts_by_hand(case):
    config, stored, multiplied, cached = CASES[case]
    assert figures(config) == (stored, multiplied, cached)


@pytest.mark.parametrize("kind", SAME)
def test_kinds_that_are_read_alike(kind):
    config, *counts = CASES[SAME[kind]]
    assert figures({**config, "model_type": kind}) == tuple(counts)


def test_every_family_is_counted():
    kinds = {ALSO.get(config["model_type"], config["model_type"]) for config, *_ in CASES.values()}
    assert set(FAMILIES) == kinds | set(SAME)


@pytest.mark.parametrize("case", CASES)
def test_cards_read_back_as_they_are(case):
    made_card = card(CASES[case][0])
    assert bind(read_yaml(card_text(made_card).encode(), "made"), Model) == made_card


# Refusals


@pytest.mark.parametrize("kind", REFUSED)
def test_kinds_refused_by_name_say_why(kind):
    with pytest.raises(InputError) as caught:
        made(small(kind))
    assert str(caught.value).startswith(f"config small.json: model_type {kind}: ")
    assert REFUSED[kind] in str(caught.value)


def test_unknown_kinds_are_refused():
    with pytest.raises(InputError, match=r"model_type 'gpt7' is not known.*write its card by hand"):
        made(small("gpt7"))
    with pytest.raises(InputError, match="no model_type; expected the kind of model"):
        made(small(""))
    with pytest.raises(InputError, match="model_type is 7; expected text"):
        made(small(7))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"num_experts": 4}, "num_experts: experts, which models of type llama do not have"),
        ({"kv_lora_rank": 4}, "kv_lora_rank: latent attention, which"),
        ({"hidden_size_per_layer_input": 4}, "an embedding for every layer, which"),
        ({"cross_attention_layers": [1]}, "cross-attention, which"),
        ({"mamba_d_state": 4}, "state-space mixers, which"),
        (
            {"layer_types": ["full_attention", "linear_attention"]},
            "layer_types is 'linear_attention'",
        ),
        ({"layer_types": [7]}, "layer_types is 7"),
    ],
)
def test_a_fork_under_its_parents_name_is_refused(changes, words):
    with pytest.raises(InputError, match=re.escape(words)):
        made(small(**changes))


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (small(hidden_size=...), "no hidden_size; expected a whole number"),
        (small(hidden_size=..., hiden_size=8), "no hidden_size; .*did you mean 'hiden_size'?"),
        (small(hidden_size=None), "hidden_size is null"),
        (small(hidden_size=0), "hidden_size is 0; expected 1 to"),
        (small(hidden_size=-8), "hidden_size is -8"),
        (small(hidden_size=8.5), "hidden_size is 8.5; expected a whole number"),
        (small(hidden_size="8"), "hidden_size is '8'; expected a whole number"),
        (small(hidden_size=True), "hidden_size is True"),
        (small(hidden_size=[8]), r"hidden_size is \[8\]"),
        (small(hidden_size=Bare("1e999")), "hidden_size is 1e999"),
        (small(hidden_size=2_000_000), "hidden would be 2,000,000; expected at most 1,000,000"),
        (small(num_hidden_layers=10**9), "num_hidden_layers is 1000000000; expected 1 to 1,000"),
        (small(num_attention_heads=3, num_key_value_heads=1), "no head_dim, and 3 heads do not"),
        (small(num_key_value_heads=3), "3 KV heads for 4 heads"),
        (small(tie_word_embeddings="yes"), "tie_word_embeddings is 'yes'; expected true or false"),
        (small("mixtral", num_local_experts=2, num_experts_per_tok=4), "4 of 2 experts run"),
        (small("gemma2", layer_types=["full_attention"] * 4), "layer_types has 4 entries for 2"),
        (small("gemma2", layer_types=["sliding"] * 2), "layer_types is 'sliding'; expected full"),
        (small("gemma4", sliding_window=4, global_head_dim=4), "no layer_types"),
        (small("gemma4", num_kv_shared_layers=1), "layers that share a cache are not modelled"),
        (small("gemma4", hidden_size_per_layer_input=1), "an embedding for every layer"),
        (small("qwen3_moe", **MOE, mlp_only_layers=["0"]), r"mlp_only_layers is '0'"),
        (small("deepseek_v3", **{**DEEP, "first_k_dense_replace": ...}), "no first_k_dense"),
        (small("deepseek_v3", **DEEP, moe_layer_freq=[0, 2]), "moe_layer_freq is 2; expected 0"),
        (small("nemotron-nas"), "no block_configs"),
        (small("nemotron_h"), "no hybrid_override_pattern or layers_block_type"),
        (small("nemotron_h", hybrid_override_pattern="MX"), "holds 'X'"),
        (small("nemotron_h", hybrid_override_pattern="M"), "has 1 layers and num_hidden"),
        (small("nemotron_h", hybrid_override_pattern="MM", **MAMBA, use_bias=True), "use_bias: "),
        (small("qwen3_next", **HYBRID, mamba_ssm_dtype="int8"), "mamba_ssm_dtype is int8"),
        (small("minimax_m2", num_local_experts=2, num_experts_per_tok=1, attn_type_list=[1, 0]),
         "linear attention are not modelled"),
        (small("opt", ffn_dim=16, word_embed_proj_dim=4), "narrower than the layers"),
        (small("chatglm", inner_hidden_size=16), "the first ChatGLM"),
        (small("qwen", intermediate_size=31), "an even number"),
        ({"model_type": "llava", "text_config": [1]}, r"text_config is \[1\]; expected a mapping"),
        (small(text_config=7), "text_config is 7; expected a mapping"),
        (small(is_encoder_decoder=True), "an encoder-decoder"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused_by_name(config, words):
    with pytest.raises(InputError, match=words):
        made(config)


NAS = {"attention": {"n_heads_in_group": 4}, "ffn": {"ffn_mult": 1.0}}


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ([], r"block_configs\[1\] is \[\]; expected a mapping"),
        ({"attention": {}, "ffn": {}}, r"no block_configs\[1\].attention.n_heads_in_group"),
        ({**NAS, "attention": {"n_heads_in_group": 3}}, "3 KV heads for 4 heads"),
        ({**NAS, "attention": {"replace_with_linear": True}}, "replace_with_linear: a layer made"),
        ({**NAS, "ffn": {"sparsify": [1]}}, "sparsify: a layer made otherwise"),
        ({**NAS, "ffn": {}}, r"no block_configs\[1\].ffn.ffn_mult"),
        ({**NAS, "ffn": {"ffn_mult": "2"}}, "ffn_mult is '2'; expected a number above 0"),
    ],
)
def test_layers_of_nemotron_nas_are_not_guessed(entry, words):
    with pytest.raises(InputError, match=words):
        made(small("nemotron-nas", block_configs=[NAS, entry]))


# Names


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("meta-llama/Llama-3.1-8B", "llama-3.1-8b"),
        ("org__Model_X", "model_x"),
        ("a folder/", "a-folder"),
        ("\u4e2d\u6587", "model"),
        ("--", "model"),
        ("x" * 90, "x" * 64),
        ("x" * 63 + "-y", "x" * 63),
    ],
)
def test_names_become_names_of_cards(text, name):
    assert plain_name(text) == name


# Any value under any key that is read


KEYS = sorted(
    {key for config, *_ in CASES.values() for key in config}
    | {"layer_types", "text_config", "vision_config", "quantization_config", "architectures"}
    | {"num_nextn_predict_layers", "draft_vocab_size", "eagle_config", "moe_layers", "model"}
    | {"transformer_layer_config", "medusa_num_heads", "block_size", "dflash_config", "dtype"}
    | {"sliding_window_pattern", "no_rope_layers", "use_sliding_window", "max_window_layers"}
)
INNER = [*KEYS, "attention", "ffn", "quant_method"]
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-2, 40)
    | st.sampled_from([10**6, 10**9, 10**19, 0.5, 4.0, 1e300, Bare("NaN"), "", "x", "fp8"])
    | st.sampled_from(["full_attention", "sliding_attention", "bfloat16", "M*", "llama"])
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(INNER), inner, max_size=3)
    ),
    max_leaves=6,
)
CONFIGS = st.sampled_from(sorted(CASES)).map(lambda name: CASES[name][0])


@given(
    config=CONFIGS,
    changes=st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=4),
    wish=st.sampled_from([Wish(), Wish(mtp=True), Wish(head=True)]),
)
def test_any_config_gives_a_card_that_loads_or_one_line(config, changes, wish):
    try:
        result = imported(foreign({**config, **changes}), wish)
    except InputError as error:
        assert "\n" not in str(error)  # noqa: PT017 - either outcome is right
    else:
        text = card_text(result.card)
        assert bind(read_yaml(text.encode(), "made"), Model) == result.card
