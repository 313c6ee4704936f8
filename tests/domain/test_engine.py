"""What an engine card takes from the one that it follows, and which release a version means."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
from engine_worlds import ENGINE, RELEASE, SIMPLE, SMALL

from specplan.catalogue.store import Catalogue
from specplan.domain.card import Dtype
from specplan.domain.engine import Engine, Kernels
from specplan.domain.follow import following

BASE = replace(
    ENGINE,
    expert_overlap=0.5,
    rereads_kv=True,
    kernels=(
        replace(SIMPLE, gpus=("chip", "chip-pcie")),
        Kernels(gpus=("other",), basis="measured"),
    ),
)
BARE = Engine(
    schema="engine/1",
    name="mine",
    title="Mine",
    kind="calibrated",
    says="mine: measured",
    follows="made",
    sources=ENGINE.sources,
)
OWN = {"schema", "name", "title", "aliases", "kind", "says", "follows"}
OWN |= {"accept", "sources", "notes"}


def test_every_key_that_a_card_leaves_out_comes_from_the_engine_that_it_follows():
    merged = following(BARE, BASE)
    for field in fields(Engine):
        if field.name == "kernels":
            assert [one.gpus for one in merged.kernels] == [("chip", "chip-pcie"), ("other",)]
            assert {one.basis for one in merged.kernels} == {"assumed"}
        else:
            giver = BARE if field.name in OWN else BASE
            assert getattr(merged, field.name) == getattr(giver, field.name), field.name


def test_what_a_card_states_stays_though_it_be_nothing():
    stated = replace(
        BARE,
        expert_overlap=0.0,
        rereads_kv=False,
        stand_in="other",
        small=replace(SMALL, launches=0),
        releases=(replace(RELEASE, since="2"),),
    )
    merged = following(stated, BASE)
    assert (merged.overlap, merged.rereads, merged.stand_in) == (0.0, False, "other")
    assert merged.small == stated.small
    assert merged.releases == stated.releases


def test_a_card_that_follows_nobody_and_does_not_say():
    assert (BARE.expert_overlap, BARE.rereads_kv) == (None, None)
    assert (BARE.overlap, BARE.rereads) == (1.0, False)


def test_kernels_of_one_accelerator_leave_its_like_what_was_borrowed():
    own = Kernels(gpus=("chip-pcie",), basis="measured", gemm={Dtype.BF16: SIMPLE.gemm[Dtype.FP8]})
    merged = following(replace(BARE, kernels=(own,)), BASE)
    mine, lent = merged.on("chip-pcie"), merged.on("chip")
    assert mine is not None
    assert lent is not None
    assert (mine.gpus, mine.basis) == (("chip-pcie",), "measured")
    assert mine.gemm == {Dtype.BF16: SIMPLE.gemm[Dtype.FP8], Dtype.FP8: SIMPLE.gemm[Dtype.FP8]}
    assert mine.attention == SIMPLE.attention
    assert mine.allreduce == SIMPLE.allreduce
    assert (lent.gpus, lent.basis, lent.gemm) == (("chip",), "assumed", SIMPLE.gemm)


@pytest.mark.parametrize("name", ["llamacpp", "transformers", "sglang", "trtllm"])
def test_packaged_engines_route_experts_as_the_one_that_they_follow(name):
    assert Catalogue().engine(name).card.overlap == Catalogue().engine("vllm").card.overlap == 0.5


@pytest.mark.parametrize(
    ("version", "said"),
    [
        (None, ""),
        ("1", ""),
        ("1.9", ""),
        ("2", "made@2: habits of 1 and later"),
        ("10.1", "made@10.1: habits of 1 and later"),
    ],
)
def test_a_version_beyond_all_that_the_card_knows(version, said):
    assert ENGINE.outgrown(version) == said
    assert replace(ENGINE, releases=()).outgrown(version) == ""
