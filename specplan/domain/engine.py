"""A serving engine: what its kernels reach on each accelerator, and its habits between them.

The ideal roofline is an engine without kernels or habits: a bound. All constants that are keyed
by accelerator and dtype live in these cards, and nowhere else. Shares are of the figures in the
accelerator's own card.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Annotated, Literal

from annotated_types import Ge, Le, MaxLen, MinLen

from specplan.domain.card import Dtype, Name, Pattern, Source, Strict, Text
from specplan.errors import UsageError
from specplan.units import Unit

Seconds = Annotated[float, Unit("s"), Ge(0), Le(1)]
Share = Annotated[float, Ge(0.01), Le(1.5)]
Rate = Annotated[float, Unit("B/s"), Ge(1e9), Le(1e15)]
VERSION_PATTERN = r"^\d{1,6}(\.\d{1,6}){0,3}$"
Version = Annotated[str, Pattern(VERSION_PATTERN)]

# Output tiles (rows x columns) that an engine's matrix kernels come in; the cheapest runs.
TILES: dict[str, tuple[tuple[int, int], ...]] = {
    "tiny": ((32, 64), (64, 64), (64, 128), (128, 128), (256, 128)),
    "small": ((64, 64), (64, 128), (128, 128), (256, 128)),
    "medium": ((64, 128), (128, 128), (256, 128)),
    "large": ((128, 256), (256, 256)),
    "weightonly": ((16, 64), (32, 64), (64, 128), (128, 128)),
    "by-rows": ((64, 64), (64, 128), (128, 128)),
}
BY_ROWS: dict[str, tuple[int, ...]] = {"by-rows": (64, 128)}
"""Menus whose tile the number of rows alone decides: up to how many each but the last runs."""
PAYLOADS_BYTES = (1 << 10, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 24)
"""Message sizes at which all-reduce times are given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gemm(Strict):
    """A family of matrix kernels. `launch` per call; `memory` and `compute` shares of the peaks;
    `waves` is the share of memory time that waits for whole waves of tiles, `edge` half the edge
    of the square tile whose operand loads cost as much as its arithmetic; `split` and `reduce`
    price split-k, absent where the engine never splits; `single` is added at one row alone.
    """

    tiles: Literal["tiny", "small", "medium", "large", "weightonly", "by-rows"]
    launch: Seconds
    memory: Share
    compute: Share
    waves: Annotated[float, Ge(0), Le(1)] = 0.0
    edge: Annotated[float, Ge(0), Le(1000)] = 0.0
    split: Seconds | None = None
    reduce: Rate | None = None
    single: Seconds = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Decode(Strict):
    """Decode attention over a KV cache: `block` per thread block and multiprocessor, `cold` the
    latency met once a layer's keys and values no longer sit in L2. Optional: `group` a call for
    each query head of a KV head beyond the first, `queries` the share of the bf16 peak at which
    one query's scores and values are formed (absent where memory hides them), `waves` the share
    of memory time that waits for whole waves of thread blocks.
    """

    launch: Seconds
    memory: Share
    block: Seconds
    cold: Seconds = 0.0
    group: Seconds = 0.0
    queries: Share | None = None
    waves: Annotated[float, Ge(0), Le(1)] = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Latent(Strict):
    """Attention over a compressed (latent) cache, absorbed form."""

    launch: Seconds
    memory: Share
    compute: Share


@dataclass(frozen=True, slots=True, kw_only=True)
class Grouped(Strict):
    """A fused layer of experts: `expert` per expert touched; each is padded to `rows` rows."""

    launch: Seconds
    expert: Seconds
    memory: Share
    compute: Share
    rows: Annotated[int, Ge(1), Le(1024)]


@dataclass(frozen=True, slots=True, kw_only=True)
class AllReduce(Strict):
    """One all-reduce over `gpus`: seconds at each of PAYLOADS_BYTES, bus bandwidth beyond."""

    gpus: Annotated[int, Ge(2), Le(1024)]
    times: Annotated[tuple[Seconds, ...], MinLen(7), MaxLen(7)]
    bus: Rate


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernels(Strict):
    """What an engine's kernels reach on the first of `gpus`; the others are of the same silicon.
    `basis` says how the figures came about: measured there, scaled from another accelerator's by
    a fit table, or assumed.
    """

    gpus: Annotated[tuple[Name, ...], MinLen(1)]
    basis: Literal["measured", "scaled", "assumed"]
    gemm: dict[Dtype, Gemm] = field(default_factory=dict)
    attention: dict[Dtype, Decode] = field(default_factory=dict)
    latent: Latent | None = None
    experts: dict[Dtype, Grouped] = field(default_factory=dict)
    allreduce: tuple[AllReduce, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Small(Strict):
    """The rest of a pass. Norms, rotations and activations: `launches` a layer of `launch` each,
    `memory` the share of bandwidth they draw; `state` per recurrent
    layer, `sampler` per target pass and `draft_sampler` per draft pass.
    """

    launches: Annotated[int, Ge(0), Le(100)]
    launch: Seconds
    memory: Share
    state: Seconds
    sampler: Seconds
    draft_sampler: Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Release(Strict):
    """Host habits from version `since` on. `host` is the host's time for a plain step, `round_host`
    for a round; `*_hidden` where the GPU works meanwhile, so that only what exceeds its time
    counts. Each draft pass adds `draft_host` and takes at least `draft_floor`. Passes of more than
    `graphs` rows are launched one by one, `eager` each. A server spends `host_per_sequence` on
    each request besides: it counts in the time per token of servers alone, for steps and rounds
    are of batches that stay.
    """

    since: Version
    host: Seconds
    host_hidden: bool
    host_per_sequence: Seconds = 0.0
    round_host: Seconds
    round_hidden: bool
    draft_host: Seconds = 0.0
    draft_floor: Seconds = 0.0
    graphs: Annotated[int, Ge(0), Le(1_000_000)]
    eager: Seconds
    says: Text


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine(Strict):
    """One engine card. `kind` says what its figures are: a bound nobody beats, an estimate, a fit
    to your data. What it does not state (an absent key) comes from the engine that it `follows`,
    and what that lacks for an accelerator from `stand_in`'s kernels; the answer says so.
    """

    schema: Literal["engine/1"]
    name: Name
    title: Text
    aliases: Annotated[tuple[Name, ...], MaxLen(16)] = ()
    kind: Literal["bound", "estimate", "calibrated"]
    says: Text
    follows: Name | None = None
    stand_in: Name | None = None
    rereads_kv: bool | None = None
    expert_overlap: Annotated[float, Ge(0), Le(1)] | None = None
    small: Small | None = None
    kernels: tuple[Kernels, ...] = ()
    releases: tuple[Release, ...] = ()
    accept: dict[str, Text] = field(default_factory=dict)
    sources: Annotated[tuple[Source, ...], MinLen(1)]
    notes: tuple[Text, ...] = ()

    @property
    def rereads(self) -> bool:
        """Whether attention reads the cache once per query; a card that does not say reads once."""
        return bool(self.rereads_kv)

    @property
    def overlap(self) -> float:
        """How independently a sequence's tokens choose experts; 1, wholly, where no card says."""
        return 1.0 if self.expert_overlap is None else self.expert_overlap

    def release(self, version: str | None) -> Release | None:
        """The habits of a version such as 0.27; the newest known where none is named, and None
        for an engine that has none.
        """
        if version is None:
            return self.releases[-1] if self.releases else None
        if not self.releases:
            raise UsageError(f"{self.name} has no versions", hint=f"write {self.name}")
        wanted = _ordered(version)
        known = [r for r in self.releases if _ordered(r.since) <= wanted]
        if not known:
            raise UsageError(
                f"{self.name} {version} is older than its card goes",
                expected=f"a version from {self.releases[0].since} on",
            )
        return known[-1]

    def outgrown(self, version: str | None) -> str:
        """A word on a version whose major number is beyond all that the card knows, else ""."""
        if version is None or not self.releases:
            return ""
        newest = self.releases[-1].since
        if _ordered(version)[0] <= _ordered(newest)[0]:
            return ""
        return f"{self.name}@{version}: habits of {newest} and later"

    def following(self, base: Engine) -> Engine:
        """The card with all that it does not state taken from the engine that it follows."""
        own = [_filled(kernels, base.on(kernels.gpus[0])) for kernels in self.kernels]
        stated = {gpu for kernels in self.kernels for gpu in kernels.gpus}
        lent = [
            replace(kernels, gpus=others, basis="assumed")
            for kernels in base.kernels
            if (others := tuple(gpu for gpu in kernels.gpus if gpu not in stated))
        ]
        return replace(
            self,
            stand_in=self.stand_in or base.stand_in,
            rereads_kv=base.rereads_kv if self.rereads_kv is None else self.rereads_kv,
            expert_overlap=(
                base.expert_overlap if self.expert_overlap is None else self.expert_overlap
            ),
            small=self.small or base.small,
            kernels=tuple(sorted((*own, *lent), key=lambda one: one.gpus)),
            releases=self.releases or base.releases,
        )

    def on(self, gpu: str) -> Kernels | None:
        """The kernels on an accelerator, by the name of its card."""
        return next((k for k in self.kernels if gpu in k.gpus), None)


def _filled(own: Kernels, lent: Kernels | None) -> Kernels:
    """An engine's kernels on one accelerator, gaps filled from those of another engine."""
    if lent is None:
        return own
    return replace(
        own,
        gemm={**lent.gemm, **own.gemm},
        attention={**lent.attention, **own.attention},
        latent=own.latent or lent.latent,
        experts={**lent.experts, **own.experts},
        allreduce=own.allreduce or lent.allreduce,
    )


def _ordered(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
