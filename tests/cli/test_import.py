"""models import as typed: a card, where each figure is from, or one line about why not."""

from __future__ import annotations

import csv
import io
import json
import shlex
from pathlib import Path

import pytest
from small import card, small
from typed import answered, one_line

from specplan.catalogue.read import read_file
from specplan.catalogue.schema import bind
from specplan.domain.model import Model

MINE = Path("mine.yaml")
# As wide as llama-3.1-8b, of one layer: an EAGLE head for it.
HEAD = small(
    hidden_size=4096,
    num_hidden_layers=1,
    num_attention_heads=32,
    num_key_value_heads=8,
    intermediate_size=14_336,
    vocab_size=128_256,
)


@pytest.fixture(autouse=True)
def configs():
    """A small model, an EAGLE head for llama-3.1-8b, and a model with a module that drafts."""
    for name, config in (
        ("tiny", small(max_position_embeddings=64)),
        ("head", HEAD),
        ("mtp", small("mimo", num_nextn_predict_layers=1)),
        ("t5", {"model_type": "t5"}),
    ):
        Path(f"{name}.json").write_text(json.dumps(config))


def imports(capsys, flags: str):
    return answered(capsys, ["models", "import", *shlex.split(flags)])


def refused(capsys, flags: str) -> str:
    said = imports(capsys, flags)
    assert said.code == 2
    return one_line(said)


def read(path: Path) -> Model:
    return bind(read_file(path), Model)


# The card


def test_the_card_is_the_answer_and_its_figures_are_said(capsys):
    said = imports(capsys, "tiny.json")
    assert said.code == 0
    assert said.out.startswith("schema: model/1\nname: tiny\n")
    for line in (
        "dtype bf16: torch_dtype",
        "stored_params 1,704: everything stored: all experts, norms, biases, embedding; "
        "tied weights once",
        "matmul_params 1,408: projections, feed-forward or active experts, fusion and head, "
        "each once",
        "kv_bytes_per_token 32: all layers at 16 bits, windows ignored",
        "head_dim 2: absent, hidden_size / num_attention_heads",
        "the card is found in a file of its name, tiny.yaml",
    ):
        assert f"specplan: {line}\n" in said.err
    Path("tiny.yaml").write_text(said.out)
    model = read(Path("tiny.yaml"))
    assert model.architecture == card(small()).architecture
    assert imports(capsys, "tiny.json -q").err == ""


def test_a_card_can_be_checked_and_planned_with(capsys):
    assert imports(capsys, "head.json --for llama-3.1-8b -o eagle-mine.yaml").code == 0
    checked = answered(capsys, ["check", "eagle-mine.yaml"])
    assert (checked.code, checked.out) == (0, "1 card: nothing found\n")
    words = "best-k -t llama-3.1-8b -d ./eagle-mine.yaml -g h100 -b 16 -a 0.8"
    planned = answered(capsys, words.split())
    assert planned.code == 0, planned.err


def test_a_file_gets_the_card_and_people_the_figures(capsys):
    said = imports(capsys, "tiny.json -o mine.yaml")
    assert said.code == 0
    assert said.out.startswith("tiny: mine\nconfig tiny.json\n")
    assert "stored_params" in said.out
    assert said.err.endswith("wrote mine.yaml\n")
    assert read(MINE).name == "mine"


@pytest.mark.parametrize("form", ["json", "csv", "plain", "markdown"])
def test_every_format_shows_the_figures(capsys, form):
    said = imports(capsys, f"tiny.json -f {form}")
    assert said.code == 0
    assert "stored_params" in said.out.replace("\\_", "_")
    if form == "csv":
        rows = {row["figure"]: row for row in csv.DictReader(io.StringIO(said.out))}
        assert rows["kv_bytes_per_token"]["value"] == "32"
    if form == "json":
        assert json.loads(said.out)["answer"]["card"]["name"] == "tiny"


def test_a_folder_is_imported(capsys):
    Path("Tiny-1B").mkdir()
    Path("tiny.json").rename("Tiny-1B/config.json")
    assert imports(capsys, "Tiny-1B").out.startswith("schema: model/1\nname: tiny-1b\n")


def test_a_name_that_the_catalogue_has_is_said(capsys):
    Path("llama-3.1-8b.json").write_text(json.dumps(small()))
    said = imports(capsys, "llama-3.1-8b.json")
    assert "the catalogue has one of that name: --name gives another" in said.err
    assert "the catalogue has" not in imports(capsys, "llama-3.1-8b.json --name other").err


# Drafters


def test_a_head_is_imported_for_its_target(capsys):
    assert refused(capsys, "head.json") == (
        "config head.json: one layer: a model of one layer or an EAGLE head, which its config "
        "cannot say; write --for TARGET if it drafts"
    )
    said = imports(capsys, "head.json --for llama-3.1-8b")
    assert "name: eagle-llama-3.1-8b\n" in said.out
    assert "targets: [llama-3.1-8b]\n" in said.out


def test_a_head_of_another_width_is_refused(capsys):
    line = refused(capsys, "head.json --for llama-3.1-70b")
    assert line.startswith("--for: eagle-llama-3.1-70b joins hidden states 4,096 wide and those of")
    assert line.endswith("name the target that it was trained for")


def test_a_drafter_of_another_vocabulary_is_doubted(capsys):
    said = imports(capsys, "tiny.json --for llama-3.1-8b")
    assert said.code == 0
    doubt = "drafts from 32 tokens and llama-3.1-8b has 128,256: engines want one vocabulary"
    assert doubt in said.err
    assert doubt in imports(capsys, "tiny.json --for llama-3.1-8b -o mine.yaml").err


def test_a_target_may_be_named_in_other_ways(capsys):
    assert "did you mean 'llama-3.1-8b'?" in refused(capsys, "head.json --for llama-3.1-8")
    assert imports(capsys, "head.json --for meta-llama/Llama-3.1-8B").code == 0


def test_the_module_that_comes_with_a_model(capsys):
    assert "name: mtp-mtp\n" in imports(capsys, "mtp.json --mtp").out
    assert "announces no layers that draft (MTP)" in refused(capsys, "tiny.json --mtp")
    assert "--mtp beside" not in imports(capsys, "mtp.json --mtp --name mine").err


# Mistakes


@pytest.mark.parametrize(
    ("flags", "line"),
    [
        ("", "no SOURCE; expected a config.json, a checkpoint folder, a .gguf file"),
        ("nothing.json", "nothing.json: no such file; expected a config.json"),
        ("t5.json", "config t5.json: model_type t5: an encoder-decoder"),
        ("tiny.json --name Tiny", "--name: 'Tiny' is no name of a card; expected lower-case"),
        ("tiny.json --name ''", "--name: '' is no name of a card"),
        ("tiny.json -o Mine.yaml", "--output: 'Mine' is no name of a card"),
        ("tiny.json -o mine.yaml --name other", "--output: mine.yaml is no file of a card called"),
        ("tiny.json -o away/mine.yaml", "--output: no folder 'away'"),
        ("tiny.json --for nobody", "--for: unknown model 'nobody'"),
        ("tiny.json -f xml", "unknown format 'xml'"),
        ("--report nowhere", "--report: 'nowhere' is no folder; expected a folder of .json"),
        ("tiny.json --report .", "SOURCE beside --report; a report takes the folder alone"),
        ("--report . --mtp", "--mtp beside --report"),
        ("--report . --for llama-3.1-8b", "--for beside --report"),
    ],
)  # fmt: skip
def test_one_line_says_what_is_wrong(capsys, flags, line):
    assert line in refused(capsys, flags)


def test_a_card_that_exists_is_kept(capsys):
    MINE.write_text("precious")
    assert refused(capsys, "tiny.json -o mine.yaml") == (
        "--output: mine.yaml exists; --force replaces it"
    )
    assert MINE.read_text() == "precious"
    assert imports(capsys, "tiny.json -o mine.yaml --force").code == 0
    assert read(MINE).name == "mine"


def test_nothing_is_written_when_the_source_is_refused(capsys):
    assert refused(capsys, "t5.json -o mine.yaml")
    assert not MINE.exists()


@pytest.mark.parametrize(
    "raw", [b"", b"{", b"[]", b"\xff\xfe{}", b'{"a": 1, "a": 2}', b"{" * 3000, b'{"a": NaN}']
)
def test_files_that_hold_no_config(capsys, raw):
    Path("bad.json").write_bytes(raw)
    assert "bad.json" in refused(capsys, "bad.json")


# Reports


def test_a_report_of_a_folder(capsys):
    Path("configs").mkdir()
    for name in ("tiny", "t5", "head"):
        Path(f"{name}.json").rename(f"configs/{name}.json")
    index = "file,published_total_params,role\ntiny.json,1704,target\nhead.json,missing,eagle1\n"
    Path("configs/index.csv").write_text(index)
    said = imports(capsys, "--report configs -f csv")
    assert said.code == 0
    rows = {row["file"]: row for row in csv.DictReader(io.StringIO(said.out))}
    assert {file: row["verdict"] for file, row in rows.items()} == {
        "head.json": "unknown",
        "t5.json": "refused",
        "tiny.json": "pass",
    }
    assert rows["tiny.json"]["stored_params"] == "1704"
    told = imports(capsys, "--report configs").out
    assert "1 within 0.5 % of the published count; 1 with no published count; 1 refused" in told


def test_a_difference_that_nothing_explains_is_a_no(capsys):
    Path("configs").mkdir()
    Path("tiny.json").rename("configs/tiny.json")
    Path("configs/index.csv").write_text("file,published_total_params\ntiny.json,1900\n")
    said = imports(capsys, "--report configs")
    assert said.code == 1
    assert "1 that differ and are not explained" in said.out


def test_reports_of_folders_without_configs(capsys):
    Path("empty").mkdir()
    assert (
        refused(capsys, "--report empty") == "--report: no .json file in 'empty'; expected configs"
    )
    assert "no column published_total_params" in _with_index(capsys, b"file,x\n")
    assert "cannot be read" in _with_index(capsys, b"\xff")


def _with_index(capsys, raw: bytes) -> str:
    Path("index.csv").write_bytes(raw)
    return refused(capsys, "--report .")
