"""Engines in a table and one by one."""

from __future__ import annotations

import io
from dataclasses import fields, replace

import pytest
from engine_worlds import ENGINE, RELEASE, SIMPLE, SMALL

from specplan.catalogue.store import Catalogue
from specplan.domain.answer import Facts, Lines
from specplan.domain.card import Origin
from specplan.domain.engine import AllReduce, Engine, Kernels
from specplan.errors import UsageError
from specplan.questions.cards import Filed, Listed
from specplan.questions.engines import show_engine
from specplan.questions.engines_list import engine_row, list_engines
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


def prose(of: Filed[Engine], version: str | None = None) -> str:
    sections = show_engine(of, version).view.sections
    return "\n".join(t for one in sections if isinstance(one, Lines) for t in one.lines)


def page(of: Filed[Engine], version: str | None = None) -> str:
    out = io.StringIO()
    look = Look(color=False, width=None, unicode=True)
    renderer("plain")(show_engine(of, version), out, look)
    return out.getvalue()


def listed(*filed: Filed[Engine]) -> list[Listed]:
    return [Listed(engine_row(f.card), f.card.aliases, f.origin, f.hides) for f in filed]


def test_a_row_for_each_engine():
    rows = {row["name"]: row for row in list_engines(listed(*EVERY)).table.records()}
    assert set(rows) == {"llamacpp", "roofline", "sglang", "transformers", "trtllm", "vllm"}
    assert rows["roofline"]["kind"] == "bound"
    assert rows["roofline"]["since"] is None
    assert rows["vllm"]["since"] == "0.6, 0.14, 0.20"
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
    assert {(row["gpu"], row["basis"]) for row in rows} == {("chip", "measured"), (None, None)}
    eight = {row["constant"]: row["value"] for row in rows if row["kernel"] == "all-reduce 8"}
    assert list(eight.values()) == [*SIMPLE.allreduce[1].times, 4e11]
    assert eight["times 256 KiB"] == 20e-6


def test_every_habit_is_a_row():
    rows = list(show_engine(MADE).table.records())
    general = {(row["kernel"], row["constant"]): row["value"] for row in rows if not row["gpu"]}
    for group, of in (("small", SMALL), ("from 1", RELEASE)):
        for field in fields(of):
            if field.name not in {"since", "says", "unhidden"}:  # those that are numbers
                assert general[group, field.name] == getattr(of, field.name)
    assert general["engine", "expert_overlap"] == 1.0
    assert general["engine", "rereads_kv"] == 0.0


def test_habits_are_told_by_version():
    told = facts(MADE)
    assert told["versions"] == "from 1"
    assert told["plain step"] == "1 ms of host time, hidden behind the GPU"
    assert told["round"] == "0.5 ms of host time, exposed"
    assert told["draft pass"] == "0.1 ms of host time"
    assert told["CUDA graphs"] == "up to 512 rows; beyond, kernels start one by one, 5 us each"
    assert told["small kernels"] == "3 a layer, 3 us each, 0.5 of bandwidth"
    assert told["sampler"] == "40 us a pass, 20 us a draft pass"
    assert told["recurrent layer"] == "15 us"
    assert told["expert overlap"] == "kappa 1"
    assert told["KV cache"] == "read once for each sequence"
    assert "made for a test" in prose(MADE)


def test_habits_that_few_engines_have():
    slow = replace(RELEASE, host_per_sequence=43e-6, draft_floor=0.7e-3, graphs=0)
    told = facts(replace(MADE, card=replace(ENGINE, releases=(slow,), rereads_kv=True)))
    assert told["request"] == "43 us of host time, in a server's time per token"
    assert told["draft pass"] == "0.1 ms of host time; at least 0.7 ms"
    assert told["CUDA graphs"] == "none: kernels start one by one, 5 us each"
    assert told["KV cache"] == "read once for each query"


def test_constants_have_the_names_of_the_card():
    told = prose(MADE)
    assert "chip (measured)\ngemm bf16: tiles medium, launch 2 us, memory 0.8, compute 0.5" in told
    assert "gemm fp8: tiles medium, launch 4 us, memory 0.5, compute 0.5, single 9 us" in told
    assert "attention bf16: launch 10 us, memory 0.5, block 3 us, cold 4 us" in told
    assert "latent attention: launch 15 us, memory 0.5, compute 0.5" in told
    assert "experts bf16: launch 20 us, expert 0.1 us, memory 0.5, compute 0.5, rows 16" in told
    assert "all-reduce over 2: 5.0 5.0 5.0 10.0 20.0 40.0 80.0 us; beyond, 200 GB/s" in told
    assert "1 KiB, 16 KiB, 64 KiB, 256 KiB, 1 MiB, 4 MiB, 16 MiB" in told


def test_one_release_alone():
    vllm = filed("vllm")
    old, new = (show_engine(vllm, version) for version in ("0.10", "0.27"))
    assert old.view.title == "vLLM 0.10: an estimate"
    assert "from 0.6, before 0.14" in page(vllm, "0.10")
    assert "the host schedules between steps" in prose(vllm, "0.10")
    assert "versions     from 0.14" not in page(vllm, "0.10")
    assert "draft pass takes at least" not in prose(vllm, "0.27")
    kernels = {row["kernel"] for row in new.table.records() if row["gpu"] is None}
    assert kernels == {"engine", "small", "from 0.20"}
    assert old.notes == new.notes == ()


def test_drafters_that_nothing_overlaps_with():
    vllm = filed("vllm")
    assert "round of     model, lookup drafts: the longer of both, shown" in page(vllm, "0.19")
    assert "round of     lookup drafts" in page(vllm, "0.27")
    assert "round of" not in page(vllm, "0.10")


def test_a_release_that_no_card_knows():
    assert show_engine(filed("vllm"), "9").notes == ("vllm@9: habits of 0.20 and later",)
    with pytest.raises(UsageError, match=r"vllm 0\.1 is older than its card goes"):
        show_engine(filed("vllm"), "0.1")


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("vllm", "vLLM: an estimate"),
        ("roofline", "The ideal roofline: an upper bound"),
        ("llamacpp", "llama.cpp: an estimate from vLLM kernels"),
    ],
)
def test_a_title_has_the_name_once(name, title):
    assert show_engine(filed(name)).view.title == title


def test_a_title_of_a_card_that_says_something_else():
    made = replace(MADE, card=replace(ENGINE, says="fitted in May: see the log"))
    assert show_engine(made).view.title == "Made: fitted in May: see the log"


def test_the_roofline_has_no_habits():
    assert "expert overlap" not in facts(filed("roofline"))
    assert list(show_engine(filed("roofline")).table.records()) == []


def test_an_engine_of_ones_own_says_where_it_is_from():
    answer = list_engines(listed(MADE))
    assert next(answer.table.records())["layer"] == "mine"
    hides = replace(MADE, hides="packaged")
    assert list_engines(listed(hides)).notes == (
        "made is read from mine/made.yaml, which hides the packaged card of that name",
    )


@pytest.mark.parametrize("of", EVERY, ids=lambda of: of.card.name)
def test_a_sheet_is_written(of):
    written = page(of)
    assert written.startswith(of.card.title)
    assert max(map(len, written.splitlines())) <= 100
    ours = [line for line in written.splitlines() if "https://" not in line]
    assert max(map(len, ours)) <= 80


def test_kernels_without_products():
    kernels = Kernels(
        gpus=("bare",),
        basis="assumed",
        allreduce=(AllReduce(gpus=2, times=(1e-6,) * 7, bus=1e11),),
    )
    made = replace(MADE, card=replace(ENGINE, kernels=(kernels,)))
    assert "bare (assumed)\nall-reduce over 2: 1.0 1.0" in prose(made)
