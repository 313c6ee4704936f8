"""How engines count memory, by version: defaults read in their wheels, worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from importlib import import_module

import pytest

import specplan
from specplan.catalogue.store import Catalogue
from specplan.dialects.accounts import COUNTED, accounting_of
from specplan.domain.accounting import Accounting, Limits, Loss, Served
from specplan.domain.hardware import Hardware
from specplan.domain.scenario import Setup
from specplan.domain.version import ordered

LLAMA = {"target": "llama-3.1-8b", "draft": "eagle3-llama-3.1-8b"}
HYBRID = {"target": "qwen3.5-27b", "draft": "mtp-qwen3.5-27b", "tp": 2}


@cache  # cards are read once
def setup(engine: str, hardware: str = "h100-sxm", **asked: object) -> Setup:
    """One setup from the catalogue."""
    asked = {**LLAMA, **asked}
    return specplan.scenario(**asked, hardware=hardware, engine=engine, acceptance=0.7).setups[0]


def account(engine: str, **asked: object) -> tuple[Accounting, Setup]:
    """The accounting of an engine as it is typed, and a setup of it."""
    found = setup(engine, **asked)
    accounting = accounting_of(found.engine, found.version)
    assert accounting
    return accounting, found


def losses(engine: str, k: int = 3, **asked: object) -> list[Loss]:
    """What the engine is known to lose."""
    accounting, found = account(engine, **asked)
    return list(accounting.losses(Served(found, k)))


def issues(engine: str, k: int = 3, **asked: object) -> set[str]:
    """The issues of them."""
    return {loss.issue for loss in losses(engine, k, **asked)}


@pytest.mark.parametrize("name", COUNTED)
def test_releases_are_in_order_and_say_where_they_were_read(name):
    releases = import_module(f"specplan.dialects.{name}.memory").RELEASES
    since = [ordered(release.since) for release in releases]
    assert since == sorted(set(since))
    assert all(release.cite for release in releases)
    assert since[0] == ordered(setup(name).engine.releases[0].since)


@pytest.mark.parametrize(
    ("engine", "since"),
    [
        ("vllm", "0.33"),
        ("vllm@0.34", "0.33"),
        ("vllm@0.20.2", "0.20.2"),
        ("vllm@0.26", "0.21"),
        ("vllm@0.28", "0.28"),
        ("vllm@0.17.1", "0.9"),
        ("vllm@0.6.6", "0.6"),
        ("sglang@0.5.9", "0.5.4"),
        ("sglang@0.5.10.post1", "0.5.10"),
        ("sglang@0.5.16", "0.5.14"),
        ("sglang@0.5.19", "0.5.17"),
        ("llamacpp", "11434"),
        ("llamacpp@b9305", "0"),
        ("trtllm@1.3.0rc27", "1.0"),
    ],
)
def test_which_release_counts(engine, since):
    assert account(engine)[0].since == since


@pytest.mark.parametrize("engine", ["roofline", "transformers"])
def test_engines_without_an_account(engine):
    found = setup(engine)
    assert accounting_of(found.engine, found.version) is None


def test_a_card_that_follows_counts_as_what_it_follows():
    found = setup("vllm").engine
    mine = replace(found, name="vllm-at-home", follows="vllm")
    assert accounting_of(mine, "0.10") is accounting_of(found, "0.10")
    assert accounting_of(replace(mine, follows=None), None) is None


# vLLM


@pytest.mark.parametrize(
    ("engine", "fraction"), [("vllm@0.9", 0.9), ("vllm@0.17.1", 0.9), ("vllm@0.20.2", 0.92)]
)
def test_vllm_fills_a_fraction_of_the_whole(engine, fraction):
    accounting, found = account(engine)
    assert accounting.fraction(Served(found)) == fraction
    told = Served(found, limits=Limits(memory_fraction=0.5))
    assert accounting.fraction(told) == 0.5
    assert accounting.held_back_bytes(told, 0) == found.hardware.memory / 2


@pytest.mark.parametrize(
    ("draft", "k", "ahead"),
    [
        ("eagle3-llama-3.1-8b", 3, 7),  # 1 + 3 scheduled, 3 that the drafter writes past them
        ("llama-3.2-1b", 5, 11),
        ("ngram", 5, 6),  # looked up: nothing is written
        ("suffix", 4, 5),
        ("eagle3-llama-3.1-8b", 0, 0),
    ],
)
def test_vllm_tokens_ahead(draft, k, ahead):
    accounting, found = account("vllm", draft=draft)
    assert accounting.ahead(Served(found, k)) == ahead


def test_vllm_fills_in_a_block_with_one_slot_more():
    accounting, found = account("vllm", target="qwen3-8b", draft="dflash-qwen3-8b")
    assert accounting.ahead(Served(found, 15)) == 1 + 15 + 16
    accounting, found = account("vllm", target="qwen3-8b", draft="dspark-qwen3-8b")
    assert accounting.ahead(Served(found, 7)) == 1 + 7 + 7


@pytest.mark.parametrize(
    ("engine", "hardware", "seqs", "tokens"),
    [
        ("vllm", "h100-sxm", 1024, 8192),
        ("vllm", "a100-sxm-80gb", 256, 2048),  # the engine asks for the name
        ("vllm", "l40s", 256, 2048),
        ("vllm", "b200-sxm", 1024, 16384),
        ("vllm@0.26", "b200-sxm", 1024, 8192),
        ("vllm@0.6.6", "h100-sxm", 256, 2048),
    ],
)
def test_vllm_sizes_of_a_server(engine, hardware, seqs, tokens):
    accounting, found = account(engine, hardware=hardware)
    served = Served(found, 3)
    assert (accounting.sequences(served), accounting.batched_tokens(served)) == (seqs, tokens)
    told = replace(served, limits=Limits(max_num_seqs=8, max_batched_tokens=512))
    assert (accounting.sequences(told), accounting.batched_tokens(told)) == (8, 512)


def test_vllm_graphs():
    accounting, found = account("vllm")
    # 1, 2, 4; 8 to 248 by 8; 256 to 512 by 16.
    assert accounting.profile(Served(found, 3)).graphs == 3 + 31 + 17
    few = Served(found, 3, Limits(max_num_seqs=8))  # 2 x 8 x 4 = 64 rows
    assert accounting.profile(few).graphs == 3 + 8
    old, found = account("vllm@0.9")
    assert old.profile(Served(found, 3)).graphs == 0  # they come out of what is held back
    assert old.working(Served(found, 3)).graphs == 51


def test_vllm_pages_hold_a_state():
    accounting, found = account("vllm", **HYBRID)
    block = accounting.block_tokens(Served(found, 3))
    layer, token = 3_207_168, 2 * 4 * 256 * 2  # bytes of a state, and of a token in a layer
    assert found.target.state_bytes == 48 * layer
    wider = layer + 3 * 2 * 10_240  # an input of 10,240 values more for each draft token
    assert block == 800
    assert block * token >= wider > (block - 16) * token
    # "Setting attention block size to 784 tokens" without drafts (LMCache/LMCache#5079), and 1,568
    # with an 8-bit cache.
    assert accounting.block_tokens(Served(found)) == 784
    assert accounting.block_tokens(Served(account("vllm", **HYBRID, kv_dtype="fp8")[1])) == 1568
    assert account("vllm")[0].block_tokens(Served(setup("vllm"), 3)) == 16


def test_what_vllm_loses():
    assert issues("vllm") == set()
    assert issues("vllm", 0, **HYBRID) == set()
    hybrid = {"vllm-project/vllm#57261", "vllm-project/vllm#51041"}
    assert issues("vllm", **HYBRID) == hybrid
    assert issues("vllm@0.26") == set()
    assert issues("vllm@0.26", draft="llama-3.2-1b") == {"vllm-project/vllm#50708"}
    assert issues("vllm", draft="llama-3.2-1b") == set()
    big = {"target": "llama-3.1-70b", "draft": "llama-3.1-8b", "tp": 4}
    assert issues("vllm@0.6.6", **big) == set()
    assert issues("vllm@0.6.6", **big, draft_tp=1) == {"vllm-project/vllm#9995"}


def test_a_pass_that_drafting_uses_up():
    """vllm-project/vllm#50708: on a GB10 DFlash at 16 tokens, 256 sequences and 2,048 tokens leave
    -1,792 to schedule.
    """
    block = {"target": "qwen3-8b", "draft": "dflash-qwen3-8b", "hardware": "dgx-spark"}
    (loss,) = losses("vllm@0.26", 16, **block)
    assert loss.issue == "vllm-project/vllm#50708"
    assert "-1,792 tokens are left" in loss.says


# SGLang


@pytest.mark.parametrize(
    ("engine", "hardware", "tp", "plain_mib", "extra_mib"),
    [
        # 512 + 1.5 x 8192 + 2 x 256 + 1/8 x 1024 = 13,440 MiB of 81,559.
        ("sglang@0.5.9", "h100-sxm", 1, 13_440, 2048),
        # 58 captured prefills of 8 MiB more.
        ("sglang@0.5.13", "h100-sxm", 1, 13_440 + 464, 4096),
        ("sglang@0.5.23", "h100-sxm", 1, 13_440 + 464, 0),
        # With 4 GPUs graphs reach 512, and 512 for the GPUs.
        ("sglang@0.5.9", "h100-sxm", 4, 512 + 12_288 + 1024 + 512, 2048),
        # 512 + 1.5 x 4096 + 2 x 32 + 128 of 46,068.
        ("sglang@0.5.9", "l40s", 1, 6848, 2048),
        ("sglang@0.5.3", "rtx-4090", 1, 512 + 3072 + 32 + 128, 2048),
        ("sglang@0.5.9", "rtx-4090", 1, 512 + 3072 + 48 + 128, 2048),
        # By size alone: 9.5 + 0.5 GiB.
        ("sglang@0.5.2", "h100-sxm", 1, 10 * 1024, 2048),
        ("sglang@0.5.2", "b200-sxm", 1, 32 * 1024, 2048),
    ],
)
def test_sglang_guesses_what_to_hold_back(engine, hardware, tp, plain_mib, extra_mib):
    accounting, found = account(engine, hardware=hardware, tp=tp)
    memory = found.hardware.memory / 2**20
    plain = accounting.fraction(Served(found))
    assert plain == round((memory - plain_mib) / memory, 3)
    assert accounting.fraction(Served(found, 3)) == round(
        (memory - plain_mib - extra_mib) / memory, 3
    )


def test_sglang_adds_more_for_a_model_of_its_own_and_nothing_for_a_lookup():
    memory = setup("sglang").hardware.memory / 2**20
    for draft, extra in (("llama-3.2-1b", 6144), ("ngram", 0)):
        accounting, found = account("sglang@0.5.13", draft=draft)
        expected = round((memory - 13_904 - extra) / memory, 3)
        assert accounting.fraction(Served(found, 3)) == expected


def test_graphs_of_sglang_are_no_wider_than_what_runs():
    for engine, mib in (("sglang", 2 * 16), ("sglang@0.5.17", 2 * 256)):
        accounting, found = account(engine)
        told = Served(found, limits=Limits(max_num_seqs=16))
        memory = found.hardware.memory / 2**20
        expected = round((memory - 512 - 12_288 - 128 - 464 - mib) / memory, 3)
        assert accounting.fraction(told) == expected


def test_sglang_keeps_ten_gib_of_a_large_gpu():
    accounting, found = account("sglang@0.5.9")
    few = Served(found, limits=Limits(max_batched_tokens=2048))  # 4,224 MiB
    memory = found.hardware.memory / 2**20
    assert accounting.fraction(few) == round((memory - 10_240) / memory, 3)


@pytest.mark.parametrize(
    ("engine", "k", "ahead"),
    [("sglang@0.5.9", 3, 4), ("sglang@0.5.13", 3, 8), ("sglang", 3, 8), ("sglang", 0, 0)],
)
def test_sglang_reserves_a_round_twice_since_it_overlaps(engine, k, ahead):
    accounting, found = account(engine)
    assert accounting.ahead(Served(found, k)) == ahead


def test_sglang_runs_48_with_speculation():
    accounting, found = account("sglang")
    assert accounting.sequences(Served(found, 3)) == 48
    assert accounting.sequences(Served(found)) is None


def test_sglang_takes_the_drafters_layers_for_the_targets():
    accounting, found = account("sglang")
    assert accounting.draft_share(Served(found, 3)) == 1 / 32
    # 16 of 64 layers attend in the hybrid; its module has one.
    accounting, found = account("sglang", **HYBRID)
    assert accounting.draft_share(Served(found, 3)) == 1 / 16
    block, found = account("sglang", target="qwen3-8b", draft="dflash-qwen3-8b")
    assert block.draft_share(Served(found, 15)) is None
    old, found = account("sglang@0.5.13")
    assert old.draft_share(Served(found, 3)) is None  # its own pool, beside


def test_the_copies_that_sglang_frees_too_late():
    """sgl-project/sglang#36452: vocab 248,320 x 5,120 in 16 bits is 2.54e9 bytes (the issue writes
    GiB), twice: pull request 32468 shows 2.37 GiB a rank of two, pull request 35996 both at one.
    """
    accounting, found = account("sglang@0.5.19", **HYBRID)
    table = 248_320 * 5_120 * 2
    assert table == 2_542_796_800
    assert accounting.duplicated_bytes(Served(found, 3)) == 2 * table / 2
    assert 2 * table / 2 / 2**30 == pytest.approx(2.37, abs=0.005)
    (loss, *_) = losses("sglang@0.5.19", **HYBRID)
    assert (loss.issue, loss.lost_bytes) == ("sgl-project/sglang#36452", table)
    one = account("sglang@0.5.19", **{**HYBRID, "tp": 1})
    assert one[0].duplicated_bytes(Served(one[1], 3)) == 2 * table
    assert accounting.duplicated_bytes(Served(found)) == 0
    # A head with an output of its own borrows the embedding alone; a model borrows nothing.
    accounting, found = account("sglang")
    assert accounting.duplicated_bytes(Served(found, 3)) == 128_256 * 4_096 * 2
    accounting, found = account("sglang", draft="llama-3.2-1b")
    assert accounting.duplicated_bytes(Served(found, 3)) == 0


def test_what_sglang_loses():
    assert issues("sglang@0.5.13") == {"sgl-project/sglang#6875"}
    assert "sgl-project/sglang#29857" in issues("sglang", **HYBRID)
    assert issues("sglang", 0, **HYBRID) == set()


# TensorRT-LLM and llama.cpp


def test_trtllm_takes_a_fraction_of_what_is_free():
    accounting, found = account("trtllm")
    memory = found.hardware.memory
    held = accounting.held_back_bytes(Served(found, 3), 20e9)
    assert held == pytest.approx(0.1 * (memory - 20e9), rel=1e-12)
    assert accounting.held_back_bytes(Served(found), 2 * memory) == 0
    assert accounting.ahead(Served(found, 3)) == 3 + 1 + 2
    assert (
        accounting.ahead(Served(replace(found, draft=setup("trtllm", draft="ngram").draft), 3)) == 4
    )


def test_trtllm_names_the_backend_that_reserves_twice():
    assert issues("trtllm") == set()
    assert issues("trtllm", draft="llama-3.2-1b") == {"NVIDIA/TensorRT-LLM#9279"}


def test_llamacpp_has_no_fraction():
    accounting, found = account("llamacpp")
    assert accounting.flag == ""
    assert accounting.held_back_bytes(Served(found, 3), 1e9) == 2**30
    assert accounting.ahead(Served(found, 3)) == 0
    assert issues("llamacpp") == {"ggml-org/llama.cpp#23801"}
    assert "ggml-org/llama.cpp#28433" in issues("llamacpp", **HYBRID)


# Everything in the catalogue


@pytest.mark.parametrize("engine", ["vllm", "vllm@0.6.6", "sglang", "sglang@0.5.2", "trtllm"])
@pytest.mark.parametrize("k", [0, 3])
def test_every_accelerator_has_a_fraction(engine, k):
    accounting, found = account(engine)
    for card in (one.card for one in Catalogue().every(Hardware)):
        for gpus in (1, 8):
            served = Served(replace(found, hardware=card, tp=gpus, draft_tp=gpus), k)
            assert 0 < accounting.fraction(served) < 1, card.name
            assert accounting.batched_tokens(served) > 0
            assert accounting.sequences(served) is None or accounting.sequences(served) > 0
            assert all(count >= 0 for count in accounting.working(served))
