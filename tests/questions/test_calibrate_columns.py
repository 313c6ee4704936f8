"""Of every batch the columns k = 0, 1 and 5 alone: what the named k loses where kernels are jagged,
and what is said of columns, contexts and figures that are not what they seem.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from steptimes import BATCHES, DENSE, noisy, table, written

import specplan
from specplan.errors import InputError

# Microseconds that a fused layer of 128 experts (2048 x 768, power law 1.2) takes by rows: kernel
# tables of vLLM 0.24 in aiconfigurator-core 0.12.0 (Apache-2.0), as in benchmarks/tiles.csv.
ROWS = (1, 2, 4, 8, 16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768)
LAYER_US = {
    "h100 fp8_block": (
        *(42.5, 55.4, 78.1, 108.6, 134.7, 212.2, 223.5, 234.0, 256.2),
        *(262.8, 272.8, 280.5, 293.5, 313.0, 351.1),
    ),
    "h200 fp8": (
        *(117.2, 212.6, 351.1, 469.2, 609.3, 951.9, 1003.4, 1030.7, 1089.6),
        *(1119.3, 1081.0, 1101.1, 1118.1, 1154.3, 1188.3),
    ),
    "b200 fp8": (
        *(16.1, 24.3, 36.0, 46.9, 57.4, 90.7, 96.6, 100.4, 103.5),
        *(109.3, 118.2, 132.2, 127.0, 141.3, 139.6),
    ),
}
GRID = (1, 2, 4, 8, 16, 32, 64, 128)
CANDIDATES = (0, 1, 3, 5)


def step_s(kernels: str, batch: int, k: int) -> float:
    """48 such layers, and a drafter of one."""
    wide, once = np.interp((batch * (k + 1), batch), ROWS, LAYER_US[kernels]) * 1e-6
    time_s = 48 * wide + 1e-3 + 0.04e-3 * batch
    return float(time_s + (0.4e-3 + k * (once + 0.25e-3) if k else 0.0))


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("kernels", LAYER_US)
def test_tiles_and_experts_are_read_from_passes_of_as_many_rows(kernels):
    rows = [(b, k, step_s(kernels, b, k)) for b in GRID for k in (0, 1, 5)]
    answer = specplan.calibrate(written("runs.csv", rows), acceptance=0.7, k=CANDIDATES)
    said = {(row["batch"], row["k"]): row["time_s"] for row in answer.table.records()}
    for alpha in (0.5, 0.6, 0.7, 0.8, 0.9):
        tokens = {k: sum(alpha**i for i in range(k + 1)) for k in CANDIDATES}
        for batch in GRID:
            named = max(CANDIDATES, key=lambda k: tokens[k] / said[batch, k])
            if alpha == 0.7:
                assert answer.value.best_k[str(batch)] == named
            rate = {k: tokens[k] / step_s(kernels, batch, k) for k in CANDIDATES}
            assert rate[named] >= 0.98 * max(rate.values()), (alpha, batch)


def test_contexts_that_differ_a_little_are_one():
    wobble = [1000 + 7 * i for i in range(15)]
    lines = [f"{b},{c},{k},{t!r}" for (b, k, t), c in zip(table(DENSE), wobble, strict=True)]
    Path("runs.csv").write_text("\n".join(["batch,context,k,step_s", *lines]) + "\n")
    answer = specplan.calibrate("runs.csv", acceptance=0.7)
    assert list(answer.value.best_k) == [str(batch) for batch in BATCHES]
    assert {row["context"] for row in answer.table.records()} == {1049}


def test_each_batch_is_asked_at_the_context_it_was_measured_at():
    lines = [f"{b},{1000 * b},{k},{t!r}" for b, k, t in table(DENSE)]
    Path("runs.csv").write_text("\n".join(["batch,context,k,step_s", *lines]) + "\n")
    value = specplan.calibrate("runs.csv", acceptance=0.7).value
    assert [(c.batch, c.context) for c in value.choices] == [(b, 1000.0 * b) for b in BATCHES]
    assert list(value.best_k) == [str(batch) for batch in BATCHES]


def test_several_contexts_of_a_batch_are_told_apart():
    lines = [f"{b},{c},{k},{t!r}" for c in (1000, 8000) for b, k, t in table(DENSE)]
    Path("runs.csv").write_text("\n".join(["batch,context,k,step_s", *lines]) + "\n")
    best = specplan.calibrate("runs.csv", acceptance=0.7).value.best_k
    assert list(best)[:2] == ["1@1000", "4@1000"]
    assert len(best) == 2 * len(BATCHES)


def test_steps_of_one_context_answer_for_another_and_say_so():
    lines = [f"{b},1000,{k},{t!r}" for b, k, t in table(DENSE)]
    Path("runs.csv").write_text("\n".join(["batch,context,k,step_s", *lines]) + "\n")
    here = specplan.calibrate("runs.csv", acceptance=0.7).value
    there = specplan.calibrate("runs.csv", acceptance=0.7, context=4000)
    assert there.value.best_k == here.best_k
    assert any("measured at context 1,000" in said for said in there.basis.assumed)


@pytest.mark.parametrize(
    ("header", "lines", "note"),
    [
        ("batch,k,step_us", [(b, k, 1e4 * t) for b, k, t in table(DENSE)], "its column is step_s"),
        ("batch,k,step_s", [(1, 0, 0.01), (1, 1, 0.007), (1, 5, 0.006)], "stands in a column tpot"),
        ("batch,k,tokens_per_s", [(1, 0, 90), (8, 0, 80), (32, 0, 70)], "of all of them together"),
        ("batch,k,step_s,alpha,gpu", [(*row, 0.7, "x") for row in table(DENSE)], "alpha, gpu: not"),
    ],
)
def test_a_column_that_holds_something_else_is_doubted(header, lines, note):
    text = [header, *(",".join(map(str, line)) for line in lines)]
    Path("runs.csv").write_text("\n".join(text) + "\n")
    assert any(note in said for said in specplan.calibrate("runs.csv").notes)


SLIPS = [
    (
        "step_s",
        [(b, k, 1000 * t) for b, k, t in table(DENSE)],
        "plain step takes 6.08 s; expected 20 us to 1 s; if the file holds milliseconds, its "
        "column is step_ms; --force",
    ),
    ("tpot_s", [(b, 0, 7.5) for b in (1, 2, 4)], "its column is tpot_ms; --force"),
    (
        "step_ms",
        table(DENSE),
        "plain step takes 6.08 us; expected 20 us to 1 s; a column step_us holds microseconds, "
        "step_ms milliseconds, step_s seconds; --force",
    ),
    ("tokens_per_s", [(1, 0, 0.1), (8, 0, 0.7), (32, 0, 2)], "tokens_per_s is of all sequences"),
    ("step_s", [(b, 3, 9.0) for b in (1, 2, 4)], "shortest step takes 9 s"),
]


@pytest.mark.parametrize(("column", "lines", "says"), SLIPS)
def test_steps_of_an_incredible_length_are_refused_unless_they_are_trusted(column, lines, says):
    text = [f"batch,k,{column}", *(",".join(map(str, line)) for line in lines)]
    Path("runs.csv").write_text("\n".join(text) + "\n")
    with pytest.raises(InputError, match="the shortest ") as refused:
        specplan.calibrate("runs.csv")
    assert says in str(refused.value)
    assert str(refused.value).startswith("runs.csv:2:")
    assert specplan.calibrate("runs.csv", force=True).value.card


def test_a_round_may_take_more_than_a_second():
    """One plain step of half a second is enough to believe the unit."""
    lines = [(1, 0, 0.5), (8, 0, 0.6), (1, 3, 1.5), (8, 3, 1.9)]
    text = ["batch,k,step_s", *(",".join(map(str, line)) for line in lines)]
    Path("runs.csv").write_text("\n".join(text) + "\n")
    assert specplan.calibrate("runs.csv").value.figures == 4


def test_figures_as_they_should_be_are_not_doubted():
    assert specplan.calibrate(written("runs.csv", table(DENSE))).notes == ()


@pytest.mark.parametrize(
    ("k", "said"),
    [
        ((0, 1), "all rounds draft 1: what a round takes whatever it drafts, and what each draft"),
        ((1, 3, 5), "no plain step was measured: k = 0, and every speedup"),
    ],
)
def test_what_the_columns_cannot_tell_is_said(k, said):
    answer = specplan.calibrate(written("runs.csv", table(DENSE, k=k)), acceptance=0.7)
    assert any(said in assumed for assumed in answer.basis.assumed)


def test_many_repeats_are_folded_to_medians():
    rows = noisy([row for row in table(DENSE) for _ in range(60)], 0.03, seed=2)
    answer = specplan.calibrate(written("runs.csv", rows), acceptance=0.7)
    assert answer.value.figures == 15
    assert any("900 figures lie at 15 places" in said for said in answer.basis.assumed)
    measured = {(r["batch"], r["k"]): r["measured_s"] for r in answer.table.records()}
    assert measured[16, 5] == pytest.approx(
        np.exp(np.median([np.log(t) for b, k, t in rows if (b, k) == (16, 5)])), rel=1e-9
    )


def test_no_fit_is_nearer_than_repeats_are():
    answer = specplan.calibrate(written("runs.csv", table(DENSE)))
    assert answer.value.within == answer.value.card.within == 0.01
    assert answer.basis.bands["step_s"] == (-0.01, 0.01)


def test_one_figure_is_too_few():
    with pytest.raises(InputError, match="1 step time; expected 3 or more"):
        specplan.calibrate(written("runs.csv", table(DENSE, batches=(1,), k=(0,))))
