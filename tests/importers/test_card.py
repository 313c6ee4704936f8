"""A source becomes a card: its name and sources, what is said of each figure, its files' bytes."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from families import DEEP, LAYER, PLAIN, TABLE
from foreign import safetensors, written
from small import bases, card, foreign, made, small

from specplan.domain.card import Dtype
from specplan.domain.imported import Extra
from specplan.domain.layers import Mlp, Part
from specplan.errors import InputError
from specplan.importers.bounds import fits
from specplan.importers.card import Wish, imported
from specplan.importers.source import open_source

TARGET = card(small(), name="target")


def test_a_card_says_what_it_is_and_where_it_is_from():
    model = card(small(max_position_embeddings=64))
    assert (model.schema, model.name, model.title) == ("model/1", "small", "small")
    assert (model.family, model.dtype, model.trained_context) == ("llama", Dtype.BF16, 64)
    (source,) = model.sources
    assert source.of == ("architecture", "trained_context")
    assert (source.kind, source.cite) == ("config", "config small.json, sha256 000000000000")


def test_each_figure_has_its_basis():
    told = bases(made(small(torch_dtype="float16")))
    assert told["dtype"] == ("fp16", "torch_dtype")
    assert told["stored_params"][0] == f"{PLAIN:,}"
    assert told["matmul_params"][0] == f"{2 * LAYER + TABLE:,}"
    assert told["kv_bytes_per_token"] == ("32", "all layers at 16 bits, windows ignored")
    assert told["hidden_size"] == ("8", "hidden_size")
    assert told["tie_word_embeddings"] == ("false", "default of LlamaConfig")


def test_figures_that_only_some_models_have():
    sparse = small("deepseek_v32", **DEEP, index_topk=4, index_n_heads=2, index_head_dim=128)
    assert bases(made(sparse))["index_bytes_per_token"] == ("264", "keys of the indexers, FP8")
    fp8 = {"quant_method": "fp8", "weight_block_size": [8, 8]}
    quantised = made(small(quantization_config=fp8))
    assert bases(quantised)["dtype"][1].startswith("fp8, blocks of 8 x 8")
    assert quantised.card.part_dtype(Part.HEAD, Dtype.FP8) is Dtype.BF16
    # A scale for each 64 of the weights in the layers.
    assert Extra("scales of the quantised blocks", 2 * LAYER // 64, announced=True) in (
        quantised.extras
    )


def test_equal_layers_are_written_once():
    blocks = card(small(num_hidden_layers=40)).architecture.blocks
    assert [block.repeat for block in blocks] == [40]


# Names


def test_a_wished_name_is_the_name():
    assert card(small(), name="mine").name == "mine"
    head = small(num_hidden_layers=1)
    assert card(head, target=TARGET).name == "eagle-target"
    assert card(head, target=TARGET, name="mine").name == "mine"
    assert card(head, head=True).name == "small"


def test_a_title_shows_what_is_hidden():
    model = imported(replace(foreign(small()), name="a\x1bb\n" + "c" * 300), Wish()).card
    assert model.title.startswith(r"a\x1bb\x0accc")
    assert len(model.title) == 200


# Drafting


def test_a_small_model_drafts_for_a_target():
    model = card(small(), target=TARGET)
    assert (model.drafts.kind, model.drafts.targets) == ("model", ("target",))
    assert model.sources[0].of == ("architecture", "drafts")


def test_a_module_that_a_config_does_not_announce_is_refused():
    with pytest.raises(InputError, match=r"announces no layers that draft \(MTP\)"):
        made(small(), mtp=True)
    with pytest.raises(InputError, match=r"announces no layers that draft \(MTP\)"):
        made(small("deepseek_v3", **DEEP, num_nextn_predict_layers=0), mtp=True)


def test_modules_are_named_for_their_model_or_target():
    config = small("mimo", num_nextn_predict_layers=2)
    module = card(config, mtp=True)
    assert (module.name, module.title) == ("mtp-small", "MTP module of small")
    assert "One of the 2 modules, one for each position, that the config" in module.notes[0]
    assert card(config, mtp=True, target=TARGET).drafts.targets == ("target",)


def test_a_module_left_out_of_a_quantisation_is_stored_as_the_rest_is_not():
    config = small("deepseek_v3", **DEEP, num_nextn_predict_layers=1)
    side = {"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8", "exclude_modules": []}
    for left, dtype in ((["lm_head"], Dtype.NVFP4), (["lm_head", "model.layers.2*"], Dtype.BF16)):
        source = foreign(config, quant={**side, "exclude_modules": left}, quant_sha256="f" * 64)
        module = imported(source, Wish(mtp=True)).card
        assert (module.dtype, module.parts) == (dtype, {})
        assert imported(source, Wish()).card.dtype is Dtype.NVFP4
        cite = "; hf_quant_config.json beside it, sha256 ffffffffffff"
        assert module.sources[0].cite.endswith(cite)
        cache = "The checkpoint asks for a cache in FP8; the figure here is at 16 bits, as on every"
        assert f"{cache} card." in module.notes


def test_notes_are_sentences():
    config = small("deepseek_v3", **DEEP, num_nextn_predict_layers=2, torch_dtype=...)
    side = {"quant_algo": "NVFP4"}
    for wish in (Wish(), Wish(mtp=True)):
        for note in imported(foreign(config, quant=side), wish).card.notes:
            assert note[0].isupper()
            assert note.endswith(".")
            assert "_" not in note.split()[0]
    said = imported(foreign(config), Wish()).card.notes
    assert "The 2 modules for multi-token prediction (MTP) are not counted." in said


def test_a_head_without_a_target_says_how_to_name_one():
    head = small(num_hidden_layers=1, architectures=["LlamaForCausalLMEagle3"])
    said = "no target is named: --for TARGET names it"
    assert said in made(head).notes
    assert said not in made(head).card.notes
    assert said not in made(head, target=TARGET).notes
    assert said not in made(small()).notes


# Files


def checkpoint(folder, shape):
    (folder / "config.json").write_text(json.dumps(small(vocab_size=4000)))
    written(folder / "model.safetensors", safetensors({"all": ("BF16", shape)}))
    return imported(open_source(str(folder)), Wish())


def test_exact_bytes_are_of_the_files(tmp_path):
    elements = PLAIN + 2 * 8 * (4000 - 32)
    result = checkpoint(tmp_path, [elements])
    assert result.card.stored_bytes == 2 * elements
    assert result.card.sources[-1].of == ("stored_bytes",)
    assert result.card.sources[-1].cite == (
        f"{elements:,} elements in {2 * elements:,} bytes, by the headers of its files"
    )
    assert bases(result)["stored as BF16"] == (f"{2 * elements:,} B", "header of one tensor")


def test_files_that_hold_more_say_what_it_may_be(tmp_path):
    assert "they may hold parts that no key names" in (
        checkpoint(tmp_path, [90_000]).card.sources[-1].cite
    )


def test_files_that_lack_weights_are_refused(tmp_path):
    with pytest.raises(InputError, match="the files hold 10 elements and the config describes"):
        checkpoint(tmp_path, [10])


def test_the_type_of_the_files_counts(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(small(vocab_size=4000)))
    elements = PLAIN + 2 * 8 * (4000 - 32)
    written(tmp_path / "model.safetensors", safetensors({"all": ("F32", [elements])}))
    result = imported(open_source(str(tmp_path)), Wish()).card
    assert result.dtype is Dtype.FP32
    assert "The config says bf16 and the weights are stored as fp32, which counts." in result.notes


def test_weights_that_are_not_quantised_as_the_config_says_are_refused(tmp_path):
    quant = {"quant_method": "fp8", "weight_block_size": [128, 128]}
    (tmp_path / "config.json").write_text(json.dumps(small(quantization_config=quant)))
    written(tmp_path / "model.safetensors", safetensors({"all": ("BF16", [PLAIN])}))
    with pytest.raises(InputError, match="the config says fp8 and every weight is BF16"):
        imported(open_source(str(tmp_path)), Wish())


# Bounds


def test_bounds_are_held_however_deep():
    model = card(small())
    fits(model)
    arch = model.architecture
    wide = replace(arch.blocks[0], mlp=Mlp(width=10**8))
    for broken, words in (
        (replace(model, name="No Name"), "name would be 'No Name'"),
        (replace(model, sources=()), "sources would be (); expected at least 1 of them"),
        (replace(model, notes=("",)), None),
        (replace(model, architecture=replace(arch, hidden=0)), "architecture.hidden would be 0"),
        (
            replace(model, architecture=replace(arch, blocks=(arch.blocks[0], wide))),
            "architecture.blocks.mlp.width would be 100,000,000; expected at most 10,000,000",
        ),
    ):
        if words is None:
            fits(broken)  # items have bounds of their own, which are of texts that we write
            continue
        with pytest.raises(InputError) as caught:
            fits(broken)
        assert words in str(caught.value)


def test_scales_of_4_bit_integers_are_bytes_of_the_files(tmp_path):
    """A group of 32 has a scale of 16 bits; embedding, head and norms keep 16 bits."""
    quant = {"quant_method": "awq", "bits": 4, "group_size": 32}
    config = small(vocab_size=4000, quantization_config=quant)
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config))
    card = imported(open_source(str(path)), Wish()).card
    narrow = sum(w.params for w in card.architecture.weights() if w.part in {"attention", "mlp"})
    others = card.architecture.stored_params - narrow
    assert card.stored_bytes == narrow / 2 + 2 * (narrow // 32) + 2 * others


# Scales of integers


def group(size, *targets, bits=4, kind="int"):
    weights = {"type": kind, "num_bits": bits, "group_size": size}
    return {"targets": list(targets), "weights": weights}


def compressed(*groups):
    named = {f"g{number}": each for number, each in enumerate(groups)}
    return small(
        hidden_size=64,
        intermediate_size=128,
        vocab_size=4000,
        quantization_config={"quant_method": "compressed-tensors", "config_groups": named},
    )


def cited(model):
    return [source.cite for source in model.sources if "stored_bytes" in source.of]


def test_scales_are_counted_by_the_groups_of_each_part():
    attention, mlp = 64 * (64 + 32 + 32 + 64), 3 * 64 * 128
    two = card(compressed(group(64, "re:.*self_attn.*"), group(32, "re:.*mlp.*")))
    scales = 2 * (attention // 64 + mlp // 32)
    assert cited(two) == [f"the parts in their types, and {scales:,} scales of 2 bytes"]
    eight = group(0, "re:.*self_attn.*", bits=8, kind="float")
    one = card(compressed(eight, group(32, "re:.*mlp.*")))
    assert cited(one) == [f"the parts in their types, and {2 * mlp // 32:,} scales of 2 bytes"]


@pytest.mark.parametrize("other", [group(64, "re:.*down_proj"), group(32, "re:.*up_proj", bits=8)])
def test_scales_of_a_part_with_several_groups_are_not_counted(other):
    model = card(compressed(group(32, "Linear"), other))
    assert model.stored_bytes is None
    assert any(note.startswith("Scales are not counted") for note in model.notes)
