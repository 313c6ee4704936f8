"""models import as typed: a card, where each figure is from, or one line about why not."""

from __future__ import annotations

import csv
import io
import json
import shlex
from pathlib import Path

import pytest
from foreign import gguf, safetensors, written
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
    assert said.err.splitlines() == [
        "specplan: dtype                bf16   torch_dtype",
        "specplan: matmul_params        1,408  weights that one token multiplies, head too",
        "specplan: stored_params        1,704  everything stored; tied weights once",
        "specplan: kv_bytes_per_token   32     all layers at 16 bits, windows ignored",
        "specplan: tie_word_embeddings  false  default of LlamaConfig",
        "specplan: head_dim             2      absent, hidden_size / num_attention_heads",
        "specplan: all figures: -f table",
        "specplan: next: -o tiny.yaml writes it; then specplan check tiny.yaml; "
        "specplan sweep -t ./tiny.yaml",
    ]
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
    assert said.err == (
        "specplan: wrote mine.yaml\n"
        "specplan: next: specplan check mine.yaml; specplan sweep -t ./mine.yaml\n"
    )
    assert read(MINE).name == "mine"
    assert imports(capsys, "tiny.json -o mine.yaml --force -q").err == ""


def test_the_figures_fit_a_line_of_100_characters(capsys):
    """The longest names of figures and keys that public configs have."""
    hybrid = "M*EME"
    config = {
        "model_type": "nemotron_h",
        "hybrid_override_pattern": hybrid,
        "moe_intermediate_size": 4,
        "moe_shared_expert_intermediate_size": 4,
        "n_routed_experts": 500_000,
        "n_shared_experts": 1,
        "num_experts_per_tok": 2,
        "mamba_num_heads": 4,
        "mamba_head_dim": 4,
        "n_groups": 2,
        "ssm_state_size": 4,
        "conv_kernel": 4,
    }
    layers = {"num_hidden_layers": len(hybrid), "hidden_size": 800_000}
    Path("wide.json").write_text(json.dumps(small(**{**config, **layers})))
    said = imports(capsys, "wide.json -o mine.yaml")
    assert said.code == 0, said.err
    assert "moe_shared_expert_intermediate_size  4 " in said.out
    assert max(map(len, said.out.splitlines())) <= 100


def test_figures_for_a_file_say_that_the_card_goes_elsewhere(capsys):
    said = imports(capsys, "tiny.json -o tiny-figures.json")
    assert "tiny-figures.json gets the figures: the card itself goes to a .yaml" in said.err
    assert json.loads(Path("tiny-figures.json").read_text())["answer"]["card"]["name"] == "tiny"
    assert "goes to a .yaml" not in imports(capsys, "tiny.json -f json").err


def test_what_comes_next_for_a_drafter_names_its_target(capsys):
    said = imports(capsys, "head.json --for llama-3.1-8b -o mine.yaml")
    assert said.err.endswith("check mine.yaml; specplan sweep -t llama-3.1-8b -d ./mine.yaml\n")
    target = {**HEAD, "architectures": ["LlamaForCausalLMEagle3"]}
    Path("head.json").write_text(json.dumps(target))
    said = imports(capsys, "head.json")
    assert "no target is named: --for TARGET names it" in said.err
    assert said.err.endswith("specplan sweep -t TARGET -d ./head.yaml\n")


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
    has = "the catalogue has a model of that name, llama-3.1-8b: "
    assert f"{has}--name gives another" in said.err
    assert "the catalogue has" not in imports(capsys, "llama-3.1-8b.json --name other").err
    said = imports(capsys, "tiny.json -o llama-3.1-8b.yaml")
    assert f"{has}another file name gives another" in said.err


def test_an_alias_that_the_catalogue_has_is_said(capsys):
    said = imports(capsys, "tiny.json --name deepseek-v3")
    assert "deepseek-v3 is another name of deepseek-r1 (SC004): --name gives another" in said.err
    assert "another name" not in imports(capsys, "tiny.json").err


def test_a_card_replaced_in_the_catalogue_is_no_other_of_its_name(capsys):
    Path("specplan.d").mkdir()
    for flags in ("", " --force"):
        said = imports(capsys, f"tiny.json -o specplan.d/mine.yaml{flags}")
        assert (said.code, "the catalogue has" in said.err) == (0, False)


def test_files_unlike_the_card_are_said(capsys):
    folder = Path("whole")
    folder.mkdir()
    (folder / "config.json").write_text(
        json.dumps(small(vocab_size=40_000, tie_word_embeddings=True))
    )
    held = 1704 - 2 * 8 * 32 + 8 * 40_000
    for beyond, said in ((0, False), (held // 20 - 50, False), (held // 5, True)):
        header = safetensors({"all": ("BF16", [held + beyond])})
        written(folder / "model.safetensors", header)
        err = imports(capsys, "whole").err
        assert ("bytes, 20 % more than the" in err) is said
        more = "of the parts on the card; they may hold the tied head stored a second time"
        assert (more in err) is said
        assert (more in imports(capsys, "whole -o mine.yaml --force").err) is said


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
        ("tiny.json -o away/mine.yaml", "--output: no folder 'away'; mkdir away"),
        ("tiny.json -o a/b/mine.yaml", "--output: no folder 'a/b'; mkdir -p a/b"),
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
    assert refused(capsys, "tiny.json -o mine.yaml --force") == (
        "--output: mine.yaml is no model card; name another file"
    )
    assert MINE.read_text() == "precious"
    MINE.write_text("schema: model/1\n")
    assert imports(capsys, "tiny.json -o mine.yaml --force").code == 0
    assert read(MINE).name == "mine"


@pytest.mark.parametrize("flags", ["-o tiny.json", "-o tiny.json --force", "-o t5.json -f json"])
def test_what_is_read_is_never_written(capsys, flags):
    before = Path("tiny.json").read_bytes(), Path("t5.json").read_bytes()
    assert "is an input of this answer" in refused(capsys, f"tiny.json {flags}")
    assert (Path("tiny.json").read_bytes(), Path("t5.json").read_bytes()) == before


def test_a_drafter_is_no_target(capsys):
    said = refused(capsys, "tiny.json --for eagle3-llama-3.1-8b")
    assert said.startswith("--for: eagle3-llama-3.1-8b drafts itself (eagle3)")


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


@pytest.mark.parametrize("name", ["tiny.json", "index.csv"])
def test_a_report_is_never_written_over_what_it_read(capsys, name):
    Path("configs").mkdir()
    Path("tiny.json").rename("configs/tiny.json")
    Path("configs/index.csv").write_text("file,published_total_params\ntiny.json,1704\n")
    before = Path(f"configs/{name}").read_bytes()
    said = refused(capsys, f"--report configs -o configs/{name}")
    assert said == f"--output: configs/{name} is an input of this answer"
    assert Path(f"configs/{name}").read_bytes() == before
    for _ in range(2):  # what another report left there is not read
        assert imports(capsys, "--report configs -o configs/fared.csv").code == 0


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


# GGUF


def q8_0(layers: int = 2, hidden: int = 64, feed: int = 128, vocab: int = 4000) -> bytes:
    """A whole Llama in Q8_0: 4 heads and 2 KV heads of 16."""
    tensors = {"token_embd.weight": (8, (vocab, hidden)), "output.weight": (8, (vocab, hidden))}
    tensors["output_norm.weight"] = (0, (hidden,))
    shapes = {
        "attn_q": (hidden, hidden),
        "attn_k": (32, hidden),
        "attn_v": (32, hidden),
        "attn_output": (hidden, hidden),
        "ffn_down": (hidden, feed),
        "ffn_gate": (feed, hidden),
        "ffn_up": (feed, hidden),
    }
    for number in range(layers):
        tensors |= {f"blk.{number}.{name}.weight": (8, shape) for name, shape in shapes.items()}
        norms = ("attn_norm", "ffn_norm")
        tensors |= {f"blk.{number}.{name}.weight": (0, (hidden,)) for name in norms}
    figures = {
        "block_count": layers,
        "embedding_length": hidden,
        "feed_forward_length": feed,
        "attention.head_count": 4,
        "attention.head_count_kv": 2,
        "context_length": 2048,
    }
    stated = {f"llama.{key}": value for key, value in figures.items()}
    return gguf({"general.architecture": "llama", **stated}, tensors)


def test_a_gguf_card_is_exact_and_accepts_the_bits_of_its_own_types(capsys):
    """Each layer: 2 x 64 x 64 + 2 x 32 x 64 + 3 x 64 x 128 + 2 x 64. Q8_0 holds 8.5 bits."""
    Path("mine.gguf").write_bytes(q8_0())
    assert imports(capsys, "mine.gguf -o mine.yaml").code == 0
    read_back = read(MINE)
    layer = 2 * 64 * 64 + 2 * 32 * 64 + 3 * 64 * 128 + 2 * 64
    assert read_back.architecture.stored_params == 2 * layer + 2 * 4000 * 64 + 64 == 586_048
    vectors = 5 * 64
    assert read_back.stored_bytes == (586_048 - vectors) * 34 / 32 + 4 * vectors
    said = answered(capsys, ["check", "mine.yaml"])
    assert (said.code, said.out) == (0, "1 card: nothing found; 1 note, -f json shows it\n")
