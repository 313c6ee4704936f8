"""JSON and CSV: whole, exact, and as the contract has them."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from enum import StrEnum

import pytest

from specplan import __version__
from specplan.domain.answer import Answer, Basis, Column, View, table_of
from specplan.domain.scenario import Input
from specplan.errors import UsageError

COLUMNS = (
    Column("k", "tokens", "k", "count"),
    Column("speedup", "1", "speedup", "times"),
    Column("bound_by", "", "verify", "text"),
    Column("fits", "", "fits", "flag"),
)


class Verdict(StrEnum):
    PAYS = "pays"


@dataclass(frozen=True, slots=True)
class Memory:
    weights_bytes: float
    sequences: int


@dataclass(frozen=True, slots=True)
class BestK:
    k: int
    speedup: float
    verdict: Verdict
    memory: Memory
    crossings: tuple[int, ...]
    candidates: tuple[Memory, ...]
    limit: float | None
    fits: bool


VALUE = BestK(
    k=4,
    speedup=2.019607843137255,
    verdict=Verdict.PAYS,
    memory=Memory(2.48e9, 174),
    crossings=(439, 281),
    candidates=(Memory(0.1, 1),),
    limit=None,
    fits=True,
)


def answer(records, *, value=VALUE, columns=COLUMNS, bands=None):
    return Answer(
        command="best-k",
        value=value,
        table=table_of(columns, records),
        view=View(title="not in here"),
        basis=Basis(
            kind="bound",
            says="ideal roofline: an upper bound",
            source="datasheet",
            bands={"speedup": (0.9, 1.1)} if bands is None else bands,
            assumed=("tp 1",),
        ),
        inputs={
            "target": Input(value="llama-3-8b", origin="packaged", sha256="ab12"),
            "batch": Input(value=(1, 16), origin="--batch"),
        },
        notes=("context is the default, 2048",),
    )


RECORDS = [
    {"k": 1, "speedup": 0.1 + 0.2, "bound_by": "memory", "fits": True},
    {"k": 2**60, "speedup": None, "bound_by": None, "fits": False},
]


def test_json(draw):
    assert draw(answer(RECORDS), "json") == (
        '{"schema": "specplan.best-k/1",\n'
        f' "specplan": "{__version__}",\n'
        ' "inputs": {"target": {"value": "llama-3-8b", "from": "packaged", "sha256": "ab12"}, '
        '"batch": {"value": [1, 16], "from": "--batch", "sha256": null}},\n'
        ' "basis": {"kind": "bound", "bands": {"speedup": [0.9, 1.1]}, "source": "datasheet", '
        '"says": "ideal roofline: an upper bound", "assumed": ["tp 1"], "extrapolated": []},\n'
        ' "answer": {"k": 4, "speedup": 2.019607843137255, "verdict": "pays", '
        '"memory": {"weights_bytes": 2480000000.0, "sequences": 174}, "crossings": [439, 281], '
        '"candidates": [{"weights_bytes": 0.1, "sequences": 1}], "limit": null, "fits": true},\n'
        ' "columns": {"k": "tokens", "speedup": "1", "bound_by": "", "fits": ""},\n'
        ' "rows": [\n'
        '  {"k": 1, "speedup": 0.30000000000000004, "bound_by": "memory", "fits": true},\n'
        '  {"k": 1152921504606846976, "speedup": null, "bound_by": null, "fits": false}],\n'
        ' "notes": ["context is the default, 2048"]}\n'
    )


def test_json_reads_back_what_went_in(draw):
    read = json.loads(draw(answer(RECORDS), "json"))
    assert read["rows"] == RECORDS
    assert list(read) == [
        *("schema", "specplan", "inputs", "basis", "answer", "columns", "rows", "notes"),
    ]


def test_json_without_rows(draw):
    assert json.loads(draw(answer([]), "json"))["rows"] == []
    bare = answer([], columns=(), value=None, bands={})
    read = json.loads(draw(bare, "json"))
    assert (read["rows"], read["columns"], read["answer"]) == ([], {}, None)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_json_never_says_nan(draw, bad):
    with pytest.raises(ValueError, match="not JSON compliant"):
        draw(answer([RECORDS[0] | {"speedup": bad}]), "json")
    with pytest.raises(ValueError, match="not JSON compliant"):
        draw(answer([], value={"speedup": bad}), "json")


def test_json_refuses_what_it_would_have_to_invent(draw):
    with pytest.raises(TypeError, match="an answer holds a complex"):
        draw(answer([], value={"a": 1j}), "json")


def test_json_keeps_columns_of_mixed_kinds_apart(draw):
    columns = (Column("a", "", "a", "text"),)
    values = ["0.5", 0.5, None, True, 'a", "b', "x, y"]
    read = json.loads(draw(answer([{"a": v} for v in values], columns=columns), "json"))
    assert [row["a"] for row in read["rows"]] == values


def test_csv(draw):
    assert draw(answer(RECORDS), "csv") == (
        "k,speedup,bound_by,fits\n1,0.30000000000000004,memory,true\n1152921504606846976,,,false\n"
    )


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        ("=1+1", "'=1+1"),
        ("+1+1", "'+1+1"),
        ("-2+3", "'-2+3"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'\\t=1".replace("\\t", "\\x09")),
        ("\r=1", "'\\x0d=1"),
        ('say "a,b"', '"say ""a,b"""'),
        ("1-2", "1-2"),
        (-1.5, "-1.5"),
        (-3, "-3"),
        (1e-300, "1e-300"),
    ],
)
def test_csv_disarms_text_and_leaves_numbers(draw, value, cell):
    columns = (Column("a", "", "a", "text"), Column("k", "", "k", "count"))
    records = [{"a": value, "k": 1}, {"a": "other", "k": 2}]
    assert draw(answer(records, columns=columns), "csv").splitlines()[1] == f"{cell},1"


def test_csv_without_a_table(draw):
    with pytest.raises(
        UsageError, match=r"^format csv writes a table and best-k has none; use -f json$"
    ):
        draw(answer([], columns=()), "csv")
