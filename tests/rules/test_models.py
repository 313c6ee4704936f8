"""What is no slip: sizes in names, scales of four-bit weights, parts that a drafter borrows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from specplan.domain.architecture import Architecture
from specplan.domain.card import Dtype, Source
from specplan.domain.heads import Drafts, MlpSpeculator
from specplan.domain.layers import Block, Mlp, Part
from specplan.domain.mixers import Attention, GatedDelta, Mamba2
from specplan.domain.model import Model
from specplan.rules.models import missized, undivided, unstored, unsummed

SOURCES = (Source(of=("stored_params", "matmul_params"), kind="published", cite="a page"),)


def counted(name: str, *, title: str = "A model", **figures: object) -> Model:
    return Model(
        schema="model/1", name=name, title=title, family="acme", sources=SOURCES, **figures
    )


@pytest.mark.parametrize(
    ("name", "stored", "active", "told"),
    [
        ("lm-70b", 70.6e9, None, False),
        ("lm-7b", 7.6e9, None, False),
        ("lm-7b", 8.1e9, None, True),
        ("lm-7b-v0.1", 13e9, None, True),
        ("lm-1.7b", 1.72e9, None, False),
        ("lm-135m", 134.5e6, None, False),
        ("lm-1t", 1.03e12, None, False),
        ("lm-235b-a22b", 235e9, 22e9, False),
        ("lm-scout-17b-16e", 109e9, 17.2e9, False),  # named after what one token runs
        ("mixtral-8x7b", 46.7e9, None, False),
        ("lm-v0.3", 3e12, None, False),
        ("lm-e4b", 8e9, None, False),
    ],
)
def test_sizes_in_names(name, stored, active, told):
    card = counted(name, stored_params=stored, matmul_params=active)
    assert bool([*missized(card)]) is told


def test_sizes_in_titles_and_of_targets():
    assert [f.path for f in missized(counted("lm", title="A 70B model", stored_params=8e9))] == [
        ("title",)
    ]
    head = counted("head-of-lm-70b", stored_params=1e9, drafts=Drafts(kind="eagle"))
    assert [*missized(head)] == []
    assert [*missized(counted("lm-70b"))] == []


SHAPE = Architecture(
    hidden=2304,
    vocab=256_000,
    tied_embeddings=True,
    blocks=(
        Block(
            repeat=26,
            attention=Attention(heads=8, kv_heads=4, head_dim=256),
            mlp=Mlp(width=9216),
        ),
    ),
)


def test_a_size_may_leave_out_the_embedding():
    """Gemma 2 2B has 2.61e9 parameters, 0.59e9 of them embeddings."""
    assert [*missized(counted("lm-2b", architecture=SHAPE))] == []
    assert len([*missized(counted("lm-1b", architecture=SHAPE))]) == 1


def test_files_beside_their_parts():
    card = counted("lm", architecture=SHAPE)
    whole = card.weights_bytes(Dtype.BF16)
    for share, told in ((0.94, True), (0.96, False), (1.04, False), (1.06, True)):
        assert bool([*unsummed(replace(card, stored_bytes=share * whole))]) is told
    assert [*unsummed(card)] == []


def test_scales_of_four_bits_explain_an_eighth_of_those_alone():
    packed = counted("lm", stored_params=8e9, dtype=Dtype.INT4)
    assert [*unsummed(replace(packed, stored_bytes=4e9 * 1.125))] == []
    assert len([*unsummed(replace(packed, stored_bytes=4e9 * 1.2))]) == 1
    scaled = counted("lm", stored_params=8e9, dtype=Dtype.NVFP4)
    assert len([*unsummed(replace(scaled, stored_bytes=4.5e9 * 1.1))]) == 1
    mixed = counted(
        "lm", architecture=SHAPE, dtype=Dtype.INT4, parts=dict.fromkeys(Part, Dtype.BF16)
    )
    assert len([*unsummed(replace(mixed, stored_bytes=1.1 * mixed.weights_bytes(Dtype.INT4)))]) == 1


def test_who_may_multiply_more_than_is_stored():
    whole = counted("lm", stored_params=1e9, matmul_params=1.2e9)
    assert [f.path for f in unstored(whole)] == [("matmul_params",)]
    assert [*unstored(replace(whole, drafts=Drafts(kind="mtp")))] == []
    assert [*unstored(replace(whole, matmul_params=1.004e9))] == []
    tied = MlpSpeculator(hidden=4096, inner=4096, vocab=32000, stages=4, tied=True)
    assert tied.matmul_params > tied.stored_params
    assert [*unstored(counted("stages", speculator=tied))] == []


def test_heads_of_recurrences_divide_too():
    delta = GatedDelta(key_heads=16, value_heads=40, key_dim=128, value_dim=128, conv=4)
    mamba = Mamba2(heads=60, head_dim=64, groups=8, state=128, conv=4)
    blocks = (Block(repeat=1, delta=delta), Block(repeat=1, mamba=mamba))
    said = [
        (finding.message, finding.path[2:])
        for finding in undivided(counted("lm", architecture=replace(SHAPE, blocks=blocks)))
    ]
    assert said == [
        ("40 value_heads are no multiple of 16 key_heads", (0, "delta", "key_heads")),
        ("60 heads are no multiple of 8 groups", (1, "mamba", "groups")),
    ]
