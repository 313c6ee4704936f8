"""Counts of every kind of layer, head and drafter, against sums worked out by hand or published."""

from __future__ import annotations

from dataclasses import replace

import pytest

from specplan.domain.architecture import Architecture
from specplan.domain.card import Dtype, Source
from specplan.domain.heads import MedusaHeads, MlpSpeculator
from specplan.domain.layers import Block, Experts, Mlp, Part
from specplan.domain.mixers import Attention, GatedDelta, Indexer, LatentAttention, Mamba2
from specplan.domain.model import Model
from specplan.physics.roofline import kv_bytes, kv_read_bytes

SOURCE = Source(of=("architecture",), kind="derived", cite="made for a test")
LLAMA = Attention(heads=32, kv_heads=8, head_dim=128)
DEEPSEEK = LatentAttention(heads=128, latent=512, rope=64, nope=128, value=128, q_rank=1536)


def architecture(*blocks: Block, **more: object) -> Architecture:
    shape = {"hidden": 64, "vocab": 1000, "tied_embeddings": False, "blocks": blocks}
    return Architecture(**{**shape, **more})  # type: ignore[arg-type]


def model(shape: Architecture | None = None, **more: object) -> Model:
    card = {"schema": "model/1", "name": "m", "title": "M", "family": "f", "sources": (SOURCE,)}
    return Model(**{**card, "architecture": shape, **more})  # type: ignore[arg-type]


def test_values_narrower_than_keys():
    attention = Attention(heads=64, kv_heads=4, head_dim=192, value_dim=128)
    assert attention.kv_elements_per_token == 4 * (192 + 128)
    assert attention.matmul_params(4096) == 4096 * (64 * 192 + 4 * (192 + 128) + 64 * 128)


def test_keys_that_are_values_have_no_projection_and_are_cached_twice():
    attention = Attention(heads=16, kv_heads=2, head_dim=512, keys_are_values=True)
    assert attention.matmul_params(2816) == 2816 * 512 * (16 + 2 + 16)
    assert attention.kv_elements_per_token == 2 * 2 * 512


def test_a_gate_doubles_queries_and_one_per_head_adds_a_column_each():
    gated, by_head = replace(LLAMA, gated=True), replace(LLAMA, head_gate=True)
    plain = LLAMA.matmul_params(4096)
    assert gated.matmul_params(4096) - plain == 4096 * 32 * 128
    assert by_head.matmul_params(4096) - plain == 4096 * 32


def test_biases_and_sinks_are_stored_and_not_multiplied():
    attention = replace(LLAMA, qkv_bias=True, out_bias=True, qk_norm=True, sinks=True)
    assert attention.matmul_params(4096) == LLAMA.matmul_params(4096)
    assert attention.vector_params(4096) == (32 + 2 * 8) * 128 + 4096 + 2 * 128 + 32


def test_an_indexer_of_deepseek_v3_2_adds_14_million_weights():
    indexer = Indexer(heads=64, head_dim=128)
    assert indexer.matmul_params(7168, 1536) == 1536 * 64 * 128 + 7168 * 128 + 7168 * 64
    own = replace(DEEPSEEK, indexer=indexer, top=2048)
    assert own.matmul_params(7168) - DEEPSEEK.matmul_params(7168) == 13_959_168
    assert indexer.key_bytes_per_token == 132  # FP8 keys, and 4 bytes of scale for each 128


def test_the_gated_delta_net_of_qwen3_next():
    """2048 x (2 x 2048 + 2 x 4096 + 64) in, 4096 x 2048 out, 4 x 8192 convolved."""
    delta = GatedDelta(key_heads=16, value_heads=32, key_dim=128, value_dim=128, conv=4)
    assert delta.matmul_params(2048) == 33_718_272
    assert delta.state_bytes == 32 * 128 * 128 * 4 + 3 * 8192 * 2 == 2_146_304
    assert replace(delta, state_dtype=Dtype.BF16).state_bytes == 1_097_728


def test_the_mamba_layer_of_nemotron_3_nano():
    mamba = Mamba2(heads=64, head_dim=64, groups=8, state=128, conv=4)
    inner, mixed = 4096, 4096 + 2 * 8 * 128
    assert mamba.matmul_params(2688) == 2688 * (inner + mixed + 64) + inner * 2688 + mixed * 4
    assert mamba.vector_params == 3 * 64 + inner + mixed
    assert mamba.state_bytes == 64 * 64 * 128 * 4 + 3 * mixed * 2


def test_experts_in_a_latent_width():
    experts = Experts(experts=8, active=2, width=96, latent=16, gated=False, shared_width=32)
    assert experts.expert_params(64) == 2 * 16 * 96
    assert experts.shared_params(64) == 2 * 64 * 32 + 2 * 64 * 16


def test_biases_of_experts_and_router():
    experts = Experts(experts=32, active=4, width=2880, bias=True, router_bias=True)
    assert experts.vector_params(2880) == 32 * (2 * 2880 + 2880 + 1)


@pytest.mark.parametrize(
    ("heads", "published"),
    [
        (MedusaHeads(hidden=4096, vocab=32000, heads=5), 739_268_887),  # its file's bytes / 2
        (MlpSpeculator(hidden=5120, inner=4096, vocab=32000, stages=3), 840_000_000),
    ],
)
def test_heads_without_layers(heads, published):
    assert heads.stored_params == pytest.approx(published, rel=0.005)


def test_tied_stages_share_all_but_the_first_projection():
    tied = MlpSpeculator(hidden=8, inner=4, vocab=10, stages=3, tied=True)
    assert tied.stored_params == 2 * 10 * 4 + 8 * 4 + 4 * 4 + 2 * 4
    assert tied.matmul_params == 4 * (8 + 2 * 4) + 3 * 10 * 4


def test_an_eagle_head_owns_neither_embedding_nor_head_and_reads_the_head():
    """EAGLE's README gives 0.24 B for Llama 2 7B: fusion with a bias, and one layer."""
    attention, feed = Attention(heads=32, kv_heads=32, head_dim=128), Mlp(width=11008)
    block = Block(repeat=1, attention=attention, mlp=feed, norms=1)
    head = Architecture(
        hidden=4096,
        vocab=32000,
        tied_embeddings=True,
        borrowed_head=True,
        blocks=(block,),
        fuse=2,
        fuse_each=True,
        fuse_bias=True,
        norms=0,
    )
    layer = 4 * 4096 * 4096 + 3 * 4096 * 11008 + 4096
    assert head.stored_params == 2 * 4096 * 4096 + 4096 + layer == 235_937_792
    assert head.matmul_params == 2 * 4096 * 4096 + layer - 4096 + 32000 * 4096


def test_a_markov_head_couples_the_tokens_of_a_block():
    block = Block(repeat=1, attention=Attention(heads=2, kv_heads=1, head_dim=32))
    plain, coupled = architecture(block), architecture(block, markov=16)
    assert coupled.matmul_params - plain.matmul_params == 1000 * 16
    assert coupled.stored_params - plain.stored_params == 2 * 1000 * 16 + 64 + 16 + 1


def test_learned_positions_and_biases_are_stored_alone():
    block = Block(repeat=1, mlp=Mlp(width=8))
    plain, more = architecture(block), architecture(block, positions=50, head_bias=True, norms=2)
    assert more.matmul_params == plain.matmul_params
    assert more.stored_params - plain.stored_params == 50 * 64 + 1000 + 64


def test_parts_are_stored_in_types_of_their_own():
    """Attention in 16 bits here, the rest in 8; embedding, head, router and norms always in 16."""
    experts = Experts(experts=4, active=1, width=32)
    block = Block(repeat=2, attention=Attention(heads=2, kv_heads=1, head_dim=32), experts=experts)
    shape = architecture(block)
    card = model(shape, dtype=Dtype.FP8, parts={Part.ATTENTION: Dtype.BF16})
    routed = 2 * 4 * 3 * 64 * 32
    assert card.expert_bytes(Dtype.FP8) == routed
    assert card.weights_bytes(Dtype.FP8) == 2 * (shape.stored_params - routed) + routed
    assert card.weights_bytes(Dtype.BF16) == 2 * shape.stored_params


def test_a_block_may_be_stored_otherwise_than_the_rest():
    feed = Mlp(width=32)
    wide = Block(repeat=1, mlp=feed, norms=0, parts={Part.MLP: Dtype.BF16})
    shape = architecture(Block(repeat=3, mlp=feed, norms=0), wide)
    card = model(shape, dtype=Dtype.FP8)
    one = 3 * 64 * 32
    outside = shape.stored_params - 4 * one
    assert card.weights_bytes(Dtype.FP8) == 3 * one + 2 * one + 2 * outside
    assert card.part_dtype(Part.MLP, Dtype.FP8, wide) is Dtype.BF16
    assert card.part_dtype(Part.MLP, Dtype.INT8, wide) is Dtype.INT8


@pytest.mark.parametrize(
    ("part", "like"),
    [
        (Part.SHARED, Part.MLP),
        (Part.RECURRENT, Part.ATTENTION),
        (Part.EMBEDDING, Part.HEAD),
    ],
)
def test_a_part_of_which_nothing_is_said_is_stored_as_the_one_it_is_like(part, like):
    card = model(architecture(Block(repeat=1)), dtype=Dtype.FP8, parts={like: Dtype.INT4})
    assert card.part_dtype(part, Dtype.FP8) is Dtype.INT4


def test_exact_bytes_of_a_checkpoint_are_those_of_its_own_type():
    card = model(architecture(Block(repeat=1)), dtype=Dtype.BF16, stored_bytes=5e6)
    assert card.weights_bytes(Dtype.BF16) == 5e6
    assert card.weights_bytes(Dtype.FP32) == 4 * card.checkpoint_params


def test_a_sparse_layer_keeps_every_token_and_reads_those_picked():
    sparse = replace(DEEPSEEK, top=2048, indexer=Indexer(heads=64, head_dim=128))
    card = model(architecture(Block(repeat=3, latent=sparse), Block(repeat=2, latent=DEEPSEEK)))
    kept, read = (f(card, 10_000, Dtype.BF16) for f in (kv_bytes, kv_read_bytes))
    token, keys = 576 * 2, 3 * 132 * 10_000
    assert kept == 5 * token * 10_000 + keys
    assert read == token * (3 * 2048 + 2 * 10_000) + keys
    assert kv_read_bytes(card, 1000, Dtype.BF16) == kv_bytes(card, 1000, Dtype.BF16)


def test_heads_without_layers_cache_nothing():
    card = model(medusa=MedusaHeads(hidden=64, vocab=1000, heads=3))
    assert card.kv_groups == ()
    assert card.active_params == 3 * 64 * (64 + 1000)
