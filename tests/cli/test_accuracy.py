"""specplan accuracy: rows of one's own, what is refused, and what people see."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest
from typed import ROOT, answered, one_line

from specplan.domain.measurement import NEEDS

HEADER = "kind,source,engine,gpu,dtype,rows,n,inner,value,unit,note"
ROW = "gemm,mine,vllm,h100-sxm,bf16,8,4096,4096,1.5e-05,s,"


@pytest.fixture
def mine() -> Path:
    rows = [
        ROW,
        f"{ROW}doubt:queue",
        ROW.replace("1.5e-05", "1.5"),
        ROW.replace("h100-sxm", "abacus"),
    ]
    path = Path("mine.csv")
    path.write_text("\n".join([HEADER, *rows, ""]), encoding="utf-8")
    return path


def test_rows_of_ones_own(capsys, mine):
    said = answered(capsys, ["accuracy", str(mine)])
    assert said.code == 0
    assert said.out.startswith("3 of 4 measured rows predicted")
    assert "doubtful       1 rows, by their own note: in no group" in said.out
    assert "not predicted  1 rows: unknown hardware 'abacus'" in said.out
    assert "speedups below" not in said.out


def test_several_files_add_up(capsys, mine):
    said = answered(capsys, ["accuracy", str(mine), str(mine), "-f", "json"])
    envelope = json.loads(said.out)
    assert envelope["answer"]["measured"] == 8
    assert [given["value"] for given in envelope["inputs"].values()] == ["mine.csv", "mine.csv"]
    narrow, wide = envelope["rows"]
    assert (narrow["cases"], wide["cases"]) == ("rows up to 64", "rows up to 512")
    assert (narrow["n"], narrow["p90"], narrow["band"]) == (4, None, "n < 10: no band")
    assert narrow["median"] == narrow["fitted_median"]


def test_the_worst_row_as_csv(capsys, mine):
    said = answered(capsys, ["accuracy", str(mine), "--worst", "1", "-f", "csv"])
    (row,) = csv.DictReader(io.StringIO(said.out))
    assert row["measured"] == "1.5"
    assert float(row["error"]) == pytest.approx(-1, abs=1e-4)


def test_rows_of_one_kind(capsys, mine):
    said = answered(capsys, ["accuracy", str(mine), "--kind", "round"])
    assert said.code == 0
    assert said.out.startswith("No rows to predict")
    assert said.err == "specplan: no rows of kind round among the 4 given: they are gemm\n"


def test_a_file_without_rows(capsys):
    Path("none.csv").write_text(f"{HEADER}\n", encoding="utf-8")
    said = answered(capsys, ["accuracy", "none.csv", "--worst", "3"])
    assert said.code == 2
    assert one_line(said).startswith("none.csv:1:1: no rows; expected a line per figure below")


@pytest.mark.parametrize(
    ("known", "asked", "message"),
    [
        ("h100-sxm", "H1000", "lost.csv:2:16: unknown hardware 'h1000'; did you mean 'h100'?"),
        ("vllm", "vlllm", "lost.csv:2:11: unknown engine 'vlllm'; did you mean 'vllm'?"),
    ],
)
def test_no_row_names_cards_that_there_are(capsys, known, asked, message):
    lost = ROW.replace(known, asked)
    Path("lost.csv").write_text(f"{HEADER}\n{lost}\n{lost}\n", encoding="utf-8")
    said = answered(capsys, ["accuracy", "lost.csv"])
    assert (said.code, one_line(said)) == (2, message)
    Path("found.csv").write_text(f"{HEADER}\n{ROW}\n", encoding="utf-8")
    said = answered(capsys, ["accuracy", "lost.csv", "found.csv"])
    assert said.code == 0
    assert said.out.startswith("1 of 3 measured rows predicted")
    assert answered(capsys, ["accuracy", "lost.csv", "--kind", "round"]).code == 0


def test_an_alias_counts_as_the_card(capsys):
    rows = f"{HEADER}\n{ROW}\n{ROW.replace('h100-sxm', 'H100')}\n"
    Path("mine.csv").write_text(rows, encoding="utf-8")
    said = answered(capsys, ["accuracy", "mine.csv", "-f", "json"])
    assert [(one["gpu"], one["n"]) for one in json.loads(said.out)["rows"]] == [("h100-sxm", 2)] * 2


def test_a_drafter_without_a_card_is_one_unknown_name(capsys):
    columns = "kind,source,engine,gpu,gpus,target,draft,batch,tokens,context,k,tau,value,unit"
    row = "round,mine,vllm,h100-sxm,1,llama-3.1-8b,mtp,8,5,2048,4,2.9,1.6,1"
    Path("one.csv").write_text(f"{columns}\n{row}\n", encoding="utf-8")
    said = answered(capsys, ["accuracy", "one.csv"])
    assert said.code == 2
    assert one_line(said).startswith(
        "one.csv:2:41: no card of kind mtp drafts for llama-3.1-8b; "
        "expected one of eagle3-llama-3.1-8b"
    )


def test_a_round_without_a_dtype_counts_once(capsys):
    columns = "kind,source,engine,gpu,gpus,target,draft,batch,tokens,context,k,tau,value,unit"
    row = "round,mine,vllm,h100-sxm,1,llama-3.1-8b,ratio:0.05,8,5,2048,4,2.9,1.6,1"
    Path("one.csv").write_text(f"{columns}\n{row}\n", encoding="utf-8")
    said = answered(capsys, ["accuracy", "one.csv", "-f", "json"])
    groups = json.loads(said.out)["rows"]
    assert [(group["engine"], group["drafter"], group["n"]) for group in groups] == [
        ("all", "all", 1),
        ("vllm", "all", 1),
        ("all", "ratio", 1),
    ]


def test_each_kind_of_drafter_has_a_line_of_its_own(capsys):
    said = answered(capsys, ["accuracy", "--kind", "round"])
    _, _, below = said.out.partition("Rounds by the kind of drafter, all engines together:\n\n")
    table, _, facts = below.partition("\n\n")
    head, *lines = table.splitlines()
    assert " ".join(head.split()) == (
        "drafter n signed median 90th in 10 % in 20 % fitted 9 of 10 within"
    )
    counts = {line.split()[0]: int(line.split()[1]) for line in lines}
    assert list(counts) == [
        *("model", "eagle", "eagle3", "mtp", "medusa", "block", "free", "ngram", "lookahead")
    ]
    for line in lines:
        assert line.endswith("n < 10: no band") == (counts[line.split()[0]] < 10), line
    assert "no round of         mlp-speculator, suffix, skip\n" in facts
    assert max(map(len, said.out.splitlines())) < 100


def test_the_rows_that_the_readme_shows(capsys):
    readme = (ROOT / "measurements" / "README.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```csv\n(.*?)```", readme, re.DOTALL)
    Path("shown.csv").write_text(block, encoding="utf-8")
    said = answered(capsys, ["accuracy", "shown.csv"])
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith("2 of 2 measured rows predicted")
    for kind, needs in NEEDS.items():
        assert f"| `{kind}` | {' '.join(f'`{name}`' for name in needs)} |" in readme


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["none.csv"], "none.csv: no such file"),
        (["mine.csv", "--kind", "rounds"], "unknown kind 'rounds'; did you mean 'round'?"),
        (["mine.csv", "--worst", "0"], "--worst: 0 is out of range; expected 1 to 10,000"),
        (["bad.csv"], "bad.csv:2:"),
    ],
)
def test_what_is_refused_in_one_line(capsys, mine, words, message):
    bad = mine.read_text(encoding="utf-8").replace("1.5e-05", "soon")
    Path("bad.csv").write_text(bad, encoding="utf-8")
    said = answered(capsys, ["accuracy", *words])
    assert said.code == 2
    assert one_line(said).startswith(message)


def test_the_rows_of_a_file_are_not_overwritten(capsys, mine):
    said = answered(capsys, ["accuracy", str(mine), "-o", str(mine)])
    assert said.code == 2
    assert "mine.csv is an input of this answer" in one_line(said)
