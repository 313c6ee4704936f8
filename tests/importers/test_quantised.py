"""Which parts of a checkpoint are stored in which type, by what its configs say."""

from __future__ import annotations

import pytest

from specplan.domain.architecture import Architecture
from specplan.domain.card import Dtype, Source
from specplan.domain.layers import Block, Experts, Mlp, Part
from specplan.domain.mixers import Attention, GatedDelta, Indexer, LatentAttention, Mamba2
from specplan.domain.model import Model
from specplan.errors import InputError
from specplan.importers.quant_match import names_in
from specplan.importers.quant_modules import OUTSIDE, layer_modules
from specplan.importers.quantised import Storage, storage

HIDDEN = 64
ATTENTION = Attention(heads=4, kv_heads=2, head_dim=16)
LATENT = LatentAttention(heads=4, latent=32, rope=8, nope=16, value=16, q_rank=24)
DELTA = GatedDelta(key_heads=2, value_heads=4, key_dim=8, value_dim=8, conv=4)
MAMBA = Mamba2(heads=4, head_dim=16, groups=2, state=8, conv=4)
MLP = Mlp(width=128)
EXPERTS = Experts(experts=8, active=2, width=32, shared_width=32, shared_gate=True)
PLAIN = Experts(experts=8, active=2, width=32)

DENSE = [Block(repeat=1, attention=ATTENTION, mlp=MLP)] * 12
SPARSE = [Block(repeat=1, latent=LATENT, mlp=MLP)] + [
    Block(repeat=1, latent=LATENT, experts=EXPERTS)
] * 3
HYBRID = [
    Block(repeat=1, delta=DELTA, experts=EXPERTS),
    Block(repeat=1, attention=ATTENTION, experts=EXPERTS),
]
SINGLE = [
    Block(repeat=1, mamba=MAMBA, norms=1),
    Block(repeat=1, experts=Experts(experts=8, active=2, width=32, gated=False), norms=1),
    Block(repeat=1, mamba=MAMBA, norms=1),
    Block(repeat=1, mamba=MAMBA, norms=1),
    Block(repeat=1, attention=ATTENTION, norms=1),
]
BESIDE = [Block(repeat=1, attention=ATTENTION, mlp=MLP, experts=PLAIN)]


def stored(layers, quant=None, *, side=None, **config) -> Storage:
    whole = {"hidden_size": HIDDEN, "dtype": "bfloat16", **config}
    if quant is not None:
        whole["quantization_config"] = quant
    return storage(whole, side, layers)


def read_back(layers, found: Storage) -> list[dict[str, str]]:
    """The type of every part of every layer, and of what lies outside, as a card says it."""
    blocks = [
        Block(**{name: getattr(layer, name) for name in layer.__slots__} | {"parts": parts})
        for layer, parts in zip(layers, found.by_layer, strict=True)
    ]
    model = Model(
        schema="model/1",
        name="m",
        title="m",
        family="m",
        dtype=found.dtype,
        parts=found.parts,
        architecture=Architecture(
            hidden=HIDDEN, vocab=100, tied_embeddings=False, blocks=tuple(blocks)
        ),
        sources=(Source(of=("*",), kind="config", cite="c"),),
    )
    outside = {part: model.part_dtype(part, found.dtype) for part in (Part.HEAD, Part.EMBEDDING)}
    return [
        {
            str(module.part): str(model.part_dtype(module.part, found.dtype, block))
            for module in layer_modules(0, block, HIDDEN)
        }
        for block in blocks
    ] + [{str(part): str(dtype) for part, dtype in outside.items()}]


def group(targets=("Linear",), *, bits=8, kind="float", **weights):
    return {"targets": list(targets), "weights": {"num_bits": bits, "type": kind, **weights}}


def compressed(*groups, ignore=(), form="float-quantized"):
    return {
        "quant_method": "compressed-tensors",
        "format": form,
        "config_groups": {f"group_{n}": each for n, each in enumerate(groups)},
        "ignore": list(ignore),
    }


def nvfp4(*exclude, **more):
    return {"quant_algo": "NVFP4", "exclude_modules": list(exclude), **more}


@pytest.mark.parametrize(
    "block",
    [
        *DENSE[:1],
        *SPARSE[:2],
        *HYBRID,
        *SINGLE,
        *BESIDE,
        Block(
            repeat=1,
            latent=LatentAttention(
                heads=4,
                latent=32,
                rope=8,
                nope=16,
                value=8,
                indexer=Indexer(heads=2, head_dim=8),
            ),
        ),
        Block(
            repeat=1,
            attention=Attention(
                heads=4, kv_heads=1, head_dim=16, value_dim=8, gated=True, inputs=2, head_gate=True
            ),
            experts=Experts(experts=8, active=2, width=32, latent=16, gated=False, shared_width=32),
        ),
    ],
)
def test_modules_add_up_to_the_weights_of_their_layer(block):
    by_part = dict(block.resident(HIDDEN))
    if block.experts:
        by_part[Part.EXPERTS] = block.experts.experts * block.experts.expert_params(HIDDEN)
    found = dict.fromkeys(by_part, 0)
    for module in layer_modules(0, block, HIDDEN):
        found[module.part] += module.params
    assert found == by_part


@pytest.mark.parametrize(
    ("config", "dtype", "basis"),
    [
        ({"dtype": "bfloat16"}, "bf16", "bf16: dtype"),
        ({"torch_dtype": "float16"}, "fp16", "fp16: torch_dtype"),
        ({"torch_dtype": "torch.float32"}, "fp32", "fp32: torch_dtype"),
        ({"text_config": {"dtype": "float16"}}, "fp16", "fp16: text_config.dtype"),
    ],
)
def test_an_unquantised_model_is_stored_as_its_dtype_says(config, dtype, basis):
    found = storage(config, None, DENSE)
    assert (found.dtype, found.parts, found.kv_dtype, found.notes) == (dtype, {}, None, ())
    assert found.basis == basis
    assert found.by_layer == ({},) * 12


def test_a_config_without_a_type_is_read_as_bf16_and_says_so():
    found = storage({}, None, DENSE)
    assert found.dtype is Dtype.BF16
    assert "names no dtype" in found.notes[0]


@pytest.mark.parametrize("word", ["float8_e4m3fn", "auto", "int8"])
def test_another_type_is_refused_by_name(word):
    with pytest.raises(InputError, match=f"dtype is {word}; expected float32"):
        storage({"dtype": word}, None, DENSE)


def test_fp8_leaves_out_head_embedding_and_router_whatever_its_list_says():
    found = stored(SPARSE, {"quant_method": "fp8", "weight_block_size": [128, 128]})
    assert (found.dtype, found.parts) == ("fp8", {})
    assert found.basis == "fp8, blocks of 128 x 128: quantization_config.quant_method"
    *layers, outside = read_back(SPARSE, found)
    assert layers[0] == {"attention": "fp8", "mlp": "fp8"}
    assert layers[1] == {
        "attention": "fp8",
        "router": "bf16",
        "shared": "fp8",
        "experts": "fp8",
    }
    assert outside == {"head": "bf16", "embedding": "bf16"}


def test_parts_that_stay_in_float16_are_written_because_a_card_would_read_bf16():
    found = stored(SPARSE, {"quant_method": "fp8"}, dtype="float16")
    assert read_back(SPARSE, found)[-1] == {"head": "fp16", "embedding": "fp16"}
    assert read_back(SPARSE, found)[1]["router"] == "fp16"


def test_a_bare_name_stands_for_a_module_wherever_whole_parts_fit():
    quant = {"quant_method": "fp8", "modules_to_not_convert": ["gate", "self_attn", "lm_head"]}
    types = read_back(SPARSE, stored(SPARSE, quant))
    assert [each["attention"] for each in types[:-1]] == ["bf16"] * 4
    assert types[0]["mlp"] == "fp8"  # `gate` is not `gate_proj`


def test_a_name_of_layer_1_does_not_reach_layer_10():
    quant = {"quant_method": "fp8", "modules_to_not_convert": ["model.layers.1"]}
    found = stored(DENSE, quant)
    assert [n for n, parts in enumerate(found.by_layer) if parts] == [1]
    assert found.by_layer[1] == {"attention": "bf16", "mlp": "bf16"}


def test_shared_experts_can_stay_while_the_dense_layers_do_not():
    names = [f"model.layers.{n}.mlp.shared_experts.{m}_proj" for n in (1, 2, 3) for m in GATES]
    found = stored(SPARSE, {"quant_method": "fp8", "modules_to_not_convert": names})
    assert found.parts == {"shared": "bf16"}
    assert read_back(SPARSE, found)[0]["mlp"] == "fp8"


GATES = ("gate", "up", "down")


def test_a_layer_that_differs_says_what_follows_from_it_too():
    """Where a layer's mlp is bf16, its shared expert would be read as bf16 after it."""
    layers = [Block(repeat=1, mlp=MLP, experts=EXPERTS)] * 3
    quant = nvfp4("model.layers.1.mlp.gate_proj", "model.layers.1.mlp.up_proj", "lm_head")
    found = stored(layers, {"quant_method": "modelopt", **quant})
    assert found.by_layer == ({}, {"mlp": "bf16", "shared": "nvfp4"}, {})
    assert read_back(layers, found)[1]["shared"] == "nvfp4"


def test_mxfp4_is_for_experts_alone():
    layers = [Block(repeat=1, attention=ATTENTION, experts=PLAIN)]
    quant = {
        "quant_method": "mxfp4",
        "modules_to_not_convert": ["model.layers.*.self_attn", "model.layers.*.mlp.router"],
    }
    found = stored(layers, quant)
    assert (found.dtype, found.parts) == ("mxfp4", {"attention": "bf16"})


def test_regular_expressions_leave_out_what_they_match_under_any_wrapping():
    ignore = ["lm_head", r"re:.*self_attn.*", r"re:.*mlp\.(gate|up|gate_up|down)_proj.*"]
    quant = compressed(group(bits=4, kind="int"), ignore=ignore, form="pack-quantized")
    found = stored(SPARSE, None, text_config={"quantization_config": quant})
    assert found.dtype is Dtype.INT4
    assert read_back(SPARSE, found)[0] == {"attention": "bf16", "mlp": "bf16"}
    assert read_back(SPARSE, found)[1]["shared"] == "int4"
    wrapped = [r"re:model\.language_model\.layers\.0\..*", "lm_head"]
    found = stored(DENSE, compressed(group(), ignore=wrapped))
    assert [n for n, parts in enumerate(found.by_layer) if parts] == [0]


def test_the_head_is_quantised_where_no_list_leaves_it_out_unless_it_is_the_embedding():
    assert stored(DENSE, compressed(group())).parts == {"head": "fp8", "embedding": "bf16"}
    assert stored(DENSE, compressed(group()), tie_word_embeddings=True).parts == {}
    assert stored(DENSE, compressed(group(), ignore=["model.language_model.lm_head"])).parts == {}


def test_groups_have_types_of_their_own_and_names_come_before_classes():
    quant = compressed(
        group(),
        group([r"re:.*mlp.*"], bits=4, kind="float", group_size=32),
        group(["model.layers.3.self_attn"], bits=8, kind="int"),
        ignore=["lm_head"],
        form="mixed-precision",
    )
    found = stored(DENSE, quant)
    assert (found.dtype, found.parts) == ("mxfp4", {"attention": "fp8"})
    assert found.by_layer[3] == {"attention": "int8"}
    assert found.basis == (
        "fp8, mxfp4, int8: quantization_config.config_groups (compressed-tensors)"
    )


@pytest.mark.parametrize(
    ("weights", "form", "dtype"),
    [
        ({"bits": 8, "kind": "float"}, "float-quantized", "fp8"),
        ({"bits": 8, "kind": "int"}, "int-quantized", "int8"),
        ({"bits": 8, "kind": "int"}, "pack-quantized", "int8"),
        ({"bits": 4, "kind": "int"}, "pack-quantized", "int4"),
        ({"bits": 4, "kind": "float"}, "nvfp4-pack-quantized", "nvfp4"),
        ({"bits": 4, "kind": "float"}, "mxfp4-pack-quantized", "mxfp4"),
        ({"bits": 4, "kind": "float", "group_size": 16}, "", "nvfp4"),
    ],
)
def test_formats_of_compressed_tensors(weights, form, dtype):
    found = stored(DENSE, compressed(group(**weights), ignore=["lm_head"], form=form))
    assert (found.dtype, found.parts) == (dtype, {})


def test_one_algorithm_of_model_optimizer_with_globs():
    quant = nvfp4("lm_head", "model.layers.0*", "*.self_attn.*", "model.layers.*.mlp.shared_exp*")
    found = stored(SPARSE, {"quant_method": "modelopt", **quant})
    assert (found.dtype, found.parts) == ("nvfp4", {"attention": "bf16", "mlp": "bf16"})
    assert read_back(SPARSE, found)[2]["experts"] == "nvfp4"


def test_a_config_that_names_an_algorithm_and_no_method_is_model_optimizers():
    found = stored(DENSE, {"quant_algo": "FP8", "ignore": ["lm_head"], "kv_cache_scheme": "FP8"})
    assert (found.dtype, found.kv_dtype, found.parts) == ("fp8", "fp8", {})


def test_an_algorithm_without_a_list_leaves_the_head_and_says_so():
    found = stored(DENSE, side={"quantization": {"quant_algo": "NVFP4"}})
    assert (found.dtype, found.parts) == ("nvfp4", {})
    assert found.notes == (
        "The quantisation lists no modules that stay in 16 bits (hf_quant_config.json: "
        "quantization): all layers are taken as nvfp4. Real checkpoints keep attention and often "
        "other parts wider, so the size is a lower bound.",
    )


def test_modules_listed_one_by_one():
    layers = {f"model.language_model.layers.{n}.mlp.experts": "W4A16_NVFP4" for n in (0, 1)}
    for leaf in ("in_proj_qkv", "in_proj_z", "out_proj"):
        layers[f"model.language_model.layers.0.linear_attn.{leaf}"] = "FP8"
    layers |= {"lm_head": "W4A16_NVFP4", "mtp.layers.0.self_attn": "FP8"}
    quant = {
        "quant_algo": "MIXED_PRECISION",
        "kv_cache_quant_algo": "FP8",
        "quantized_layers": {name: {"quant_algo": algo} for name, algo in layers.items()},
    }
    found = stored(HYBRID, side={"quantization": quant})
    assert (found.dtype, found.kv_dtype) == ("nvfp4", "fp8")
    kept = {"router": "bf16", "shared": "bf16", "experts": "nvfp4"}
    assert read_back(HYBRID, found) == [
        {"recurrent": "fp8", **kept},
        {"attention": "bf16", **kept},
        {"head": "nvfp4", "embedding": "bf16"},
    ]
    assert stored(HYBRID, side=quant) == Storage(
        found.dtype,
        "nvfp4, fp8: hf_quant_config.json: quantized_layers",
        found.parts,
        found.by_layer,
        found.kv_dtype,
        found.notes,
    )


def test_several_groups_of_model_optimizer():
    quant = {
        "quant_method": "modelopt",
        "quant_algo": "MIXED_PRECISION",
        "config_groups": {
            "a": group(["model.layers.0.self_attn.q_proj", "model.layers.0.self_attn.o_proj"]),
            "b": group(["lm_head", "model.layers.0.mlp"], bits=4, group_size=16),
        },
    }
    found = stored(DENSE[:1], quant)
    assert found.parts == {"attention": "fp8", "head": "nvfp4", "embedding": "bf16"}
    assert found.notes == (
        "Within attention, k_proj and v_proj alone are bf16, 33 % of it; all is taken as fp8.",
    )


def test_layers_that_are_a_single_mixer_are_named_so():
    exclude = ["lm_head", "backbone.layers.2.mixer.in_proj", "backbone.layers.2.mixer.out_proj"]
    exclude += [f"backbone.layers.4.mixer.{leaf}_proj" for leaf in "qkvo"]
    found = stored(SINGLE, side={"quantization": nvfp4(*exclude)})
    types = read_back(SINGLE, found)
    assert [each.get("recurrent") for each in types[:4]] == ["nvfp4", None, "bf16", "nvfp4"]
    assert types[4] == {"attention": "bf16"}
    assert types[1] == {"router": "bf16", "experts": "nvfp4"}


def test_experts_beside_a_dense_feed_forward_are_not_in_it():
    found = stored(BESIDE, side={"quantization": nvfp4("model.layers.0.mlp*", "lm_head")})
    types = read_back(BESIDE, found)[0]
    assert (types["mlp"], types["experts"]) == ("bf16", "nvfp4")


@pytest.mark.parametrize(
    "name",
    [
        "model.layers.0.block_sparse_moe.experts.0.w2",
        "language_model.model.layers.0.feed_forward.experts.down_proj",
        "backbone.layers.0.mixer.experts.0.down_proj",
        "layers.0.mlp.experts.0.down_proj",
    ],
)
def test_families_name_their_experts_differently(name):
    layers = [Block(repeat=1, experts=PLAIN)]
    found = stored(layers, {"quant_method": "fp8", "modules_to_not_convert": [name]})
    assert found.notes == (
        "Within experts, down_proj alone is bf16, 33 % of it; all is taken as fp8.",
    )


def test_a_part_has_the_type_of_most_of_it_and_a_note_says_what_differs():
    layers = [Block(repeat=1, latent=LATENT, mlp=MLP)] * 4
    names = [f"model.layers.{n}.self_attn.o_proj" for n in range(4)]
    found = stored(layers, {"quant_method": "modelopt", **nvfp4(*names, "lm_head")})
    # 64*4*16 of 64*24 + 24*4*24 + 64*40 + 32*4*32 + 64*4*16 = 14,592 weights
    assert found.notes == (
        "Within attention, o_proj alone is bf16, 28 % of it; all is taken as nvfp4.",
    )
    assert found.by_layer == ({},) * 4
    rest = ("q_a_proj", "q_b_proj", "kv_a_proj_with_mqa", "kv_b_proj")
    names = [f"model.layers.2.self_attn.{leaf}" for leaf in rest]
    found = stored(layers, {"quant_method": "modelopt", **nvfp4(*names, "lm_head")})
    assert found.by_layer[2] == {"attention": "bf16"}
    assert found.notes == (
        "Within attention in 1 of 4 layers, o_proj alone is nvfp4, 28 % of it; all is taken as "
        "bf16.",
    )
    names = [f"model.layers.0.self_attn.{leaf}" for leaf in rest[:3]]
    found = stored(layers[:1], {"quant_method": "modelopt", **nvfp4(*names, "lm_head")})
    assert found.notes == (
        "Within attention, all but kv_b_proj and o_proj is bf16, 44 % of it; all is taken as "
        "nvfp4.",
    )


def test_what_is_less_than_a_hundredth_of_a_part_needs_no_note():
    wide = GatedDelta(key_heads=8, value_heads=8, key_dim=64, value_dim=64, conv=4)
    layers = [Block(repeat=1, delta=wide, mlp=MLP)]
    quant = {"quant_method": "fp8", "modules_to_not_convert": ["in_proj_a"]}
    found = storage({"quantization_config": quant, "dtype": "bfloat16"}, None, layers, hidden=4096)
    assert (found.dtype, found.notes) == ("fp8", ())


def test_a_convolution_is_quantised_by_no_class():
    modules = layer_modules(0, HYBRID[0], HIDDEN)
    assert [m.leaf for m in modules if not m.linear] == ["conv1d", "gate", "shared_expert_gate"]


def test_config_and_sidecar_that_agree_need_no_note():
    quant = {"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": ["lm_head"]}
    side = {"quantization": nvfp4("lm_head", kv_cache_quant_algo="FP8")}
    found = stored(DENSE, quant, side=side)
    assert (found.notes, found.kv_dtype) == ((), "fp8")
    assert found.basis == "NVFP4: hf_quant_config.json: quantization.quant_algo"


def test_a_sidecar_that_disagrees_has_the_last_word():
    found = stored(
        DENSE,
        {"quant_method": "fp8"},
        side={"quantization": nvfp4("lm_head", kv_cache_quant_algo="FP8")},
    )
    assert (found.dtype, found.kv_dtype) == ("nvfp4", "fp8")
    assert found.notes == (
        "The types are those of hf_quant_config.json: quantization_config names others.",
    )


def test_caches_that_disagree():
    quant = {"quant_method": "modelopt", **nvfp4("lm_head", kv_cache_scheme="NVFP4")}
    side = {"quantization": nvfp4("lm_head", kv_cache_quant_algo="FP8")}
    found = stored(DENSE, quant, side=side)
    assert found.kv_dtype is Dtype.FP8
    assert found.notes == (
        "The cache is what hf_quant_config.json asks for: quantization_config asks for another.",
    )


@pytest.mark.parametrize(
    ("scheme", "dtype"),
    [
        ("FP8", "fp8"),
        ({"num_bits": 8, "type": "float"}, "fp8"),
        ({"num_bits": 8, "type": "int"}, "int8"),
        ({"num_bits": 4, "type": "float"}, "nvfp4"),
        ("auto", None),
        (None, None),
    ],
)
def test_the_cache_that_a_checkpoint_asks_for(scheme, dtype):
    quant = {**compressed(group(), ignore=["lm_head"]), "kv_cache_scheme": scheme}
    assert stored(DENSE, quant).kv_dtype == dtype


def test_a_cache_alone_may_be_quantised():
    found = stored(DENSE, side={"quantization": {"kv_cache_quant_algo": "FP8"}})
    assert (found.dtype, found.kv_dtype, found.parts) == ("bf16", "fp8", {})


@pytest.mark.parametrize(
    ("quant", "dtype"),
    [
        ({"quant_method": "awq", "bits": 4}, "int4"),
        ({"quant_method": "awq", "w_bit": 4}, "int4"),
        ({"quant_method": "gptq", "bits": 8}, "int8"),
    ],
)
def test_integers_of_awq_and_gptq(quant, dtype):
    found = stored(DENSE, quant)
    assert (found.dtype, found.parts) == (dtype, {})


def test_gptq_may_include_the_head_leave_out_modules_and_change_others():
    quant = {
        "quant_method": "gptq",
        "bits": 4,
        "lm_head": True,
        "dynamic": {r"-:.*attn.*": {}, r"+:.*\.down_proj": {"bits": 8}, "other": {}},
    }
    found = stored(DENSE, quant)
    assert found.parts == {"attention": "bf16", "head": "int4", "embedding": "bf16"}
    assert found.notes == (
        "Within feed-forward, down_proj alone is int8, 33 % of it; all is taken as int4.",
    )


def test_a_list_that_leaves_out_everything():
    found = stored(DENSE, {"quant_method": "fp8", "modules_to_not_convert": ["layers"]})
    assert (found.dtype, found.parts) == ("bf16", {})


@pytest.mark.parametrize(
    ("quant", "words"),
    [
        ({"quant_method": "bitsandbytes"}, "quant_method bitsandbytes: its block formats"),
        ({"quant_method": "exl2"}, "quant_method exl2: its bits differ"),
        ({"quant_method": "fbgemm_fp8"}, "quant_method fbgemm_fp8: which layers"),
        ({"quant_method": "mine"}, "quant_method 'mine' is not known"),
        ({"bits": 4}, "quantization_config names no quant_method"),
        ({"quant_method": "awq", "bits": 3}, "bits is 3; expected 4 or 8"),
        ({"quant_method": "awq"}, "no quantization_config.bits or w_bit"),
        ({"quant_method": "modelopt", "quant_algo": "NVFP3"}, "quant_algo NVFP3 is not known"),
        ({"quant_method": "fp8", "quant_algo": "MIXED_PRECISION"}, "is not said"),
        ({"quant_method": "fp8", "modules_to_not_convert": [1]}, "something else than names"),
        ({"quant_method": "fp8", "modules_to_not_convert": "a"}, "expected a list"),
        (compressed(group(bits=2, kind="int")), "2-bit int weights are not modelled"),
        (compressed(group(bits=4)), "4-bit float weights are not modelled"),
        (compressed(group(), form="marlin-24"), "format marlin-24 is not known"),
        (
            {**compressed(), "config_groups": {"a\x1b": 1}},
            "quantization_config.config_groups.a\\x1b is no mapping",
        ),
        (compressed(group(["MoEGate"])), "names the class MoEGate"),
        (
            {**compressed(group()), "sparsity_config": {"format": "sparse-24-bitmask"}},
            "sparse-24-bitmask weights are not modelled",
        ),
        ({**compressed(group()), "kv_cache_scheme": "FP3"}, "kv_cache_scheme is FP3"),
        (
            {**compressed(group()), "kv_cache_scheme": {"num_bits": 4, "type": "int"}},
            "a cache of 4-bit int",
        ),
        (compressed(group(), ignore=["re:("]), "is no regular expression"),
        (compressed(group(), ignore=["re:[[a]"]), "is no regular expression"),
        (compressed(group(), ignore=["re:(a|a)*b"]), "could take too long"),
        (compressed(group(), ignore=["re:.*a.*b.*c.*d.*e"]), "could take too long"),
    ],
)
def test_refused_by_name(quant, words):
    with pytest.raises(InputError) as caught:
        stored(DENSE, quant)
    assert words in str(caught.value)
    assert caught.value.where is None


def test_a_hundred_thousand_entries_are_looked_up_not_tried():
    entries = [f"model.layers.{n}.mlp.experts.{e}.up_proj" for n in range(90) for e in range(500)]
    entries += [f"model.layers.{n}.mlp.experts.{e}*" for n in range(90) for e in range(500)]
    entries += [f"*.layers.{n}.*.experts.{e}*" for n in range(90) for e in range(50)]
    entries += [rf"re:model\.layers\.{n}\.mlp\.x{e}" for n in range(90) for e in range(50)]
    names = names_in(entries)
    assert (len(names.exact), len(names.stems)) == (45_000, 45_000)
    assert {len(some) for some in (*names.globs.values(), *names.regexes.values())} == {50}
    experts = [m for m in layer_modules(89, SPARSE[1], HIDDEN) if m.part is Part.EXPERTS]
    assert [names.hits(module) for module in experts] == [True] * 3
    assert not names.hits(OUTSIDE[0])


def test_patterns_that_every_module_is_held_against_are_few():
    names_in([f"*.x{n}" for n in range(100)] + [f"re:.*y{n}" for n in range(28)])
    with pytest.raises(InputError, match="129 patterns that are for no one layer"):
        names_in([f"*.x{n}" for n in range(100)] + [f"re:.*y{n}" for n in range(29)])


def test_layers_under_other_towers_are_not_the_models():
    names = names_in(["vision_tower.layers.0.self_attn", "mtp.layers.0*", "model.visual*", "model"])
    assert not any(names.hits(module) for module in layer_modules(0, DENSE[0], HIDDEN))


# Modules that draft


def drafted(block, quant=None, *, side=None, after=61) -> Storage:
    config = {"hidden_size": HIDDEN, "dtype": "bfloat16", "quantization_config": quant or {}}
    return storage(config, side, [block], hidden=HIDDEN, tied=False, after=after)


@pytest.mark.parametrize(
    ("entry", "dtype"),
    [
        ("model.layers.61*", "bf16"),
        ("model.layers.61", "bf16"),
        ("mtp*", "bf16"),
        ("mtp.layers.0*", "bf16"),
        ("mtp.layers.0.*", "bf16"),
        ("model.mtp.layers.0*", "bf16"),
        ("re:^mtp\\.layers\\.0\\..*", "bf16"),
        ("re:.*mtp.*", "bf16"),
        # Of the model's own layers, and of a second module.
        ("model.layers.0*", "nvfp4"),
        ("model.layers.0.self_attn", "nvfp4"),
        ("model.layers.6*.mlp.nothing", "nvfp4"),
        ("mtp.layers.1*", "nvfp4"),
        ("re:model\\.layers\\.0\\..*", "nvfp4"),
    ],
)
def test_a_module_that_drafts_is_stored_as_its_own_layer(entry, dtype):
    for where in ({"quant": nvfp4("lm_head", entry)}, {"side": nvfp4("lm_head", entry)}):
        found = drafted(SPARSE[1], **where)
        assert (found.dtype, found.parts, found.by_layer) == (dtype, {}, ({},))
        out = "The quantisation leaves this module out: it is stored in bf16."
        assert (out in found.notes) is (dtype == "bf16")
        assert found.basis.startswith("bf16: dtype" if dtype == "bf16" else "NVFP4: ")


def test_a_module_that_drafts_is_quantised_in_part():
    left = [f"mtp.layers.0.mlp.shared_expert.{leaf}_proj" for leaf in ("gate", "up", "down")]
    left.append("mtp.layers.0.self_attn")
    found = drafted(SPARSE[1], {"quant_method": "fp8", "modules_to_not_convert": left})
    assert (found.dtype, found.parts) == ("fp8", {"attention": "bf16", "shared": "bf16"})


def test_a_model_is_not_left_out_with_its_module():
    found = stored(DENSE, nvfp4("lm_head", "mtp*", "model.layers.61*"))
    assert (found.dtype, found.parts, set(map(len, found.by_layer))) == ("nvfp4", {}, {0})
