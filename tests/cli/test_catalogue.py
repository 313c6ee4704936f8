"""hardware, models and schema as typed: exit codes, streams, formats, folders, mistakes."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import specplan
from specplan.catalogue.json_schema import schema_text
from specplan.catalogue.store import Catalogue
from specplan.cli.listed import hardware
from specplan.cli.run import run

CARD = """\
schema: hardware/1
name: {name}
title: Ours
vendor: acme
rates: {{bf16: 100 TFLOP/s}}
bandwidth: 1 TB/s
memory: 80 GiB
memory_basis: driver
sources: {{of: [rates, bandwidth, memory], kind: datasheet, cite: it}}
"""


@pytest.fixture(autouse=True)
def _alone(tmp_path, monkeypatch):
    """Away from the checkout, with no catalogue of whoever runs the tests."""
    monkeypatch.setenv("PYTHONPATH", str(Path(specplan.__file__).parents[1]))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("SPECPLAN_CATALOGUE", raising=False)


def put(folder: Path, name: str, text: str = CARD) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{name}.yaml"
    file.write_text(text.format(name=name), "utf-8")
    return file


def typed(capsys, *words: str) -> tuple[int, str, str]:
    code = run(words)
    out, err = capsys.readouterr()
    return code, out, err


def refused(capsys, *words: str) -> str:
    code, out, err = typed(capsys, *words)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    return err.rstrip("\n")


def test_help_lists_the_section(capsys):
    code, out, _ = typed(capsys, "--help")
    assert code == 0
    _, _, section = out.partition("Catalogue:\n")
    rows = dict(line.split(maxsplit=1) for line in section.split("\n\n")[0].splitlines())
    assert rows == {
        "hardware": "Accelerators: list, show, probe.",
        "models": "Models and drafters: list, show, import.",
        "engines": "Serving engines: list, show.",
        "curves": "Acceptance curves by drafter and task: list, show.",
        "schema": "JSON Schema of a kind of file, such as plan, model or engine.",
    }


@pytest.mark.parametrize(
    "words",
    [
        ("hardware",),
        ("models",),
        ("hardware", "list"),
        ("hardware", "show"),
        ("models", "list"),
        ("models", "show"),
        ("schema",),
    ],
)
def test_help_of_each_command(capsys, words):
    for flag in ("--help", "-h"):
        code, out, err = typed(capsys, *words, flag)
        assert (code, err) == (0, "")
        assert out.startswith(f"Usage: specplan {' '.join(words)} ")


@pytest.mark.parametrize("noun", ["hardware", "models", "curves"])
def test_a_noun_alone_asks_what_to_do(capsys, noun):
    assert refused(capsys, noun) == (
        f"specplan: {noun}: list them, or show some?; write specplan {noun} list"
    )


PACKAGED = {
    noun: len(list((Path(specplan.__file__).parents[1] / noun).glob("*.yaml")))
    for noun in ("hardware", "models")
}


@pytest.mark.parametrize(("noun", "rows"), PACKAGED.items())
def test_lists(capsys, noun, rows):
    code, out, err = typed(capsys, noun, "list")
    assert (code, err) == (0, "")
    assert out.partition("\n\n")[2].split()[0] == "name"
    code, out, err = typed(capsys, noun, "list", "-f", "json")
    found = json.loads(out)
    assert (code, err, len(found["rows"])) == (0, "", rows)
    assert found["schema"] == f"specplan.{noun}-list/1"
    assert found["answer"] == {"cards": rows, "of": rows, "layers": {"packaged": rows}}
    assert found["basis"]["kind"] == "exact"
    code, out, _ = typed(capsys, noun, "list", "-f", "csv")
    assert len(list(csv.DictReader(out.splitlines()))) == rows


def test_json_is_si(capsys):
    _, out, _ = typed(capsys, "hardware", "list", "-f", "json")
    row = next(r for r in json.loads(out)["rows"] if r["name"] == "l4")
    assert (row["bandwidth"], row["bf16_rate"], row["memory"]) == (300e9, 121e12, 23034 * 2**20)


def names(capsys, *words: str) -> list[str]:
    """The names that a list in JSON has."""
    code, out, err = typed(capsys, *words, "-f", "json")
    assert (code, err) == (0, "")
    return [row["name"] for row in json.loads(out)["rows"]]


def test_hardware_is_narrowed_and_ordered(capsys):
    words = ("hardware", "list", "--vendor", "nvidia,AMD", "--supports", "fp8")
    found = names(capsys, *words, "--min-memory", "140GB", "--sort", "bandwidth")
    assert {"h200-sxm", "mi300x", "b200-sxm"} <= set(found)
    assert not {"h100-sxm", "a100-sxm-80gb", "l40s"} & set(found)
    assert found.index("b200-sxm") < found.index("mi300x") < found.index("h200-sxm")
    turned = names(capsys, *words, "--min-memory", "140GB", "--sort", "bandwidth", "--reverse")
    assert set(turned) == set(found)
    assert turned.index("h200-sxm") < turned.index("mi300x")
    both = names(capsys, "hardware", "list", "--supports", "fp8", "--supports", "int4")
    assert both == names(capsys, "hardware", "list", "--supports", "fp8,int4")
    assert "rtx-4090" in both
    assert "h100-sxm" not in both


def test_nvfp4_runs_where_there_is_a_rate_of_fp4(capsys):
    found = names(capsys, "hardware", "list", "--supports", "nvfp4")
    assert found == names(capsys, "hardware", "list", "--supports", "fp4")
    assert "b200-sxm" in found
    assert "h200-sxm" not in found


def test_a_row_of_other_types_is_not_believed():
    kind = hardware()
    card = Catalogue().hardware("h100").card
    sound = kind.known(card)
    assert kind.rows(sound)
    wrong = {"memory": "80 GB", "name": "other", "vendor": 7, "sold": 1, "year": True}
    for key, value in wrong.items():
        assert not kind.rows(replace(sound, row={**sound.row, key: value})), key
    assert not kind.rows(replace(sound, row={"name": card.name}))


@pytest.mark.parametrize(
    ("years", "inside", "outside"),
    [
        ("2022", {"h100-sxm"}, {"h200-sxm", "a100-sxm-40gb"}),
        ("2024:", {"h200-sxm", "b300-sxm"}, {"h100-sxm"}),
        (":2022", {"h100-sxm", "a100-sxm-40gb"}, {"h200-sxm"}),
        ("2020:2023", {"h100-sxm", "a100-sxm-40gb", "l4"}, {"h200-sxm"}),
    ],
)
def test_years(capsys, years, inside, outside):
    found = set(names(capsys, "hardware", "list", "--year", years))
    assert inside <= found
    assert not outside & found


def test_models_are_narrowed_and_ordered(capsys):
    words = ("models", "list", "--kind", "moe", "--max-params", "130B", "--min-context", "64k")
    found = names(capsys, *words, "--sort", "params")
    assert {"gpt-oss-120b", "gpt-oss-20b", "qwen3-next-80b-a3b"} <= set(found)
    assert not {"kimi-k2", "llama-3.1-8b", "qwen3-30b-a3b"} & set(found)
    assert found.index("gpt-oss-120b") < found.index("gpt-oss-20b")
    assert set(names(capsys, "models", "list", "--family", "gemma-3,gemma-2")) >= {
        "gemma-2-2b",
        "gemma-3-27b",
    }


def test_a_family_is_found_by_what_it_begins_with(capsys):
    found = set(names(capsys, "models", "list", "--family", "Llama-3"))
    assert {"llama-3-8b", "llama-3.1-8b", "llama-3.2-1b"} <= found
    assert not {"llama-2-7b", "eagle3-llama-3.1-8b"} & found


def test_what_could_draft_for_a_target(capsys):
    found = names(capsys, "models", "list", "--for", "llama-3.1-70b")
    assert {"llama-3.1-8b", "llama-3.2-1b", "llama-3.2-3b"} <= set(found)
    assert not {"llama-3.1-70b", "llama-3.3-70b", "llama-2-7b", "qwen3-0.6b"} & set(found)


def test_a_file_of_the_name_that_is_no_card(capsys, tmp_path):
    put(tmp_path, "mine")
    for name, file in (("mine", "./mine.yaml"), ("./mine", "./mine.yaml")):
        said = refused(capsys, "sweep", "-g", name, "-b", "1", "-a", "0.8")
        assert said == f"specplan: --hardware: unknown hardware '{name}'; did you mean {file}?"
    assert refused(capsys, "hardware", "show", "MINE").endswith("specplan hardware list shows all")


HEAD = """\
schema: model/1
name: {name}
title: A head
family: acme
trained_context: 4096
medusa: {{hidden: 4096, vocab: 128256, heads: 4}}
drafts: {{kind: medusa, targets: [llama-3-8b]}}
sources: {{of: [medusa, trained_context], kind: published, cite: it}}
"""


@pytest.mark.parametrize("target", ["llama-3-8b", "Meta-Llama-3-8B", "meta-llama/Llama-3-8B"])
def test_what_drafts_for_a_target(capsys, tmp_path, target):
    put(tmp_path / "specplan.d", "head", HEAD)
    found = names(capsys, "models", "list", "--for", target)
    assert "head" in found
    assert "llama-3.2-3b" not in found
    kinds = names(capsys, "models", "list", "--kind", "medusa", "--family", "acme")
    assert kinds == ["head"]
    assert names(capsys, "models", "list", "--for", "mistral-7b-v0.1", "--family", "acme") == []


def test_no_match_is_said_in_one_line(capsys):
    words = ("hardware", "list", "--vendor", "apple", "--supports", "fp8")
    count = PACKAGED["hardware"]
    assert typed(capsys, *words) == (0, f"no match among {count} accelerators\n", "")
    code, out, err = typed(capsys, *words, "-f", "json")
    found = json.loads(out)
    assert (code, err, found["rows"]) == (0, "", [])
    assert found["answer"] == {"cards": 0, "of": count, "layers": {}}


def test_a_copy_of_a_packaged_card_and_an_edited_one(capsys, tmp_path):
    packaged = Path(specplan.__file__).parents[1] / "hardware"
    folder = tmp_path / "specplan.d"
    folder.mkdir()
    for name in ("l4", "l40s"):
        (folder / f"{name}.yaml").write_bytes((packaged / f"{name}.yaml").read_bytes())
    edited = (packaged / "l40s.yaml").read_text("utf-8").replace("864 GB/s", "865 GB/s")
    (folder / "l40s.yaml").write_text(edited, "utf-8")
    _, out, _ = typed(capsys, "hardware", "list", "-f", "json", "-q")
    rows = {row["name"]: row for row in json.loads(out)["rows"]}
    assert (rows["l4"]["layer"], rows["l4"]["hides"]) == ("./specplan.d", "packaged")
    assert rows["l4"]["bandwidth"] == 300e9
    assert (rows["l40s"]["bandwidth"], rows["l40s"]["layer"]) == (865e9, "./specplan.d")


def test_show_compares(capsys):
    code, out, err = typed(capsys, "hardware", "show", "h100", "h200")
    assert (code, err) == (0, "")
    (line,) = (line for line in out.splitlines() if line.startswith("bandwidth, TB/s  "))
    assert line.split()[2:] == ["3.35", "4.8", "1.43x"]
    _, out, _ = typed(capsys, "hardware", "show", "h100", "h200", "-f", "json")
    row = next(r for r in json.loads(out)["rows"] if r["key"] == "bandwidth")
    assert row["h200-sxm:ratio"] == 4.8e12 / 3.35e12


def test_show_by_alias_once(capsys):
    code, out, err = typed(capsys, "hardware", "show", "h100", "H100-SXM")
    assert (code, err) == (0, "")
    assert out.startswith("NVIDIA H100 SXM5 80 GB\nh100-sxm, also h100, ")


def test_show_keeps_the_order_named(capsys):
    _, out, _ = typed(capsys, "models", "show", "llama-3.2-1b", "llama-3-8b", "-f", "json")
    cards = [card["card"]["name"] for card in json.loads(out)["answer"]["cards"]]
    assert cards == ["llama-3.2-1b", "llama-3-8b"]


@pytest.mark.parametrize("layer", ["home/specplan", "specplan.d", "variable", "option"])
def test_a_card_that_hides_a_packaged_one_is_said(capsys, tmp_path, monkeypatch, layer):
    file = put(tmp_path / layer, "h100-sxm")
    words = ["--catalogue", layer] if layer == "option" else []
    if layer == "variable":
        monkeypatch.setenv("SPECPLAN_CATALOGUE", layer)
    code, out, err = typed(capsys, "hardware", "show", "h100-sxm", *words)
    shown = str(file.relative_to(tmp_path))
    assert code == 0
    assert out.startswith("Ours\n")
    assert f"{shown} (" in out
    note = f"h100-sxm is read from {shown}, which hides the packaged card of that name"
    assert err == f"specplan: {note}\n"
    code, out, err = typed(capsys, "hardware", "list", *words, "-q", "-f", "json")
    assert err == ""
    row = next(r for r in json.loads(out)["rows"] if r["name"] == "h100-sxm")
    assert (row["title"], row["hides"]) == ("Ours", "packaged")
    assert json.loads(out)["notes"] == [note]


def test_the_last_catalogue_wins(capsys, tmp_path):
    put(tmp_path / "one", "mine")
    put(tmp_path / "two", "mine", CARD.replace("Ours", "Theirs"))
    _, out, err = typed(
        capsys, "hardware", "show", "mine", "--catalogue", "one", "--catalogue", "two"
    )
    assert out.startswith("Theirs\n")
    note = f"mine is read from {Path('two', 'mine.yaml')}, which hides the one card of that name"
    assert err == f"specplan: {note}\n"


BROKEN = f"specplan: {Path('specplan.d', 'broken.yaml')}:4:1: unknown key 'vendour'; did you mean"


def test_a_broken_card_is_an_error_with_its_place(capsys, tmp_path):
    put(tmp_path / "specplan.d", "broken", CARD.replace("vendor", "vendour"))
    assert refused(capsys, "hardware", "show", "broken") == f"{BROKEN} 'vendor'?"


@pytest.mark.parametrize("quiet", [(), ("-q",)])
def test_a_list_has_all_cards_but_the_broken_which_it_names(capsys, tmp_path, quiet):
    put(tmp_path / "specplan.d", "broken", CARD.replace("vendor", "vendour"))
    put(tmp_path / "specplan.d", "new", CARD.replace("hardware/1", "hardware/2"))
    put(tmp_path / "specplan.d", "mine")
    code, out, err = typed(capsys, "hardware", "list", "-f", "json", *quiet)
    assert code == 2
    names = [row["name"] for row in json.loads(out)["rows"]]
    assert (len(names), "mine" in names) == (PACKAGED["hardware"] + 1, True)
    new = f"specplan: {Path('specplan.d', 'new.yaml')}:1:9: schema is 'hardware/2'"
    assert err.splitlines() == [f"{BROKEN} 'vendor'?", f"{new}; expected 'hardware/1'"]
    assert typed(capsys, "models", "list", "-f", "csv")[::2] == (0, "")
    assert typed(capsys, "hardware", "show", "h100")[::2] == (0, "")


def test_sources_are_wrapped_for_people_and_whole_for_machines(capsys):
    _, out, _ = typed(capsys, "hardware", "show", "b200", "h100", "-f", "json")
    cites = [
        s["cite"] for card in json.loads(out)["answer"]["cards"] for s in card["card"]["sources"]
    ]
    assert max(map(len, cites)) > 80
    _, out, _ = typed(capsys, "hardware", "show", "h100")
    sources = out[out.index("[1] ") :].splitlines()
    assert all(len(line) <= 80 or " " not in line.strip() for line in sources)
    assert "    compute/accelerator/README.md, whose rows" in out
    _, markdown, _ = typed(capsys, "hardware", "show", "h100", "-f", "markdown")
    assert max(map(len, markdown.splitlines())) > 250


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("hardware", "show", "h10"), "unknown hardware 'h10'; did you mean 'h100'?"),
        (("models", "show", "lama-3-8b"), "unknown model 'lama-3-8b'; did you mean 'llama-3-8b'?"),
        (("models", "show", "h100.yaml"), "h100.yaml: no such file"),
        (("hardware", "list", "--catalogue", "no"), "--catalogue: no folder 'no'"),
        (
            ("hardware", "list", "--vendor", "nvida"),
            "--vendor: unknown vendor 'nvida'; did you mean 'nvidia'?",
        ),
        (
            ("hardware", "list", "--supports", "fp9"),
            "--supports: unknown dtype 'fp9'; did you mean 'fp8'?",
        ),
        (
            ("hardware", "list", "--min-memory", "80"),
            "--min-memory: '80' has no unit; 80 looks like GiB or GB; write the unit",
        ),
        (
            ("hardware", "list", "--min-bandwidth", "3TBps"),
            "--min-bandwidth: '3TBps' has an unknown unit 'TBps'; "
            "expected a quantity such as 3.35 TB/s; did you mean '3 TB/s'?",
        ),
        (
            ("hardware", "list", "--status", "anounced"),
            "--status: unknown status 'anounced'; did you mean 'announced'?",
        ),
        (
            ("hardware", "list", "--sort", "-memory"),
            "--sort: unknown order '-memory'; did you mean 'memory'?",
        ),
        (
            ("hardware", "list", "--year", "2025:2023"),
            "--year: the years 2025:2023 fall; write 2023:2025",
        ),
        (
            ("hardware", "list", "--year", "soon"),
            "--year: 'soon' is no year; expected 2023, 2023: or 2020:2023",
        ),
        (
            ("hardware", "list", "h100", "h200"),
            "list takes no names; write specplan hardware show h100 h200",
        ),
        (("engines", "list", "vllm"), "list takes no names; write specplan engines show vllm"),
        (
            ("hardware", "list", "--min-memory", "140gb"),
            "--min-memory: '140gb' has an unknown unit 'gb'; "
            "expected a quantity such as 80 GiB or 80 GB; did you mean '140 GB'?",
        ),
        (
            ("models", "list", "--kind", "draft-model"),
            "--kind: unknown kind 'draft-model'; did you mean 'drafter'?",
        ),
        (
            ("models", "list", "--kind", "hybird"),
            "--kind: unknown kind 'hybird'; did you mean 'hybrid'?",
        ),
        (
            ("models", "list", "--min-params", "70"),
            "--min-params: 70 parameters are no model; "
            "expected parameters such as 70B, 500M or 8e9; write 70B",
        ),
        (
            ("models", "list", "--max-params", "-1"),
            "--max-params: -1 parameters are no model; "
            "expected parameters such as 70B, 500M or 8e9",
        ),
        (
            ("models", "list", "--min-params", "0B"),
            "--min-params: 0 parameters are no model; expected parameters such as 70B, 500M or 8e9",
        ),
        (
            ("models", "list", "--min-context", "0"),
            "--min-context: 0 tokens are no context; expected such as 128k",
        ),
        (
            ("models", "list", "--min-context", "-8k"),
            "--min-context: -8192 tokens are no context; expected such as 128k",
        ),
        (("hardware", "list", "--min-memory", "0GB"), "--min-memory: '0GB' is not above 0"),
        (
            ("hardware", "list", "--min-bandwidth", "0TB/s"),
            "--min-bandwidth: '0TB/s' is not above 0",
        ),
        (
            ("hardware", "list", "--supports", "mxfp4"),
            "--supports: no accelerator has a rate of mxfp4: engines widen it to 16 bits to "
            "multiply; write --supports bf16",
        ),
        (
            ("models", "list", "--max-params", "big"),
            "--max-params: 'big' is no number of parameters; "
            "expected parameters such as 70B, 500M or 8e9",
        ),
        (
            ("models", "list", "--min-context", "1k,2k"),
            "--min-context: one number, not 2; expected such as 128k",
        ),
        (
            ("models", "list", "--for", "lama-3-8b"),
            "--for: unknown model 'lama-3-8b'; did you mean 'llama-3-8b'?",
        ),
        (
            ("models", "list", "--family", "gema-3"),
            "--family: unknown family 'gema-3'; did you mean 'gemma-3'?",
        ),
        (("schema", "plans"), "unknown kind 'plans'; did you mean 'plan'?"),
        (
            ("schema", "zzz"),
            "unknown kind 'zzz'; "
            "expected one of curve, engine, hardware, held-out, measurements, model, plan",
        ),
    ],
)
def test_mistakes(capsys, words, message):
    assert refused(capsys, *words) == f"specplan: {message}"


def test_show_needs_a_name(capsys):
    assert "missing argument" in refused(capsys, "hardware", "show").lower()


@pytest.mark.parametrize("kind", ["hardware", "model", "plan"])
def test_schema(capsys, tmp_path, kind):
    code, out, err = typed(capsys, "schema", kind)
    assert (code, out, err) == (0, schema_text(kind), "")
    code, out, err = typed(capsys, "schema", kind, "-o", f"{kind}.schema.json")
    assert (code, out, err) == (0, "", "")
    assert (tmp_path / f"{kind}.schema.json").read_text("utf-8") == schema_text(kind)


def test_an_answer_never_replaces_the_card_that_it_shows(capsys, tmp_path):
    file = put(tmp_path, "mine")
    assert "is an input of this answer" in refused(
        capsys, "hardware", "show", "mine.yaml", "-f", "plain", "-o", "mine.yaml"
    )
    assert file.read_text("utf-8") == CARD.format(name="mine")


def test_markdown_makes_a_table(capsys):
    _, out, _ = typed(capsys, "hardware", "show", "l4", "l40s", "-f", "markdown")
    assert "| figure | l4 | l40s |" in out


@pytest.mark.parametrize("words", [("hardware", "list"), ("schema", "plan")])
def test_a_closed_pipe_is_quiet(words):
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "specplan", *words],
        stdout=write,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.parametrize("words", [("hardware", "--help"), ("models", "show", "--help")])
def test_help_loads_nothing_of_ours(words):
    program = (
        "import sys\n"
        "from specplan.cli.run import run\n"
        f"assert run({list(words)!r}) == 0\n"
        "heavy = {'numpy', 'yaml', 'rich', 'specplan.catalogue', 'specplan.physics',"
        " 'specplan.render', 'specplan.questions'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
