"""A serving engine: what its kernels reach on each accelerator, and its habits between them.

The ideal roofline is an engine without kernels or habits: a bound. All constants that are keyed
by accelerator and dtype live in these cards, and nowhere else. Shares are of the figures in the
accelerator's own card.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Annotated, Literal, TypeVar

from annotated_types import Ge, Le, MaxLen, MinLen

from specplan.domain.card import Dtype, Name, Source, Strict, Text
from specplan.domain.drafter import Draws
from specplan.domain.fitted import Passes, Steps
from specplan.domain.version import Since, ordered
from specplan.errors import Misfit, Refused, UsageError
from specplan.units import Unit

Seconds = Annotated[float, Unit("s"), Ge(0), Le(1)]
Latency = Annotated[float, Unit("s"), Ge(1e-9), Le(1)]
Share = Annotated[float, Ge(0.01), Le(1.5)]
Rate = Annotated[float, Unit("B/s"), Ge(1e9), Le(1e15)]

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
TIMING = ("kernels", "releases", "passes", "steps")
"""The keys that an ideal bound has no use for."""
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

    def __post_init__(self) -> None:
        """Refuses half a split-k, which would cost nothing."""
        if (self.split is None) != (self.reduce is None):
            given, other = ("split", "reduce") if self.reduce is None else ("reduce", "split")
            raise Misfit(
                f"{given} without {other}",
                key=(given,),
                expected="both or neither",
                hint=f"add {other}, or leave {given} out where the engine never splits",
            )


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
    times: Annotated[tuple[Latency, ...], MinLen(7), MaxLen(7)]
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

    def __post_init__(self) -> None:
        """Refuses what would never be read: a second of one name or number."""
        for place, gpu in _again(self.gpus):
            raise Misfit(f"'{gpu}' twice in gpus", key=("gpus", place), hint="keep one")
        for place, gpus in _again(one.gpus for one in self.allreduce):
            what = f"two all-reduces over {gpus} GPUs"
            raise Misfit(what, key=("allreduce", place, "gpus"), hint="keep one")


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
    counts. Around drafters that are `unhidden` nothing overlaps, and a round waits for the longer
    of both. Each draft pass adds `draft_host` and takes at least `draft_floor`. Passes of more
    than `graphs` rows are launched one by one, `eager` each. A server spends `host_per_sequence`
    on each request besides: it counts in the time per token of servers alone, for steps and rounds
    are of batches that stay.
    """

    since: Since
    host: Seconds
    host_hidden: bool
    host_per_sequence: Seconds = 0.0
    round_host: Seconds
    round_hidden: bool
    unhidden: Annotated[tuple[Draws, ...], MaxLen(3)] = ()
    draft_host: Seconds = 0.0
    draft_floor: Seconds = 0.0
    graphs: Annotated[int, Ge(0), Le(1_000_000)]
    eager: Seconds
    says: Text


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine(Strict):
    """One engine card. `kind` says what its figures are: a bound nobody beats, an estimate, a fit
    to your data. What it does not state (an absent key) comes from the engine that it `follows`,
    and what that lacks for an accelerator from `stand_in`'s kernels; the answer says so. `passes`
    or `steps` take the place of kernels; `within` is how far 9 of 10 steps lay from a fit that had
    not met them.
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
    pads_lookup: bool | None = None
    expert_overlap: Annotated[float, Ge(0), Le(1)] | None = None
    small: Small | None = None
    passes: Passes | None = None
    steps: Steps | None = None
    within: Annotated[float, Ge(0), Le(10)] | None = None
    kernels: tuple[Kernels, ...] = ()
    releases: tuple[Release, ...] = ()
    accept: dict[str, Text] = field(default_factory=dict)
    sources: Annotated[tuple[Source, ...], MinLen(1)]
    notes: tuple[Text, ...] = ()

    def __post_init__(self) -> None:
        """Refuses what would never be read, or not as it was meant."""
        ignored = next((key for key in TIMING if getattr(self, key)), None)
        if self.kind == "bound" and ignored:
            raise Misfit(
                f"a bound with {ignored}, which it would not use",
                key=(ignored,),
                expected="kind: estimate or calibrated",
                hint=f"delete {ignored} to keep the bound",
            )
        if self.passes and self.steps:
            raise Misfit("passes beside steps", key=("passes",), hint="keep one")
        if self.follows in {self.name, *self.aliases}:
            hint = "leave follows out, or name another engine"
            raise Misfit("the card follows itself", key=("follows",), hint=hint)
        named = [(i, j, gpu) for i, on in enumerate(self.kernels) for j, gpu in enumerate(on.gpus)]
        for place, gpu in _again(gpu for _, _, gpu in named):
            i, j, _ = named[place]
            key = ("kernels", i, "gpus", j)
            raise Misfit(f"'{gpu}' in two blocks of kernels", key=key, hint="keep one")
        self._in_order()

    def _in_order(self) -> None:
        """Refuses releases of which some would never be found."""
        for place, (before, after) in enumerate(
            zip(self.releases, self.releases[1:], strict=False)
        ):
            if ordered(before.since) >= ordered(after.since):
                raise Misfit(
                    f"release {after.since} after {before.since}",
                    key=("releases", place + 1, "since"),
                    expected="releases from the oldest to the newest, none twice",
                )

    @property
    def fitted(self) -> bool:
        """Whether whole passes were fitted or measured, so that kernels are not asked."""
        return self.passes is not None or self.steps is not None

    @property
    def ran_version(self) -> str | None:
        """The release that whole passes were measured on, where the card says."""
        fitted = self.steps or self.passes
        return fitted.ran.version if fitted and fitted.ran else None

    @property
    def rereads(self) -> bool:
        """Whether attention reads the cache once per query; a card that does not say reads once."""
        return bool(self.rereads_kv)

    @property
    def pads(self) -> bool:
        """Whether verification is k + 1 wide for a sequence without drafts; no where no card says
        so.
        """
        return bool(self.pads_lookup)

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
        wanted = ordered(version)
        known = [r for r in self.releases if ordered(r.since) <= wanted]
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
        if ordered(version)[0] <= ordered(newest)[0]:
            return ""
        return f"{self.name}@{version}: habits of {newest} and later"

    def lacking(self, what: str, key: str) -> Refused:
        """The error for what neither this card states nor one that it follows."""
        hint = "follows: vllm takes what the card does not state from vLLM"
        return Refused(
            f"{self.name} {what}",
            expected=f"{key} in its card",
            hint="" if self.follows else hint,
        )

    def on(self, gpu: str) -> Kernels | None:
        """The kernels on an accelerator, by the name of its card."""
        return next((k for k in self.kernels if gpu in k.gpus), None)


T = TypeVar("T")


def _again(values: Iterable[T]) -> Iterator[tuple[int, T]]:
    """Each value that came before, with its place."""
    seen: set[T] = set()
    for place, value in enumerate(values):
        if value in seen:
            yield place, value
        seen.add(value)
