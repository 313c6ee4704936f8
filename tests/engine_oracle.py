"""A second opinion on engines: kernel times in plain Python, one number at a time, by brute force.

Written from the description of the forms in docs/physics.md. It imports nothing of the package:
cards (a model, an accelerator, an engine's kernels and release) are handed in and read by the
names of their keys. A pass is a list of (name, seconds, launches), one entry per kind of kernel.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

BYTES = {
    "fp32": 4.0,
    "bf16": 2.0,
    "fp16": 2.0,
    "fp8": 1.0,
    "int8": 1.0,
    "fp4": 0.5,
    "int4": 0.5,
    "nvfp4": 9 / 16,
    "mxfp4": 17 / 32,
}
READ = BYTES | {"int4": 0.5 + 1 / 64}  # as a pass reads them, group scales of int4 included
INPUT = {"fp32": 4.0, "fp8": 4.0, "int8": 4.0, "fp4": 3.125, "nvfp4": 3.125}  # else 2 bytes
RATE = {  # which rates multiply a stored type, best first
    "fp32": ("fp32",),
    "bf16": ("bf16",),
    "fp16": ("fp16", "bf16"),
    "fp8": ("fp8", "bf16"),
    "int8": ("int8", "bf16"),
    "fp4": ("fp4", "bf16"),
    "nvfp4": ("fp4", "bf16"),
    "int4": ("bf16", "fp16"),
    "mxfp4": ("bf16", "fp16"),
}
STANDS_IN = {
    "fp16": ("bf16",),
    "fp32": ("bf16",),
    "fp8": ("int8", "bf16"),
    "int8": ("fp8", "bf16"),
    "nvfp4": ("fp4", "int4", "bf16"),
    "fp4": ("nvfp4", "int4", "bf16"),
    "mxfp4": ("int4", "bf16"),
    "int4": ("mxfp4", "bf16"),
    "bf16": (),
}
TILES = {
    "tiny": ((32, 64), (64, 64), (64, 128), (128, 128), (256, 128)),
    "small": ((64, 64), (64, 128), (128, 128), (256, 128)),
    "medium": ((64, 128), (128, 128), (256, 128)),
    "large": ((128, 256), (256, 256)),
    "weightonly": ((16, 64), (32, 64), (64, 128), (128, 128)),
}


def tiles(menu: str, rows: int) -> tuple[tuple[int, int], ...]:
    """What the cheapest is sought among; some engines look at the rows alone."""
    if menu != "by-rows":
        return TILES[menu]
    if rows <= 64:
        return ((64, 64),)
    return ((64, 128),) if rows <= 128 else ((128, 128),)


SIZES = [2**10, 2**14, 2**16, 2**18, 2**20, 2**22, 2**24]

Term = tuple[str, float, float]


@dataclass(frozen=True)
class Asked:
    """What a pass is asked, and how the model lies on the GPUs."""

    batch: int  # sequences of one attention group
    tokens: int
    context: float
    dtype: str
    kv_dtype: str
    overlap: float = 1.0
    gpus: int = 1
    groups: int = 1
    ep: int = 1
    rereads: bool = False
    draft: bool = False
    outputs: int | None = None  # tokens of a sequence that go through the head; all where unsaid

    @property
    def out_rows(self) -> int:
        return self.rows if self.outputs is None else self.batch * self.outputs

    @property
    def rows(self) -> int:
        return self.batch * self.tokens


@dataclass(frozen=True)
class Chip:
    """An accelerator and the kernels that run on it."""

    hardware: Any
    kernels: Any
    small: Any

    def peak(self, dtype: str) -> float:
        for rate in RATE[dtype]:
            if rate in self.hardware.rates:
                return float(self.hardware.rates[rate])
        raise LookupError(dtype)

    @property
    def bandwidth(self) -> float:
        return float(self.hardware.bandwidth)


def nearest(known: dict[Any, Any], dtype: str) -> Any:
    """The constants of a type, or of the first that stands in for it."""
    for name in (dtype, *STANDS_IN[dtype]):
        if name in known:
            return known[name]
    raise LookupError(dtype)


# --- kernels, one call each ------------------------------------------------------------------


def gemm_raw_s(n: float, inner: float, rows: int, dtype: str, chip: Chip) -> float:
    """The cheapest tile and split, before any smaller number of rows is looked at."""
    kernel, units = nearest(chip.kernels.gemm, dtype), chip.hardware.units
    read = READ[dtype] * n * inner + rows * (INPUT.get(dtype, 2.0) * inner + 2 * n)
    memory_s = read / (kernel.memory * chip.bandwidth)
    found = []
    for tall, wide in tiles(kernel.tiles, rows):
        blocks = math.ceil(rows / tall) * math.ceil(n / wide)
        edge = (1 + kernel.edge * (1 / tall + 1 / wide)) / (1 + kernel.edge / 64)
        of_unit = kernel.compute * chip.peak(dtype) / units
        block_s = 2 * tall * wide * inner * edge / of_unit
        for ways in (1, 2, 3, 4, 6, 8, 16):
            if ways > 1 and kernel.split is None:
                continue
            waves = math.ceil(blocks * ways / units)
            idle = waves * units / (blocks * ways) - 1
            moved = memory_s * (1 + kernel.waves * idle)
            time_s = (moved**3 + (waves * block_s / ways) ** 3) ** (1 / 3)
            if ways > 1 and kernel.reduce is not None:
                time_s += kernel.split + ways * 8 * rows * n / kernel.reduce
            found.append(time_s)
    return kernel.launch + min(found)


def gemm_s(n: float, inner: float, rows: int, dtype: str, chip: Chip) -> float:
    """The longest of every number of rows up to this one."""
    return max(gemm_raw_s(n, inner, m, dtype, chip) for m in range(1, rows + 1))


def attention_s(shape: tuple[int, int, int], window: int | None, asked: Asked, chip: Chip) -> float:
    """One layer; `shape` is heads, KV heads and head width of one GPU."""
    heads, kv_heads, width = shape
    kernel = nearest(chip.kernels.attention, asked.kv_dtype)
    seen = asked.context if window is None else min(asked.context, window)
    times = asked.tokens if asked.rereads else 1
    cache = 2 * kv_heads * width * BYTES[asked.kv_dtype] * asked.batch * times * seen
    moved = cache / (kernel.memory * chip.bandwidth)
    sharing = max(1.0, heads / kv_heads * asked.tokens / 16)
    blocks = kernel.block * asked.batch * kv_heads / chip.hardware.units * math.sqrt(sharing)
    moved *= 1 + kernel.waves * empty_seats(asked.batch * kv_heads, seen, chip.hardware.units)
    flop = 4 * heads * width * seen * asked.batch  # of one query of each sequence
    counted = (asked.tokens - 1) * flop / (0.5 * chip.peak("bf16"))
    if kernel.queries is not None:
        counted += flop / (kernel.queries * chip.peak("bf16"))
    beyond = cache / (0.7 * chip.hardware.l2)
    cold = kernel.cold * beyond**4 / (1 + beyond**4)
    started = kernel.launch + kernel.group * (heads / kv_heads - 1)
    return started + math.sqrt(blocks**2 + moved**2 + counted**2) + cold


def empty_seats(caches: int, seen: float, units: int) -> float:
    """Per thread block, in waves of one a multiprocessor; each cache is divided as long as there
    are multiprocessors, into 32 parts at most and none shorter than 512 positions.
    """
    if caches >= units:
        blocks: float = caches
    else:
        blocks = caches * max(1.0, min(units // caches, 32, seen / 512))
    return math.ceil(blocks / units) * units / blocks - 1


def latent_s(heads: int, latent: int, rope: int, asked: Asked, chip: Chip) -> float:
    """One layer of absorbed latent attention."""
    kernel = chip.kernels.latent
    cache = (latent + rope) * BYTES[asked.kv_dtype] * asked.batch * asked.context
    flop = heads * (4 * latent + 2 * rope) * asked.rows * asked.context
    moved = cache / (kernel.memory * chip.bandwidth)
    return kernel.launch + math.hypot(moved, flop / (kernel.compute * chip.peak("bf16")))


def touched(experts: int, active: int, held: float, tokens: float) -> float:
    """Experts of one GPU that so many independent tokens reach."""
    if active == experts:
        return held
    return held * (1 - (1 - active / experts) ** tokens)


def experts_s(layer: Any, hidden: int, asked: Asked, dtype: str, chip: Chip) -> float:
    """One fused layer of experts."""
    kernel = nearest(chip.kernels.experts, dtype)
    held, width = layer.experts / asked.ep, layer.width / (asked.gpus / asked.ep)
    matrices = 3 if layer.gated else 2
    weights = matrices * hidden * width
    tokens = asked.groups * asked.batch * (1 + asked.overlap * (asked.tokens - 1))
    reached = touched(layer.experts, layer.active, held, tokens)
    routed = asked.groups * asked.rows * layer.active * held / layer.experts
    read = READ[dtype] * reached * weights + 2 * routed * (2 * hidden + matrices * width)
    padded = max(reached * kernel.rows, routed + reached * kernel.rows / 2)
    moved = read / (kernel.memory * chip.bandwidth)
    counted = 2 * weights * padded / (kernel.compute * chip.peak(dtype))
    both = (moved**3 + counted**3) ** (1 / 3)
    return kernel.launch + kernel.expert * reached + both


def allreduce_s(payload: float, gpus: int, chip: Chip) -> float:
    """One all-reduce of so many bytes."""
    known = sorted(chip.kernels.allreduce, key=lambda one: one.gpus)
    kernel = next((one for one in known if one.gpus >= gpus), known[-1])
    times = [max(kernel.times[: i + 1]) for i in range(len(SIZES))]
    if payload > SIZES[-1]:
        return max(2 * (kernel.gpus - 1) / kernel.gpus * payload / kernel.bus, times[-1])
    if payload <= SIZES[0]:
        return times[0]
    i = next(i for i in range(len(SIZES) - 1) if payload <= SIZES[i + 1])
    share = math.log(payload / SIZES[i]) / math.log(SIZES[i + 1] / SIZES[i])
    return math.exp((1 - share) * math.log(times[i]) + share * math.log(times[i + 1]))


def small_s(launches: float, elements: float, rows: int, chip: Chip) -> float:
    """Norms, rotations and activations."""
    moved = 2 * elements * rows / (chip.small.memory * chip.bandwidth)
    return launches * chip.small.launch + moved


def sampler_s(vocab: int, asked: Asked, chip: Chip) -> float:
    """Choosing tokens."""
    fixed = chip.small.draft_sampler if asked.draft else chip.small.sampler
    sweeps = 1 if asked.draft else 3
    return fixed + 4 * sweeps * vocab * asked.out_rows / (chip.small.memory * chip.bandwidth)


def state_s(state_bytes: float, rows: int, chip: Chip) -> float:
    """Reading and writing one layer's recurrent state."""
    return chip.small.state + 2 * state_bytes * rows / (chip.small.memory * chip.bandwidth)


# --- a pass ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Forward:
    """One pass of a model."""

    model: Any
    asked: Asked
    chip: Chip

    @property
    def hidden(self) -> int:
        return int(self.model.architecture.hidden)

    @property
    def tp(self) -> int:
        return self.asked.gpus // self.asked.groups

    def stored(self, part: str) -> str:
        """How a part is stored: as the checkpoint has it, or what it is like; router and head stay
        wide.
        """
        asked = self.asked.dtype
        for name in (part, {"shared": "mlp", "recurrent": "attention"}.get(part)):
            if asked == str(self.model.dtype) and name in self.model.parts:
                return str(self.model.parts[name])
        return "bf16" if part in ("router", "head") and BYTES[asked] < 2 else asked

    def product(self, name: str, n: float, inner: float, dtype: str) -> list[Term]:
        rows = self.asked.out_rows if name == "head" else self.asked.rows
        time_s = gemm_s(n, inner, rows, dtype, self.chip)
        slow = nearest(self.chip.kernels.gemm, dtype).single if rows == 1 else 0.0
        return [(name, time_s, 1.0), ("single row", slow, 0.0)]

    def small(self, name: str, launches: float, elements: float) -> Term:
        return name, small_s(launches, elements, self.asked.rows, self.chip), launches

    def exchange(self, width: float, gpus: int, groups: int = 1) -> list[Term]:
        if gpus < 2:
            return []
        payload = 2 * width * groups * self.asked.rows
        return [("allreduce", allreduce_s(payload, gpus, self.chip), 1.0)]

    def attention(self, layer: Any) -> list[Term]:
        heads, kv_heads = math.ceil(layer.heads / self.tp), math.ceil(layer.kv_heads / self.tp)
        dtype, width = self.stored("attention"), layer.head_dim
        columns = ((2 if layer.gated else 1) * heads + 2 * kv_heads) * width
        time_s = attention_s((heads, kv_heads, width), layer.window, self.asked, self.chip)
        terms = [
            *self.product("qkv", columns, layer.inputs * self.hidden, dtype),
            ("attention", time_s, 1.0),
            *self.product("output", self.hidden, heads * width, dtype),
        ]
        if layer.qk_norm_all_heads and self.tp > 1:
            terms += [*self.exchange(4, self.tp), self.small("small", 4, 0.0)]
        return terms

    def latent(self, layer: Any) -> list[Term]:
        heads, dtype = math.ceil(layer.heads / self.tp), self.stored("attention")
        query, down = heads * (layer.nope + layer.rope), layer.latent + layer.rope
        wide = "bf16" if BYTES[dtype] < 2 else dtype
        if layer.q_rank:
            terms = self.product("qkv", layer.q_rank + down, self.hidden, dtype)
            terms += self.product("qkv", query, layer.q_rank, dtype)
        else:
            terms = self.product("qkv", query + down, self.hidden, dtype)
        terms += self.product("latent", heads * layer.nope, layer.latent, wide)
        time_s = latent_s(heads, layer.latent, layer.rope, self.asked, self.chip)
        terms += [("attention", time_s, 1.0)]
        terms += self.product("latent", heads * layer.value, layer.latent, wide)
        return terms + self.product("output", self.hidden, heads * layer.value, dtype)

    def mlp(self, name: str, width: float, *, gated: bool) -> list[Term]:
        across, dtype = width / self.tp, self.stored(name)
        up = self.product(name, (2 if gated else 1) * across, self.hidden, dtype)
        return up + self.product(name, self.hidden, across, dtype)

    def experts(self, layer: Any) -> list[Term]:
        dtype = self.stored("experts")
        time_s = experts_s(layer, self.hidden, self.asked, dtype, self.chip)
        terms = self.product("router", layer.experts, self.hidden, self.stored("router"))
        terms += [self.small("router", 2, 0.0), ("experts", time_s, 4.0)]
        if layer.shared_width:
            terms += self.mlp("shared", layer.shared_width, gated=layer.gated)
        there = self.exchange(self.hidden, self.asked.gpus, self.asked.groups)
        return terms + (2 if self.asked.groups > 1 else 1) * there

    def layer(self, block: Any) -> list[Term]:
        terms: list[Term] = []
        if block.attention:
            terms += self.attention(block.attention)
        if block.latent:
            terms += self.latent(block.latent)
        if block.recurrent:
            columns = block.recurrent.params / self.tp / self.hidden
            terms += self.product("recurrent", columns, self.hidden, self.stored("recurrent"))
            time_s = state_s(block.recurrent.state_bytes / self.tp, self.asked.rows, self.chip)
            terms += [("state", time_s, 2.0)]  # convolution, then recurrence
        if block.attention or block.latent or block.recurrent:
            terms += self.exchange(self.hidden, self.tp)
        activated = 0.0
        if block.mlp:
            terms += self.mlp("mlp", block.mlp.width, gated=block.mlp.gated)
            terms += self.exchange(self.hidden, self.tp)
            activated = block.mlp.width / self.tp
        if block.experts:
            terms += self.experts(block.experts)
            activated += block.experts.shared_width / self.tp
        elements = 8 * self.hidden + 3 * activated
        return [*terms, self.small("small", self.chip.small.launches, elements)]

    def fusion(self) -> list[Term]:
        """What joins the target's hidden states, where the model has it."""
        vectors = self.model.architecture.fuse
        dtype = self.stored("attention")
        return self.product("fuse", self.hidden, vectors * self.hidden, dtype) if vectors else []

    def terms(self) -> list[Term]:
        """Fusion and the rest."""
        return self.fusion() + self.rest()

    def rest(self) -> list[Term]:
        """All layers, head and sampler behind them."""
        arch, found = self.model.architecture, []
        for block in arch.blocks:
            times = block.repeat
            found += [(name, times * s, times * n) for name, s, n in self.layer(block)]
        vocab = math.ceil(arch.vocab / self.tp)
        found += self.product("head", vocab, self.hidden, self.stored("head"))
        return [*found, ("sampler", sampler_s(arch.vocab, self.asked, self.chip), 6.0)]


def named(terms: list[Term]) -> dict[str, float]:
    """Seconds by name."""
    sums: dict[str, float] = {}
    for name, time_s, _ in terms:
        sums[name] = sums.get(name, 0.0) + time_s
    return sums


# --- a round ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Times:
    """Seconds of a plain step, all draft passes, and a round."""

    plain_s: float
    draft_s: float
    round_s: float


def total_s(terms: list[Term]) -> float:
    """Seconds of all."""
    return sum(time_s for _, time_s, _ in terms)


def launched_s(terms: list[Term], rows: int, release: Any) -> float:
    """GPU seconds; beyond the graphs never faster than the kernels can be launched."""
    gpu_s = total_s(terms)
    if rows <= release.graphs:
        return gpu_s
    return max(gpu_s, release.eager * sum(launches for *_, launches in terms))


def shown_s(host_s: float, gpu_s: float, *, hidden: bool) -> float:
    """GPU seconds with the host time that shows."""
    return max(host_s, gpu_s) if hidden else host_s + gpu_s


def round_times(setup: Any, batch: int, context: float, k: int) -> Times:
    """A round of k drafts of a setup, whose drafter is a model or a ratio."""
    release, engine = setup.release, setup.engine
    kernels = engine.on(setup.hardware.name) or engine.on(engine.stand_in)
    chip = Chip(setup.hardware, kernels, engine.small)
    asked = Asked(
        batch=math.ceil(batch / setup.attention_dp),
        tokens=1,
        context=context,
        dtype=str(setup.dtype),
        kv_dtype=str(setup.kv_dtype),
        gpus=setup.tp,
        groups=setup.attention_dp,
        ep=setup.ep,
        rereads=bool(engine.rereads_kv),
    )
    wide = Asked(**{**_figures(asked), "tokens": k + 1, "overlap": engine.overlap})
    plain_gpu_s = launched_s(Forward(setup.target, asked, chip).terms(), asked.rows, release)
    verify_gpu_s = launched_s(Forward(setup.target, wide, chip).terms(), wide.rows, release)
    draft_s = k * setup.draft.ratio * plain_gpu_s
    if setup.draft.model:
        alone = Asked(
            batch=batch,
            tokens=1,
            outputs=1,
            context=context,
            dtype=str(setup.draft_dtype),
            kv_dtype=str(setup.kv_dtype),
            overlap=engine.overlap,
            gpus=setup.draft_tp,
            draft=True,
        )
        # A head begins a round with all of its tokens, a model with the one that it lacks.
        fuses = setup.draft.model.architecture.fuse
        first = Asked(**{**_figures(alone), "tokens": k + 1 if fuses else 2})
        begin = Forward(setup.draft.model, first, chip).terms()
        later = Forward(setup.draft.model, alone, chip).rest()
        for number, terms, rows in ((min(k, 1), begin, first.rows), (max(k - 1, 0), later, batch)):
            gpu_s = launched_s(terms, rows, release) if number else 0.0
            draft_s += number * (max(gpu_s, release.draft_floor) + release.draft_host)
    plain_s = shown_s(release.host, plain_gpu_s, hidden=release.host_hidden)
    if k == 0:
        return Times(plain_s, 0.0, plain_s)
    host_s, hidden = release.round_host, release.round_hidden
    if drawn(setup.draft) in release.unhidden:
        host_s, hidden = max(host_s, release.host), False
    return Times(plain_s, draft_s, shown_s(host_s, verify_gpu_s + draft_s, hidden=hidden))


def drawn(draft: Any) -> str:
    """Where drafts come from."""
    if draft.model:
        return "head" if draft.model.architecture.fuse else "model"
    return "head" if draft.ratio else "lookup"


def _figures(asked: Asked) -> dict[str, Any]:
    return {name: getattr(asked, name) for name in Asked.__dataclass_fields__}
