"""Checkpoints whose tensors contradict the config beside them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from foreign import safetensors, written
from small import small

from specplan.errors import InputError
from specplan.importers.card import Wish, imported
from specplan.importers.source import open_source

VOCAB = 8000  # enough for a card to be plausible
Tensors = dict[str, tuple[str, list[int]]]


def tensors(layers: int = 2, dtype: str = "BF16", within: str = "model.") -> Tensors:
    """What the small Llama of the tests stores."""
    made: Tensors = {f"{within}embed_tokens.weight": ("BF16", [VOCAB, 8])}
    for number in range(layers):
        at = f"{within}layers.{number}."
        rows = {"self_attn.q_proj": 8, "self_attn.k_proj": 4, "self_attn.v_proj": 4}
        rows |= {"self_attn.o_proj": 8, "mlp.gate_proj": 16, "mlp.up_proj": 16}
        made |= {f"{at}{name}.weight": (dtype, [count, 8]) for name, count in rows.items()}
        made[f"{at}mlp.down_proj.weight"] = (dtype, [8, 16])
        made |= {f"{at}{name}.weight": ("BF16", [8]) for name in ("input_norm", "post_norm")}
    return made | {f"{within}norm.weight": ("BF16", [8]), "lm_head.weight": ("BF16", [VOCAB, 8])}


def read(folder: Path, stored: Tensors, **changes: Any) -> object:
    (folder / "config.json").write_text(json.dumps(small(vocab_size=VOCAB, **changes)))
    written(folder / "model.safetensors", safetensors(stored))
    return imported(open_source(str(folder)), Wish()).card.stored_bytes


def refusal(folder: Path, stored: Tensors, **changes: Any) -> str:
    with pytest.raises(InputError) as caught:
        read(folder, stored, **changes)
    return str(caught.value)


FP8 = {"quantization_config": {"quant_method": "fp8"}}
NVFP4 = {"quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": []}}


def test_what_belongs_together_is_read(tmp_path):
    # Two layers of 576 and two norms, a last norm, embedding and head.
    assert read(tmp_path, tensors()) == 2 * (2 * (576 + 16) + 8 + 2 * VOCAB * 8)
    assert read(tmp_path, tensors(within="language_model.model."))
    assert read(tmp_path, tensors(dtype="F8_E4M3"), **FP8)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"num_key_value_heads": 1}, "k_proj.weight has 4 rows and the config says 1 KV head of 2"),
        (
            {"num_attention_heads": 8, "head_dim": 1},
            "k_proj.weight has 4 rows and the config says 2 KV heads of 1",
        ),
        (
            {"num_attention_heads": 2, "head_dim": 2},
            "q_proj.weight has 8 rows and the config says 2 heads of 2",
        ),
        ({"intermediate_size": 8}, "has 16 rows and the config says a feed-forward of 8"),
    ],
)
def test_projections_of_another_shape(tmp_path, changes, words):
    assert words in refusal(tmp_path, tensors(), **changes)


def test_a_layer_that_drafts_lies_after_those_of_the_model(tmp_path):
    stored = tensors() | {"model.layers.2.eh_proj.weight": ("BF16", [8, 16])}
    assert read(tmp_path, stored, num_nextn_predict_layers=1)
    assert "the files hold 3 layers" in refusal(tmp_path, stored)


def test_fp8_projections_are_held_to_the_config_too(tmp_path):
    said = refusal(tmp_path, tensors(dtype="F8_E4M3"), **FP8, num_key_value_heads=1)
    assert "k_proj.weight has 4 rows" in said


@pytest.mark.parametrize("quantised", [{}, FP8])
def test_other_layers_than_the_config_has(tmp_path, quantised):
    dtype = "F8_E4M3" if quantised else "BF16"
    more = refusal(tmp_path, tensors(4, dtype), **quantised)
    assert "the files hold 4 layers and the config describes 2" in more
    fewer = refusal(tmp_path, tensors(1, dtype), **quantised)
    assert "the files hold 1 layer and the config describes 2" in fewer


@pytest.mark.parametrize(
    ("dtype", "quantised", "words"),
    [
        ("I8", FP8, "the config says fp8 and the files hold 0 bytes in types that store it"),
        ("F8_E4M3", NVFP4, "the config says nvfp4 and the files hold 0 bytes"),
    ],
)
def test_weights_of_another_quantisation(tmp_path, dtype, quantised, words):
    assert words in refusal(tmp_path, tensors(dtype=dtype), **quantised)


def test_files_without_tensors(tmp_path):
    assert "its safetensors files hold no tensors" in refusal(tmp_path, {})
    assert "hold no tensors" in refusal(tmp_path, {}, **FP8)
