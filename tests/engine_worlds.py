"""Engines, accelerators and models for tests, drawn from what cards may say."""

from __future__ import annotations

from dataclasses import replace

import worlds
from hypothesis import strategies as st

from specplan.domain.architecture import Architecture
from specplan.domain.card import Dtype
from specplan.domain.drafter import Draws
from specplan.domain.drafters import drafter_of
from specplan.domain.engine import (
    AllReduce,
    Decode,
    Engine,
    Gemm,
    Grouped,
    Kernels,
    Latent,
    Release,
    Small,
)
from specplan.domain.hardware import Hardware
from specplan.domain.layers import Block, Experts, Mlp, Part
from specplan.domain.mixers import Attention, LatentAttention, Recurrent
from specplan.domain.model import Model
from specplan.domain.scenario import Setup

TILES = st.sampled_from(["tiny", "small", "medium", "large", "weightonly", "by-rows"])
SECONDS = st.floats(0, 1e-4)
SHARES = st.floats(0.05, 1.2)
DTYPES = st.sampled_from([Dtype.BF16, Dtype.FP8, Dtype.INT8, Dtype.INT4, Dtype.NVFP4, Dtype.MXFP4])
KV_DTYPES = st.sampled_from([Dtype.BF16, Dtype.FP8])

IDEAL = Small(launches=3, launch=0.0, memory=1.0, state=0.0, sampler=0.0, draft_sampler=0.0)
"""Small operations that cost their traffic alone."""


def gemms(*, single: bool = True, waves: bool = True) -> st.SearchStrategy[Gemm]:
    """Families of matrix kernels."""
    split = st.none() | st.tuples(SECONDS, st.floats(1e10, 1e13))

    def built(split: tuple[float, float] | None, **rest: object) -> Gemm:
        return Gemm(
            split=split[0] if split else None,
            reduce=split[1] if split else None,
            **rest,  # type: ignore[arg-type]
        )

    return st.builds(
        built,
        split=split,
        tiles=TILES,
        launch=SECONDS,
        memory=SHARES,
        compute=SHARES,
        waves=st.floats(0, 1) if waves else st.just(0.0),
        edge=st.floats(0, 400),
        single=SECONDS if single else st.just(0.0),
    )


DECODES = st.builds(
    Decode,
    launch=SECONDS,
    memory=SHARES,
    block=SECONDS,
    cold=SECONDS,
    group=st.just(0.0) | st.floats(0, 1e-6),
    queries=st.none() | SHARES,
    waves=st.just(0.0) | st.floats(0, 1),
)
LATENTS = st.builds(Latent, launch=SECONDS, memory=SHARES, compute=SHARES)
GROUPED = st.builds(
    Grouped,
    launch=SECONDS,
    expert=st.floats(0, 1e-6),
    memory=SHARES,
    compute=SHARES,
    rows=st.sampled_from([8, 16, 64]),
)
ALLREDUCES = st.lists(st.floats(1e-6, 1e-3), min_size=7, max_size=7).flatmap(
    lambda times: st.builds(
        AllReduce,
        gpus=st.sampled_from([2, 4, 8]),
        times=st.just(tuple(times)),
        bus=st.floats(1e9, 1e12),
    )
)
SMALLS = st.builds(
    Small,
    launches=st.integers(0, 8),
    launch=SECONDS,
    memory=SHARES,
    state=SECONDS,
    sampler=SECONDS,
    draft_sampler=SECONDS,
)
RELEASES = st.builds(
    Release,
    since=st.just("0"),
    host=st.floats(0, 1e-2),
    host_hidden=st.booleans(),
    host_per_sequence=SECONDS,
    round_host=st.floats(0, 1e-2),
    round_hidden=st.booleans(),
    unhidden=st.lists(st.sampled_from(Draws), unique=True).map(tuple),
    draft_host=SECONDS,
    draft_floor=st.floats(0, 1e-2),
    graphs=st.sampled_from([0, 8, 64, 512]),
    eager=SECONDS,
    says=st.just("made for a test"),
)


@st.composite
def kernels(draw: st.DrawFn, *, single: bool = True) -> Kernels:
    """Kernels for every dtype that tests draw, some of them by standing in."""
    gemm = {Dtype.BF16: draw(gemms(single=single))}
    gemm |= draw(st.dictionaries(DTYPES, gemms(single=single), max_size=2))
    return Kernels(
        gpus=("chip",),
        basis="measured",
        gemm=gemm,
        attention={Dtype.BF16: draw(DECODES)} | draw(st.dictionaries(KV_DTYPES, DECODES)),
        latent=draw(LATENTS),
        experts={Dtype.BF16: draw(GROUPED)} | draw(st.dictionaries(DTYPES, GROUPED, max_size=2)),
        allreduce=tuple(
            draw(st.lists(ALLREDUCES, min_size=1, max_size=3, unique_by=lambda one: one.gpus))
        ),
    )


@st.composite
def engines(draw: st.DrawFn, *, single: bool = True) -> Engine:
    """An engine of one release on one accelerator."""
    return Engine(
        schema="engine/1",
        name="made",
        title="Made",
        kind="estimate",
        says="made: an estimate",
        rereads_kv=draw(st.booleans()),
        expert_overlap=draw(st.floats(0, 1)),
        small=draw(SMALLS),
        kernels=(draw(kernels(single=single)),),
        releases=(draw(RELEASES),),
        sources=worlds.SOURCES,
    )


@st.composite
def chips(draw: st.DrawFn) -> Hardware:
    """An accelerator that can be told apart by every figure."""
    rates = {"bf16": draw(st.floats(1e13, 1e16))}
    for name in draw(st.lists(st.sampled_from(["fp8", "int8", "fp4"]), unique=True)):
        rates[name] = draw(st.floats(1e13, 1e16))
    chip = worlds.hardware(rates, draw(st.floats(1e11, 1e13)), 1e11)
    return replace(chip, units=draw(st.integers(1, 200)), l2=draw(st.floats(1e6, 1e9)))


@st.composite
def blocks(draw: st.DrawFn) -> Block:
    """A mixer of any kind and a feed-forward of any kind."""
    mixer = draw(st.sampled_from(["attention", "latent", "recurrent"]))
    made: dict[str, object] = {"repeat": draw(st.integers(1, 4))}
    if mixer == "attention":
        kv_heads = draw(st.integers(1, 8))
        made["attention"] = Attention(
            heads=kv_heads * draw(st.integers(1, 8)),
            kv_heads=kv_heads,
            head_dim=draw(st.sampled_from([64, 128])),
            window=draw(st.none() | st.integers(1, 4096)),
            gated=draw(st.booleans()),
            qk_norm_all_heads=draw(st.booleans()),
            inputs=draw(st.integers(1, 2)),
        )
    elif mixer == "latent":
        made["latent"] = LatentAttention(
            heads=draw(st.integers(1, 64)),
            latent=draw(worlds.widths(1, 8)),
            rope=64,
            nope=128,
            value=128,
            q_rank=draw(st.none() | worlds.widths(1, 24)),
        )
    else:
        made["recurrent"] = Recurrent(
            params=draw(st.integers(1000, 10**7)), state_bytes=float(draw(st.integers(1, 10**6)))
        )
    if draw(st.booleans()):
        made["mlp"] = Mlp(width=draw(worlds.widths(1, 200)), gated=draw(st.booleans()))
    else:
        experts = draw(st.integers(1, 64))
        made["experts"] = Experts(
            experts=experts,
            active=draw(st.integers(1, min(experts, 8))),
            width=draw(worlds.widths(1, 32)),
            shared_width=draw(st.just(0) | worlds.widths(1, 32)),
            gated=draw(st.booleans()),
        )
    return Block(**made)  # type: ignore[arg-type]


@st.composite
def models(draw: st.DrawFn, name: str = "model") -> Model:
    """A model of one or two kinds of layer, some parts stored otherwise than the rest."""
    return Model(
        schema="model/1",
        name=name,
        title=name,
        family=name,
        dtype=draw(DTYPES),
        parts=draw(st.dictionaries(st.sampled_from(list(Part)), DTYPES, max_size=2)),
        architecture=Architecture(
            hidden=draw(worlds.widths(1, 64)),
            vocab=draw(st.integers(256, 150_000)),
            tied_embeddings=True,
            blocks=tuple(draw(st.lists(blocks(), min_size=1, max_size=2))),
            fuse=draw(st.sampled_from([0, 0, 3])),
        ),
        sources=worlds.SOURCES,
    )


@st.composite
def setups(draw: st.DrawFn, *, single: bool = True) -> Setup:
    """A target and a drafter under a made engine, on up to 8 GPUs in one to two groups."""
    engine = draw(engines(single=single))
    tp = draw(st.sampled_from([1, 2, 4, 8]))
    divisors = [n for n in (1, 2, 4, 8) if tp % n == 0]
    target = draw(models("target"))
    draft = draw(models("drafter"))
    return Setup(
        target=target,
        draft=drafter_of(draft),
        hardware=draw(chips()),
        tp=tp,
        draft_tp=draw(st.sampled_from([1, 2, 4])),
        engine=engine,
        dtype=draw(st.just(target.dtype) | DTYPES),
        draft_dtype=draw(st.just(draft.dtype) | DTYPES),
        kv_dtype=draw(KV_DTYPES),
        release=engine.releases[0],
        attention_dp=draw(st.sampled_from(divisors)),
        ep=draw(st.sampled_from(divisors)),
    )


# --- round numbers, for arithmetic in the head -----------------------------------------------

# 1e14 FLOP/s and 1e12 B/s over 100 multiprocessors: 1e12 FLOP/s and 10 GB/s of each.
CHIP = replace(
    worlds.hardware({"bf16": 1e14, "fp8": 2e14}, 1e12, 8e10), name="chip", units=100, l2=5e7
)
SIMPLE = Kernels(
    gpus=("chip",),
    basis="measured",
    gemm={
        Dtype.BF16: Gemm(tiles="medium", launch=2e-6, memory=0.8, compute=0.5),
        Dtype.FP8: Gemm(tiles="medium", launch=4e-6, memory=0.5, compute=0.5, single=9e-6),
    },
    attention={Dtype.BF16: Decode(launch=10e-6, memory=0.5, block=3e-6, cold=4e-6)},
    latent=Latent(launch=15e-6, memory=0.5, compute=0.5),
    experts={Dtype.BF16: Grouped(launch=20e-6, expert=1e-7, memory=0.5, compute=0.5, rows=16)},
    allreduce=(
        AllReduce(gpus=2, times=(5e-6, 5e-6, 5e-6, 10e-6, 20e-6, 40e-6, 80e-6), bus=2e11),
        AllReduce(gpus=8, times=(9e-6, 8e-6, 9e-6, 20e-6, 40e-6, 80e-6, 160e-6), bus=4e11),
    ),
)
SMALL = Small(launches=3, launch=3e-6, memory=0.5, state=15e-6, sampler=40e-6, draft_sampler=20e-6)
RELEASE = Release(
    since="1",
    host=1e-3,
    host_hidden=True,
    round_host=0.5e-3,
    round_hidden=False,
    draft_host=0.1e-3,
    graphs=512,
    eager=5e-6,
    says="made for a test",
)
ENGINE = Engine(
    schema="engine/1",
    name="made",
    title="Made",
    kind="estimate",
    says="made: an estimate",
    stand_in="chip",
    small=SMALL,
    kernels=(SIMPLE,),
    releases=(RELEASE,),
    sources=worlds.SOURCES,
)
