"""Card rules one by one, what a card may accept, and every packaged card under all of them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from engine_worlds import ENGINE

from specplan.catalogue.store import Catalogue
from specplan.cli.kin import Kin
from specplan.domain.architecture import Architecture
from specplan.domain.card import Dtype, Source
from specplan.domain.curve import Curve
from specplan.domain.hardware import Hardware
from specplan.domain.layers import Block, Mlp
from specplan.domain.mixers import Attention
from specplan.domain.model import Model
from specplan.rules import Finding
from specplan.rules.cards import (
    CARD_RULES,
    ENGINE_FIGURES,
    check_card,
    check_engine,
    check_hardware,
    check_model,
)
from specplan.rules.lent import strangers
from specplan.rules.names import answering, check_aliases
from specplan.rules.registry import RULES
from specplan.rules.sources import covering, numeric_keys


def source(*of: str) -> Source:
    return Source(of=of, kind="datasheet", cite="the datasheet")


GPU = Hardware(
    schema="hardware/1",
    name="gpu",
    title="A GPU",
    vendor="acme",
    aliases=("big", "bigger"),
    year=2024,
    rates={Dtype.BF16: 200e12, Dtype.FP16: 200e12, Dtype.FP8: 400e12},
    bandwidth=1e12,
    memory=81559 * 2**20,
    memory_basis="driver",
    l2=50e6,
    sources=(source("rates", "bandwidth", "year"), source("memory", "l2")),
)
LM = Model(
    schema="model/1",
    name="lm",
    title="A model",
    family="acme",
    trained_context=8192,
    matmul_params=162304,
    architecture=Architecture(
        hidden=64,
        vocab=1000,
        tied_embeddings=True,
        blocks=(
            Block(
                repeat=2,
                attention=Attention(heads=4, kv_heads=2, head_dim=16),
                mlp=Mlp(width=256),
            ),
        ),
    ),
    sources=(source("trained_context", "matmul_params", "architecture"),),
)


def test_good_cards_have_no_findings():
    assert check_hardware(GPU) == []
    assert check_model(LM) == []
    assert (
        check_aliases(GPU, answering([GPU, replace(GPU, name="other", aliases=("small",))])) == []
    )


def test_numeric_keys():
    assert list(numeric_keys(GPU)) == [
        ("year",),
        ("rates", "bf16"),
        ("rates", "fp16"),
        ("rates", "fp8"),
        ("bandwidth",),
        ("memory",),
        ("l2",),
    ]
    assert list(numeric_keys(LM)) == [("trained_context",), ("matmul_params",), ("architecture",)]


def test_covering():
    sources = (source("rates.fp8"), source("rates", "memory"), source("rate"))
    assert covering(("rates", "fp8"), sources) == (1, 2)
    assert covering(("rates", "bf16"), sources) == (2,)
    assert covering(("memory",), sources) == (2,)
    assert covering(("l2",), sources) == ()


@pytest.mark.parametrize(
    ("card", "findings"),
    [
        (
            replace(GPU, sources=(source("rates", "bandwidth", "year"), source("memory"))),
            [Finding("SC001", "error", "no source covers l2", ("l2",))],
        ),
        (
            replace(GPU, sources=(source("rates.bf16", "bandwidth", "year", "memory", "l2"),)),
            [
                Finding("SC001", "error", "no source covers rates.fp16", ("rates", "fp16")),
                Finding("SC001", "error", "no source covers rates.fp8", ("rates", "fp8")),
            ],
        ),
    ],
)
def test_sc001_a_figure_without_a_source(card, findings):
    assert check_hardware(card) == findings


def test_sc001_in_models():
    card = replace(LM, sources=(source("trained_context", "matmul_params"),))
    found = [Finding("SC001", "error", "no source covers architecture", ("architecture",))]
    assert check_model(card) == found


@pytest.mark.parametrize(
    ("bandwidth", "fires"),
    [(200e12 / 20, False), (200e12 / 2000, False), (11e12, True), (9e10, True)],
)
def test_sc002_the_ridge_point(bandwidth, fires):
    card = replace(GPU, bandwidth=bandwidth, rates={Dtype.BF16: 200e12})
    assert [f.rule for f in check_hardware(card)] == (["SC002"] if fires else [])


def test_sc002_names_each_16_bit_rate():
    card = replace(GPU, bandwidth=3.35e9)
    assert check_hardware(card) == [
        Finding(
            "SC002",
            "warning",
            f"{dtype} rate over bandwidth is 59,700 FLOP/B; expected 20 to 2000",
            ("rates", dtype),
        )
        for dtype in ("bf16", "fp16")
    ]


def test_sc002_leaves_other_rates_alone():
    card = replace(GPU, bandwidth=150e9, rates={Dtype.BF16: 200e12, Dtype.INT4: 800e12})
    assert check_hardware(card) == []


@pytest.mark.parametrize(
    ("rates", "message"),
    [
        ({Dtype.BF16: 100e12, Dtype.FP8: 400e12}, "fp8 rate is 4.00 times the bf16 rate"),
        ({Dtype.BF16: 100e12, Dtype.FP8: 50e12}, "fp8 rate is 0.500 times the bf16 rate"),
        ({Dtype.FP16: 100e12, Dtype.FP8: 375e12}, "fp8 rate is 3.75 times the fp16 rate"),
        ({Dtype.BF16: 100e12, Dtype.FP8: 210e12}, ""),
        ({Dtype.BF16: 100e12, Dtype.FP8: 100e12}, ""),
        ({Dtype.BF16: 100e12}, ""),
        ({Dtype.INT8: 100e12, Dtype.FP8: 400e12}, ""),
    ],
)
def test_sc003_fp8_against_16_bits(rates, message):
    found = [Finding("SC003", "warning", f"{message}; expected 1 to 2.1", ("rates", "fp8"))] * bool(
        message
    )
    card = replace(GPU, rates=rates)
    assert [f for f in check_hardware(card) if f.rule == "SC003"] == found


CURE = "rename one; a card of your own hides a packaged one by its name, not by an alias"


def test_sc004_names_of_two_cards():
    other = replace(GPU, name="bigger", aliases=("big", "gpu"))
    assert check_aliases(GPU, answering([GPU, other])) == [
        Finding("SC004", "error", f"'gpu' is a name of bigger too: {CURE}", ("name",)),
        Finding("SC004", "error", f"'big' is a name of bigger too: {CURE}", ("aliases", 0)),
        Finding("SC004", "error", f"'bigger' is a name of bigger too: {CURE}", ("aliases", 1)),
    ]


def test_sc004_is_said_once_however_often_the_other_card_was_read():
    other = replace(GPU, name="rival", aliases=("big",))
    answer = answering([other, replace(other, title="read again"), other])
    assert check_aliases(GPU, answer) == [
        Finding("SC004", "error", f"'big' is a name of rival too: {CURE}", ("aliases", 0))
    ]


def test_sc004_a_card_that_another_overrides_is_no_clash():
    assert check_aliases(GPU, answering([replace(GPU, title="the same name elsewhere")])) == []


@pytest.mark.parametrize("check", [check_hardware, check_model])
def test_sc005_a_packaged_card_overridden(check):
    card = GPU if check is check_hardware else LM
    message = f"{card.name} hides the packaged card of that name"
    assert check(card, overrides=True) == [Finding("SC005", "warning", message, ("name",))]


def test_sc006_memory_from_the_label():
    message = "capacity is the label, not what the driver reports"
    found = [Finding("SC006", "note", message, ("memory_basis",))]
    assert check_hardware(replace(GPU, memory_basis="label")) == found


def test_sc007_accepting_what_does_not_fire():
    card = replace(GPU, accept={"SC003": "it is so", "SC999": "whatever"})
    assert check_hardware(card) == [
        Finding("SC007", "warning", f"{rule} is accepted and finds nothing", ("accept", rule))
        for rule in ("SC003", "SC999")
    ]


def test_sc004_names_a_few_of_many():
    others = [replace(GPU, name=f"rival-{n}", aliases=("big",)) for n in range(1200)]
    assert [f.message for f in check_aliases(GPU, answering(others))] == [
        f"'big' is a name of rival-0, rival-1, rival-2 and 1,197 more too: {CURE}"
    ]


@pytest.mark.parametrize("word", ["free", "none", "ratio"])
def test_sc008_a_model_called_as_a_way_to_draft(word):
    message = f"'{word}' after --draft is a way to draft, not this card"
    assert check_model(replace(LM, name=word)) == [Finding("SC008", "error", message, ("name",))]
    assert check_model(replace(LM, aliases=("small", word))) == [
        Finding("SC008", "error", message, ("aliases", 1))
    ]
    assert check_hardware(replace(GPU, name=word)) == []


@pytest.mark.parametrize("name", ["2xgpu", "gpu100x8"])
def test_sc008_an_accelerator_called_as_a_number_of_them(name):
    message = f"'{name}' is read as a number of accelerators, not as this card"
    assert check_hardware(replace(GPU, name=name)) == [
        Finding("SC008", "error", message, ("name",))
    ]
    assert check_model(replace(LM, name=name)) == []


def test_sc009_a_model_without_any_figure():
    bare = replace(LM, matmul_params=None, kv_bytes_per_token=None, architecture=None)
    found = [f for f in check_model(bare) if f.rule == "SC009"]
    assert [(f.level, f.path) for f in found] == [("error", ("name",))]
    assert "lm" in found[0].message
    figures = replace(LM, architecture=None, matmul_params=1e9, kv_bytes_per_token=1e4)
    assert [f for f in check_model(figures) if f.rule == "SC009"] == []


def test_sc010_an_accelerator_that_multiplies_no_bf16():
    only = replace(GPU, rates={Dtype.FP8: 400e12})
    assert check_hardware(only) == [
        Finding("SC010", "warning", "no rate for bf16 weights, only for fp8", ("rates",))
    ]
    assert check_hardware(replace(only, unsupported={Dtype.BF16: "fp8 alone"})) == []
    assert check_hardware(replace(GPU, rates={Dtype.BF16: 200e12})) == []


def test_sc011_a_rate_of_what_is_not_supported():
    card = replace(GPU, unsupported={Dtype.FP4: "no FP4 mode", Dtype.FP8: "no FP8 mode"})
    assert check_hardware(card) == [
        Finding("SC011", "error", "fp8 has a rate and is unsupported", ("unsupported", "fp8"))
    ]


@pytest.mark.parametrize(
    ("key", "stray"),
    [
        ("foo", True),
        ("rates.int8", True),
        ("rates.bf16.x", True),
        ("link", True),  # a key that this card leaves out
        ("rates.bf16", False),
        ("memory", False),
    ],
)
def test_sc012_a_source_of_what_is_not_there(key, stray):
    found = check_hardware(replace(GPU, sources=(*GPU.sources, source("year", key))))
    message = f"'{key}' is no key of the card"
    path = ("sources", 2, "of", 1)
    assert found == ([Finding("SC012", "warning", message, path)] if stray else [])


def test_sc012_looks_into_an_architecture():
    card = replace(LM, sources=(*LM.sources, source("architecture.hidden", "architecture.depth")))
    assert [f.message for f in check_model(card)] == ["'architecture.depth' is no key of the card"]


def test_an_accepted_warning_is_a_note_with_the_reason():
    sparse = {Dtype.BF16: 100e12, Dtype.FP8: 375e12}
    card = replace(GPU, rates=sparse, accept={"SC003": "the chip is so"})
    message = "fp8 rate is 3.75 times the bf16 rate; expected 1 to 2.1; accepted: the chip is so"
    assert check_hardware(card) == [Finding("SC003", "note", message, ("rates", "fp8"))]


def test_an_accepted_override_is_a_note():
    card = replace(LM, accept={"SC005": "our own build"})
    message = "lm hides the packaged card of that name; accepted: our own build"
    assert check_model(card, overrides=True) == [Finding("SC005", "note", message, ("name",))]


def test_errors_cannot_be_accepted():
    card = replace(GPU, sources=GPU.sources[:1], accept={"SC001": "trust me"})
    assert check_hardware(card) == [
        Finding("SC001", "error", "no source covers memory", ("memory",)),
        Finding("SC001", "error", "no source covers l2", ("l2",)),
        Finding(
            "SC007", "warning", "SC001 is an error and cannot be accepted", ("accept", "SC001")
        ),
    ]


def test_every_card_rule_is_registered_and_explained():
    assert [rule.id for rule in CARD_RULES] == [f"SC{n:03}" for n in range(1, 48)]
    for rule in CARD_RULES:
        assert RULES[rule.id] is rule
        assert rule.help == f"{rule.what} {rule.why} {rule.remedy}"
        assert all(part.endswith(".") for part in (rule.what, rule.why, rule.remedy))


STORE = Catalogue()
KIN = Kin(STORE, ())
PACKAGED = [*STORE.every(Hardware), *STORE.every(Model), *STORE.every(Curve)]


@pytest.mark.parametrize("loaded", PACKAGED, ids=lambda loaded: loaded.card.name)
def test_packaged_cards_have_sources_and_no_warnings(loaded):
    """Every number has a source; what looks odd is accepted with a reason; drafters fit what they
    name.
    """
    found = check_card(loaded.card, also=KIN.beside(loaded))
    assert [f for f in (*found, *KIN.clashes(loaded.card)) if f.level != "note"] == []
    for finding in found:
        where = loaded.document.where(finding.path)
        assert where.line > 1, f"{finding} leads nowhere in the file"


def test_an_engine_owes_sources_for_what_it_states_itself():
    bare = replace(ENGINE, expert_overlap=0.5, sources=(source("follows"),))
    keys = ["expert_overlap", "small", "kernels", "releases"]
    assert [f.message for f in check_engine(bare)] == [f"no source covers {key}" for key in keys]
    one = replace(bare, expert_overlap=None, small=None, kernels=())
    (found,) = check_engine(one)
    assert (found.rule, found.path) == ("SC001", ("releases",))
    assert check_engine(replace(one, releases=())) == []


def test_accelerators_of_no_card():
    engine = replace(ENGINE, stand_in="big")
    answer = {"gpu": ["gpu"], "big": ["gpu"], "chips": ["chips"]}
    assert list(strangers(engine, {"gpu", "chips"}, answer)) == [
        Finding(
            "SC013",
            "warning",
            "no hardware card is named 'big'; write gpu, as its card is named",
            ("stand_in",),
        ),
        Finding(
            "SC013",
            "warning",
            "no hardware card is named 'chip'; did you mean 'chips'?",
            ("kernels", 0, "gpus", 0),
        ),
    ]
    assert list(strangers(engine, {"big", "chip"}, answer)) == []
    accepting = replace(engine, accept={"SC013": "on order"}, sources=(source(*ENGINE_FIGURES),))
    found = check_engine(accepting, also=strangers(engine, {"big"}, answer))
    assert [(f.level, f.path[0]) for f in found] == [("note", "kernels")]
