"""What a class has for heads where its file is silent, and where a file says null."""

from __future__ import annotations

import pytest
from families import HYBRID
from small import bases, card, made, small

from specplan.errors import InputError
from specplan.importers.defaults import COMPUTED, DEFAULTS, UNSEEN
from specplan.importers.dense import DENSE
from specplan.importers.gemma import GEMMA
from specplan.importers.hybrid import HYBRID as FAMILIES_WITH_STATES
from specplan.importers.sparse import SPARSE

MOE = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 6}
OWN = {"nemotron-nas", "mimo_v2_flash"}  # which read heads by keys that must be there


def heads(config) -> tuple[int, int]:
    """KV heads and head_dim of the first layer that attends."""
    blocks = card(config).architecture.blocks
    attention = next(block.attention for block in blocks if block.attention)
    return attention.kv_heads, attention.head_dim


# Defaults of transformers' configuration classes, read in its source.
@pytest.mark.parametrize(
    ("config", "found"),
    [
        (small(num_attention_heads=64, num_key_value_heads=..., hidden_size=64), (64, 1)),
        (small("mistral", num_attention_heads=8, num_key_value_heads=...), (8, 1)),
        (small("mistral", hidden_size=32, num_attention_heads=16, num_key_value_heads=...), (8, 2)),
        (small("ministral3", num_attention_heads=16, num_key_value_heads=...), (8, 128)),
        (small("qwen2", hidden_size=64, num_attention_heads=64, num_key_value_heads=...), (32, 1)),
        (small("qwen3", num_attention_heads=64, num_key_value_heads=...), (32, 128)),
        (small("qwen3_moe", **MOE, num_key_value_heads=...), (4, 2)),
        (small("qwen2_moe", **MOE, num_attention_heads=16, hidden_size=32), (2, 2)),
        (small("qwen3_vl_text", num_attention_heads=32, num_key_value_heads=...), (32, 128)),
        (small("qwen3_next", **HYBRID, num_hidden_layers=4, num_key_value_heads=...), (2, 256)),
        (
            small(
                "gpt_oss",
                num_local_experts=4,
                num_experts_per_tok=2,
                sliding_window=4,
                num_attention_heads=16,
                num_key_value_heads=...,
            ),
            (8, 64),
        ),
        (small("phi3", num_key_value_heads=...), (4, 2)),
        (small("cohere", num_key_value_heads=...), (4, 2)),
        (small("olmo3", sliding_window=4, num_key_value_heads=...), (4, 2)),
    ],
)
def test_an_absent_key_is_the_default_of_its_class(config, found):
    assert heads(config) == found


def test_a_default_is_named():
    told = bases(made(small("qwen3", num_attention_heads=32, num_key_value_heads=...)))
    assert told["head_dim"] == ("128", "default of Qwen3Config")
    assert told["num_key_value_heads"] == ("32", "default of Qwen3Config")


def test_null_is_what_the_class_computes():
    assert heads(small("mistral", num_key_value_heads=None)) == (4, 2)
    assert heads(small("qwen3", num_key_value_heads=None, head_dim=2)) == (4, 2)
    assert heads(small("ministral3", head_dim=None)) == (2, 2)


def test_null_where_the_class_computes_nothing_is_refused():
    with pytest.raises(InputError, match=r"head_dim is null.*Qwen3Config computes nothing"):
        card(small("qwen3", head_dim=None))
    with pytest.raises(InputError, match="num_key_value_heads is null"):
        card(small("qwen3_moe", **MOE, num_key_value_heads=None))


def test_a_default_that_nobody_read_is_refused_by_name():
    with pytest.raises(InputError, match="no num_key_value_heads, and the default of mimo's class"):
        card(small("mimo", num_key_value_heads=...))


def test_every_family_that_shares_heads_says_what_its_class_has():
    shared = {*DENSE, *GEMMA, *SPARSE, *FAMILIES_WITH_STATES} - OWN
    assert shared - DEFAULTS.keys() - COMPUTED - UNSEEN == set()


def test_attention_both_ways_is_an_encoder():
    with pytest.raises(InputError, match="use_bidirectional_attention: an encoder"):
        card(small("gemma3_text", head_dim=2, use_bidirectional_attention=True))
    gemma = small("gemma3_text", head_dim=2, use_bidirectional_attention="vision")
    assert card(gemma).architecture.hidden == 8


def test_biases_that_a_file_turns_on_or_off():
    chat = small(
        "chatglm",
        kv_channels=2,
        ffn_hidden_size=16,
        multi_query_attention=True,
        multi_query_group_num=2,
    )
    biased = card({**chat, "add_bias_linear": True}).architecture.blocks[0]
    assert (biased.attention.qkv_bias, biased.attention.out_bias, biased.mlp.bias) == (True,) * 3
    sparse = small("qwen2_moe", **MOE)
    assert card(sparse).architecture.blocks[0].attention.qkv_bias
    assert not card({**sparse, "qkv_bias": False}).architecture.blocks[0].attention.qkv_bias
