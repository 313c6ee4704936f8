"""Memory as engines count it: what their logs and issues print, and block by block in plain Python.

Figures of issues are theirs; how each follows from shapes is worked out beside it.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import specplan
from specplan.catalogue.store import Catalogue
from specplan.dialects.accounts import accounting_of
from specplan.domain.accounting import GIB, Accounting, Limits, Served
from specplan.domain.architecture import Architecture
from specplan.domain.layers import Block, Mlp
from specplan.domain.mixers import Attention, Recurrent
from specplan.domain.model import Model
from specplan.domain.scenario import Setup
from specplan.physics.counted import Arm, arm_of, both_arms, counted_bill

LLAMA = {"target": "llama-3.1-8b", "draft": "eagle3-llama-3.1-8b"}
QWEN = {"target": "qwen3.5-27b", "draft": "mtp-qwen3.5-27b"}
ENGINES = ("vllm", "vllm@0.10", "sglang", "sglang@0.5.9", "trtllm", "llamacpp")


@cache  # cards are read once
def setup(engine: str, hardware: str = "h100-sxm", **asked: object) -> Setup:
    """One setup from the catalogue."""
    asked = {**LLAMA, **asked}
    return specplan.scenario(**asked, hardware=hardware, engine=engine, acceptance=0.7).setups[0]


def arms(found: Setup, k: int = 3, limits: Limits = Limits()) -> tuple[Arm, Arm]:  # noqa: B008
    """The setup's GPU without and with drafts."""
    accounting = accounting_of(found.engine, found.version)
    assert accounting
    return both_arms(accounting, found, k, limits)


def drafted(engine: str, k: int = 3, **asked: object) -> Arm:
    """The GPU with drafts."""
    return arms(setup(engine, **asked), k)[1]


# What engines printed


def test_a_pool_of_vllm_with_an_eagle_head():
    """vllm-project/vllm#19996: KV 51.63 GiB, 410,128 tokens of Llama-3.1-8B with an EAGLE layer."""
    arm = drafted("vllm@0.9")
    assert arm.token_bytes == 32 * 2 * 8 * 128 * 2
    assert arm.draft_token_bytes == 2 * 8 * 128 * 2  # one layer more in the same blocks
    blocks = 410_128 // 16
    assert blocks * 16 == 410_128
    assert blocks * arm.block_bytes / GIB == pytest.approx(51.63, abs=0.005)
    # What we count of an 80 GB H100 at that version, estimates and all, is within a percent.
    assert arm.accounting.fraction(arm.served) == 0.9
    assert arm.pool_bytes / GIB == pytest.approx(51.63, rel=0.01)
    assert arm.tokens(16_384) == pytest.approx(410_128, rel=0.01)
    assert arm.tokens(16_384) == int(arm.pool_bytes // arm.block_bytes) * 16


def test_bytes_of_a_token_from_a_log():
    """llm-d-planner: Mistral Small at 163,840 bytes a token; vLLM printed 28.20 GiB and 184,832."""
    arm, _ = arms(setup("vllm@0.9", target="mistral-small-24b", draft="eagle3-mistral-small-24b"))
    assert arm.token_bytes == 40 * 2 * 128 * 8 * 2 == 163_840
    blocks = [int((28.20 + off) * GIB // arm.block_bytes) for off in (-0.005, 0.005)]
    assert blocks[0] <= 184_832 // 16 <= blocks[1]
    assert 184_832 % arm.block == 0


def test_tokens_that_copies_cost_sglang():
    """sgl-project/sglang pull request 32468: without the copies 409,552 -> 519,753 tokens (+26.9 %)
    and 55 -> 71 states, on two GPUs with an 8-bit cache. The card keeps the recurrence in 32 bits,
    that server in 16.
    """
    arm = drafted("sglang@0.5.19", 4, **QWEN, tp=2, kv_dtype="fp8")
    token = arm.token_bytes + arm.draft_token_bytes
    assert token == 17 * 2 * 2 * 256  # 16 layers that attend and the module's, 2 heads a GPU
    assert arm.duplicated_bytes == 2_542_796_800
    recurrence = 48 * 24 * 128 * 128 * 4
    state = arm.state_bytes - recurrence / 2
    gained = (arm.duplicated_bytes - (71 - 55) * state) / token
    assert gained == pytest.approx(519_753 - 409_552, rel=0.003)
    assert gained / 409_552 == pytest.approx(0.269, abs=0.001)


def test_the_pool_of_sglang_grows_by_the_copies():
    arm = drafted("sglang@0.5.19", 4, target="qwen3-8b", draft="eagle3-qwen3-8b")
    without = replace(arm, duplicated_bytes=0.0)
    assert arm.duplicated_bytes == 151_936 * 4_096 * 2
    assert without.pool_bytes - arm.pool_bytes == pytest.approx(arm.duplicated_bytes, rel=1e-9)


def hybrid(blocks: int, engine: str = "vllm@0.26") -> Arm:
    """A server as in vllm-project/vllm#57261: pages of 1,008 tokens that hold a state of one of 3
    recurrent layers, one layer that attends, and `blocks` pages left for the pool.
    """
    base = setup(engine, draft="ngram")
    attend = Attention(heads=4, kv_heads=2, head_dim=128)
    arch = Architecture(
        hidden=64,
        vocab=1000,
        tied_embeddings=True,
        blocks=(
            Block(repeat=1, attention=attend, mlp=Mlp(width=64)),
            Block(repeat=3, recurrent=Recurrent(params=1000, state_bytes=1008.0 * 1024)),
        ),
    )
    model = replace(
        base.target,
        architecture=arch,
        matmul_params=None,
        kv_bytes_per_token=None,
        stored_params=None,
        parts={},
    )
    found = replace(base, target=model)
    page = 1008 * 1024
    limits = Limits(memory_fraction=1.0, max_num_seqs=8, max_batched_tokens=2048)
    resident = arms(found, 3, limits)[1].resident_bytes
    memory = resident + blocks * page
    return arms(replace(found, hardware=replace(found.hardware, memory=memory)), 3, limits)[1]


def test_states_that_every_sequence_reserves():
    """vllm-project/vllm#57261: 873 blocks, 45 a request of 32,768 tokens, 9 of them scratch of 3
    draft tokens: 19.40x, 635,699 tokens; kept for 8 running requests alone 22.25x, 729,088.
    """
    arm = hybrid(873)
    page = 1008 * 1024
    assert arm.block == 1008
    assert float(arm.sequence(32_768)) == 45 * page  # 33 of the cache, 3 x (1 + 3) states
    assert arm.accounting.scratch(arm.served) * arm.state_bytes == 9 * page
    assert arm.concurrency(32_768) == pytest.approx(19.40, abs=0.005)
    assert arm.tokens(32_768) == 635_699
    assert (873 - 8 * 9) / 36 == 22.25
    assert arm.tokens_of_running(32_768, 8) == 729_088
    # (pool - 8 x 9) / (45 - 9) is 45 / (45 - 9) of it less what the running ones keep.
    assert arm.tokens_of_running(32_768, 0) / arm.tokens(32_768) == pytest.approx(45 / 36, rel=1e-4)
    # Where more may run than the pool holds, nothing is gained.
    assert arm.tokens_of_running(32_768, 1000) == pytest.approx(arm.tokens(32_768), abs=1)


def test_a_derived_size_says_nothing_of_bytes():
    """vllm-project/vllm#51041: 4.05 to 92.62 KiB a token on one machine. The "size" of a hybrid is
    its concurrency times --max-model-len, so bytes over size fall as that grows.
    """
    arm = hybrid(873)
    sizes = [arm.tokens(length) for length in (2_048, 8_192, 32_768, 262_144)]
    assert sizes == sorted(sizes)
    assert sizes[-1] / sizes[0] > 4
    uniform = drafted("vllm")
    assert len({uniform.tokens(length) for length in (2_048, 8_192, 262_144)}) == 1


def test_the_second_context_of_llamacpp():
    """ggml-org/llama.cpp pull request 23801, b9305: 8 MiB of cache for 4,096 tokens and 501 MiB of
    compute buffer for the MTP module of Qwen3.6-35B-A3B, whose shapes are those of Qwen3.5-35B-A3B.
    """
    module = {"target": "qwen3.5-35b-a3b", "draft": "mtp-qwen3.5-35b-a3b", "dtype": "int4"}
    plain, both = arms(setup("llamacpp@b9305", "rtx-3090", **module), 2)
    assert both.draft_token_bytes * 4_096 == 8 * 2**20
    assert (both.other_bytes - plain.other_bytes) / 2**20 == pytest.approx(501, rel=0.05)


def test_the_drafters_context_is_that_of_all_slots():
    """ggml-org/llama.cpp#28433: 3 slots of 8,192 tokens give the drafter a context of 24,576."""
    arm = drafted("llamacpp", 2, **QWEN)
    _, slot = arm.sequence_bytes(8_192)
    assert 3 * float(slot) == arm.draft_token_bytes * 24_576


def test_a_drafter_on_one_gpu_of_four():
    """vllm-project/vllm#9995: 70B over 4 GPUs, an 8B drafter on the first: it holds all of it."""
    big = {"target": "llama-3.1-70b", "draft": "llama-3.1-8b", "hardware": "a100-sxm-80gb", "tp": 4}
    plain, alone = arms(setup("vllm@0.6.6", **big, draft_tp=1))
    spread = arms(setup("vllm@0.6.6", **big))[1]
    assert alone.draft_bytes == 4 * spread.draft_bytes == 8_030_261_248 * 2
    assert alone.target_bytes == spread.target_bytes == plain.target_bytes
    assert (alone.token_bytes, alone.draft_token_bytes) == (327_680 / 4, 131_072)
    # The first GPU's pool is what all of them can use.
    assert plain.tokens(8192) > 4 * alone.tokens(8192)
    lost = plain.pool_bytes - alone.pool_bytes
    assert lost == pytest.approx(8_030_261_248 * 2, rel=1e-9)


def test_a_budget_that_two_caches_share():
    """NVIDIA/TensorRT-LLM pull request 12188: split in proportion to bytes per token, so that both
    hold as many tokens.
    """
    arm = drafted("trtllm", draft="llama-3.2-1b")
    share = arm.draft_token_bytes / (arm.token_bytes + arm.draft_token_bytes)
    assert share == 32_768 / (131_072 + 32_768)
    tokens = arm.tokens(8192)
    assert tokens * arm.draft_token_bytes <= share * arm.pool_bytes
    assert tokens + 32 > share * arm.pool_bytes / arm.draft_token_bytes


# No fraction works


def test_two_sided():
    """sgl-project/sglang#4330, L40S: 0.85 runs out of memory, 0.84 is "not enough". A 70B in 4 bits
    needs 0.85 before its drafter, which lies beside the fraction.
    """
    big = {"target": "llama-3.3-70b", "dtype": "int4", "hardware": "l40s"}
    _, arm = arms(setup("sglang@0.4.3.post2", **big, draft="llama-3.1-8b"))
    low, high = arm.fractions(float(arm.sequence(8192)))
    assert 0.84 < low < 0.86
    assert high < 0.65  # 16 GB of drafter and what prefills need
    assert arm.pool_bytes == 0
    head = arms(setup("sglang@0.4.3.post2", **big, draft="eagle3-llama-3.3-70b"))[1]
    low, high = head.fractions(float(head.sequence(2048)))
    assert low < high  # of that head 2.6 GiB
    assert drafted("llamacpp").fractions(1e9) is None


def test_fractions_count_weights_and_drafter():
    """SemiAnalysisAI/InferenceX#2128: 125.65 GB of weights of 137.9 need 0.9113, with 3.07 GB of
    drafter 0.9335: (weights + drafter) / memory.
    """
    arm = drafted("sglang@0.5.23")
    memory = (125.65 + 12.25) * GIB
    bare = replace(arm, target_bytes=125.65 * GIB, duplicated_bytes=0.0, libraries_bytes=0.0)
    place = replace(arm.served.setup.hardware, memory=memory)
    served = replace(arm.served, setup=replace(arm.served.setup, hardware=place))
    alone, both = (replace(bare, served=served, draft_bytes=b * GIB) for b in (0.0, 3.07))
    assert alone.fractions(0)[0] == pytest.approx(0.9113, abs=0.0003)
    assert both.fractions(0)[0] == pytest.approx(0.9335, abs=0.0003)


@pytest.mark.parametrize("engine", ["vllm", "vllm@0.10", "sglang", "sglang@0.5.9", "trtllm"])
def test_the_lowest_fraction_holds_what_was_asked_and_no_less(engine):
    found = setup(engine)
    needed = 10 * float(arms(found)[1].sequence(8192))
    low, high = arms(found)[1].fractions(needed)
    assert 0 < low < high <= 1
    at = arms(found, limits=Limits(memory_fraction=low + 1e-9))[1]
    below = arms(found, limits=Limits(memory_fraction=low - 1e-6))[1]
    assert at.pool_bytes >= needed > below.pool_bytes


def test_at_the_highest_fraction_pool_and_drafter_fill_the_gpu():
    found = setup("sglang@0.5.9")
    _, high = arms(found)[1].fractions(0)
    arm = arms(found, limits=Limits(memory_fraction=high))[1]
    pooled = arm.pool_bytes / arm.token_bytes * arm.draft_token_bytes
    inside = arm.resident_bytes + arm.pool_bytes
    assert inside + arm.beside_bytes + arm.draft_bytes + pooled == pytest.approx(
        arm.served.memory_bytes, rel=1e-9
    )


# Bills


def counted(arm: Arm, context: int, *, whole: bool) -> int:
    """Sequences that fit block by block: in plain Python, of models whose layers keep all."""
    accounting: Accounting = arm.accounting
    ahead = accounting.ahead(arm.served) if whole else 0
    pool = int(arm.pool_bytes // arm.block_bytes) - accounting.spare
    each = math.ceil((context + ahead) / arm.block)
    return max(pool // each, 0)


@pytest.mark.parametrize("engine", ENGINES)
@given(context=st.integers(1, 200_000), k=st.integers(1, 16))
def test_sequences_block_by_block(engine, context, k):
    pair = arms(CASES[engine], k)
    bill = counted_bill(pair, context)
    assert int(bill.largest_plain) == counted(pair[0], context, whole=True)
    assert int(bill.largest) == counted(pair[1], context, whole=True)


CASES = {engine: setup(engine) for engine in ENGINES}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("asked", [{}, QWEN, {"target": "gemma-2-9b", "draft": "free"}])
@pytest.mark.parametrize("context", [17, 8192, 33_333])
def test_the_largest_batch_fits_and_the_next_does_not(engine, asked, context):
    bill = counted_bill(arms(setup(engine, **asked)), context)
    for drafts, largest in ((False, float(bill.largest_plain)), (True, float(bill.largest))):
        assert largest > 0 or not bill.limits[drafts]
        assert not largest or float(
            bill.needed_bytes(largest, drafted=drafts)
        ) <= bill.usable_bytes * (1 + 1e-12)
        if largest < bill.limits[drafts]:
            assert float(bill.needed_bytes(largest + 1, drafted=drafts)) > bill.usable_bytes


@pytest.mark.parametrize("engine", ENGINES)
def test_parts_add_up_to_what_the_driver_shows(engine):
    for arm in arms(CASES[engine]):
        whole = arm.held_back_bytes + arm.resident_bytes + arm.pool_bytes
        assert whole == pytest.approx(arm.served.memory_bytes, rel=1e-12)
        assert arm.pool_bytes > 0


@pytest.mark.parametrize("engine", ENGINES)
def test_more_of_anything_leaves_less(engine):
    found = CASES[engine]
    contexts = np.asarray([100, 1000, 10_000, 100_000])
    for larger in (counted_bill(arms(found, k), contexts) for k in (1, 8)):
        assert (np.diff(larger.largest) <= 0).all()
        assert (larger.largest <= larger.largest_plain).all()
    few, many = (counted_bill(arms(found, k), 1000) for k in (1, 16))
    assert int(many.largest) <= int(few.largest)


def test_a_model_without_layers_is_counted_by_its_two_figures():
    found = setup("vllm", target="llama-3-8b", draft="free")
    planned = replace(found, target=replace(found.target, architecture=None))
    arm = arm_of(arms(planned)[1].accounting, Served(planned, 3))
    assert arm.token_bytes == 131_072
    assert (arm.activations_bytes, arm.sampler_bytes, arm.graphs_bytes) == (0, 0, 0)
    assert arm.tokens(8192) > 0


def test_weights_that_fill_the_gpu_leave_no_pool():
    plain, both = arms(setup("vllm", "l4", target="llama-3.1-70b", draft="eagle3-llama-3.3-70b"))
    assert (plain.pool_bytes, both.tokens(1000), both.concurrency(1000)) == (0, 0, 0)
    assert int(counted_bill((plain, both), 1000).largest_plain) == 0


def test_a_verification_of_many_rows():
    """sgl-project/sglang#13765: logits of rows x vocabulary."""
    arm = arms(CASES["vllm"], 3, Limits(max_num_seqs=64))[1]
    assert arm.verify_logits_bytes == 64 * 4 * 128_256 * 4
    assert arms(CASES["vllm"], 3, Limits(max_num_seqs=64))[0].verify_logits_bytes == 0
    wide = arms(CASES["vllm"], 15)[1]  # no more rows than a pass has tokens
    assert wide.verify_logits_bytes == 8192 * 128_256 * 4


def test_attention_groups_hold_their_own_sequences():
    base = CASES["vllm"]
    wide = replace(base, tp=4, draft_tp=4)
    grouped = replace(wide, attention_dp=4)
    one, four = (counted_bill(arms(found), 8192) for found in (wide, grouped))
    assert four.groups == 4
    assert float(four.target_sequence_bytes) == 4 * float(one.target_sequence_bytes)
    assert float(four.needed_bytes(8, drafted=True)) < float(four.needed_bytes(9, drafted=True))


MODELS = [one.card for one in Catalogue().every(Model) if not one.card.drafts]
SOME = MODELS[::7]


@pytest.mark.parametrize("model", SOME, ids=lambda model: model.name)
@pytest.mark.parametrize("engine", ENGINES)
def test_every_model_has_parts_that_add_up(engine, model):
    base = replace(CASES[engine], target=model, tp=8, draft_tp=8, dtype=model.dtype)
    for arm in arms(replace(base, draft=setup(engine, draft="ngram").draft)):
        assert arm.activations_bytes >= 0
        assert arm.token_bytes >= 0
        assert arm.block >= 1
        whole = arm.held_back_bytes + arm.resident_bytes + arm.pool_bytes
        if arm.pool_bytes:
            assert whole == pytest.approx(arm.served.memory_bytes, rel=1e-12)
        assert arm.concurrency(8192) >= 0
        assert arm.tokens(8192) >= 0
