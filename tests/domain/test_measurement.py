"""What a measurement must state, and which constants have not met it."""

from __future__ import annotations

from dataclasses import replace

import pytest
import rows

from specplan.domain.card import Dtype, Source
from specplan.domain.engine import Decode, Engine, Gemm, Kernels
from specplan.domain.measurement import COLUMNS, NEEDS, Fit, HeldOut, Host
from specplan.errors import InputError, Misfit

PRODUCT = replace(rows.PRODUCT, value=12e-6, fold="1")
FITTED = Gemm(tiles="small", launch=3e-6, memory=0.9, compute=0.9)
WITHOUT = Gemm(tiles="tiny", launch=4e-6, memory=0.8, compute=0.8)
SOURCE = Source(of=("kernels",), kind="derived", cite="a test")
ENGINE = Engine(
    schema="engine/1",
    name="vllm",
    title="vLLM",
    kind="estimate",
    says="an estimate",
    kernels=(
        Kernels(
            gpus=("h100-sxm", "h100-pcie"),
            basis="measured",
            gemm={Dtype.BF16: FITTED, Dtype.FP8: FITTED},
            attention={Dtype.BF16: Decode(launch=1e-5, memory=0.9, block=2e-6)},
        ),
        Kernels(gpus=("l40s",), basis="measured"),
    ),
    sources=(SOURCE,),
)
HELD_OUT = HeldOut(
    schema="held-out/1",
    about="a test",
    sources=(SOURCE,),
    fits=(
        Fit(engine="vllm", gpu="h100-sxm", dtype=Dtype.BF16, fold="1", gemm=WITHOUT),
        Fit(
            engine="sglang",
            fold="llama-3.1-8b",
            host=Host(host=1e-3, round_host=2e-3, draft_host=6e-5),
        ),
    ),
)


def test_the_columns_of_every_kind_are_columns():
    assert {column for needs in NEEDS.values() for column in needs} < set(COLUMNS)
    assert COLUMNS[0] == "kind"
    assert COLUMNS[-4:] == ("unit", "fold", "assumed", "note")


@pytest.mark.parametrize("column", NEEDS["gemm"])
def test_a_row_without_what_its_kind_needs(column):
    with pytest.raises(InputError) as caught:
        replace(PRODUCT, **{column: None})
    assert str(caught.value) == (
        f"a gemm row without {column}; expected dtype, rows, n, inner in every such row; "
        "fill what the source left out and name it in assumed"
    )
    assert isinstance(caught.value, Misfit)
    assert caught.value.key == (column,)


def test_a_unit_of_another_kind():
    with pytest.raises(InputError, match="a gemm row in '1'; expected unit 's'"):
        replace(PRODUCT, unit="1")


def test_assumed_names_columns():
    assert replace(PRODUCT, assumed=("dtype",)).assumed == ("dtype",)
    with pytest.raises(InputError, match="assumed names no column 'tp'"):
        replace(PRODUCT, assumed=("tp",))


ROUND = replace(
    PRODUCT,
    kind="round",
    target="lm",
    draft="small",
    gpus=1,
    batch=8,
    context=2048,
    k=4,
    tokens=5,
    tau=5.0,
    unit="1",
    value=2.0,
)
SERVER = replace(PRODUCT, kind="tpot", target="lm", gpus=1, batch=8, isl=999, osl=1)


@pytest.mark.parametrize(
    ("row", "changes", "message"),
    [
        (ROUND, {"tau": 5.1}, "tau 5.1 of 5 tokens; expected at most tokens"),
        (ROUND, {"tau": 4.5, "k": 3}, "tau 4.5 after 3 drafts; expected at most 4, k + 1"),
        (ROUND, {"tau": 3.5, "tokens": 4}, "4 tokens verified after 4 drafts; expected at least 5"),
        (PRODUCT, {"experts": 8, "touched": 8.5}, "touched 8.5 of 8 experts; expected at most"),
        (PRODUCT, {"active": 4, "touched": 3.5}, "active 4 of 3.5 touched; expected at most"),
        (ROUND, {"k": 0}, "k 0 with a draft; expected at least 1; a plain step is a row of"),
        (PRODUCT, {"heads": 8, "kv_heads": 9}, "kv_heads 9 of 8 heads; expected at most heads"),
        (PRODUCT, {"experts": 8, "active": 9}, "active 9 of 8 experts; expected at most experts"),
        (ROUND, {"batch": 200_001}, "1,000,005 rows in a pass; expected batch x tokens of at most"),
        (SERVER, {"batch": 1001}, "1,001,000 rows in a pass; expected batch x (1 + isl / osl)"),
    ],
)
def test_what_nobody_can_have_measured(row, changes, message):
    with pytest.raises(Misfit) as caught:
        replace(row, **changes)
    assert str(caught.value).startswith(message)
    assert caught.value.key[0] in changes


def test_what_is_barely_possible():
    assert replace(ROUND, batch=200_000).batch == 200_000
    assert replace(SERVER, batch=1000).batch == 1000
    assert replace(PRODUCT, heads=8, kv_heads=8, experts=8, active=8).heads == 8


def test_doubt():
    assert not PRODUCT.doubtful
    assert replace(PRODUCT, note="doubt:queue; id 7").doubtful


def test_constants_that_have_not_met_a_row():
    engine = HELD_OUT.unseen(ENGINE, PRODUCT)
    assert engine is not None
    kernels = engine.on("h100-sxm")
    assert kernels is not None
    assert kernels.gemm == {Dtype.BF16: WITHOUT, Dtype.FP8: FITTED}
    assert kernels.attention == ENGINE.kernels[0].attention
    assert engine.on("l40s") == ENGINE.on("l40s")


@pytest.mark.parametrize(
    "change",
    [{"fold": "2"}, {"fold": None}, {"dtype": Dtype.FP8}, {"gpu": "l40s"}, {"engine": "sglang"}],
)
def test_no_fit_left_the_row_out(change):
    assert HELD_OUT.unseen(ENGINE, replace(PRODUCT, **change)) is None


def test_host_constants_by_target():
    found = HELD_OUT.host("sglang", "llama-3.1-8b")
    assert found is not None
    assert found.round_host == 2e-3
    assert HELD_OUT.host("vllm", "llama-3.1-8b") is None


def test_a_fit_holds_one_set_of_constants():
    with pytest.raises(InputError, match="a fit of nothing; expected one of gemm, attention"):
        Fit(engine="vllm", fold="1")
    with pytest.raises(InputError, match="a fit of gemm and host"):
        replace(HELD_OUT.fits[0], host=HELD_OUT.fits[1].host)
    with pytest.raises(InputError, match="a fit of gemm without gpu or dtype"):
        replace(HELD_OUT.fits[0], gpu=None)
