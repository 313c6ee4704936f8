"""Pools of models whose layers differ, against lines that servers printed.

Figures are the logs'; where one says how many bytes a pool had, the pool here is given as many, so
that blocks, groups and tokens have to come out to the digit.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

import specplan
from specplan.dialects.accounts import accounting_of
from specplan.dialects.sglang.pools import States
from specplan.domain.accounting import GIB, MIB, Limits, Served
from specplan.domain.scenario import Setup
from specplan.physics.counted import Arm, both_arms

QWEN = {"target": "qwen3.5-27b", "draft": "mtp-qwen3.5-27b"}


@cache  # cards are read once
def setup(engine: str, target: str, hardware: str = "h100-sxm", **asked: object) -> Setup:
    """One setup from the catalogue; a drafter that costs nothing unless one is named."""
    words = {"draft": "free", **asked, "target": target, "hardware": hardware, "engine": engine}
    return specplan.scenario(**words, acceptance=0.7).setups[0]


def pooled(found: Setup, pool_bytes: float, k: int = 0, **told: int) -> Arm:
    """The GPU where so many bytes are left for the pool."""
    accounting = accounting_of(found.engine, found.version)
    assert accounting
    limits = Limits(
        memory_fraction=1.0, **{"max_num_seqs": 256, "max_batched_tokens": 8192, **told}
    )
    arm = both_arms(accounting, found, k, limits)[bool(k)]
    memory = (arm.resident_bytes + pool_bytes) * (1 + 1e-15)
    sized = replace(found, hardware=replace(found.hardware, memory=memory))
    return both_arms(accounting, sized, k, limits)[bool(k)]


# vLLM


def test_sliding_layers_in_groups_of_the_fewest():
    """vLLM 0.13, Gemma 3 1B: 25.39 GiB, "Add 2 padding layers, may waste at most 9.09%", 950,864
    tokens, 461.21x of 2,048: 22 sliding layers and 4 others make 6 groups and 1, of 4 layers.
    """
    arm = pooled(setup("vllm@0.13", "gemma-3-1b"), 416_008 * 4 * 16 * 1024)
    assert arm.pool_bytes / GIB == pytest.approx(25.39, abs=0.005)
    assert arm.layout
    assert [table.units for table in arm.layout.tables] == [6, 1]
    wasted = (6 * 4 - 22) / 22
    assert f"{wasted:.2%}" == "9.09%"
    assert arm.blocks == 416_008
    assert arm.tokens(2_048) == 950_864  # of each group
    # 128 blocks of the others, and of each sliding group one more than 2,048 tokens take.
    assert arm.logged(2_048) == 128 + 6 * 129
    assert f"{arm.concurrency(2_048):.2f}" == "461.21"


def test_pages_of_layers_with_fewer_bytes_hold_more_tokens():
    """vllm-project/vllm#43308, Gemma 4 31B on an A100 with 50 GiB left: about 55k tokens in 0.20.0,
    525k in 0.21.0, whose log multiplies the concurrency by --max-model-len.
    """
    sizes = {}
    for version in ("0.20.2", "0.21"):
        found = setup(f"vllm@{version}", "gemma-4-31b-nvfp4", "a100-sxm-80gb")
        arm = pooled(found, 50 * GIB, max_batched_tokens=2048)
        assert arm.layout
        assert {table.window: table.tokens for table in arm.layout.tables} == {1024: 16, None: 32}
        sizes[version] = arm.tokens(131_072)
    assert sizes["0.20.2"] == pytest.approx(55_000, rel=0.01)
    assert sizes["0.21"] == pytest.approx(525_000, rel=0.015)


def test_a_hybrid_that_caches_prefixes():
    """mitchross/talos-argocd-proxmox#1995, a 27B of this shape on two GPUs with an 8-bit cache:
    4.99 GiB a GPU, 302,921 tokens, 2.31x of 131,072; pages of 1,568 tokens, 84 for the cache and 2
    states in each of 3 groups.
    """
    arm = pooled(setup("vllm@0.28", "qwen3.5-27b", "rtx-3090", tp=2, kv_dtype="fp8"), 4.99 * GIB)
    assert (arm.block, arm.blocks) == (1568, 208)
    assert arm.logged(131_072) == 84 + 3 * 2
    assert arm.tokens(131_072) == 302_921
    assert f"{arm.concurrency(131_072):.2f}" == "2.31"


def test_a_module_pads_the_groups_of_a_hybrid():
    """vLLM with that model and its MTP module: "Add 3 padding layers, may waste at most 6.25%": 48
    recurrent layers in groups of 17.
    """
    arm = pooled(setup("vllm", **QWEN), 20 * GIB, 3)
    assert arm.layout
    states = next(table for table in arm.layout.tables if table.states)
    assert states.units == 3
    assert (3 * 17 - 48) / 48 == 0.0625
    assert arm.block_bytes == 17 * arm.block * 4096
    alone = pooled(setup("vllm", **QWEN), 20 * GIB)
    assert alone.block_bytes == 16 * 784 * 4096


@pytest.mark.parametrize(
    ("target", "kv_dtype", "block"),
    [
        ("nemotron-3-super-120b-a12b-nvfp4", "fp8", 8320),  # vllm-project/vllm#48401
        ("qwen3.5-27b", "bf16", 784),  # LMCache/LMCache#5079
        ("qwen3.5-27b", "fp8", 1568),
    ],
)
def test_blocks_as_large_as_a_state(target, kv_dtype, block):
    assert pooled(setup("vllm@0.23", target, kv_dtype=kv_dtype), GIB).block == block


def test_heads_that_no_longer_divide_make_blocks_smaller():
    """With 2 heads on 8 GPUs each keeps one whole, while a state divides."""
    two, eight = (pooled(setup("vllm", "qwen3.5-35b-a3b", tp=tp), 10 * GIB) for tp in (2, 8))
    assert two.token_bytes == eight.token_bytes
    assert eight.block < two.block / 3


def test_a_window_in_flight_is_logged_and_not_held():
    """What a log counts for a window is all tokens that passes at once may hold."""
    arm = pooled(setup("vllm", "gemma-3-27b"), 40 * GIB)
    sliding = arm.layout.tables[0]  # of 52 layers, and 10 that see all
    assert (sliding.units, sliding.window) == (6, 1024)
    assert arm.logged(131_072) == 8192 + 6 * (-(-(1023 + 2 * 8192) // 16) + 1)
    held = float(arm.sequence(131_072)) / arm.block_bytes
    assert held == 8192 + 6 * (64 + 1)
    assert float(arm.sequence(512)) / arm.block_bytes == 7 * 32


def test_layers_that_all_slide_are_one_group():
    arm = pooled(setup("vllm", "mistral-7b-v0.1"), 40 * GIB)
    assert arm.block_bytes == 32 * 16 * 4096
    assert float(arm.sequence(100_000)) == arm.block_bytes * (4096 / 16 + 1)


@pytest.mark.parametrize(
    ("engine", "target", "hardware", "block"),
    [
        ("vllm", "deepseek-v3.2", "h200-sxm", 64),
        ("vllm", "deepseek-r1", "b200-sxm", 32),
        ("vllm", "deepseek-r1", "h200-sxm", 16),
    ],
)
def test_blocks_of_latent_attention(engine, target, hardware, block):
    assert pooled(setup(engine, target, hardware, tp=8), GIB).block == block


def test_a_pool_of_latent_attention_is_whole_on_every_gpu():
    """61 layers of 576 values in 16 bits, and the module's."""
    arm = pooled(setup("vllm", "deepseek-r1", "h200-sxm", draft="mtp", tp=8), 40 * GIB, 3)
    assert arm.token_bytes == 61 * 576 * 2
    assert arm.draft_token_bytes == 576 * 2
    assert arm.tokens(8192) == int(40 * GIB // (16 * 62 * 576 * 2)) * 16


# SGLang


@pytest.mark.parametrize(
    ("target", "unit_bytes"), [("gemma-4-26b-a4b-nvfp4", 184_320), ("gemma-4-31b-nvfp4", 737_280)]
)
def test_bytes_of_a_token_in_two_pools(target, unit_bytes):
    """SGLang with Gemma 4: full_layers=5 swa_layers=25 full_per_token_bytes=4096
    swa_per_token_bytes=8192 swa_full_tokens_ratio=0.8 cell_size_bytes=184320.0; 737280.0 of the
    larger one.
    """
    assert pooled(setup("sglang", target), GIB).block_bytes == unit_bytes


def test_sliding_layers_have_eight_tenths_of_the_tokens():
    """SGLang with gpt-oss-120b on 4 A100: full_layer_tokens=63987, swa_layer_tokens=51189."""
    found = setup("sglang@0.5.9", "gpt-oss-120b", "a100-sxm-80gb", tp=4)
    arm = pooled(found, 63_987.5 * (18 + 0.8 * 18) * 2 * 2 * 64 * 2)
    assert arm.tokens(8192) == 63_987
    assert int(63_987 * 0.8) == 51_189
    # What sees all decides at 8,192 tokens, what slides at 100.
    assert float(arm.sequence(8192)) == 8192 * arm.block_bytes
    assert float(arm.sequence(100)) == 125 * arm.block_bytes
    assert int(arm.concurrency(8192)) == 63_987 // 8192


def test_sliding_layers_that_sglang_does_not_know_keep_all():
    """is_hybrid_swa_model names the models; Gemma 4 came after 0.5.9, Gemma 3 is none of them."""
    for engine, target in (("sglang", "gemma-3-27b"), ("sglang@0.5.9", "gemma-4-31b-nvfp4")):
        arm = pooled(setup(engine, target), 40 * GIB)
        assert arm.block_bytes == arm.token_bytes
        assert float(arm.sequence(8192)) == 8192 * arm.token_bytes
        assert any(
            "keep the whole context" in loss.says for loss in arm.accounting.losses(arm.served)
        )


@pytest.mark.parametrize(
    ("tokens", "states", "copies"), [(409_552, 55, 0), (519_753, 71, 2_542_796_800)]
)
def test_states_and_tokens_of_a_hybrid(tokens, states, copies):
    """sgl-project/sglang pull request 32468, two GPUs, 8 bits, states in 16 bits, drafts of 4: the
    bytes of the copies, given back, are 16 states and 110,201 tokens. What was left before is not
    printed: 9.72e9 makes both.
    """
    found = setup("sglang@0.5.19", "qwen3.5-27b", draft="mtp-qwen3.5-27b", tp=2, kv_dtype="fp8")
    arm = pooled(found, GIB, 4)
    assert arm.block_bytes == 17 * 2 * 2 * 256
    half = 48 * 24 * 128 * 128 * 2  # the recurrence, which the card keeps in 32 bits
    rest = 9.72e9 + copies
    aside = States(slots=5, padding=1).aside(rest, arm.state_bytes - half, 5, 1)
    assert aside.states == states
    assert (rest - aside.held_bytes) / arm.block_bytes == pytest.approx(tokens, rel=5e-4)


def test_layers_of_a_gpu():
    """vllm-project/vllm#21348: SGLang with Qwen3-235B-A22B on four GPUs, 367,404 tokens, K 8.23."""
    arm = pooled(setup("sglang@0.4.9", "qwen3-235b-a22b", tp=4), GIB)
    assert 367_404 * arm.token_bytes / 2 / GIB == pytest.approx(8.23, abs=0.005)


# TensorRT-LLM


def test_a_pool_of_tensorrt_llm():
    """Qwen3-0.6B on an H100: "Allocated 68.69 GiB for max tokens in paged KV cache (643136)", from
    which our estimate of what a pass takes is 0.6 % off.
    """
    arm = pooled(setup("trtllm", "qwen3-0.6b"), GIB)
    assert arm.token_bytes == 28 * 2 * 8 * 128 * 2
    assert 643_136 * arm.token_bytes / GIB == pytest.approx(68.69, abs=0.005)
    assert 643_136 % arm.block == 0
    found = setup("trtllm", "qwen3-0.6b")
    accounting = accounting_of(found.engine, found.version)
    whole = both_arms(accounting, found, 0, Limits())[0]
    assert whole.tokens(8192) == pytest.approx(643_136, rel=0.01)


def test_tokens_of_a_seven_billion_model():
    """NVIDIA/TensorRT-LLM#5306: "Allocated 16.10 GiB for max tokens in paged KV cache (301472)"."""
    arm = pooled(setup("trtllm", "qwen2.5-7b"), 301_472 * 28 * 2 * 4 * 128 * 2 * 1.000001)
    assert arm.pool_bytes / GIB == pytest.approx(16.10, abs=0.005)
    assert arm.tokens(8192) == 301_472


# llama.cpp


def test_states_to_go_back_to():
    """llama.cpp with a 27B of this shape and drafts of 4: "CUDA0 RS buffer size = 748.12 MiB", five
    states whose convolutions are kept in 32 bits too.
    """
    arm = pooled(setup("llamacpp", **QWEN), 10 * GIB, 4)
    served = arm.served
    assert arm.accounting.states(served) == 5
    assert 5 * arm.state_bytes / MIB == 748.125
    assert arm.accounting.states(Served(served.setup)) == 1
    model = replace(
        served.setup, draft=setup("llamacpp", "qwen2.5-72b", draft="qwen2.5-1.5b").draft
    )
    assert arm.accounting.states(Served(model, 4)) == 1  # a model of its own needs none


def test_the_cache_of_sliding_layers():
    """llama.cpp with gpt-oss-20b: 131,072 cells in 12 layers are 3,072 MiB, 768 in 12 others 18."""
    arm = pooled(setup("llamacpp", "gpt-oss-20b"), 10 * GIB, max_batched_tokens=512)
    assert float(arm.sequence(131_072)) / MIB == 3072 + 18
    wide = pooled(setup("llamacpp", "gpt-oss-20b"), 10 * GIB, max_batched_tokens=2048)
    assert float(wide.sequence(131_072)) / MIB == 3072 + 54  # "size = 2304 cells"


def test_the_context_of_a_drafter():
    """ggml-org/llama.cpp#10664: a 1.5B drafter of 8,192 tokens, "KV self size = 224.00 MiB"."""
    arm = pooled(setup("llamacpp", "qwen2.5-72b", draft="qwen2.5-1.5b"), 10 * GIB, 3)
    assert float(arm.sequence_bytes(8192)[1]) / MIB == 224


def test_logits_of_the_slots_alone():
    """From the build that reserves outputs (n_outputs_max) a compute buffer has rows for the slots
    and their drafts; before, for every token of a micro-batch.
    """
    rows = {}
    for version in ("b9305", "b11434"):
        found = setup(f"llamacpp@{version}", "qwen2.5-72b", draft="qwen2.5-1.5b")
        accounting = accounting_of(found.engine, found.version)
        rows[version] = accounting.profile(Served(found, 3)).rows
    assert rows == {"b9305": 512, "b11434": 4 * 4}
