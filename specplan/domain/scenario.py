"""A question's grid: what is planned (setups) times the workload it is planned for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from specplan.domain.acceptance import Acceptance
from specplan.domain.card import Dtype
from specplan.domain.drafter import Drafter
from specplan.domain.engine import Engine, Release
from specplan.domain.hardware import Hardware
from specplan.domain.model import Model


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """One thing that an answer rests on: its value, who set it, and the card's hash if a card."""

    value: object
    origin: str
    sha256: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """What runs a setup: the engine, the version asked for, and how its GPUs are split."""

    engine: str
    engine_version: str | None
    attention_dp: int
    ep: int

    @property
    def served_by(self) -> str:
        """The engine as it is typed: vllm, or vllm@0.10."""
        return f"{self.engine}@{self.engine_version}" if self.engine_version else self.engine


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """One combination of everything that is not workload. `release` holds the habits of the
    engine's `version`, of its newest where none was asked for; `band` is how far 9 of 10 of its
    engine's round costs were off at most, where enough rounds were measured to say.
    """

    target: Model
    draft: Drafter
    hardware: Hardware
    tp: int
    draft_tp: int
    engine: Engine
    dtype: Dtype
    draft_dtype: Dtype
    kv_dtype: Dtype
    release: Release | None = None
    version: str | None = None
    attention_dp: int = 1
    ep: int = 1
    band: float | None = None

    @property
    def gpus(self) -> int:
        """Accelerators in use: the drafter may be spread wider than the target."""
        return max(self.tp, self.draft_tp)

    @property
    def where(self) -> str:
        """The hardware as people say it."""
        return self.hardware.name if self.gpus == 1 else f"{self.gpus}x {self.hardware.name}"

    @property
    def serving(self) -> Serving:
        """Engine, version and split."""
        return Serving(
            engine=self.engine.name,
            engine_version=self.version,
            attention_dp=self.attention_dp,
            ep=self.ep,
        )

    @property
    def label(self) -> str:
        """The setup in one line."""
        return f"{self.target.name} + {self.draft.label} on {self.where}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One workload of a traffic mix: `weight` is its share of the output tokens."""

    weight: float
    batch: float
    context: float
    acceptance: Acceptance


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """Axes in the order they vary: setups, context, batch, acceptance, k; k = 0 is plain decoding.

    `k` is empty when the question is to choose among 0..k_max; `parts` replaces the workload
    axes when the workloads share one server. `growth` is how many tokens a sequence still grows
    beyond its average `context`: times are at the average, memory is for the end.
    """

    setups: tuple[Setup, ...]
    batch: tuple[float, ...]
    context: tuple[float, ...]
    acceptance: tuple[Acceptance, ...]
    k: tuple[int, ...] = ()
    k_max: int = 16
    growth: float = 0.0
    parts: tuple[Part, ...] = ()
    inputs: Mapping[str, Input] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def candidates(self) -> tuple[int, ...]:
        """The draft lengths a best k is chosen from; k = 0 is always one of them."""
        return tuple(sorted({0, *self.k})) if self.k else tuple(range(self.k_max + 1))

    @property
    def all_iid(self) -> bool:
        """Whether an alpha says all of every acceptance."""
        return all(model.iid is not None for model in self.acceptance)

    @property
    def workloads(self) -> int:
        """Combinations of setup, context, batch and acceptance."""
        return len(self.setups) * len(self.batch) * len(self.context) * len(self.acceptance)

    @property
    def points(self) -> int:
        """Cells of the grid: every workload at every k."""
        return self.workloads * len(self.k)
