"""Grids with one axis across, marks, blocks, and the map of large ones."""

from __future__ import annotations

from itertools import product

import pytest

from specplan.domain.answer import Answer, Basis, Column, Facts, Pivot, Table, View, table_of
from specplan.render.look import Look

COLUMNS = (
    Column("hardware", "", "hardware", "text"),
    Column("context", "tokens", "context", "count"),
    Column("batch", "sequences", "batch", "count"),
    Column("alpha", "1", "alpha", "alpha"),
    Column("k", "tokens", "k", "count"),
    Column("speedup", "1", "speedup", "times"),
    Column("bound_by", "", "verify", "text"),
    Column("fits", "", "fits", "flag"),
)
PIVOT = Pivot(
    across="k",
    down=("batch", "alpha"),
    blocks=("hardware", "context"),
    cell="speedup",
    turn="bound_by",
    misfit="fits",
)
POINT = {
    "hardware": "h100-sxm",
    "context": 2048,
    "batch": 1,
    "alpha": 0.6,
    "k": 1,
    "speedup": 1.5,
    "bound_by": "memory",
    "fits": True,
}

# The published table of this scenario, to two decimals, but for (16, 0.6, 8), which is 1.0006.
GOLDEN = {
    (1, 0.6): (1.37, 1.47, 1.38, 1.21, 1.06),
    (1, 0.8): (1.54, 1.83, 2.02, 1.97, 1.85),
    (16, 0.6): (1.35, 1.43, 1.33, 1.15, 1.0006),
    (16, 0.8): (1.52, 1.78, 1.94, 1.88, 1.75),
    (64, 0.6): (1.32, 1.38, 1.25, 1.07, 0.92),
    (64, 0.8): (1.49, 1.72, 1.82, 1.75, 1.61),
    (256, 0.6): (1.30, 1.33, 1.19, 0.97, 0.76),
    (256, 0.8): (1.46, 1.66, 1.73, 1.58, 1.32),
}


def answer(records, *, caption="", facts=()):
    return Answer(
        command="sweep",
        value=None,
        table=table_of(COLUMNS, records),
        view=View(
            title="Speedup over plain decoding",
            caption=(caption,) if caption else (),
            sections=(PIVOT, Facts(facts)),
        ),
        basis=Basis(kind="bound", says="ideal roofline: an upper bound"),
    )


def row(values, **fixed):
    """Points of one row: k = 1, 2, ... with these speedups."""
    return [POINT | {"k": k, "speedup": value} | fixed for k, value in enumerate(values, 1)]


def body(text):
    """The lines below the title, without blank ones."""
    return [line for line in text.splitlines()[1:] if line]


def golden(**changes):
    records = []
    for (batch, alpha), values in GOLDEN.items():
        for k, value in zip((1, 2, 4, 6, 8), values, strict=True):
            bound = "compute" if batch == 256 and k >= 6 else "memory"
            point = {"batch": batch, "alpha": alpha, "k": k, "speedup": value, "bound_by": bound}
            records.append(POINT | point | changes.get("also", dict)(point))
    return answer(
        records,
        caption="llama-3-8b + llama-3.2-1b on h100-sxm, context 2,048",
        facts=(("draft/target cost ratio at batch 1", "0.17"),),
    )


def test_the_sweep_that_opens_the_readme(draw):
    assert (
        draw(golden(), "plain")
        == """\
Speedup over plain decoding                       ideal roofline: an upper bound
llama-3-8b + llama-3.2-1b on h100-sxm, context 2,048

 batch alpha    k=1    k=2    k=4    k=6    k=8  best   verify
     1   0.6  1.37x  1.47x* 1.38x  1.21x  1.06x  k=2    memory
     1   0.8  1.54x  1.83x  2.02x* 1.97x  1.85x  k=4    memory
    16   0.6  1.35x  1.43x* 1.33x  1.15x  1.00x  k=2    memory
    16   0.8  1.52x  1.78x  1.94x* 1.88x  1.75x  k=4    memory
    64   0.6  1.32x  1.38x* 1.25x  1.07x  0.92x! k=2    memory
    64   0.8  1.49x  1.72x  1.82x* 1.75x  1.61x  k=4    memory
   256   0.6  1.30x  1.33x* 1.19x  0.97x! 0.76x! k=2    k>=6 compute
   256   0.8  1.46x  1.66x  1.73x* 1.58x  1.32x  k=4    k>=6 compute

* best of the row   ! loses to plain decoding

  draft/target cost ratio at batch 1  0.17
"""
    )


def test_the_same_as_markdown(draw):
    text = draw(golden(also=lambda point: {"fits": point["batch"] < 256}), "markdown")
    assert (
        text
        == r"""### Speedup over plain decoding

*ideal roofline: an upper bound*\
llama-3-8b + llama-3.2-1b on h100-sxm, context 2,048

| batch | alpha | k=1 | k=2 | k=4 | k=6 | k=8 | best | verify |
|---:|---:|---:|---:|---:|---:|---:|:---|:---|
| 1 | 0.6 | 1.37x | 1.47x\* | 1.38x | 1.21x | 1.06x | k=2 | memory |
| 1 | 0.8 | 1.54x | 1.83x | 2.02x\* | 1.97x | 1.85x | k=4 | memory |
| 16 | 0.6 | 1.35x | 1.43x\* | 1.33x | 1.15x | 1.00x | k=2 | memory |
| 16 | 0.8 | 1.52x | 1.78x | 1.94x\* | 1.88x | 1.75x | k=4 | memory |
| 64 | 0.6 | 1.32x | 1.38x\* | 1.25x | 1.07x | 0.92x! | k=2 | memory |
| 64 | 0.8 | 1.49x | 1.72x | 1.82x\* | 1.75x | 1.61x | k=4 | memory |
| \# 256 | 0.6 | 1.30x | 1.33x\* | 1.19x | 0.97x! | 0.76x! | k=2 | k\>=6 compute |
| \# 256 | 0.8 | 1.46x | 1.66x | 1.73x\* | 1.58x | 1.32x | k=4 | k\>=6 compute |

\* best of the row   ! loses to plain decoding   \# does not fit in memory

- draft/target cost ratio at batch 1: 0.17
"""
    )


def test_a_terminal_adds_a_rule_and_colour_to_the_same_text(draw):
    plain = draw(golden(), "plain").splitlines()
    table = draw(golden(), "table", Look(unicode=True)).splitlines()
    assert table.pop(4) == "\u2500" * 68
    assert table == plain
    coloured = draw(
        golden(also=lambda point: {"fits": point["batch"] < 256}), "table", Look(color=True)
    )
    assert "\x1b[1;32m2.02x*\x1b[0m" in coloured
    assert "\x1b[31m0.92x!\x1b[0m" in coloured
    assert "\x1b[2m#\x1b[0m" in coloured
    assert "\x1b[2mk>=6 compute\x1b[0m" in coloured


def test_a_row_head_is_marked_where_any_cell_does_not_fit(draw):
    records = row([1.5, 1.4], batch=1) + row([1.5, 1.4], batch=16384)
    records[-1]["fits"] = False
    assert body(draw(answer(records), "plain")) == [
        "  batch    k=1    k=2  best   verify",
        "      1  1.50x* 1.40x  k=1    memory",
        "#16,384  1.50x* 1.40x  k=1    memory",
        "* best of the row   # does not fit in memory",
    ]


@pytest.mark.parametrize(
    ("value", "shown"),
    [(1.0006, "1.00x "), (0.996, "1.00x "), (0.994, "0.99x!"), (1.0, "1.00x "), (0.0, "0.00x!")],
)
def test_a_loss_is_what_prints_as_a_loss(draw, value, shown):
    line = body(draw(answer(row([2.0, value], batch=1)), "plain"))[1]
    assert line == f" 2.00x* {shown} k=1    memory"


def test_a_best_value_that_loses_is_a_loss(draw):
    lines = body(draw(answer(row([0.9, 0.8])), "plain"))
    assert lines == [
        "   k=1    k=2  best   verify",
        " 0.90x! 0.80x! k=1    memory",
        "! loses to plain decoding",
    ]


@pytest.mark.parametrize(
    ("values", "best"),
    [
        ([1.5, 1.5 * (1 + 9e-10)], "k=1"),
        ([1.5, 1.5 * (1 + 2e-9)], "k=2"),
        ([1.5 * (1 + 2e-9), 1.5], "k=1"),
        ([None, 1.2], "k=2"),
        ([None, None], "k=1"),
    ],
)
def test_ties_go_to_the_smaller_k(draw, values, best):
    assert body(draw(answer(row(values)), "plain"))[1].split()[-2] == best


def test_ties_go_to_the_smaller_k_in_any_order(draw):
    points = [POINT | {"k": k} for k in (8, 4)]
    assert body(draw(answer(points), "plain"))[1] == " 1.50x  1.50x* k=4    memory"


@pytest.mark.parametrize(
    ("bounds", "shown"),
    [
        (("memory", "memory", "memory"), "memory"),
        (("memory", "compute", "compute"), "k>=2 compute"),
        (("memory", "memory", "network"), "k>=3 network"),
        (("compute", "compute", "compute"), "compute"),
    ],
)
def test_what_binds_verification(draw, bounds, shown):
    records = row([1.5, 1.4, 1.3])
    for record, bound in zip(records, bounds, strict=True):
        record["bound_by"] = bound
    assert body(draw(answer(records), "plain"))[1].endswith(f"k=1    {shown}")


def test_more_than_eight_values_go_below_with_their_row_heads(draw):
    values = [1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9, 0.5]
    records = [
        record
        for context, batch in product((2048, 8192), (1, 16))
        for record in row(values, context=context, batch=batch)
    ]
    assert (
        draw(answer(records), "plain")
        == """\
Speedup over plain decoding                       ideal roofline: an upper bound

context 2,048
 batch    k=1    k=2    k=3    k=4    k=5    k=6    k=7    k=8
     1  1.10x  1.20x  1.30x  1.40x  1.50x  1.60x  1.70x  1.80x
    16  1.10x  1.20x  1.30x  1.40x  1.50x  1.60x  1.70x  1.80x

 batch    k=9   k=10  best   verify
     1  1.90x* 0.50x! k=9    memory
    16  1.90x* 0.50x! k=9    memory

context 8,192
 batch    k=1    k=2    k=3    k=4    k=5    k=6    k=7    k=8
     1  1.10x  1.20x  1.30x  1.40x  1.50x  1.60x  1.70x  1.80x
    16  1.10x  1.20x  1.30x  1.40x  1.50x  1.60x  1.70x  1.80x

 batch    k=9   k=10  best   verify
     1  1.90x* 0.50x! k=9    memory
    16  1.90x* 0.50x! k=9    memory

* best of the row   ! loses to plain decoding
"""
    )


def test_blocks_are_named_by_the_columns_that_differ(draw):
    records = [
        record
        for hardware, context in product(("h100-sxm", "l40s"), (2048, 8192))
        for record in row([1.5], hardware=hardware, context=context)
    ]
    titles = body(draw(answer(records), "plain"))[::3]
    assert titles[:-1] == [
        "hardware h100-sxm, context 2,048",
        "hardware h100-sxm, context 8,192",
        "hardware l40s, context 2,048",
        "hardware l40s, context 8,192",
    ]
    markdown = draw(answer(records), "markdown")
    assert "\n\n**hardware l40s, context 8,192**\n\n| k=1 | best | verify |\n" in markdown


def test_a_block_that_lacks_some_columns_leaves_them_empty(draw):
    records = row([1.5, 1.4], hardware="h100-sxm")
    records += [POINT | {"hardware": "l40s", "k": 2, "speedup": 1.2}]
    assert body(draw(answer(records), "plain"))[3:6] == [
        "hardware l40s",
        " k=1    k=2  best   verify",
        "      1.20x* k=2    memory",
    ]


def test_a_pivot_without_turn_and_misfit(draw):
    bare = Pivot(across="k", down=("batch",), blocks=(), cell="speedup", turn="", misfit="")
    shown = answer(row([1.5, 1.6], batch=1, fits=False) + row([1.5, 1.6], batch=2, fits=False))
    shown = Answer(
        command="sweep",
        value=None,
        table=shown.table,
        view=View(title="t", sections=(bare,)),
        basis=shown.basis,
    )
    assert body(draw(shown, "plain"))[:3] == [
        " batch    k=1    k=2  best",
        "     1  1.50x  1.60x* k=2",
        "     2  1.50x  1.60x* k=2",
    ]


def large(contexts, batches, alphas, lengths, chunk=997):
    """A grid whose best k is 3 and whose speedup there is 1 + alpha, less 0.3 from batch 100 on."""
    points = list(product(contexts, batches, alphas, lengths))

    def chunks():
        for start in range(0, len(points), chunk):
            part = points[start : start + chunk]
            yield {
                "hardware": ["h100-sxm"] * len(part),
                "context": [context for context, *_ in part],
                "batch": [batch for _, batch, *_ in part],
                "alpha": [alpha for *_, alpha, _ in part],
                "k": [k for *_, k in part],
                "speedup": [1 + a - 0.3 * (b >= 100) - 0.01 * abs(k - 3) for _, b, a, k in part],
                "bound_by": ["memory"] * len(part),
                "fits": [batch * context <= 400_000 for context, batch, *_ in part],
            }

    table = Table(columns=COLUMNS, rows=len(points), chunks=chunks)
    return Answer(
        command="sweep",
        value=None,
        table=table,
        view=View(title="Speedup over plain decoding", sections=(PIVOT,)),
        basis=Basis(kind="bound", says="ideal roofline: an upper bound"),
    )


def test_above_two_thousand_cells_the_map_of_the_best(draw):
    alphas = [round(0.1 + 0.08 * n, 2) for n in range(10)]
    shown = large((2048, 8192), (1, 16, 64, 256), alphas, range(1, 33))
    assert shown.table.rows == 2560
    text = draw(shown, "plain")
    assert max(map(len, text.splitlines())) <= 80
    assert (
        text
        == """\
Speedup over plain decoding                       ideal roofline: an upper bound

best k and its speedup; alpha across

context 2,048
 batch      0.1     0.18     0.26     0.34     0.42      0.5     0.58     0.66
     1  3 1.10x  3 1.18x  3 1.26x  3 1.34x  3 1.42x  3 1.50x  3 1.58x  3 1.66x
    16  3 1.10x  3 1.18x  3 1.26x  3 1.34x  3 1.42x  3 1.50x  3 1.58x  3 1.66x
    64  3 1.10x  3 1.18x  3 1.26x  3 1.34x  3 1.42x  3 1.50x  3 1.58x  3 1.66x
#  256  3 0.80x! 3 0.88x! 3 0.96x! 3 1.04x  3 1.12x  3 1.20x  3 1.28x  3 1.36x

 batch     0.74     0.82
     1  3 1.74x  3 1.82x
    16  3 1.74x  3 1.82x
    64  3 1.74x  3 1.82x
#  256  3 1.44x  3 1.52x

context 8,192
 batch      0.1     0.18     0.26     0.34     0.42      0.5     0.58     0.66
     1  3 1.10x  3 1.18x  3 1.26x  3 1.34x  3 1.42x  3 1.50x  3 1.58x  3 1.66x
    16  3 1.10x  3 1.18x  3 1.26x  3 1.34x  3 1.42x  3 1.50x  3 1.58x  3 1.66x
#   64  3 1.10x  3 1.18x  3 1.26x  3 1.34x  3 1.42x  3 1.50x  3 1.58x  3 1.66x
#  256  3 0.80x! 3 0.88x! 3 0.96x! 3 1.04x  3 1.12x  3 1.20x  3 1.28x  3 1.36x

 batch     0.74     0.82
     1  3 1.74x  3 1.82x
    16  3 1.74x  3 1.82x
#   64  3 1.74x  3 1.82x
#  256  3 1.44x  3 1.52x

! loses to plain decoding   # does not fit in memory

a map of 2,560 cells; all of them: -f csv, or -o rows.csv
"""
    )


def test_two_thousand_cells_are_still_shown(draw):
    shown = large((2048,), range(1, 51), (0.5, 0.6), range(1, 21))
    assert shown.table.rows == 2000
    assert "k=20" in draw(shown, "plain")


def test_a_map_of_one_row_is_turned(draw):
    alphas = [round(0.001 * n, 3) for n in range(1, 302)]
    lines = body(draw(large((2048,), (1,), alphas, range(1, 11)), "plain"))
    assert lines[:4] == [
        "best k and its speedup; alpha down",
        " alpha     best",
        " 0.001  3 1.00x",
        " 0.002  3 1.00x",
    ]
    assert len(lines) == 2 + len(alphas) + 1


def test_a_map_over_batch_alone(draw):
    lines = body(draw(large((2048,), range(1, 302), (0.8,), range(1, 11)), "plain"))
    assert lines[:3] == [
        "best k and its speedup; alpha across",
        " batch      0.8",
        "     1  3 1.80x",
    ]
    assert len(lines) == 2 + 301 + 2
