"""A folder of configs against what was published: ours of public models, and broken ones."""

from __future__ import annotations

import csv
import json
import math
import os
import shutil
from pathlib import Path

import pytest
from small import card, small

from specplan.errors import InputError
from specplan.importers.hf import ALSO, FAMILIES
from specplan.importers.report import INDEX, published, reports

HERE = Path(__file__).parent
CONFIGS = HERE / "configs"
EXPECTED = list(csv.DictReader((HERE / "expected.csv").read_text().splitlines()))
VICUNA = card(
    small(
        hidden_size=4096,
        num_hidden_layers=32,
        num_attention_heads=32,
        num_key_value_heads=32,
        intermediate_size=11_008,
        vocab_size=32_000,
    ),
    name="vicuna-7b-v1.3",
)


def nobody(_name: str) -> None:
    """A catalogue without models."""


def indexed(folder: Path, *rows: str) -> Path:
    (folder / INDEX).write_text("\n".join(["file,published_total_params,role", *rows]))
    return folder


@pytest.fixture(scope="module")
def checked(tmp_path_factory):
    """Every config of a public model, by file."""
    folder = tmp_path_factory.mktemp("configs") / "configs"
    shutil.copytree(CONFIGS, folder)
    indexed(folder, *(f"{r['file']},{r['published_params']},{r['role']}" for r in EXPECTED))
    named = {"lmsys/vicuna-7b-v1.3": VICUNA}
    return {row.file: row for row in reports(folder, named.get)}


def test_every_config_is_expected_and_every_expectation_has_a_config(checked):
    assert sorted(checked) == [row["file"] for row in EXPECTED]
    assert len(EXPECTED) >= 75
    assert all(row["published_source"] for row in EXPECTED if row["published_params"])


@pytest.mark.parametrize("expected", EXPECTED, ids=lambda row: row["file"])
def test_public_models(checked, expected):
    row = checked[expected["file"]]
    assert row.verdict == expected["verdict"], row.says
    if row.verdict == "refused":
        assert len(row.says) > 30
        return
    assert row.stored_params == int(expected["stored_params"])
    assert row.matmul_params == int(expected["matmul_params"])
    kinds = expected["kv_per_token"].split(" + ")
    assert row.kv_bytes_per_token == 2 * sum(
        math.prod(int(factor) for factor in kind.split(" x ")) for kind in kinds
    )


def test_most_families_have_a_public_model_that_was_counted():
    counted = {row["file"] for row in EXPECTED if row["verdict"] in {"pass", "explained"}}
    kinds = set()
    for file in counted:
        config = json.loads((CONFIGS / file).read_text())
        inner = config.get("text_config") or config.get("llm_config") or config
        kind = inner.get("model_type") or config.get("model_type", "")
        kinds.add(ALSO.get(kind, kind))
    # No public count is at hand, or the family is another's under a second name.
    assert set(FAMILIES) - kinds == {
        "RefinedWeb",
        "RefinedWebModel",
        "baichuan",
        "deepseek_v32",
        "gemma4_text",
        "kimi_k2",
        "minicpm3",
        "ministral3",
        "phi4",
    }


# Folders as people have them


def test_broken_files_are_rows_and_not_the_end(tmp_path):
    (tmp_path / "a.json").write_text('{"model_type":')
    (tmp_path / "b.json").write_text("[]")
    (tmp_path / "c.json").write_bytes(b"\xff\xfe{")
    (tmp_path / "d.json").write_text("")
    (tmp_path / "e.json").mkdir()
    (tmp_path / "f.json").symlink_to(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "g.json")
    (tmp_path / "h.json").write_text(json.dumps(small()))
    (tmp_path / "notes.txt").write_text("not a config")
    rows = {row.file: row for row in reports(tmp_path, nobody)}
    assert list(rows) == [f"{letter}.json" for letter in "abcdefgh"]
    assert [row.verdict for row in rows.values()] == ["refused"] * 7 + ["unknown"]
    assert rows["a.json"].says == "not JSON: expecting value"
    assert rows["c.json"].says == "is not UTF-8 text; expected JSON in UTF-8"
    assert "no such file" in rows["f.json"].says
    assert "not a regular file" in rows["g.json"].says
    assert rows["h.json"].says == "no published count to hold it against"


def test_sidecars_are_read_with_their_configs(tmp_path):
    (tmp_path / "m.json").write_text(json.dumps(small()))
    sidecar = {"quantization": {"quant_algo": "NVFP4"}}
    (tmp_path / "m_hf_quant_config.json").write_text(json.dumps(sidecar))
    (tmp_path / "n_hf_quant_config.json").write_text(json.dumps(sidecar))
    rows = {row.file: row for row in reports(tmp_path, nobody)}
    assert rows["m_hf_quant_config.json"].verdict == "beside"
    assert rows["m_hf_quant_config.json"].says == "read with m.json"
    assert rows["n_hf_quant_config.json"].verdict == "refused"
    assert "nothing of their shapes" in rows["n_hf_quant_config.json"].says


def test_a_head_that_names_no_shapes_finds_its_base(tmp_path):
    medusa = {"medusa_num_heads": 2, "base_model_name_or_path": "org/base"}
    (tmp_path / "m.json").write_text(json.dumps(medusa))
    (row,) = reports(tmp_path, {"org/base": card(small(), name="base")}.get)
    assert (row.kind, row.stored_params) == ("medusa", 2 * (8 * 8 + 8 + 32 * 8))
    (row,) = reports(tmp_path, nobody)
    assert row.verdict == "refused"


def test_counts_of_an_index(tmp_path):
    (tmp_path / "m.json").write_text(json.dumps(small()))
    indexed(tmp_path, "m.json,1000000,target")
    (row,) = reports(tmp_path, nobody)
    assert (row.verdict, row.published_params) == ("differs", 1_000_000)
    assert row.says.endswith("which nothing explains")


def test_an_index_as_spreadsheets_write_it(tmp_path):
    (tmp_path / "m.json").write_text(json.dumps(small()))
    raw = b'\xef\xbb\xbffile,published_total_params\r\nm.json,"1,704"\r\n'
    (tmp_path / INDEX).write_bytes(raw)
    (row,) = reports(tmp_path, nobody)
    assert (row.verdict, row.published_params) == ("pass", 1704)


def test_an_index_that_names_files_which_are_not_there(tmp_path):
    (tmp_path / "m.json").write_text(json.dumps(small()))
    (tmp_path / "notes.txt").write_text("here")
    indexed(tmp_path, "gone.json,5,target", "m.json,missing,", "notes.txt,missing,", ",7,")
    rows = {row.file: row for row in reports(tmp_path, nobody)}
    assert list(rows) == ["gone.json", "m.json", "notes.txt"]
    gone = rows["gone.json"]
    assert (gone.verdict, gone.says, gone.published_params) == ("refused", "no such file", 5)
    assert rows["notes.txt"].says == "not a .json file of the folder"


def test_an_index_says_that_a_config_of_one_layer_is_a_head(tmp_path):
    (tmp_path / "m.json").write_text(json.dumps(small(num_hidden_layers=1)))
    (row,) = reports(tmp_path, nobody)
    assert row.verdict == "refused"
    (row,) = reports(indexed(tmp_path, "m.json,missing,eagle1"), nobody)
    assert (row.verdict, row.kind) == ("unknown", "eagle")


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"file,counts\n", "no column published_total_params; expected file, published"),
        (b"", "no column file"),
        (b"file,published_total_params\nx,12e9\n", "csv:2:1: '12e9' is no count"),
        (b"file,published_total_params\nx,0\n", "'0' is no count"),
        (b'file,published_total_params\nx,"1,70"\n', "'1,70' is no count"),
        (b"file,published_total_params\nx,-5\n", "'-5' is no count"),
        (b"file,published_total_params\nx," + b"9" * 30 + b"\n", "is no count; expected a whole"),
        ("file,published_total_params\nx,\u0661\n".encode(), "is no count"),
        (b"\xff\xff", "cannot be read: 'utf-8' codec"),
        (b"file,published_total_params\nx," + b"1" * 140_000, "field larger than field limit"),
    ],
)
def test_an_index_that_cannot_be_read(tmp_path, raw, words):
    (tmp_path / INDEX).write_bytes(raw)
    with pytest.raises(InputError) as caught:
        published(tmp_path / INDEX)
    assert words in str(caught.value)


def test_rows_that_are_short_have_no_count(tmp_path):
    (tmp_path / INDEX).write_text("file,published_total_params\nx\ny,\n")
    assert {name: row.params for name, row in published(tmp_path / INDEX).items()} == {
        "x": None,
        "y": None,
    }


def test_an_index_that_is_a_folder(tmp_path):
    (tmp_path / INDEX).mkdir()
    with pytest.raises(InputError, match="cannot be read"):
        published(tmp_path / INDEX)


def test_no_index_is_no_counts(tmp_path):
    assert published(tmp_path / INDEX) == {}
