"""Groups of predictions, their errors, and the bands that answers carry."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

import pytest
from rows import PRODUCT, ROUND

from specplan.catalogue.ledger import bands as kept_bands
from specplan.catalogue.ledger import packaged_rows
from specplan.catalogue.store import Catalogue
from specplan.cli.bench import Workbench
from specplan.cli.complete import MEASURED
from specplan.cli.scenario import scenario
from specplan.domain.bands import BandOf
from specplan.domain.card import Dtype
from specplan.domain.drafters import CARDS, DRAFTERS
from specplan.domain.measurement import Measurement
from specplan.errors import SpecplanError
from specplan.physics.accuracy import Slowdowns
from specplan.questions.accuracy import accuracy
from specplan.questions.best_k import best_k
from specplan.questions.ledger import (
    DRAFTED,
    KINDS,
    Group,
    bands,
    farthest,
    group_errors,
    groups_of,
    ledger,
)
from specplan.questions.predict import Predicted, predict, predict_all

BENCH = Workbench(Catalogue(()))
ATTENTION = replace(
    PRODUCT, kind="attention", kv_dtype=Dtype.FP8, batch=8, context=64, heads=8, kv_heads=8,
    head_dim=128,
)  # fmt: skip


def off(row: Measurement, error: float | None, fitted: float = 0.0, **more) -> Predicted:
    """A row whose predictions are known to be wrong by so much."""
    measured = 2.0
    held_out = None if error is None else measured * (1 + error)
    return Predicted(row, measured, fitted=measured * (1 + fitted), held_out=held_out, **more)


def group(name: str, row: Measurement) -> Group:
    return Group(row.kind, row.engine, row.gpu, str(row.dtype), name)


def test_errors_of_rows_that_are_known_to_be_wrong():
    found = [off(PRODUCT, error / 100, 0.5) for error in range(-19, 26, 5)]
    found += [off(replace(PRODUCT, assumed=("rows",)), 1.0, -0.5)]
    narrow, stated, *_ = group_errors(found)
    assert narrow.group == group("rows up to 64", PRODUCT)
    assert (narrow.rows, narrow.held_out.n) == ("every", 10)
    assert narrow.held_out.signed == pytest.approx(0.035)
    assert narrow.held_out.within_10 == pytest.approx(0.4)
    assert narrow.held_out.within_20 == pytest.approx(0.8)
    assert narrow.fitted.median == pytest.approx(0.5)
    assert (stated.rows, stated.held_out.n, stated.held_out.p90) == ("stated", 9, None)
    assert stated.held_out.signed == pytest.approx(0.01)


def test_a_row_without_a_held_out_prediction_counts_as_fitted_alone():
    one, *_ = group_errors([off(PRODUCT, None, 0.3), off(PRODUCT, 0.1, 0.3)])
    assert (one.held_out.n, one.fitted.n) == (1, 2)


def test_rows_that_assume_nothing_are_not_told_twice():
    assert {one.rows for one in group_errors([off(PRODUCT, 0.1)])} == {"every"}


@pytest.mark.parametrize(
    ("row", "names"),
    [
        (PRODUCT, ["rows up to 64", "rows up to 512"]),
        (replace(PRODUCT, rows=64), ["rows up to 64", "rows up to 512"]),
        (replace(PRODUCT, rows=65), ["rows up to 512"]),
        (replace(PRODUCT, rows=513), ["rows above 512"]),
        (ATTENTION, ["batch from 8"]),
        (replace(ATTENTION, batch=7), ["batch below 8"]),
        (replace(ATTENTION, tokens=4), ["several tokens"]),
    ],
)
def test_the_groups_of_kernels(row, names):
    found = list(groups_of(off(row, 0.0)))
    assert [one.cases for one in found] == names
    dtype = {"gemm": "bf16", "attention": "fp8"}[row.kind]
    assert {one.dtype for one in found} <= {dtype}


def test_the_groups_of_rounds():
    dense = [(one.engine, one.dtype, one.cases) for one in groups_of(off(ROUND, 0.0))]
    assert sorted(dense) == [
        ("all", "all", "dense"),
        ("vllm", "all", "dense"),
        ("vllm", "bf16", "dense"),
    ]
    assert {one.cases for one in groups_of(off(ROUND, 0.0, sparse=True))} == {"experts"}


def test_each_kind_of_drafter_has_a_group_of_its_own():
    some = [off(ROUND, 0.1, drafter="mtp")] * 9 + [off(ROUND, -0.2, drafter="eagle3")] * 10
    groups = [one for one in group_errors(some) if one.group.drafter != "all"]
    assert [(one.group.drafter, one.held_out.n) for one in groups] == [("eagle3", 10), ("mtp", 9)]
    assert {(one.group.engine, one.group.cases) for one in groups} == {("all", "every")}
    many, few = (one.held_out for one in groups)
    assert (many.p90, few.p90) == (pytest.approx(0.2), None)
    assert (many.signed, few.signed) == (pytest.approx(-0.2), pytest.approx(0.1))


def test_a_kind_that_a_package_adds_comes_last():
    some = [off(ROUND, 0.1, drafter=name) for name in ("telepathy", "skip", "model")]
    assert [one.group.drafter for one in group_errors(some)][-3:] == ["model", "skip", "telepathy"]


def test_rounds_by_drafter_as_people_and_programs_see_them():
    free = [replace(ROUND, value=1.5 + 0.01 * n) for n in range(10)]
    rows = [*free, replace(ROUND, draft="llama-3.2-1b"), replace(ROUND, draft="eagle3")]
    answer = accuracy(rows, BENCH)
    drafted = {one["drafter"]: one for one in answer.table.records() if one["drafted"]}
    assert [(name, one["n"]) for name, one in drafted.items()] == [
        ("model", 1),
        ("eagle3", 1),
        ("free", 10),
    ]
    assert {one["engine"] for one in drafted.values()} == {"all"}
    assert drafted["model"]["band"] == "n < 10: no band"
    assert drafted["model"]["p90"] is None
    assert drafted["free"]["band"].endswith(" %")
    others = [one for one in answer.table.records() if not one["drafted"]]
    assert {one["drafter"] for one in others} == {"all"}
    assert all(one["every"] for one in others)


def test_kinds_of_drafter_without_a_round_are_named():
    found = [off(ROUND, 0.1, drafter=name) for name in ("model", "ngram", "free")]
    value = ledger(found)
    every = {*CARDS, *DRAFTERS} - {"ratio", "free", "none"}
    assert set(value.unmeasured) == every - {"model", "ngram"}
    assert list(value.unmeasured) == [kind for kind in DRAFTED if kind in value.unmeasured]
    assert ledger([off(PRODUCT, 0.1)]).unmeasured == ()
    doubted = replace(found[0], row=replace(ROUND, note="doubt:queue"))
    assert "model" in ledger([doubted, *found[1:]]).unmeasured


def test_doubtful_rows_and_those_without_cards_are_counted_and_in_no_group():
    doubted = replace(PRODUCT, note="doubt:queue")
    found = [
        off(PRODUCT, 0.1),
        off(doubted, 9.0),
        Predicted(PRODUCT, 1.0, missing="unknown model 'x'"),
    ]
    value = ledger(found)
    assert (value.measured, value.predicted, value.doubtful) == (3, 2, 1)
    assert value.missing == {"unknown model 'x'": 1}
    assert {one.held_out.n for one in value.groups} == {1}
    assert farthest(found, 5) == (found[0],)


def test_the_farthest_come_first():
    found = [off(PRODUCT, error) for error in (0.1, -0.4, 0.3, None)]
    assert farthest(found, 2) == (found[1], found[2])


def test_slowdowns():
    slow = replace(ROUND, value=0.8)
    # tau / cost: 3 / 3.2 is a loss foreseen, 3 / 2.4 one that was not, 3 / 4 one that was feared.
    found = [
        Predicted(slow, 3.75, fitted=2.0, held_out=3.2),
        Predicted(slow, 3.75, fitted=2.0, held_out=2.4),
        Predicted(ROUND, 2.0, fitted=2.0, held_out=4.0),
        Predicted(ROUND, 2.0, fitted=2.0, held_out=2.0),
    ]
    value = ledger(found)
    assert value.warnings == Slowdowns(losses=2, caught=1, gains=2, alarms=1)
    assert value.warnings_fitted == Slowdowns(losses=2, caught=0, gains=2, alarms=0)


def test_rows_made_from_predictions_have_the_errors_that_they_were_given():
    exact = predict(PRODUCT, BENCH).fitted
    rows = [replace(PRODUCT, value=exact / (1 + error / 100)) for error in range(-6, 6)]
    answer = accuracy(rows, BENCH)
    (record, *_) = answer.table.records()
    assert (record["n"], record["cases"], record["band"]) == (12, "rows up to 64", "5 %")
    assert record["signed"] == pytest.approx(-0.005)
    assert record["median"] == record["fitted_median"] == pytest.approx(0.03)
    assert answer.ok


def test_one_kind_alone():
    answer = accuracy([PRODUCT, ROUND], BENCH, kind="round")
    assert {record["kind"] for record in answer.table.records()} == {"round"}


def test_the_worst_rows_one_by_one():
    slow = replace(PRODUCT, value=1.0, note="why")
    (record,) = accuracy([PRODUCT, slow], BENCH, worst=1).table.records()
    assert (record["measured"], record["note"]) == (1.0, "why")
    assert record["predicted"] == predict(PRODUCT, BENCH).held_out
    assert record["error"] == pytest.approx(record["predicted"] - 1)
    assert record["what"] == "bf16, rows 8, n 4096, inner 4096"


@pytest.mark.parametrize("worst", [0, 10_001])
def test_no_number_of_worst_rows(worst):
    with pytest.raises(SpecplanError, match=r"--worst.* is out of range; expected 1 to 10,000"):
        accuracy([PRODUCT], BENCH, worst=worst)


def test_kinds_that_the_shell_offers():
    assert MEASURED == KINDS


# Bands


def test_the_bands_that_ship_are_those_of_the_ledger():
    rounds = [row for row in packaged_rows() if row.kind == "round"]
    assert kept_bands().bands == tuple(bands(predict_all(rounds, BENCH)))


LIKE = BandOf(engine="vllm", since="0.6", gpu="h100-sxm", drafter="eagle3", experts=False)


def test_few_rounds_give_no_band():
    enough = [replace(off(ROUND, 0.1), like=LIKE)] * 10
    (band,) = bands(enough)
    assert all(getattr(band, field.name) == getattr(LIKE, field.name) for field in fields(LIKE))
    assert (band.share, band.n) == (0.1, 10)
    assert list(bands(enough[:9])) == []
    assert list(bands([replace(one, drafter="ngram") for one in enough])) == []


@pytest.mark.parametrize(
    "change",
    [
        {"engine": "sglang"},
        {"since": "0.14"},
        {"gpu": "h200-sxm"},
        {"drafter": "model"},
        {"experts": True},
    ],
)
def test_rounds_that_differ_say_nothing_of_each_other(change):
    one, other = (replace(off(ROUND, 0.1), like=replace(LIKE, **c)) for c in ({}, change))
    assert list(bands([one] * 9 + [other] * 9)) == []
    assert [band.n for band in bands([one] * 10 + [other] * 9)] == [10]


def test_a_row_without_a_dtype_counts_once():
    (every, engine) = group_errors([off(replace(ROUND, dtype=None), 0.1)])
    assert [one.group.engine for one in (every, engine)] == ["all", "vllm"]
    assert [one.held_out.n for one in (every, engine)] == [1, 1]


ASKED = {"hardware": "h100-sxm", "acceptance": 0.8, "draft": "eagle3-llama-3.1-8b"}


def test_an_answer_says_how_far_its_engine_was_off():
    share = kept_bands().share(LIKE)
    answer = best_k(scenario(target="llama-3.1-8b", engine="vllm@0.10", **ASKED))
    assert answer.basis.bands == {"speedup": (-share, share)}
    assert answer.basis.says == f"vLLM: an estimate, 9 of 10 within {100 * share:.0f} %"


@pytest.mark.parametrize(
    ("target", "engine"),
    [
        ("llama-3.1-8b", "trtllm"),
        ("gpt-oss-20b", "vllm@0.10"),
        ("llama-3.1-8b", "vllm"),
        ("llama-3.1-8b", "roofline"),
    ],
)
def test_an_engine_that_was_not_measured_has_no_band(target, engine):
    answer = best_k(scenario(target=target, engine=engine, **ASKED))
    assert answer.basis.bands == {}
    assert any("no band" in one for one in answer.basis.assumed) == (engine != "roofline")
    assert "9 of 10" not in answer.basis.says


def test_an_accelerator_without_rounds_has_no_band():
    asked = ASKED | {"hardware": "l4", "engine": "vllm@0.10"}
    answer = best_k(scenario(target="qwen3-4b", **asked))
    assert answer.basis.bands == {}
    said = (
        "no band: too few rounds of vllm 0.6 and later on l4 with eagle3 drafts and a dense target "
        "were measured"
    )
    assert said in answer.basis.assumed


def test_a_card_of_ones_own_has_no_band(tmp_path, monkeypatch):
    monkeypatch.setenv("SPECPLAN_CATALOGUE", str(tmp_path))
    packaged = Catalogue(()).engine("vllm").origin.path
    (tmp_path / "vllm.yaml").write_text(
        Path(packaged).read_text(encoding="utf-8"), encoding="utf-8"
    )
    answer = best_k(scenario(target="llama-3.1-8b", engine="vllm", **ASKED))
    assert answer.basis.bands == {}
