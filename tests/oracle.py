"""A second opinion: the planner's formulas in plain Python, one number at a time, by brute force.

Written from the papers (Leviathan et al. 2023, eq. 1 and theorems 3.8 and 3.11; MoESD for the
experts touched) and the description of the ideal roofline. It imports nothing of the package and
shares none of its figures: a test states a case twice, once for each side.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

BYTES = {
    "fp32": 4,
    "bf16": 2,
    "fp16": 2,
    "fp8": 1,
    "int8": 1,
    "fp4": 0.5,
    "int4": 0.5,
    "nvfp4": 0.5625,
    "mxfp4": 0.53125,
}
FILLED = 0.9  # of the memory that the driver shows
SAME = 1e-9  # relative; gains this close are a tie, which the smaller k wins


@dataclass(frozen=True)
class Layer:
    """`repeat` equal layers. What a layer lacks is 0."""

    repeat: int = 1
    heads: int = 0
    kv_heads: int = 0
    head_dim: int = 0
    window: int | None = None
    qkv_bias: bool = False
    out_bias: bool = False
    qk_norm: bool = False
    recurrent_params: int = 0
    state_bytes: float = 0.0
    mlp_width: int = 0
    mlp_gated: bool = True
    mlp_bias: bool = False
    experts: int = 0
    active: int = 0
    expert_width: int = 0
    shared_width: int = 0
    experts_gated: bool = True
    norms: int = 2


@dataclass(frozen=True)
class Model:
    """Layers, or the two planning figures of a dense model and what it stores."""

    hidden: int = 0
    vocab: int = 0
    tied: bool = False
    layers: tuple[Layer, ...] = ()
    planned_params: float = 0.0
    planned_kv_bytes: float = 0.0  # per token, at 16 bits
    planned_stored: float = 0.0


@dataclass(frozen=True)
class Case:
    """A target, a way to draft, and the GPUs. `ratio` is a draft step's share of a plain step."""

    target: Model
    rates: dict[str, float]
    bandwidth: float
    memory: float
    draft: Model | None = None
    ratio: float = 0.0
    drafts: bool = True
    tp: int = 1
    draft_tp: int = 1
    dtype: str = "bf16"
    draft_dtype: str = "bf16"
    kv_dtype: str = "bf16"


@dataclass(frozen=True)
class Step:
    """One pass: its arithmetic and traffic on one GPU, and the longer of their times."""

    flops: float
    moved_bytes: float
    compute_s: float
    memory_s: float
    seconds: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "seconds", max(self.compute_s, self.memory_s))


# --- tokens ---------------------------------------------------------------------------------


def expected_tokens(alpha: float, k: int) -> float:
    """1 + alpha + alpha^2 + ... + alpha^k."""
    return math.fsum(alpha**i for i in range(k + 1))


def alpha_for(tokens: float, k: int) -> float:
    """The alpha that yields `tokens`: Newton's method from 1, on a convex rising polynomial."""
    if tokens <= 1:
        return 0.0
    if tokens > k + 1:
        return math.inf
    alpha = 1.0
    for _ in range(200):
        slope = math.fsum(i * alpha ** (i - 1) for i in range(1, k + 1))
        better = alpha - (expected_tokens(alpha, k) - tokens) / slope
        if abs(better - alpha) <= 1e-16 * alpha:
            break
        alpha = better
    return alpha


# --- what a model holds ---------------------------------------------------------------------


def resident_params(model: Model) -> int:
    """Weights that every token multiplies, the head included and experts not."""
    total = model.vocab * model.hidden
    for layer in model.layers:
        for _ in range(layer.repeat):
            total += model.hidden * layer.heads * layer.head_dim  # q
            total += 2 * model.hidden * layer.kv_heads * layer.head_dim  # k, v
            total += layer.heads * layer.head_dim * model.hidden  # output
            total += layer.recurrent_params
            total += (3 if layer.mlp_gated else 2) * model.hidden * layer.mlp_width
            total += model.hidden * layer.experts  # router
            total += (3 if layer.experts_gated else 2) * model.hidden * layer.shared_width
    return total


def one_expert(model: Model, layer: Layer) -> int:
    """Weights of one expert of one layer."""
    return (3 if layer.experts_gated else 2) * model.hidden * layer.expert_width


def active_params(model: Model) -> float:
    """Weights that one token multiplies."""
    if not model.layers:
        return model.planned_params
    routed = sum(layer.repeat * layer.active * one_expert(model, layer) for layer in model.layers)
    return float(resident_params(model) + routed)


def read_params(model: Model, tokens: float) -> float:
    """Weights that a pass over `tokens` tokens reads: each expert that at least one picks."""
    if not model.layers:
        return model.planned_params
    total = float(resident_params(model))
    for layer in model.layers:
        if layer.experts:
            missed_by_all = math.pow(1 - layer.active / layer.experts, tokens)
            touched = layer.experts * (1 - missed_by_all)
            total += layer.repeat * touched * one_expert(model, layer)
    return total


def stored_params(model: Model) -> float:
    """Numbers in the checkpoint; a tied embedding is the head and is there once."""
    if not model.layers:
        return model.planned_stored
    total = resident_params(model) + model.hidden
    if not model.tied:
        total += model.vocab * model.hidden
    for layer in model.layers:
        each = layer.norms * model.hidden
        each += layer.experts * one_expert(model, layer)
        if layer.qkv_bias:
            each += (layer.heads + 2 * layer.kv_heads) * layer.head_dim
        each += model.hidden if layer.out_bias else 0
        each += 2 * layer.head_dim if layer.qk_norm else 0
        if layer.mlp_bias:
            each += (2 if layer.mlp_gated else 1) * layer.mlp_width + model.hidden
        total += layer.repeat * each
    return float(total)


def stored_bytes(model: Model, dtype: str) -> float:
    """Bytes of the checkpoint: below 16 bits, embedding, head, router, norms and biases keep 16."""
    total = stored_params(model)
    if not model.layers or BYTES[dtype] >= 2:
        return total * BYTES[dtype]
    narrow = resident_params(model) - model.vocab * model.hidden
    for layer in model.layers:
        narrow += layer.repeat * layer.experts * (one_expert(model, layer) - model.hidden)
    return narrow * BYTES[dtype] + (total - narrow) * 2


def kv_bytes(model: Model, context: float, dtype: str, tp: int) -> float:
    """Cache of one sequence on the fullest of `tp` GPUs: whole KV heads, seen tokens only."""
    if not model.layers:
        return model.planned_kv_bytes / BYTES["bf16"] * BYTES[dtype] * context / tp
    total = 0.0
    for layer in model.layers:
        seen = context if layer.window is None else min(context, layer.window)
        heads_here = math.ceil(layer.kv_heads / tp)
        total += layer.repeat * 2 * heads_here * layer.head_dim * seen * BYTES[dtype]
        total += layer.repeat * layer.state_bytes / tp
    return total


# --- times ----------------------------------------------------------------------------------


def peak(case: Case, stored: str) -> float:
    """The rate that multiplies weights stored so: their own, else 16 bits; INT4 is never native."""
    order = ("bf16", "fp16") if stored == "int4" else (stored, "bf16")
    return next(case.rates[dtype] for dtype in order if dtype in case.rates)


def target_step(case: Case, batch: float, new: int, context: float) -> Step:
    """One pass of the target over `new` tokens of each sequence."""
    return _step(case, case.target, case.dtype, case.tp, load=(batch, new, context))


def _step(
    case: Case,
    model: Model,
    dtype: str,
    tp: int,
    *,
    load: tuple[float, int, float],
    proposing: int | None = None,
) -> Step:
    batch, new, context = load
    head = model.vocab * model.hidden if model.layers else 0
    unused = 0 if proposing is None else (new - proposing) * head
    flops = 2 * (active_params(model) * new - unused) * batch / tp
    weights = BYTES[dtype] * read_params(model, batch * new) / tp
    moved = weights + batch * kv_bytes(model, context, case.kv_dtype, tp)
    return Step(flops, moved, flops / peak(case, dtype), moved / case.bandwidth)


def draft_step_s(case: Case, batch: float, context: float, new: int = 1) -> float:
    """Seconds of one draft step over `new` tokens, of which the last proposes."""
    seconds = case.ratio * target_step(case, batch, 1, context).seconds
    if case.draft is not None:
        one = _step(
            case,
            case.draft,
            case.draft_dtype,
            case.draft_tp,
            load=(batch, new, context),
            proposing=1,
        )
        seconds += one.seconds
    return seconds


def drafting_s(case: Case, batch: float, k: int, context: float) -> float:
    """Seconds of k draft steps, the first of a model over two tokens: it catches up on the last."""
    if not case.drafts or not k:
        return 0.0
    later = draft_step_s(case, batch, context)
    return draft_step_s(case, batch, context, 2) + (k - 1) * later


def round_s(case: Case, batch: float, k: int, context: float) -> float:
    """Seconds of k draft steps and one verification of k + 1 tokens."""
    return drafting_s(case, batch, k, context) + target_step(case, batch, k + 1, context).seconds


def speedup(case: Case, alpha: float, batch: float, k: int, context: float) -> float:
    """Tokens per second over those of plain decoding at the same batch."""
    plain_s = target_step(case, batch, 1, context).seconds
    return expected_tokens(alpha, k) * plain_s / round_s(case, batch, k, context)


def flops_per_token(case: Case, alpha: float, k: int) -> float:
    """Arithmetic of a token over that of plain decoding (theorem 3.11)."""
    drafting = k * case.ratio if case.drafts else 0.0
    if case.draft is not None and k:  # the token caught up on goes through all but the head
        head = case.draft.vocab * case.draft.hidden if case.draft.layers else 0
        params = (k + 1) * active_params(case.draft) - head
        drafting += params / active_params(case.target)
    return (drafting + k + 1) / expected_tokens(alpha, k)


# --- memory ---------------------------------------------------------------------------------


def weights_bytes(case: Case, *, drafted: bool) -> float:
    """Weights on one GPU."""
    total = stored_bytes(case.target, case.dtype) / case.tp
    if drafted and case.draft is not None:
        total += stored_bytes(case.draft, case.draft_dtype) / case.draft_tp
    return total


def sequence_bytes(case: Case, context: float, *, drafted: bool) -> float:
    """Cache of one sequence on one GPU."""
    total = kv_bytes(case.target, context, case.kv_dtype, case.tp)
    if drafted and case.draft is not None:
        total += kv_bytes(case.draft, context, case.kv_dtype, case.draft_tp)
    return total


def largest_batch(case: Case, context: float, *, drafted: bool) -> int:
    """Most sequences that fit, found by doubling and then one bit after another."""
    room = FILLED * case.memory - weights_bytes(case, drafted=drafted)
    each = max(sequence_bytes(case, context, drafted=drafted), 1.0)
    step = 1
    while step * each <= room:
        step *= 2
    fits = 0
    while step:
        if (fits + step) * each <= room:
            fits += step
        step //= 2
    return fits


def throughput(case: Case, alpha: float, k: int, context: float) -> float:
    """Tokens per second over those of plain decoding, each at the largest batch that fits it."""
    plain = largest_batch(case, context, drafted=False)
    drafted = largest_batch(case, context, drafted=True)
    if plain == 0:
        return 0.0
    if k == 0:
        return 1.0
    if drafted == 0:
        return 0.0
    plain_rate = plain / target_step(case, plain, 1, context).seconds
    return drafted * expected_tokens(alpha, k) / round_s(case, drafted, k, context) / plain_rate


# --- choices --------------------------------------------------------------------------------


def smallest_best(scores: Sequence[float]) -> int:
    """Index of the first score that ties with the highest."""
    top = max(scores)
    return next(i for i, score in enumerate(scores) if score >= top * (1 - SAME))


def best_k(case: Case, alpha: float, batch: float, k: Sequence[int], context: float) -> int:
    """The candidate that is fastest; of equals the shortest."""
    return k[smallest_best([speedup(case, alpha, batch, n, context) for n in k])]


def break_even_alpha(case: Case, batch: float, k: int, context: float) -> float:
    """Alpha at which a round yields as many tokens as it costs plain steps; inf if none does."""
    plain_s = target_step(case, batch, 1, context).seconds
    return alpha_for(round_s(case, batch, k, context) / plain_s, k)


def crossings(
    case: Case, alpha: float, k: int, context: float, limit: int
) -> list[tuple[int, bool]]:
    """(batch, pays) at each batch of 1..limit on the other side of 1 than the one before it."""
    found, paid = [], True
    for batch in range(1, limit + 1):
        pays = speedup(case, alpha, batch, k, context) >= 1 - SAME
        if pays != paid:
            found.append((batch, pays))
        paid = pays
    return found


def gate_ranges(
    case: Case, alpha: float, k: Sequence[int], context: float, limit: int
) -> list[tuple[int, int, int]]:
    """(first batch, last batch, best k) of each run of batches."""
    ranges: list[tuple[int, int, int]] = []
    for batch in range(1, limit + 1):
        best = best_k(case, alpha, batch, k, context)
        if ranges and ranges[-1][2] == best:
            ranges[-1] = (ranges[-1][0], batch, best)
        else:
            ranges.append((batch, batch, best))
    return ranges


def mix_speedups(
    case: Case, parts: Sequence[tuple[float, float, float, float]], k: Sequence[int]
) -> Iterator[float]:
    """For each k, the mix's plain time per token over its time per token.

    Parts are (weight, batch, context, alpha); weights are shares of the output tokens.
    """
    for n in k:
        plain_s = spent_s = 0.0
        for weight, batch, context, alpha in parts:
            plain_s += weight * target_step(case, batch, 1, context).seconds
            spent_s += weight * round_s(case, batch, n, context) / expected_tokens(alpha, n)
        yield plain_s / spent_s
