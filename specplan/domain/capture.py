"""What engines say of their own speculation: the pieces that readers find, one by one.

A reader (specplan/dialects) turns lines and documents into a stream of `Span`, `Told` and `Noted`;
`specplan.physics.counters` folds the stream into a `Capture`, holding sums and never the stream,
so that a log of any length takes the same memory. All counts are of verified rounds; every figure
has one definition here, whatever the engine calls it:

    drafts      rounds in which at least one draft token was proposed and verified
    drafted     draft tokens proposed in them
    accepted    draft tokens kept, each with all before it kept (the bonus token is not one)
    tau         tokens a round: 1 + accepted / drafts, the bonus token included
    rate        accepted / drafted, a share; the engines' "acceptance rate", which is not alpha
    at_position accepted drafts at each position: the first, the second, ... (counts)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from specplan.domain.answer import Scalar

Engine = Literal["vllm", "sglang", "trtllm", "llamacpp", "harness"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """One line, iteration, request or difference of two scrapes: what happened in between.

    A reader fills what its source states or implies exactly, and leaves the rest None: `drafts`
    from counters, or only `tau` and `weight` where the source has a mean without counts (`weight`
    is then the number of rounds it is a mean of, or what is nearest to that: `weighs` says what).
    Never the same figure twice: what the source states besides, for checking, goes into `stated`
    with the half width that rounding leaves it (`mean` 2.92 +- 0.005 -> ("tau", 2.92, 0.005)).
    """

    drafts: float | None = None
    drafted: float | None = None
    accepted: float | None = None
    at_position: tuple[float, ...] = ()
    drafted_at: tuple[float, ...] = ()
    histogram: tuple[float, ...] = ()  # rounds that kept exactly 0, 1, ... drafts
    tau: float | None = None
    rate: float | None = None
    efficiency: float | None = None  # tokens a round over k + 1, where k is not told
    weight: float = 1.0
    stated: tuple[tuple[str, float, float], ...] = ()  # drafts, accepted, tau, rate, at:0 ...
    k: int | None = None  # longest draft that the source says was allowed
    running: float | None = None  # requests in the batch
    waiting: float | None = None
    tokens_per_s: float | None = None  # generated, all requests together
    prompt_tokens_per_s: float | None = None  # read as prompts, all requests together
    duration_s: float | None = None
    tokens: float | None = None  # generated in it, rounds or not
    step_s: float | None = None  # of one pass of the target, where the source times it
    draft_s: float | None = None  # spent on drafting in it, where the source times it
    context: float | None = None  # tokens behind a sequence
    group: str = ""  # data-parallel engine, rank or slot; "" where there is one
    line: int = 0  # where it stands, from 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What the source says of the deployment, under the names of our options: target, draft,
    method, k, tp, draft_tp, version, dtype, kv_dtype, max_batch, max_context, gpu, topk,
    draft_tokens, dataset, graphs_up_to, pool_tokens, ...; names of models as the engine has them.
    """

    facts: Mapping[str, Scalar]
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """A trap of `specplan.domain.traps` that applies to what was read, or a warning in words."""

    trap: str = ""
    warning: str = ""
    line: int = 0


Found = Span | Told | Noted


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Whose words a stream is: our id of the format, the engine, and versions that print so."""

    format: str
    engine: Engine
    version_guess: str = ""
    definitions: Mapping[str, str] = field(default_factory=dict)  # figure -> how the source has it


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A quantity over the spans that state it: mean weighted by rounds, least and most."""

    mean: float
    low: float
    high: float
    last: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AtLoad:
    """What was seen while `batch_low` to `batch_high` requests were running, `batch` on average. Of
    a run without drafts `rounds` are its tokens, up to a factor: each step is a round of one.
    """

    batch_low: float
    batch_high: float
    batch: float
    rounds: float
    tokens_per_round: float
    tokens_per_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """One capture, folded. What the source does not determine is None; `alpha` is
    accepted / (accepted + rejections) with a central 95 % interval that allows for requests that
    differ, `effective_rounds` the independent rounds that interval is worth, `per_position` the
    unconditional rates. `unread` lines were none of the format.
    """

    source: str
    origin: Origin
    spans: int
    drafts: float | None
    drafted_tokens: float | None
    accepted_tokens: float | None
    tokens_per_round: float | None
    tokens_per_round_low: float | None
    tokens_per_round_high: float | None
    acceptance_rate: float | None
    alpha: float | None
    alpha_low: float | None
    alpha_high: float | None
    alpha_basis: str  # how alpha came about: rejections counted, or solved from tau at k
    effective_rounds: float | None
    k: int | None
    mean_draft: float | None  # drafted / drafts
    per_position: tuple[float, ...]
    per_position_low: tuple[float, ...] = ()
    per_position_high: tuple[float, ...] = ()
    batch: Seen | None = None
    waiting: Seen | None = None
    tokens_per_s: Seen | None = None
    prompt_tokens_per_s: Seen | None = None
    step_s: Seen | None = None
    context: Seen | None = None
    loads: tuple[AtLoad, ...] = ()  # by powers of two of the batch, where that was stated
    traps: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    contradictions: tuple[str, ...] = ()
    told: Mapping[str, Scalar] = field(default_factory=dict)
    lines: int = 0
    unread: int = 0
    sha256: str = ""
