"""check of files of measurements and of the constants that left them out."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from typed import ROOT, answered

ROWS = """\
kind,source,engine,gpu,dtype,rows,n,inner,value,unit
gemm,mine,vllm,h100-sxm,bf16,8,4096,4096,1.5e-05,s
"""


def test_the_measurements_that_ship(capsys):
    shutil.copytree(ROOT / "measurements", "measurements")
    said = answered(capsys, ["check", "measurements"])
    assert (said.code, said.out, said.err) == (0, "2 measurement files: nothing found\n", "")
    said = answered(capsys, ["check", "measurements", "measurements/steps.csv"])
    assert (said.code, said.out) == (0, "3 measurement files: nothing found\n")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", ROWS.replace(",8,", ",0,"), "a.csv:2:30: SP101 rows 0 is out of range"),
        ("a.CSV", ROWS.replace("gpu", "gpus", 1), "a.CSV:1:1: SP101 missing column 'gpu'"),
        ("b.yaml", "schema: bands/1\nabout: it\n", "b.yaml:1:1: SP101 missing key 'bands'"),
        ("c.yaml", "schema: held-out/2\n", "c.yaml:1:9: SP101 unknown schema 'held-out/2'"),
    ],
)
def test_mistakes_in_their_places(capsys, name, text, message):
    Path(name).write_text(text, encoding="utf-8")
    said = answered(capsys, ["check", name])
    assert (said.code, said.out[: len(message)]) == (2, message)
    assert "1 file unreadable" in said.out
