"""Kernel times by hand on round numbers: what each constant does to its term."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from engine_worlds import CHIP, ENGINE, SIMPLE

from specplan.domain.card import Dtype
from specplan.domain.engine import Gemm
from specplan.domain.hardware import Hardware
from specplan.physics import kernels
from specplan.physics.experts import Route
from specplan.physics.kernels import allreduce_s, blend, gemm_s, seconds, single_s
from specplan.physics.moving import Elementwise, Exchange, Sample, State
from specplan.physics.silicon import Silicon
from specplan.physics.work import Attend, AttendIndex, AttendLatent, Matmul, load

ON = Silicon(CHIP, ENGINE)
WHOLE = Matmul("m", 1, 12_800, 1000, Dtype.BF16)  # 100 columns of 128 tiles: one a unit


def with_gemm(**changed: object) -> tuple[Gemm, Silicon]:
    """The bf16 products with other constants, and the silicon that runs them so."""
    kernel = replace(SIMPLE.gemm[Dtype.BF16], **changed)  # type: ignore[arg-type]
    on = replace(SIMPLE, gemm={Dtype.BF16: kernel})
    return kernel, Silicon(CHIP, replace(ENGINE, kernels=(on,)))


def product_s(rows: list[float], **changed: object) -> list[float]:
    """WHOLE at these rows."""
    kernel, on = with_gemm(**changed)
    return gemm_s(WHOLE, np.array(rows), kernel, on).tolist()


def test_one_product_by_hand():
    """64 rows fill 100 tiles of 64 x 128, one a unit: 16.384 MFLOP at 0.5 TFLOP/s is 32.8 us.
    25.6 MB of weights, 128 kB in, 1.64 MB out at 0.8 TB/s: 34.2 us.
    """
    arithmetic = 2 * 64 * 128 * 1000 / 0.5e12
    memory = (2 * 12_800_000 + 64 * (2 * 1000 + 2 * 12_800)) / 0.8e12
    expected = 2e-6 + (arithmetic**3 + memory**3) ** (1 / 3)
    assert product_s([64.0]) == pytest.approx([expected], rel=1e-14)
    assert seconds(replace(WHOLE, count=7), load(64, 1, 1), ON) == pytest.approx(7 * expected)


def test_a_row_more_than_a_tile_holds_starts_the_next():
    """65 rows take tiles of 128; from 65 to 128 only activations grow."""
    at_64, at_65, at_66 = product_s([64.0, 65.0, 66.0])
    assert at_65 - at_64 > 10 * (at_66 - at_65) > 0


def test_a_half_empty_wave_waits():
    """101 columns of tiles need a second wave: `waves` of the memory time waits for it."""
    wider = replace(WHOLE, n=12_801)
    waits, on = with_gemm(waves=0.5)
    without, _ = with_gemm()
    rows = np.array([1.0])
    full = gemm_s(WHOLE, rows, waits, on) / gemm_s(WHOLE, rows, without, on)
    part = gemm_s(wider, rows, waits, on) / gemm_s(wider, rows, without, on)
    assert full == pytest.approx([1.0], rel=1e-14)
    assert part > 1.05


def test_small_tiles_pay_for_their_edges():
    """128 x 128 tiles have the rate `compute` speaks of; 64 x 128 ones load more for each FLOP."""
    assert product_s([128.0], edge=100.0) == pytest.approx(product_s([128.0]), rel=1e-14)
    (edged,), (plain,) = product_s([64.0], edge=100.0), product_s([64.0])
    assert edged > plain


def test_split_k_helps_where_few_tiles_are():
    narrow = Matmul("m", 1, 128, 100_000, Dtype.BF16)  # a single tile: one unit would do it all
    kernel, on = with_gemm()
    split, on_split = with_gemm(split=1e-6, reduce=1e12)
    rows = np.array([1.0, 64.0])
    slow, fast = gemm_s(narrow, rows, kernel, on), gemm_s(narrow, rows, split, on_split)
    assert np.all(fast < slow / 4)
    whole, split_whole = product_s([64.0]), product_s([64.0], split=1.0, reduce=1e12)
    assert whole == split_whole  # a split that costs a second is never chosen


def test_the_tile_that_rows_decide_on_is_not_the_cheapest():
    """To 64 rows 200 tiles of 64 x 64, to 128 two rows of 64 x 128, then 128 x 128: by hand."""
    for rows, tall, tiles, wide in (
        (64, 64, 200, 64),
        (65, 64, 200, 128),
        (128, 64, 200, 128),
        (129, 128, 200, 128),
    ):
        arithmetic = tiles / 100 * 2 * tall * wide * 1000 / 0.5e12
        memory = (2 * 12_800_000 + rows * (2 * 1000 + 2 * 12_800)) / 0.8e12
        expected = 2e-6 + (arithmetic**3 + memory**3) ** (1 / 3)
        got = product_s([float(rows)], tiles="by-rows")
        assert got == pytest.approx([expected], rel=1e-14), rows
    for menu in ("small", "tiny"):  # both hold these three tiles and others
        assert product_s([129.0], tiles=menu)[0] <= product_s([129.0], tiles="by-rows")[0]


@pytest.mark.parametrize("tiles", ["medium", "by-rows"])
def test_time_never_falls_with_rows(tiles):
    """A full wave can beat a part-filled one of fewer rows; the longest so far counts."""
    rows = [float(m) for m in range(1, 700)]
    times = np.array(product_s(rows, tiles=tiles, waves=1.0, edge=300.0))
    assert np.all(np.diff(times) >= 0)


def test_rows_are_independent_of_each_other():
    alone = [product_s([m])[0] for m in (1.0, 63.0, 64.0, 65.0, 300.0)]
    together = product_s([300.0, 1.0, 65.0, 64.0, 63.0])
    assert sorted(together) == sorted(alone)


@pytest.mark.parametrize("tiles", ["small", "by-rows"])
@pytest.mark.parametrize("split", [{}, {"split": 1e-6, "reduce": 1e12}], ids=("whole", "split"))
def test_how_many_are_timed_together_makes_no_difference(monkeypatch, tiles, split):
    rows = [float(m) for m in (*range(1, 80), 300, 1000, 4097, 9000)]
    usual = product_s(rows, tiles=tiles, waves=0.3, edge=50.0, **split)
    for few, part in ((0, 10_000), (10_000, 10_000), (8, 7)):
        monkeypatch.setattr(kernels, "FEW", few)
        monkeypatch.setattr(kernels, "ROWS", part)
        assert product_s(rows, tiles=tiles, waves=0.3, edge=50.0, **split) == usual


def test_no_rows_are_no_error():
    kernel, on = with_gemm()
    assert gemm_s(WHOLE, np.array([]), kernel, on).size == 0


def test_the_slow_path_is_met_at_one_row_alone():
    rows = np.array([1.0, 2.0, 64.0])
    assert single_s(rows, SIMPLE.gemm[Dtype.FP8]).tolist() == [9e-6, 0.0, 0.0]
    assert single_s(rows, SIMPLE.gemm[Dtype.BF16]).tolist() == [0.0, 0.0, 0.0]


def test_a_blend_is_rounded_near_the_knee_and_else_the_longer():
    one, tenth = np.array([1.0]), np.array([0.1])
    assert blend(one, one) == pytest.approx([2 ** (1 / 3)])
    assert blend(one, tenth) == pytest.approx([1.000333], rel=1e-6)


def test_attention_by_hand():
    """8 sequences of 1,000 tokens, 32 heads over 8: 32.8 MB at 0.5 TB/s, 64 blocks of 100 units.
    32.8 MB of 35 that stay in L2: the cold part comes by its fourth power.
    """
    term = Attend("a", 2, 32, 8, 128, None, Dtype.BF16)
    cache = 2 * 8 * 128 * 2 * 8 * 1000
    beyond = (cache / 35e6) ** 4
    once = 10e-6 + np.hypot(cache / 0.5e12, 3e-6 * 0.64) + 4e-6 * beyond / (1 + beyond)
    assert seconds(term, load(8, 1, 1000), ON) == pytest.approx(2 * once, rel=1e-14)


def test_verification_adds_arithmetic_and_blocks_once_a_tile_of_queries_is_full():
    """4 query heads a KV head: a block of 16 query rows takes 4 tokens, 16 tokens take 2 times
    the time of a block. Four tokens add 3/4 of their FLOP at half of the peak.
    """
    term = Attend("a", 1, 32, 8, 128, 50, Dtype.BF16)  # a window: the same cache at any context
    cache_s = 2 * 8 * 128 * 2 * 8 * 50 / 0.5e12
    blocks_s, cold = 3e-6 * 0.64, (2 * 8 * 128 * 2 * 8 * 50 / 35e6) ** 4

    def expected(tokens: int, sharing: float) -> float:
        added_s = 4 * 32 * 128 * 8 * (tokens - 1) * 50 / (0.5 * 1e14)
        inside = np.sqrt((blocks_s * sharing) ** 2 + cache_s**2 + added_s**2)
        return float(10e-6 + inside + 4e-6 * cold / (1 + cold))

    got = seconds(term, load(8, np.array([1, 4, 16]), 99_999), ON)
    assert got == pytest.approx([expected(1, 1.0), expected(4, 1.0), expected(16, 2.0)], rel=1e-14)


def with_attention(**changed: object) -> Silicon:
    """The same silicon, attention with other constants."""
    kernel = replace(SIMPLE.attention[Dtype.BF16], **changed)  # type: ignore[arg-type]
    return Silicon(
        CHIP, replace(ENGINE, kernels=(replace(SIMPLE, attention={Dtype.BF16: kernel}),))
    )


def test_query_heads_of_a_kv_head_cost_a_call_where_the_card_says():
    """4 of them a KV head: three beyond the first, in each of the 2 layers."""
    term = Attend("a", 2, 32, 8, 128, None, Dtype.BF16)
    at = load(np.array([1, 8]), 1, np.array([[10], [9000]]))
    shared, plain = seconds(term, at, with_attention(group=2e-6)), seconds(term, at, ON)
    np.testing.assert_allclose(shared - plain, 2 * 3 * 2e-6, rtol=1e-9)


def test_arithmetic_of_queries_by_hand():
    """One query's at a tenth of the peak beside memory and blocks; three added ones at half."""
    term = Attend("a", 1, 256, 8, 128, 50, Dtype.BF16)
    cache_s, blocks_s = 2 * 8 * 128 * 2 * 8 * 50 / 0.5e12, 3e-6 * 0.64
    one = 4 * 256 * 128 * 8 * 50 / 1e14
    on = with_attention(queries=0.1, cold=0.0)
    for tokens, sharing, added_s in ((1, 2.0, 0.0), (4, 8.0, 3 * one / 0.5)):
        inside = (blocks_s**2 * sharing, cache_s**2, (one / 0.1 + added_s) ** 2)
        got = seconds(term, load(8, tokens, 99_999), on)
        assert got == pytest.approx(10e-6 + np.sqrt(sum(inside)), rel=1e-14)


def test_attention_waits_for_whole_waves_of_blocks():
    """Caches on 100 units, memory time alone: 4 sequences of 8 KV heads in 3 parts leave 4 seats
    of 100 empty, 25 of 4 in one part none, 26 of 4 fill a second wave by 4 of 100.
    """
    term = Attend("a", 1, 8, 8, 128, None, Dtype.BF16)
    few = Attend("a", 1, 4, 4, 128, None, Dtype.BF16)
    on = with_attention(waves=0.5, launch=0.0, block=0.0, cold=0.0)
    ideal = with_attention(launch=0.0, block=0.0, cold=0.0)
    cases = ((term, 4, 100 / 96), (few, 25, 1.0), (few, 26, 200 / 104))
    for shape, batch, seats in cases:
        at = load(batch, 1, 9000)
        slower = seconds(shape, at, on) / seconds(shape, at, ideal)
        assert slower == pytest.approx(1 + 0.5 * (seats - 1), rel=1e-14)


def test_parts_of_a_cache_have_512_positions_or_more():
    """One cache on 100 units: alone to 512 positions, 2 parts of 512 at 1,024, 32 from 16,384 on.
    Between, a started part takes what a full one does: with all of memory time waiting, time is
    that of the longest part.
    """
    term = Attend("a", 1, 1, 1, 128, None, Dtype.BF16)
    on = with_attention(waves=1.0, launch=0.0, block=0.0, cold=0.0)
    context = np.array([256.0, 512, 513, 1000, 1024, 16_384, 32_768])
    longest = np.array([256.0, 512, 512, 512, 512, 512, 1024])
    waited = 2 * 128 * 2 * 100 * longest / 0.5e12
    np.testing.assert_allclose(seconds(term, load(1, 1, context), on), waited, rtol=1e-14)


def test_latent_attention_by_hand():
    """One head: 576 values of 2 bytes, 2 x 576 + 2 x 512 FLOP a position."""
    term = AttendLatent("a", 3, 1, 512, 64, Dtype.BF16)
    memory, arithmetic = 576 * 2 * 1000 * 4 / 0.5e12, 2176 * 1000 * 4 / 0.5e14
    once = 15e-6 + np.hypot(memory, arithmetic)
    assert seconds(term, load(4, 1, 1000), ON) == pytest.approx(3 * once, rel=1e-14)


def test_a_sparse_layer_reads_what_was_picked():
    """Beyond `top` a longer context takes no longer, in bytes and in arithmetic."""
    term = AttendLatent("a", 3, 1, 512, 64, Dtype.BF16, 2048)
    whole = replace(term, top=None)
    assert seconds(term, load(5, 2, 90_000), ON) == seconds(term, load(5, 2, 2048), ON)
    assert seconds(term, load(5, 2, 1000), ON) == seconds(whole, load(5, 2, 1000), ON)


def test_the_indexer_by_hand():
    """64 heads of 128 against 10,000 keys of 132 bytes, at latent attention's constants."""
    term, latent = AttendIndex("i", 3, 64, 128, 132.0), ON.latent()
    memory = 132 * 5 * 10_000 / (latent.memory * CHIP.bandwidth)
    compute = 2 * 64 * 128 * 10 * 10_000 / (latent.compute * CHIP.rates[Dtype.BF16])
    expected = 3 * (latent.launch + np.hypot(memory, compute))
    assert seconds(term, load(5, 2, 10_000), ON) == pytest.approx(expected, rel=1e-14)
    assert term.launches == 3


def test_experts_by_hand():
    """One token, 2 of 4 experts of 3 x 100 x 10 weights: two blocks of 16 rows each."""
    term = Route(
        "e",
        5,
        experts=4,
        held=4,
        active=2,
        hidden=100,
        width=10.0,
        matrices=3,
        groups=1,
        dtype=Dtype.BF16,
    )
    memory = (2 * 2 * 3000 + 2 * 2 * (200 + 30)) / 0.5e12
    arithmetic = 2 * 3000 * 2 * 16 / 0.5e14
    once = 20e-6 + 2e-7 + (memory**3 + arithmetic**3) ** (1 / 3)
    assert seconds(term, load(1, 1, 1), ON) == pytest.approx(5 * once, rel=1e-12)


def test_allreduce_between_at_and_beyond_measured_sizes():
    two, eight = SIMPLE.allreduce
    sizes = np.array([1.0, 1024, 2.0**18, 2.0**19, 2.0**24, 2.0**25, 1e12])
    expected = [5e-6, 5e-6, 10e-6, 10e-6 * 2**0.5, 80e-6, 2**25 / 2e11, 5.0]
    assert allreduce_s(two, sizes) == pytest.approx(expected, rel=1e-12)
    assert allreduce_s(eight, np.array([2.0**14])) == pytest.approx([9e-6])  # never below 1 KiB's


def test_exchange_takes_the_next_larger_group_measured():
    times = [
        float(seconds(Exchange("allreduce", 1, 512, gpus), load(1, 1, 1), ON).item())
        for gpus in (2, 3, 8, 16)
    ]
    assert times == pytest.approx([5e-6, 9e-6, 9e-6, 9e-6])


def test_small_terms_by_hand():
    two = load(2, 1, 1)
    assert seconds(Elementwise("s", 10, 1e6), two, ON) == pytest.approx(30e-6 + 4e6 / 0.5e12)
    assert seconds(State("s", 3, 1e6), two, ON) == pytest.approx(45e-6 + 12e6 / 0.5e12)
    assert seconds(Sample("s", 1e5, 3, draft=False), two, ON) == pytest.approx(40e-6 + 4.8e-6)
    assert seconds(Sample("s", 1e5, 1, draft=True), two, ON) == pytest.approx(20e-6 + 1.6e-6)


def test_what_is_no_term_has_no_kernel():
    with pytest.raises(TypeError, match=r"^no kernel runs a Hardware$"):
        seconds(CHIP, load(1, 1, 1), ON)
    assert isinstance(CHIP, Hardware)
