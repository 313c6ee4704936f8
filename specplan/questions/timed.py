"""Times of measured rows, kind by kind, as an engine's constants give them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np

from specplan.domain.acceptance import Lengths
from specplan.domain.card import Dtype
from specplan.domain.drafter import Drafter
from specplan.domain.engine import Engine, Release
from specplan.domain.hardware import Hardware
from specplan.domain.measurement import Measurement
from specplan.domain.model import Model
from specplan.domain.scenario import Setup
from specplan.errors import Refused
from specplan.physics.drafting import drafted
from specplan.physics.engine_round import EngineRound, engine_round, target_layout
from specplan.physics.experts import Route
from specplan.physics.forward import forward_terms
from specplan.physics.kernels import seconds, single_s
from specplan.physics.mixed import tpot_gpu_s
from specplan.physics.silicon import Silicon
from specplan.physics.steps import gpu_step
from specplan.physics.survival import survival
from specplan.physics.tokens import FloatArray
from specplan.physics.work import Attend, Load, Matmul, Term, load

LOOKED_UP_KEPT = 0.25
"""Share of a looked-up draft that is kept in rounds that have one. Rows state tokens per round and
not how often anything was found, and this turns the one into the other. It is chosen from nine
values on the n-gram rounds of vLLM (benchmarks/fit/host.py), so those have met it; a drafter that
always proposes and an engine that pads have no use for it.
"""

LOADS = frozenset(
    (
        *("batch", "tokens", "context", "isl", "osl", "k", "tau", "rows", "touched"),
        *("value", "source", "licence", "url", "assumed", "note"),
    )
)
"""Columns in which rows that are timed together may differ."""


def alike(row: Measurement) -> tuple[object, ...]:
    """What rows must share to be timed together."""
    shared = (getattr(row, field.name) for field in fields(row) if field.name not in LOADS)
    return (*shared, on_gpu_alone(row), row.touched is None)


def on_gpu_alone(row: Measurement) -> bool:
    """Whether a step is a sum of its kernels: no host in it, and no sampler."""
    return (row.note or "").split(";")[0] == "gpu"


@dataclass(frozen=True, slots=True)
class Known:
    """Rows that are alike but for their load, with the cards that their times follow from."""

    rows: tuple[Measurement, ...]
    hardware: Hardware
    engine: Engine
    release: Release | None
    target: Model | None
    drafter: Drafter

    @property
    def row(self) -> Measurement:
        """Any of them, for what they share."""
        return self.rows[0]

    @property
    def silicon(self) -> Silicon:
        """The accelerator under the engine."""
        return Silicon(self.hardware, self.engine)

    @property
    def setup(self) -> Setup:
        """What ran, whole."""
        row, gpus = self.row, self.row.gpus or 1
        groups, ep = row.attention_dp or 1, row.ep or 1
        if self.target is None:
            raise Refused("a row without a target")
        drafter = self.drafter.joined(self.target)
        if gpus % groups or gpus % ep:
            raise Refused(f"{gpus} GPUs do not divide into {groups} groups and {ep} ways")
        if max(groups, ep) > 1 and not self.target.expert_groups:
            raise Refused(f"{self.target.name} has no experts for attention_dp or ep to share")
        return Setup(
            target=self.target,
            draft=drafter,
            hardware=self.hardware,
            tp=gpus,
            draft_tp=gpus,
            engine=self.engine,
            dtype=row.dtype or self.target.dtype,
            draft_dtype=(drafter.model or self.target).dtype,
            kv_dtype=row.kv_dtype or Dtype.BF16,
            release=self.release,
            attention_dp=groups,
            ep=ep,
        )

    def column(self, name: str) -> FloatArray:
        """A column of numbers; 1 where it is blank."""
        return np.array([getattr(row, name) or 1 for row in self.rows], np.float64)

    def figures(self) -> FloatArray:
        """Seconds of each row; of rounds, plain steps that each costs."""
        return np.broadcast_to(_FIGURES[self.row.kind](self), len(self.rows))


def _gemm(known: Known) -> FloatArray:
    row, asked = known.row, load(known.column("rows"), 1, 1)
    term = Matmul("product", 1, float(row.n or 0), float(row.inner or 0), row.dtype or Dtype.BF16)
    return seconds(term, asked, known.silicon) + single_s(
        asked.rows, known.silicon.gemm(term.dtype)
    )


def _attention(known: Known) -> FloatArray:
    row = known.row
    heads, kv_heads, width = float(row.heads or 0), float(row.kv_heads or 0), row.head_dim or 0
    dtype = row.kv_dtype or Dtype.BF16
    term = Attend("attention", 1, heads, kv_heads, width, None, dtype)
    asked = load(known.column("batch"), known.column("tokens"), known.column("context"))
    return seconds(term, asked, known.silicon)


@dataclass(frozen=True, slots=True)
class Routed(Route):
    """Layers of which it is known how many experts their tokens reached."""

    reached: FloatArray

    def touched(self, load: Load) -> FloatArray:  # noqa: ARG002 - part of the protocol
        """As known."""
        return self.reached


def _experts(known: Known) -> FloatArray:
    row = known.row
    experts, active, width = row.experts or 1, row.active or 1, (row.width or 1) / (row.gpus or 1)
    hidden, dtype = row.hidden or 1, row.dtype or Dtype.BF16
    shape = ("experts", 1, experts, experts, active, hidden, width, 3, 1, dtype)
    term = Route(*shape) if row.touched is None else Routed(*shape, known.column("touched"))
    return seconds(term, load(known.column("rows"), 1, 1), known.silicon)


def _step(known: Known) -> FloatArray:
    asked = load(known.column("batch"), 1, known.column("context"))
    if on_gpu_alone(known.row):
        terms = tuple(term for term in _terms(known) if term.name != "sampler")
        return gpu_step(terms, asked, known.silicon).time_s
    return _with_host(known, gpu_step(_terms(known), asked, known.silicon).time_s)


def _tpot(known: Known) -> FloatArray:
    batch, isl, osl = (known.column(name) for name in ("batch", "isl", "osl"))
    gpu_s = tpot_gpu_s(_terms(known), known.silicon, batch=batch, isl=isl, osl=osl)
    return _with_host(known, gpu_s, requests=batch)


def _terms(known: Known) -> tuple[Term, ...]:
    setup = known.setup
    return forward_terms(setup.target, target_layout(setup), known.silicon.small)


def _with_host(known: Known, gpu_s: FloatArray, requests: FloatArray | float = 0.0) -> FloatArray:
    """A plain step with the host time that the GPU waits for, that of a server's requests too."""
    release = known.release
    if release is None:
        raise known.engine.lacking("states no host times", "releases")
    host_s = release.host + release.host_per_sequence * requests
    return np.maximum(gpu_s, host_s) if release.host_hidden else gpu_s + host_s


def _round(known: Known) -> FloatArray:
    steps = round_of(known)
    return (steps.verify.time_s + steps.passes_s) / steps.plain.time_s


def round_of(known: Known) -> EngineRound:
    """The passes of each row's round."""
    lengths = [int(n) for n in known.column("k")]
    context, batch = known.column("context"), known.column("batch")
    return engine_round(known.setup, context, batch, verified(known), lengths)


def verified(known: Known) -> FloatArray:
    """Draft tokens that verification carried for a sequence of each row: as the row says, but of a
    drafter that proposes now and then as many as it did on average, unless the engine pads.
    """
    if not known.drafter.adapts:
        return known.column("tokens") - 1
    pairs = zip(known.column("tau").tolist(), known.column("k").tolist(), strict=True)
    found = [
        drafted(_seeing(known.drafter, *pair), known.engine, (int(pair[1]),)) for pair in pairs
    ]
    return np.concatenate(found)


def _seeing(drafter: Drafter, tau: float, k: float) -> Drafter:
    """The drafter as rounds of k tokens that yielded tau saw it."""
    kept, length = survival(Lengths(((int(k), tau),)), int(k)).tolist(), int(k)
    return drafter.seeing([drafter.proposes(n, fires(tau, k), kept) for n in range(length + 1)])


def fires(tau: float, k: float) -> float:
    """In what share of the rounds a lookup found a draft, from the tokens that a round gained."""
    return min(1.0, (tau - 1) / (LOOKED_UP_KEPT * k))


_FIGURES: dict[str, Callable[[Known], FloatArray]] = {
    "gemm": _gemm,
    "attention": _attention,
    "experts": _experts,
    "step": _step,
    "tpot": _tpot,
    "round": _round,
}
