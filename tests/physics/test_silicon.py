"""What stands in where an engine has no figures, and the sentence that says so."""

from __future__ import annotations

from dataclasses import replace

import pytest
from engine_worlds import CHIP, ENGINE, SIMPLE

from specplan.catalogue.store import Catalogue
from specplan.domain.card import Dtype
from specplan.domain.engine import Engine, Kernels
from specplan.domain.hardware import Hardware
from specplan.errors import Refused
from specplan.physics.assumed import assumed as stood_in
from specplan.physics.experts import Route
from specplan.physics.moving import Exchange, State
from specplan.physics.silicon import USUAL_L2_BYTES, USUAL_UNITS, Silicon, nearest
from specplan.physics.work import Attend, AttendLatent, Matmul

ON = Silicon(CHIP, ENGINE)
OTHER = replace(CHIP, name="other")


def lacking(**parts: object) -> Silicon:
    """The chip under kernels that lack something."""
    kernels = replace(SIMPLE, **parts)  # type: ignore[arg-type]
    return Silicon(CHIP, replace(ENGINE, kernels=(kernels,)))


def assumed(on: Silicon, *dtypes: Dtype) -> list[str]:
    products = [Matmul("product", 1, 8, 8, dtype) for dtype in dtypes or (Dtype.BF16,)]
    return list(stood_in(products, on))


def test_what_was_measured_here_is_assumed_of_nothing():
    assert assumed(ON) == []
    assert assumed(ON, Dtype.BF16, Dtype.FP8, Dtype.FP16) == []  # 16 bits are 16 bits


def test_another_accelerator_takes_the_stand_ins_shares_of_its_own_peaks():
    fast = replace(OTHER, rates={Dtype.BF16: 3e14}, bandwidth=9e12, units=50, l2=1e8)
    on = Silicon(fast, ENGINE)
    assert on.kernels is SIMPLE
    assert (on.bandwidth, on.peak(Dtype.BF16), on.units, on.l2_bytes) == (9e12, 3e14, 50.0, 1e8)
    assert assumed(on) == [
        "efficiency assumed, not measured: made on other takes chip's shares",
    ]


@pytest.mark.parametrize("basis", ["scaled", "assumed"])
def test_kernels_that_were_not_measured_say_what_they_are(basis):
    assert assumed(lacking(basis=basis)) == [f"efficiency {basis}, not measured: made on chip"]


def test_an_accelerator_of_the_same_silicon_says_whose_shares():
    kernels = replace(SIMPLE, gpus=("chip", "other"))
    on = Silicon(OTHER, replace(ENGINE, kernels=(kernels,)))
    assert assumed(on) == ["efficiency assumed, not measured: made on other takes chip's shares"]


def test_a_dtype_without_kernels_takes_the_nearest():
    assert assumed(ON, Dtype.INT8, Dtype.INT4, Dtype.INT4) == [
        "int8 kernels assumed to reach the shares of fp8",
        "int4 kernels assumed to reach the shares of bf16",
    ]
    assert ON.gemm(Dtype.INT8) is SIMPLE.gemm[Dtype.FP8]
    assert ON.gemm(Dtype.INT4) is ON.gemm(Dtype.FP16) is SIMPLE.gemm[Dtype.BF16]
    assert ON.attention(Dtype.FP8) is SIMPLE.attention[Dtype.BF16]
    assert ON.experts(Dtype.MXFP4) is SIMPLE.experts[Dtype.BF16]


@pytest.mark.parametrize(
    ("term", "sentences"),
    [
        (Attend("attention", 1, 8, 8, 128, None, Dtype.BF16), []),
        (
            Attend("attention", 1, 8, 8, 128, None, Dtype.FP8),
            ["attention over fp8 caches assumed to reach the shares of bf16"],
        ),
        (
            Route("experts", 1, 8, 8, 2, 64, 64, 3, 1, Dtype.MXFP4),
            ["mxfp4 expert kernels assumed to reach the shares of bf16"],
        ),
        (
            AttendLatent("attention", 1, 8, 512, 64, Dtype.BF16),
            ["efficiency of latent attention is assumed: no table has it"],
        ),
        (State("state", 1, 64.0), ["time of recurrent layers is assumed: no table has it"]),
        (Exchange("allreduce", 1, 64, 2), []),
        (
            Exchange("allreduce", 1, 64, 1024),
            ["all-reduce over 1024 GPUs taken to be as fast as over 8"],
        ),
    ],
)
def test_what_stands_in_for_other_kernels(term, sentences):
    assert list(stood_in([term, term], ON)) == sentences


@pytest.mark.parametrize("dtype", Dtype)
def test_the_dtype_itself_is_the_nearest_and_bf16_the_last_resort(dtype):
    order = nearest(dtype)
    assert order[0] is dtype
    assert order[-1] is Dtype.BF16
    assert len(order) == len(set(order)) or order == (Dtype.BF16, Dtype.BF16)


def test_a_card_that_does_not_say_has_the_usual_units_and_l2():
    bare = Silicon(replace(CHIP, units=None, l2=None), ENGINE)
    assert (bare.units, bare.l2_bytes) == (USUAL_UNITS, USUAL_L2_BYTES)
    assert assumed(bare) == ["chip taken to have 132 multiprocessors: its card does not say"]


def refusal(on: Silicon, part: str, *arguments: object) -> str:
    found = getattr(on, part)
    with pytest.raises(Refused) as caught:
        found(*arguments)
    return str(caught.value)


def test_what_nothing_stands_in_for_is_refused():
    remedy = "under kernels in its card; follows: vllm takes what the card does not state from vLLM"
    assert refusal(lacking(latent=None), "latent") == (
        f"made has no latent attention on chip; expected latent {remedy}"
    )
    assert refusal(lacking(allreduce=()), "allreduce", 2) == (
        f"made has no all-reduce on chip; expected allreduce {remedy}"
    )
    assert refusal(lacking(gemm={}), "gemm", Dtype.BF16) == (
        f"made has no matrix kernels for bf16 on chip; expected gemm {remedy}"
    )
    assert refusal(lacking(experts={}), "experts", Dtype.FP8) == (
        f"made has no expert layers for fp8 on chip; expected experts {remedy}"
    )
    no_stand_in = Silicon(OTHER, replace(ENGINE, stand_in=None))
    with pytest.raises(
        Refused, match=r"^made has no kernels for other; expected kernels or a stand_in"
    ):
        _ = no_stand_in.kernels
    with pytest.raises(
        Refused,
        match=r"^made states no small operations; expected small in its card; follows: vllm takes",
    ):
        _ = Silicon(CHIP, replace(ENGINE, small=None)).small


def test_allreduce_of_the_next_larger_group():
    groups = [ON.allreduce(gpus).gpus for gpus in (2, 3, 4, 8, 9, 64)]
    assert groups == [2, 8, 8, 8, 8, 8]


ENGINES = [
    loaded.card
    for loaded in (Catalogue().engine(name) for name in Catalogue().entries("engines"))
    if loaded.card.kind != "bound"
]
CHIPS = [loaded.card for loaded in Catalogue().every(Hardware)]


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
def test_every_engine_has_or_lends_all_kernels_on_every_accelerator(engine: Engine):
    for chip in CHIPS:
        on = Silicon(chip, engine)
        kernels: Kernels = on.kernels
        assert kernels.gpus
        for dtype in (d for d in Dtype if d is not Dtype.FP32):
            assert on.gemm(dtype).memory > 0
            assert on.experts(dtype).memory > 0
        assert on.attention(Dtype.FP8).memory > 0
        assert on.allreduce(8).times
        assert on.latent().memory > 0
