"""Files of measurements: what is read, what is refused and where, and the ones that we ship."""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from specplan.catalogue.json_schema import schema_text
from specplan.catalogue.ledger import held_out, packaged_rows, read_rows
from specplan.catalogue.store import Catalogue
from specplan.domain.card import Dtype
from specplan.domain.measurement import COLUMNS, WORDS, Measurement
from specplan.errors import InputError

ROOT = Path(__file__).parents[2]
MEASURED = sorted((ROOT / "measurements").glob("*.csv"))
FITTED = ("a100-sxm-80gb", "h100-sxm", "b200-sxm")
HEADER = "kind,source,engine,gpu,dtype,rows,n,inner,value,unit,assumed,note"
GOOD = "gemm,mine,vllm,h100-sxm,bf16,8,4096,5120,1.2e-05,s,dtype rows,all is well"


@pytest.fixture
def read(tmp_path):
    def read_text(text: str | bytes) -> list[Measurement]:
        path = tmp_path / "mine.csv"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return list(read_rows(path, "mine.csv"))

    return read_text


@cache
def shipped() -> tuple[Measurement, ...]:
    return tuple(packaged_rows())


def test_a_row(read):
    (row,) = read(f"{HEADER}\n{GOOD}\n")
    assert (row.kind, row.gpu, row.dtype, row.rows) == ("gemm", "h100-sxm", Dtype.BF16, 8)
    assert row.value == 1.2e-05
    assert row.assumed == ("dtype", "rows")
    assert row.batch is row.licence is None


@pytest.mark.parametrize(
    "text",
    [
        f"\ufeff{HEADER}\r\n{GOOD}\r\n",
        f"{HEADER}\n\n{GOOD}\n \n",
        f"{HEADER}\n{GOOD}",
        f"{HEADER}\n{GOOD.replace(',8,', ', 8 ,')}\n",
        f"{HEADER}\n{GOOD.replace('mine', chr(34) + 'mine' + chr(34))}\n",
        f"{HEADER},batch\n{GOOD},\n",
    ],
    ids=["BOM and CRLF", "empty lines", "no last line feed", "blanks", "quotes", "blank cell"],
)
def test_ways_to_write_the_same(read, text):
    assert read(text) == read(f"{HEADER}\n{GOOD}\n")


@pytest.mark.parametrize("written", ["12,us", "0.012,ms", "12000,ns", "1.2e1,us"])
def test_a_time_in_another_unit(read, written):
    (row,) = read(f"{HEADER}\n{GOOD.replace('1.2e-05,s', written)}\n")
    assert (row.value, row.unit) == (1.2e-05, "s")


def test_a_time_below_nothing_in_another_unit(read):
    with pytest.raises(InputError, match="value -12 is implausible"):
        read(f"{HEADER}\n{GOOD.replace('1.2e-05,s', '-12,us')}\n")


ROUND = "round,mine,vllm,h100-sxm,1,llama-3.1-8b,{},8,5,2048,4,2.9,1.6,{}"
ROUNDS = "kind,source,engine,gpu,gpus,target,draft,batch,tokens,context,k,tau,value,unit"


@pytest.mark.parametrize(
    "draft",
    [
        *("ratio:0.05", "ratio:.1", "ratio:10", "ngram", "qwen3-0.6b", "mtp", "suffix"),
        *("lookahead", "lookahead:7x7", "skip:0.4", "skip:.5"),
    ],
)
def test_ways_to_draft(read, draft):
    (row,) = read(f"{ROUNDS}\n{ROUND.format(draft, 1)}\n")
    assert row.draft == draft


@pytest.mark.parametrize(
    "draft",
    [
        *("ratio:11", "ratio:", "ratio:-1", "ratio:1e3", "free:1", "eagle 3"),
        *("skip:1.5", "skip:", "lookahead:7", "lookahead:0x7", "ngram:3"),
    ],
)
def test_no_way_to_draft(read, draft):
    with pytest.raises(InputError) as caught:
        read(f"{ROUNDS}\n{ROUND.format(draft, 1)}\n")
    assert str(caught.value) == (
        f"mine.csv:2:41: draft '{draft}' is malformed; "
        "expected a model card, a kind of drafter such as ngram, oracle, or a cost of 0 to 10 "
        "such as ratio:0.05"
    )


def test_a_round_is_no_time(read):
    with pytest.raises(InputError, match="a round row in 'ms'; expected unit '1'"):
        read(f"{ROUNDS}\n{ROUND.format('ngram', 'ms')}\n")


def test_text_may_hold_commas(read):
    (row,) = read(f"{HEADER}\n{GOOD.replace('all is well', chr(34) + 'a, b' + chr(34))}\n")
    assert row.note == "a, b"


def test_nothing_but_a_header(read):
    with pytest.raises(InputError) as caught:
        read(f"{HEADER}\n\n")
    assert str(caught.value) == (
        "mine.csv:1:1: no rows; expected a line per figure below the header; "
        "measurements/README.md has the columns"
    )


def test_names_as_the_command_line_takes_them(read):
    (row,) = read(f"{HEADER}\n{GOOD.replace('h100-sxm', 'H100-SXM').replace('vllm', 'vLLM')}\n")
    assert (row.gpu, row.engine) == ("h100-sxm", "vllm")
    written = ROUND.replace("llama-3.1-8b", "meta-llama/Llama-3.1-8B")
    (row,) = read(f"{ROUNDS}\n{written.format('Qwen/Qwen3-0.6B', 1)}\n")
    assert (row.target, row.draft) == ("llama-3.1-8b", "qwen3-0.6b")


@pytest.mark.parametrize("version", ["1", "0.5.6.post2", "1.3.0rc20", "0.11.1.dev45+g1ab.cu128"])
def test_versions_as_engines_call_them(read, version):
    (row,) = read(f"{HEADER},version\n{GOOD},{version}\n")
    assert row.version == version


@pytest.mark.parametrize("version", ["newest", "1..2", "1.2.post2.1x", "v1"])
def test_what_is_no_version(read, version):
    with pytest.raises(InputError) as caught:
        read(f"{HEADER},version\n{GOOD},{version}\n")
    assert str(caught.value) == (
        f"mine.csv:2:{len(GOOD) + 2}: version '{version}' is malformed; "
        "expected a version such as 0.27 or 0.5.6.post2"
    )


@pytest.mark.parametrize("column", ["kind", "source", "engine", "gpu", "value", "unit"])
def test_a_blank_cell_that_every_row_needs(read, column):
    place = HEADER.split(",").index(column)
    cells = GOOD.split(",")
    cells[place] = ""
    start = len(",".join(cells[:place])) + 2 if place else 1
    with pytest.raises(InputError) as caught:
        read(f"{HEADER}\n{','.join(cells)}\n")
    assert str(caught.value).startswith(f"mine.csv:2:{start}: {column} is blank; expected ")


def test_a_column_that_a_kind_needs_is_not_there(read):
    with pytest.raises(InputError, match=r"^mine.csv:2:1: a gemm row without rows; expected dtype"):
        read(f"{HEADER.replace('rows,', '')}\n{GOOD.replace(',8,', ',')}\n")


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("gpus", 1025, "gpus 1025 is out of range; expected at most 1024"),
        ("head_dim", 1025, "head_dim 1025 is out of range; expected at most 1024"),
        ("batch", 1_000_001, "batch 1000001 is out of range; expected at most 1,000,000"),
        ("isl", 1e9, "isl 1000000000 is out of range; expected at most 100,000,000"),
        ("context", 1e9, "context 1000000000 is out of range; expected at most 100,000,000"),
        ("kv_heads", 9, "kv_heads 9 of 8 heads; expected at most heads"),
    ],
)
def test_figures_beyond_what_there_is(read, column, value, message):
    with pytest.raises(InputError) as caught:
        read(f"{HEADER},heads,{column}\n{GOOD},8,{value:.0f}\n")
    assert str(caught.value) == f"mine.csv:2:{len(GOOD) + 4}: {message}"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "bf16",
            "bf61",
            "2:25: dtype 'bf61' is not known; expected 'fp32', 'bf16', 'fp16', 'fp8', 'int8', "
            "'fp4', 'int4', 'nvfp4' or 'mxfp4'; did you mean 'bf16'?",
        ),
        (",8,", ",8.5,", "2:30: rows 8.5 does not fit; expected a whole number"),
        (",8,", ",0,", "2:30: rows 0 is out of range; expected at least 1"),
        (
            "1.2e-05",
            "12us",
            "2:42: value: '12us' is not a number; expected a plain number such as 0.7 or 3.35e12; "
            "its unit goes under unit",
        ),
        (",8,", f",{10**9},", "2:30: rows 1000000000 is out of range; expected at most 1,000,000"),
        (",8,", ",,", "2:30: a gemm row without rows; expected dtype, rows, n, inner in every row"),
        (",s,", ",1,", "2:50: a gemm row in '1'; expected unit 's'"),
        (
            "dtype rows",
            "tp",
            "2:52: assumed names no column 'tp'; expected names of columns, blanks",
        ),
        (
            ",all is well",
            "",
            "2:1: 11 cells under 12 columns; expected a cell for each column; leave a cell",
        ),
        (
            "all is",
            "all, is",
            "2:1: 13 cells under 12 columns; expected a cell for each column; "
            "quote text that holds a comma",
        ),
        ("mine", '"mine', "2:1: a quoted cell goes on; expected one row per line, as CSV"),
        ("mine", '"mi"ne', "2:1: misplaced quote; expected one row per line, as CSV"),
        ("mine", '"m,ine","vllm', "2:1: a quoted cell goes on; expected one row per line, as CSV"),
        ("mine", "mi\tne", "2:8: invisible character \\x09; separate cells by commas"),
        ("mine", "mi\u202ene", "2:8: invisible character \\u202e; remove it"),
        (
            "h100-sxm",
            "H100 SXM",
            "2:16: gpu 'H100 SXM' is no name; expected the name or alias of a card; "
            "specplan hardware list shows all",
        ),
        (
            "vllm",
            "vllm@0.27",
            "2:11: engine 'vllm@0.27' holds a version; write vllm, and 0.27 under version",
        ),
        (
            ",s,",
            ",min,",
            "2:50: unit 'min' is not known; expected s, ms, us or ns for a time, "
            "1 for the speedup of a round",
        ),
    ],
)
def test_rows_that_are_refused(read, old, new, message):
    assert GOOD.count(old) == 1
    text = f"{HEADER}\n{GOOD.replace(old, new)}\n"
    with pytest.raises(InputError) as caught:
        read(text)
    assert str(caught.value).replace("such row", "row").startswith(f"mine.csv:{message}")


def test_the_place_of_a_cell_behind_a_quoted_comma(read):
    with pytest.raises(InputError) as caught:
        read(f"{HEADER}\n{GOOD.replace('mine', chr(34) + 'm,e' + chr(34)).replace('bf16', 'x')}\n")
    assert str(caught.value).startswith("mine.csv:2:26: dtype 'x'")


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("", "1:1: missing column 'kind'; expected a header with kind, source, engine, gpu"),
        ("kind,source", "1:1: missing column 'engine'; expected a header with"),
        ("kind;source;engine", "1:1: semicolons between cells; separate them by commas"),
        ("kind,sauce", "1:6: unknown column 'sauce'; did you mean 'source'?"),
        ("kind,tp", "1:6: unknown column 'tp'; expected one of kind, source, licence"),
        ("kind,source,kind", "1:13: column 'kind' twice; keep one"),
    ],
)
def test_headers_that_are_refused(read, header, message):
    with pytest.raises(InputError) as caught:
        read(f"{header}\n{GOOD}\n" if header else "")
    assert str(caught.value).startswith(f"mine.csv:{message}")


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (
            f"{HEADER}\ngemm,\xe9".encode("latin-1"),
            "mine.csv:2:6: not UTF-8 text; save it as UTF-8",
        ),
        (b"x" * 8_000_001, "mine.csv: too large; expected at most 8,000,000 bytes"),
        (b"x" * 9_000, "mine.csv:1:1: a line of 9,000 characters; expected at most 8,192"),
        (HEADER.encode() + b"\n" * 50_001, "mine.csv:50001:1: too many lines; expected at most"),
    ],
    ids=["encoding", "bytes", "line", "lines"],
)
def test_files_that_are_refused(read, raw, message):
    with pytest.raises(InputError) as caught:
        read(raw)
    assert str(caught.value).startswith(message)


def test_no_such_file(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        list(read_rows(tmp_path / "none.csv"))
    with pytest.raises(InputError, match="is a folder; expected a CSV file"):
        list(read_rows(tmp_path))


def test_a_row_as_an_object_has_a_schema():
    schema = json.loads(schema_text("measurements"))
    assert schema["required"] == ["kind", "source", "engine", "gpu", "value", "unit"]
    row = dict(zip(HEADER.split(","), GOOD.split(","), strict=True))
    row |= {"rows": 8, "n": 4096, "inner": 5120, "value": 1.2e-05, "assumed": ["dtype", "rows"]}
    assert Draft202012Validator(schema).is_valid(row)
    assert not Draft202012Validator(schema).is_valid(row | {"dtype": "bf61"})
    assert not Draft202012Validator(schema).is_valid(row | {"tp": 2})


def test_which_columns_hold_numbers():
    properties = json.loads(schema_text("measurements"))["properties"]
    kinds = {
        column: {arm.get("type") for arm in (found, *found.get("anyOf", ()))}
        for column, found in properties.items()
    }
    numbers = {column for column, types in kinds.items() if types & {"integer", "number"}}
    assert numbers == set(COLUMNS) - WORDS


def test_the_files_that_ship_state_every_column_in_order():
    for file in MEASURED:
        assert file.read_text("utf-8").partition("\n")[0] == ",".join(COLUMNS), file.name


def test_what_ships():
    kinds = Counter(row.kind for row in shipped())
    assert kinds == {
        "gemm": 897,
        "attention": 596,
        "experts": 492,
        "step": 55,
        "tpot": 981,
        "round": 333,
    }
    assert all(row.licence for row in shipped())
    assert all((ROOT / "hardware" / f"{row.gpu}.yaml").is_file() for row in shipped())
    assert all((ROOT / "engines" / f"{row.engine}.yaml").is_file() for row in shipped())


def test_no_attention_row_found_its_cache_in_a_cache():
    bandwidth = {gpu: Catalogue().hardware(gpu).card.bandwidth for gpu in FITTED}
    for row in shipped():
        if row.kind == "attention" and row.kv_dtype and row.kv_heads and row.head_dim:
            kept = 2 * row.kv_heads * row.head_dim * row.kv_dtype.bytes_per_element
            read_bytes = kept * (row.batch or 0) * (row.context or 0)
            assert 0 < read_bytes / row.value < bandwidth[row.gpu]


def test_every_kernel_row_was_left_out_of_a_fit():
    fits = {(f.engine, f.gpu, f.dtype, f.fold, f.what) for f in held_out().fits}
    assert len(fits) == len(held_out().fits)
    for row in shipped():
        if row.kind in {"gemm", "attention", "experts"}:
            dtype = row.kv_dtype if row.kind == "attention" else row.dtype
            assert (row.engine, row.gpu, dtype, row.fold, row.kind) in fits


def test_a_shape_is_in_one_fold():
    folds: dict[tuple[object, ...], set[str | None]] = {}
    for row in shipped():
        if row.kind == "gemm":
            folds.setdefault((row.n, row.inner), set()).add(row.fold)
        elif row.kind == "attention":
            folds.setdefault((row.heads, row.kv_heads, row.head_dim), set()).add(row.fold)
    assert {len(found) for found in folds.values()} == {1}
    assert len({fold for found in folds.values() for fold in found}) == 5


def test_rounds_name_the_rows_that_no_host_fit_may_meet():
    rounds = [row for row in shipped() if row.kind == "round"]
    assert all(row.fold for row in rounds)
    slow = [row for row in rounds if row.value < 0.9]
    assert len(slow) == 15
    assert sum("context" in row.assumed for row in rounds) == 313


def test_the_readme_counts_what_ships():
    readme = (ROOT / "measurements" / "README.md").read_text("utf-8")
    stated = {
        name: int(n)
        for name, n in re.findall(r"^\| `(\w+)\.csv` .* (\d+) \|$", readme, re.MULTILINE)
    }
    lines = {f.stem: len(f.read_text("utf-8").splitlines()) - 1 for f in MEASURED}
    assert stated == lines
