"""A pass as the sum of its terms, and what is told of it as a whole."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from engine_worlds import CHIP, ENGINE, SIMPLE

from specplan.catalogue.store import Catalogue
from specplan.domain.card import Dtype
from specplan.physics.forward import Layout, forward_terms
from specplan.physics.moving import Elementwise, Exchange
from specplan.physics.roofline import BOUNDS
from specplan.physics.silicon import Silicon
from specplan.physics.steps import SINGLE, Step, gpu_step
from specplan.physics.work import Attend, Matmul, load

ON = Silicon(CHIP, ENGINE)
PRODUCTS = (Matmul("up", 2, 1280, 1000, Dtype.FP8), Matmul("up", 2, 1000, 1280, Dtype.FP8))
ATTEND = Attend("attention", 2, 32, 8, 128, None, Dtype.BF16)
NORMS = Elementwise("small", 6, 1000)
REDUCE = Exchange("allreduce", 2, 1000, 2)
AT = load([1, 2, 64], 1, 1000)


def names(step: Step) -> list[str]:
    return [share.name for share in step.shares]


def test_terms_of_one_name_are_one_share_in_their_first_order():
    step = gpu_step((*PRODUCTS, ATTEND, NORMS, REDUCE), AT, ON)
    assert names(step) == ["up", SINGLE, "attention", "small", "allreduce"]
    assert [share.launches for share in step.shares] == [4, 0, 2, 6, 2]


def test_a_pass_is_the_sum_of_its_shares():
    step = gpu_step((*PRODUCTS, ATTEND, NORMS, REDUCE), AT, ON)
    total = sum(np.broadcast_to(share.time_s, (3,)) for share in step.shares)
    np.testing.assert_allclose(step.time_s, total, rtol=1e-14)
    assert step.network_s == pytest.approx(step.shares[-1].time_s)


def test_arithmetic_runs_at_the_rate_of_its_own_dtype():
    """fp8 products at 2e14, attention at the bf16 rate of 1e14; an exchange moves no memory."""
    step = gpu_step((*PRODUCTS, ATTEND, REDUCE), AT, ON)
    products = 2 * 4 * 1_280_000 * AT.rows / 2e14
    assert step.compute_s == pytest.approx(products + ATTEND.flops(AT) / 1e14, rel=1e-14)
    alone = gpu_step((*PRODUCTS, ATTEND), AT, ON)
    assert step.traffic_bytes == pytest.approx(alone.traffic_bytes, rel=1e-14)
    assert step.memory_s == pytest.approx(step.traffic_bytes / 1e12, rel=1e-14)
    assert step.intensity == pytest.approx(step.flops / step.traffic_bytes, rel=1e-14)


def test_the_slow_path_is_no_share_of_a_dtype_without_one():
    assert SINGLE not in names(gpu_step((Matmul("m", 1, 100, 100, Dtype.BF16),), AT, ON))


def test_a_wait_is_one_more_share():
    step = gpu_step((NORMS,), AT, ON)
    later = step.plus("host", np.array([1.0, 2.0, 3.0]))
    assert names(later) == ["small", "host"]
    np.testing.assert_allclose(later.time_s - step.time_s, [1, 2, 3], rtol=1e-12)
    assert np.array_equal(later.traffic_bytes, step.traffic_bytes)


GEMM = replace(SIMPLE.gemm[Dtype.BF16], compute=0.9)
FAST = Silicon(CHIP, replace(ENGINE, kernels=(replace(SIMPLE, gemm={Dtype.BF16: GEMM}),)))


def bound(*terms: object, batch: float = 1, tokens: float = 1, wait: float = 0.0) -> str:
    step = gpu_step(terms, load(batch, tokens, 1), FAST)  # type: ignore[arg-type]
    return BOUNDS[int(step.plus("host", np.array([wait])).bound.item())]


def test_what_takes_most_of_a_pass_binds_it():
    large = Matmul("m", 1, 128_000, 10_000, Dtype.BF16)
    assert bound(large) == "memory"
    assert bound(large, batch=4096) == "compute"
    assert bound(large, wait=1.0) == "latency"
    assert bound(NORMS) == "latency"
    assert bound(Exchange("allreduce", 50, 10**7, 2), NORMS) == "network"


# --- published sums ---------------------------------------------------------------------------

# GPU time of a Llama-3.1-8B bf16 decode step at context 2,048 and batch 1, 16, 64, in ms: sums of
# kernel latencies that aiconfigurator-core 0.12.0 lists (qkv, attention, output, mlp, head, small
# kernels; no sampler, no host). Constants were fitted to single kernels, not to these sums.
SUMS = {
    "h100-sxm": (6.24, 8.20, 12.53),
    "h200-sxm": (4.91, 6.33, 9.47),
    "a100-sxm-80gb": (12.0, 15.0, 23.1),
    "b200-sxm": (3.49, 4.17, 6.07),
}
STORE = Catalogue()
LLAMA, VLLM = STORE.model("llama-3.1-8b").card, STORE.engine("vllm").card
BF16 = Layout(dtype=Dtype.BF16, kv_dtype=Dtype.BF16)


def llama_s(gpu: str, batch: list[int], context: int) -> np.ndarray:
    """GPU time of one step on one accelerator, sampler left out."""
    on = Silicon(STORE.hardware(gpu).card, VLLM)
    step = gpu_step(forward_terms(LLAMA, BF16, on.small), load(batch, 1, context), on)
    sampler = next(share.time_s for share in step.shares if share.name == "sampler")
    return step.time_s - sampler


@pytest.mark.parametrize("gpu", SUMS)
def test_a_step_is_within_8_percent_of_the_sum_of_its_measured_kernels(gpu):
    np.testing.assert_allclose(1e3 * llama_s(gpu, [1, 16, 64], 2048), SUMS[gpu], rtol=0.08)


@pytest.mark.parametrize(
    ("batch", "context"), [(1, 2048), (16, 2048), (64, 2048), (128, 2048), (8, 8192), (32, 512)]
)
def test_a_whole_step_is_within_10_percent_of_a_published_fit(batch, context):
    """vLLM on an H100, host included: 5.886 + 0.0210 tokens + 39.3e-6 KV tokens + 1.207 ms."""
    published = 5.886 + 0.0210 * batch + 39.3e-6 * batch * context + 1.207
    ours = 1e3 * float(llama_s("h100-sxm", [batch], context)[0]) + 1.207
    assert ours == pytest.approx(published, rel=0.1)
