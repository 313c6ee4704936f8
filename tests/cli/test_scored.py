"""accuracy and explain from Python."""

from __future__ import annotations

import pytest

import specplan

HEADER = "kind,source,engine,gpu,dtype,rows,n,inner,value,unit"
ROW = "gemm,mine,vllm,h100-sxm,bf16,8,4096,4096,1.5e-05,s"


def test_rows_of_ones_own(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text(f"{HEADER}\n{ROW}\n", encoding="utf-8")
    answer = specplan.accuracy(path)
    assert (answer.value.measured, answer.value.predicted) == (1, 1)
    assert answer.inputs["measurements_1"].origin == str(path)
    (worst,) = specplan.accuracy(str(path), worst=1).table.records()
    assert worst["measured"] == 1.5e-5


def test_the_rows_that_ship():
    answer = specplan.accuracy(kind="step")
    assert answer.value.measured == answer.value.predicted > 50
    assert answer.inputs == {}


def test_a_file_that_is_none(tmp_path):
    with pytest.raises(specplan.SpecplanError, match=r"absent\.csv"):
        specplan.accuracy(tmp_path / "absent.csv")


def test_a_point_taken_apart():
    scene = specplan.scenario(
        target="llama-3.1-8b", draft="free", hardware="h100", engine="vllm", acceptance=0.8, k=4
    )
    figures = specplan.explain(scene).value
    assert figures.verify.time_s > figures.plain.time_s > 5e-3
