"""Drafters: told from models, counted by hand, and refused where their shape is not modelled."""

from __future__ import annotations

import re

import pytest
from families import DEEP, MOE
from small import bases, card, figures, made, small

from specplan.errors import InputError
from specplan.importers.heads import head_kind

ATTENTION, MLP, NORM, TABLE = 64 + 32 + 32 + 64, 3 * 8 * 16, 8, 32 * 8
WIDE = 2 * (64 + 32 + 32) + 64  # queries, keys and values read two vectors
ONE = {"num_hidden_layers": 1}
EAGLE = small(**ONE)
EAGLE3 = small(**ONE, architectures=["LlamaForCausalLMEagle3"], draft_vocab_size=20)
BLOCK = small(
    "qwen3",
    architectures=["DFlashDraftModel"],
    head_dim=2,
    block_size=4,
    dflash_config={"target_layer_ids": [1, 2]},
)
MTP = small("qwen3", head_dim=2, **ONE, architectures=["Qwen3_5MTPDraftModel"])
SPECULATOR = {
    "model_type": "mlp_speculator",
    "emb_dim": 8,
    "inner_dim": 4,
    "n_predict": 3,
    "vocab_size": 32,
}

TARGET = card(small(), name="target")


@pytest.mark.parametrize(
    ("config", "kind"),
    [
        (small(), ""),
        (EAGLE, ""),
        (EAGLE3, "eagle3"),
        (small(**ONE, architectures=["Eagle3LlamaForCausalLM"]), "eagle3"),
        (small(**ONE, architectures=["LlamaForCausalLM"], truncated_vocab_size=20), "eagle3"),
        ({"speculators_model_type": "eagle3", "transformer_layer_config": EAGLE}, "eagle3"),
        ({"speculators_model_type": "eagle", "transformer_layer_config": EAGLE}, "eagle"),
        ({"transformer_layer_config": EAGLE}, "eagle3"),
        ({"model_type": "eagle", "model": EAGLE}, "eagle"),
        (MTP, "mtp"),
        (small("deepseek_mtp"), "mtp"),
        (small(architectures=["DeepseekV3ForCausalLMNextN"]), "mtp"),
        (BLOCK, "block"),
        (small(architectures=["DSparkModel"]), "block"),
        ({"medusa_num_heads": 4}, "medusa"),
        ({"model_type": "medusa"}, "medusa"),
        (SPECULATOR, "mlp-speculator"),
        (small(architectures=["PEagleModel"]), "P-EAGLE"),
    ],
)
def test_kinds(config, kind):
    assert head_kind(config) == kind


# EAGLE


def test_an_eagle_head_and_a_model_of_one_layer_look_the_same():
    with pytest.raises(InputError, match=r"one layer: a model of one layer or an EAGLE head"):
        made(EAGLE)
    assert card(EAGLE, target=TARGET).drafts.kind == "eagle"
    assert card(EAGLE, head=True).drafts.targets == ()


@pytest.mark.parametrize(
    ("config", "beyond"),
    [
        (EAGLE, 8),  # a bias on the join unless the file has none
        ({**EAGLE, "bias": False}, 0),
        ({**EAGLE, "model_type": "qwen2"}, 8 + 8 + 4 + 4),
        ({**EAGLE, "model_type": "qwen2", "qkv_bias": False}, 8),
        ({"model_type": "eagle", "model": EAGLE}, 8),
        ({"speculators_model_type": "eagle", "transformer_layer_config": EAGLE}, 8),
        (
            {
                "speculators_model_type": "eagle",
                "fusion_bias": False,
                "layernorms": True,
                "transformer_layer_config": EAGLE,
            },
            3 * NORM,  # HASS: of the embedding, of the state, and before the head
        ),
    ],
)
def test_eagle(config, beyond):
    """The join of two vectors, a layer with one norm; embedding and head are the target's."""
    fused = 2 * 8 * 8
    assert figures(config, target=TARGET) == (
        fused + ATTENTION + MLP + NORM + beyond,
        fused + ATTENTION + MLP + TABLE,
        2 * (2 + 2),
    )


# EAGLE-3


def test_eagle3():
    """Three states joined, a layer that reads two vectors, four norms, a head of 20 tokens."""
    fused, head = 3 * 8 * 8, 20 * 8
    assert figures(EAGLE3) == (
        fused + WIDE + MLP + 4 * NORM + head,
        fused + WIDE + MLP + head,
        2 * (2 + 2),
    )


@pytest.mark.parametrize(
    ("changes", "states"),
    [
        ({}, 3),
        ({"eagle_aux_hidden_state_layer_ids": [1, 2]}, 2),
        ({"eagle_config": {"eagle_aux_hidden_state_layer_ids": [1, 2, 3, 4]}}, 4),
        ({"aux_hidden_state_layer_ids": [5]}, 1),
    ],
)
def test_eagle3_joins_the_layers_that_it_lists(changes, states):
    assert card({**EAGLE3, **changes}).architecture.fuse == states


def test_eagle3_without_a_vocabulary_of_its_own_has_the_whole_one():
    result = made({**EAGLE3, "draft_vocab_size": None})
    assert result.card.architecture.vocab == 32
    assert bases(result)["draft_vocab_size"] == ("32", "absent, the whole vocabulary")


def test_eagle3_with_norms_of_the_states():
    plain, normed = (figures({**EAGLE3, "fc_norm": flag})[0] for flag in (False, True))
    assert normed - plain == 3 * NORM


def test_eagle3_norms_the_states_under_an_older_name_too():
    plain, normed = (figures({**EAGLE3, "use_aux_norm": flag})[0] for flag in (False, True))
    assert normed - plain == 3 * NORM


def test_eagle3_may_read_the_head_of_its_target():
    """As SpecForge's template for Gemma 3: the head is multiplied and not stored."""
    config = {**EAGLE3, "draft_vocab_size": 32, "reuse_target_lm_head": True}
    fused = 3 * 8 * 8
    assert figures(config)[:2] == (fused + WIDE + MLP + 4 * NORM, fused + WIDE + MLP + TABLE)
    assert ("a copy of the target's head", TABLE) in [
        (e.what, e.params) for e in made(config).extras
    ]
    assert not card({**config, "reuse_target_lm_head": False}).architecture.borrowed_head
    with pytest.raises(InputError, match="reuse_target_lm_head beside a head over 20 of 32 tokens"):
        made({**EAGLE3, "reuse_target_lm_head": True})


def test_eagle3_of_experts_or_latent_attention():
    routed = card({**EAGLE3, **MOE, "shared_expert_intermediate_size": 5}).architecture.blocks[0]
    assert (routed.experts.experts, routed.experts.shared_width) == (4, 5)
    deep = card({**EAGLE3, **DEEP}).architecture.blocks[0]
    assert deep.latent.inputs == 2
    assert deep.mlp.width == 16  # the first layer is dense
    sparse = card({**EAGLE3, **DEEP, "first_k_dense_replace": 0}).architecture.blocks[0]
    assert sparse.experts.shared_width == 6


def test_a_copy_of_the_embedding_and_tables_explain_larger_files():
    assert [(e.what, e.params) for e in made(EAGLE3).extras] == [
        ("a copy of the target's embedding", TABLE),
        ("tables between the vocabularies", 32 + 20),
    ]


# Modules for multi-token prediction


def test_a_module_trained_by_itself():
    """Two vectors joined, queries and keys normed, three norms; embedding and head borrowed."""
    fused = 2 * 8 * 8
    assert figures(MTP) == (
        fused + ATTENTION + 2 + 2 + MLP + 5 * NORM,
        fused + ATTENTION + MLP + TABLE,
        2 * (2 + 2),
    )


@pytest.mark.parametrize("detail", [{"share_lm_head": False}, {"share_lm_head": True}, {}])
def test_a_module_may_have_a_head_of_its_own(detail):
    arch = card({**MTP, "mtp_config": detail}).architecture
    assert arch.borrowed_head is detail.get("share_lm_head", True)


@pytest.mark.parametrize(
    ("kind", "beyond"),
    [("qwen3_next_mtp", 64 + 4), ("mimo_mtp", 8 + 4 + 4), ("deepseek_mtp", 0)],
)
def test_modules_have_what_their_family_has(kind, beyond):
    plain = 2 * 8 * 8 + ATTENTION + MLP + 5 * NORM
    assert figures(small(kind, **ONE))[0] == plain + beyond


def test_a_module_of_experts_that_share():
    routed = {k: v for k, v in DEEP.items() if "rank" not in k and "head_dim" not in k}
    block = card(small("glm4_moe_mtp", **ONE, **routed)).architecture.blocks[0]
    assert (block.experts.shared_width, block.experts.router_bias) == (6, True)


# Blocks


def test_a_block_drafter():
    """Two states joined, two layers with norms of q and k, two norms; four places, one known."""
    fused = 2 * 8 * 8
    model = card(BLOCK)
    assert model.drafts.proposes == 3
    assert figures(BLOCK) == (
        fused + 2 * (ATTENTION + 2 + 2 + MLP + 2 * NORM) + 2 * NORM,
        fused + 2 * (ATTENTION + MLP) + TABLE,
        2 * 2 * (2 + 2),
    )


def test_a_block_drafter_that_couples_its_tokens_proposes_all_places():
    model = card({**BLOCK, "dflash_config": {"target_layer_ids": [1], "markov_rank": 5}})
    assert (model.drafts.proposes, model.architecture.markov) == (4, 5)


# Heads without layers


def test_medusa_takes_its_shape_from_the_target():
    result = made({"medusa_num_heads": 3, "medusa_num_layers": 2}, target=TARGET)
    assert figures({"medusa_num_heads": 3, "medusa_num_layers": 2}, target=TARGET) == (
        3 * (2 * (8 * 8 + 8) + TABLE),
        3 * (2 * 8 * 8 + TABLE),
        0,
    )
    assert bases(result)["hidden_size"] == ("8", "of target")
    assert result.card.drafts.targets == ("target",)
    with pytest.raises(InputError, match="a Medusa config states no shapes, its target does"):
        made({"medusa_num_heads": 3})


def test_medusa_that_states_the_model_under_it():
    whole = small(medusa_num_heads=2)
    result = made(whole)
    assert result.card.medusa.hidden == 8
    assert "the card is of heads alone" in " ".join(result.notes)


@pytest.mark.parametrize(
    ("tied", "stored"),
    [
        # Embeddings, outputs; projections from 8, from 4 and from 4; two norm vectors a stage.
        (False, 3 * 2 * 32 * 4 + (8 + 4 + 4) * 4 + 3 * 2 * 4),
        (True, 2 * 32 * 4 + (8 + 4) * 4 + 2 * 4),
    ],
)
def test_mlp_speculators(tied, stored):
    counts = figures({**SPECULATOR, "tie_weights": tied})
    assert counts == (stored, (8 + 4 + 4) * 4 + 3 * 32 * 4, 0)


# Refusals


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (small(architectures=["PEagleDraftModel"]), "P-EAGLE drafters are not modelled: several"),
        (small(architectures=["DFlareModel"]), "DFlare drafters are not modelled"),
        (small(architectures=["DominoModel"]), "Domino drafters are not modelled"),
        (small(architectures=["EDSDModel"]), "EDSD drafters are not modelled"),
        ({**EAGLE3, "num_hidden_layers": 4}, "an EAGLE-3 head of 4 layers is not modelled"),
        ({**EAGLE3, "target_hidden_size": 16}, "hidden_size 8 beside a target of 16"),
        ({"model_type": "eagle", "model": small()}, "2 layers; expected one, as an EAGLE head has"),
        ({**BLOCK, "dflash_config": {}}, "no target_layer_ids"),
        ({**BLOCK, "kv_lora_rank": 4}, "latent attention is not modelled"),
        (small("deepseek_mtp", num_hidden_layers=61), "a whole model's, not a module's"),
        ({"transformer_layer_config": [1]}, r"transformer_layer_config is \[1\]"),
        ({**SPECULATOR, "n_predict": 65}, "speculator.stages would be 65; expected at most 64"),
        ({**SPECULATOR, "inner_dim": None}, "inner_dim is null"),
        ({**EAGLE3, "aux_hidden_state_layer_ids": [1] * 65}, "fuse would be 65"),
        (small(architectures="Eagle3"), "architectures is 'Eagle3'; expected a list"),
    ],
)  # fmt: skip
def test_what_is_no_drafter_that_is_modelled(config, words):
    with pytest.raises(InputError, match=words):
        made(config)


@pytest.mark.parametrize("config", [EAGLE3, MTP, SPECULATOR])
def test_a_drafter_has_no_module_of_its_own(config):
    with pytest.raises(InputError, match=re.escape("--mtp beside a drafter (")):
        made(config, mtp=True)


def test_a_block_drafter_joins_layers_that_its_target_has():
    with pytest.raises(InputError, match="names layer 2; expected at most 1, as target has 2"):
        made(BLOCK, target=TARGET)
    within = {**BLOCK, "dflash_config": {"target_layer_ids": [0, 1]}}
    assert card(within, target=TARGET).architecture.fuse == 2
    with pytest.raises(InputError, match="target_layer_ids is -1"):
        made({**BLOCK, "dflash_config": {"target_layer_ids": [-1, 1]}}, target=TARGET)


def test_a_head_has_the_width_that_its_class_has_by_default():
    wide = {key: value for key, value in BLOCK.items() if key != "head_dim"}
    assert card(wide).architecture.blocks[0].attention.head_dim == 128
    assert bases(made(wide))["head_dim"] == ("128", "default of Qwen3Config")
