"""Sweeps by hand on round numbers: values, order, labels, flags, and how rows are streamed."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product

import oracle
import pytest
import worlds

from specplan.domain.acceptance import Alpha
from specplan.errors import UsageError
from specplan.questions.grids import CHUNK_ROWS, POINT_LIMIT
from specplan.questions.sweep import COLUMNS, sweep


def records(*cases, **axes):
    return list(sweep(worlds.scenario(*cases, **axes)).table.records())


def test_rows_by_hand():
    plain, one, four = records(worlds.PAIR, k=(0, 1, 4))
    assert (plain["speedup"], plain["tokens_per_round"], plain["draft_s"]) == (1.0, 1.0, 0.0)
    assert one["speedup"] == pytest.approx(1.8 / 1.1, rel=1e-14)
    assert four["speedup"] == pytest.approx(3.3616 / 1.4, rel=1e-14)
    expected = {
        "plain_step_s": 2.1e-3,
        "draft_s": 0.84e-3,
        "verify_s": 2.1e-3,
        "round_s": 2.94e-3,
        "tpot_s": 2.94e-3 / 3.3616,
        "tokens_per_round": 3.3616,
        "plain_intensity": 2 / 2.1,
        "verify_intensity": 10 / 2.1,
    }
    assert {name: four[name] for name in expected} == pytest.approx(expected, rel=1e-14)
    assert (four["plain_bound_by"], four["verify_bound_by"]) == ("memory", "memory")


def test_what_binds():
    # Of 200 sequences plain steps move 22 ms and compute 4; ten tokens each compute 40.
    (row,) = records(worlds.PAIR, batch=(200.0,), k=(9,))
    assert (row["plain_bound_by"], row["verify_bound_by"]) == ("memory", "compute")


def test_columns_and_identity():
    case = replace(worlds.PAIR, tp=4, draft_tp=1, dtype="int8", draft_dtype="fp16", kv_dtype="fp8")
    (row,) = records(case, batch=(3.0,), context=(77.5,), k=(2,), acceptance=(Alpha(0.7, sd=0.05),))
    assert list(row) == [column.name for column in COLUMNS]
    expected = {
        "target": "target",
        "draft": "drafter",
        "hardware": "chip",
        "tp": 4,
        "dtype": "int8",
        "draft_dtype": "fp16",
        "kv_dtype": "fp8",
        "draft_tp": 1,
        "engine": "roofline",
        "batch": 3,
        "context": 77.5,
        "alpha": 0.7,
        "acceptance": "0.7+-0.05",
        "k": 2,
    }
    assert {name: row[name] for name in expected} == expected
    assert {type(row[name]) for name in ("batch", "k", "tp")} == {int}
    assert {type(row[name]) for name in ("fits", "fits_plain")} == {bool}


def test_axes_vary_in_order():
    axes = {
        "context": (2000.0, 1000.0),
        "batch": (4.0, 1.0, 2.0),
        "acceptance": (Alpha(0.9), Alpha(0.1)),
        "k": (3, 1),
    }
    found = records(worlds.PAIR, worlds.FREE, **axes)
    alphas = [a.alpha for a in axes["acceptance"]]
    points = product(("drafter", "free"), axes["context"], axes["batch"], alphas, axes["k"])
    names = ("draft", "context", "batch", "alpha", "k")
    assert [tuple(row[name] for name in names) for row in found] == list(points)


@pytest.mark.parametrize(
    ("batch", "k", "fits_plain", "fits"),
    [
        (61, 4, True, True),
        (62, 4, True, False),
        (70, 4, True, False),
        (70, 0, True, True),  # plain decoding needs no drafter
        (71, 0, False, False),
        (71, 4, False, False),
    ],
)
def test_fits(batch, k, fits_plain, fits):
    (row,) = records(worlds.PAIR, batch=(float(batch),), k=(k,))
    assert (row["fits_plain"], row["fits"]) == (fits_plain, fits)


def test_nothing_drafts():
    answer = sweep(worlds.scenario(worlds.PLAIN, batch=(1.0, 2.0), k=(1, 4, 8)))
    rows = list(answer.table.records())
    assert answer.table.rows == answer.value.points == 2
    assert [(r["draft"], r["k"], r["speedup"], r["draft_s"]) for r in rows] == [
        ("none", 0, 1.0, 0.0)
    ] * 2
    (drafting,) = answer.value.drafting
    assert (drafting.cost_ratio, drafting.memory.sequences_lost) == (0.0, 0)


def test_drafters_of_every_kind_side_by_side():
    ratio = replace(worlds.FREE, ratio=0.05)
    answer = sweep(worlds.scenario(worlds.PLAIN, worlds.FREE, ratio, worlds.PAIR, k=(2, 4)))
    rows = list(answer.table.records())
    assert answer.table.rows == len(rows) == 7
    shown = [(r["draft"], r["k"]) for r in rows]
    assert shown == [
        ("none", 0),
        *(product(("free", "ratio:0.05", "drafter"), (2, 4))),
    ]
    speedups = [1, 2.44, 3.3616, 2.44 / 1.1, 3.3616 / 1.2, 2.44 / 1.2, 3.3616 / 1.4]
    assert [r["speedup"] for r in rows] == pytest.approx(speedups, rel=1e-14)


def test_an_open_k_is_every_k_up_to_the_longest():
    answer = sweep(worlds.scenario(worlds.PAIR, k_max=5))
    assert [row["k"] for row in answer.table.records()] == [1, 2, 3, 4, 5]
    assert answer.table.rows == 5
    assert [r["k"] for r in records(worlds.PAIR, k_max=0)] == [0]
    assert [r["k"] for r in records(worlds.PLAIN)] == [0]


def test_what_drafting_costs():
    answer = sweep(worlds.scenario(worlds.PAIR, replace(worlds.PAIR, tp=2, draft_tp=1), k=(1,)))
    one, two = answer.value.drafting
    assert (one.draft, one.hardware, two.hardware) == ("drafter", "chip", "2x chip")
    assert one.cost_ratio == pytest.approx(0.1, rel=1e-14)
    assert two.cost_ratio == pytest.approx(0.2, rel=1e-14)
    bill = one.memory
    assert (bill.draft_weights_bytes, bill.draft_kv_bytes_per_token) == (2e8, 1e4)
    assert (bill.largest_batch_plain, bill.largest_batch, bill.sequences_lost) == (70, 61, 9)
    assert two.memory.sequences_lost == 160 - 130  # 8e9 / 5e7 against 7.8e9 / 6e7


def test_sequences_grow_beyond_their_average():
    """Times are those of the average context, memory is that of the end."""
    axes = {"batch": (50.0,), "k": (4,)}
    answer = sweep(worlds.scenario(worlds.PAIR, **axes, growth=500.0))
    (row,), (still,) = list(answer.table.records()), records(worlds.PAIR, **axes)
    assert row["context"] == 1000
    assert row["round_s"] == still["round_s"]
    assert (still["fits"], row["fits"]) == (True, False)  # 6.8e9 / 1.65e8 = 41.2
    (drafting,) = answer.value.drafting
    assert (drafting.memory.context, drafting.memory.largest_batch) == (1500, 41)
    tight = replace(worlds.PAIR, draft=replace(worlds.DRAFT, planned_kv_bytes=1e5))
    (drafting,) = sweep(worlds.scenario(tight, k=(1,), growth=500.0)).value.drafting
    assert drafting.cost_ratio == pytest.approx(0.3 / 2.1, rel=1e-14)


def test_the_basis_says_what_was_assumed():
    case = replace(worlds.PAIR, dtype="int8", tp=2)
    basis = sweep(worlds.scenario(case, k=(1,))).basis
    assert (basis.kind, basis.says) == ("bound", "ideal roofline: an upper bound")
    assert basis.assumed == (
        "a pass reads every weight of target as int8, the head included",
        "chip runs int8 weights of target at its bf16 rate",
        "tp 2 without the cost of communication",
    )


def test_a_sweep_is_always_answered_yes():
    assert sweep(worlds.scenario(worlds.PAIR, batch=(1e6,), k=(4,))).ok


# --- streaming -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("batches", "contexts", "alphas", "k"),
    [
        (1000, 1, 250, (1, 2, 4, 8)),
        (1, 1, 250_000, (1, 2, 4, 8)),  # all of it on the innermost axes
        (20, 50_000, 1, (4,)),  # or on the outermost
    ],
)
def test_a_million_rows_a_few_thousand_at_a_time(batches, contexts, alphas, k):
    scene = worlds.scenario(
        worlds.PAIR,
        batch=tuple(map(float, range(1, batches + 1))),
        context=tuple(map(float, range(1, contexts + 1))),
        acceptance=tuple(Alpha(i / alphas) for i in range(alphas)),
        k=k,
    )
    answer = sweep(scene)
    assert answer.table.rows == answer.value.points == 1_000_000
    sizes, last = [], {}
    for chunk in answer.table.chunks():
        sizes.append(len(chunk["k"]))
        last = {name: values[-1] for name, values in chunk.items()}
    assert sum(sizes) == 1_000_000
    assert max(sizes) <= CHUNK_ROWS
    assert len(sizes) < 300
    end = (last["batch"], last["context"], last["alpha"], last["k"])
    assert end == (batches, contexts, (alphas - 1) / alphas, k[-1])
    expected = oracle.speedup(worlds.PAIR, last["alpha"], batches, k[-1], contexts)
    assert last["speedup"] == pytest.approx(expected, rel=1e-12)


def test_rows_can_be_read_again():
    table = sweep(worlds.scenario(worlds.PAIR, k=(1, 2))).table
    assert list(table.records()) == list(table.records())


def test_more_points_than_a_sweep_holds():
    alphas = tuple(Alpha(i / 1e4) for i in range(10_000))
    batch = tuple(map(float, range(1, 1001)))
    assert POINT_LIMIT == 10_000_000
    full = worlds.scenario(worlds.PAIR, acceptance=alphas, batch=batch, k=(4,))
    assert sweep(full).table.rows == POINT_LIMIT  # nothing is computed before it is read
    for more in (replace(full, k=(4, 5)), replace(full, k=()), replace(full, batch=(*batch, 2e3))):
        with pytest.raises(UsageError, match="points are more than one answer holds") as error:
            sweep(more)
        assert error.value.expected == "at most 10,000,000"


@pytest.mark.parametrize("tp", [1, 2, 3, 16])
@pytest.mark.parametrize("dtype", ["bf16", "int4"])
def test_every_number_is_finite(tp, dtype):
    case = replace(worlds.PAIR, tp=tp, draft_tp=tp, dtype=dtype)
    for row in records(case, batch=(1.0, 1e6), context=(1.0, 1e7), k=(0, 64)):
        assert all(math.isfinite(v) for v in row.values() if isinstance(v, float))
