"""One pass by hand: counts of toy models, their cache, their experts, the ceiling that binds."""

from __future__ import annotations

import numpy as np
import oracle
import pytest
import worlds

from specplan.domain.card import Dtype
from specplan.errors import Refused
from specplan.physics.roofline import ideal_pass, kv_bytes, kv_shares, read_params

BF16 = Dtype.BF16
CHIP = worlds.hardware({"bf16": 1e14, "fp8": 2e14}, 1e12, 1e10)
TARGET = worlds.model(worlds.TARGET)


def one_pass(batch=1, tokens=1, context=1000, **changes):
    sizes = {"dtype": BF16, "kv_dtype": BF16, "tp": 1} | changes
    return ideal_pass(TARGET, CHIP, batch=batch, tokens=tokens, context=context, **sizes)


def test_a_plain_step():
    step = one_pass()
    assert float(step.flops) == 2e9
    assert float(step.traffic_bytes) == 2.1e9  # 1e9 weights of 2 bytes, 1,000 tokens of 1e5
    assert float(step.compute_s) == pytest.approx(2e-5, rel=1e-15)
    assert float(step.time_s) == pytest.approx(2.1e-3, rel=1e-15)
    assert not step.compute_bound
    assert float(step.intensity) == pytest.approx(2 / 2.1, rel=1e-15)


def test_verification_reads_the_cache_once_per_sequence():
    assert float(one_pass(tokens=5).traffic_bytes) == 2.1e9
    assert float(one_pass(tokens=5).flops) == 1e10
    assert float(one_pass(batch=3, tokens=5).traffic_bytes) == 2.3e9


def test_the_longer_half_binds():
    step = one_pass(batch=[[50, 200, 1000]], tokens=[[5], [10]])
    # Milliseconds of arithmetic: 2e9 x batch x tokens / 1e14; of traffic: 2 + 0.1 batch.
    compute = np.array([[5, 20, 100], [10, 40, 200]])
    memory = np.array([[7, 22, 102], [7, 22, 102]])
    np.testing.assert_allclose(step.time_s * 1e3, np.maximum(compute, memory), rtol=1e-14)
    assert step.compute_bound.tolist() == [[False] * 3, [True] * 3]


def test_a_tie_is_memory_bound():
    # 2e9 x 100 / 1e14 = 2 ms of arithmetic against 2 ms of weights.
    assert not one_pass(batch=100, context=0).compute_bound
    assert one_pass(batch=101, context=0).compute_bound


def test_intensity_without_cache_is_the_number_of_tokens():
    assert float(one_pass(batch=7, tokens=3, context=0).intensity) == 21.0


@pytest.mark.parametrize(
    ("dtype", "weights", "rate"),
    [("bf16", 2e9, 1e14), ("fp8", 1e9, 2e14), ("int8", 1e9, 1e14), ("int4", 0.5e9, 1e14)],
)
def test_weights_are_read_as_stored_and_multiplied_at_a_rate_the_chip_has(dtype, weights, rate):
    step = one_pass(dtype=Dtype(dtype))
    assert float(step.traffic_bytes) == weights + 1e8
    assert float(step.compute_s) == pytest.approx(2e9 / rate, rel=1e-15)


def test_a_dtype_without_any_rate_is_refused():
    with pytest.raises(Refused, match="chip has no rate for fp32 weights"):
        one_pass(dtype=Dtype.FP32)


def test_the_cache_has_its_own_type():
    assert float(one_pass(kv_dtype=Dtype.FP8).traffic_bytes) == 2.05e9


def test_gpus_share_weights_arithmetic_and_cache():
    step = one_pass(tp=4)
    assert float(step.flops) == 0.5e9
    assert float(step.traffic_bytes) == 0.25 * 2.1e9


# --- what the cache holds --------------------------------------------------------------------

# 2 whole layers (8 KV heads) and 4 sliding ones (2 KV heads), heads 64 wide.
MIXED = worlds.model(
    oracle.Model(
        hidden=512,
        vocab=1000,
        layers=(
            oracle.Layer(repeat=2, heads=8, kv_heads=8, head_dim=64, mlp_width=64),
            oracle.Layer(repeat=4, heads=8, kv_heads=2, head_dim=64, window=100, mlp_width=64),
        ),
    )
)
STATE = worlds.model(
    oracle.Model(
        hidden=512,
        vocab=1000,
        layers=(oracle.Layer(repeat=3, recurrent_params=1000, state_bytes=4000.0, mlp_width=64),),
    )
)


@pytest.mark.parametrize(
    ("context", "whole", "sliding"), [(0, 0, 0), (60, 60, 60), (100, 100, 100), (5000, 5000, 100)]
)
def test_sliding_layers_keep_their_window(context, whole, sliding):
    # Bytes of a token: layers x 2 (key, value) x KV heads x 64 x 2 bytes.
    expected = whole * 2 * 2 * 8 * 64 * 2 + sliding * 4 * 2 * 2 * 64 * 2
    assert float(kv_bytes(MIXED, context, BF16)) == expected


@pytest.mark.parametrize(
    ("tp", "shares"),
    [
        (1, (1, 1)),
        (2, (1 / 2, 1 / 2)),
        (3, (3 / 8, 1 / 2)),  # the fullest GPU holds 3 of 8 heads, and 1 of 2
        (4, (1 / 4, 1 / 2)),
        (8, (1 / 8, 1 / 2)),
        (16, (1 / 8, 1 / 2)),  # heads are copied, never cut
    ],
)
def test_each_layer_shares_the_heads_that_it_has(tp, shares):
    assert kv_shares(MIXED, tp) == shares
    whole, sliding = 5000 * 2 * 2 * 8 * 64 * 2, 100 * 4 * 2 * 2 * 64 * 2
    expected = whole * shares[0] + sliding * shares[1]
    assert float(kv_bytes(MIXED, 5000, BF16, tp)) == pytest.approx(expected, rel=1e-15)


def test_a_card_without_architecture_shares_evenly():
    assert kv_shares(TARGET, 16) == (1 / 16,)


def test_recurrent_state_does_not_grow():
    assert kv_bytes(STATE, [0, 1, 1e7], BF16).tolist() == [12_000.0] * 3
    assert float(kv_bytes(STATE, 5, BF16, tp=4)) == 3000.0
    assert float(kv_bytes(STATE, 5, Dtype.FP8)) == 12_000.0  # its type is its own


# --- experts ---------------------------------------------------------------------------------


def touched(experts: int, active: int, tokens: int) -> float:
    """Distinct experts that the package says `tokens` tokens touch."""
    layer = oracle.Layer(
        heads=1, kv_heads=1, head_dim=64, experts=experts, active=active, expert_width=64
    )
    figures = oracle.Model(hidden=64, vocab=256, layers=(layer,))
    read = float(read_params(worlds.model(figures), tokens))
    return (read - oracle.resident_params(figures)) / oracle.one_expert(figures, layer)


@pytest.mark.parametrize(
    ("tokens", "experts"), [(1, "8.0"), (4, "30.5"), (8, "57.4"), (16, "102.0"), (64, "222.4")]
)
def test_experts_touched_of_256_by_8(tokens, experts):
    assert f"{touched(256, 8, tokens):.1f}" == experts  # 256 (1 - (1 - 8/256)^tokens)


def test_all_experts_are_read_in_the_end_and_never_more():
    assert touched(16, 16, 1) == 16
    assert touched(64, 2, 100_000) == pytest.approx(64, rel=1e-14)


def test_simulated_routing_touches_as_many():
    rng = np.random.default_rng(3)
    trials, experts, active, tokens = 4000, 32, 4, 10
    picks = rng.random((trials, tokens, experts)).argpartition(active, axis=2)[..., :active]
    hit = np.zeros((trials, experts), bool)
    hit[np.arange(trials)[:, None], picks.reshape(trials, -1)] = True
    counts = hit.sum(axis=1)
    error = counts.std() / trials**0.5
    assert abs(counts.mean() - touched(experts, active, tokens)) < 4 * error


def test_a_dense_model_reads_what_it_multiplies():
    assert read_params(TARGET, [1, 64, 1e6]).tolist() == [1e9] * 3
    assert read_params(MIXED, 1000) == MIXED.active_params


def test_a_group_reads_the_cache_of_its_own_sequences():
    """16 sequences in 8 groups of one GPU each: 2 a group, whole, of 1e8 bytes at 1,000 tokens."""
    alone = one_pass(batch=16, tp=8, groups=8)
    assert float(alone.traffic_bytes) == 2e9 / 8 + 2 * 1e8
    assert float(one_pass(batch=17, tp=8, groups=8).traffic_bytes) == 2e9 / 8 + 3 * 1e8
