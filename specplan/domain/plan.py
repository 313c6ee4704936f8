"""A plan: what to run, for which workload, and what is expected of it. Keys are the options' names.

Values stay as people write them (axes, names, `best`); a scenario is made of them by the same
grammar as flags, so a plan and a command line mean the same.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal

from annotated_types import Ge, Le, MaxLen, MinLen

from specplan.domain.acceptance_text import acceptance_text
from specplan.domain.card import NEEDS_UNIT, Strict, Text
from specplan.errors import InputError
from specplan.units import Unit


class AxisText:
    """Marks text that may be written as a number: an axis of the grammar."""

    __slots__ = ()

    def __get_pydantic_json_schema__(self, core_schema: Any, handler: Any) -> dict[str, Any]:  # noqa: ANN401
        """Numbers pass in YAML; the reader makes text of them."""
        return {"anyOf": [{"type": "number"}, handler(core_schema)]}


class SpokenText(AxisText):
    """Marks text that may be written as a mapping too."""

    __slots__ = ()

    def __get_pydantic_json_schema__(self, core_schema: Any, handler: Any) -> dict[str, Any]:  # noqa: ANN401
        """Mappings pass in YAML too."""
        either = super().__get_pydantic_json_schema__(core_schema, handler)
        return {"anyOf": [*either["anyOf"], {"type": "object"}]}

    def said(self, value: object) -> str:
        """The text of a mapping or a list."""
        raise NotImplementedError


class AcceptanceText(SpokenText):
    """Marks text that may be written as a number or a mapping: a model of acceptance."""

    __slots__ = ()

    def said(self, value: object) -> str:
        """The text of a mapping or a list."""
        return acceptance_text(value)


class PairsText(SpokenText):
    """Marks text such as `ttft_p99=2s,tpot_p95=30ms` that may be written as a mapping."""

    __slots__ = ()

    def said(self, value: object) -> str:
        """The pairs of a mapping, in its order."""
        simple = isinstance(value, dict) and all(
            isinstance(each, str | int | float) and not isinstance(each, bool)
            for each in value.values()
        )
        if not simple or not isinstance(value, dict):
            raise InputError("is no mapping of names to values", expected="text, or {name: value}")
        return ",".join(f"{key}={each}" for key, each in value.items())


AcceptanceItem = Annotated[str, MinLen(1), MaxLen(2000), AcceptanceText()]
AxisItem = Annotated[str, MinLen(1), MaxLen(200), AxisText()]
PairsItem = Annotated[str, MinLen(1), MaxLen(600), PairsText()]
Axis = Annotated[tuple[AxisItem, ...], MinLen(1), MaxLen(1000)]


@dataclass(frozen=True, slots=True, kw_only=True)
class MixPart(Strict):
    """One workload of a traffic mix; `weight` is its share of the output tokens."""

    weight: Annotated[float, Ge(0), Le(1e9)]
    batch: AxisItem | None = None
    context: AxisItem | None = None
    alpha: AxisItem | None = None
    acceptance: AcceptanceItem | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload(Strict):
    """Batch, context and acceptance as axes; or a mix of workloads that share one server. Prompt
    and output tokens, `isl` and `osl`, say the context in another way.
    """

    batch: Axis | None = None
    context: Axis | None = None
    isl: AxisItem | None = None
    osl: AxisItem | None = None
    acceptance: AcceptanceItem | None = None
    alpha: Axis | None = None
    mix: Annotated[tuple[MixPart, ...], MinLen(1), MaxLen(100)] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Incoming(Strict):
    """What comes in and what is promised: a rate and lengths, or a trace. `isl`, `osl` and
    `lengths` are laws or files; files are looked for from the plan's folder.
    """

    rate: Annotated[float, Unit("1/s"), NEEDS_UNIT, Ge(1e-6), Le(1e6)] | None = None
    isl: AxisItem | None = None
    osl: AxisItem | None = None
    lengths: Text | None = None
    trace: Text | None = None
    columns: PairsItem | None = None
    window: Text | None = None
    scale: Annotated[float, Ge(1e-3), Le(1e3)] | None = None
    thin: Annotated[float, Ge(1e-6), Le(1)] | None = None
    repeat: Annotated[int, Ge(1), Le(10_000)] | None = None
    prefix_hit: Annotated[float, Ge(0), Le(1)] | None = None
    cv: Annotated[float, Ge(0), Le(100)] | None = None
    slo: PairsItem | None = None
    usd_per_gpu_hour: Annotated[float, Ge(0), Le(1e4)] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class At(Strict):
    """The points that an expectation is about; an absent key means all of them."""

    target: Text | None = None
    draft: Text | None = None
    hardware: Text | None = None
    tp: AxisItem | None = None
    batch: AxisItem | None = None
    context: AxisItem | None = None
    alpha: AxisItem | None = None
    acceptance: AcceptanceItem | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Expect(Strict):
    """What must hold at every point. A quantity needs its unit; a share is written 0.03."""

    at: At | None = None
    min_speedup: Annotated[float, Ge(0), Le(100)] | None = None
    max_tpot: Annotated[float, Unit("s"), NEEDS_UNIT, Ge(1e-6), Le(1e3)] | None = None
    min_tokens_per_s: Annotated[float, Ge(0), Le(1e9)] | None = None
    fits: bool | None = None
    min_sequences: Annotated[int, Ge(1), Le(1_000_000_000)] | None = None
    max_draft_memory: Annotated[float, Unit("B"), NEEDS_UNIT, Ge(0), Le(1e14)] | None = None
    max_k_regret: Annotated[float, Ge(0), Le(1)] | None = None
    min_alpha_margin: Annotated[float, Ge(-1), Le(1)] | None = None
    min_break_even_batch: Annotated[int, Ge(1), Le(1_000_000_000)] | None = None
    max_gpus: Annotated[int, Ge(1), Le(1_000_000_000)] | None = None
    max_usd_per_million_output_tokens: Annotated[float, Ge(0), Le(1e9)] | None = None
    meets_slo: bool | None = None
    max_itl_p50: Annotated[float, Unit("s"), NEEDS_UNIT, Ge(1e-6), Le(1e3)] | None = None
    max_itl_p95: Annotated[float, Unit("s"), NEEDS_UNIT, Ge(1e-6), Le(1e3)] | None = None
    max_itl_p99: Annotated[float, Unit("s"), NEEDS_UNIT, Ge(1e-6), Le(1e3)] | None = None

    def limits(self) -> dict[str, float | int | bool]:
        """The expectations that are set, by key, in the order they are defined."""
        pairs = ((f.name, getattr(self, f.name)) for f in fields(self) if f.name != "at")
        return {name: value for name, value in pairs if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan(Strict):
    """A planning config, guarded by `specplan check`."""

    schema: Literal["plan/1"]
    about: Text | None = None
    target: Axis | None = None
    draft: Axis | None = None
    hardware: Axis | None = None
    tp: Axis | None = None
    draft_tp: Axis | None = None
    engine: Axis | None = None
    attention_dp: Axis | None = None
    ep: Axis | None = None
    dtype: Axis | None = None
    draft_dtype: Axis | None = None
    kv_dtype: Axis | None = None
    k: Axis | None = None
    workload: Workload | None = None
    traffic: Incoming | None = None
    expect: Annotated[tuple[Expect, ...], MinLen(1), MaxLen(1000)] | None = None
