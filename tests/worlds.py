"""Cases for tests, each stated for both sides: the package's dataclasses and the oracle's figures.

`PAIR` and friends are small hand-made ones with round numbers; the strategies at the end draw
others from what cards may say.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import oracle
from hypothesis import strategies as st

from specplan.domain.acceptance import Alpha
from specplan.domain.architecture import Architecture
from specplan.domain.card import Dtype, Source
from specplan.domain.drafter import Drafter
from specplan.domain.drafters import ModelDrafter
from specplan.domain.engine import Engine
from specplan.domain.hardware import Hardware
from specplan.domain.layers import Block, Experts, Mlp
from specplan.domain.mixers import Attention, Recurrent
from specplan.domain.model import Model
from specplan.domain.scenario import Part, Scenario, Setup
from specplan.domain.weightless import NoDrafter, RatioDrafter

SOURCES = (Source(of=("all",), kind="derived", cite="made for a test"),)

ROOFLINE = Engine(
    schema="engine/1",
    name="roofline",
    title="The ideal roofline",
    kind="bound",
    says="ideal roofline: an upper bound",
    sources=(Source(of=("kind",), kind="derived", cite="docs/physics.md"),),
)


def hardware(rates: dict[str, float], bandwidth: float, memory: float) -> Hardware:
    """An accelerator of these figures."""
    return Hardware(
        schema="hardware/1",
        name="chip",
        title="Chip",
        vendor="maker",
        rates={Dtype(name): rate for name, rate in rates.items()},
        bandwidth=bandwidth,
        memory=memory,
        memory_basis="driver",
        sources=SOURCES,
    )


def model(figures: oracle.Model, name: str = "model") -> Model:
    """The package's model of the oracle's figures."""
    card = {"schema": "model/1", "name": name, "title": name, "family": name, "sources": SOURCES}
    if not figures.layers:
        return Model(
            **card,
            matmul_params=figures.planned_params,
            kv_bytes_per_token=figures.planned_kv_bytes,
            stored_params=figures.planned_stored,
        )
    architecture = Architecture(
        hidden=figures.hidden,
        vocab=figures.vocab,
        tied_embeddings=figures.tied,
        blocks=tuple(block(layer) for layer in figures.layers),
    )
    return Model(**card, architecture=architecture)


def block(layer: oracle.Layer) -> Block:
    """The package's block of the oracle's layer."""
    return Block(
        repeat=layer.repeat,
        norms=layer.norms,
        attention=Attention(
            heads=layer.heads,
            kv_heads=layer.kv_heads,
            head_dim=layer.head_dim,
            window=layer.window,
            qkv_bias=layer.qkv_bias,
            out_bias=layer.out_bias,
            qk_norm=layer.qk_norm,
        )
        if layer.heads
        else None,
        recurrent=Recurrent(params=layer.recurrent_params, state_bytes=layer.state_bytes)
        if layer.recurrent_params
        else None,
        mlp=Mlp(width=layer.mlp_width, gated=layer.mlp_gated, bias=layer.mlp_bias)
        if layer.mlp_width
        else None,
        experts=Experts(
            experts=layer.experts,
            active=layer.active,
            width=layer.expert_width,
            shared_width=layer.shared_width,
            gated=layer.experts_gated,
        )
        if layer.experts
        else None,
    )


def drafter(case: oracle.Case) -> Drafter:
    """The package's drafter of the oracle's case."""
    if not case.drafts:
        return NoDrafter()
    if case.draft is None:
        return RatioDrafter(case.ratio)
    return ModelDrafter(model(case.draft, "drafter"))


def setup(case: oracle.Case) -> Setup:
    """The package's setup of the oracle's case."""
    return Setup(
        target=model(case.target, "target"),
        draft=drafter(case),
        hardware=hardware(case.rates, case.bandwidth, case.memory),
        tp=case.tp,
        draft_tp=case.draft_tp,
        engine=ROOFLINE,
        dtype=Dtype(case.dtype),
        draft_dtype=Dtype(case.draft_dtype),
        kv_dtype=Dtype(case.kv_dtype),
    )


def scenario(*cases: oracle.Case, **axes: object) -> Scenario:
    """A scenario of these cases; axes not given are one plain workload."""
    asked = {"batch": (1.0,), "context": (1000.0,), "acceptance": (Alpha(0.8),), **axes}
    return Scenario(setups=tuple(setup(case) for case in cases), **asked)


def part(weight: float, batch: float, context: float, alpha: float) -> Part:
    """One workload of a mix."""
    return Part(weight=weight, batch=batch, context=context, acceptance=Alpha(alpha))


# --- round numbers, for arithmetic in the head -----------------------------------------------

# 1e9 parameters, 1e5 bytes of KV per token; the drafter a tenth of both.
TARGET = oracle.Model(planned_params=1e9, planned_kv_bytes=1e5, planned_stored=1e9)
DRAFT = oracle.Model(planned_params=1e8, planned_kv_bytes=1e4, planned_stored=1e8)
# 1e14 FLOP/s over 1e12 B/s: a ridge of 100 FLOP/B. A step of the target at batch 1 and 1,000
# tokens moves 2e9 + 1e8 bytes in 2.1 ms and computes for 0.02 ms.
PAIR = oracle.Case(target=TARGET, draft=DRAFT, rates={"bf16": 1e14}, bandwidth=1e12, memory=1e10)
FREE = oracle.Case(target=TARGET, rates={"bf16": 1e14}, bandwidth=1e12, memory=1e10)
PLAIN = oracle.Case(target=TARGET, drafts=False, rates={"bf16": 1e14}, bandwidth=1e12, memory=1e10)


# --- strategies ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Workload:
    """A workload and draft lengths to weigh."""

    batch: tuple[float, ...]
    context: tuple[float, ...]
    alpha: tuple[float, ...]
    k: tuple[int, ...]


def widths(low: int, high: int) -> st.SearchStrategy[int]:
    """Multiples of 64."""
    return st.integers(low, high).map(lambda n: 64 * n)


@st.composite
def layers(draw: st.DrawFn) -> oracle.Layer:
    """A block: attention, whole or sliding, or a recurrent mixer; dense or sparse behind it."""
    figures: dict[str, object] = {
        "repeat": draw(st.integers(1, 6)),
        "norms": draw(st.integers(0, 4)),
    }
    if draw(st.integers(0, 3)):
        kv_heads = draw(st.integers(1, 12))
        figures |= {
            "kv_heads": kv_heads,
            "heads": kv_heads * draw(st.integers(1, 8)),
            "head_dim": draw(st.sampled_from([64, 80, 128, 256])),
            "window": draw(st.none() | st.integers(1, 8192)),
            "qkv_bias": draw(st.booleans()),
            "out_bias": draw(st.booleans()),
            "qk_norm": draw(st.booleans()),
        }
    else:
        figures |= {
            "recurrent_params": draw(st.integers(1000, 10**8)),
            "state_bytes": float(draw(st.integers(1, 10**8))),
        }
    if draw(st.booleans()):
        figures |= {
            "mlp_width": draw(widths(1, 400)),
            "mlp_gated": draw(st.booleans()),
            "mlp_bias": draw(st.booleans()),
        }
    else:
        experts = draw(st.integers(1, 256))
        figures |= {
            "experts": experts,
            "active": draw(st.integers(1, min(experts, 16))),
            "expert_width": draw(widths(1, 100)),
            "shared_width": draw(st.just(0) | widths(1, 100)),
            "experts_gated": draw(st.booleans()),
        }
    return oracle.Layer(**figures)


@st.composite
def models(draw: st.DrawFn) -> oracle.Model:
    """Two planning figures, or an architecture of one to four kinds of layer."""
    if draw(st.integers(0, 3)) == 0:
        return oracle.Model(
            planned_params=draw(st.floats(1e6, 1e13)),
            planned_kv_bytes=draw(st.floats(1, 1e7)),
            planned_stored=draw(st.floats(1e6, 1e13)),
        )
    return oracle.Model(
        hidden=draw(widths(1, 128)),
        vocab=draw(st.integers(256, 300_000)),
        tied=draw(st.booleans()),
        layers=tuple(draw(st.lists(layers(), min_size=1, max_size=4))),
    )


@st.composite
def cases(draw: st.DrawFn) -> oracle.Case:
    """Any target with a model, a cost ratio, or nothing to draft for it."""
    rates = {"bf16": draw(st.floats(1e12, 1e16))}
    for name in draw(st.lists(st.sampled_from(["fp16", "fp8", "int8", "fp4"]), unique=True)):
        rates[name] = draw(st.floats(1e12, 1e16))
    dtypes = st.sampled_from(["bf16", "fp16", "fp8", "int8", "fp4", "int4"])
    kind = draw(st.sampled_from(["model", "model", "ratio", "free", "none"]))
    return oracle.Case(
        target=draw(models()),
        draft=draw(models()) if kind == "model" else None,
        ratio=draw(st.floats(0.001, 2)) if kind == "ratio" else 0.0,
        drafts=kind != "none",
        rates=rates,
        bandwidth=draw(st.floats(1e10, 1e13)),
        memory=10 ** draw(st.floats(9, 13)),
        tp=draw(st.integers(1, 16)),
        draft_tp=draw(st.integers(1, 16)),
        dtype=draw(dtypes),
        draft_dtype=draw(dtypes),
        kv_dtype=draw(st.sampled_from(["bf16", "fp16", "fp8", "int8", "fp4"])),
    )


ALPHAS = st.floats(0, 1) | st.sampled_from([0.0, 1.0, 1e-300, math.nextafter(1, 0)])
LENGTHS = st.lists(st.integers(0, 64), min_size=1, max_size=8, unique=True).map(sorted).map(tuple)


def axis(values: st.SearchStrategy[float]) -> st.SearchStrategy[tuple[float, ...]]:
    """One to four distinct values in any order."""
    return st.lists(values, min_size=1, max_size=4, unique=True).map(tuple)


WORKLOADS = st.builds(
    Workload,
    batch=axis(st.integers(1, 1_000_000).map(float)),
    context=axis(st.integers(1, 10_000_000).map(float) | st.floats(1, 1e5)),
    alpha=axis(ALPHAS),
    k=LENGTHS,
)
