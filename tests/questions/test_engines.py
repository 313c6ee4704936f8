"""Engines in a table and one by one."""

from __future__ import annotations

import io
from dataclasses import fields, replace

import pytest
from engine_worlds import ENGINE, SIMPLE

from specplan.catalogue.store import Catalogue
from specplan.domain.answer import Facts
from specplan.domain.card import Origin
from specplan.domain.engine import AllReduce, Engine, Kernels
from specplan.questions.cards import Filed
from specplan.questions.engines import list_engines, show_engine
from specplan.render import renderer
from specplan.render.look import Look

STORE = Catalogue()
MADE = Filed(ENGINE, Origin(path="mine/made.yaml", sha256="ab" * 32, layer="mine"))


def filed(name: str) -> Filed[Engine]:
    loaded = STORE.engine(name)
    return Filed(loaded.card, loaded.origin)


EVERY = [filed(name) for name in STORE.entries("engines")]


def facts(of: Filed[Engine]) -> dict[str, str]:
    sections = show_engine(of).view.sections
    return {k: v for section in sections if isinstance(section, Facts) for k, v in section.pairs}


def test_a_row_for_each_engine():
    rows = {row["name"]: row for row in list_engines(EVERY).table.records()}
    assert set(rows) == {"llamacpp", "roofline", "sglang", "transformers", "trtllm", "vllm"}
    assert rows["roofline"]["kind"] == "bound"
    assert rows["roofline"]["since"] is None
    assert rows["vllm"]["since"] == "0.6, 0.14"
    assert "h100-sxm" in rows["vllm"]["measured"]
    assert (rows["transformers"]["follows"], rows["transformers"]["measured"]) == ("vllm", None)


def test_every_constant_of_every_kernel_is_a_row():
    rows = list(show_engine(MADE).table.records())
    families = [*SIMPLE.gemm.values(), *SIMPLE.attention.values(), *SIMPLE.experts.values()]
    numbers = [
        value
        for family in (*families, SIMPLE.latent)
        for value in (getattr(family, field.name) for field in fields(family))
        if isinstance(value, float | int)
    ]
    constants = [row["value"] for row in rows if "reduce" not in str(row["kernel"])]
    assert [v for v in numbers if v not in constants] == []
    single = [row["value"] for row in rows if row["constant"] == "single"]
    assert sorted(single) == [0.0, 9e-6]
    assert {row["gpu"] for row in rows} == {"chip"}
    assert {row["basis"] for row in rows} == {"measured"}


def test_habits_are_told_by_version():
    told = facts(MADE)
    assert told["from 1"] == (
        "host 1 ms a step (hidden), 0.5 ms a round (exposed); graphs to 512 rows"
    )
    assert told["small kernels"] == "3 a layer of 3 us, sampler 40 us"
    assert told["expert overlap"] == "kappa 1"
    assert told["chip (measured)"].startswith("bf16 0.80 of bandwidth, 0.50 of peak")


def test_the_roofline_has_no_habits():
    assert "expert overlap" not in facts(filed("roofline"))
    assert list(show_engine(filed("roofline")).table.records()) == []


def test_an_engine_of_ones_own_says_where_it_is_from():
    answer = list_engines([MADE])
    assert next(answer.table.records())["layer"] == "mine"
    hides = replace(MADE, hides="packaged")
    assert list_engines([hides]).notes == (
        "made is read from mine/made.yaml, which hides the packaged card of that name",
    )


@pytest.mark.parametrize("of", EVERY, ids=lambda of: of.card.name)
def test_a_sheet_is_written(of):
    out = io.StringIO()
    renderer("plain")(show_engine(of), out, Look(color=False, width=None, unicode=True))
    assert out.getvalue().startswith(of.card.title)


def test_kernels_without_products_are_said_to_have_none():
    kernels = Kernels(
        gpus=("bare",),
        basis="assumed",
        allreduce=(AllReduce(gpus=2, times=(1e-6,) * 7, bus=1e11),),
    )
    made = replace(MADE, card=replace(ENGINE, kernels=(kernels,)))
    assert facts(made)["bare (assumed)"] == "no matrix kernels"
